//! `cache` in memory: the first pass's elements, kept; a partial pass is continued by the next.

use super::{Stage, position};
use crate::env::{Draws, Env, Shared};
use crate::lower;
use crate::pool::lock;
use crate::state::{StateReader, StateWriter};
use crate::stats::{HeldBytes, StageStats};
use gristmill_plan::Plan;
use gristmill_plan::dataset::CacheSlot;
use gristmill_types::{Block, Column, Error, Key, Kind, Pick, Result, Value, process};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};

/// So many blocks of the first pass are put together if they are short, so that later passes read long ones however slowly
/// the first one's came: no more elements and bytes than these.
const TOGETHER: usize = 64;
const TOGETHER_ELEMENTS: usize = 4096;
const TOGETHER_BYTES: usize = 256 << 10;

/// The pass whose elements a cache holds.
#[derive(Clone)]
struct Pass {
    iteration: u64,
    entropy: u64,
    root: Key,
    bases: Vec<u64>,
    draws: Arc<Draws>,
    /// Position of the input at its start.
    begin: Vec<u8>,
}

impl PartialEq for Pass {
    fn eq(&self, other: &Self) -> bool {
        (self.iteration, self.entropy, self.root, &self.bases, self.draws.seeds(), &self.begin)
            == (other.iteration, other.entropy, other.root, &other.bases, other.draws.seeds(), &other.begin)
    }
}

/// What a cache holds.
struct Kept {
    /// Blocks with the number of elements before each.
    blocks: Vec<(u64, Block)>,
    /// Number of the first block that may be put together with those behind it.
    loose: usize,
    elements: u64,
    /// Errors of the first pass, with the number of elements before each. Later passes skip them.
    failed: Vec<(u64, Error)>,
    bytes: u64,
    complete: bool,
    /// The stage that reads on, and whose iterator it belongs to.
    reader: Option<(Arc<Shared>, Box<dyn Stage>)>,
    /// Position of the input after the elements held.
    at: Vec<u8>,
}

impl Kept {
    fn push(&mut self, block: Block) {
        let before = self.elements;
        self.elements += block.len as u64;
        self.blocks.push((before, block));
        if self.blocks.len() - self.loose >= TOGETHER {
            self.put_together();
        }
    }

    /// Makes one block of those that were not put together yet, if it is a short one.
    fn put_together(&mut self) {
        let first = std::mem::replace(&mut self.loose, self.blocks.len());
        let (parts, mut elements, mut bytes) = (&self.blocks[first..], 0, 0);
        for (_, block) in parts {
            elements += block.len;
            bytes += block.byte_len();
        }
        if parts.len() < 2 || elements > TOGETHER_ELEMENTS || bytes > TOGETHER_BYTES {
            return;
        }
        let before = parts[0].0;
        let parts: Vec<Arc<Block>> = parts.iter().map(|(_, block)| Arc::new(block.clone())).collect();
        let whole = |(source, block): (usize, &Arc<Block>)| Pick { source, start: 0, len: block.len };
        let picks: Vec<Pick> = parts.iter().enumerate().map(whole).collect();
        // What cannot be one block stays several.
        let Ok(together) = Block::woven(&parts, &picks) else { return };
        self.blocks.truncate(first);
        self.blocks.push((before, together));
        self.loose = self.blocks.len();
    }
}

/// A cache's contents as the slot holds them: reachable without the lock, which a forked child may
/// inherit locked by a thread that it does not have.
#[derive(Clone)]
struct Held {
    pid: u32,
    pass: Arc<Pass>,
    kept: Arc<Mutex<Kept>>,
}

impl Held {
    fn new(pass: Pass, reader: Option<(Arc<Shared>, Box<dyn Stage>)>) -> Self {
        let at = pass.begin.clone();
        let (blocks, failed) = (Vec::new(), Vec::new());
        let kept = Kept { blocks, loose: 0, elements: 0, failed, bytes: 0, complete: false, reader, at };
        Self { pid: process::id(), pass: Arc::new(pass), kept: Arc::new(Mutex::new(kept)) }
    }

    /// The contents for this process. A forked child uses a complete cache; an unfinished one it fills
    /// anew, and leaves its parent's alone.
    fn here(&self) -> Self {
        if self.pid == process::id() || self.kept.try_lock().is_ok_and(|k| k.complete) {
            return self.clone();
        }
        std::mem::forget(Arc::clone(&self.kept));
        Self::new((*self.pass).clone(), None)
    }
}

/// See the module.
pub(crate) struct CacheStage {
    plan: Plan,
    env: Env,
    slot: Arc<CacheSlot>,
    /// The contents that this stage reads, once it has begun.
    held: Option<Held>,
    at: u64,
    /// Errors given so far.
    errors: usize,
    /// Whether this pass began before the cache was complete, and so gives errors too.
    first: bool,
    stats: Arc<StageStats>,
    memory: HeldBytes,
}

impl CacheStage {
    /// A cache of the elements of `plan`. The input is built here, so that its shuffles take their
    /// epochs now, as in TensorFlow, even where a full cache makes it needless.
    pub(crate) fn new(plan: &Plan, slot: &Arc<CacheSlot>, env: &Env) -> Result<Self> {
        let stats = env.stats("cache");
        let stage = Self {
            plan: plan.clone(),
            env: env.clone(),
            slot: Arc::clone(slot),
            held: None,
            at: 0,
            errors: 0,
            first: true,
            memory: HeldBytes::new(&stats),
            stats,
        };
        let input = lower::build(plan, env)?;
        let mut held = lock(&slot.held);
        if held.is_none() {
            let begin = position(&*input);
            let pass = Pass {
                iteration: env.shared.iteration,
                entropy: env.shared.entropy,
                root: env.root,
                bases: env.draws.bases(),
                draws: Arc::clone(&env.draws),
                begin: begin.clone(),
            };
            let reader = Some((Arc::clone(&env.shared), input));
            *held = Some(Box::new(Held::new(pass, reader)));
        }
        drop(held);
        Ok(stage)
    }

    /// What the slot holds, for this process.
    fn in_slot(&self) -> Option<Held> {
        let mut slot = lock(&self.slot.held);
        let held = slot.as_ref()?.downcast_ref::<Held>()?;
        let here = held.here();
        if here.pid != held.pid {
            *slot = Some(Box::new(here.clone()));
        }
        Some(here)
    }

    fn held(&mut self) -> Result<Held> {
        if let Some(held) = &self.held {
            return Ok(held.clone());
        }
        let held = self.in_slot().ok_or_else(|| Error::internal("a cache slot holds something else"))?;
        {
            let kept = lock(&held.kept);
            self.first = !kept.complete;
            self.memory.set(kept.bytes);
        }
        self.held = Some(held.clone());
        Ok(held)
    }

    /// Reads one more block into the cache.
    fn extend(&self, pass: &Pass, kept: &mut Kept, want: usize) -> Result<()> {
        let alive = kept.reader.as_ref().is_some_and(|(owner, _)| !owner.is_cancelled());
        if !alive {
            // The iterator that read so far is gone: its pass goes on with this one's threads.
            let mut env = self.env.clone();
            env.root = pass.root;
            env.draws = Arc::clone(&pass.draws);
            env.counted = false;
            env.shared = Arc::new(self.env.shared.like(pass.iteration, pass.entropy));
            let mut input = lower::build(&self.plan, &env)?;
            input.restore(&mut StateReader::new(&kept.at))?;
            kept.reader = Some((env.shared, input));
        }
        let Some((owner, input)) = &mut kept.reader else { return Ok(()) };
        let made = input.next(want);
        // A pass that ends from outside or from within stops in the middle of blocks, filled batches and buffers. That
        // is no part of the elements: whoever reads on asks for these again.
        if owner.is_cancelled() {
            if let Some(e) = owner.interrupt.peek() {
                self.env.shared.end(e);
            }
            kept.reader = None;
            return Ok(());
        }
        match made {
            Some(mut block) => {
                let failed = block.failed.take();
                kept.at = position(&**input);
                if block.len > 0 {
                    let bytes = block.byte_len() as u64;
                    kept.bytes += bytes;
                    // What stays must not keep whole read buffers alive.
                    block.columns = std::mem::take(&mut block.columns).into_iter().map(detached).collect();
                    kept.push(block);
                    self.stats.bytes_in.fetch_add(bytes, Relaxed);
                }
                if let Some(e) = failed {
                    kept.failed.push((kept.elements, e));
                }
            }
            None => {
                kept.put_together();
                kept.complete = true;
                kept.reader = None;
            }
        }
        Ok(())
    }

    fn read(&mut self, want: usize) -> Result<Option<Block>> {
        let held = self.held()?;
        let mut kept = lock(&held.kept);
        loop {
            let error = kept.failed.get(self.errors).filter(|_| self.first);
            if let Some((_, e)) = error.filter(|(before, _)| *before == self.at) {
                self.errors += 1;
                return Ok(Some(Block::error(e.clone())));
            }
            if self.at < kept.elements {
                let until = error.map_or(u64::MAX, |(before, _)| *before);
                let i = kept.blocks.partition_point(|(before, _)| *before <= self.at) - 1;
                let (before, block) = &kept.blocks[i];
                let start = usize::try_from(self.at - before).unwrap_or(usize::MAX);
                let most = usize::try_from(until - self.at).unwrap_or(usize::MAX);
                let part = block.outcome_slice(start, want.min(most));
                self.at += part.len as u64;
                return Ok(Some(part));
            }
            if kept.complete || self.env.shared.is_cancelled() {
                return Ok(None);
            }
            self.extend(&held.pass, &mut kept, want)?;
            self.memory.set(kept.bytes);
        }
    }
}

fn detached(column: Column) -> Column {
    match column {
        Column::Uniform(t) => Column::Uniform(t.detached()),
        Column::Varied(values) => Column::Varied(values.into_iter().map(Value::detached).collect()),
    }
}

impl Stage for CacheStage {
    fn stats(&self) -> &Arc<StageStats> {
        &self.stats
    }

    fn next(&mut self, want: usize) -> Option<Block> {
        let block = self.read(want).unwrap_or_else(|e| Some(Block::error(e)))?;
        self.stats.block(&block);
        Some(block)
    }

    fn save(&self, to: &mut StateWriter) {
        to.u64(self.at);
        to.u64(self.errors as u64);
        let Some(held) = self.held.clone().or_else(|| self.in_slot()) else {
            to.bool(self.first);
            to.bool(false);
            return;
        };
        // A pass that has not begun does not know yet whether it will be the first.
        to.bool(if self.held.is_some() { self.first } else { !lock(&held.kept).complete });
        let pass = held.pass;
        to.bool(true);
        to.u64(pass.iteration);
        to.u64(pass.entropy);
        to.u64(pass.root.0 as u64);
        to.u64((pass.root.0 >> 64) as u64);
        to.u64(pass.bases.len() as u64);
        pass.bases.iter().for_each(|&b| to.u64(b));
        pass.draws.seeds().save(to);
        to.bytes(&pass.begin);
    }

    fn restore(&mut self, from: &mut StateReader<'_>) -> Result<()> {
        let (at, errors, first) = (from.u64()?, from.u64()?, from.bool()?);
        if !from.bool()? {
            return Ok(());
        }
        let (iteration, entropy) = (from.u64()?, from.u64()?);
        let root = Key(u128::from(from.u64()?) | u128::from(from.u64()?) << 64);
        let n = from.count(from.remaining())?;
        let bases = (0..n).map(|_| from.u64()).collect::<Result<Vec<_>>>()?;
        let draws = Arc::new(self.env.draws.with(&bases, self.env.draws.seeds().restored(from)?));
        let begin = from.bytes()?.to_vec();
        let pass = Pass { iteration, entropy, root, bases, draws, begin };
        let mut held = self.held()?;
        if *held.pass != pass {
            held = Held::new(pass, None);
            *lock(&self.slot.held) = Some(Box::new(held.clone()));
            self.held = Some(held.clone());
        }
        let errors = usize::try_from(errors).unwrap_or(usize::MAX);
        let mut kept = lock(&held.kept);
        while !kept.complete && (kept.elements < at || (first && kept.failed.len() < errors)) {
            if self.env.shared.is_cancelled() {
                return Err(Error::new(Kind::Cancelled, "the iterator was closed"));
            }
            // No more than is needed: functions outside the engine may make them.
            let more = at.saturating_sub(kept.elements).clamp(1, 4096);
            self.extend(&held.pass, &mut kept, more as usize)?;
        }
        if kept.elements < at {
            return Err(Error::invalid(format!(
                "the iterator state needs {at} cached elements, the input has {}",
                kept.elements
            )));
        }
        self.memory.set(kept.bytes);
        drop(kept);
        (self.at, self.errors, self.first) = (at, errors, first);
        Ok(())
    }
}
