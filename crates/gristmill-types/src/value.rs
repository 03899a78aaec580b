//! What a component of an element may be.

use crate::{DType, Error, PartialShape, Result, Shape, Spec, Tensor};
use std::sync::Arc;

/// A sparse tensor in coordinate form.
#[derive(Clone, Debug, PartialEq)]
pub struct Sparse {
    /// int64 `[n, rank]`.
    pub indices: Tensor,
    /// `[n]`.
    pub values: Tensor,
    /// int64 `[rank]`.
    pub dense_shape: Tensor,
}

/// A ragged tensor: flat values under nested row splits, outermost first.
#[derive(Clone, Debug, PartialEq)]
pub struct Ragged {
    /// `[total, ...]`.
    pub flat_values: Tensor,
    /// int64 or int32 `[rows + 1]` each, outermost first; at least one.
    pub row_splits: Vec<Tensor>,
}

/// One component of an element.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Value {
    /// A dense tensor.
    Tensor(Tensor),
    /// A sparse tensor.
    Sparse(Arc<Sparse>),
    /// A ragged tensor.
    Ragged(Arc<Ragged>),
}

impl Value {
    /// The dense tensor.
    ///
    /// # Errors
    /// `InvalidArgument` if it is something else.
    pub fn tensor(&self) -> Result<&Tensor> {
        match self {
            Self::Tensor(t) => Ok(t),
            other => {
                Err(Error::invalid(format!("expected a dense tensor, found a {} one", other.kind_name()))
                    .hint("sparse.to_dense makes a sparse tensor dense, .to_tensor() a ragged one"))
            }
        }
    }

    /// The sparse tensor.
    ///
    /// # Errors
    /// `InvalidArgument` if it is something else.
    pub fn sparse(&self) -> Result<&Sparse> {
        match self {
            Self::Sparse(s) => Ok(s),
            other => {
                Err(Error::invalid(format!("expected a sparse tensor, found a {} one", other.kind_name())))
            }
        }
    }

    /// The ragged tensor.
    ///
    /// # Errors
    /// `InvalidArgument` if it is something else.
    pub fn ragged(&self) -> Result<&Ragged> {
        match self {
            Self::Ragged(r) => Ok(r),
            other => {
                Err(Error::invalid(format!("expected a ragged tensor, found a {} one", other.kind_name())))
            }
        }
    }

    /// `"dense"`, `"sparse"` or `"ragged"`.
    pub fn kind_name(&self) -> &'static str {
        match self {
            Self::Tensor(_) => "dense",
            Self::Sparse(_) => "sparse",
            Self::Ragged(_) => "ragged",
        }
    }

    /// The element type.
    pub fn dtype(&self) -> DType {
        match self {
            Self::Tensor(t) => t.dtype(),
            Self::Sparse(s) => s.values.dtype(),
            Self::Ragged(r) => r.flat_values.dtype(),
        }
    }

    /// The exact spec of this very value.
    pub fn spec(&self) -> Spec {
        match self {
            Self::Tensor(t) => Spec::tensor(t.dtype(), PartialShape::from(t.shape())),
            Self::Sparse(s) => {
                let dims = s.dense_shape.as_slice::<i64>().unwrap_or(&[]);
                Spec::Sparse {
                    dtype: s.values.dtype(),
                    shape: PartialShape::new(dims.iter().map(|&d| usize::try_from(d).ok()).collect()),
                }
            }
            Self::Ragged(r) => {
                let rows = r.row_splits.first().map_or(0, |s| s.count().saturating_sub(1));
                let mut dims = vec![Some(rows)];
                dims.extend(std::iter::repeat_n(None, r.row_splits.len()));
                dims.extend(r.flat_values.dims().iter().skip(1).map(|&d| Some(d)));
                Spec::Ragged {
                    dtype: r.flat_values.dtype(),
                    shape: PartialShape::new(dims),
                    ragged_rank: r.row_splits.len(),
                }
            }
        }
    }

    /// Bytes of all parts.
    pub fn byte_len(&self) -> usize {
        match self {
            Self::Tensor(t) => t.byte_len(),
            Self::Sparse(s) => s.indices.byte_len() + s.values.byte_len() + s.dense_shape.byte_len(),
            Self::Ragged(r) => {
                r.flat_values.byte_len() + r.row_splits.iter().map(Tensor::byte_len).sum::<usize>()
            }
        }
    }

    /// The value in memory of its own: see [`crate::Bytes::detached`].
    #[must_use]
    pub fn detached(self) -> Self {
        match self {
            Self::Tensor(t) => Self::Tensor(t.detached()),
            Self::Sparse(s) => Self::Sparse(Arc::new(Sparse {
                indices: s.indices.clone().detached(),
                values: s.values.clone().detached(),
                dense_shape: s.dense_shape.clone().detached(),
            })),
            Self::Ragged(r) => Self::Ragged(Arc::new(Ragged {
                flat_values: r.flat_values.clone().detached(),
                row_splits: r.row_splits.iter().map(|s| s.clone().detached()).collect(),
            })),
        }
    }

    /// Joins values of one kind along a new outermost dimension, as `batch` does: sparse tensors
    /// take the longest dense shape, ragged ones one more level of splits; dense ones must be equal
    /// in shape.
    ///
    /// # Errors
    /// `InvalidArgument` if they cannot be joined.
    pub fn stack(rows: &[Self]) -> Result<Self> {
        match rows.first() {
            Some(Self::Sparse(_)) => stack_sparse(rows),
            Some(Self::Ragged(_)) => stack_ragged(rows),
            _ => {
                let dense = rows.iter().map(|v| v.tensor().cloned()).collect::<Result<Vec<_>>>()?;
                Tensor::stack(&dense).map(Self::Tensor)
            }
        }
    }

    /// Undoes [`Value::stack`]: row `i` along the outermost dimension.
    ///
    /// # Errors
    /// `InvalidArgument` for a scalar.
    pub fn unstack(&self, i: usize) -> Result<Self> {
        match self {
            Self::Tensor(t) if t.shape().rank() == 0 => {
                Err(Error::invalid("unbatching a tensor is only supported for rank >= 1"))
            }
            Self::Tensor(t) => Ok(Self::Tensor(t.row(i))),
            Self::Sparse(s) => unstack_sparse(s, i),
            Self::Ragged(r) => unstack_ragged(r, i),
        }
    }

    /// Size of the outermost dimension; `None` for a scalar.
    pub fn outer_len(&self) -> Option<usize> {
        match self {
            Self::Tensor(t) => t.dims().first().copied(),
            Self::Sparse(s) => s.dense_shape.as_slice::<i64>().ok()?.first().map(|&d| d.max(0) as usize),
            Self::Ragged(r) => r.row_splits.first().map(|s| s.count().saturating_sub(1)),
        }
    }
}

impl From<Tensor> for Value {
    fn from(t: Tensor) -> Self {
        Self::Tensor(t)
    }
}

impl From<Sparse> for Value {
    fn from(s: Sparse) -> Self {
        Self::Sparse(Arc::new(s))
    }
}

impl From<Ragged> for Value {
    fn from(r: Ragged) -> Self {
        Self::Ragged(Arc::new(r))
    }
}

/// Joins the rows of `[n_i, ...]` tensors along their outermost dimension.
fn concat_rows(parts: &[Tensor], dtype: DType) -> Result<Tensor> {
    let rows: Vec<Tensor> = parts.iter().flat_map(|t| (0..t.dims()[0]).map(move |i| t.row(i))).collect();
    if rows.is_empty() {
        let inner = parts.first().map_or(Shape::SCALAR, |t| t.shape().row());
        return Ok(Tensor::zeros(dtype, inner.prepend(0)?));
    }
    Tensor::stack(&rows)
}

fn stack_sparse(rows: &[Value]) -> Result<Value> {
    let parts = rows.iter().map(Value::sparse).collect::<Result<Vec<_>>>()?;
    let rank = parts[0].dense_shape.count();
    let mut shape = vec![0i64; rank];
    let mut indices = Vec::new();
    for (b, part) in parts.iter().enumerate() {
        if part.dense_shape.count() != rank {
            return Err(Error::invalid(format!(
                "cannot batch sparse tensors of ranks {rank} and {}",
                part.dense_shape.count()
            )));
        }
        for (s, &d) in shape.iter_mut().zip(part.dense_shape.as_slice::<i64>()?) {
            *s = (*s).max(d);
        }
        for index in part.indices.as_slice::<i64>()?.chunks_exact(rank.max(1)) {
            indices.push(b as i64);
            indices.extend_from_slice(index);
        }
    }
    let n = indices.len() / (rank + 1);
    let values: Vec<Tensor> = parts.iter().map(|p| p.values.clone()).collect();
    shape.insert(0, parts.len() as i64);
    Ok(Sparse {
        indices: Tensor::from_vec(Shape::new(&[n, rank + 1])?, &indices)?,
        values: concat_rows(&values, parts[0].values.dtype())?,
        dense_shape: Tensor::vector(&shape),
    }
    .into())
}

fn unstack_sparse(s: &Sparse, i: usize) -> Result<Value> {
    let shape = s.dense_shape.as_slice::<i64>()?;
    let rank = shape.len();
    if rank == 0 {
        return Err(Error::invalid("unbatching a tensor is only supported for rank >= 1"));
    }
    let (mut indices, mut values) = (Vec::new(), Vec::new());
    for (k, index) in s.indices.as_slice::<i64>()?.chunks_exact(rank).enumerate() {
        if index[0] == i as i64 {
            indices.extend_from_slice(&index[1..]);
            values.push(s.values.row(k));
        }
    }
    let n = values.len();
    let values = if values.is_empty() {
        Tensor::zeros(s.values.dtype(), Shape::vector(0))
    } else {
        Tensor::stack(&values)?
    };
    Ok(Sparse {
        indices: Tensor::from_vec(Shape::new(&[n, rank - 1])?, &indices)?,
        values,
        dense_shape: Tensor::vector(&shape[1..]),
    }
    .into())
}

/// Row splits in the integer type that they came in.
fn splits(values: &[i64], dtype: DType) -> Tensor {
    if dtype == DType::I32 {
        return Tensor::vector(&values.iter().map(|&v| v as i32).collect::<Vec<_>>());
    }
    Tensor::vector(values)
}

fn stack_ragged(rows: &[Value]) -> Result<Value> {
    let parts = rows.iter().map(Value::ragged).collect::<Result<Vec<_>>>()?;
    let depth = parts[0].row_splits.len();
    let dtype = parts[0].row_splits[0].dtype();
    let mut outer = vec![0i64];
    let mut inner = vec![vec![0i64]; depth];
    for part in &parts {
        if part.row_splits.len() != depth {
            return Err(Error::invalid(format!(
                "cannot batch ragged tensors of ragged ranks {depth} and {}",
                part.row_splits.len()
            )));
        }
        let rows = part.row_splits[0].count() as i64 - 1;
        outer.push(outer[outer.len() - 1] + rows);
        for (all, own) in inner.iter_mut().zip(&part.row_splits) {
            let base = all[all.len() - 1];
            all.extend(own.to_i64s()?.iter().skip(1).map(|s| base + s));
        }
    }
    let flat: Vec<Tensor> = parts.iter().map(|p| p.flat_values.clone()).collect();
    let mut row_splits = vec![splits(&outer, dtype)];
    row_splits.extend(inner.iter().map(|s| splits(s, dtype)));
    Ok(Ragged { flat_values: concat_rows(&flat, parts[0].flat_values.dtype())?, row_splits }.into())
}

fn unstack_ragged(r: &Ragged, i: usize) -> Result<Value> {
    let outer = r.row_splits[0].to_i64s()?;
    let (mut a, mut b) = (outer[i] as usize, outer[i + 1] as usize);
    let mut row_splits = Vec::new();
    for level in &r.row_splits[1..] {
        let s = level.to_i64s()?;
        let base = s[a];
        row_splits.push(splits(&s[a..=b].iter().map(|v| v - base).collect::<Vec<_>>(), level.dtype()));
        (a, b) = (s[a] as usize, s[b] as usize);
    }
    let flat_values = r.flat_values.rows(a, b - a);
    Ok(if row_splits.is_empty() { flat_values.into() } else { Ragged { flat_values, row_splits }.into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sparse(values: &[f32], len: i64) -> Value {
        let n = values.len();
        Sparse {
            indices: Tensor::from_vec(Shape::new(&[n, 1]).unwrap(), &(0..n as i64).collect::<Vec<_>>())
                .unwrap(),
            values: Tensor::vector(values),
            dense_shape: Tensor::vector(&[len]),
        }
        .into()
    }

    #[test]
    fn sparse_rows_stack_to_the_longest_and_come_back() {
        let rows = [sparse(&[1.0, 2.0], 2), sparse(&[], 0), sparse(&[3.0], 1)];
        let all = Value::stack(&rows).unwrap();
        let s = all.sparse().unwrap();
        assert_eq!(s.indices.as_slice::<i64>().unwrap(), &[0, 0, 0, 1, 2, 0]);
        assert_eq!(s.dense_shape, Tensor::vector(&[3i64, 2]));
        assert_eq!(all.unstack(2).unwrap().sparse().unwrap().values, Tensor::vector(&[3f32]));
        assert_eq!(all.outer_len(), Some(3));
    }

    #[test]
    fn ragged_rows_stack_and_come_back() {
        let ragged = |flat: &[i64], splits: &[i64]| -> Value {
            Ragged { flat_values: Tensor::vector(flat), row_splits: vec![Tensor::vector(splits)] }.into()
        };
        let rows = [ragged(&[1, 2, 3], &[0, 1, 3]), ragged(&[], &[0]), ragged(&[4], &[0, 0, 1])];
        let all = Value::stack(&rows).unwrap();
        for (i, row) in rows.iter().enumerate() {
            assert_eq!(&all.unstack(i).unwrap(), row);
        }
    }
}
