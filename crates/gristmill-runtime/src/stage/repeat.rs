//! `repeat`: the input made anew for every pass.

use super::Stage;
use crate::env::Env;
use crate::lower;
use crate::pool::lock;
use crate::state::{StateReader, StateWriter};
use crate::stats::StageStats;
use gristmill_plan::Plan;
use gristmill_types::{Block, Error, Ids, Result};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

/// See the module.
pub(crate) struct RepeatStage {
    plan: Plan,
    env: Env,
    input: Box<dyn Stage>,
    count: Option<u64>,
    pass: u64,
    /// Whether this pass gave anything: an empty input ends an endless repeat.
    any: bool,
    /// Where the input's counters begin.
    counters: usize,
    stats: Arc<StageStats>,
}

impl RepeatStage {
    /// `count` negative repeats without end.
    pub(crate) fn new(plan: &Plan, count: i64, env: &Env) -> Result<Self> {
        let counters = match &env.reuse {
            Some(next) => next.load(std::sync::atomic::Ordering::Relaxed),
            None => lock(&env.shared.stats).len(),
        };
        let input = lower::build(plan, &env.epoch(0))?;
        Ok(Self {
            plan: plan.clone(),
            env: env.clone(),
            input,
            count: u64::try_from(count).ok(),
            pass: 0,
            any: false,
            counters,
            stats: env.stats("repeat"),
        })
    }

    fn start(&mut self, pass: u64) -> Result<()> {
        let mut env = self.env.epoch(pass);
        if env.counted {
            env.reuse = Some(Arc::new(AtomicUsize::new(self.counters)));
        }
        self.input = lower::build(&self.plan, &env)?;
        self.pass = pass;
        self.any = false;
        Ok(())
    }

    fn over(&self) -> bool {
        self.count.is_some_and(|n| self.pass >= n)
    }
}

impl Stage for RepeatStage {
    fn stats(&self) -> &Arc<StageStats> {
        &self.stats
    }

    fn next(&mut self, want: usize) -> Option<Block> {
        while !self.over() && !self.env.shared.is_cancelled() {
            if let Some(block) = self.input.next(want) {
                self.any = true;
                self.stats.passed(&block);
                return Some(block);
            }
            if !self.any && self.count.is_none() {
                return None;
            }
            let next = self.pass + 1;
            if self.count == Some(next) {
                self.pass = next;
                return None;
            }
            if let Err(e) = self.start(next) {
                self.pass = u64::MAX;
                self.count = Some(0);
                return Some(Block { failed: Some(e), ..Block::new(0, Vec::new(), Ids::None) });
            }
        }
        None
    }

    fn skip(&mut self, n: u64) -> u64 {
        let mut passed = 0;
        while passed < n && !self.over() {
            let here = self.input.skip(n - passed);
            self.any |= here > 0;
            passed += here;
            if passed < n {
                match self.next(1) {
                    Some(b) => passed += b.outcomes() as u64,
                    None => break,
                }
            }
        }
        passed
    }

    fn save(&self, to: &mut StateWriter) {
        to.u64(self.pass);
        to.bool(self.any);
        to.nested(|to| self.input.save(to));
    }

    fn restore(&mut self, from: &mut StateReader<'_>) -> Result<()> {
        let pass = from.u64()?;
        let any = from.bool()?;
        let at = from.bytes()?;
        if self.count.is_some_and(|n| pass > n) {
            return Err(Error::invalid(format!("the iterator state is in pass {pass} of a shorter repeat")));
        }
        if pass > 0 && Some(pass) != self.count {
            self.start(pass)?;
        }
        self.pass = pass;
        self.any = any;
        self.input.restore(&mut StateReader::new(at))
    }
}
