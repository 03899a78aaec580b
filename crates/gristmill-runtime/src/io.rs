//! Threads that wait for files, so that neither a worker nor the reader of a pipeline does.

use crate::pool::{Job, job, lock};
use crate::sys;
use gristmill_types::process::PerProcess;
use gristmill_types::{Error, Result};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

/// Threads at most: enough requests under way for a network drive.
pub(crate) const MOST: usize = 16;
/// How long a thread stays without work.
const IDLE: Duration = Duration::from_secs(2);

/// What the files of a pass share.
#[derive(Debug, Default)]
pub struct Reads {
    /// Bytes of the parts that are being read ahead.
    pub under_way: AtomicU64,
    /// Whether the last part came slowly from a drive.
    pub slow: AtomicBool,
}

/// A task until somebody takes it.
type Slot = Arc<Mutex<Option<Box<dyn FnOnce() + Send>>>>;

/// How many threads some work is worth.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Threads {
    /// One is started for it where there are fewer.
    started: usize,
    /// It is not begun while so many do work that is worth no more.
    busy: usize,
}

impl Threads {
    /// Work on what lies in the page cache keeps a processor busy: more threads would only take each other's place,
    /// also where a slow drive had them started before.
    pub(crate) fn computing() -> Self {
        Self { started: cores(), busy: cores() }
    }

    /// Work that waits for a drive.
    pub(crate) fn waiting() -> Self {
        Self { started: MOST, busy: MOST }
    }

    /// Work that is short, unless a drive is slow.
    pub(crate) fn short() -> Self {
        Self { started: cores(), busy: MOST }
    }
}

fn cores() -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    *CORES.get_or_init(|| std::thread::available_parallelism().map_or(2, usize::from).clamp(2, MOST))
}

#[derive(Default)]
struct State {
    tasks: VecDeque<(Threads, Slot)>,
    /// What the tasks that threads are at are worth: [`Threads::busy`].
    running: Vec<usize>,
    idle: usize,
    threads: usize,
}

impl State {
    /// The tasks that may be begun, with their places.
    fn ready(&self) -> impl Iterator<Item = (usize, Threads)> {
        let others = |busy| self.running.iter().filter(|&&other| other <= busy).count();
        let tasks = self.tasks.iter().map(|(threads, _)| *threads).enumerate();
        tasks.filter(move |(_, threads)| others(threads.busy) < threads.busy)
    }
}

/// The process's threads for reading: as many as there is work and those who hand it in allow, each gone again when
/// there is none.
#[derive(Default)]
struct Io {
    state: Mutex<State>,
    wake: Condvar,
}

static IO: PerProcess<Io> = PerProcess::new();

impl Io {
    /// Has one more thread come if there is a task for it.
    fn call(&'static self, mut state: MutexGuard<'_, State>) {
        if state.idle > 0 && state.ready().next().is_some() {
            drop(state);
            self.wake.notify_one();
        } else if state.idle == 0
            && state.threads < MOST
            && state.ready().any(|(_, threads)| state.threads < threads.started)
        {
            state.threads += 1;
            drop(state);
            let spawned = std::thread::Builder::new().name("gristmill-io".into()).spawn(move || work(self));
            // Without a thread whoever waits does the work.
            if spawned.is_err() {
                lock(&self.state).threads -= 1;
            }
        }
    }
}

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

/// Runs `f` on a thread that may wait for files.
pub(crate) fn submit<T: Send + 'static>(
    threads: Threads,
    f: impl FnOnce() -> T + Send + 'static,
) -> Reading<T> {
    let (job, task) = job(f);
    let slot: Slot = Arc::new(Mutex::new(Some(Box::new(task))));
    let io = IO.get(Io::default);
    let mut state = lock(&io.state);
    state.tasks.push_back((threads, Arc::clone(&slot)));
    io.call(state);
    Reading { job: Some(job), slot }
}

fn work(io: &'static Io) {
    sys::lower_priority();
    let mut state = lock(&io.state);
    loop {
        let first = state.ready().next();
        if let Some((threads, slot)) = first.and_then(|(i, _)| state.tasks.remove(i)) {
            state.running.push(threads.busy);
            // What could not be begun when it was handed in may be now.
            io.call(state);
            run(&slot);
            state = lock(&io.state);
            if let Some(i) = state.running.iter().position(|&other| other == threads.busy) {
                state.running.swap_remove(i);
            }
            continue;
        }
        state.idle += 1;
        let (back, waited) = io.wake.wait_timeout(state, IDLE).unwrap_or_else(PoisonError::into_inner);
        state = back;
        state.idle -= 1;
        if waited.timed_out() && state.ready().next().is_none() {
            state.threads -= 1;
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
    use std::sync::mpsc::channel;

    #[test]
    fn results_and_panics_come_back() {
        let jobs: Vec<_> = (0..100u64).map(|i| submit(Threads::computing(), move || i * i)).collect();
        let squares: Vec<u64> = jobs.into_iter().map(|j| j.wait().unwrap()).collect();
        assert_eq!(squares, (0..100).map(|i| i * i).collect::<Vec<_>>());
        let e = submit(Threads::computing(), || -> u64 { panic!("boom") }).wait().unwrap_err();
        assert!(e.to_string().contains("boom"));
        assert_eq!(submit(Threads::computing(), || 7).wait().unwrap(), 7);
    }

    #[test]
    fn whoever_waits_does_what_no_thread_has_begun() {
        // More tasks than threads, all held up until the end of the test.
        let gates: Vec<_> = (0..2 * MOST).map(|_| channel::<()>()).collect();
        let mut held = Vec::new();
        let mut open = Vec::new();
        for (give, take) in gates {
            open.push(give);
            held.push(submit(Threads::waiting(), move || take.recv().is_ok()));
        }
        assert_eq!(submit(Threads::waiting(), || 7).wait().unwrap(), 7);
        // Nobody does what was given up.
        let (give, take) = channel();
        drop(submit(Threads::waiting(), move || give.send(())));
        assert!(take.recv().is_err());
        open.iter().for_each(|gate| gate.send(()).unwrap());
        assert!(held.into_iter().all(|job| job.wait().unwrap()));
    }
    #[test]
    fn work_that_computes_leaves_threads_alone_that_others_needed() {
        let (give, take) = channel();
        let gates: Vec<_> = (0..MOST).map(|_| channel::<()>()).collect();
        let (open, waiting): (Vec<_>, Vec<_>) = gates.into_iter().unzip();
        let held: Vec<_> = waiting
            .into_iter()
            .map(|gate| {
                let give = give.clone();
                submit(Threads::waiting(), move || (give.send(0).is_ok(), gate.recv().is_ok()))
            })
            .collect();
        // All of these have begun, on as many threads.
        (0..MOST).for_each(|_| assert_eq!(take.recv().unwrap(), 0));
        open.iter().for_each(|gate| gate.send(()).unwrap());
        assert!(held.into_iter().all(|job| job.wait().unwrap() == (true, true)));
        let at_work = Arc::new(AtomicUsize::new(0));
        let jobs: Vec<_> = (0..50)
            .map(|_| {
                let (give, at_work) = (give.clone(), Arc::clone(&at_work));
                submit(Threads::computing(), move || {
                    let others = at_work.fetch_add(1, SeqCst);
                    std::thread::sleep(Duration::from_millis(1));
                    at_work.fetch_sub(1, SeqCst);
                    give.send(others + 1)
                })
            })
            .collect();
        let most = (0..50).map(|_| take.recv().unwrap()).max();
        assert!(most.is_some_and(|most| (1..=cores()).contains(&most)), "{most:?}");
        drop(jobs);
    }
}
