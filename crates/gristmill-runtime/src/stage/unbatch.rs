//! `unbatch`: the rows of each element.

use super::{Feed, Stage};
use crate::env::Env;
use crate::state::{StateReader, StateWriter};
use crate::stats::StageStats;
use gristmill_types::{Block, Column, Error, Id, Ids, Result, Tensor, Value};
use std::sync::Arc;

/// Consecutive elements with as many rows each.
struct Current {
    /// Their rows, one element's after the other's.
    values: Vec<Value>,
    ids: Ids,
    elements: usize,
    /// Rows of an element.
    each: usize,
}

/// See the module.
pub(crate) struct UnbatchStage {
    /// Stands before the element that the next row is of.
    input: Feed,
    current: Option<Current>,
    /// The next row of the current elements.
    row: usize,
    /// Rows of each of the last elements.
    last: usize,
    /// Whether elements are read one by one, since what makes them acts on the world outside.
    lazy: bool,
    track: bool,
    stats: Arc<StageStats>,
}

impl UnbatchStage {
    pub(crate) fn new(input: Box<dyn Stage>, env: &Env) -> Self {
        Self {
            input: Feed::new(input),
            current: None,
            row: 0,
            last: usize::MAX,
            lazy: env.lazy,
            track: env.shared.track,
            stats: env.stats("unbatch"),
        }
    }

    /// Makes the next elements with rows the current ones, as many as have `want` if they are like the last; gives an
    /// error in their place.
    fn advance(&mut self, want: usize) -> Option<Result<()>> {
        while self.current.is_none() {
            let elements = if self.lazy { 1 } else { want.div_ceil(self.last) };
            let block = self.input.peek(elements)?;
            match read(&block) {
                Ok(current) => {
                    self.stats.input(&block.outcome_slice(0, current.elements));
                    if current.each == 0 {
                        self.input.consume(current.elements);
                        continue;
                    }
                    self.last = current.each;
                    self.current = Some(current);
                }
                Err(e) => {
                    self.input.consume(1);
                    return Some(Err(e));
                }
            }
        }
        Some(Ok(()))
    }

    /// Rows of the current elements, at most `want`.
    fn give(&mut self, want: usize) -> Option<Block> {
        let Current { values, ids, elements, each } = self.current.as_ref()?;
        let (row, n) = (self.row, want.min(elements * each - self.row));
        let columns: Result<Vec<Column>> = values
            .iter()
            .map(|v| match v {
                Value::Tensor(t) => Ok(Column::Uniform(t.rows(row, n))),
                other => Ok(Column::Varied((row..row + n).map(|i| other.unstack(i)).collect::<Result<_>>()?)),
            })
            .collect();
        let child = |i: usize| {
            let Id { key, origin } = ids.get(i / each);
            Id { key: key.child((i % each) as u64), origin }
        };
        let ids = if self.track { Ids::List((row..row + n).map(child).collect()) } else { Ids::None };
        let (passed, over) = ((row + n) / each - row / each, row + n == elements * each);
        self.input.consume(passed);
        self.row += n;
        if over {
            (self.current, self.row) = (None, 0);
        }
        Some(columns.map_or_else(Block::error, |columns| Block::new(n, columns, ids)))
    }
}

/// The rows of the first elements of a block: of all of them if they lie side by side.
fn read(block: &Block) -> Result<Current> {
    if block.len == 0 {
        return Err(block.failed.clone().unwrap_or_else(|| Error::internal("an empty block")));
    }
    if let Some(current) = side_by_side(block)? {
        return Ok(current);
    }
    let values = block.element(0);
    let lens: Vec<Option<usize>> = values.iter().map(Value::outer_len).collect();
    let each = lens.first().copied().flatten().unwrap_or(0);
    if let Some(other) = lens.iter().find(|l| **l != Some(each)) {
        return Err(Error::invalid(format!(
            "input element must have the same batch size in each component, found {each} and {}",
            other.map_or("a scalar".to_string(), |l| l.to_string())
        )));
    }
    Ok(Current { values, ids: block.ids.slice(0, 1), elements: 1, each })
}

/// All elements of a block whose columns are tensors with as many rows.
fn side_by_side(block: &Block) -> Result<Option<Current>> {
    let mut tensors: Vec<&Tensor> = Vec::with_capacity(block.columns.len());
    for column in &block.columns {
        match column {
            Column::Uniform(t) if t.dims().len() > 1 => tensors.push(t),
            _ => return Ok(None),
        }
    }
    let Some(each) = tensors.first().map(|t| t.dims()[1]) else { return Ok(None) };
    if tensors.iter().any(|t| t.dims()[1] != each) {
        return Ok(None);
    }
    let joined = |t: &&Tensor| {
        let shape = t.shape().row().row().prepend(block.len * each)?;
        Ok(Value::Tensor(t.reshaped(shape)?))
    };
    let values = tensors.iter().map(joined).collect::<Result<_>>()?;
    Ok(Some(Current { values, ids: block.ids.clone(), elements: block.len, each }))
}

impl Stage for UnbatchStage {
    fn stats(&self) -> &Arc<StageStats> {
        &self.stats
    }

    fn next(&mut self, want: usize) -> Option<Block> {
        let block = match self.advance(want)? {
            Ok(()) => self.give(want)?,
            Err(e) => Block::error(e),
        };
        self.stats.block(&block);
        Some(block)
    }

    fn save(&self, to: &mut StateWriter) {
        to.u64(self.current.as_ref().map_or(0, |c| self.row % c.each) as u64);
        self.input.save(to);
    }

    fn restore(&mut self, from: &mut StateReader<'_>) -> Result<()> {
        let row = usize::try_from(from.u64()?).unwrap_or(usize::MAX);
        self.input.restore(from)?;
        if row > 0 {
            match self.advance(1) {
                Some(Ok(())) if row < self.last => self.row = row,
                _ => {
                    return Err(Error::invalid(
                        "the iterator state is inside an element that is no longer there",
                    ));
                }
            }
        }
        Ok(())
    }
}
