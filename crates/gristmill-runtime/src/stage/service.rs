//! `ignore_errors`.

use super::Stage;
use crate::env::Env;
use crate::state::{StateReader, StateWriter};
use crate::stats::StageStats;
use gristmill_types::{Block, Result};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// Drops the errors of the stages above.
pub(crate) struct IgnoreErrorsStage {
    input: Box<dyn Stage>,
    env: Env,
    stats: Arc<StageStats>,
}

impl IgnoreErrorsStage {
    pub(crate) fn new(input: Box<dyn Stage>, env: &Env) -> Self {
        Self { input, env: env.clone(), stats: env.stats("ignore_errors") }
    }
}

impl Stage for IgnoreErrorsStage {
    fn stats(&self) -> &Arc<StageStats> {
        &self.stats
    }

    fn next(&mut self, want: usize) -> Option<Block> {
        while !self.env.shared.is_cancelled() {
            let mut block = self.input.next(want)?;
            if block.failed.take().is_some() {
                self.stats.errors.fetch_add(1, Relaxed);
            }
            if block.len > 0 {
                self.stats.passed(&block);
                return Some(block);
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
