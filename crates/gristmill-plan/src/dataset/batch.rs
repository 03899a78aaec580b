//! `batch` and `unbatch`.

use super::{Cardinality, ElementSpec, Map, Operand, Plan, Transformation, same};
use gristmill_types::{Error, Kind, Result, Spec, Value};

/// Consecutive elements stacked along a new outermost dimension.
#[derive(Clone, Debug)]
pub struct Batch {
    /// Elements per batch.
    pub size: Operand,
    /// Whether a last batch that is not full is dropped.
    pub drop_remainder: bool,
}

impl Transformation for Batch {
    fn name(&self) -> &'static str {
        "batch"
    }
    fn spec(&self, inputs: &[&ElementSpec]) -> Result<ElementSpec> {
        let size = self.size.known_int()?;
        if let Some(n) = size
            && n <= 0
        {
            return Err(Error::invalid(format!("Batch size must be greater than zero, found {n}")));
        }
        let n = size.filter(|_| self.drop_remainder).map(|n| n as usize);
        Ok(inputs[0].map(|s| s.batched(n)))
    }
    fn cardinality(&self, inputs: &[&Plan]) -> Cardinality {
        match self.size.known_int() {
            Ok(Some(n)) if n > 0 => {
                same(inputs).map(|k| if self.drop_remainder { k / n as u64 } else { k.div_ceil(n as u64) })
            }
            _ => Cardinality::Unknown,
        }
    }
    fn describe(&self) -> String {
        format!("{}{}", self.size, if self.drop_remainder { ", drop_remainder=true" } else { "" })
    }
    fn has_params(&self) -> bool {
        self.size.is_param()
    }
    fn bind(&self, params: &[Value]) -> Result<Self> {
        Ok(Self { size: self.size.bind(params)?, drop_remainder: self.drop_remainder })
    }
}

/// The rows of each element's components as elements of their own.
#[derive(Clone, Debug)]
pub struct Unbatch;

impl Transformation for Unbatch {
    fn name(&self) -> &'static str {
        "unbatch"
    }
    fn spec(&self, inputs: &[&ElementSpec]) -> Result<ElementSpec> {
        let scalar = inputs[0].leaves().into_iter().any(|s| s.shape().rank() == Some(0));
        if scalar {
            return Err(Error::new(Kind::Value, "Cannot unbatch an input with scalar components"));
        }
        Ok(inputs[0].map(Spec::unbatched))
    }
    fn cardinality(&self, inputs: &[&Plan]) -> Cardinality {
        let rows = inputs[0].spec().leaves().into_iter().find_map(|s| s.shape().dim(0));
        match (same(inputs), rows) {
            (Cardinality::Known(k), Some(rows)) => Cardinality::Known(k.saturating_mul(rows as u64)),
            (Cardinality::Infinite, Some(1..)) => Cardinality::Infinite,
            _ => Cardinality::Unknown,
        }
    }
}

/// A map and the batch right above it, as one stage.
#[derive(Clone, Debug)]
pub struct MapBatch {
    /// What each element goes through.
    pub map: Map,
    /// How the results are grouped.
    pub batch: Batch,
}

impl Transformation for MapBatch {
    fn name(&self) -> &'static str {
        "map+batch"
    }
    fn spec(&self, inputs: &[&ElementSpec]) -> Result<ElementSpec> {
        let mapped = self.map.spec(inputs)?;
        self.batch.spec(&[&mapped])
    }
    fn cardinality(&self, inputs: &[&Plan]) -> Cardinality {
        self.batch.cardinality(inputs)
    }
    fn describe(&self) -> String {
        format!("{} | {}", self.map.describe(), self.batch.describe())
    }
    fn has_params(&self) -> bool {
        self.map.has_params() || self.batch.has_params()
    }
    fn bind(&self, params: &[Value]) -> Result<Self> {
        Ok(Self { map: self.map.bind(params)?, batch: self.batch.bind(params)? })
    }
    fn impure_ops(&self) -> Vec<(u64, &'static str)> {
        self.map.impure_ops()
    }
    fn is_foreign(&self) -> bool {
        self.map.is_foreign()
    }
}
