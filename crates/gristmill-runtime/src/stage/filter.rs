//! `filter`: only the elements that a program says true for.

use super::Stage;
use super::map::{Work, evaluate};
use crate::env::Env;
use crate::state::{StateReader, StateWriter};
use gristmill_plan::dataset::Filter;
use gristmill_plan::{Program, Scratch};
use gristmill_types::{Block, Error, Result, Value};
use std::sync::Arc;
use std::time::Instant;

/// See the module. An element whose predicate fails is an error in its place.
pub(crate) struct FilterStage {
    input: super::Feed,
    env: Env,
    work: Work,
    scratch: Scratch,
}

impl FilterStage {
    pub(crate) fn new(input: Box<dyn Stage>, op: &Filter, env: &Env) -> Result<Self> {
        let captures = op.captures.iter().map(|c| c.value().cloned()).collect::<Result<Vec<_>>>()?;
        let program = Program::new(Arc::clone(&op.graph), &captures)?;
        let work = Work { program, entropy: env.shared.entropy, stats: env.stats("filter") };
        Ok(Self { input: super::Feed::new(input), env: env.clone(), work, scratch: Scratch::default() })
    }

    /// The elements that pass, up to the first whose predicate fails; how many outcomes were used.
    fn sift(&mut self, block: &Block) -> Result<(Block, usize)> {
        let (columns, done, failed) =
            evaluate(&self.work, &mut self.scratch, &block.columns, block.len, &block.ids, &mut [])?;
        let verdict =
            columns.into_iter().next().flatten().ok_or_else(|| Error::internal("a filter gave nothing"))?;
        let mut keep = Vec::new();
        for i in 0..done {
            let Value::Tensor(t) = verdict.get(i) else { continue };
            if t.item::<u8>()? != 0 {
                keep.push(i);
            }
        }
        let used = if failed.is_some() { done + 1 } else { block.outcomes() };
        let mut out = block.outcome_slice(0, done);
        if out.len == 0 {
            out = Block::new(0, Vec::new(), gristmill_types::Ids::None);
        } else {
            out = out.select(&keep)?;
        }
        out.failed = failed.or_else(|| block.failed.clone());
        Ok((out, used))
    }
}

impl Stage for FilterStage {
    fn next(&mut self, want: usize) -> Option<Block> {
        // Whoever dropped the iterator waits for this, however long nothing passes.
        while !self.env.shared.is_cancelled() {
            let block = self.input.peek(want)?;
            let start = Instant::now();
            let (out, used) = if block.len == 0 {
                let n = block.outcomes();
                (block, n)
            } else {
                self.sift(&block).unwrap_or_else(|e| (Block::error(e), 1))
            };
            self.work.stats.busy(start);
            self.input.consume(used);
            if out.outcomes() > 0 {
                self.work.stats.block(&out);
                return Some(out);
            }
        }
        None
    }

    fn save(&self, to: &mut StateWriter) {
        self.input.save(to);
    }

    fn restore(&mut self, from: &mut StateReader<'_>) -> Result<()> {
        self.input.restore(from)
    }
}
