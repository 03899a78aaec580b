//! What a parser makes of the lists that it finds, one output per feature.

use crate::feature_spec::{FeatureKind, FeatureSpec, Partition, check_dtype, fitted_default, full_shape};
use crate::list::ListKind;
use crate::parse::compose::{At, Form, sequence, sparse_feature, var_len};
use crate::parse::dense::Fixed;
use crate::parse::fault::{Fault, Place, explain};
use crate::parse::flat::{Flat, Lists};
use crate::parse::locate::{Found, Keys};
use crate::parse::ragged::{Level, Rows, dense_levels, ragged_feature};
use gristmill_types::{Bytes, DType, Error, Kind, PartialShape, Result, Shape, Spec, Tensor, Value};

/// One result.
#[derive(Clone, Debug)]
pub(crate) struct Output {
    pub(crate) name: String,
    pub(crate) make: Make,
}

/// How a result is made.
#[derive(Clone, Debug)]
pub(crate) enum Make {
    /// Row by row.
    Fixed(Fixed),
    /// From lists of any length.
    Lists(Composed),
}

/// A result that is made from lists of any length.
#[derive(Clone, Debug)]
pub(crate) enum Composed {
    VarLen { slot: usize, dtype: DType },
    Sequence { slot: usize, dtype: DType, row: Shape, default: Option<Tensor> },
    Sparse { indices: Vec<usize>, value: usize, dtype: DType, size: Vec<i64>, already_sorted: bool },
    Ragged { value: usize, dtype: DType, levels: Vec<Level>, splits: DType },
}

impl Output {
    /// Checks the feature and gives its keys slots.
    pub(crate) fn new(feature: &FeatureSpec, keys: &mut Keys) -> Result<Self> {
        let name = feature.name.as_str();
        check_dtype(name, feature.dtype())?;
        let make = match &feature.kind {
            FeatureKind::FixedLen { dtype, shape, default } => {
                let shape = full_shape(name, shape)?;
                let default = default.as_ref().map(|d| fitted_default(name, *dtype, shape, d)).transpose()?;
                let kind = ListKind::of(*dtype).ok_or_else(|| Error::internal("dtype was checked"))?;
                Make::Fixed(Fixed {
                    slot: keys.slot(name),
                    dtype: *dtype,
                    kind,
                    count: shape.count(),
                    shape,
                    default,
                })
            }
            FeatureKind::VarLen { dtype } => {
                Make::Lists(Composed::VarLen { slot: keys.slot(name), dtype: *dtype })
            }
            FeatureKind::FixedLenSequence { allow_missing: false, .. } => {
                return Err(Error::new(
                    Kind::Value,
                    format!(
                        "Unsupported: FixedLenSequenceFeature requires allow_missing to be True: feature '{name}'"
                    ),
                ));
            }
            FeatureKind::FixedLenSequence { dtype, shape, default, .. } => {
                let row = full_shape(name, shape)?;
                let default =
                    default.as_ref().map(|d| fitted_default(name, *dtype, Shape::SCALAR, d)).transpose()?;
                Make::Lists(Composed::Sequence { slot: keys.slot(name), dtype: *dtype, row, default })
            }
            FeatureKind::Sparse { index_keys, value_key, dtype, size, already_sorted } => {
                if index_keys.is_empty() || index_keys.len() != size.len() {
                    return Err(Error::new(
                        Kind::Value,
                        format!(
                            "sparse feature '{name}' has {} index keys and {} sizes: one size per index key is needed",
                            index_keys.len(),
                            size.len()
                        ),
                    ));
                }
                Make::Lists(Composed::Sparse {
                    indices: index_keys.iter().map(|k| keys.slot(k)).collect(),
                    value: keys.slot(value_key),
                    dtype: *dtype,
                    size: size.clone(),
                    already_sorted: *already_sorted,
                })
            }
            FeatureKind::Ragged { dtype, value_key, partitions, row_splits_dtype } => {
                if !matches!(row_splits_dtype, DType::I32 | DType::I64) {
                    return Err(Error::new(
                        Kind::Value,
                        format!(
                            "row_splits_dtype of ragged feature '{name}' is {row_splits_dtype}, not int32 or int64"
                        ),
                    ));
                }
                Make::Lists(Composed::Ragged {
                    value: keys.slot(value_key.as_deref().unwrap_or(name)),
                    dtype: *dtype,
                    levels: partitions.iter().map(|p| level(name, p, keys)).collect::<Result<_>>()?,
                    splits: *row_splits_dtype,
                })
            }
        };
        Ok(Self { name: feature.name.clone(), make })
    }

    /// Slots of the keys that it reads.
    pub(crate) fn slots(&self) -> impl Iterator<Item = usize> {
        let (one, more) = match &self.make {
            Make::Fixed(f) => (f.slot, Vec::new()),
            Make::Lists(Composed::VarLen { slot, .. } | Composed::Sequence { slot, .. }) => {
                (*slot, Vec::new())
            }
            Make::Lists(Composed::Sparse { indices, value, .. }) => (*value, indices.clone()),
            Make::Lists(Composed::Ragged { value, levels, .. }) => {
                (*value, levels.iter().filter_map(Level::slot).collect())
            }
        };
        std::iter::once(one).chain(more)
    }

    /// The result for one record.
    pub(crate) fn single(&self, keys: &Keys, record: &Bytes, found: &[Found]) -> Result<Value> {
        let explained = |fault: Fault| explain(&fault, keys, record, Place::Single);
        match &self.make {
            Make::Fixed(fixed) => {
                fixed.tensor(record, found[fixed.slot]).map_err(explained)?.map(Value::from)
            }
            Make::Lists(lists) => lists
                .make(std::slice::from_ref(record), |_, slot| found[slot], Form::Single)
                .map_err(|(_, fault)| explained(fault))?,
        }
    }

    /// Spec of the result for one record.
    pub(crate) fn spec(&self) -> Spec {
        let sparse = |dtype, shape| Spec::Sparse { dtype, shape };
        match &self.make {
            Make::Fixed(f) => Spec::tensor(f.dtype, PartialShape::from(&f.shape)),
            Make::Lists(Composed::VarLen { dtype, .. }) => sparse(*dtype, PartialShape::of_rank(1)),
            Make::Lists(Composed::Sequence { dtype, row, .. }) => {
                Spec::tensor(*dtype, PartialShape::from(row).prepend(None))
            }
            Make::Lists(Composed::Sparse { dtype, size, .. }) => {
                sparse(*dtype, PartialShape::new(size.iter().map(|&s| usize::try_from(s).ok()).collect()))
            }
            Make::Lists(Composed::Ragged { dtype, levels, .. }) => {
                let ragged_rank = levels.len() - dense_levels(levels);
                let shape = ragged_shape(levels);
                if ragged_rank == 0 {
                    Spec::tensor(*dtype, shape)
                } else {
                    Spec::Ragged { dtype: *dtype, shape, ragged_rank }
                }
            }
        }
    }

    /// Spec of the result for a batch of `n` records.
    pub(crate) fn batch_spec(&self, n: Option<usize>) -> Spec {
        match &self.make {
            Make::Lists(Composed::Ragged { dtype, levels, .. }) => Spec::Ragged {
                dtype: *dtype,
                shape: ragged_shape(levels).prepend(n),
                ragged_rank: levels.len() - dense_levels(levels) + 1,
            },
            _ => self.spec().batched(n),
        }
    }
}

/// Shape of one record's ragged feature: only dense inner dimensions are known.
fn ragged_shape(levels: &[Level]) -> PartialShape {
    let dense = dense_levels(levels);
    let inner = levels[levels.len() - dense..]
        .iter()
        .map(|l| if let Level::Uniform(n) = l { Some(*n) } else { None });
    PartialShape::new(std::iter::repeat_n(None, levels.len() - dense + 1).chain(inner).collect())
}

fn level(name: &str, partition: &Partition, keys: &mut Keys) -> Result<Level> {
    let rows = match partition {
        Partition::RowSplits(_) => Rows::Splits,
        Partition::RowLengths(_) => Rows::Lengths,
        Partition::RowStarts(_) => Rows::Starts,
        Partition::RowLimits(_) => Rows::Limits,
        Partition::ValueRowIds(_) => Rows::ValueIds,
        Partition::UniformRowLength(0) => {
            return Err(Error::new(
                Kind::Value,
                format!("ragged feature '{name}' has uniform rows of length 0"),
            ));
        }
        Partition::UniformRowLength(n) => return Ok(Level::Uniform(*n)),
    };
    let key = partition.key().ok_or_else(|| Error::internal("a partition without key"))?;
    Ok(Level::Key { slot: keys.slot(key), rows })
}

/// The values of one slot over the records.
fn gather(
    records: &[Bytes],
    found: &impl Fn(usize, usize) -> Found,
    slot: usize,
    dtype: DType,
    dense: bool,
) -> At<Lists> {
    let mut flat = Flat::new(dtype);
    let mut counts = Vec::with_capacity(records.len());
    for (i, record) in records.iter().enumerate() {
        counts.push(flat.take(record, found(i, slot), slot, dense).map_err(|f| (i, f))?);
    }
    Ok(Lists { flat, counts })
}

impl Composed {
    /// The result over these records, one of them for [`Form::Single`]. `found` is asked with
    /// record and slot.
    pub(crate) fn make(
        &self,
        records: &[Bytes],
        found: impl Fn(usize, usize) -> Found,
        form: Form,
    ) -> At<Result<Value>> {
        let lists = |slot, dtype, dense| gather(records, &found, slot, dtype, dense);
        match self {
            Self::VarLen { slot, dtype } => Ok(var_len(lists(*slot, *dtype, false)?, form)),
            Self::Sequence { slot, dtype, row, default } => {
                sequence(lists(*slot, *dtype, true)?, *slot, row, default.as_ref(), form)
            }
            Self::Sparse { indices, value, dtype, size, already_sorted } => {
                let indices =
                    indices.iter().map(|&s| lists(s, DType::I64, false)).collect::<Result<Vec<_>, _>>()?;
                sparse_feature(&indices, lists(*value, *dtype, false)?, *value, size, *already_sorted, form)
            }
            Self::Ragged { value, dtype, levels, splits } => {
                let mut parts = Vec::new();
                for level in levels {
                    if let Level::Key { slot, .. } = level {
                        parts.push(lists(*slot, DType::I64, false)?);
                    }
                }
                ragged_feature(lists(*value, *dtype, false)?, *value, levels, &parts, *splits, form)
            }
        }
    }
}
