//! `one_hot`: indices as vectors with one value set.

use super::support::{kernel_of, shapes, writer};
use gristmill_plan::{Arg, ArgDef, Attrs, Class, Kernel, OpDef, Outs};
use gristmill_types::{Error, PartialShape, Result, Shape, Spec, Tensor};

pub(crate) static OP: OpDef = OpDef {
    name: "one_hot",
    doc: "Each index as a vector of `depth` values: `on_value` at the index, `off_value` elsewhere.\n\n\
          An index outside `0..depth` gives `off_value` everywhere.",
    inputs: &[
        ArgDef { name: "indices", doc: "integers of any shape" },
        ArgDef { name: "on_value", doc: "a scalar" },
        ArgDef { name: "off_value", doc: "a scalar of the same dtype" },
    ],
    attrs: &[
        ArgDef { name: "depth", doc: "length of the vectors, >= 0" },
        ArgDef { name: "axis", doc: "where the new dimension stands; default -1, the end" },
        ArgDef { name: "dtype", doc: "dtype of both values, for a check" },
    ],
    class: Class::Pure,
    total: false,
    elementwise: false,
    infer,
    kernel,
};

fn depth(attrs: &Attrs) -> Result<usize> {
    let d = attrs.int("depth")?;
    usize::try_from(d).map_err(|_| Error::invalid(format!("depth must be non-negative, got: {d}")))
}

fn infer(args: &[Arg], attrs: &Attrs) -> Result<Vec<Spec>> {
    shapes::expect_ints(&args[0], "indices")?;
    let (on, off) = (args[1].dtype(), args[2].dtype());
    let dtype = attrs.dtype_or("dtype", on)?;
    if on != off || on != dtype {
        return Err(Error::invalid(format!(
            "on_value, off_value and dtype must agree, found {on}, {off} and {dtype}"
        )));
    }
    for a in &args[1..] {
        if a.spec.shape().rank().is_some_and(|r| r != 0) {
            return Err(Error::invalid(format!("on_value and off_value must be scalars, found {}", a.spec)));
        }
    }
    let n = depth(attrs)?;
    let Some(dims) = args[0].spec.shape().dims() else {
        return Ok(vec![Spec::tensor(dtype, PartialShape::UNKNOWN)]);
    };
    let at = shapes::axis(attrs.int_or("axis", -1)?, dims.len() + 1)?;
    let mut dims = dims.to_vec();
    dims.insert(at, Some(n));
    Ok(vec![Spec::tensor(dtype, PartialShape::new(dims))])
}

fn kernel(_: &[Arg], attrs: &Attrs) -> Result<Box<dyn Kernel>> {
    let (n, axis) = (depth(attrs)?, attrs.int_or("axis", -1)?);
    kernel_of(move |inputs, out| {
        one_hot(inputs[0].tensor()?, inputs[1].tensor()?, inputs[2].tensor()?, n, axis, out)
    })
}

fn one_hot(
    indices: &Tensor,
    on: &Tensor,
    off: &Tensor,
    depth: usize,
    axis: i64,
    out: &mut Outs<'_>,
) -> Result<()> {
    let at = shapes::axis(axis, indices.shape().rank() + 1)?;
    let mut dims = indices.dims().to_vec();
    let inner: usize = dims[at..].iter().product();
    dims.insert(at, depth);
    if on.count() != 1 || off.count() != 1 || on.dtype() != off.dtype() {
        return Err(Error::invalid(format!(
            "on_value and off_value must be scalars of one dtype, found {on:?} and {off:?}"
        )));
    }
    let at: Vec<usize> =
        indices.to_i64s()?.into_iter().map(|i| usize::try_from(i).unwrap_or(usize::MAX)).collect();
    writer::write(out, 0, on.dtype(), Shape::new(&dims)?, |w| {
        if inner == 1 {
            for &i in &at {
                if i < depth {
                    w.repeat(off, 0, i);
                    w.repeat(on, 0, 1);
                    w.repeat(off, 0, depth - i - 1);
                } else {
                    w.repeat(off, 0, depth);
                }
            }
            return Ok(());
        }
        for part in at.chunks_exact(inner.max(1)) {
            for d in 0..depth {
                for &i in part {
                    w.repeat(if i == d { on } else { off }, 0, 1);
                }
            }
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{attrs, eval};
    use gristmill_plan::Attr;
    use gristmill_types::Value;

    fn call(v: &[i64], axis: i64) -> Value {
        let inputs = [Tensor::vector(v).into(), Tensor::scalar(1f32).into(), Tensor::scalar(0f32).into()];
        let a = attrs(&[("depth", Attr::Int(3)), ("axis", Attr::Int(axis))]);
        eval(&OP, &inputs, a).unwrap().remove(0)
    }

    #[test]
    fn sets_one_value() {
        let t = call(&[2, -1, 0], -1);
        assert_eq!(t.tensor().unwrap().as_slice::<f32>().unwrap(), &[0., 0., 1., 0., 0., 0., 1., 0., 0.]);
        let t = call(&[1, 0], 0);
        assert_eq!(t.tensor().unwrap().dims(), &[3, 2]);
        assert_eq!(t.tensor().unwrap().as_slice::<f32>().unwrap(), &[0., 1., 1., 0., 0., 0.]);
    }
}
