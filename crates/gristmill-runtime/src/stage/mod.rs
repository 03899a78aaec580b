//! Stages: what makes a plan happen, one transformation per file.

mod batch;
mod batch_map;
mod cache;
mod code;
mod combine;
mod filter;
mod interleave;
mod map;
mod order;
mod prefetch;
mod repeat;
mod reread;
mod service;
mod shuffle;
mod source;
mod tfrecord;
mod timed;
mod unbatch;

pub(crate) use batch::BatchStage;
pub(crate) use batch_map::BatchMapStage;
pub(crate) use cache::CacheStage;
pub(crate) use combine::{ConcatenateStage, EnumerateStage, ZipStage};
pub(crate) use filter::FilterStage;
pub(crate) use interleave::InterleaveStage;
pub(crate) use map::MapStage;
pub(crate) use order::{ShardStage, SkipStage, TakeStage};
pub(crate) use prefetch::PrefetchStage;
pub(crate) use repeat::RepeatStage;
pub(crate) use service::IgnoreErrorsStage;
pub(crate) use shuffle::ShuffleStage;
pub(crate) use source::{RangeStage, SlicesStage, TensorsStage};
pub(crate) use tfrecord::TfRecordStage;
pub(crate) use timed::TimedStage;
pub(crate) use unbatch::UnbatchStage;

use crate::state::{StateReader, StateWriter};
use crate::stats::StageStats;
use gristmill_types::{Block, Error, Result};
use std::sync::Arc;

/// Bytes of a block of several elements at most: it should be in the processor's cache until it is read, and there are
/// as many under way as there are workers, or more.
const BLOCK_BYTES: usize = 4 << 20;

/// Part of a running pipeline. An *outcome* is an element or an error.
pub trait Stage: Send {
    /// Where the stage counts what it does.
    fn stats(&self) -> &Arc<StageStats>;

    /// The next outcomes in order: at least one, at most `want`; `None` at the end.
    fn next(&mut self, want: usize) -> Option<Block>;

    /// Passes over `n` outcomes as cheaply as this stage can; says how many there were.
    fn skip(&mut self, n: u64) -> u64 {
        let mut left = n;
        while left > 0
            && let Some(block) = self.next(usize::try_from(left).unwrap_or(usize::MAX).min(4096))
        {
            left -= block.outcomes() as u64;
        }
        n - left
    }

    /// Waits until `next` can answer at once, at most that long; says whether it can. Only stages
    /// that run ahead can tell.
    fn ready(&mut self, _timeout: std::time::Duration) -> bool {
        true
    }

    /// Writes the position after the last outcome given.
    fn save(&self, to: &mut StateWriter);

    /// Sets the position; called on a stage that has given nothing yet.
    ///
    /// # Errors
    /// A state that is not of this stage, or an input that is no longer there.
    fn restore(&mut self, from: &mut StateReader<'_>) -> Result<()>;
}

/// A stage's position as bytes.
pub(crate) fn position(stage: &dyn Stage) -> Vec<u8> {
    let mut w = StateWriter::default();
    stage.save(&mut w);
    w.into_bytes()
}

/// A stage's position, into the memory of an earlier one.
pub(crate) fn note_position(stage: &dyn Stage, into: &mut Vec<u8>) {
    let mut w = StateWriter::reusing(std::mem::take(into));
    stage.save(&mut w);
    *into = w.into_bytes();
}

/// Reads outcomes from a stage in pieces of any size, and knows the exact position.
pub(crate) struct Feed {
    stage: Box<dyn Stage>,
    before: Vec<u8>,
    block: Option<Arc<Block>>,
    used: usize,
    /// What was used of the block before the outcomes given last.
    last: usize,
    /// Whether the position is the one before those.
    back: bool,
}

impl Feed {
    /// A feed at the start of a stage.
    pub(crate) fn new(stage: Box<dyn Stage>) -> Self {
        Self { stage, before: Vec::new(), block: None, used: 0, last: 0, back: false }
    }

    /// The next outcomes, as [`Stage::next`]; up to `ahead` may be read at a time.
    pub(crate) fn next(&mut self, want: usize, ahead: usize) -> Option<Block> {
        let (block, start, n) = self.take(want, ahead)?;
        if n < block.outcomes() {
            return Some(block.outcome_slice(start, n));
        }
        // Nobody else holds a block that is given whole.
        Some(Arc::try_unwrap(block).unwrap_or_else(|shared| shared.outcome_slice(0, n)))
    }

    /// The same as outcomes `start..start + n` of a block.
    pub(crate) fn take(&mut self, want: usize, ahead: usize) -> Option<(Arc<Block>, usize, usize)> {
        if self.block.is_none() {
            note_position(&*self.stage, &mut self.before);
            (self.used, self.last) = (0, 0);
            self.block = Some(Arc::new(self.stage.next(ahead.max(want))?));
        }
        let block = self.block.take()?;
        let (start, n) = (self.used, want.min(block.outcomes() - self.used));
        self.last = start;
        self.used += n;
        if self.used < block.outcomes() {
            self.block = Some(Arc::clone(&block));
        }
        Some((block, start, n))
    }

    /// Has `save` give the position before the outcomes that `next` gave last, or before the end that it found;
    /// nothing is read after that.
    pub(crate) fn step_back(&mut self) {
        (self.used, self.back) = (self.last, true);
    }

    /// Whether a block is held from which `next` will be served.
    pub(crate) fn is_buffered(&self) -> bool {
        self.block.is_some()
    }

    /// Whether `next` can answer at once; see [`Stage::ready`].
    pub(crate) fn ready(&mut self, timeout: std::time::Duration) -> bool {
        self.block.is_some() || self.stage.ready(timeout)
    }

    /// The next outcomes without moving on, at most `want`.
    pub(crate) fn peek(&mut self, want: usize) -> Option<Block> {
        if self.block.is_none() {
            note_position(&*self.stage, &mut self.before);
            self.block = Some(Arc::new(self.stage.next(want)?));
            self.used = 0;
        }
        self.block.as_ref().map(|b| b.outcome_slice(self.used, want))
    }

    /// Moves on by `n` of the outcomes that `peek` showed.
    pub(crate) fn consume(&mut self, n: usize) {
        self.used += n;
        if self.block.as_ref().is_some_and(|b| self.used >= b.outcomes()) {
            self.block = None;
        }
    }

    /// Passes over `n` outcomes.
    pub(crate) fn skip(&mut self, n: u64) -> u64 {
        let mut left = n;
        while left > 0 && self.block.is_some() {
            match self.next(usize::try_from(left).unwrap_or(usize::MAX), 1) {
                Some(b) => left -= b.outcomes() as u64,
                None => break,
            }
        }
        n - left + if left > 0 { self.stage.skip(left) } else { 0 }
    }

    pub(crate) fn save(&self, to: &mut StateWriter) {
        if self.back || self.block.is_some() {
            to.bytes(&self.before);
            to.u64(self.used as u64);
        } else {
            to.nested(|to| self.stage.save(to));
            to.u64(0);
        }
    }

    pub(crate) fn restore(&mut self, from: &mut StateReader<'_>) -> Result<()> {
        let at = from.bytes()?;
        let used = from.u64()?;
        self.stage.restore(&mut StateReader::new(at))?;
        pass(&mut *self.stage, used)
    }
}

/// Passes over outcomes that a state says were there.
pub(crate) fn pass(stage: &mut dyn Stage, n: u64) -> Result<()> {
    let found = stage.skip(n);
    if found == n {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "the iterator state is {n} elements into an input that has only {found} left"
    ))
    .hint("the data differ from those that the state was made with"))
}
