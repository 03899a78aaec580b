//! `fill`, `zeros_like` and `ones_like`: one value everywhere.

use super::support::{kernel_of, shapes, writer};
use crate::math::convert::fill_value;
use gristmill_plan::{Arg, ArgDef, Attr, Attrs, Class, Kernel, OpDef};
use gristmill_types::{DType, Error, Result, Spec, Tensor};

const LIKE: &[ArgDef] = &[ArgDef { name: "input", doc: "gives the shape, and the dtype if none is named" }];
const DTYPE: &[ArgDef] = &[ArgDef { name: "dtype", doc: "dtype of the result; default the input's" }];

pub(crate) static FILL: OpDef = OpDef {
    name: "fill",
    doc: "A tensor of that shape with one value everywhere.",
    inputs: &[
        ArgDef { name: "dims", doc: "integer vector of sizes >= 0" },
        ArgDef { name: "value", doc: "a scalar of any dtype" },
    ],
    attrs: &[],
    class: Class::Pure,
    total: false,
    elementwise: false,
    infer: infer_fill,
    kernel: kernel_fill,
};

pub(crate) static ZEROS_LIKE: OpDef = OpDef {
    name: "zeros_like",
    doc: "A tensor of the input's shape that holds 0, False or the empty string everywhere.",
    inputs: LIKE,
    attrs: DTYPE,
    class: Class::Pure,
    total: true,
    elementwise: true,
    infer: infer_like,
    kernel: |args, attrs| like(args, attrs, 0),
};

pub(crate) static ONES_LIKE: OpDef = OpDef {
    name: "ones_like",
    doc: "A tensor of the input's shape that holds 1 or True everywhere.",
    inputs: LIKE,
    attrs: DTYPE,
    class: Class::Pure,
    total: true,
    elementwise: true,
    infer: |args, attrs| {
        let specs = infer_like(args, attrs)?;
        match specs[0].dtype() {
            DType::String => Err(Error::invalid("ones_like does not take strings")),
            _ => Ok(specs),
        }
    },
    kernel: |args, attrs| like(args, attrs, 1),
};

fn infer_fill(args: &[Arg], _: &Attrs) -> Result<Vec<Spec>> {
    shapes::expect_ints(&args[0], "dims")?;
    if args[1].spec.shape().rank().is_some_and(|r| r != 0) {
        return Err(Error::invalid(format!("value must be a scalar, found shape {}", args[1].spec.shape())));
    }
    Ok(vec![Spec::tensor(args[1].dtype(), shapes::known_shape(&args[0])?)])
}

fn kernel_fill(_: &[Arg], _: &Attrs) -> Result<Box<dyn Kernel>> {
    kernel_of(|inputs, out| {
        let shape = shapes::shape_from(inputs[0].tensor()?)?;
        let value = inputs[1].tensor()?;
        if value.shape().rank() != 0 {
            return Err(Error::invalid(format!("value must be a scalar, found shape {}", value.shape())));
        }
        writer::write(out, 0, value.dtype(), shape, |w| {
            w.repeat(value, 0, shape.count());
            Ok(())
        })
    })
}

fn infer_like(args: &[Arg], attrs: &Attrs) -> Result<Vec<Spec>> {
    let dtype = attrs.dtype_or("dtype", args[0].dtype())?;
    Ok(vec![Spec::tensor(dtype, args[0].spec.shape().clone())])
}

fn like(args: &[Arg], attrs: &Attrs, value: i64) -> Result<Box<dyn Kernel>> {
    let dtype = attrs.dtype_or("dtype", args[0].dtype())?;
    let value = if value == 0 {
        Tensor::zeros(dtype, gristmill_types::Shape::SCALAR)
    } else {
        fill_value(&Attr::Int(value), dtype)?
    };
    kernel_of(move |inputs, out| {
        let shape = *inputs[0].tensor()?.shape();
        writer::write(out, 0, dtype, shape, |w| {
            w.repeat(&value, 0, shape.count());
            Ok(())
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{attrs, eval};

    #[test]
    fn fills() {
        let dims = Tensor::vector(&[2i32]).into();
        let out = eval(&FILL, &[dims, Tensor::string("x").into()], attrs(&[])).unwrap();
        assert_eq!(out[0], Tensor::string_vector(vec!["x".into(), "x".into()]).into());
        let x = [Tensor::vector(&[3f32, 4.0]).into()];
        assert_eq!(eval(&ONES_LIKE, &x, attrs(&[])).unwrap()[0], Tensor::vector(&[1f32, 1.0]).into());
        let bools = attrs(&[("dtype", Attr::DType(DType::Bool))]);
        assert_eq!(eval(&ZEROS_LIKE, &x, bools).unwrap()[0].tensor().unwrap().bytes(), &[0, 0]);
    }

    #[test]
    fn constant_dims_are_inferred() {
        let arg = |t: Tensor| Arg::from(&t.into());
        let specs =
            (FILL.infer)(&[arg(Tensor::vector(&[4i64, 2])), arg(Tensor::scalar(1u8))], &attrs(&[])).unwrap();
        assert_eq!(specs[0].to_string(), "uint8(4, 2)");
        assert!(
            (FILL.infer)(&[arg(Tensor::vector(&[-1i64])), arg(Tensor::scalar(1u8))], &attrs(&[])).is_err()
        );
    }
}
