//! Elementwise ops on sparse and ragged tensors: the op runs on the flat values, the rest stays.

use gristmill_plan::{Arg, Kernel, OpCx, Outs, op::run_one};
use gristmill_types::{DType, Error, PartialShape, Ragged, Result, Sparse, Spec, Value};

/// The kind and shape of a spec with another dtype.
pub(crate) fn with_dtype(spec: &Spec, dtype: DType) -> Spec {
    match spec {
        Spec::Sparse { shape, .. } => Spec::Sparse { dtype, shape: shape.clone() },
        Spec::Ragged { shape, ragged_rank, .. } => {
            Spec::Ragged { dtype, shape: shape.clone(), ragged_rank: *ragged_rank }
        }
        other => Spec::tensor(dtype, other.shape().clone()),
    }
}

/// A kernel for dense tensors, made to work on the flat values of sparse and ragged ones too.
pub(crate) struct OnFlat<K>(pub(crate) K);

impl<K: Kernel> Kernel for OnFlat<K> {
    fn run(&self, cx: &mut OpCx<'_>, inputs: &[Value], out: &mut Outs<'_>) -> Result<()> {
        let Some(at) = inputs.iter().position(|v| !matches!(v, Value::Tensor(_))) else {
            return self.0.run(cx, inputs, out);
        };
        let dense =
            inputs.iter().enumerate().map(|(i, v)| flat(&inputs[at], v, i)).collect::<Result<Vec<_>>>()?;
        let made = run_one(&self.0, cx, &dense, 1)?.pop().ok_or_else(|| Error::internal("no output"))?;
        let made = made.tensor()?.clone();
        match &inputs[at] {
            Value::Sparse(s) => out.put(
                0,
                Sparse { indices: s.indices.clone(), values: made, dense_shape: s.dense_shape.clone() },
            ),
            Value::Ragged(r) => out.put(0, Ragged { flat_values: made, row_splits: r.row_splits.clone() }),
            _ => return Err(Error::internal("a dense tensor was taken for another")),
        }
        Ok(())
    }
}

/// What stands for `v` beside the flat values of `outer`.
fn flat(outer: &Value, v: &Value, i: usize) -> Result<Value> {
    match (outer, v) {
        (_, Value::Tensor(t)) if t.shape().rank() == 0 => Ok(v.clone()),
        (Value::Sparse(_), Value::Sparse(s)) if i == 0 => Ok(s.values.clone().into()),
        (Value::Ragged(a), Value::Ragged(b)) if a.row_splits == b.row_splits => {
            Ok(b.flat_values.clone().into())
        }
        (Value::Ragged(_), Value::Ragged(_)) => {
            Err(Error::invalid("ragged tensors have different row splits"))
        }
        _ => Err(Error::invalid(format!("cannot combine a {} tensor with {}", outer.kind_name(), v.spec()))),
    }
}

/// The shape of an elementwise result of which an input is not dense: that input's.
pub(crate) fn ragged_shape(args: &[Arg]) -> Option<&Spec> {
    args.iter().map(|a| &a.spec).find(|s| !s.is_dense())
}

/// A spec of that dtype with the kind of `args` where one is not dense, dense with `shape` otherwise.
pub(crate) fn elementwise_spec(
    args: &[Arg],
    dtype: DType,
    shape: impl FnOnce() -> Result<PartialShape>,
) -> Result<Spec> {
    match ragged_shape(args) {
        Some(spec) => Ok(with_dtype(spec, dtype)),
        None => Ok(Spec::tensor(dtype, shape()?)),
    }
}
