//! A budget of bytes that several threads share.

use std::sync::{Condvar, Mutex, PoisonError};

/// Bytes that may be in use at the same time. A demand above the whole budget is met once nothing else is in use.
#[derive(Debug)]
pub(crate) struct Memory {
    total: u64,
    free: Mutex<u64>,
    given_back: Condvar,
}

/// Bytes in use until dropped.
#[derive(Debug)]
pub(crate) struct Room<'a> {
    memory: &'a Memory,
    bytes: u64,
}

impl Memory {
    pub(crate) fn new(total: u64) -> Self {
        Self { total, free: Mutex::new(total), given_back: Condvar::new() }
    }

    /// Waits until so many bytes are free and takes them. Who holds some must not wait for more.
    pub(crate) fn take(&self, bytes: u64) -> Room<'_> {
        let bytes = bytes.min(self.total);
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let mut free =
            self.given_back.wait_while(free, |free| *free < bytes).unwrap_or_else(PoisonError::into_inner);
        *free -= bytes;
        Room { memory: self, bytes }
    }
}

impl Drop for Room<'_> {
    fn drop(&mut self) {
        *self.memory.free.lock().unwrap_or_else(PoisonError::into_inner) += self.bytes;
        self.memory.given_back.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};

    #[test]
    fn never_more_than_the_budget_but_large_demands_are_met() {
        let memory = Memory::new(100);
        let (used, peak) = (AtomicU64::new(0), AtomicU64::new(0));
        std::thread::scope(|scope| {
            for i in 0..8u64 {
                let (memory, used, peak) = (&memory, &used, &peak);
                scope.spawn(move || {
                    for k in 0..50 {
                        let bytes = (i * 37 + k * 11) % 130;
                        let _room = memory.take(bytes);
                        let now = used.fetch_add(bytes.min(100), Ordering::SeqCst) + bytes.min(100);
                        peak.fetch_max(now, Ordering::SeqCst);
                        used.fetch_sub(bytes.min(100), Ordering::SeqCst);
                    }
                });
            }
        });
        assert!(peak.into_inner() <= 100);
        assert_eq!(*memory.free.lock().unwrap(), 100);
    }
}
