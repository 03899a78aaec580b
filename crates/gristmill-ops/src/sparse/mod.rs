//! Ops on sparse and ragged tensors.

mod access;
mod make;
mod to_dense;
mod to_tensor;

use gristmill_plan::{Arg, OpDef};
use gristmill_types::{DType, Error, Result, Shape, Tensor, Value};

/// The family's ops.
pub(crate) const OPS: &[&OpDef] = &[
    &access::DENSE_SHAPE,
    &access::FLAT_VALUES,
    &access::INDICES,
    &access::RAGGED_VALUES,
    &access::ROW_LENGTHS,
    &access::ROW_SPLITS,
    &access::VALUES,
    &make::RAGGED,
    &make::SPARSE,
    &to_dense::OP,
    &to_tensor::GET,
    &to_tensor::TO_TENSOR,
];

/// Refuses more than one default value, and one of another dtype.
fn check_pad(args: &[Arg], dtype: DType) -> Result<()> {
    match args {
        [_] => Ok(()),
        [_, pad] if pad.dtype() == dtype && pad.spec.is_dense() => Ok(()),
        [_, pad] => Err(Error::invalid(format!(
            "default_value must be a scalar of dtype {dtype}, found {}",
            pad.spec
        ))),
        _ => Err(Error::invalid(format!("expected one default value, found {}", args.len() - 1))),
    }
}

/// The value that fills gaps.
fn pad_value(given: &[Value], dtype: DType) -> Result<Tensor> {
    match given.first() {
        None => Ok(Tensor::zeros(dtype, Shape::SCALAR)),
        Some(v) => {
            let t = v.tensor()?;
            if t.dtype() != dtype || t.count() != 1 {
                return Err(Error::invalid(format!(
                    "default_value must be a scalar of dtype {dtype}, found {}",
                    v.spec()
                )));
            }
            t.reshaped(Shape::SCALAR)
        }
    }
}
