//! `reshape`: the same elements under another shape.

use super::support::{kernel_of, shapes};
use gristmill_plan::{Arg, ArgDef, Attrs, Class, Kernel, OpDef};
use gristmill_types::{Error, PartialShape, Result, Shape, Spec};

pub(crate) static OP: OpDef = OpDef {
    name: "reshape",
    doc: "The same elements under another shape.\n\nOne size may be -1: it follows from the others. No element is copied.",
    inputs: &[
        ArgDef { name: "tensor", doc: "any dtype and shape" },
        ArgDef { name: "shape", doc: "integer vector of sizes, of which one may be -1" },
    ],
    attrs: &[],
    class: Class::Pure,
    total: false,
    elementwise: false,
    infer,
    kernel,
};

/// The shape for `count` elements.
fn resolve(dims: &[i64], count: usize) -> Result<Shape> {
    let at = open(dims)?;
    let Some(at) = at else {
        let shape = shapes::shape_of(dims)?;
        if shape.count() != count {
            return Err(Error::invalid(format!(
                "input to reshape is a tensor with {count} values, but the requested shape has {}",
                shape.count()
            )));
        }
        return Ok(shape);
    };
    let mut dims = dims.to_vec();
    dims[at] = 1;
    let rest = shapes::shape_of(&dims)?.count();
    let open = count.checked_div(rest).unwrap_or(0);
    if open * rest != count {
        return Err(Error::invalid(format!(
            "input to reshape is a tensor with {count} values, but the requested shape requires a multiple of {rest}"
        )));
    }
    dims[at] = open as i64;
    shapes::shape_of(&dims)
}

/// Where -1 stands.
fn open(dims: &[i64]) -> Result<Option<usize>> {
    let mut at = None;
    for (i, &d) in dims.iter().enumerate() {
        match (d, at) {
            (-1, None) => at = Some(i),
            (-1, Some(j)) => {
                return Err(Error::invalid(format!("only one input size may be -1, not both {j} and {i}")));
            }
            (d, _) if d < 0 => {
                return Err(Error::invalid(format!("size {i} must be non-negative, not {d}")));
            }
            _ => {}
        }
    }
    Ok(at)
}

fn infer(args: &[Arg], _: &Attrs) -> Result<Vec<Spec>> {
    shapes::expect_ints(&args[1], "shape")?;
    let spec = &args[0].spec;
    let shape = match (shapes::constant_ints(&args[1]), spec.shape().full()) {
        (Some(dims), Some(from)) => PartialShape::from(&resolve(&dims, from.count())?),
        (Some(dims), None) => {
            open(&dims)?;
            PartialShape::new(dims.iter().map(|&d| usize::try_from(d).ok()).collect())
        }
        (None, _) => args[1].spec.shape().dim(0).map_or(PartialShape::UNKNOWN, PartialShape::of_rank),
    };
    Ok(vec![Spec::tensor(spec.dtype(), shape)])
}

fn kernel(_: &[Arg], _: &Attrs) -> Result<Box<dyn Kernel>> {
    kernel_of(|inputs, out| {
        let t = inputs[0].tensor()?;
        let shape = resolve(&inputs[1].tensor()?.to_i64s()?, t.count())?;
        out.put(0, t.reshaped(shape)?);
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{attrs, eval, infer_err};
    use gristmill_types::{Tensor, Value};

    fn x() -> Value {
        Tensor::vector(&(0..12i32).collect::<Vec<_>>()).into()
    }

    #[test]
    fn one_size_may_be_open() {
        let out = eval(&OP, &[x(), Tensor::vector(&[2i32, -1, 3]).into()], attrs(&[])).unwrap();
        assert_eq!(out[0].tensor().unwrap().dims(), &[2, 2, 3]);
        let out =
            eval(&OP, &[Tensor::scalar(1f32).into(), Tensor::vector(&[-1i64]).into()], attrs(&[])).unwrap();
        assert_eq!(out[0], Tensor::vector(&[1f32]).into());
    }

    #[test]
    fn wrong_counts_are_refused() {
        let e = |d: &[i32]| infer_err(&OP, &[x(), Tensor::vector(d).into()], attrs(&[]));
        assert!(e(&[5, 5]).contains("tensor with 12 values, but the requested shape has 25"));
        assert!(e(&[5, -1]).contains("requires a multiple of 5"));
        assert!(e(&[-1, -1]).contains("only one input size may be -1"));
        assert!(e(&[-2]).contains("must be non-negative"));
    }
}
