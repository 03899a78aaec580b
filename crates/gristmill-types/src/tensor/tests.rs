use super::*;
use crate::StrSpan;

#[test]
fn rows_share_memory() {
    let t = Tensor::from_vec(Shape::new(&[3, 4]).unwrap(), &(0..12i64).collect::<Vec<_>>()).unwrap();
    assert_eq!(t.row(2).as_slice::<i64>().unwrap(), &[8, 9, 10, 11]);
    assert_eq!(t.rows(1, 2).row(0), t.row(1));
    assert_eq!(t.row(1).bytes().as_ptr(), t.bytes()[32..].as_ptr());
    assert_eq!(Tensor::stack(&[t.row(0), t.row(1), t.row(2)]).unwrap(), t);
}

#[test]
fn inline_tensors_behave_alike() {
    let t = Tensor::vector(&[1i32, 2, 3]);
    assert_eq!(t.row(1).item::<i32>().unwrap(), 2);
    assert_eq!(t.rows(1, 2), Tensor::vector(&[2i32, 3]));
    assert_eq!(t.clone().pinned(), t);
    assert!(t.as_slice::<f32>().is_err());
}

#[test]
fn strings_keep_their_rows() {
    let t = Tensor::string_vector(vec!["a".into(), "bc".into()]);
    assert_eq!(t.row(1), Tensor::string("bc"));
    assert_eq!((t.byte_len(), t.rows(0, 1).count()), (3, 1));
}

#[test]
fn strings_at_positions_are_strings() {
    let buffer = Arc::new(Buffer::from_slice(b"one,two,three,four"));
    let span = |start, len| StrSpan { buffer: 0, start, len };
    let store = Strings::new(vec![buffer], vec![span(0, 3), span(4, 3), span(8, 5), span(14, 4)]).unwrap();
    let t = Tensor::from_spans(Shape::new(&[2, 2]).unwrap(), Arc::new(store)).unwrap();
    let items = |words: &[&str]| words.iter().map(|w| Bytes::from(*w)).collect::<Vec<_>>();
    let same = Tensor::strings(*t.shape(), items(&["one", "two", "three", "four"])).unwrap();
    assert_eq!((&t, t.byte_len()), (&same, 15));
    assert_eq!(t.row(1), same.row(1));
    assert_eq!(t.rows(1, 1).reshaped(Shape::vector(2)).unwrap().row(1), Tensor::string("four"));
    assert_eq!(t.gather_rows(&[1, 0, 1]).unwrap(), same.gather_rows(&[1, 0, 1]).unwrap());
    assert_eq!(t.gather_rows(&[]).unwrap().dims(), [0, 2]);
    assert_eq!(t.row(0).detached(), same.row(0));
    let shape = Shape::vector(6);
    assert_eq!(
        Tensor::concat_strings(shape, &[&t, &same.row(0)]).unwrap().as_strings(),
        items(&["one", "two", "three", "four", "one", "two"])
    );
    assert!(Tensor::concat_strings(Shape::vector(5), &[&t]).is_err());
}

#[test]
fn rows_are_gathered() {
    let t = Tensor::from_vec(Shape::new(&[3, 2]).unwrap(), &[0i32, 1, 2, 3, 4, 5]).unwrap();
    assert_eq!(t.gather_rows(&[2, 0]).unwrap().as_slice::<i32>().unwrap(), &[4, 5, 0, 1]);
    assert_eq!(t.gather_rows(&[]).unwrap().dims(), [0, 2]);
}

#[test]
fn wrong_sizes_are_refused() {
    assert!(Tensor::from_bytes(DType::F32, Shape::vector(2), &[0; 7]).is_err());
    assert!(Tensor::vector(&[1u8, 2]).reshaped(Shape::vector(3)).is_err());
    assert!(Tensor::from_buffer(DType::I64, Shape::vector(2), Buffer::zeroed(8)).is_err());
}
