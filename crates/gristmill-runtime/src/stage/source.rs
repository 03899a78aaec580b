//! `range`, `from_tensors`, `from_tensor_slices`.

use super::Stage;
use crate::env::Env;
use crate::state::{StateReader, StateWriter};
use crate::stats::StageStats;
use gristmill_plan::dataset::{Range, TensorSlices, Tensors};
use gristmill_types::{
    Block, Buffer, Column, DType, Error, Ids, Key, Result, Shape, Tensor, Value, elements, with_element,
};
use std::sync::Arc;

/// The ids of a source's elements from `first` on.
fn ids(env: &Env, root: Key, first: u64) -> Ids {
    if env.shared.track { Ids::Run { root, first } } else { Ids::None }
}

/// Integers by arithmetic.
pub(crate) struct RangeStage {
    env: Env,
    root: Key,
    start: i64,
    step: i64,
    len: u64,
    dtype: DType,
    at: u64,
    stats: Arc<StageStats>,
}

impl RangeStage {
    pub(crate) fn new(op: &Range, env: &Env) -> Result<Self> {
        let len = op.len()?.ok_or_else(|| Error::internal("a range has open bounds"))?;
        Ok(Self {
            root: env.source_root(),
            start: op.start.as_int()?,
            step: op.step.as_int()?,
            len,
            dtype: op.dtype,
            at: 0,
            stats: env.stats("range"),
            env: env.clone(),
        })
    }
}

impl Stage for RangeStage {
    fn stats(&self) -> &Arc<StageStats> {
        &self.stats
    }

    fn next(&mut self, want: usize) -> Option<Block> {
        let n = usize::try_from(self.len - self.at).unwrap_or(usize::MAX).min(want);
        if n == 0 {
            return None;
        }
        let mut buffer = Buffer::recycled(n * self.dtype.size());
        let first = self.start.wrapping_add(self.step.wrapping_mul(self.at as i64));
        let step = self.step;
        let column = with_element!(self.dtype, T => {
            if let Some(out) = elements::cast_slice_mut::<T>(buffer.as_mut_slice()) {
                let mut v = first;
                for slot in out {
                    *slot = NumberFrom::from_i64(v);
                    v = v.wrapping_add(step);
                }
            }
            Tensor::from_buffer(self.dtype, Shape::vector(n), buffer)
        }, _ => Err(Error::internal("a range of strings")));
        let ids = ids(&self.env, self.root, self.at);
        self.at += n as u64;
        let block = match column {
            Ok(t) => Block::new(n, vec![Column::Uniform(t)], ids),
            Err(e) => Block::error(e),
        };
        self.stats.block(&block);
        Some(block)
    }

    fn skip(&mut self, n: u64) -> u64 {
        let n = n.min(self.len - self.at);
        self.at += n;
        n
    }

    fn save(&self, to: &mut StateWriter) {
        to.u64(self.at);
    }

    fn restore(&mut self, from: &mut StateReader<'_>) -> Result<()> {
        self.at = from.u64()?.min(self.len);
        Ok(())
    }
}

/// The number of a type that an integer becomes.
trait NumberFrom {
    fn from_i64(v: i64) -> Self;
}

macro_rules! number_from {
    ($($t:ty)*) => { $(impl NumberFrom for $t {
        fn from_i64(v: i64) -> Self { v as $t }
    })* };
}
number_from!(u8 u16 u32 u64 i8 i16 i32 i64 f32 f64);

impl NumberFrom for half::f16 {
    fn from_i64(v: i64) -> Self {
        Self::from_f64(v as f64)
    }
}

impl NumberFrom for half::bf16 {
    fn from_i64(v: i64) -> Self {
        Self::from_f64(v as f64)
    }
}

/// One element.
pub(crate) struct TensorsStage {
    values: Vec<Value>,
    given: bool,
    root: Key,
    env: Env,
    stats: Arc<StageStats>,
}

impl TensorsStage {
    pub(crate) fn new(op: &Tensors, env: &Env) -> Result<Self> {
        let values = op
            .structure
            .leaves()
            .into_iter()
            .map(|&i| op.components[i].value().cloned())
            .collect::<Result<_>>()?;
        Ok(Self {
            values,
            given: false,
            root: env.source_root(),
            stats: env.stats("from_tensors"),
            env: env.clone(),
        })
    }
}

impl Stage for TensorsStage {
    fn stats(&self) -> &Arc<StageStats> {
        &self.stats
    }

    fn next(&mut self, _: usize) -> Option<Block> {
        if std::mem::replace(&mut self.given, true) {
            return None;
        }
        let columns = self.values.iter().map(column_of_one).collect();
        let block = Block::new(1, columns, ids(&self.env, self.root, 0));
        self.stats.block(&block);
        Some(block)
    }

    fn save(&self, to: &mut StateWriter) {
        to.bool(self.given);
    }

    fn restore(&mut self, from: &mut StateReader<'_>) -> Result<()> {
        self.given = from.bool()?;
        Ok(())
    }
}

/// A column of one value, of a tensor without a copy: a large one may be repeated often.
fn column_of_one(value: &Value) -> Column {
    let row = |t: &Tensor| t.reshaped(t.shape().prepend(1)?);
    match value {
        Value::Tensor(t) => row(t).map_or_else(|_| Column::Varied(vec![value.clone()]), Column::Uniform),
        _ => Column::Varied(vec![value.clone()]),
    }
}

/// Rows of tensors.
pub(crate) struct SlicesStage {
    values: Vec<Value>,
    len: usize,
    at: usize,
    root: Key,
    env: Env,
    stats: Arc<StageStats>,
}

impl SlicesStage {
    pub(crate) fn new(op: &TensorSlices, env: &Env) -> Result<Self> {
        let values: Vec<Value> = op
            .structure
            .leaves()
            .into_iter()
            .map(|&i| op.components[i].value().cloned())
            .collect::<Result<_>>()?;
        let lens: Vec<usize> = values
            .iter()
            .map(|v| {
                v.outer_len().ok_or_else(|| Error::invalid("from_tensor_slices needs tensors of rank >= 1"))
            })
            .collect::<Result<_>>()?;
        let len = lens.first().copied().unwrap_or(0);
        if let Some(other) = lens.iter().find(|&&l| l != len) {
            return Err(Error::invalid(format!("Dimensions {len} and {other} are not compatible")));
        }
        let name = if op.paths { "list_files" } else { "from_tensor_slices" };
        Ok(Self { values, len, at: 0, root: env.source_root(), stats: env.stats(name), env: env.clone() })
    }
}

impl Stage for SlicesStage {
    fn stats(&self) -> &Arc<StageStats> {
        &self.stats
    }

    fn next(&mut self, want: usize) -> Option<Block> {
        let n = (self.len - self.at).min(want);
        if n == 0 {
            return None;
        }
        let columns: Result<Vec<Column>> = self
            .values
            .iter()
            .map(|v| match v {
                Value::Tensor(t) => Ok(Column::Uniform(t.rows(self.at, n))),
                other => Ok(Column::Varied(
                    (self.at..self.at + n).map(|i| other.unstack(i)).collect::<Result<_>>()?,
                )),
            })
            .collect();
        let ids = ids(&self.env, self.root, self.at as u64);
        self.at += n;
        let block = match columns {
            Ok(columns) => Block::new(n, columns, ids),
            Err(e) => Block::error(e),
        };
        self.stats.block(&block);
        Some(block)
    }

    fn skip(&mut self, n: u64) -> u64 {
        let n = usize::try_from(n).unwrap_or(usize::MAX).min(self.len - self.at);
        self.at += n;
        n as u64
    }

    fn save(&self, to: &mut StateWriter) {
        to.u64(self.at as u64);
    }

    fn restore(&mut self, from: &mut StateReader<'_>) -> Result<()> {
        self.at = usize::try_from(from.u64()?).unwrap_or(usize::MAX).min(self.len);
        Ok(())
    }
}
