//! `zip`, `enumerate`, `concatenate`.

use super::{Feed, Stage};
use crate::env::Env;
use crate::state::{StateReader, StateWriter};
use crate::stats::StageStats;
use gristmill_types::{Block, Column, Ids, Key, Result, Tensor};
use std::sync::Arc;

/// Outcomes of several inputs side by side. Where any of them is an error, so is the result.
pub(crate) struct ZipStage {
    inputs: Vec<Feed>,
    /// Position among the result's leaves of each input's leaves.
    order: Vec<(usize, usize)>,
    stats: Arc<StageStats>,
    ended: bool,
}

impl ZipStage {
    /// `order[k]` is (input, leaf) of the result's leaf `k`.
    pub(crate) fn new(inputs: Vec<Box<dyn Stage>>, order: Vec<(usize, usize)>, env: &Env) -> Self {
        Self {
            inputs: inputs.into_iter().map(Feed::new).collect(),
            order,
            stats: env.stats("zip"),
            ended: false,
        }
    }
}

impl Stage for ZipStage {
    fn stats(&self) -> &Arc<StageStats> {
        &self.stats
    }

    fn next(&mut self, want: usize) -> Option<Block> {
        if self.ended || self.inputs.is_empty() {
            return None;
        }
        let mut blocks = Vec::with_capacity(self.inputs.len());
        let mut n = want;
        for input in &mut self.inputs {
            match input.peek(n) {
                Some(b) => {
                    n = n.min(b.outcomes());
                    blocks.push(b);
                }
                None => {
                    self.ended = true;
                    return None;
                }
            }
        }
        // The elements before the first error of any input, then that error.
        let len = blocks.iter().map(|b| b.len).min().unwrap_or(0).min(n);
        let failed =
            if len < n { blocks.iter().find(|b| b.len == len).and_then(|b| b.failed.clone()) } else { None };
        let used = len + usize::from(failed.is_some());
        for input in &mut self.inputs {
            input.consume(used);
        }
        let mut out = Block::new(len, Vec::new(), Ids::None);
        if len > 0 {
            let parts: Vec<Block> = blocks.iter().map(|b| b.outcome_slice(0, len)).collect();
            parts.iter().for_each(|p| self.stats.input(p));
            out.columns =
                self.order.iter().map(|&(input, leaf)| parts[input].columns[leaf].clone()).collect();
            if parts.iter().any(|p| !matches!(p.ids, Ids::None)) {
                out.ids = Ids::List(
                    (0..len)
                        .map(|i| {
                            let mut id = parts
                                .iter()
                                .map(|p| p.ids.get(i))
                                .find(|id| id.origin != gristmill_types::Origin::None)
                                .unwrap_or_default();
                            id.key = Key::join(parts.iter().map(|p| p.ids.key(i)));
                            id
                        })
                        .collect(),
                );
            }
        }
        out.failed = failed;
        self.stats.block(&out);
        Some(out)
    }

    fn skip(&mut self, n: u64) -> u64 {
        let mut least = n;
        for input in &mut self.inputs {
            least = least.min(input.skip(n));
        }
        if least < n {
            self.ended = true;
        }
        least
    }

    fn save(&self, to: &mut StateWriter) {
        to.bool(self.ended);
        for input in &self.inputs {
            input.save(to);
        }
    }

    fn restore(&mut self, from: &mut StateReader<'_>) -> Result<()> {
        self.ended = from.bool()?;
        self.inputs.iter_mut().try_for_each(|i| i.restore(from))
    }
}

/// Elements with their position in front.
pub(crate) struct EnumerateStage {
    input: Box<dyn Stage>,
    at: i64,
    stats: Arc<StageStats>,
}

impl EnumerateStage {
    pub(crate) fn new(input: Box<dyn Stage>, start: i64, env: &Env) -> Self {
        Self { input, at: start, stats: env.stats("enumerate") }
    }
}

impl Stage for EnumerateStage {
    fn stats(&self) -> &Arc<StageStats> {
        &self.stats
    }

    fn next(&mut self, want: usize) -> Option<Block> {
        let mut block = self.input.next(want)?;
        self.stats.input(&block);
        if block.len > 0 {
            let positions: Vec<i64> = (0..block.len as i64).map(|i| self.at.wrapping_add(i)).collect();
            self.at = self.at.wrapping_add(block.len as i64);
            block.columns.insert(0, Column::Uniform(Tensor::vector(&positions)));
        }
        self.stats.block(&block);
        Some(block)
    }

    fn save(&self, to: &mut StateWriter) {
        to.u64(self.at as u64);
        self.input.save(to);
    }

    fn restore(&mut self, from: &mut StateReader<'_>) -> Result<()> {
        self.at = from.u64()? as i64;
        self.input.restore(from)
    }
}

/// One input after the other.
pub(crate) struct ConcatenateStage {
    inputs: Vec<Box<dyn Stage>>,
    at: usize,
    stats: Arc<StageStats>,
}

impl ConcatenateStage {
    pub(crate) fn new(inputs: Vec<Box<dyn Stage>>, env: &Env) -> Self {
        Self { inputs, at: 0, stats: env.stats("concatenate") }
    }
}

impl Stage for ConcatenateStage {
    fn stats(&self) -> &Arc<StageStats> {
        &self.stats
    }

    fn next(&mut self, want: usize) -> Option<Block> {
        while let Some(input) = self.inputs.get_mut(self.at) {
            if let Some(block) = input.next(want) {
                self.stats.passed(&block);
                return Some(block);
            }
            self.at += 1;
        }
        None
    }

    fn skip(&mut self, n: u64) -> u64 {
        let mut passed = 0;
        while passed < n
            && let Some(input) = self.inputs.get_mut(self.at)
        {
            passed += input.skip(n - passed);
            if passed < n {
                self.at += 1;
            }
        }
        passed
    }

    fn save(&self, to: &mut StateWriter) {
        to.u64(self.at as u64);
        for input in self.inputs.iter().skip(self.at) {
            input.save(to);
        }
    }

    fn restore(&mut self, from: &mut StateReader<'_>) -> Result<()> {
        self.at = from.count(self.inputs.len())?;
        let at = self.at;
        self.inputs.iter_mut().skip(at).try_for_each(|i| i.restore(from))
    }
}
