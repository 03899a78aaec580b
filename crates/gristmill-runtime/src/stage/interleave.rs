//! `interleave` and `flat_map`: one dataset per element, in turn.

use super::{Feed, Stage, position};
use crate::env::Env;
use crate::lower;
use crate::state::{StateReader, StateWriter};
use crate::stats::StageStats;
use gristmill_plan::dataset::Template;
use gristmill_plan::{Draw, Nested, OpCx, Plan, Scratch};
use gristmill_types::{Block, Error, Id, Ids, Pick, Result, Value};
use std::sync::Arc;

/// A dataset that is being read.
struct Open {
    /// Position of the outer input before the element that it was made of.
    outer: Arc<Vec<u8>>,
    feed: Feed,
}

/// See the module.
pub(crate) struct InterleaveStage {
    outer: Box<dyn Stage>,
    outer_plan: Plan,
    outer_ended: bool,
    template: Template,
    function: Nested,
    captures: Vec<Value>,
    env: Env,
    slots: Vec<Option<Open>>,
    cycle_at: usize,
    block_at: usize,
    block: usize,
    scratch: Scratch,
    stats: Arc<StageStats>,
}

impl InterleaveStage {
    pub(crate) fn new(
        outer: &Plan,
        template: &Template,
        cycle: usize,
        block: usize,
        name: &str,
        env: &Env,
    ) -> Result<Self> {
        let captures = template.captures.iter().map(|c| c.value().cloned()).collect::<Result<Vec<_>>>()?;
        Ok(Self {
            outer: lower::build(outer, env)?,
            outer_plan: outer.clone(),
            outer_ended: false,
            function: Nested::new(Arc::clone(&template.graph), captures.iter().cloned().map(Some).collect()),
            captures,
            template: template.clone(),
            env: env.clone(),
            slots: (0..cycle.max(1)).map(|_| None).collect(),
            cycle_at: 0,
            block_at: 0,
            block,
            scratch: Scratch::default(),
            stats: env.stats(name),
        })
    }

    /// The dataset of an element.
    fn instantiate(&mut self, element: &[Value], id: &Id) -> Result<Box<dyn Stage>> {
        let mut cx = OpCx {
            scratch: &mut self.scratch,
            draw: Draw::Element { entropy: self.env.shared.entropy, key: id.key },
            op_id: 0,
        };
        let mut params = None;
        let mut eval = || params = Some(self.function.eval(&mut cx, element, &self.captures));
        match self.template.graph.foreign() {
            // Nobody is asked whether functions outside the engine may still be called but their holder.
            Some((_, holder)) => holder.hold(&mut eval).inspect_err(|e| self.env.shared.end(e.clone()))?,
            None => eval(),
        }
        let params = params.ok_or_else(|| Error::internal("a holder of functions did not do its work"))?;
        let params = params.inspect_err(|e| self.env.shared.interrupted_by(e))?;
        let plan: Plan = self.template.plan.bind(&params)?;
        lower::build(&plan, &self.env.instance(id.key))
    }

    /// Opens the next dataset in the current slot; gives an error in its place.
    fn open(&mut self) -> Result<()> {
        let before = Arc::new(position(&*self.outer));
        let Some(block) = self.outer.next(1) else {
            self.outer_ended = true;
            return Ok(());
        };
        self.slots[self.cycle_at] = Some(self.opened(block, before)?);
        Ok(())
    }

    fn opened(&mut self, block: Block, outer: Arc<Vec<u8>>) -> Result<Open> {
        if let Some(e) = block.failed {
            return Err(e);
        }
        let stage = self.instantiate(&block.element(0), &block.ids.get(0))?;
        Ok(Open { outer, feed: Feed::new(stage) })
    }

    fn advance(&mut self) {
        self.cycle_at = (self.cycle_at + 1) % self.slots.len();
        self.block_at = 0;
    }

    /// The next outcomes of one dataset: never more than its turn. They are that many of a block from a place on, and
    /// the block's dataset is in this slot.
    fn turn(&mut self, want: usize) -> Option<Turn> {
        while !self.env.shared.is_cancelled() {
            let left = self.block - self.block_at;
            let lazy = self.template.plan.foreign;
            let slot = self.cycle_at;
            match &mut self.slots[slot] {
                Some(open) => {
                    match open.feed.take(want.min(left), if lazy { 1 } else { left.clamp(64, 4096) }) {
                        Some((block, start, n)) => {
                            // An error does not use up the turn.
                            self.block_at += n.min(block.len - start);
                            if self.block_at >= self.block {
                                self.advance();
                            }
                            return Some(Turn { slot, block, start, n });
                        }
                        None => {
                            self.slots[self.cycle_at] = None;
                            self.advance();
                        }
                    }
                }
                None if !self.outer_ended => {
                    if let Err(e) = self.open() {
                        return Some(Turn { slot, block: Arc::new(Block::error(e)), start: 0, n: 1 });
                    }
                }
                None => {
                    if self.slots.iter().all(Option::is_none) {
                        return None;
                    }
                    self.advance();
                }
            }
        }
        None
    }
}

impl Stage for InterleaveStage {
    fn stats(&self) -> &Arc<StageStats> {
        &self.stats
    }

    fn next(&mut self, want: usize) -> Option<Block> {
        let first = self.turn(want)?;
        if first.n >= want || first.error().is_some() || self.block > 64 {
            let out = first.block.outcome_slice(first.start, first.n);
            self.stats.passed(&out);
            return Some(out);
        }
        // Short turns: several of them make a block.
        let most = want.min(256);
        let mut several = Several::new(self.slots.len());
        several.add(first);
        while several.len < most && several.failed.is_none() {
            match self.turn(most - several.len) {
                Some(turn) => several.add(turn),
                None => break,
            }
        }
        let out = several.block();
        self.stats.passed(&out);
        Some(out)
    }

    fn save(&self, to: &mut StateWriter) {
        to.u64(self.cycle_at as u64);
        to.u64(self.block_at as u64);
        to.bool(self.outer_ended);
        to.nested(|to| self.outer.save(to));
        for slot in &self.slots {
            to.bool(slot.is_some());
            if let Some(open) = slot {
                to.bytes(&open.outer);
                let mut inner = StateWriter::default();
                open.feed.save(&mut inner);
                to.bytes(&inner.into_bytes());
            }
        }
    }

    fn restore(&mut self, from: &mut StateReader<'_>) -> Result<()> {
        let cycle_at = from.count(self.slots.len().saturating_sub(1))?;
        let block_at = usize::try_from(from.u64()?).unwrap_or(usize::MAX);
        let outer_ended = from.bool()?;
        let outer = from.bytes()?;
        for i in 0..self.slots.len() {
            if !from.bool()? {
                continue;
            }
            let (at, inner) = (from.bytes()?, from.bytes()?);
            // A stage is restored once only, and the outer one must stand further on.
            let draws = Arc::new(self.env.draws.apart());
            let env = Env { draws, counted: false, reuse: None, ..self.env.clone() };
            let mut past = lower::build(&self.outer_plan, &env)?;
            past.restore(&mut StateReader::new(at))?;
            let block = past.next(1).ok_or_else(|| {
                Error::invalid("the iterator state has a dataset open whose element is no longer there")
            })?;
            let mut open = self.opened(block, Arc::new(at.to_vec()))?;
            open.feed.restore(&mut StateReader::new(inner))?;
            self.slots[i] = Some(open);
        }
        self.outer.restore(&mut StateReader::new(outer))?;
        (self.cycle_at, self.block_at, self.outer_ended) =
            (cycle_at, block_at.min(self.block.saturating_sub(1)), outer_ended);
        Ok(())
    }
}

/// Outcomes `start..start + n` of a block of the dataset in a slot.
struct Turn {
    slot: usize,
    block: Arc<Block>,
    start: usize,
    n: usize,
}

impl Turn {
    /// The error among them.
    fn error(&self) -> Option<&Error> {
        self.block.failed.as_ref().filter(|_| self.start + self.n > self.block.len)
    }
}

/// Several turns, perhaps with an error after the last.
struct Several {
    /// The blocks that they are of.
    blocks: Vec<Arc<Block>>,
    /// Which of the blocks the last turn of each slot was of.
    last: Vec<Option<usize>>,
    picks: Vec<Pick>,
    len: usize,
    failed: Option<Error>,
}

impl Several {
    fn new(slots: usize) -> Self {
        Self { blocks: Vec::new(), last: vec![None; slots], picks: Vec::new(), len: 0, failed: None }
    }

    fn add(&mut self, turn: Turn) {
        self.failed = turn.error().cloned();
        let n = turn.n.min(turn.block.len - turn.start);
        if n == 0 {
            return;
        }
        let known = self.last[turn.slot].filter(|&i| Arc::ptr_eq(&self.blocks[i], &turn.block));
        let source = known.unwrap_or_else(|| {
            self.blocks.push(turn.block);
            self.blocks.len() - 1
        });
        self.last[turn.slot] = Some(source);
        self.picks.push(Pick { source, start: turn.start, len: n });
        self.len += n;
    }

    fn block(self) -> Block {
        let woven = if self.len == 0 {
            Ok(Block::new(0, Vec::new(), Ids::None))
        } else {
            Block::woven(&self.blocks, &self.picks)
        };
        let mut out = woven.unwrap_or_else(Block::error);
        out.failed = out.failed.or(self.failed);
        out
    }
}
