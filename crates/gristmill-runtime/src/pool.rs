//! The worker pool: one per process, shared by all iterators.

use crate::sys;
use gristmill_plan::Scratch;
use gristmill_types::Error;
use gristmill_types::process::PerProcess;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Workers of one pool at most: more than any machine has cores for.
const MOST_WORKERS: usize = 1024;

type Task = Box<dyn FnOnce(&mut Scratch) + Send>;

struct Inner {
    queue: Mutex<Queue>,
    wake: Condvar,
}

#[derive(Default)]
struct Queue {
    tasks: VecDeque<Task>,
    /// Workers that wait for a task. Waking one is a system call, and needless where none does.
    idle: usize,
    closed: bool,
}

/// Ends the workers when the last holder of a pool lets go of it.
struct Handle(Arc<Inner>);

impl Drop for Handle {
    fn drop(&mut self) {
        lock(&self.0.queue).closed = true;
        self.0.wake.notify_all();
    }
}

/// Threads that run block tasks. Tasks never wait for IO, for a queue or for each other.
#[derive(Clone)]
pub struct Pool {
    handle: Arc<Handle>,
    workers: usize,
    /// Whether there is no thread at all: whoever submits a task does it.
    alone: bool,
}

/// The lock's guard, whether or not a holder panicked: what it protects stays valid.
pub(crate) fn lock<T>(m: &Mutex<T>) -> MutexGuard<'_, T> {
    m.lock().unwrap_or_else(PoisonError::into_inner)
}

static POOL: PerProcess<Pool> = PerProcess::new();

impl Pool {
    /// The process's pool, made on first use: as many workers as the affinity mask and cgroup of
    /// the process allow.
    pub fn global() -> Self {
        let workers = || std::thread::available_parallelism().map_or(1, usize::from);
        POOL.get(|| Self::start(workers())).clone()
    }

    /// A pool of its own.
    pub fn start(workers: usize) -> Self {
        let inner = Arc::new(Inner { queue: Mutex::default(), wake: Condvar::new() });
        let workers = workers.clamp(1, MOST_WORKERS);
        let spawn = |i: usize| {
            let inner = Arc::clone(&inner);
            let name = format!("gristmill-{i}");
            std::thread::Builder::new().name(name).spawn(move || work(&inner)).is_ok()
        };
        // Fewer threads than asked for only make it slower.
        let threads = (0..workers).take_while(|&i| spawn(i)).count();
        Self { handle: Arc::new(Handle(inner)), workers, alone: threads == 0 }
    }

    /// Number of workers.
    pub fn workers(&self) -> usize {
        self.workers
    }

    /// Runs `f` on a worker; the result is fetched from the job.
    pub fn submit<T: Send + 'static>(&self, f: impl FnOnce(&mut Scratch) -> T + Send + 'static) -> Job<T> {
        let (job, task) = job_with(f);
        self.run(Box::new(task));
        job
    }

    /// Runs a task on a worker.
    fn run(&self, task: Task) {
        if self.alone {
            return task(&mut Scratch::default());
        }
        let inner = &self.handle.0;
        let mut queue = lock(&inner.queue);
        queue.tasks.push_back(task);
        let idle = queue.idle > 0;
        drop(queue);
        if idle {
            inner.wake.notify_one();
        }
    }
}

/// Short tasks that one worker does in turn: waking it for each would cost as much as they do.
#[derive(Default)]
pub(crate) struct Group(Vec<Task>);

impl Group {
    /// Adds a task; it is run when the group is submitted.
    pub(crate) fn add<T: Send + 'static>(
        &mut self,
        f: impl FnOnce(&mut Scratch) -> T + Send + 'static,
    ) -> Job<T> {
        let (job, task) = job_with(f);
        self.0.push(Box::new(task));
        job
    }

    /// Gives the tasks to a worker, if there are any.
    pub(crate) fn submit(&mut self, pool: &Pool) {
        let mut tasks = std::mem::take(&mut self.0);
        match tasks.len() {
            0 => {}
            1 => tasks.drain(..).for_each(|task| pool.run(task)),
            _ => pool.run(Box::new(move |scratch| tasks.into_iter().for_each(|task| task(scratch)))),
        }
    }
}

/// A function's result, as a job that is done.
pub(crate) fn done<T>(f: impl FnOnce() -> T) -> Job<T> {
    let (job, task) = job(f);
    task();
    job
}

/// A function as a task that keeps what it gives, or that it panicked, for the job.
fn job_with<A: ?Sized, T>(f: impl FnOnce(&mut A) -> T) -> (Job<T>, impl FnOnce(&mut A)) {
    let job = Job(Arc::new((Mutex::new(Outcome { result: None, awaited: false }), Condvar::new())));
    let done = Arc::clone(&job.0);
    let task = move |given: &mut A| {
        let result = catch_unwind(AssertUnwindSafe(|| f(given))).map_err(|p| Error::from_panic(&*p));
        let mut outcome = lock(&done.0);
        outcome.result = Some(result);
        let awaited = outcome.awaited;
        drop(outcome);
        if awaited {
            done.1.notify_all();
        }
    };
    (job, task)
}

/// A function as a task, and the job that its result is fetched from.
pub(crate) fn job<T>(f: impl FnOnce() -> T) -> (Job<T>, impl FnOnce()) {
    let (job, task) = job_with::<(), T>(move |()| f());
    (job, move || task(&mut ()))
}

fn work(inner: &Inner) {
    sys::lower_priority();
    let mut scratch = Scratch::default();
    loop {
        let task = {
            let mut queue = lock(&inner.queue);
            loop {
                if let Some(task) = queue.tasks.pop_front() {
                    break task;
                }
                if queue.closed {
                    return;
                }
                queue.idle += 1;
                queue = inner.wake.wait(queue).unwrap_or_else(PoisonError::into_inner);
                queue.idle -= 1;
            }
        };
        task(&mut scratch);
    }
}

struct Outcome<T> {
    result: Option<Result<T, Error>>,
    /// Whether somebody waits for it.
    awaited: bool,
}

/// A task's result to come.
pub struct Job<T>(Arc<(Mutex<Outcome<T>>, Condvar)>);

impl<T> Job<T> {
    /// Whether the result is there.
    pub fn is_done(&self) -> bool {
        lock(&self.0.0).result.is_some()
    }

    /// Waits for the result.
    ///
    /// # Errors
    /// `Internal` if the task panicked.
    pub fn wait(self) -> Result<T, Error> {
        let mut outcome = lock(&self.0.0);
        loop {
            if let Some(result) = outcome.result.take() {
                return result;
            }
            outcome.awaited = true;
            outcome = self.0.1.wait(outcome).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_and_panics_come_back() {
        let pool = Pool::start(2);
        let jobs: Vec<_> = (0..100).map(|i| pool.submit(move |_| i * i)).collect();
        let got: Vec<i32> = jobs.into_iter().map(|j| j.wait().unwrap()).collect();
        assert_eq!(got, (0..100).map(|i| i * i).collect::<Vec<_>>());
        let e = pool.submit(|_| -> i32 { panic!("boom") }).wait().unwrap_err();
        assert!(e.to_string().contains("boom"));
        assert_eq!(pool.submit(|_| 1).wait().unwrap(), 1);
        // One that panics does not take the others of its group with it.
        let mut group = Group::default();
        let jobs = [1, 2, 3].map(|i| group.add(move |_| if i == 2 { panic!("bang") } else { i }));
        group.submit(&pool);
        let [one, two, three] = jobs.map(Job::wait);
        assert!(two.unwrap_err().to_string().contains("bang"));
        assert_eq!((one.unwrap(), three.unwrap(), done(|| 4).wait().unwrap()), (1, 3, 4));
        group.submit(&pool);
    }

    #[test]
    fn without_threads_whoever_submits_a_task_does_it() {
        let inner = Inner { queue: Mutex::default(), wake: Condvar::new() };
        let pool = Pool { handle: Arc::new(Handle(Arc::new(inner))), workers: 2, alone: true };
        let here = std::thread::current().id();
        assert_eq!(pool.submit(|_| std::thread::current().id()).wait().unwrap(), here);
        let mut group = Group::default();
        let jobs = [1, 2].map(|i| group.add(move |_| i));
        group.submit(&pool);
        assert_eq!(jobs.map(|job| job.wait().unwrap()), [1, 2]);
    }
}
