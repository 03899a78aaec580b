use super::*;
use crate::testing::{attrs, eval, infer_err};
use gristmill_plan::Attr;
use gristmill_types::{Tensor, Value};
use proptest::prelude::*;

fn x() -> Tensor {
    Tensor::from_vec(Shape::new(&[3, 4]).unwrap(), &(0..12i32).collect::<Vec<_>>()).unwrap()
}

fn call(t: &Tensor, b: &[i64], e: &[i64], s: &[i64]) -> [Value; 4] {
    [t.clone().into(), Tensor::vector(b).into(), Tensor::vector(e).into(), Tensor::vector(s).into()]
}

fn masks(m: [i64; 5]) -> Attrs {
    let names = ["begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"];
    attrs(&names.into_iter().zip(m.map(Attr::Int)).collect::<Vec<_>>())
}

#[test]
fn single_index_shrinks() {
    let out = eval(&OP, &call(&x(), &[-1], &[0], &[1]), masks([0, 0, 0, 0, 1])).unwrap();
    assert_eq!(out[0], x().row(2).into());
    let e = infer_err(&OP, &call(&x(), &[3], &[4], &[1]), masks([0, 0, 0, 0, 1]));
    assert!(e.contains("slice index 3 of dimension 0 out of bounds"), "{e}");
}

#[test]
fn ellipsis_and_new_axis() {
    // x[..., newaxis, 1]
    let out = eval(&OP, &call(&x(), &[0, 0, 1], &[0, 0, 2], &[1, 1, 1]), masks([0, 0, 1, 2, 4])).unwrap();
    let t = out[0].tensor().unwrap();
    assert_eq!((t.dims(), t.as_slice::<i32>().unwrap()), (&[3usize, 1][..], &[1, 5, 9][..]));
}

#[test]
fn strings_and_reversal() {
    let s = Tensor::string_vector(vec!["a".into(), "b".into(), "c".into()]);
    let out = eval(&OP, &call(&s, &[0], &[0], &[-1]), masks([1, 1, 0, 0, 0])).unwrap();
    assert_eq!(out[0], Tensor::string_vector(vec!["c".into(), "b".into(), "a".into()]).into());
}

#[test]
fn dynamic_bounds_keep_the_rank() {
    let arg = |v: Option<Value>, n: usize| Arg {
        spec: Spec::tensor(gristmill_types::DType::I32, PartialShape::known(&[n])),
        value: v,
    };
    let input =
        Arg { spec: Spec::tensor(gristmill_types::DType::U8, PartialShape::known(&[8, 8, 3])), value: None };
    let one = Some(Tensor::vector(&[1i32, 1]).into());
    let specs =
        (OP.infer)(&[input, arg(None, 2), arg(None, 2), arg(one, 2)], &masks([0, 2, 0, 0, 1])).unwrap();
    assert_eq!(specs[0].shape(), &PartialShape::new(vec![None, Some(3)]));
}

proptest! {
    #[test]
    fn slices_as_python_does(
        dims in prop::collection::vec(0usize..5, 1..4),
        ranges in prop::collection::vec((-6i64..6, -6i64..6, prop_oneof![-3i64..0, 1i64..4], any::<(bool, bool)>()), 3),
    ) {
        let shape = Shape::new(&dims).unwrap();
        let t = Tensor::from_vec(shape, &(0..shape.count() as i32).collect::<Vec<_>>()).unwrap();
        let (mut b, mut e, mut s, mut bm, mut em) = (vec![], vec![], vec![], 0, 0);
        let mut picks = Vec::new();
        for (i, (&d, r)) in dims.iter().zip(&ranges).enumerate() {
            b.push(r.0);
            e.push(r.1);
            s.push(r.2);
            bm |= i64::from(r.3.0) << i;
            em |= i64::from(r.3.1) << i;
            // Python's rule, one index after the other.
            let n = d as i64;
            let fix = |v: i64| if v < 0 { v + n } else { v };
            let mut at = if r.3.0 { if r.2 > 0 { 0 } else { n - 1 } } else if r.2 > 0 { fix(r.0).max(0) } else { fix(r.0).min(n - 1) };
            let stop = if r.3.1 { if r.2 > 0 { n } else { -1 } } else { fix(r.1).clamp(-1, n) };
            let mut pick = Vec::new();
            while if r.2 > 0 { at < stop.min(n) } else { at > stop } {
                if (0..n).contains(&at) {
                    pick.push(at as usize);
                }
                at += r.2;
            }
            picks.push(pick);
        }
        let mut expect = vec![0usize];
        for (pick, &d) in picks.iter().zip(&dims) {
            expect = expect.iter().flat_map(|base| pick.iter().map(move |p| base * d + p)).collect();
        }
        let out = eval(&OP, &call(&t, &b, &e, &s), masks([bm, em, 0, 0, 0])).unwrap();
        let out = out[0].tensor().unwrap();
        prop_assert_eq!(out.dims(), picks.iter().map(Vec::len).collect::<Vec<_>>());
        let expect: Vec<i32> = expect.iter().map(|&i| i as i32).collect();
        let empty = picks.iter().any(Vec::is_empty);
        prop_assert_eq!(out.as_slice::<i32>().unwrap(), if empty { &[][..] } else { &expect[..] });
    }
}
