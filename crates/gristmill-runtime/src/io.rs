//! Threads that wait for files, so that neither a worker nor the reader of a pipeline does.

use crate::pool::{Job, job, lock};
use crate::sys;
use gristmill_types::process::PerProcess;
use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Threads at most: enough requests under way for a network drive.
const MOST: usize = 16;
/// How long a thread stays without work.
const IDLE: Duration = Duration::from_secs(2);

type Task = Box<dyn FnOnce() + Send>;

#[derive(Default)]
struct State {
    tasks: VecDeque<Task>,
    idle: usize,
    threads: usize,
}

/// The process's threads for reading: as many as there is work, each gone again when there is none.
#[derive(Default)]
struct Io {
    state: Mutex<State>,
    wake: Condvar,
}

static IO: PerProcess<Io> = PerProcess::new();

/// Runs `f` on a thread that may wait for files. Tasks start in the order of these calls, so one may wait for
/// another that was handed in before it.
pub(crate) fn submit<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) -> Job<T> {
    let (job, task) = job(f);
    let io = IO.get(Io::default);
    let mut state = lock(&io.state);
    state.tasks.push_back(Box::new(task));
    if state.idle >= state.tasks.len() {
        drop(state);
        io.wake.notify_one();
    } else if state.threads < MOST {
        state.threads += 1;
        drop(state);
        let spawned = std::thread::Builder::new().name("gristmill-io".into()).spawn(|| work(io));
        if spawned.is_err() {
            let mut state = lock(&io.state);
            state.threads -= 1;
            // Without any thread the caller does the work itself.
            let task = if state.threads == 0 { state.tasks.pop_front() } else { None };
            drop(state);
            if let Some(task) = task {
                task();
            }
        }
    }
    job
}

fn work(io: &Io) {
    sys::lower_priority();
    let mut state = lock(&io.state);
    loop {
        if let Some(task) = state.tasks.pop_front() {
            drop(state);
            task();
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
    fn tasks_may_wait_for_those_before_them() {
        let (first, mut next) = channel::<u64>();
        let mut jobs = Vec::new();
        for i in 0..100u64 {
            let (give, take) = channel();
            let before = std::mem::replace(&mut next, take);
            jobs.push(submit(move || {
                let n = before.recv().unwrap();
                give.send(n + i).unwrap();
                n
            }));
        }
        first.send(0).unwrap();
        let sums: Vec<u64> = jobs.into_iter().map(|j| j.wait().unwrap()).collect();
        assert_eq!(sums, (0..100).map(|i| i * (i.max(1) - 1) / 2).collect::<Vec<_>>());
        assert!(submit(|| -> u64 { panic!("boom") }).wait().unwrap_err().to_string().contains("boom"));
        assert_eq!(submit(|| 7).wait().unwrap(), 7);
    }
}
