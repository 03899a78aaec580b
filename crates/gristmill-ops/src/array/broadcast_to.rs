//! `broadcast_to`: a tensor repeated up to a shape.

use super::support::writer::{View, write};
use super::support::{kernel_of, shapes};
use gristmill_plan::{Arg, ArgDef, Attrs, Class, Kernel, OpDef};
use gristmill_types::{Error, Result, Shape, Spec};

pub(crate) static OP: OpDef = OpDef {
    name: "broadcast_to",
    doc: "Repeats a tensor along dimensions of size 1 and new outer ones up to a shape.",
    inputs: &[
        ArgDef { name: "input", doc: "any dtype and shape" },
        ArgDef { name: "shape", doc: "integer vector of sizes" },
    ],
    attrs: &[],
    class: Class::Pure,
    total: false,
    elementwise: false,
    infer,
    kernel,
};

fn check(from: &Shape, to: &Shape) -> Result<()> {
    if shapes::broadcasts_to(from, to) {
        return Ok(());
    }
    Err(Error::invalid(format!("incompatible shapes: {from} vs. {to}")))
}

fn infer(args: &[Arg], _: &Attrs) -> Result<Vec<Spec>> {
    shapes::expect_ints(&args[1], "shape")?;
    let shape = shapes::known_shape(&args[1])?;
    if let (Some(from), Some(to)) = (args[0].spec.shape().full(), shape.full()) {
        check(&from, &to)?;
    }
    Ok(vec![Spec::tensor(args[0].dtype(), shape)])
}

fn kernel(_: &[Arg], _: &Attrs) -> Result<Box<dyn Kernel>> {
    kernel_of(|inputs, out| {
        let t = inputs[0].tensor()?;
        let shape = shapes::shape_from(inputs[1].tensor()?)?;
        check(t.shape(), &shape)?;
        let mut view = View::of(t.shape());
        let new = shape.rank() - t.shape().rank();
        view.dims.splice(0..0, std::iter::repeat_n((1, 0), new));
        for (d, &n) in view.dims.iter_mut().zip(shape.dims()) {
            *d = (n, if d.0 == n { d.1 } else { 0 });
        }
        if shape.count() == 0 {
            return write(out, 0, t.dtype(), shape, |_| Ok(()));
        }
        view.put(t, shape, out, 0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{attrs, eval, infer_err};
    use gristmill_types::Tensor;

    #[test]
    fn repeats_ones() {
        let x = Tensor::from_vec(Shape::new(&[2, 1]).unwrap(), &[1i32, 2]).unwrap();
        let out = eval(&OP, &[x.clone().into(), Tensor::vector(&[2i32, 2, 2]).into()], attrs(&[])).unwrap();
        assert_eq!(out[0].tensor().unwrap().as_slice::<i32>().unwrap(), &[1, 1, 2, 2, 1, 1, 2, 2]);
        let e = infer_err(&OP, &[x.into(), Tensor::vector(&[3i32, 2]).into()], attrs(&[]));
        assert!(e.contains("incompatible shapes: [2,1] vs. [3,2]"), "{e}");
    }
}
