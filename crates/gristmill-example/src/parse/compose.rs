//! Results that are made from lists of any length: sparse, padded and composed features.

use crate::parse::fault::{Fault, FaultIn, What};
use crate::parse::flat::{Flat, Lists};
use gristmill_types::{DType, Result, Shape, Sparse, Tensor, Value};

/// Whether the result stands for one record or for a batch of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Single,
    Batch,
}

/// A fault and the index of the record that has it.
pub(crate) type At<T> = Result<T, (usize, Fault)>;

/// `VarLenFeature`: row-major indices, and the longest record as the dense shape.
pub(crate) fn var_len(lists: Lists, form: Form) -> Result<Value> {
    let Lists { flat, counts } = lists;
    let n = flat.len();
    let longest = counts.iter().copied().max().unwrap_or(0);
    let (indices, dense_shape) = match form {
        Form::Single => {
            let indices: Vec<i64> = (0..n as i64).collect();
            (Tensor::from_vec(Shape::new(&[n, 1])?, &indices)?, Tensor::vector(&[n as i64]))
        }
        Form::Batch => {
            let mut indices = Vec::with_capacity(2 * n);
            for (row, &count) in counts.iter().enumerate() {
                indices.extend((0..count as i64).flat_map(|i| [row as i64, i]));
            }
            let shape = Tensor::vector(&[counts.len() as i64, longest as i64]);
            (Tensor::from_vec(Shape::new(&[n, 2])?, &indices)?, shape)
        }
    };
    Ok(Sparse { indices, values: flat.into_vector(), dense_shape }.into())
}

/// `FixedLenSequenceFeature`: rows of `row`'s shape, in a batch padded to the longest record.
pub(crate) fn sequence(
    lists: Lists,
    slot: usize,
    row: &Shape,
    default: Option<&Tensor>,
    form: Form,
) -> At<Result<Value>> {
    let Lists { flat, counts } = lists;
    let stride = row.count();
    if let Some(i) = counts.iter().position(|&c| if stride == 0 { c != 0 } else { c % stride != 0 }) {
        let what = What::Multiple { found: counts[i], row: *row };
        return Err((i, FaultIn::boxed(slot, flat.kind().dtype(), what)));
    }
    let longest = counts.iter().copied().max().unwrap_or(0);
    let rows = longest.checked_div(stride).unwrap_or(0);
    Ok(row.prepend(rows).and_then(|shape| match form {
        Form::Single => flat.into_tensor(shape).map(Value::from),
        Form::Batch => {
            let shape = shape.prepend(counts.len())?;
            flat.padded(&counts, longest, default).into_tensor(shape).map(Value::from)
        }
    }))
}

/// `SparseFeature`: values placed at the stored indices, sorted in row-major order unless they are
/// declared sorted.
pub(crate) fn sparse_feature(
    indices: &[Lists],
    values: Lists,
    value_slot: usize,
    size: &[i64],
    already_sorted: bool,
    form: Form,
) -> At<Result<Value>> {
    let n = values.flat.len();
    let columns: Vec<&[i64]> = indices
        .iter()
        .map(|l| match &l.flat {
            Flat::Ints(v) => v.as_slice(),
            _ => &[],
        })
        .collect();
    for (i, &count) in values.counts.iter().enumerate() {
        if let Some(other) = indices.iter().find(|l| l.counts[i] != count) {
            let text = format!("sparse feature has {count} values, but {} indices", other.counts[i]);
            return Err((i, FaultIn::boxed(value_slot, values.flat.kind().dtype(), What::Composed(text))));
        }
    }
    let mut rows = Vec::with_capacity(n);
    for (record, &count) in values.counts.iter().enumerate() {
        rows.extend(std::iter::repeat_n(record as i64, count));
    }
    let place = |k: usize| std::iter::once(rows[k]).chain(columns.iter().map(move |c| c[k]));
    let mut order: Vec<usize> = (0..n).collect();
    if !already_sorted {
        order.sort_by(|&a, &b| place(a).cmp(place(b)));
    }
    let lead = usize::from(form == Form::Single);
    let rank = columns.len() + 1 - lead;
    let flat_indices: Vec<i64> = order.iter().flat_map(|&k| place(k).skip(lead)).collect();
    let mut dense_shape = size.to_vec();
    if form == Form::Batch {
        dense_shape.insert(0, values.counts.len() as i64);
    }
    let values = values.flat.reordered(&order).into_vector();
    Ok(Shape::new(&[n, rank]).and_then(|shape| {
        let indices = Tensor::from_vec(shape, &flat_indices)?;
        Ok(Sparse { indices, values, dense_shape: Tensor::vector(&dense_shape) }.into())
    }))
}

/// Row splits as a tensor of the declared dtype.
///
/// # Errors
/// `InvalidArgument` if int32 cannot hold them.
pub(crate) fn splits_tensor(splits: &[i64], dtype: DType) -> Result<Tensor> {
    if dtype != DType::I32 {
        return Ok(Tensor::vector(splits));
    }
    let narrow: Option<Vec<i32>> = splits.iter().map(|&s| i32::try_from(s).ok()).collect();
    narrow.map(|s| Tensor::vector(&s)).ok_or_else(|| {
        gristmill_types::Error::invalid("row splits of a ragged feature do not fit int32")
            .hint("declare row_splits_dtype int64")
    })
}
