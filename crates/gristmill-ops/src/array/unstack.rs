//! `unstack`: the rows of a tensor as tensors.

use super::support::writer::View;
use super::support::{kernel_of, shapes};
use gristmill_plan::{Arg, ArgDef, Attrs, Class, Kernel, OpDef};
use gristmill_types::{Error, PartialShape, Result, Spec};

pub(crate) static OP: OpDef = OpDef {
    name: "unstack",
    doc: "Takes a tensor apart along a dimension, which goes away.\n\nOne output per index; their number must be known in advance.",
    inputs: &[ArgDef { name: "value", doc: "any dtype, rank >= 1" }],
    attrs: &[
        ArgDef { name: "axis", doc: "the dimension; default 0" },
        ArgDef { name: "num", doc: "its size; needed where the shape is not known" },
    ],
    class: Class::Pure,
    total: false,
    elementwise: false,
    infer,
    kernel,
};

fn infer(args: &[Arg], attrs: &Attrs) -> Result<Vec<Spec>> {
    let spec = &args[0].spec;
    let num =
        attrs.get("num").and_then(|_| attrs.int_or("num", -1).ok()).filter(|&n| n >= 0).map(|n| n as usize);
    let Some(dims) = spec.shape().dims() else {
        let num = num.ok_or_else(|| Error::invalid("cannot infer argument `num` from an unknown shape"))?;
        return Ok(vec![spec.with_shape(PartialShape::UNKNOWN); num]);
    };
    let at = shapes::axis(attrs.int_or("axis", 0)?, dims.len())?;
    let num = match (dims[at], num) {
        (Some(d), Some(n)) if d != n => {
            return Err(Error::invalid(format!("dimension {at} is {d}, but num is {n}")));
        }
        (Some(d), _) => d,
        (None, Some(n)) => n,
        (None, None) => {
            return Err(Error::invalid(format!("cannot infer argument `num` from shape {}", spec.shape()))
                .hint("give num, or the shape with ensure_shape"));
        }
    };
    let mut dims = dims.to_vec();
    dims.remove(at);
    Ok(vec![spec.with_shape(PartialShape::new(dims)); num])
}

fn kernel(args: &[Arg], attrs: &Attrs) -> Result<Box<dyn Kernel>> {
    let axis = attrs.int_or("axis", 0)?;
    let num = infer(args, attrs)?.len();
    kernel_of(move |inputs, out| {
        let t = inputs[0].tensor()?;
        let at = shapes::axis(axis, t.shape().rank())?;
        if t.dims()[at] != num {
            return Err(Error::invalid(format!("dimension {at} is {}, but num is {num}", t.dims()[at])));
        }
        let mut view = View::of(t.shape());
        let (_, step) = view.dims.remove(at);
        let shape = view.shape()?;
        for k in 0..num {
            view.start = k * step;
            view.put(t, shape, out, k)?;
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{attrs, eval};
    use gristmill_plan::Attr;
    use gristmill_types::{Shape, Tensor};

    #[test]
    fn takes_apart() {
        let x = Tensor::from_vec(Shape::new(&[2, 2]).unwrap(), &[1i32, 2, 3, 4]).unwrap();
        let rows = eval(&OP, &[x.clone().into()], attrs(&[])).unwrap();
        assert_eq!(rows, vec![Tensor::vector(&[1i32, 2]).into(), Tensor::vector(&[3i32, 4]).into()]);
        let columns = eval(&OP, &[x.into()], attrs(&[("axis", Attr::Int(1))])).unwrap();
        assert_eq!(columns, vec![Tensor::vector(&[1i32, 3]).into(), Tensor::vector(&[2i32, 4]).into()]);
    }
}
