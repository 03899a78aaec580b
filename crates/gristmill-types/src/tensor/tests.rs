use super::*;

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
fn wrong_sizes_are_refused() {
    assert!(Tensor::from_bytes(DType::F32, Shape::vector(2), &[0; 7]).is_err());
    assert!(Tensor::vector(&[1u8, 2]).reshaped(Shape::vector(3)).is_err());
    assert!(Tensor::from_buffer(DType::I64, Shape::vector(2), Buffer::zeroed(8)).is_err());
}
