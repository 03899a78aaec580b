//! A pass over a plan.

use crate::env::{Draws, Env, Seeds, Shared};
use crate::lower;
use crate::pool::{Pool, lock};
use crate::stage::Feed;
use crate::state::{StateReader, StateWriter};
use crate::stats::StageReport;
use crate::sys::{bound_free_memory, entropy};
use gristmill_plan::optimize;
use gristmill_plan::{Class, Draw, Plan, registry};
use gristmill_types::hash::Fnv;
use gristmill_types::{Block, Error, Key, Kind, Result, Value, process};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// Version of the state's layout.
const STATE_VERSION: u64 = 4;

/// One pass over a dataset. Dropping it stops everything that it started.
pub struct DatasetIterator {
    feed: Feed,
    shared: Arc<Shared>,
    draws: Arc<Draws>,
    /// As it was written: states have its fingerprint, which is not asked for before the first of them.
    plan: Plan,
    owner: u32,
    started: Instant,
    /// Elements read at a time for a reader of single ones: no more than it asks for where functions outside the
    /// engine make them.
    ahead: usize,
    /// Whether a function of the user's ended the pass.
    over: bool,
}

impl DatasetIterator {
    /// Starts a pass: every shuffle of the plan takes its next epoch now, nothing is read yet.
    ///
    /// # Errors
    /// What a stage refuses, e.g. a template parameter of a wrong kind.
    pub fn new(plan: &Plan) -> Result<Self> {
        Self::with_entropy(plan, entropy()?)
    }

    /// As [`DatasetIterator::new`], with a given number where the operating system's would seed
    /// random ops that have no seed.
    ///
    /// # Errors
    /// As [`DatasetIterator::new`].
    pub fn with_entropy(plan: &Plan, entropy: u64) -> Result<Self> {
        let iteration = plan.iterations.fetch_add(1, Ordering::SeqCst);
        Self::build(plan, Some(&optimized(plan)?), Draws::take(plan), iteration, entropy)
    }

    /// As [`DatasetIterator::new`], but the plan runs as it is written, on the thread that asks and
    /// when it asks: no rule rewrites it, and nothing is made ahead. For counting what stages cost.
    ///
    /// # Errors
    /// As [`DatasetIterator::new`].
    pub fn direct(plan: &Plan) -> Result<Self> {
        let iteration = plan.iterations.fetch_add(1, Ordering::SeqCst);
        Self::build(plan, None, Draws::take(plan), iteration, entropy()?)
    }

    /// As [`DatasetIterator::new`] for `plan`, but it runs `run`: the same with more behind it that neither draws nor acts.
    ///
    /// # Errors
    /// As [`DatasetIterator::new`].
    pub(crate) fn running(plan: &Plan, run: &Plan) -> Result<Self> {
        let iteration = plan.iterations.fetch_add(1, Ordering::SeqCst);
        Self::build(plan, Some(&optimized(run)?), Draws::take(plan), iteration, entropy()?)
    }

    /// Goes on where a state was saved, with the values that an uninterrupted pass would give.
    ///
    /// # Errors
    /// `InvalidArgument` if the state is damaged or of another plan, or the data have changed.
    pub fn resume(plan: &Plan, state: &[u8]) -> Result<Self> {
        let mut r = StateReader::new(state);
        let (draws, iteration, entropy) = Self::taken_up(plan, &mut r)?;
        let mut it = Self::build(plan, Some(&optimized(plan)?), draws, iteration, entropy)?;
        let restored = it.feed.restore(&mut r);
        // A function that was to end the program cut the input short: what that looks like is no cause.
        it.shared.interrupt.take().map_or(restored, Err)?;
        Ok(it)
    }

    /// Takes the place of a state among the passes over the plan, as [`DatasetIterator::resume`] does, for a pass
    /// that goes on elsewhere: nothing is read and no function called.
    ///
    /// # Errors
    /// `InvalidArgument` if the state is damaged or of another plan.
    pub fn take_up(plan: &Plan, state: &[u8]) -> Result<()> {
        Self::taken_up(plan, &mut StateReader::new(state)).map(|_| ())
    }

    /// The epochs, the number and the entropy of the pass that a state is of.
    fn taken_up(plan: &Plan, r: &mut StateReader<'_>) -> Result<(Draws, u64, u64)> {
        let version = r.u64()?;
        if version != STATE_VERSION {
            return Err(Error::invalid(format!(
                "the iterator state has version {version}, this is version {STATE_VERSION}"
            )));
        }
        if r.u64()? != checksum(r.rest()) {
            return Err(Error::invalid("the iterator state is damaged: its checksum does not fit"));
        }
        let fingerprint = r.u64()?;
        if fingerprint != plan.fingerprint() {
            return Err(Error::invalid("the iterator state was made by another pipeline")
                .hint("build the dataset with the same transformations, numbers and functions as when the state was saved"));
        }
        let (iteration, entropy) = (r.u64()?, r.u64()?);
        let n = r.count(r.remaining())?;
        let bases = (0..n).map(|_| r.u64()).collect::<Result<Vec<_>>>()?;
        let draws = Draws::restored(plan, &bases, Seeds::of(plan).restored(r)?);
        plan.iterations.store(iteration + 1, Ordering::SeqCst);
        Ok((draws, iteration, entropy))
    }

    /// `run` is the plan as the rules have made it; `None` runs it as it is, nothing ahead of the reader.
    fn build(plan: &Plan, run: Option<&Plan>, draws: Draws, iteration: u64, entropy: u64) -> Result<Self> {
        bound_free_memory();
        let options = plan.options();
        let track = plan
            .impure_ops()
            .iter()
            .any(|(_, name)| registry::lookup(name).is_ok_and(|op| op.class == Class::Random));
        let pool = match options.threads {
            Some(n) => Pool::start(usize::try_from(n).unwrap_or(1)),
            None => Pool::global(),
        };
        let draws = Arc::new(draws);
        let shared = Arc::new(Shared {
            cancelled: Arc::new(AtomicBool::new(false)),
            pool,
            entropy,
            iteration,
            options,
            direct: run.is_none(),
            reads: Arc::default(),
            track,
            stats: Mutex::new(Vec::new()),
            warnings: Mutex::new(Vec::new()),
            interrupt: Arc::default(),
        });
        let env = Env {
            shared: Arc::clone(&shared),
            draws: Arc::clone(&draws),
            root: Key::root(0, iteration),
            path: 0,
            counted: true,
            lazy: false,
            reuse: None,
        };
        let stage = lower::build(run.unwrap_or(plan), &env)?;
        Ok(Self {
            feed: Feed::new(stage),
            shared,
            draws,
            plan: plan.clone(),
            owner: process::id(),
            started: Instant::now(),
            ahead: if plan.foreign { 1 } else { 4096 },
            over: false,
        })
    }

    /// The next element, an error in its place, or `None` at the end. After an error the next call
    /// goes on.
    pub fn next_element(&mut self) -> Option<Result<Vec<Value>>> {
        if let Err(e) = self.check_process() {
            return Some(Err(e));
        }
        let block = self.block(1, self.ahead)?;
        Some(match block.failed {
            Some(e) => Err(e),
            None => Ok(block.element(0)),
        })
    }

    /// The next outcomes; after what was raised inside of a stage to end the program there are none.
    fn block(&mut self, want: usize, ahead: usize) -> Option<Block> {
        if self.over {
            return None;
        }
        let block = self.feed.next(want, ahead);
        if let Some(e) = block.as_ref().and_then(|b| b.failed.as_ref()) {
            self.shared.interrupted_by(e);
        }
        if !self.shared.is_cancelled() {
            return block;
        }
        let interrupt = self.shared.interrupt.take();
        self.over = interrupt.is_some();
        if self.over {
            // Whoever goes on from here begins with the element that was not made.
            self.feed.step_back();
        }
        interrupt.map(Block::error).or(block)
    }

    /// As [`DatasetIterator::next_element`], waiting at most that long; `None` if it is not ready by
    /// then.
    pub fn poll_element(&mut self, timeout: std::time::Duration) -> Option<Option<Result<Vec<Value>>>> {
        self.ready(timeout).then(|| self.next_element())
    }

    /// Whether the next element lies ready, so that asking for it neither waits nor computes.
    pub fn is_buffered(&self) -> bool {
        self.feed.is_buffered()
    }

    /// Whether the next outcomes can be had at once, waiting at most that long for them.
    pub(crate) fn ready(&mut self, timeout: std::time::Duration) -> bool {
        self.owner != process::id() || self.feed.ready(timeout)
    }

    /// The next outcomes, as many as are read at a time for a reader that wants all of them.
    pub(crate) fn next_read(&mut self) -> Option<Block> {
        self.next_block(self.ahead)
    }

    /// What the random ops of a function behind the pass draw from for its `n`-th element.
    pub(crate) fn draw(&self, n: u64) -> Draw {
        let key = Key::root(u64::MAX, self.shared.iteration).at(n);
        Draw::Element { entropy: self.shared.entropy, key }
    }

    /// The next elements as a block: at least one outcome, at most `want`.
    pub fn next_block(&mut self, want: usize) -> Option<Block> {
        if let Err(e) = self.check_process() {
            return Some(Block::error(e));
        }
        self.block(want.max(1), want.max(1))
    }

    /// After a fork the child has none of the threads that would make elements.
    fn check_process(&self) -> Result<()> {
        if self.owner == process::id() {
            return Ok(());
        }
        Err(Error::new(
            Kind::FailedPrecondition,
            "this iterator was made in another process and does not survive fork()",
        )
        .hint("make the iterator after the fork: the dataset itself may be used on both sides"))
    }

    /// The position after the last element given, in some hundred bytes: no data.
    pub fn state(&self) -> Vec<u8> {
        let mut w = StateWriter::default();
        w.u64(self.plan.fingerprint());
        w.u64(self.shared.iteration);
        w.u64(self.shared.entropy);
        let bases = self.draws.bases();
        w.u64(bases.len() as u64);
        bases.iter().for_each(|&b| w.u64(b));
        self.draws.seeds().save(&mut w);
        self.feed.save(&mut w);
        let body = w.into_bytes();
        let mut whole = StateWriter::default();
        whole.u64(STATE_VERSION);
        whole.u64(checksum(&body));
        let mut whole = whole.into_bytes();
        whole.extend_from_slice(&body);
        whole
    }

    /// The counters of every stage, sources first, and the seconds since the pass was started.
    pub fn report(&self) -> (Vec<StageReport>, f64) {
        let stages = lock(&self.shared.stats).iter().map(|s| s.snapshot()).collect();
        (stages, self.started.elapsed().as_secs_f64())
    }

    /// Takes what the user should hear and was not yet told.
    pub fn take_warnings(&self) -> Vec<String> {
        std::mem::take(&mut *lock(&self.shared.warnings))
    }
}

impl Iterator for DatasetIterator {
    type Item = Result<Vec<Value>>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_element()
    }
}

impl Drop for DatasetIterator {
    fn drop(&mut self) {
        self.shared.cancelled.store(true, Ordering::Relaxed);
    }
}

/// The plan that runs in a plan's place.
fn optimized(plan: &Plan) -> Result<Plan> {
    Ok(optimize::optimize(plan, &plan.options())?.plan)
}

/// A state that was cut or changed is told from a whole one.
fn checksum(bytes: &[u8]) -> u64 {
    let mut hash = Fnv::default();
    hash.bytes(bytes);
    hash.value()
}
