//! `reverse`: the elements back to front.

use super::support::writer::View;
use super::support::{kernel_of, shapes};
use gristmill_plan::{Arg, ArgDef, Attrs, Class, Kernel, OpDef};
use gristmill_types::{Result, Spec};

pub(crate) static OP: OpDef = OpDef {
    name: "reverse",
    doc: "The elements back to front along these dimensions.",
    inputs: &[ArgDef { name: "tensor", doc: "any dtype and shape" }],
    attrs: &[ArgDef { name: "axis", doc: "list of dimensions" }],
    class: Class::Pure,
    total: false,
    elementwise: false,
    infer,
    kernel,
};

fn infer(args: &[Arg], attrs: &Attrs) -> Result<Vec<Spec>> {
    let spec = &args[0].spec;
    if let Some(rank) = spec.shape().rank() {
        shapes::axis_mask(Some(&shapes::int_list(attrs, "axis")?.unwrap_or_default()), rank)?;
    }
    Ok(vec![Spec::tensor(spec.dtype(), spec.shape().clone())])
}

fn kernel(_: &[Arg], attrs: &Attrs) -> Result<Box<dyn Kernel>> {
    let axes = shapes::int_list(attrs, "axis")?.unwrap_or_default();
    kernel_of(move |inputs, out| {
        let t = inputs[0].tensor()?;
        let mask = shapes::axis_mask(Some(&axes), t.shape().rank())?;
        let mut view = View::of(t.shape());
        if t.count() > 0 {
            for (d, _) in view.dims.iter_mut().zip(mask).filter(|(_, m)| *m) {
                view.start += (d.0 - 1) * d.1;
                d.1 = d.1.wrapping_neg();
            }
        }
        view.put(t, *t.shape(), out, 0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{attrs, eval};
    use gristmill_plan::Attr;
    use gristmill_types::{Shape, Tensor};

    #[test]
    fn turns_round() {
        let x = Tensor::from_vec(Shape::new(&[2, 3]).unwrap(), &[1u8, 2, 3, 4, 5, 6]).unwrap();
        let out = eval(&OP, &[x.into()], attrs(&[("axis", Attr::List(vec![Attr::Int(0), Attr::Int(-1)]))]))
            .unwrap();
        assert_eq!(out[0].tensor().unwrap().as_slice::<u8>().unwrap(), &[6, 5, 4, 3, 2, 1]);
    }
}
