//! `map` into `batch`: each value is written once, straight into its place in the batch.

use super::Stage;
use super::batch::{batch_size, concat, joined_ids, one_row, unlike};
use super::code::Code;
use super::map::{GROUP_NS, INLINE_NS, Pace, TARGET_NS, Work, evaluate};
use super::reread::{Piece, Reread};
use crate::env::Env;
use crate::pool::{Group, Job, done};
use crate::state::{StateReader, StateWriter};
use crate::stats::StageStats;
use gristmill_plan::Scratch;
use gristmill_plan::dataset::{Batch, Map};
use gristmill_types::{BatchBuilder, Block, Column, DType, Error, Ids, Result, Shape};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// What a worker made of a piece: columns that were not laid out in advance, elements done, the
/// error of the next one.
type Made = Result<(Vec<Option<Column>>, usize, Option<Error>)>;

/// How many elements tell how long one takes, and the time that they took, in ns.
type Told = Option<(usize, u64)>;

/// Memory of the batches under way, and of what they are made of, beyond those that keep the workers busy.
const SHORT_BYTES: usize = 8 << 20;
/// Short batches that one worker makes in turn at most.
const TOGETHER: usize = 64;
/// Elements that are tried on the spot: from one on and four times as many each time, until it is known how long one
/// takes.
const TRIED: usize = 1024;

struct Part {
    piece: Piece,
    job: Job<(Made, Told)>,
}

/// A batch under construction.
struct Open {
    builder: Arc<BatchBuilder>,
    /// Whether nobody waits for it any more.
    given_up: Arc<AtomicBool>,
    parts: Vec<Part>,
    count: usize,
    /// Bytes of its own and of its input.
    bytes: usize,
}

/// See the module.
pub(crate) struct BatchMapStage {
    input: Reread,
    work: Arc<Work>,
    env: Env,
    size: usize,
    drop_remainder: bool,
    layout: Vec<Option<(DType, Shape)>>,
    /// Bytes that are laid out for a batch.
    bytes: usize,
    open: VecDeque<Open>,
    pace: Pace,
    /// Elements to be tried on the spot; none once the pace is known.
    trial: Option<usize>,
    /// Batches under way that keep the workers busy even if the input is slow, and at most.
    least: usize,
    depth: usize,
    /// As many as may be under way since an error had batches made again: with each that has none, twice as many.
    reach: usize,
    /// Whether the input gave the last batch at once.
    fluent: bool,
    /// Work that is not with a worker yet, and its elements.
    group: Group,
    grouped: usize,
    scratch: Scratch,
}

impl BatchMapStage {
    pub(crate) fn new(input: Box<dyn Stage>, map: &Map, batch: &Batch, env: &Env) -> Result<Self> {
        let code = Code::new(&map.graph, &map.captures)?;
        let specs = map.graph.output_specs();
        let layout: Vec<Option<(DType, Shape)>> = map
            .structure
            .leaves()
            .into_iter()
            .map(|&i| {
                (specs[i].is_dense() && specs[i].dtype().is_plain())
                    .then(|| Some((specs[i].dtype(), specs[i].shape().full()?)))
                    .flatten()
            })
            .collect();
        let size = batch_size(batch.size.as_int()?)?;
        let row: usize = layout.iter().flatten().map(|(d, s)| d.size() * s.count()).sum();
        let bytes = row.max(1).saturating_mul(size);
        let budget = usize::try_from(env.budget()).unwrap_or(usize::MAX);
        let least = if env.lazy { 1 } else { env.shared.pool.workers() + 2 };
        let depth = if env.lazy { 1 } else { (budget / bytes).max(1) };
        Ok(Self {
            input: Reread::new(input),
            work: Arc::new(Work { code, shared: Arc::clone(&env.shared), stats: env.stats("map+batch") }),
            env: env.clone(),
            size,
            drop_remainder: batch.drop_remainder,
            layout,
            bytes,
            open: VecDeque::new(),
            pace: Pace::NEW,
            trial: (!env.lazy).then_some(1),
            least: least.min(depth),
            depth,
            reach: depth,
            fluent: false,
            group: Group::default(),
            grouped: 0,
            scratch: Scratch::default(),
        })
    }

    /// Batches to have under way: as many as keep every worker busy, since each holds its memory.
    fn ahead(&self) -> usize {
        if self.trial.is_some() {
            return 1;
        }
        let tasks = self.size.div_ceil(self.pace.block(TARGET_NS));
        let short = self.pace.block(GROUP_NS) / self.size;
        let together = if self.fluent { short.clamp(1, TOGETHER) } else { 1 };
        let busy = 1 + (2 * together * self.env.shared.pool.workers()).div_ceil(tasks);
        busy.clamp(2.min(self.depth), self.reach)
    }

    /// Whether the workers have enough to do, and more would keep the reader from a batch that is made or take much
    /// memory.
    fn is_enough(&self) -> bool {
        let made = |open: &Open| open.parts.iter().all(|part| part.job.is_done());
        self.open.len() >= self.least
            && (self.open.front().is_some_and(made)
                || self.open.iter().map(|open| open.bytes).sum::<usize>() >= SHORT_BYTES)
    }

    /// Reads the elements of one more batch and gives them to the workers.
    fn start(&mut self) -> Result<bool> {
        if self.input.is_over() {
            return Ok(false);
        }
        let builder = self.work.stats.memory(|| BatchBuilder::new(self.size, &self.layout))?;
        let mut open = Open {
            builder: Arc::new(builder),
            given_up: Arc::default(),
            parts: Vec::new(),
            count: 0,
            bytes: self.bytes,
        };
        while open.count < self.size && !self.env.shared.is_cancelled() {
            let room = self.size - open.count;
            // What calls functions outside the engine is asked once for all that the batch needs.
            if self.env.lazy && !self.input.fetch(room) {
                break;
            }
            let want = self.trial.unwrap_or(self.pace.block(TARGET_NS)).min(room);
            let Some(piece) = self.input.read(want) else { break };
            let (n, broke) = (piece.block.len, piece.block.failed.is_some());
            let job = self.job(&piece.block, &open);
            open.count += n;
            open.bytes += piece.block.byte_len();
            open.parts.push(Part { piece, job });
            if broke {
                break;
            }
        }
        let any = !open.parts.is_empty();
        if any {
            self.open.push_back(open);
        }
        Ok(any)
    }

    /// Has a block's elements written into the next slots of a batch.
    fn job(&mut self, block: &Block, open: &Open) -> Job<(Made, Told)> {
        let (n, start, work) = (block.len, open.count, Arc::clone(&self.work));
        let (block, builder, given_up) =
            (block.clone(), Arc::clone(&open.builder), Arc::clone(&open.given_up));
        let make = move |scratch: &mut Scratch| {
            if given_up.load(Relaxed) {
                return (Ok((Vec::new(), 0, None)), None);
            }
            let began = Instant::now();
            let made = run(&work, scratch, &block, &builder, start);
            work.stats.busy(began);
            let ns = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
            // One that fails was tried too; the ops before the one that fails may have worked on all of them.
            let tried = made.as_ref().map_or(0, |(_, done, failed)| done + usize::from(failed.is_some()));
            let told = (tried > 0 && 2 * tried >= n).then_some((tried, ns));
            (made, told)
        };
        if let Some(tried) = self.trial.filter(|_| n > 0) {
            let (mut told, scratch) = (None, &mut self.scratch);
            let job = done(|| {
                let made;
                (made, told) = make(scratch);
                (made, None)
            });
            if let Some((n, took)) = told {
                // What comes first takes longer than the rest: the last of several trials counts.
                self.pace = Pace::NEW;
                self.pace.learn(n, took);
                let enough = if n > 1 { INLINE_NS } else { 5 * INLINE_NS };
                self.trial = Some(4 * tried).filter(|&more| took < enough && more <= TRIED);
            }
            return job;
        }
        let job = self.group.add(make);
        self.grouped += n.max(1);
        let enough = self.pace.block(GROUP_NS).min(self.size.saturating_mul(TOGETHER));
        if !self.fluent || self.grouped >= enough {
            self.hand_over();
        }
        job
    }

    /// Gives what is grouped to a worker.
    fn hand_over(&mut self) {
        self.group.submit(&self.env.shared.pool);
        self.grouped = 0;
    }

    /// Waits for a batch and closes it.
    fn finish(&mut self, open: Open) -> Option<Block> {
        let mut pieces = Vec::with_capacity(open.parts.len());
        let mut columns: Vec<Vec<Column>> = self.layout.iter().map(|_| Vec::new()).collect();
        let mut failed = None;
        let began = Instant::now();
        for part in open.parts {
            let n = part.piece.block.len;
            let made = part.job.wait().and_then(|(made, told)| {
                if let Some((n, ns)) = told {
                    self.pace.learn(n, ns);
                }
                made
            });
            if failed.is_none() {
                match made {
                    Ok((made, done, error)) => {
                        for (all, c) in columns.iter_mut().zip(made) {
                            all.extend(c);
                        }
                        failed = error.map(|e| (e, pieces.len(), done + 1));
                    }
                    Err(e) => failed = Some((e, pieces.len(), 1)),
                }
                if failed.is_none()
                    && let Some(e) = &part.piece.block.failed
                {
                    failed = Some((e.clone(), pieces.len(), n + 1));
                }
                open.given_up.store(failed.is_some(), Relaxed);
            }
            pieces.push(part.piece);
        }
        self.work.stats.wait(began);
        if let Some((e, at, used)) = failed {
            self.rewind(pieces, at, used);
            return Some(Block::error(e));
        }
        let count = open.count;
        if count < self.size && self.drop_remainder {
            return None;
        }
        self.reach = self.reach.saturating_mul(2).min(self.depth);
        Some(self.close(open.builder, columns, &pieces, count).unwrap_or_else(Block::error))
    }

    /// The batch up to the error is lost; everything after it is read again into new batches.
    fn rewind(&mut self, pieces: Vec<Piece>, at: usize, used: usize) {
        let mut behind = pieces.into_iter().skip(at);
        let broken = behind.next().and_then(|piece| piece.after(used));
        let mut later: Vec<Piece> = broken.into_iter().chain(behind).collect();
        if later.is_empty() {
            // The batches behind it begin where they would have begun.
            return;
        }
        for open in self.open.drain(..) {
            open.given_up.store(true, Relaxed);
            later.extend(open.parts.into_iter().map(|p| p.piece));
        }
        self.reach = self.least;
        self.input.put_back(later);
    }

    fn close(
        &self,
        builder: Arc<BatchBuilder>,
        columns: Vec<Vec<Column>>,
        pieces: &[Piece],
        count: usize,
    ) -> Result<Block> {
        let builder =
            Arc::try_unwrap(builder).map_err(|_| Error::internal("a batch is still being written"))?;
        let laid_out = builder.finish(count)?;
        let filled = pieces.iter().map(|p| &p.block).filter(|b| b.len > 0).map(|b| &b.ids);
        let columns = laid_out
            .into_iter()
            .zip(columns)
            .map(|(t, parts)| match t {
                Some(t) => {
                    self.work.stats.bytes_written.fetch_add(t.byte_len() as u64, Relaxed);
                    one_row(t.into())
                }
                None => {
                    let parts: Vec<&Column> = parts.iter().collect();
                    concat(&parts, &self.work.stats)
                        .and_then(one_row)
                        .map_err(|e| unlike(&parts, filled.clone()).unwrap_or(e))
                }
            })
            .collect::<Result<_>>()?;
        let ids: Vec<Ids> = pieces.iter().map(|p| p.block.ids.clone()).collect();
        let lens: Vec<usize> = pieces.iter().map(|p| p.block.len).collect();
        Ok(Block::new(1, columns, joined_ids(self.env.shared.track, &ids, &lens, count.max(1))))
    }
}

fn run(work: &Work, scratch: &mut Scratch, block: &Block, builder: &BatchBuilder, start: usize) -> Made {
    if block.len == 0 {
        return Ok((Vec::new(), 0, None));
    }
    let mut slots = builder.take(start, block.len)?;
    evaluate(work, scratch, &block.columns, block.len, &block.ids, &mut slots.columns)
}

impl Stage for BatchMapStage {
    fn stats(&self) -> &Arc<StageStats> {
        &self.work.stats
    }

    fn next(&mut self, _: usize) -> Option<Block> {
        while !self.env.shared.is_cancelled() {
            while self.open.len() < self.ahead() {
                if self.is_enough() {
                    break;
                }
                let began = Instant::now();
                match self.start() {
                    Ok(true) => {}
                    Ok(false) => break,
                    Err(e) => return Some(Block::error(e)),
                }
                self.fluent = began.elapsed() < Duration::from_nanos(INLINE_NS);
            }
            self.hand_over();
            self.work.stats.ahead(self.open.len(), self.ahead());
            let front = self.open.pop_front()?;
            if let Some(block) = self.finish(front) {
                self.work.stats.block(&block);
                return Some(block);
            }
        }
        None
    }

    fn save(&self, to: &mut StateWriter) {
        self.input.save(self.open.front().and_then(|o| o.parts.first()).map(|p| &p.piece), to);
    }

    fn restore(&mut self, from: &mut StateReader<'_>) -> Result<()> {
        self.input.restore(from)
    }
}
