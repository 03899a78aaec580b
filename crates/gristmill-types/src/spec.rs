//! What is known of a value before it exists.

use crate::{DType, Error, Result, Shape};
use std::fmt;

/// A shape of which some dimensions, or even their number, may be unknown.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PartialShape(Option<Vec<Option<usize>>>);

impl PartialShape {
    /// Unknown rank.
    pub const UNKNOWN: Self = Self(None);

    /// Known rank, dimensions known or not.
    pub fn new(dims: Vec<Option<usize>>) -> Self {
        Self(Some(dims))
    }

    /// A scalar.
    pub fn scalar() -> Self {
        Self(Some(Vec::new()))
    }

    /// Fully known dimensions.
    pub fn known(dims: &[usize]) -> Self {
        Self(Some(dims.iter().map(|&d| Some(d)).collect()))
    }

    /// That many unknown dimensions.
    pub fn of_rank(rank: usize) -> Self {
        Self(Some(vec![None; rank]))
    }

    /// The dimensions, if the rank is known.
    pub fn dims(&self) -> Option<&[Option<usize>]> {
        self.0.as_deref()
    }

    /// The rank, if known.
    pub fn rank(&self) -> Option<usize> {
        self.0.as_ref().map(Vec::len)
    }

    /// Dimension `i`, if known.
    pub fn dim(&self, i: usize) -> Option<usize> {
        self.0.as_ref().and_then(|d| d.get(i).copied().flatten())
    }

    /// The full shape, if every dimension is known.
    pub fn full(&self) -> Option<Shape> {
        let dims = self.0.as_ref()?.iter().copied().collect::<Option<Vec<_>>>()?;
        Shape::new(&dims).ok()
    }

    /// `[d]` followed by these dimensions.
    #[must_use]
    pub fn prepend(&self, d: Option<usize>) -> Self {
        Self(self.0.as_ref().map(|dims| std::iter::once(d).chain(dims.iter().copied()).collect()))
    }

    /// Without the outermost dimension.
    #[must_use]
    pub fn row(&self) -> Self {
        Self(self.0.as_ref().map(|dims| dims.iter().skip(1).copied().collect()))
    }

    /// Whether a tensor of that shape fits.
    pub fn accepts(&self, shape: &Shape) -> bool {
        self.compatible(&Self::from(shape))
    }

    /// Whether some full shape fits both.
    pub fn compatible(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Some(a), Some(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(x, y)| x.is_none() || y.is_none() || x == y)
            }
            _ => true,
        }
    }

    /// The most that is known when both hold.
    ///
    /// # Errors
    /// `InvalidArgument` when they contradict each other.
    pub fn merge(&self, other: &Self) -> Result<Self> {
        if !self.compatible(other) {
            return Err(Error::invalid(format!("shapes {self} and {other} are not compatible")));
        }
        Ok(match (&self.0, &other.0) {
            (Some(a), Some(b)) => Self(Some(a.iter().zip(b).map(|(x, y)| x.or(*y)).collect())),
            (Some(_), None) => self.clone(),
            _ => other.clone(),
        })
    }

    /// The most that is known when one of both holds.
    #[must_use]
    pub fn relax(&self, other: &Self) -> Self {
        match (&self.0, &other.0) {
            (Some(a), Some(b)) if a.len() == b.len() => {
                Self(Some(a.iter().zip(b).map(|(x, y)| if x == y { *x } else { None }).collect()))
            }
            _ => Self::UNKNOWN,
        }
    }
}

impl From<&Shape> for PartialShape {
    fn from(s: &Shape) -> Self {
        Self::known(s.dims())
    }
}

impl fmt::Display for PartialShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(dims) = &self.0 else { return f.write_str("<unknown>") };
        f.write_str("(")?;
        for (i, d) in dims.iter().enumerate() {
            if i > 0 {
                f.write_str(", ")?;
            }
            match d {
                Some(d) => write!(f, "{d}")?,
                None => f.write_str("None")?,
            }
        }
        f.write_str(if dims.len() == 1 { ",)" } else { ")" })
    }
}

/// What is known of a component before it exists.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Spec {
    /// A dense tensor.
    Tensor {
        /// Element type.
        dtype: DType,
        /// Shape as far as known.
        shape: PartialShape,
    },
    /// A sparse tensor.
    Sparse {
        /// Element type.
        dtype: DType,
        /// Dense shape as far as known.
        shape: PartialShape,
    },
    /// A ragged tensor.
    Ragged {
        /// Element type.
        dtype: DType,
        /// Shape as far as known, ragged dimensions included.
        shape: PartialShape,
        /// Number of nested row splits.
        ragged_rank: usize,
    },
}

impl Spec {
    /// A dense tensor.
    pub fn tensor(dtype: DType, shape: PartialShape) -> Self {
        Self::Tensor { dtype, shape }
    }

    /// A dense scalar.
    pub fn scalar(dtype: DType) -> Self {
        Self::tensor(dtype, PartialShape::scalar())
    }

    /// The element type.
    pub fn dtype(&self) -> DType {
        match self {
            Self::Tensor { dtype, .. } | Self::Sparse { dtype, .. } | Self::Ragged { dtype, .. } => *dtype,
        }
    }

    /// The shape as far as known.
    pub fn shape(&self) -> &PartialShape {
        match self {
            Self::Tensor { shape, .. } | Self::Sparse { shape, .. } | Self::Ragged { shape, .. } => shape,
        }
    }

    /// Whether this is a dense tensor.
    pub fn is_dense(&self) -> bool {
        matches!(self, Self::Tensor { .. })
    }

    /// The same kind with another shape.
    #[must_use]
    pub fn with_shape(&self, shape: PartialShape) -> Self {
        match self {
            Self::Tensor { dtype, .. } => Self::Tensor { dtype: *dtype, shape },
            Self::Sparse { dtype, .. } => Self::Sparse { dtype: *dtype, shape },
            Self::Ragged { dtype, ragged_rank, .. } => {
                Self::Ragged { dtype: *dtype, shape, ragged_rank: *ragged_rank }
            }
        }
    }

    /// The spec of a batch of `n` of these.
    #[must_use]
    pub fn batched(&self, n: Option<usize>) -> Self {
        match self {
            Self::Ragged { dtype, shape, ragged_rank } => {
                let inner = PartialShape(shape.dims().map(|d| {
                    let mut d = d.to_vec();
                    if let Some(first) = d.first_mut() {
                        *first = None;
                    }
                    d
                }));
                Self::Ragged { dtype: *dtype, shape: inner.prepend(n), ragged_rank: ragged_rank + 1 }
            }
            Self::Sparse { dtype, shape } => Self::Sparse {
                dtype: *dtype,
                shape: PartialShape(shape.dims().map(|d| d.to_vec())).prepend(n),
            },
            other => other.with_shape(other.shape().prepend(n)),
        }
    }

    /// The spec of one row of these.
    #[must_use]
    pub fn unbatched(&self) -> Self {
        match self {
            Self::Ragged { dtype, shape, ragged_rank: 1 } => {
                Self::Tensor { dtype: *dtype, shape: shape.row() }
            }
            Self::Ragged { dtype, shape, ragged_rank } => {
                Self::Ragged { dtype: *dtype, shape: shape.row(), ragged_rank: ragged_rank - 1 }
            }
            other => other.with_shape(other.shape().row()),
        }
    }

    /// The most that is known when one of both holds; `None` if kind or dtype differ.
    pub fn relax(&self, other: &Self) -> Option<Self> {
        let same = match (self, other) {
            (Self::Ragged { ragged_rank: a, .. }, Self::Ragged { ragged_rank: b, .. }) => a == b,
            (a, b) => std::mem::discriminant(a) == std::mem::discriminant(b),
        };
        (same && self.dtype() == other.dtype()).then(|| self.with_shape(self.shape().relax(other.shape())))
    }
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tensor { dtype, shape } => write!(f, "{dtype}{shape}"),
            Self::Sparse { dtype, shape } => write!(f, "sparse {dtype}{shape}"),
            Self::Ragged { dtype, shape, .. } => write!(f, "ragged {dtype}{shape}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merge_knows_more_relax_knows_less() {
        let a = PartialShape::new(vec![Some(3), None]);
        let b = PartialShape::new(vec![None, Some(4)]);
        assert_eq!(a.merge(&b).unwrap(), PartialShape::known(&[3, 4]));
        assert_eq!(a.relax(&b), PartialShape::of_rank(2));
        assert!(a.merge(&PartialShape::known(&[2, 2])).is_err());
        assert_eq!(a.to_string(), "(3, None)");
        assert_eq!(PartialShape::known(&[5]).to_string(), "(5,)");
    }
}
