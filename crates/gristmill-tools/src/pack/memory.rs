//! A budget of bytes that several threads share.

use std::sync::{Condvar, Mutex, PoisonError};

/// Bytes that may be in use at the same time. A demand above the whole budget is refused.
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

    /// Waits until so many bytes are free and takes them, for an image of this height and width (as far as they are
    /// known). Who holds some must not wait for more.
    ///
    /// # Errors
    /// Words that name the limit when there will never be so many.
    pub(crate) fn take(&self, bytes: u64, size: Option<(usize, usize)>) -> Result<Room<'_>, String> {
        if bytes > self.total {
            let size = size.map_or(String::new(), |(height, width)| format!(" of {width} x {height} pixels"));
            let mb = |bytes: u64| bytes.div_ceil(1_000_000);
            return Err(format!(
                "an image{size} takes {} MB of memory to be decoded and changed, more than the {} MB that there are for one",
                mb(bytes),
                self.total / 1_000_000
            ));
        }
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let mut free =
            self.given_back.wait_while(free, |free| *free < bytes).unwrap_or_else(PoisonError::into_inner);
        *free -= bytes;
        Ok(Room { memory: self, bytes })
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
    fn never_more_than_the_budget_and_larger_demands_are_refused() {
        let memory = Memory::new(100);
        let (used, peak) = (AtomicU64::new(0), AtomicU64::new(0));
        std::thread::scope(|scope| {
            for i in 0..8u64 {
                let (memory, used, peak) = (&memory, &used, &peak);
                scope.spawn(move || {
                    for k in 0..50 {
                        let bytes = (i * 37 + k * 11) % 101;
                        let _room = memory.take(bytes, None).unwrap();
                        let now = used.fetch_add(bytes, Ordering::SeqCst) + bytes;
                        peak.fetch_max(now, Ordering::SeqCst);
                        used.fetch_sub(bytes, Ordering::SeqCst);
                    }
                });
            }
        });
        assert!(peak.into_inner() <= 100);
        assert_eq!(*memory.free.lock().unwrap(), 100);
        let refused = memory.take(5_000_000, Some((1000, 1600))).unwrap_err();
        assert!(refused.starts_with("an image of 1600 x 1000 pixels takes 5 MB of memory"), "{refused}");
    }
}
