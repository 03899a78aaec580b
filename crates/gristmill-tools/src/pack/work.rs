//! The work itself: threads take the next files in order, make records of them, and whoever has a shard's next chunk
//! writes it. What is written depends on the job alone, not on who comes first.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use gristmill_types::{Error, Result};

use super::chunks::{Maker, Task, task};
use super::job::Job;
use super::memory::Memory;
use super::options::OnError;
use super::report::cancelled;
use super::shard::{Chunk, Finished, ShardFile, Tally};
use super::stage::Stage;
use crate::parallel::with_threads;
use crate::progress::Progress;

/// Bytes of files and records that may be in flight.
pub(crate) const IN_FLIGHT_BYTES: u64 = 40 << 20;
/// Bytes that images being decoded and changed may take, and what there is at least beside a long listing.
pub(crate) const PIXEL_BYTES: u64 = 192 << 20;
const LEAST_PIXEL_BYTES: u64 = 112 << 20;
/// Bytes of listings that are not counted.
const SHORT_LISTING: u64 = 16 << 20;
/// Bytes of memory that all threads together keep from image to image.
const KEPT_BYTES: usize = 24 << 20;
/// Buffers of chunks that are kept for the next ones, and the largest that is.
const KEPT_BUFFERS: usize = 6;
const KEPT_BUFFER_BYTES: usize = 2 << 20;

/// The next files to be taken.
struct Claims {
    /// Index into the shards that are to be made.
    at: usize,
    row: usize,
    number: u32,
    in_flight: u64,
}

#[derive(Default)]
struct Pending {
    next: u32,
    /// Whether a thread writes right now.
    writing: bool,
    waiting: BTreeMap<u32, Chunk>,
    file: Option<ShardFile>,
    tally: Tally,
}

struct Run<'a> {
    job: &'a Job,
    stage: &'a Stage,
    progress: &'a dyn Progress,
    /// Shards that are to be made, as indices into the job's.
    todo: Vec<usize>,
    claims: Mutex<Claims>,
    room: Condvar,
    shards: Vec<Mutex<Pending>>,
    done: Mutex<Vec<Option<Finished>>>,
    buffers: Mutex<Vec<Vec<u8>>>,
    pixels: Memory,
    stop: AtomicBool,
    /// Set once a bad image means that nothing will be published: the rest is only looked at.
    broken: AtomicBool,
    error: Mutex<Option<Error>>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes all shards that `finished` lacks; gives the accounts of all.
///
/// # Errors
/// The first that a thread met; `Cancelled`. Bad images are no errors here.
pub(crate) fn run(
    job: &Job,
    stage: &Stage,
    finished: Vec<Option<Finished>>,
    progress: &dyn Progress,
) -> Result<Vec<Finished>> {
    let todo: Vec<usize> = (0..finished.len()).filter(|&i| finished[i].is_none()).collect();
    let files = todo.iter().map(|&i| job.shards[i].part.len() as u64).sum();
    progress.phase("packing", Some(files));
    let threads =
        job.options.threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, Into::into));
    let threads = threads.min((files as usize).max(1)).min(512);
    let beside = job.memory().saturating_sub(SHORT_LISTING);
    let start = todo.first().map_or(0, |&i| job.shards[i].part.start);
    let run = Run {
        job,
        stage,
        progress,
        claims: Mutex::new(Claims { at: 0, row: start, number: 0, in_flight: 0 }),
        room: Condvar::new(),
        shards: todo.iter().map(|_| Mutex::default()).collect(),
        todo,
        done: Mutex::new(finished),
        buffers: Mutex::default(),
        pixels: Memory::new((PIXEL_BYTES - beside.min(PIXEL_BYTES)).max(LEAST_PIXEL_BYTES)),
        stop: AtomicBool::new(false),
        broken: AtomicBool::new(false),
        error: Mutex::new(None),
    };
    with_threads(threads, || run.work(threads));
    if let Some(error) = locked(&run.error).take() {
        return Err(error);
    }
    let done = std::mem::take(&mut *locked(&run.done));
    done.into_iter().collect::<Option<_>>().ok_or_else(|| Error::internal("a shard was not finished"))
}

impl Run<'_> {
    fn work(&self, threads: usize) {
        let result = catch_unwind(AssertUnwindSafe(|| self.take_and_make(threads)));
        if let Err(error) = result.unwrap_or_else(|panic| Err(Error::from_panic(&*panic))) {
            locked(&self.error).get_or_insert(error);
            self.stop.store(true, Ordering::SeqCst);
            self.room.notify_all();
        }
    }

    fn take_and_make(&self, threads: usize) -> Result<()> {
        let mut maker = Maker::new(self.job, &self.pixels, KEPT_BYTES / threads);
        while let Some(task) = self.claim()? {
            let buffer = locked(&self.buffers).pop().unwrap_or_default();
            let only_look = self.broken.load(Ordering::Relaxed);
            let mut chunk = maker.make(&task, buffer, only_look, &self.stop)?;
            if self.stop.load(Ordering::SeqCst) {
                // The chunk may lack files: it must not get into its shard.
                return Ok(());
            }
            if self.job.options.on_error == OnError::Fail && chunk.tally.skipped.total > 0 {
                self.broken.store(true, Ordering::Relaxed);
            }
            chunk.held = chunk.buffer.capacity() as u64;
            self.settle(task.held, chunk.held);
            self.deliver(task.shard, chunk)?;
        }
        Ok(())
    }

    /// The next files, once there is room for them.
    fn claim(&self) -> Result<Option<Task>> {
        let mut claims = locked(&self.claims);
        loop {
            if self.progress.cancelled() {
                return Err(cancelled());
            }
            let Some(&shard) = self.todo.get(claims.at).filter(|_| !self.stop.load(Ordering::SeqCst)) else {
                return Ok(None);
            };
            let part = &self.job.shards[shard].part;
            let next = task(self.job, claims.at, claims.number, claims.row..part.end, IN_FLIGHT_BYTES);
            if claims.in_flight == 0 || claims.in_flight + next.held <= IN_FLIGHT_BYTES {
                claims.in_flight += next.held;
                if next.last {
                    claims.at += 1;
                    claims.number = 0;
                    claims.row = self.todo.get(claims.at).map_or(0, |&i| self.job.shards[i].part.start);
                } else {
                    claims.number += 1;
                    claims.row = next.rows.end;
                }
                return Ok(Some(next));
            }
            claims = self
                .room
                .wait_timeout(claims, Duration::from_millis(50))
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }

    fn give_back(&self, bytes: u64) {
        if bytes > 0 {
            locked(&self.claims).in_flight -= bytes;
            self.room.notify_all();
        }
    }

    /// What was claimed becomes what is held: images encoded anew may be larger than their files.
    fn settle(&self, claimed: u64, held: u64) {
        if held > claimed {
            locked(&self.claims).in_flight += held - claimed;
        }
        self.give_back(claimed.saturating_sub(held));
    }

    /// Hands a chunk to its shard and writes what is next there, unless another thread is at it.
    fn deliver(&self, at: usize, chunk: Chunk) -> Result<()> {
        let mut shard = locked(&self.shards[at]);
        shard.waiting.insert(chunk.number, chunk);
        if shard.writing {
            return Ok(());
        }
        shard.writing = true;
        loop {
            let next = shard.next;
            let Some(mut chunk) = shard.waiting.remove(&next) else { break };
            shard.next += 1;
            let mut file = shard.file.take();
            drop(shard);
            self.write(at, &chunk, &mut file)?;
            self.progress.advance(chunk.files, chunk.end as u64);
            self.give_back(chunk.held);
            self.keep(std::mem::take(&mut chunk.buffer));
            shard = locked(&self.shards[at]);
            shard.tally.merge(&chunk.tally);
            if chunk.last {
                // The map is let go too: it keeps room for chunks, and there may be many shards.
                let tally = std::mem::take(&mut *shard).tally;
                drop(shard);
                return self.finish(at, file, tally);
            }
            shard.file = file;
        }
        shard.writing = false;
        Ok(())
    }

    fn write(&self, at: usize, chunk: &Chunk, file: &mut Option<ShardFile>) -> Result<()> {
        if self.broken.load(Ordering::Relaxed) {
            // Nothing will be published; the temporary file goes away.
            *file = None;
            return Ok(());
        }
        let shard = &self.job.shards[self.todo[at]];
        let file = match file {
            Some(file) => file,
            None => file.insert(ShardFile::create(
                self.stage.folder(),
                &shard.file,
                self.job.options.compression,
            )?),
        };
        file.write(chunk)
    }

    fn finish(&self, at: usize, file: Option<ShardFile>, tally: Tally) -> Result<()> {
        let index = self.todo[at];
        let finished = match file.filter(|_| !self.broken.load(Ordering::Relaxed)) {
            Some(file) => {
                let finished = file.finish(tally, self.job.options.durable)?;
                self.stage.account(&finished)?;
                finished
            }
            None => Finished { file: self.job.shards[index].file.clone(), bytes: 0, crc32c: 0, tally },
        };
        locked(&self.done)[index] = Some(finished);
        Ok(())
    }

    fn keep(&self, buffer: Vec<u8>) {
        let mut buffers = locked(&self.buffers);
        if buffer.capacity() <= KEPT_BUFFER_BYTES && buffers.len() < KEPT_BUFFERS {
            buffers.push(buffer);
        }
    }
}
