//! `shape`, `size` and `rank`: what a tensor's shape is, as a tensor.

use super::support::kernel_of;
use gristmill_plan::{Arg, ArgDef, Attrs, Class, Kernel, OpDef};
use gristmill_types::{DType, Error, PartialShape, Result, Shape, Spec, Tensor};

const INPUT: &[ArgDef] = &[ArgDef { name: "input", doc: "any dtype and shape" }];
const OUT_TYPE: &[ArgDef] = &[ArgDef { name: "out_type", doc: "int32 (default) or int64" }];

pub(crate) static SHAPE: OpDef = OpDef {
    name: "shape",
    doc: "The sizes of the dimensions, as an integer vector.",
    inputs: INPUT,
    attrs: OUT_TYPE,
    class: Class::Pure,
    total: true,
    elementwise: false,
    infer: |args, attrs| {
        let dims = vec![args[0].spec.shape().rank()];
        Ok(vec![Spec::tensor(out_type(attrs)?, PartialShape::new(dims))])
    },
    kernel: |_, attrs| {
        of_dims(attrs, |dims| (Shape::vector(dims.len()), dims.iter().map(|&d| d as i64).collect()))
    },
};

pub(crate) static SIZE: OpDef = OpDef {
    name: "size",
    doc: "The number of elements, as an integer scalar.",
    inputs: INPUT,
    attrs: OUT_TYPE,
    class: Class::Pure,
    total: true,
    elementwise: false,
    infer: |_, attrs| Ok(vec![Spec::scalar(out_type(attrs)?)]),
    kernel: |_, attrs| of_dims(attrs, |dims| (Shape::SCALAR, vec![dims.iter().product::<usize>() as i64])),
};

pub(crate) static RANK: OpDef = OpDef {
    name: "rank",
    doc: "The number of dimensions, as an int32 scalar.",
    inputs: INPUT,
    attrs: &[],
    class: Class::Pure,
    total: true,
    elementwise: false,
    infer: |_: &[Arg], _: &Attrs| Ok(vec![Spec::scalar(DType::I32)]),
    kernel: |_, attrs| of_dims(attrs, |dims| (Shape::SCALAR, vec![dims.len() as i64])),
};

fn out_type(attrs: &Attrs) -> Result<DType> {
    match attrs.dtype_or("out_type", DType::I32)? {
        d @ (DType::I32 | DType::I64) => Ok(d),
        d => Err(Error::invalid(format!("out_type must be int32 or int64, found {d}"))),
    }
}

fn of_dims(attrs: &Attrs, f: fn(&[usize]) -> (Shape, Vec<i64>)) -> Result<Box<dyn Kernel>> {
    let dtype = out_type(attrs)?;
    kernel_of(move |inputs, out| {
        let (shape, values) = f(inputs[0].tensor()?.dims());
        out.put(
            0,
            match dtype {
                DType::I64 => Tensor::from_vec(shape, &values)?,
                _ => Tensor::from_vec(shape, &values.iter().map(|&v| v as i32).collect::<Vec<_>>())?,
            },
        );
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{attrs, eval};
    use gristmill_plan::Attr;

    #[test]
    fn tells_the_shape() {
        let x = [Tensor::zeros(DType::String, Shape::new(&[2, 3]).unwrap()).into()];
        assert_eq!(eval(&SHAPE, &x, attrs(&[])).unwrap()[0], Tensor::vector(&[2i32, 3]).into());
        let long = attrs(&[("out_type", Attr::DType(DType::I64))]);
        assert_eq!(eval(&SIZE, &x, long).unwrap()[0], Tensor::scalar(6i64).into());
        assert_eq!(eval(&RANK, &x, attrs(&[])).unwrap()[0], Tensor::scalar(2i32).into());
    }
}
