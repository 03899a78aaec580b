//! `map`: a program per element, in order, several blocks at a time.

use super::code::{Code, stage_name};
use super::{BLOCK_BYTES, Stage, note_position, pass, position};
use crate::env::{Env, Shared};
use crate::pool::Job;
use crate::state::{StateReader, StateWriter};
use crate::stats::StageStats;
use gristmill_plan::dataset::Map;
use gristmill_plan::{Run, Scratch};
use gristmill_types::batch::RowsMut;
use gristmill_types::{Block, Column, DType, Error, Frame, Ids, Origin, Result, Value};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

/// A block of work takes about this long, in ns.
pub(crate) const TARGET_NS: u64 = 1_000_000;
/// Work below this is done on the spot: handing it to a worker costs more, in ns.
pub(crate) const INLINE_NS: u64 = 60_000;
/// Short batches that one worker makes in turn take about this long, in ns.
pub(crate) const GROUP_NS: u64 = TARGET_NS / 4;

/// Blocks are put together up to about so many bytes.
const GATHERED: usize = 32 << 20;
/// Blocks of fewer bytes are computed without asking the system for page faults.
const COUNTED: usize = 4096;

/// What workers and the stage share.
pub(crate) struct Work {
    pub(crate) code: Code,
    pub(crate) shared: Arc<Shared>,
    pub(crate) stats: Arc<StageStats>,
}

/// How long an element takes, learnt from the elements so far.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    ns: f64,
}

impl Pace {
    pub(crate) const NEW: Self = Self { ns: -1.0 };

    /// Learns from `n` elements that took `ns` together.
    pub(crate) fn learn(&mut self, n: usize, ns: u64) {
        let each = ns as f64 / n.max(1) as f64;
        self.ns = if self.ns < 0.0 { each } else { self.ns * 0.75 + each * 0.25 };
    }

    /// Whether nothing is known.
    pub(crate) fn is_new(&self) -> bool {
        self.ns < 0.0
    }

    /// Elements that take about `target` ns, a power of two so that blocks come in few sizes and their memory is used
    /// again; 1 while nothing is known.
    pub(crate) fn block(&self, target: u64) -> usize {
        if self.is_new() {
            return 1;
        }
        let most = ((target as f64 / self.ns.max(0.1)) as usize).clamp(1, 16_384);
        1 << most.ilog2()
    }

    /// The same of elements of `each` bytes: no more than a block should have.
    pub(crate) fn small_block(&self, target: u64, each: usize) -> usize {
        let most = (BLOCK_BYTES / each.max(1)).max(1);
        self.block(target).min(1 << most.ilog2())
    }

    /// What `n` elements will take, in ns.
    pub(crate) fn cost(&self, n: usize) -> u64 {
        (self.ns.max(0.0) * n as f64) as u64
    }
}

/// A group of blocks that are the outcomes of one input block.
struct Pending {
    before: Vec<u8>,
    /// Outcomes of the input between that position and the block.
    after: u64,
    outcomes: usize,
    job: Job<(VecDeque<Block>, u64)>,
}

/// See the module.
pub(crate) struct MapStage {
    input: Box<dyn Stage>,
    work: Arc<Work>,
    env: Env,
    pending: VecDeque<Pending>,
    /// Finished outcomes of the front group, what was used of it, and where it began.
    ready: VecDeque<Block>,
    ready_before: Vec<u8>,
    ready_used: u64,
    ended: bool,
    pace: Pace,
    /// Bytes of an outcome, as the last ones had them.
    each: usize,
    /// Outcomes that the input gives at a time, more or less; none while nothing is known.
    given: Option<usize>,
    limit: usize,
    scratch: Scratch,
}

impl MapStage {
    pub(crate) fn new(input: Box<dyn Stage>, op: &Map, env: &Env) -> Result<Self> {
        let code = Code::new(&op.graph, &op.captures)?;
        let stats = env.stats(&stage_name("map", &op.graph));
        let workers = env.shared.pool.workers();
        let limit =
            op.parallel.map_or(2 * workers, |n| usize::try_from(n).unwrap_or(workers).clamp(1, 4 * workers));
        Ok(Self {
            input,
            work: Arc::new(Work { code, shared: Arc::clone(&env.shared), stats }),
            env: env.clone(),
            pending: VecDeque::new(),
            ready: VecDeque::new(),
            ready_before: Vec::new(),
            ready_used: 0,
            ended: false,
            pace: Pace::NEW,
            each: 0,
            given: None,
            limit,
            scratch: Scratch::default(),
        })
    }

    /// Outcomes of a block.
    fn block(&self) -> usize {
        self.pace.small_block(TARGET_NS, self.each)
    }

    /// Whether more may be under way.
    fn has_room(&self) -> bool {
        let outcomes: usize = self.pending.iter().map(|p| p.outcomes).sum();
        let bytes = outcomes.saturating_mul(self.each) as u64;
        self.pending.is_empty() || self.pending.len() < self.limit && bytes < self.env.budget()
    }

    /// Whether what the input gives at a time is not worth a worker's while.
    fn is_cheap(&self, want: usize) -> bool {
        let outcomes = self.block().min(want).min(self.given.unwrap_or(usize::MAX));
        self.pace.cost(outcomes) < INLINE_NS
    }

    /// Learns from a block of the input. One that is cut short, as at the end of a file, tells little.
    fn learn_size(&mut self, block: &Block) {
        let n = block.outcomes();
        self.given = Some(self.given.map_or(n, |given| (3 * given + n).div_ceil(4)));
    }

    /// Learns from outcomes that took `ns` together.
    fn learn(&mut self, outcomes: usize, ns: u64) {
        self.pace.learn(outcomes, ns);
        self.each = self.ready.iter().map(Block::byte_len).sum::<usize>() / outcomes.max(1);
    }

    /// Takes outcomes of the front group.
    fn take(&mut self, want: usize) -> Option<Block> {
        let front = self.ready.front_mut()?;
        let block = if front.outcomes() <= want {
            self.ready.pop_front()?
        } else {
            let head = front.outcome_slice(0, want);
            *front = front.outcome_slice(want, front.outcomes() - want);
            head
        };
        self.ready_used += block.outcomes() as u64;
        self.work.stats.block(&block);
        Some(block)
    }

    /// Gives a block of the input to the workers, in pieces of that size.
    fn hand_over(&mut self, block: &Block, before: &[u8], size: usize) {
        let mut at = 0;
        while at < block.outcomes() {
            let part = block.outcome_slice(at, size);
            let (work, outcomes) = (Arc::clone(&self.work), part.outcomes());
            let job = self.env.shared.pool.submit(move |scratch| {
                let start = Instant::now();
                let mut out = VecDeque::new();
                apply(&work, scratch, &part, &mut out);
                (out, u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX))
            });
            self.pending.push_back(Pending { before: before.to_vec(), after: at as u64, outcomes, job });
            at += outcomes;
        }
    }

    /// As many elements as are wanted, however small the blocks are in which the input gives them: a lock that is
    /// taken per block is worth a large one.
    fn gather(&mut self, want: usize) -> Option<Block> {
        let mut parts = vec![self.input.next(want)?];
        let (mut count, mut bytes) = (parts[0].outcomes(), parts[0].byte_len());
        while count < want
            && bytes < GATHERED
            && parts.last().is_some_and(|p| p.failed.is_none())
            && !self.env.shared.is_cancelled()
        {
            let Some(block) = self.input.next(want - count) else { break };
            count += block.outcomes();
            bytes += block.byte_len();
            parts.push(block);
        }
        Some(Block::joined(parts))
    }

    /// Computes on the spot while that is cheaper than handing it over.
    fn inline(&mut self, want: usize) -> Option<Block> {
        note_position(&*self.input, &mut self.ready_before);
        self.ready_used = 0;
        let block = if self.work.code.is_foreign() {
            self.gather(want)?
        } else {
            self.input.next(want.min(self.block()))?
        };
        self.learn_size(&block);
        let (count, start) = (block.len, Instant::now());
        apply(&self.work, &mut self.scratch, &block, &mut self.ready);
        self.learn(count, u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX));
        self.take(want)
    }
}

impl Stage for MapStage {
    fn stats(&self) -> &Arc<StageStats> {
        &self.work.stats
    }

    fn next(&mut self, want: usize) -> Option<Block> {
        if let Some(block) = self.take(want) {
            return Some(block);
        }
        // What calls functions outside the engine is asked once for all that is wanted, also to learn the pace.
        let blind = self.env.lazy && self.pace.is_new();
        // The thread that asks calls such functions itself, never a worker: others wait for those.
        let cheap = self.work.code.is_foreign() || !blind && self.is_cheap(want);
        if self.pending.is_empty() {
            if self.ended {
                return None;
            }
            if cheap {
                return self.inline(want);
            }
        }
        // What turned out to be cheap is not handed over any more once the workers are through.
        while !cheap && !self.ended && self.has_room() && !self.env.shared.is_cancelled() {
            let size = if blind { want.div_ceil(self.limit) } else { self.block() };
            let room = match self.env.lazy {
                true => want.saturating_sub(self.pending.iter().map(|p| p.outcomes).sum()),
                false => size,
            };
            if room == 0 {
                break;
            }
            let before = position(&*self.input);
            let Some(block) = self.input.next(room) else {
                self.ended = true;
                break;
            };
            self.learn_size(&block);
            self.hand_over(&block, &before, size);
        }
        self.work.stats.ahead(self.pending.len(), self.limit);
        let front = self.pending.pop_front()?;
        let start = Instant::now();
        let result = front.job.wait();
        self.work.stats.wait(start);
        self.ready_before = front.before;
        self.ready_used = front.after;
        match result {
            Ok((blocks, ns)) => {
                self.ready = blocks;
                self.learn(front.outcomes, ns);
            }
            Err(e) => self.ready = VecDeque::from([Block::error(e)]),
        }
        self.take(want)
    }

    fn skip(&mut self, n: u64) -> u64 {
        let mut passed = 0;
        while passed < n && (!self.ready.is_empty() || !self.pending.is_empty()) {
            match self.next(usize::try_from(n - passed).unwrap_or(usize::MAX)) {
                Some(b) => passed += b.outcomes() as u64,
                None => return passed,
            }
        }
        // Outcomes correspond one to one: nothing needs to be computed.
        passed + if passed < n { self.input.skip(n - passed) } else { 0 }
    }

    fn save(&self, to: &mut StateWriter) {
        if !self.ready.is_empty() {
            to.bytes(&self.ready_before);
            to.u64(self.ready_used);
        } else if let Some(front) = self.pending.front() {
            to.bytes(&front.before);
            to.u64(front.after);
        } else {
            to.nested(|to| self.input.save(to));
            to.u64(0);
        }
    }

    fn restore(&mut self, from: &mut StateReader<'_>) -> Result<()> {
        let at = from.bytes()?;
        let used = from.u64()?;
        self.input.restore(&mut StateReader::new(at))?;
        pass(&mut *self.input, used)
    }
}

/// All outcomes of a block, in blocks that end at each error.
fn apply(work: &Work, scratch: &mut Scratch, block: &Block, out: &mut VecDeque<Block>) {
    let start = Instant::now();
    let mut at = 0;
    while at < block.len && !work.shared.is_cancelled() {
        let rest = if at == 0 { None } else { Some(block.outcome_slice(at, block.len - at)) };
        let part = rest.as_ref().unwrap_or(block);
        match evaluate(work, scratch, &part.columns, part.len, &part.ids, &mut []) {
            Ok((columns, done, failed)) => {
                // No rows were given, so every column is here.
                let columns: Option<Vec<Column>> = columns.into_iter().collect();
                let mut made = Block::new(done, columns.unwrap_or_default(), part.ids.slice(0, done));
                at += done + usize::from(failed.is_some());
                made.failed = failed;
                if made.outcomes() == 0 {
                    break;
                }
                out.push_back(made);
            }
            Err(e) => {
                out.push_back(Block::error(e));
                at += 1;
            }
        }
    }
    if let Some(e) = &block.failed {
        match out.back_mut() {
            Some(last) if last.failed.is_none() => last.failed = Some(e.clone()),
            _ => out.push_back(Block::error(e.clone())),
        }
    }
    work.stats.busy(start);
}

/// Runs the program; an element's error gets its file, record or path.
pub(crate) fn evaluate(
    work: &Work,
    scratch: &mut Scratch,
    columns: &[Column],
    n: usize,
    ids: &Ids,
    rows: &mut [Option<RowsMut<'_>>],
) -> Result<(Vec<Option<Column>>, usize, Option<Error>)> {
    let bytes: usize = columns.iter().map(Column::byte_len).sum();
    let mut run = Run { scratch, entropy: work.shared.entropy, copied: 0 };
    let mut compute = || work.code.run(work, &mut run, columns, n, ids, rows);
    // What the counting costs must stay small beside the work.
    let out = if bytes < COUNTED { compute() } else { work.stats.memory(compute) }?;
    work.stats.runs.fetch_add(1, Relaxed);
    work.stats.bytes_in.fetch_add(bytes as u64, Relaxed);
    if run.copied > 0 {
        work.stats.bytes_copied.fetch_add(run.copied, Relaxed);
    }
    let failed = out.failed.map(|e| located(e, columns, ids, out.done, &work.stats.name));
    Ok((out.columns, out.done, failed))
}

/// The error with what is known of element `i`.
fn located(e: Error, columns: &[Column], ids: &Ids, i: usize, stage: &str) -> Error {
    placed(e, columns, ids, i).frame(Frame::Stage { name: stage.to_string() })
}

fn placed(e: Error, columns: &[Column], ids: &Ids, i: usize) -> Error {
    if e.path().is_some() {
        return e;
    }
    if let Origin::Record { file, index, offset } = ids.get(i).origin {
        return e.frame(Frame::Record { index, offset }).in_file(&*file);
    }
    let text = columns.iter().find_map(|c| match c.get(i) {
        Value::Tensor(t) if t.dtype() == DType::String && t.count() == 1 => {
            let text = std::str::from_utf8(t.as_strings().first()?).ok()?.to_string();
            (text.len() <= 300 && !text.chars().any(char::is_control)).then_some(text)
        }
        _ => None,
    });
    match text {
        Some(text) => e.frame(Frame::Input { text }),
        None => e,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_takes_a_while_and_is_not_large() {
        assert_eq!(Pace::NEW.small_block(TARGET_NS, 1), 1);
        let mut pace = Pace::NEW;
        pace.learn(100, 200_000); // 2 us each
        assert_eq!((pace.block(TARGET_NS), pace.cost(10)), (256, 20_000));
        let blocks = [0, 8, 16 << 10, 100_000, 1 << 20, 3 << 20, usize::MAX]
            .map(|each| pace.small_block(TARGET_NS, each));
        assert_eq!(blocks, [256, 256, 256, 32, 4, 1, 1]);
    }
}
