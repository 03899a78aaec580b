//! `filter`: only the elements that a program says true for.

use super::code::{Code, stage_name};
use super::map::{Pace, Work, evaluate};
use super::{Feed, Stage};
use crate::env::Env;
use crate::state::{StateReader, StateWriter};
use crate::stats::StageStats;
use gristmill_plan::dataset::Filter;
use gristmill_plan::{Class, Scratch};
use gristmill_types::{Block, Error, Ids, Result, Value};
use std::sync::Arc;
use std::time::Instant;

/// A reader that wants fewer elements than take this long to read and test, in ns, makes that many be
/// tested at once: a call of the function for each would cost more than the function.
const AHEAD_NS: u64 = 50_000;
/// The most that are tested ahead of what is wanted.
const AHEAD: usize = 256;

/// What passed of a block of the input and was not given yet. The input still stands before what is here.
struct Sifted {
    block: Block,
    /// Outcomes of the input up to and with each of the block's.
    ends: Vec<usize>,
    given: usize,
    consumed: usize,
}

/// See the module. An element whose predicate fails is an error in its place.
pub(crate) struct FilterStage {
    input: Feed,
    sifted: Option<Sifted>,
    env: Env,
    work: Work,
    scratch: Scratch,
    pace: Pace,
    /// Whether the function may run for elements that nobody asks for in the end.
    ahead: bool,
}

impl FilterStage {
    pub(crate) fn new(input: Box<dyn Stage>, op: &Filter, env: &Env) -> Result<Self> {
        let code = Code::new(&op.graph, &op.captures)?;
        let stats = env.stats(&stage_name("filter", &op.graph));
        let work = Work { code, shared: Arc::clone(&env.shared), stats };
        Ok(Self {
            input: Feed::new(input),
            sifted: None,
            env: env.clone(),
            work,
            scratch: Scratch::default(),
            pace: Pace::NEW,
            // Random numbers are drawn by the element's key, so that drawing some in vain changes nothing;
            // what an op does to the world outside cannot be taken back.
            ahead: !env.lazy && op.graph.all_ops(&|op| matches!(op.def.class, Class::Pure | Class::Random)),
        })
    }

    /// The elements that pass, up to the first whose predicate fails, and where each ends in the input.
    fn sift(&mut self, block: &Block) -> Result<(Block, Vec<usize>)> {
        if block.len == 0 {
            return Ok((block.clone(), vec![block.outcomes()]));
        }
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
        let mut out = if done == 0 {
            Block::new(0, Vec::new(), Ids::None)
        } else {
            block.outcome_slice(0, done).select(&keep)?
        };
        let mut ends: Vec<usize> = keep.iter().map(|i| i + 1).collect();
        out.failed = failed.or_else(|| block.failed.clone());
        if out.failed.is_some() {
            ends.push(done + 1);
        } else if let Some(last) = ends.last_mut() {
            // What follows the last that passes was tested as well.
            *last = done;
        }
        Ok((out, ends))
    }

    /// Tests more of the input; says whether there was any.
    fn read(&mut self, want: usize) -> bool {
        let ahead = if self.ahead { self.pace.block(AHEAD_NS).min(AHEAD) } else { 1 };
        let start = Instant::now();
        let Some(block) = self.input.peek(want.max(ahead)) else { return false };
        let (out, ends) = self.sift(&block).unwrap_or_else(|e| (Block::error(e), vec![1]));
        // What the input took counts too: what is dear to read is not read ahead either.
        self.pace.learn(block.outcomes(), u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX));
        if out.outcomes() == 0 {
            self.input.consume(block.outcomes());
        } else {
            self.sifted = Some(Sifted { block: out, ends, given: 0, consumed: 0 });
        }
        true
    }

    /// Gives of what passed, and moves the input on to where that ends.
    fn give(&mut self, want: usize) -> Option<Block> {
        let sifted = self.sifted.as_mut()?;
        let part = sifted.block.outcome_slice(sifted.given, want);
        sifted.given += part.outcomes();
        let end = sifted.ends[sifted.given - 1];
        self.input.consume(end - sifted.consumed);
        sifted.consumed = end;
        if sifted.given == sifted.block.outcomes() {
            self.sifted = None;
        }
        self.work.stats.block(&part);
        Some(part)
    }
}

impl Stage for FilterStage {
    fn stats(&self) -> &Arc<StageStats> {
        &self.work.stats
    }

    fn next(&mut self, want: usize) -> Option<Block> {
        // Whoever dropped the iterator waits for this, however long nothing passes.
        while !self.env.shared.is_cancelled() {
            if let Some(block) = self.give(want) {
                return Some(block);
            }
            if !self.read(want) {
                return None;
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
