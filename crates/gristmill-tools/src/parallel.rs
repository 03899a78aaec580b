//! Running a job on many files at once.

use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use gristmill_types::Result;

/// Threads for a job over `items` items: the processors this process may use, at most one per item.
pub(crate) fn threads_for(items: usize) -> usize {
    std::thread::available_parallelism().map_or(1, NonZeroUsize::get).min(items).max(1)
}

/// Runs `job` on every item, several at once, and gives the results in the order of the items. After an error no
/// further item is begun; of several errors the one of the earliest item counts.
pub(crate) fn map<I: Sync, T: Send>(items: &[I], job: impl Fn(&I) -> Result<T> + Sync) -> Result<Vec<T>> {
    let threads = threads_for(items.len());
    if threads == 1 {
        return items.iter().map(job).collect();
    }
    let next = AtomicUsize::new(0);
    let failed = AtomicBool::new(false);
    let done: Mutex<Vec<(usize, Result<T>)>> = Mutex::new(Vec::with_capacity(items.len()));
    let work = || {
        while !failed.load(Relaxed) {
            let at = next.fetch_add(1, Relaxed);
            let Some(item) = items.get(at) else { break };
            let result = job(item);
            failed.fetch_or(result.is_err(), Relaxed);
            done.lock().unwrap_or_else(PoisonError::into_inner).push((at, result));
        }
    };
    with_threads(threads, work);
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_unstable_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}

/// Runs `work` on this thread and on others, as many as can be had up to `threads` in all.
pub(crate) fn with_threads(threads: usize, work: impl Fn() + Sync) {
    std::thread::scope(|scope| {
        let start = |_: &usize| std::thread::Builder::new().spawn_scoped(scope, &work).is_ok();
        (1..threads).take_while(start).for_each(drop);
        work();
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use gristmill_types::Error;

    #[test]
    fn results_are_in_order_and_the_first_error_counts() {
        let items: Vec<u32> = (0..100).collect();
        assert_eq!(map(&items, |i| Ok(i * 2)).unwrap(), (0..200).step_by(2).collect::<Vec<_>>());
        let error = map(&items, |&i| if i == 3 { Err(Error::invalid("three")) } else { Ok(()) }).unwrap_err();
        assert_eq!(error.message(), "three");
        assert_eq!(map(&[] as &[u32], |_| Ok(())).unwrap(), []);
    }
}
