//! `take`, `skip`, `shard`.

use super::Stage;
use crate::env::Env;
use crate::state::{StateReader, StateWriter};
use crate::stats::StageStats;
use gristmill_types::{Block, Result};
use std::sync::Arc;

/// The first elements; errors are passed on and not counted.
pub(crate) struct TakeStage {
    input: Box<dyn Stage>,
    left: Option<u64>,
    stats: Arc<StageStats>,
}

impl TakeStage {
    /// `count` negative takes all.
    pub(crate) fn new(input: Box<dyn Stage>, count: i64, env: &Env) -> Self {
        Self { input, left: u64::try_from(count).ok(), stats: env.stats("take") }
    }
}

impl Stage for TakeStage {
    fn stats(&self) -> &Arc<StageStats> {
        &self.stats
    }

    fn next(&mut self, want: usize) -> Option<Block> {
        let want = match self.left {
            Some(0) => return None,
            Some(left) => want.min(usize::try_from(left).unwrap_or(usize::MAX)),
            None => want,
        };
        let block = self.input.next(want)?;
        if let Some(left) = &mut self.left {
            *left -= block.len as u64;
        }
        self.stats.passed(&block);
        Some(block)
    }

    fn save(&self, to: &mut StateWriter) {
        to.u64(self.left.map_or(0, |l| l + 1));
        self.input.save(to);
    }

    fn restore(&mut self, from: &mut StateReader<'_>) -> Result<()> {
        self.left = from.u64()?.checked_sub(1);
        self.input.restore(from)
    }
}

/// All but the first elements; errors among those are passed on and not counted.
pub(crate) struct SkipStage {
    input: Box<dyn Stage>,
    left: Option<u64>,
    env: Env,
    stats: Arc<StageStats>,
}

impl SkipStage {
    /// `count` negative skips all.
    pub(crate) fn new(input: Box<dyn Stage>, count: i64, env: &Env) -> Self {
        Self { input, left: u64::try_from(count).ok(), env: env.clone(), stats: env.stats("skip") }
    }
}

impl Stage for SkipStage {
    fn stats(&self) -> &Arc<StageStats> {
        &self.stats
    }

    fn next(&mut self, want: usize) -> Option<Block> {
        let left = self.left.as_mut()?;
        while *left > 0 {
            if self.env.shared.is_cancelled() {
                return None;
            }
            let block = self.input.next(usize::try_from(*left).unwrap_or(usize::MAX).min(4096))?;
            *left -= block.len as u64;
            self.stats.input(&block);
            if let Some(e) = block.failed {
                let block = Block::error(e);
                self.stats.block(&block);
                return Some(block);
            }
        }
        let block = self.input.next(want)?;
        self.stats.passed(&block);
        Some(block)
    }

    fn skip(&mut self, n: u64) -> u64 {
        if n > 0 && self.left == Some(0) {
            return self.input.skip(n);
        }
        let mut passed = 0;
        while passed < n {
            match self.next(usize::try_from(n - passed).unwrap_or(usize::MAX).min(4096)) {
                Some(b) => passed += b.outcomes() as u64,
                None => break,
            }
        }
        passed
    }

    fn save(&self, to: &mut StateWriter) {
        to.u64(self.left.map_or(0, |l| l + 1));
        self.input.save(to);
    }

    fn restore(&mut self, from: &mut StateReader<'_>) -> Result<()> {
        self.left = from.u64()?.checked_sub(1);
        self.input.restore(from)
    }
}

/// Every `count`-th element; errors are passed on and not counted.
pub(crate) struct ShardStage {
    input: Box<dyn Stage>,
    count: u64,
    index: u64,
    /// Position of the next input element, modulo `count`.
    at: u64,
    env: Env,
    stats: Arc<StageStats>,
}

impl ShardStage {
    pub(crate) fn new(input: Box<dyn Stage>, count: i64, index: i64, env: &Env) -> Self {
        let (count, index) = (count.max(1) as u64, index.max(0) as u64);
        Self { input, count, index, at: 0, env: env.clone(), stats: env.stats("shard") }
    }
}

impl Stage for ShardStage {
    fn stats(&self) -> &Arc<StageStats> {
        &self.stats
    }

    fn next(&mut self, want: usize) -> Option<Block> {
        while !self.env.shared.is_cancelled() {
            // So many that no more than `want` outcomes can come of them.
            let count = usize::try_from(self.count).unwrap_or(usize::MAX);
            let ahead = (want - 1).saturating_mul(count).saturating_add(1).min(4096.max(want));
            let block = self.input.next(ahead)?;
            self.stats.input(&block);
            let keep: Vec<usize> =
                (0..block.len).filter(|&i| (self.at + i as u64) % self.count == self.index).collect();
            self.at = (self.at + block.len as u64) % self.count;
            let block = match block.select(&keep) {
                Ok(b) => b,
                Err(e) => Block::error(e),
            };
            if block.outcomes() > 0 {
                self.stats.block(&block);
                return Some(block);
            }
        }
        None
    }

    fn save(&self, to: &mut StateWriter) {
        to.u64(self.at);
        self.input.save(to);
    }

    fn restore(&mut self, from: &mut StateReader<'_>) -> Result<()> {
        self.at = from.u64()? % self.count;
        self.input.restore(from)
    }
}
