//! `identity`, `set_shape` and `ensure_shape`: the value as it is, perhaps with more known of its shape.

use super::support::{kernel_of, shapes};
use gristmill_plan::{Arg, ArgDef, Attrs, Class, Kernel, OpDef};
use gristmill_types::{Error, PartialShape, Result, Spec};

const INPUT: &[ArgDef] = &[ArgDef { name: "input", doc: "any value" }];
const SHAPE: &[ArgDef] = &[ArgDef { name: "shape", doc: "what the shape is, as far as known" }];

pub(crate) static IDENTITY: OpDef = OpDef {
    name: "identity",
    doc: "The value as it is.",
    inputs: INPUT,
    attrs: &[],
    class: Class::Pure,
    total: true,
    elementwise: false,
    infer: |args, _| Ok(vec![args[0].spec.clone()]),
    kernel: |_, _| {
        kernel_of(|inputs, out| {
            out.put(0, inputs[0].clone());
            Ok(())
        })
    },
};

pub(crate) static SET_SHAPE: OpDef = OpDef {
    name: "set_shape",
    doc: "States what the shape is; a value of another shape is an error.",
    inputs: INPUT,
    attrs: SHAPE,
    class: Class::Pure,
    total: false,
    elementwise: false,
    infer,
    kernel,
};

pub(crate) static ENSURE_SHAPE: OpDef = OpDef {
    name: "ensure_shape",
    doc: "Checks that the shape is as stated; a value of another shape is an error.",
    inputs: INPUT,
    attrs: SHAPE,
    class: Class::Pure,
    total: false,
    elementwise: false,
    infer,
    kernel,
};

fn refuse(found: &PartialShape, expected: &PartialShape) -> Error {
    Error::invalid(format!(
        "shape of tensor {} is not compatible with expected shape {}",
        shapes::plain(found),
        shapes::plain(expected)
    ))
}

fn infer(args: &[Arg], attrs: &Attrs) -> Result<Vec<Spec>> {
    let (spec, shape) = (&args[0].spec, attrs.shape("shape")?);
    let merged = spec.shape().merge(&shape).map_err(|_| refuse(spec.shape(), &shape))?;
    Ok(vec![spec.with_shape(merged)])
}

fn kernel(_: &[Arg], attrs: &Attrs) -> Result<Box<dyn Kernel>> {
    let shape = attrs.shape("shape")?;
    kernel_of(move |inputs, out| {
        let spec = inputs[0].spec();
        if !spec.shape().compatible(&shape) {
            return Err(refuse(spec.shape(), &shape));
        }
        out.put(0, inputs[0].clone());
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{attrs, eval, infer_err};
    use gristmill_plan::Attr;
    use gristmill_types::{DType, Tensor};

    #[test]
    fn shapes_are_stated_and_checked() {
        let shape = |d: Vec<Option<usize>>| attrs(&[("shape", Attr::Shape(PartialShape::new(d)))]);
        let x = Tensor::vector(&[1u8, 2]);
        let unknown = Arg { spec: Spec::tensor(DType::U8, PartialShape::UNKNOWN), value: None };
        let spec = (SET_SHAPE.infer)(&[unknown], &shape(vec![Some(2)])).unwrap();
        assert_eq!(spec[0].to_string(), "uint8(2,)");
        assert_eq!(eval(&ENSURE_SHAPE, &[x.clone().into()], shape(vec![None])).unwrap()[0], x.clone().into());
        let e = infer_err(&ENSURE_SHAPE, &[x.into()], shape(vec![Some(3)]));
        assert!(e.contains("shape of tensor [2] is not compatible with expected shape [3]"), "{e}");
    }
}
