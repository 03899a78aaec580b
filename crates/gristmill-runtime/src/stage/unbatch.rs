//! `unbatch`: the rows of each element.

use super::{Feed, Stage};
use crate::env::Env;
use crate::state::{StateReader, StateWriter};
use crate::stats::StageStats;
use gristmill_types::{Block, Column, Error, Id, Ids, Result, Value};
use std::sync::Arc;

/// See the module.
pub(crate) struct UnbatchStage {
    input: Feed,
    current: Option<(Vec<Value>, Id, usize)>,
    row: usize,
    track: bool,
    stats: Arc<StageStats>,
}

impl UnbatchStage {
    pub(crate) fn new(input: Box<dyn Stage>, env: &Env) -> Self {
        Self {
            input: Feed::new(input),
            current: None,
            row: 0,
            track: env.shared.track,
            stats: env.stats("unbatch"),
        }
    }

    /// Makes the next element with rows left the current one; gives an error in its place.
    fn advance(&mut self) -> Option<Result<()>> {
        loop {
            if let Some((_, _, rows)) = &self.current {
                if self.row < *rows {
                    return Some(Ok(()));
                }
                self.input.consume(1);
                self.current = None;
                self.row = 0;
            }
            let block = self.input.peek(1)?;
            if block.len == 0 {
                self.input.consume(1);
                return Some(Err(block.failed.unwrap_or_else(|| Error::internal("an empty block"))));
            }
            let values = block.element(0);
            let lens: Vec<Option<usize>> = values.iter().map(Value::outer_len).collect();
            let rows = lens.first().copied().flatten().unwrap_or(0);
            if let Some(other) = lens.iter().find(|l| **l != Some(rows)) {
                self.input.consume(1);
                return Some(Err(Error::invalid(format!(
                    "input element must have the same batch size in each component, found {rows} and {}",
                    other.map_or("a scalar".to_string(), |l| l.to_string())
                ))));
            }
            self.stats.input(&block);
            self.current = Some((values, block.ids.get(0), rows));
        }
    }
}

impl Stage for UnbatchStage {
    fn stats(&self) -> &Arc<StageStats> {
        &self.stats
    }

    fn next(&mut self, want: usize) -> Option<Block> {
        if let Err(e) = self.advance()? {
            let block = Block::error(e);
            self.stats.block(&block);
            return Some(block);
        }
        let (values, id, rows) = self.current.as_ref()?;
        let (row, n) = (self.row, want.min(rows - self.row));
        let columns: Result<Vec<Column>> = values
            .iter()
            .map(|v| match v {
                Value::Tensor(t) => Ok(Column::Uniform(t.rows(row, n))),
                other => Ok(Column::Varied((row..row + n).map(|i| other.unstack(i)).collect::<Result<_>>()?)),
            })
            .collect();
        let ids = if self.track {
            Ids::List(
                (row..row + n)
                    .map(|i| Id { key: id.key.child(i as u64), origin: id.origin.clone() })
                    .collect(),
            )
        } else {
            Ids::None
        };
        self.row += n;
        let block = columns.map_or_else(Block::error, |columns| Block::new(n, columns, ids));
        self.stats.block(&block);
        Some(block)
    }

    fn save(&self, to: &mut StateWriter) {
        to.u64(self.row as u64);
        self.input.save(to);
    }

    fn restore(&mut self, from: &mut StateReader<'_>) -> Result<()> {
        let row = usize::try_from(from.u64()?).unwrap_or(usize::MAX);
        self.input.restore(from)?;
        if row > 0 {
            match self.advance() {
                Some(Ok(())) => self.row = row,
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
