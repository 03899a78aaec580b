//! How the features of an Example are to be parsed.

use gristmill_types::{DType, Error, Kind, PartialShape, Result, Shape, Tensor};
use std::collections::BTreeSet;

/// One feature of a parse spec: the name that the result has, and how it is made.
#[derive(Clone, Debug, PartialEq)]
pub struct FeatureSpec {
    /// Name of the result; also the key in the Example, unless the kind names other keys.
    pub name: String,
    /// How it is made.
    pub kind: FeatureKind,
}

/// The kinds of `tf.io`'s feature classes.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum FeatureKind {
    /// `FixedLenFeature`: a dense tensor of exactly that shape.
    FixedLen {
        /// int64, float32 or string.
        dtype: DType,
        /// Every dimension must be known.
        shape: PartialShape,
        /// Taken when the key is absent or holds no list; as many elements as the shape.
        default: Option<Tensor>,
    },
    /// `VarLenFeature`: a sparse tensor.
    VarLen {
        /// int64, float32 or string.
        dtype: DType,
    },
    /// `FixedLenSequenceFeature`: a dense tensor of any number of rows.
    FixedLenSequence {
        /// int64, float32 or string.
        dtype: DType,
        /// Shape of one row; every dimension must be known.
        shape: PartialShape,
        /// Whether the key may be absent; must be true where an Example (or the context of a
        /// SequenceExample) is parsed.
        allow_missing: bool,
        /// Scalar that pads shorter rows of a batch; 0 or the empty string if not given.
        default: Option<Tensor>,
    },
    /// `RaggedFeature`: a ragged tensor, or for a single Example without partitions a dense vector.
    Ragged {
        /// int64, float32 or string.
        dtype: DType,
        /// Key of the values; the feature's name if not given.
        value_key: Option<String>,
        /// Outermost first.
        partitions: Vec<Partition>,
        /// int32 or int64.
        row_splits_dtype: DType,
    },
    /// `SparseFeature`: a sparse tensor from a key of values and keys of their indices.
    Sparse {
        /// One key per dimension, each holding int64.
        index_keys: Vec<String>,
        /// Key of the values.
        value_key: String,
        /// int64, float32 or string.
        dtype: DType,
        /// Size of every dimension.
        size: Vec<i64>,
        /// Whether the indices are stored in row-major order, so that sorting is left out.
        already_sorted: bool,
    },
}

/// How the rows of one level of a `RaggedFeature` are given.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Partition {
    /// Key with where each row begins, and where the last ends.
    RowSplits(String),
    /// Key with the length of each row.
    RowLengths(String),
    /// Key with where each row begins.
    RowStarts(String),
    /// Key with where each row ends.
    RowLimits(String),
    /// Key with the row of each value.
    ValueRowIds(String),
    /// All rows have that length, at least 1.
    UniformRowLength(usize),
}

impl Partition {
    /// The key that it reads.
    pub fn key(&self) -> Option<&str> {
        match self {
            Self::RowSplits(k)
            | Self::RowLengths(k)
            | Self::RowStarts(k)
            | Self::RowLimits(k)
            | Self::ValueRowIds(k) => Some(k),
            Self::UniformRowLength(_) => None,
        }
    }
}

impl FeatureSpec {
    /// A `FixedLenFeature` without default.
    pub fn fixed(name: impl Into<String>, dtype: DType, dims: &[usize]) -> Self {
        let kind = FeatureKind::FixedLen { dtype, shape: PartialShape::known(dims), default: None };
        Self { name: name.into(), kind }
    }

    /// A `FixedLenFeature` with default.
    pub fn fixed_or(name: impl Into<String>, dims: &[usize], default: Tensor) -> Self {
        let kind = FeatureKind::FixedLen {
            dtype: default.dtype(),
            shape: PartialShape::known(dims),
            default: Some(default),
        };
        Self { name: name.into(), kind }
    }

    /// A `VarLenFeature`.
    pub fn var_len(name: impl Into<String>, dtype: DType) -> Self {
        Self { name: name.into(), kind: FeatureKind::VarLen { dtype } }
    }

    /// The dtype of the result.
    pub fn dtype(&self) -> DType {
        match &self.kind {
            FeatureKind::FixedLen { dtype, .. }
            | FeatureKind::VarLen { dtype }
            | FeatureKind::FixedLenSequence { dtype, .. }
            | FeatureKind::Ragged { dtype, .. }
            | FeatureKind::Sparse { dtype, .. } => *dtype,
        }
    }
}

/// The features in the order of TensorFlow's result: keys parsed as sparse, then dense, then
/// ragged ones, each sorted by feature name; last those that are composed under a name of their own.
///
/// # Errors
/// `Value` for a name given twice.
pub(crate) fn output_order(specs: &[FeatureSpec]) -> Result<Vec<&FeatureSpec>> {
    let mut sorted: Vec<&FeatureSpec> = specs.iter().collect();
    sorted.sort_by(|a, b| a.name.as_bytes().cmp(b.name.as_bytes()));
    if let Some(pair) = sorted.windows(2).find(|p| p[0].name == p[1].name) {
        return Err(Error::new(Kind::Value, format!("feature '{}' is declared twice", pair[0].name)));
    }
    let (mut sparse, mut dense, mut ragged) = (Vec::new(), Vec::new(), Vec::new());
    for f in &sorted {
        match &f.kind {
            FeatureKind::VarLen { .. } => sparse.push(f.name.as_str()),
            FeatureKind::FixedLen { .. } | FeatureKind::FixedLenSequence { .. } => {
                dense.push(f.name.as_str())
            }
            FeatureKind::Sparse { index_keys, value_key, .. } => {
                sparse.extend(index_keys.iter().collect::<BTreeSet<_>>().into_iter().map(String::as_str));
                sparse.push(value_key);
            }
            FeatureKind::Ragged { value_key, partitions, .. } => {
                ragged.push(value_key.as_deref().unwrap_or(&f.name));
                ragged.extend(partitions.iter().filter_map(Partition::key));
            }
        }
    }
    let keys: Vec<&str> = sparse.into_iter().chain(dense).chain(ragged).collect();
    sorted.sort_by_key(|f| keys.iter().position(|&k| k == f.name).unwrap_or(keys.len()));
    Ok(sorted)
}

/// The dtype, if features may have it.
///
/// # Errors
/// `InvalidArgument` in TensorFlow's words.
pub(crate) fn check_dtype(name: &str, dtype: DType) -> Result<()> {
    match dtype {
        DType::I64 | DType::F32 | DType::String => Ok(()),
        other => Err(Error::invalid(format!(
            "feature '{name}': {other} is not in the list of allowed values: float, int64, string"
        ))
        .hint(if other.is_float() { "declare float32 and cast" } else { "declare int64 and cast" })),
    }
}

/// The full shape of a dense feature.
///
/// # Errors
/// `Value` in TensorFlow's words if a dimension is unknown.
pub(crate) fn full_shape(name: &str, shape: &PartialShape) -> Result<Shape> {
    if let Some(full) = shape.full() {
        return Ok(full);
    }
    let unknown = |d: &[Option<usize>]| d.iter().any(Option::is_none);
    Err(match shape.dims() {
        None => Error::new(Kind::Value, format!("missing shape for feature {name}")),
        Some([None, ..]) => {
            Error::new(Kind::Value, format!("First dimension of shape for feature {name} unknown: {shape}"))
                .hint("consider using FixedLenSequenceFeature")
        }
        Some(d) if unknown(d) => Error::new(
            Kind::Value,
            format!("All dimensions of shape for feature {name} need to be known but received {shape}"),
        ),
        Some(_) => Error::new(Kind::Value, format!("shape {shape} of feature {name} is too large")),
    })
}

/// A default in the shape of its feature.
///
/// # Errors
/// `InvalidArgument` if dtype or number of elements differ.
pub(crate) fn fitted_default(name: &str, dtype: DType, shape: Shape, default: &Tensor) -> Result<Tensor> {
    if default.dtype() != dtype {
        return Err(Error::invalid(format!(
            "default of feature '{name}' is {}, the feature is {dtype}",
            default.dtype()
        )));
    }
    default.reshaped(shape).map_err(|_| {
        Error::invalid(format!(
            "Input to reshape is a tensor with {} values, but the requested shape has {}: default of feature '{name}', \
             whose shape is {shape}",
            default.count(),
            shape.count()
        ))
        .hint("defaults are not broadcast: give as many values as the shape has")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_is_sparse_dense_ragged_composed() {
        let ragged = |value_key: Option<&str>| FeatureKind::Ragged {
            dtype: DType::I64,
            value_key: value_key.map(str::to_owned),
            partitions: Vec::new(),
            row_splits_dtype: DType::I32,
        };
        let specs = [
            FeatureSpec { name: "a".into(), kind: ragged(Some("x")) },
            FeatureSpec { name: "b".into(), kind: ragged(None) },
            FeatureSpec::fixed("d", DType::I64, &[]),
            FeatureSpec::fixed("c", DType::I64, &[]),
            FeatureSpec::var_len("z", DType::F32),
            FeatureSpec::var_len("y", DType::F32),
        ];
        let names: Vec<_> = output_order(&specs).unwrap().iter().map(|f| f.name.as_str()).collect();
        assert_eq!(names, ["y", "z", "c", "d", "b", "a"]);
    }

    #[test]
    fn unknown_dimensions_and_narrow_dtypes_are_refused() {
        let e = full_shape("v", &PartialShape::new(vec![None])).unwrap_err();
        assert!(e.message().contains("First dimension of shape for feature v unknown"), "{e}");
        assert_eq!(e.kind(), Kind::Value);
        let e = check_dtype("i", DType::U8).unwrap_err();
        assert_eq!(e.advice(), Some("declare int64 and cast"));
    }

    #[test]
    fn defaults_are_reshaped_not_broadcast() {
        let shape = Shape::vector(3);
        let e = fitted_default("x", DType::I64, shape, &Tensor::scalar(7i64)).unwrap_err();
        assert!(e.message().contains("a tensor with 1 values, but the requested shape has 3"), "{e}");
        let ok = fitted_default("x", DType::I64, Shape::new(&[1, 2]).unwrap(), &Tensor::vector(&[1i64, 2]))
            .unwrap();
        assert_eq!(ok.dims(), &[1, 2]);
    }
}
