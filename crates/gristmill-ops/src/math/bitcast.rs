//! `bitcast`: the same bytes as another dtype.

use crate::array::support::kernel_of;
use gristmill_plan::{Arg, ArgDef, Attrs, Class, Kernel, OpDef};
use gristmill_types::{DType, Error, PartialShape, Result, Shape, Spec, Tensor};
use std::sync::Arc;

pub(crate) static OP: OpDef = OpDef {
    name: "bitcast",
    doc: "The same bytes as another dtype.\n\n\
          A smaller dtype adds a last dimension; a larger one takes away a last dimension of just that ratio.",
    inputs: &[ArgDef { name: "input", doc: "any dtype but bool and string" }],
    attrs: &[ArgDef { name: "dtype", doc: "the dtype of the result" }],
    class: Class::Pure,
    total: false,
    elementwise: false,
    infer,
    kernel,
};

fn check(from: DType, to: DType) -> Result<()> {
    if from.size() == 0 || to.size() == 0 || from == DType::Bool || to == DType::Bool {
        return Err(Error::invalid(format!("cannot bitcast {from} to {to}")));
    }
    Ok(())
}

fn infer(args: &[Arg], attrs: &Attrs) -> Result<Vec<Spec>> {
    let (from, to) = (args[0].dtype(), attrs.dtype("dtype")?);
    check(from, to)?;
    let Some(dims) = args[0].spec.shape().dims() else {
        return Ok(vec![Spec::tensor(to, PartialShape::UNKNOWN)]);
    };
    let mut dims = dims.to_vec();
    if from.size() > to.size() {
        dims.push(Some(from.size() / to.size()));
    } else if from.size() < to.size() {
        let last = dims.pop();
        if last.is_none_or(|d| d.is_some_and(|d| d != to.size() / from.size())) {
            return Err(wrong(from, to));
        }
    }
    Ok(vec![Spec::tensor(to, PartialShape::new(dims))])
}

fn wrong(from: DType, to: DType) -> Error {
    Error::invalid(format!(
        "cannot bitcast {from} to {to}: the last dimension must be {}",
        to.size() / from.size()
    ))
}

fn kernel(_: &[Arg], attrs: &Attrs) -> Result<Box<dyn Kernel>> {
    let dtype = attrs.dtype("dtype")?;
    kernel_of(move |inputs, out| {
        let t = inputs[0].tensor()?;
        let (from, to) = (t.dtype().size(), dtype.size());
        check(t.dtype(), dtype)?;
        let mut dims = t.dims().to_vec();
        if from > to {
            dims.push(from / to);
        } else if from < to && dims.pop() != Some(to / from) {
            return Err(wrong(t.dtype(), dtype));
        }
        let shape = Shape::new(&dims)?;
        out.put(
            0,
            match t.shared() {
                Some((buffer, offset)) if offset.is_multiple_of(to) => {
                    Tensor::from_shared(dtype, shape, Arc::clone(buffer), offset)?
                }
                _ => Tensor::from_bytes(dtype, shape, t.bytes())?,
            },
        );
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{attrs, eval, infer_err};
    use gristmill_plan::Attr;

    #[test]
    fn bytes_stay() {
        let to = |d| attrs(&[("dtype", Attr::DType(d))]);
        let out = eval(&OP, &[Tensor::vector(&[1f32]).into()], to(DType::U8)).unwrap();
        let t = out[0].tensor().unwrap();
        assert_eq!((t.dims(), t.bytes()), (&[1usize, 4][..], &1f32.to_ne_bytes()[..]));
        assert_eq!(
            eval(&OP, &[out[0].clone()], to(DType::I32)).unwrap()[0],
            Tensor::vector(&[0x3F80_0000i32]).into()
        );
        assert!(
            infer_err(&OP, &[Tensor::vector(&[1u8, 2]).into()], to(DType::F32))
                .contains("last dimension must be 4")
        );
    }
}
