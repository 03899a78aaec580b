//! Busy time of a stage, its inputs' and its waiting taken off.

use super::Stage;
use crate::state::{StateReader, StateWriter};
use crate::stats::{StageStats, accounted};
use gristmill_types::{Block, Result};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Times the calls of a stage. What the stages that it reads from took on the same thread has been put
/// to their accounts by then, and only the rest is its own.
pub(crate) struct TimedStage {
    stage: Box<dyn Stage>,
    stats: Arc<StageStats>,
}

impl TimedStage {
    pub(crate) fn new(stage: Box<dyn Stage>) -> Self {
        let stats = Arc::clone(stage.stats());
        Self { stage, stats }
    }
}

impl Stage for TimedStage {
    fn stats(&self) -> &Arc<StageStats> {
        &self.stats
    }

    fn next(&mut self, want: usize) -> Option<Block> {
        let (before, start) = (accounted(), Instant::now());
        let block = self.stage.next(want);
        self.stats.busy_beside(start, before);
        block
    }

    fn skip(&mut self, n: u64) -> u64 {
        self.stage.skip(n)
    }

    fn ready(&mut self, timeout: Duration) -> bool {
        self.stage.ready(timeout)
    }

    fn save(&self, to: &mut StateWriter) {
        self.stage.save(to);
    }

    fn restore(&mut self, from: &mut StateReader<'_>) -> Result<()> {
        self.stage.restore(from)
    }
}
