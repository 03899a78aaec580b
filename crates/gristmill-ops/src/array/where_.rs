//! `where` and `where_indices`: choosing by a condition.

use super::support::walk::Walk;
use super::support::{kernel_of, shapes};
use gristmill_plan::{Arg, ArgDef, Attrs, Class, Kernel, OpDef, Outs};
use gristmill_types::elements::cast_slice_mut;
use gristmill_types::{DType, Error, PartialShape, Result, Shape, Spec, Tensor, with_element};

pub(crate) static WHERE: OpDef = OpDef {
    name: "where",
    doc: "Elements of `x` where the condition is true, of `y` elsewhere.\n\nThe three broadcast.",
    inputs: &[
        ArgDef { name: "condition", doc: "bool" },
        ArgDef { name: "x", doc: "any dtype" },
        ArgDef { name: "y", doc: "the dtype of x" },
    ],
    attrs: &[],
    class: Class::Pure,
    total: false,
    elementwise: true,
    infer,
    kernel,
};

pub(crate) static WHERE_INDICES: OpDef = OpDef {
    name: "where_indices",
    doc: "The positions of the elements that are true (not 0), int64 `[n, rank]`, in row-major order.",
    inputs: &[ArgDef { name: "condition", doc: "bool or numbers" }],
    attrs: &[],
    class: Class::Pure,
    total: false,
    elementwise: false,
    infer: |args, _| {
        if args[0].dtype() == DType::String {
            return Err(Error::invalid("where takes bools or numbers, found strings"));
        }
        Ok(vec![Spec::tensor(DType::I64, PartialShape::new(vec![None, args[0].spec.shape().rank()]))])
    },
    kernel: |_, _| kernel_of(|inputs, out| indices(inputs[0].tensor()?, out)),
};

fn infer(args: &[Arg], _: &Attrs) -> Result<Vec<Spec>> {
    let [c, x, y] = [&args[0].spec, &args[1].spec, &args[2].spec];
    check(c.dtype(), x.dtype(), y.dtype())?;
    let shape = shapes::broadcast_partial(x.shape(), y.shape())?;
    Ok(vec![Spec::tensor(x.dtype(), shapes::broadcast_partial(c.shape(), &shape)?)])
}

fn check(c: DType, x: DType, y: DType) -> Result<()> {
    if c != DType::Bool {
        return Err(Error::invalid(format!("condition must be bool, found {c}")));
    }
    if x != y {
        return Err(Error::invalid(format!("x and y must have one dtype, found {x} and {y}")));
    }
    Ok(())
}

fn kernel(_: &[Arg], _: &Attrs) -> Result<Box<dyn Kernel>> {
    kernel_of(|inputs, out| {
        let [c, x, y] = [inputs[0].tensor()?, inputs[1].tensor()?, inputs[2].tensor()?];
        check(c.dtype(), x.dtype(), y.dtype())?;
        let shape = shapes::broadcast(c.shape(), &shapes::broadcast(x.shape(), y.shape())?)?;
        let walk = Walk::new(&shape, [c.shape(), x.shape(), y.shape()]);
        let cond = c.as_slice::<u8>()?;
        if x.dtype() == DType::String {
            let (x, y) = (x.as_strings(), y.as_strings());
            let mut items = Vec::with_capacity(shape.count());
            walk.each(|_, n, [c, i, j], [sc, si, sj]| {
                items.extend((0..n).map(|k| {
                    if cond[c + k * sc] != 0 { x[i + k * si].clone() } else { y[j + k * sj].clone() }
                }));
            });
            out.put(0, Tensor::strings(shape, items)?);
            return Ok(());
        }
        let to = out.plain(0, x.dtype(), shape);
        with_element!(x.dtype(), T => {
            let to = cast_slice_mut::<T>(to).ok_or_else(|| Error::internal("an output is not aligned"))?;
            let (x, y) = (x.as_slice::<T>()?, y.as_slice::<T>()?);
            walk.each(|o, n, [c, i, j], [sc, si, sj]| {
                let to = &mut to[o..o + n];
                if (sc, si, sj) == (1, 1, 1) {
                    for (((to, c), x), y) in to.iter_mut().zip(&cond[c..c + n]).zip(&x[i..i + n]).zip(&y[j..j + n]) {
                        *to = if *c != 0 { *x } else { *y };
                    }
                } else {
                    for (k, to) in to.iter_mut().enumerate() {
                        *to = if cond[c + k * sc] != 0 { x[i + k * si] } else { y[j + k * sj] };
                    }
                }
            });
            Ok(())
        }, _ => Err(Error::internal("strings were handled before")))
    })
}

fn indices(t: &Tensor, out: &mut Outs<'_>) -> Result<()> {
    let true_at: Vec<usize> = with_element!(t.dtype(), T => {
        let zero = T::default();
        t.as_slice::<T>()?.iter().enumerate().filter(|(_, v)| **v != zero).map(|(i, _)| i).collect()
    }, _ => return Err(Error::invalid("where takes bools or numbers, found strings")));
    let rank = t.shape().rank();
    let to = out.typed::<i64>(0, Shape::new(&[true_at.len(), rank])?);
    for (row, mut i) in to.chunks_exact_mut(rank.max(1)).zip(true_at) {
        for (v, &d) in row.iter_mut().zip(t.dims()).rev() {
            *v = (i % d) as i64;
            i /= d;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{attrs, eval, infer_err};

    fn cond() -> Tensor {
        Tensor::from_bytes(DType::Bool, Shape::new(&[2, 2]).unwrap(), &[1, 0, 0, 1]).unwrap()
    }

    #[test]
    fn chooses_with_broadcasting() {
        let y = Tensor::vector(&[5f32, 6.0]);
        let out = eval(&WHERE, &[cond().into(), Tensor::scalar(0f32).into(), y.into()], attrs(&[])).unwrap();
        assert_eq!(out[0].tensor().unwrap().as_slice::<f32>().unwrap(), &[0.0, 6.0, 5.0, 0.0]);
        let s = [cond().into(), Tensor::string("a").into(), Tensor::string("b").into()];
        let out = eval(&WHERE, &s, attrs(&[])).unwrap();
        assert_eq!(&*out[0].tensor().unwrap().as_strings()[1], b"b");
        let wrong = [cond().into(), Tensor::scalar(0i32).into(), Tensor::scalar(0i64).into()];
        assert!(infer_err(&WHERE, &wrong, attrs(&[])).contains("one dtype"));
    }

    #[test]
    fn positions() {
        let out = eval(&WHERE_INDICES, &[cond().into()], attrs(&[])).unwrap();
        assert_eq!(out[0].tensor().unwrap().as_slice::<i64>().unwrap(), &[0, 0, 1, 1]);
        let nan = eval(&WHERE_INDICES, &[Tensor::vector(&[0.0, -0.0, f32::NAN]).into()], attrs(&[])).unwrap();
        assert_eq!(nan[0].tensor().unwrap().as_slice::<i64>().unwrap(), &[2]);
    }
}
