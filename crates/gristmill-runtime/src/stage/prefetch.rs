//! `prefetch`: a thread that runs the stages above, ahead of the reader.

use super::map::{Pace, TARGET_NS};
use super::{Stage, pass, position};
use crate::env::{Env, Shared};
use crate::pool::lock;
use crate::state::{StateReader, StateWriter};
use crate::stats::{HeldBytes, StageStats};
use gristmill_types::{Block, Error, Kind, Result, process};
use std::collections::VecDeque;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Bytes of small elements that are worth holding ready.
const SMALL: usize = 4 << 20;
/// Stack of the thread: stages call each other, one frame per transformation.
const STACK: usize = 64 << 20;
/// How long a drop waits for a thread that is blocked, e.g. in reading a file that does not answer.
const PATIENCE: Duration = Duration::from_secs(1);
/// Work on small elements that is worth doing ahead, in ns.
const AHEAD_NS: u64 = 20_000_000;

#[derive(Default)]
struct Queue {
    /// Blocks with the position after each.
    blocks: VecDeque<(Block, Arc<Vec<u8>>, usize)>,
    elements: usize,
    bytes: usize,
    ended: bool,
    stopped: bool,
    /// The thread waits until no more elements than these are left: so many fewer than when it had made enough as take
    /// it a while to make, so that it is not woken for each, and at least half of them.
    waiting: Option<usize>,
    /// The reader waits for an element.
    wanted: bool,
    /// The thread makes one.
    making: bool,
}

struct Channel {
    queue: Mutex<Queue>,
    changed: Condvar,
}

/// See the module. The thread starts with the first element that is asked for.
pub(crate) struct PrefetchStage {
    input: Option<Box<dyn Stage>>,
    thread: Option<JoinHandle<()>>,
    channel: Arc<Channel>,
    env: Env,
    limit: usize,
    /// Whether the user gave the limit.
    given: bool,
    current: Option<Block>,
    used: usize,
    before: Arc<Vec<u8>>,
    after: Arc<Vec<u8>>,
    owner: u32,
    stats: Arc<StageStats>,
    held: HeldBytes,
}

impl PrefetchStage {
    pub(crate) fn new(input: Box<dyn Stage>, buffer: Option<u64>, env: &Env) -> Self {
        // Nothing ahead is meant for functions outside the engine: all else would only become slow.
        let least = u64::from(!env.lazy);
        let limit = buffer.map_or(2, |n| usize::try_from(n.max(least)).unwrap_or(usize::MAX));
        let stats = env.stats("prefetch");
        Self {
            held: HeldBytes::new(&stats),
            input: Some(input),
            thread: None,
            channel: Arc::new(Channel { queue: Mutex::new(Queue::default()), changed: Condvar::new() }),
            env: env.clone(),
            limit,
            given: buffer.is_some(),
            current: None,
            used: 0,
            before: Arc::default(),
            after: Arc::default(),
            owner: process::id(),
            stats,
        }
    }

    /// Starts the thread, once; if it cannot be had, that is the last outcome.
    fn start(&mut self) {
        let Some(stage) = self.input.take() else { return };
        self.after = Arc::new(position(&*stage));
        let (channel, shared) = (Arc::clone(&self.channel), Arc::clone(&self.env.shared));
        let ahead = Ahead { limit: self.limit, exact: self.exact() };
        let budget = usize::try_from(self.env.budget()).unwrap_or(usize::MAX);
        let thread = std::thread::Builder::new().name("gristmill-prefetch".into()).stack_size(STACK).spawn(
            move || {
                drive(stage, &channel, &shared, &ahead, budget);
                lock(&channel.queue).ended = true;
                channel.changed.notify_all();
            },
        );
        match thread {
            Ok(thread) => self.thread = Some(thread),
            Err(e) => {
                let mut queue = lock(&self.channel.queue);
                queue.blocks.push_back((Block::error(no_thread(&e)), Arc::clone(&self.after), 0));
                queue.elements += 1;
                queue.ended = true;
            }
        }
    }

    /// Whether the thread never runs further ahead than the user said, and then counts what the reader holds.
    fn exact(&self) -> bool {
        self.limit == 0 || (self.env.lazy && self.given)
    }

    /// The next of what is left of a block.
    fn rest(&mut self, block: Block, left: usize, want: usize) -> Block {
        let part = block.outcome_slice(self.used, want);
        self.used += part.outcomes();
        if part.outcomes() < left {
            self.current = Some(block);
        }
        part
    }

    fn refill(&mut self) -> bool {
        let start = Instant::now();
        let mut queue = lock(&self.channel.queue);
        self.stats.ahead(queue.elements, self.limit);
        loop {
            if let Some((block, after, bytes)) = queue.blocks.pop_front() {
                if !self.exact() {
                    queue.elements -= block.outcomes();
                }
                queue.bytes -= bytes;
                let wake = queue.waiting.is_some_and(|low| self.exact() || queue.elements <= low);
                let left = queue.bytes as u64;
                drop(queue);
                self.held.set(left);
                self.stats.bytes_in.fetch_add(bytes as u64, Relaxed);
                self.stats.bytes_out.fetch_add(bytes as u64, Relaxed);
                if wake {
                    self.channel.changed.notify_all();
                }
                self.before = std::mem::replace(&mut self.after, after);
                self.current = Some(block);
                self.used = 0;
                self.stats.wait(start);
                return true;
            }
            if queue.ended || self.env.shared.is_cancelled() {
                self.stats.wait(start);
                return false;
            }
            self.channel.want(&mut queue, self.limit);
            let (next, _) = self
                .channel
                .changed
                .wait_timeout(queue, Duration::from_millis(200))
                .unwrap_or_else(PoisonError::into_inner);
            queue = next;
        }
    }
}

/// Why a thread cannot be started.
fn no_thread(e: &std::io::Error) -> Error {
    Error::new(Kind::ResourceExhausted, format!("cannot start a thread that makes elements ahead: {e}"))
        .hint("the process may have too little memory or address space left, or too many threads (ulimit -v, ulimit -u)")
}

impl Channel {
    /// Lets the thread know that its reader waits; only one that makes nothing ahead has to be told.
    fn want(&self, queue: &mut Queue, limit: usize) {
        if limit == 0 && !queue.wanted && !queue.making {
            queue.wanted = true;
            self.changed.notify_all();
        }
    }
}

/// How far the thread may run ahead of the reader.
struct Ahead {
    /// Elements.
    limit: usize,
    /// Whether never more than that, however little they cost: what makes them acts on the world outside.
    exact: bool,
}

impl Ahead {
    fn is_full(&self, queue: &Queue, pace: &Pace, budget: usize) -> bool {
        if self.limit == 0 {
            return !queue.wanted;
        }
        if self.exact && queue.elements >= self.limit {
            return true;
        }
        !queue.blocks.is_empty()
            && (queue.bytes >= budget
                || (queue.elements >= self.limit
                    && (queue.bytes >= SMALL || queue.elements >= pace.block(AHEAD_NS))))
    }
}

/// Runs the stages above until the end, never further ahead than allowed; one block is always
/// allowed, so that progress depends on nobody else.
fn drive(mut stage: Box<dyn Stage>, channel: &Channel, shared: &Shared, ahead: &Ahead, budget: usize) {
    let mut pace = Pace::NEW;
    let mut each = SMALL;
    loop {
        let room = {
            let mut queue = lock(&channel.queue);
            while !queue.stopped && !shared.is_cancelled() && ahead.is_full(&queue, &pace, budget) {
                let low = queue.elements.saturating_sub(pace.block(TARGET_NS));
                queue.waiting = Some(low.max(queue.elements / 2));
                queue = channel.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
            }
            queue.waiting = None;
            (queue.wanted, queue.making) = (false, true);
            if queue.stopped || shared.is_cancelled() {
                return;
            }
            if ahead.exact { ahead.limit.saturating_sub(queue.elements).max(1) } else { usize::MAX }
        };
        let want =
            pace.block(TARGET_NS).min((SMALL / each.max(1)).max(ahead.limit).max(1)).min(4096).min(room);
        let start = Instant::now();
        let made = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| stage.next(want)));
        let block = made.unwrap_or_else(|p| Some(Block::error(Error::from_panic(&*p))));
        let Some(block) = block else {
            let mut queue = lock(&channel.queue);
            queue.ended = true;
            drop(queue);
            channel.changed.notify_all();
            return;
        };
        pace.learn(block.outcomes(), u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX));
        let bytes = block.byte_len();
        each = bytes / block.outcomes().max(1);
        let after = Arc::new(position(&*stage));
        let mut queue = lock(&channel.queue);
        queue.elements += block.outcomes();
        queue.bytes += bytes;
        queue.making = false;
        let first = queue.blocks.is_empty();
        queue.blocks.push_back((block, after, bytes));
        drop(queue);
        if first {
            channel.changed.notify_all();
        }
    }
}

impl Stage for PrefetchStage {
    fn stats(&self) -> &Arc<StageStats> {
        &self.stats
    }

    fn next(&mut self, want: usize) -> Option<Block> {
        self.start();
        if self.current.is_none() && !self.refill() {
            return None;
        }
        let block = self.current.take()?;
        let left = block.outcomes() - self.used;
        // Most blocks leave as they came: counting one more reader of each value would cost a cache miss or two.
        let part = if self.used == 0 && left <= want { block } else { self.rest(block, left, want) };
        if self.exact() {
            lock(&self.channel.queue).elements -= part.outcomes();
            self.channel.changed.notify_all();
        }
        self.stats.outcomes(&part);
        Some(part)
    }

    fn ready(&mut self, timeout: Duration) -> bool {
        self.start();
        if self.current.is_some() {
            return true;
        }
        let end = Instant::now() + timeout;
        let mut queue = lock(&self.channel.queue);
        while queue.blocks.is_empty() && !queue.ended {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            self.channel.want(&mut queue, self.limit);
            queue = self.channel.changed.wait_timeout(queue, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    fn skip(&mut self, n: u64) -> u64 {
        if let Some(stage) = &mut self.input {
            return stage.skip(n);
        }
        let mut passed = 0;
        while passed < n {
            match self.next(usize::try_from(n - passed).unwrap_or(usize::MAX)) {
                Some(b) => passed += b.outcomes() as u64,
                None => break,
            }
        }
        passed
    }

    fn save(&self, to: &mut StateWriter) {
        match (&self.input, &self.current) {
            (Some(stage), _) => {
                to.nested(|to| stage.save(to));
                to.u64(0);
            }
            (None, Some(_)) => {
                to.bytes(&self.before);
                to.u64(self.used as u64);
            }
            (None, None) => {
                to.bytes(&self.after);
                to.u64(0);
            }
        }
    }

    fn restore(&mut self, from: &mut StateReader<'_>) -> Result<()> {
        let at = from.bytes()?;
        let used = from.u64()?;
        let stage = self.input.as_mut().ok_or_else(|| Error::internal("a running prefetch was restored"))?;
        stage.restore(&mut StateReader::new(at))?;
        pass(&mut **stage, used)
    }
}

impl Drop for PrefetchStage {
    fn drop(&mut self) {
        let Some(thread) = self.thread.take() else { return };
        if self.owner != process::id() {
            // A forked child has no such thread; the lock may be held by it for ever.
            std::mem::forget(thread);
            return;
        }
        let end = Instant::now() + PATIENCE;
        let mut queue = lock(&self.channel.queue);
        queue.stopped = true;
        self.channel.changed.notify_all();
        while !queue.ended {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                // It ends by itself as soon as it gets out of what blocks it.
                return;
            }
            queue = self.channel.changed.wait_timeout(queue, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        drop(queue);
        drop(thread.join());
    }
}
