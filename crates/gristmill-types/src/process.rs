//! Things of which every process has one.
#![allow(unsafe_code)]

use std::sync::Once;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use std::sync::atomic::{AtomicPtr, AtomicU32};

/// Forks between the process that first asked and this one.
static FORKS: AtomicU32 = AtomicU32::new(0);

extern "C" fn in_child() {
    FORKS.fetch_add(1, Relaxed);
}

/// A number by which a forked child knows that it is not the process in which something was made. Unlike the
/// process's id it is had without a system call, so that it may be looked at for every element; a child made past
/// `fork` (by the system call itself) is not told from its parent.
pub fn id() -> u32 {
    static WATCHED: Once = Once::new();
    WATCHED.call_once(|| {
        // SAFETY: the handler is a function of this program that only counts. Without memory to keep it (the one
        // error there is) a child is not told from its parent, as if it were never forked.
        unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
    });
    FORKS.load(Relaxed)
}

/// One value per process, made on first use and never freed. A forked child has none of its parent's
/// threads and may inherit any lock in any state, so the value is reached without a lock, and the child
/// leaves the inherited one alone and makes its own.
pub struct PerProcess<T: 'static>(AtomicPtr<(u32, T)>);

impl<T: Send + Sync> PerProcess<T> {
    /// Nothing yet.
    pub const fn new() -> Self {
        Self(AtomicPtr::new(std::ptr::null_mut()))
    }

    /// This process's value. Where threads race to make it, one wins and the others' values are dropped.
    pub fn get(&self, make: impl FnOnce() -> T) -> &'static T {
        let pid = id();
        let current = self.0.load(Acquire);
        // SAFETY: the pointer is null or came from Box::into_raw below, and is never freed.
        if let Some((owner, value)) = unsafe { current.as_ref() }
            && *owner == pid
        {
            return value;
        }
        let made = Box::into_raw(Box::new((pid, make())));
        let winner = match self.0.compare_exchange(current, made, AcqRel, Acquire) {
            Ok(_) => made,
            Err(other) => {
                // SAFETY: this thread made the box, and nobody else has seen it.
                drop(unsafe { Box::from_raw(made) });
                other
            }
        };
        // SAFETY: as above; what the winner put there is of this process, since all racers are.
        unsafe { &(*winner).1 }
    }
}

impl<T: Send + Sync> Default for PerProcess<T> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

    #[test]
    fn all_threads_get_one_value() {
        static CELL: PerProcess<usize> = PerProcess::new();
        static MADE: AtomicUsize = AtomicUsize::new(1);
        let got: Vec<usize> = std::thread::scope(|s| {
            let threads: Vec<_> =
                (0..8).map(|_| s.spawn(|| *CELL.get(|| MADE.fetch_add(1, SeqCst)))).collect();
            threads.into_iter().map(|t| t.join().unwrap()).collect()
        });
        assert!(got.iter().all(|&v| v == got[0] && v > 0), "{got:?}");
    }
}
