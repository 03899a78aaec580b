//! Threads that wait for files, so that neither a worker nor the reader of a pipeline does.

use crate::pool::{Job, job, lock};
use crate::sys;
use gristmill_types::process::PerProcess;
use gristmill_types::{Error, Result};
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::time::Duration;

/// Threads at most: enough requests under way for a network drive.
pub(crate) const MOST: usize = 16;
/// How long a thread stays without work.
const IDLE: Duration = Duration::from_secs(2);

/// A task until somebody takes it.
type Slot = Arc<Mutex<Option<Box<dyn FnOnce() + Send>>>>;

#[derive(Default)]
struct State {
    tasks: VecDeque<Slot>,
    idle: usize,
    threads: usize,
}

/// The process's threads for reading: as many as there is work and those who hand it in allow, each gone again when
/// there is none.
#[derive(Default)]
struct Io {
    state: Mutex<State>,
    wake: Condvar,
}

static IO: PerProcess<Io> = PerProcess::new();

/// Work that whoever comes first does: a reading thread, or the one that waits for it. So nobody waits for threads
/// that are all held up elsewhere. Dropped before anybody has begun, it is never done.
pub(crate) struct Reading<T> {
    job: Option<Job<T>>,
    slot: Slot,
}

impl<T> Reading<T> {
    /// Whether the result is there.
    pub(crate) fn is_done(&self) -> bool {
        self.job.as_ref().is_some_and(Job::is_done)
    }

    /// The result.
    ///
    /// # Errors
    /// `Internal` if the task panicked.
    pub(crate) fn wait(mut self) -> Result<T> {
        run(&self.slot);
        match self.job.take() {
            Some(job) => job.wait(),
            None => Err(Error::internal("a result was fetched twice")),
        }
    }
}

impl<T> Drop for Reading<T> {
    fn drop(&mut self) {
        let task = lock(&self.slot).take();
        drop(task);
    }
}

/// Does the work if nobody has begun it.
fn run(slot: &Slot) {
    let task = lock(slot).take();
    if let Some(task) = task {
        task();
    }
}

/// Threads that keep the processor busy with what lies in the page cache: more would only take each other's place.
pub(crate) fn few() -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    *CORES.get_or_init(|| std::thread::available_parallelism().map_or(2, usize::from).clamp(2, MOST))
}

/// Runs `f` on a thread that may wait for files, starting one where there are fewer than `threads`.
pub(crate) fn submit<T: Send + 'static>(
    threads: usize,
    f: impl FnOnce() -> T + Send + 'static,
) -> Reading<T> {
    let (job, task) = job(f);
    let slot: Slot = Arc::new(Mutex::new(Some(Box::new(task))));
    let io = IO.get(Io::default);
    let mut state = lock(&io.state);
    state.tasks.push_back(Arc::clone(&slot));
    if state.idle >= state.tasks.len() {
        drop(state);
        io.wake.notify_one();
    } else if state.threads < threads {
        state.threads += 1;
        drop(state);
        let spawned = std::thread::Builder::new().name("gristmill-io".into()).spawn(|| work(io));
        // Without a thread whoever waits does the work.
        if spawned.is_err() {
            lock(&io.state).threads -= 1;
        }
    }
    Reading { job: Some(job), slot }
}

fn work(io: &Io) {
    sys::lower_priority();
    let mut state = lock(&io.state);
    loop {
        if let Some(slot) = state.tasks.pop_front() {
            drop(state);
            run(&slot);
            state = lock(&io.state);
            continue;
        }
        state.idle += 1;
        let (back, waited) = io.wake.wait_timeout(state, IDLE).unwrap_or_else(PoisonError::into_inner);
        state = back;
        state.idle -= 1;
        if waited.timed_out() && state.tasks.is_empty() {
            state.threads -= 1;
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    #[test]
    fn results_and_panics_come_back() {
        let jobs: Vec<_> = (0..100u64).map(|i| submit(few(), move || i * i)).collect();
        let squares: Vec<u64> = jobs.into_iter().map(|j| j.wait().unwrap()).collect();
        assert_eq!(squares, (0..100).map(|i| i * i).collect::<Vec<_>>());
        let e = submit(few(), || -> u64 { panic!("boom") }).wait().unwrap_err();
        assert!(e.to_string().contains("boom"));
        assert_eq!(submit(few(), || 7).wait().unwrap(), 7);
    }

    #[test]
    fn whoever_waits_does_what_no_thread_has_begun() {
        // More tasks than threads, all held up until the end of the test.
        let gates: Vec<_> = (0..2 * MOST).map(|_| channel::<()>()).collect();
        let mut held = Vec::new();
        let mut open = Vec::new();
        for (give, take) in gates {
            open.push(give);
            held.push(submit(MOST, move || take.recv().is_ok()));
        }
        assert_eq!(submit(MOST, || 7).wait().unwrap(), 7);
        // Nobody does what was given up.
        let (give, take) = channel();
        drop(submit(MOST, move || give.send(())));
        assert!(take.recv().is_err());
        open.iter().for_each(|gate| gate.send(()).unwrap());
        assert!(held.into_iter().all(|job| job.wait().unwrap()));
    }
}
