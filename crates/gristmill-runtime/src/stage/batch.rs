//! `batch`: consecutive elements stacked.

use super::{Feed, Stage};
use crate::env::Env;
use crate::state::{StateReader, StateWriter};
use crate::stats::StageStats;
use gristmill_types::{
    Block, Buffer, Column, Error, Frame, Id, Ids, Key, Origin, Result, Shape, Tensor, Value,
};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// See the module. An error among the elements of a batch takes the batch with it.
pub(crate) struct BatchStage {
    input: Feed,
    size: usize,
    drop_remainder: bool,
    track: bool,
    stats: Arc<StageStats>,
}

impl BatchStage {
    pub(crate) fn new(input: Box<dyn Stage>, size: i64, drop_remainder: bool, env: &Env) -> Result<Self> {
        Ok(Self {
            input: Feed::new(input),
            size: batch_size(size)?,
            drop_remainder,
            track: env.shared.track,
            stats: env.stats("batch"),
        })
    }

    /// Whole batches that lie in one block: nothing is copied. `None` if there are none or one of them
    /// breaks: an error takes one batch only.
    fn whole(&mut self, block: &Block) -> Option<Block> {
        let k = block.len / self.size;
        if k == 0 {
            return None;
        }
        let part = block.outcome_slice(0, k * self.size);
        let columns: Result<Vec<Column>> = part.columns.iter().map(|c| self.split(c, k)).collect();
        let columns = columns.ok()?;
        self.stats.input(&part);
        self.input.consume(k * self.size);
        let ids = joined_ids(self.track, &[part.ids], &[k * self.size], self.size);
        Some(Block::new(k, columns, ids))
    }

    fn split(&self, column: &Column, k: usize) -> Result<Column> {
        match column {
            Column::Uniform(t) => {
                let shape = t.shape().row().prepend(self.size)?.prepend(k)?;
                Ok(Column::Uniform(t.reshaped(shape)?))
            }
            Column::Varied(values) => {
                let dense = values.iter().all(|v| matches!(v, Value::Tensor(_)));
                if dense && let Ok(Value::Tensor(t)) = Value::stack(values) {
                    // Copied once, as the batches lie side by side.
                    return self.split(&Column::Uniform(t), k);
                }
                let rows: Result<Vec<Value>> = values.chunks(self.size).map(Value::stack).collect();
                Ok(Column::from_values(rows?))
            }
        }
    }

    /// One batch put together from several blocks.
    fn gather(&mut self, first: Block) -> Option<Block> {
        let mut parts = Vec::new();
        let mut count = 0;
        let mut next = Some(first);
        while let Some(mut block) = next.take() {
            self.input.consume(block.outcomes());
            if let Some(e) = block.failed.take() {
                return Some(Block::error(e));
            }
            self.stats.input(&block);
            count += block.len;
            parts.push(block);
            if count < self.size {
                next = self.input.peek(self.size - count);
            }
        }
        if count < self.size && self.drop_remainder {
            return None;
        }
        let columns: Result<Vec<Column>> = (0..parts[0].columns.len())
            .map(|c| {
                let column: Vec<&Column> = parts.iter().map(|p| &p.columns[c]).collect();
                concat(&column, &self.stats)
                    .and_then(one_row)
                    .map_err(|e| unlike(&column, parts.iter().map(|p| &p.ids)).unwrap_or(e))
            })
            .collect();
        let lens: Vec<usize> = parts.iter().map(|p| p.len).collect();
        let ids: Vec<Ids> = parts.into_iter().map(|p| p.ids).collect();
        let ids = joined_ids(self.track, &ids, &lens, count.max(1));
        Some(columns.map_or_else(Block::error, |columns| Block::new(1, columns, ids)))
    }
}

impl Stage for BatchStage {
    fn stats(&self) -> &Arc<StageStats> {
        &self.stats
    }

    fn next(&mut self, want: usize) -> Option<Block> {
        let block = self.input.peek(want.saturating_mul(self.size).min(65_536.max(self.size)))?;
        let whole = self.whole(&block);
        let out = whole.or_else(|| self.gather(block.outcome_slice(0, self.size)));
        if let Some(b) = &out {
            self.stats.block(b);
        }
        out
    }

    fn save(&self, to: &mut StateWriter) {
        self.input.save(to);
    }

    fn restore(&mut self, from: &mut StateReader<'_>) -> Result<()> {
        self.input.restore(from)
    }
}

/// The batch size, checked.
pub(crate) fn batch_size(size: i64) -> Result<usize> {
    usize::try_from(size)
        .ok()
        .filter(|&n| n > 0)
        .ok_or_else(|| Error::invalid(format!("Batch size must be greater than zero, found {size}")))
}

/// The key of each group of `size` elements, made of theirs.
pub(crate) fn joined_ids(track: bool, ids: &[Ids], lens: &[usize], size: usize) -> Ids {
    if !track || ids.iter().all(|i| matches!(i, Ids::None)) {
        return Ids::None;
    }
    let all: Vec<Id> = ids.iter().zip(lens).flat_map(|(ids, &n)| (0..n).map(move |i| ids.get(i))).collect();
    Ids::List(
        all.chunks(size)
            .map(|group| Id {
                key: Key::join(group.iter().map(|id| id.key)),
                origin: group[0].origin.clone(),
            })
            .collect(),
    )
}

/// A column of one element from what it is made of: `[n, ...]` becomes `[1, n, ...]`.
pub(crate) fn one_row(value: Value) -> Result<Column> {
    match value {
        Value::Tensor(t) => Ok(Column::Uniform(t.reshaped(t.shape().prepend(1)?)?)),
        other => Ok(Column::Varied(vec![other])),
    }
}

/// Stacks the elements of columns into one value.
pub(crate) fn concat(parts: &[&Column], stats: &StageStats) -> Result<Value> {
    if let Some(t) = concat_uniform(parts, stats)? {
        return Ok(Value::Tensor(t));
    }
    let values: Vec<Value> = parts.iter().flat_map(|c| (0..c.len()).map(|i| c.get(i))).collect();
    Value::stack(&values)
}

fn concat_uniform(parts: &[&Column], stats: &StageStats) -> Result<Option<Tensor>> {
    let mut tensors = Vec::with_capacity(parts.len());
    for part in parts {
        match part {
            Column::Uniform(t) => tensors.push(t),
            Column::Varied(_) => return Ok(None),
        }
    }
    let Some(first) = tensors.first() else { return Ok(None) };
    let row: Shape = first.shape().row();
    if tensors.iter().any(|t| t.shape().row() != row || t.dtype() != first.dtype()) {
        return Ok(None);
    }
    if tensors.len() == 1 {
        return Ok(Some((*first).clone()));
    }
    let n: usize = tensors.iter().map(|t| t.dims()[0]).sum();
    let shape = row.prepend(n)?;
    if !first.dtype().is_plain() {
        return Tensor::concat_strings(shape, &tensors).map(Some);
    }
    let mut at = 0;
    let buffer = stats.memory(|| {
        let mut buffer = Buffer::recycled(shape.count() * first.dtype().size());
        for t in &tensors {
            let bytes = t.bytes();
            buffer.as_mut_slice()[at..at + bytes.len()].copy_from_slice(bytes);
            at += bytes.len();
        }
        buffer
    });
    stats.bytes_written.fetch_add(at as u64, Relaxed);
    Tensor::from_buffer(first.dtype(), shape, buffer).map(Some)
}

/// The error of elements that do not stack because their shapes differ, with file and record of the first
/// that does not fit and of the one that set the shape; `None` if the shapes are equal.
pub(crate) fn unlike<'a>(parts: &[&Column], ids: impl Iterator<Item = &'a Ids>) -> Option<Error> {
    let shapes = |c: &Column, i| match c.get(i) {
        Value::Tensor(t) => Some(*t.shape()),
        _ => None,
    };
    let mut elements =
        parts.iter().zip(ids).flat_map(|(c, ids)| (0..c.len()).map(move |i| (shapes(c, i), ids, i)));
    let (first, begin, at) = elements.next()?;
    let first = first?;
    let (n, (other, ids, i)) =
        elements.enumerate().find(|(_, (s, ..))| s.as_ref().is_some_and(|s| *s != first))?;
    let set_by = match begin.get(at).origin {
        Origin::Record { file, index, .. } => format!(", set by record {index} of {file}"),
        Origin::None => String::new(),
    };
    let e = Error::invalid(format!(
        "cannot batch tensors with different shapes: number of elements does not match. \
         Shapes are: [tensor {}]: {}, [batch]: {first}{set_by}",
        n + 1,
        other?
    ));
    let e = match ids.get(i).origin {
        Origin::Record { file, index, offset } => e.frame(Frame::Record { index, offset }).in_file(&*file),
        Origin::None => e,
    };
    Some(e.hint("resize or pad the elements to one shape before batch"))
}
