//! `slice`: a box of a tensor.

use super::support::writer::View;
use super::support::{kernel_of, shapes};
use gristmill_plan::{Arg, ArgDef, Attrs, Class, Kernel, OpDef};
use gristmill_types::{Error, PartialShape, Result, Spec, Value};

pub(crate) static OP: OpDef = OpDef {
    name: "slice",
    doc: "The box of a tensor that starts at `begin` and has these sizes.\n\nA size of -1 takes what is left. Shares memory where the elements lie together.",
    inputs: &[
        ArgDef { name: "input_", doc: "any dtype and shape" },
        ArgDef { name: "begin", doc: "integer vector, one start per dimension" },
        ArgDef { name: "size", doc: "integer vector, one size per dimension; -1 is the rest" },
    ],
    attrs: &[],
    class: Class::Pure,
    total: false,
    elementwise: false,
    infer,
    kernel,
};

/// Start and size along a dimension of size `dim`.
fn part(i: usize, dim: usize, begin: i64, size: i64) -> Result<(usize, usize)> {
    let d = dim as i64;
    if !(0..=d).contains(&begin) {
        return Err(Error::invalid(format!("expected begin[{i}] in [0, {d}], but got {begin}")));
    }
    let n = if size == -1 { d - begin } else { size };
    if !(0..=d - begin).contains(&n) {
        return Err(Error::invalid(format!("expected size[{i}] in [0, {}], but got {size}", d - begin)));
    }
    Ok((begin as usize, n as usize))
}

fn wrong_rank(rank: usize, begin: usize, size: usize) -> Error {
    Error::invalid(format!(
        "begin and size must have one entry per dimension, found {begin} and {size} for rank {rank}"
    ))
}

fn infer(args: &[Arg], _: &Attrs) -> Result<Vec<Spec>> {
    shapes::expect_ints(&args[1], "begin")?;
    shapes::expect_ints(&args[2], "size")?;
    let spec = &args[0].spec;
    let (begin, size) = (shapes::constant_ints(&args[1]), shapes::constant_ints(&args[2]));
    let rank =
        spec.shape().rank().or_else(|| args[1].spec.shape().dim(0)).or_else(|| args[2].spec.shape().dim(0));
    let Some(rank) = rank else {
        return Ok(vec![Spec::tensor(spec.dtype(), PartialShape::UNKNOWN)]);
    };
    let (nb, ns) = (begin.as_ref().map_or(rank, Vec::len), size.as_ref().map_or(rank, Vec::len));
    if nb != rank || ns != rank {
        return Err(wrong_rank(rank, nb, ns));
    }
    let dims = (0..rank)
        .map(|i| match (spec.shape().dim(i), begin.as_ref().map(|b| b[i]), size.as_ref().map(|s| s[i])) {
            (Some(d), Some(b), Some(s)) => part(i, d, b, s).map(|p| Some(p.1)),
            (_, _, Some(s)) if s >= 0 => Ok(Some(s as usize)),
            _ => Ok(None),
        })
        .collect::<Result<_>>()?;
    Ok(vec![Spec::tensor(spec.dtype(), PartialShape::new(dims))])
}

/// Start and size along every dimension of a tensor of that shape; the inputs are those of the op.
pub(crate) fn parts(dims: &[usize], inputs: &[Value]) -> Result<Vec<(usize, usize)>> {
    let (begin, size) = (inputs[1].tensor()?.to_i64s()?, inputs[2].tensor()?.to_i64s()?);
    if begin.len() != dims.len() || size.len() != dims.len() {
        return Err(wrong_rank(dims.len(), begin.len(), size.len()));
    }
    dims.iter().enumerate().map(|(i, &dim)| part(i, dim, begin[i], size[i])).collect()
}

fn kernel(_: &[Arg], _: &Attrs) -> Result<Box<dyn Kernel>> {
    kernel_of(|inputs, out| {
        let t = inputs[0].tensor()?;
        let mut view = View::of(t.shape());
        for (dim, (at, n)) in view.dims.iter_mut().zip(parts(t.dims(), inputs)?) {
            view.start += at * dim.1;
            dim.0 = n;
        }
        view.put(t, view.shape()?, out, 0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{attrs, eval, infer_err};
    use gristmill_types::{Shape, Tensor};

    #[test]
    fn cuts_a_box() {
        let x = Tensor::from_vec(Shape::new(&[3, 4]).unwrap(), &(0..12i32).collect::<Vec<_>>()).unwrap();
        let cut =
            |b: &[i32], s: &[i32]| [x.clone().into(), Tensor::vector(b).into(), Tensor::vector(s).into()];
        let out = eval(&OP, &cut(&[1, 1], &[2, 2]), attrs(&[])).unwrap();
        assert_eq!(out[0].tensor().unwrap().as_slice::<i32>().unwrap(), &[5, 6, 9, 10]);
        let out = eval(&OP, &cut(&[1, 0], &[2, -1]), attrs(&[])).unwrap();
        assert_eq!(out[0].tensor().unwrap(), &x.rows(1, 2));
        assert!(infer_err(&OP, &cut(&[1, 0], &[3, 4]), attrs(&[])).contains("expected size[0] in [0, 2]"));
    }
}
