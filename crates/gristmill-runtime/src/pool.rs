//! The worker pool: one per process, shared by all iterators.

use gristmill_plan::Scratch;
use gristmill_types::Error;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

type Task = Box<dyn FnOnce(&mut Scratch) + Send>;

struct Inner {
    queue: Mutex<VecDeque<Task>>,
    wake: Condvar,
}

/// Threads that run block tasks. Tasks never wait for IO, for a queue or for each other.
#[derive(Clone)]
pub struct Pool {
    inner: Arc<Inner>,
    workers: usize,
}

/// The lock's guard, whether or not a holder panicked: what it protects stays valid.
pub(crate) fn lock<T>(m: &Mutex<T>) -> MutexGuard<'_, T> {
    m.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The pool and the process it was made in: after a fork the child has none of its threads.
static POOL: Mutex<Option<(u32, Pool)>> = Mutex::new(None);

impl Pool {
    /// The process's pool, made on first use: as many workers as the affinity mask and cgroup of
    /// the process allow.
    pub fn global() -> Self {
        let pid = std::process::id();
        let mut slot = lock(&POOL);
        if let Some((owner, pool)) = &*slot
            && *owner == pid
        {
            return pool.clone();
        }
        let workers = std::thread::available_parallelism().map_or(1, usize::from);
        let pool = Self::start(workers);
        // A pool inherited by a fork has lost its threads: it is left alone, not dropped.
        if let Some(old) = slot.replace((pid, pool.clone())) {
            std::mem::forget(old);
        }
        pool
    }

    /// A pool of its own.
    pub fn start(workers: usize) -> Self {
        let inner = Arc::new(Inner { queue: Mutex::new(VecDeque::new()), wake: Condvar::new() });
        let workers = workers.max(1);
        for i in 0..workers {
            let inner = Arc::clone(&inner);
            let spawned =
                std::thread::Builder::new().name(format!("gristmill-{i}")).spawn(move || work(&inner));
            // Fewer threads than asked for only make it slower; none at all is caught in `submit`.
            drop(spawned);
        }
        Self { inner, workers }
    }

    /// Number of workers.
    pub fn workers(&self) -> usize {
        self.workers
    }

    /// Runs `f` on a worker; the result is fetched from the job.
    pub fn submit<T: Send + 'static>(&self, f: impl FnOnce(&mut Scratch) -> T + Send + 'static) -> Job<T> {
        let job = Job(Arc::new((Mutex::new(None), Condvar::new())));
        let done = Arc::clone(&job.0);
        let task: Task = Box::new(move |scratch| {
            let result = catch_unwind(AssertUnwindSafe(|| f(scratch))).map_err(|panic| {
                let text = panic
                    .downcast_ref::<&str>()
                    .map(|s| (*s).to_string())
                    .or_else(|| panic.downcast_ref::<String>().cloned())
                    .unwrap_or_default();
                Error::internal(format!("a worker panicked: {text}"))
            });
            *lock(&done.0) = Some(result);
            done.1.notify_all();
        });
        lock(&self.inner.queue).push_back(task);
        self.inner.wake.notify_one();
        job
    }
}

fn work(inner: &Inner) {
    lower_priority();
    let mut scratch = Scratch::default();
    loop {
        let task = {
            let mut queue = lock(&inner.queue);
            loop {
                if let Some(task) = queue.pop_front() {
                    break task;
                }
                queue = inner.wake.wait(queue).unwrap_or_else(PoisonError::into_inner);
            }
        };
        task(&mut scratch);
    }
}

/// Workers give way to the thread that trains.
#[allow(unsafe_code)]
fn lower_priority() {
    #[cfg(target_os = "linux")]
    // SAFETY: setpriority takes plain numbers; 0 names the calling thread, and failure is harmless.
    unsafe {
        libc::setpriority(libc::PRIO_PROCESS, 0, 5);
    }
}

/// A task's result to come.
pub struct Job<T>(Arc<(Mutex<Option<Result<T, Error>>>, Condvar)>);

impl<T> Job<T> {
    /// Whether the result is there.
    pub fn is_done(&self) -> bool {
        lock(&self.0.0).is_some()
    }

    /// Waits for the result.
    ///
    /// # Errors
    /// `Internal` if the task panicked.
    pub fn wait(self) -> Result<T, Error> {
        let mut slot = lock(&self.0.0);
        loop {
            if let Some(result) = slot.take() {
                return result;
            }
            slot = self.0.1.wait(slot).unwrap_or_else(PoisonError::into_inner);
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
    }
}
