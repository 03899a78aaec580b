//! Counters of a stage.

use crate::sys;
use gristmill_types::Block;
use gristmill_types::buffer::{ThreadUse, thread_use};
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

/// Makes the live counters and their snapshot from one list.
macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// What a stage did. All counts are totals since the iterator was made.
        #[derive(Debug, Default)]
        pub struct StageStats {
            /// The transformation's name.
            pub name: String,
            $($(#[$doc])* pub $name: AtomicU64,)*
        }

        /// A stage's counters at one moment; see [`StageStats`].
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct StageReport {
            /// The transformation's name.
            pub name: String,
            $($(#[$doc])* pub $name: u64,)*
        }

        impl StageStats {
            /// The counters now.
            pub fn snapshot(&self) -> StageReport {
                StageReport { name: self.name.clone(), $($name: self.$name.load(Relaxed),)* }
            }
        }

        impl StageReport {
            /// Name and value of every counter.
            pub fn counters(&self) -> Vec<(&'static str, u64)> {
                vec![$((stringify!($name), self.$name),)*]
            }
        }
    };
}

counters! {
    /// Elements given.
    elements,
    /// Blocks given.
    blocks,
    /// Errors given.
    errors,
    /// Time spent working in this stage itself, all threads together, in ns.
    busy_ns,
    /// Time in which the stage's reader waited for its workers, in ns.
    wait_ns,
    /// Runs of a function over a block.
    runs,
    /// Bytes of values taken from the stage's inputs; for files, bytes of their records with framing.
    bytes_in,
    /// Bytes of values given.
    bytes_out,
    /// Bytes written into batches.
    bytes_written,
    /// Bytes copied because a value could not be written straight into its place.
    bytes_copied,
    /// Bytes held at the moment (shuffle, cache, prefetch).
    bytes_held,
    /// The most bytes that were held at a moment.
    bytes_held_most,
    /// Buffers of 32 KiB and more taken fresh from the system for the stage's work.
    buffers_new,
    /// Buffers of 32 KiB and more used again for the stage's work.
    buffers_recycled,
    /// Pages that the stage's work touched for the first time (minor faults).
    page_faults,
    /// Calls of functions outside the engine.
    foreign_calls,
    /// Times that the lock which they need was taken: once per block of elements.
    foreign_holds,
    /// Time spent waiting for that lock, in ns.
    foreign_wait_ns,
    /// Blocks or elements that were ready or under way, summed over the moments when the reader took
    /// one; together with `ahead_room` the occupancy.
    ahead_filled,
    /// How many could have been, summed over the same moments.
    ahead_room,
}

thread_local! {
    static ACCOUNTED: Cell<u64> = const { Cell::new(0) };
}

/// Time of the calling thread that was put to the account of some stage, as busy or waiting, in ns.
pub(crate) fn accounted() -> u64 {
    ACCOUNTED.get()
}

/// Puts to account what is not yet there of the time since `start`, when [`accounted`] was `before`; how much that is.
fn beside(start: Instant, before: u64) -> u64 {
    let (ns, counted) = (nanos(start), accounted().wrapping_sub(before));
    ACCOUNTED.set(before.wrapping_add(ns.max(counted)));
    ns.saturating_sub(counted)
}

impl StageStats {
    /// Counters of a stage of that name.
    pub fn new(name: &str) -> Self {
        Self { name: name.to_string(), ..Self::default() }
    }

    /// Counts a block given.
    pub fn block(&self, block: &Block) {
        self.outcomes(block);
        self.bytes_out.fetch_add(block.byte_len() as u64, Relaxed);
    }

    /// Counts a block that is given as it was taken.
    pub fn passed(&self, block: &Block) {
        self.outcomes(block);
        let bytes = block.byte_len() as u64;
        self.bytes_in.fetch_add(bytes, Relaxed);
        self.bytes_out.fetch_add(bytes, Relaxed);
    }

    /// Counts the outcomes of a block given, but not its bytes.
    pub fn outcomes(&self, block: &Block) {
        self.elements.fetch_add(block.len as u64, Relaxed);
        self.blocks.fetch_add(1, Relaxed);
        if block.failed.is_some() {
            self.errors.fetch_add(1, Relaxed);
        }
    }

    /// Counts a block taken from an input.
    pub fn input(&self, block: &Block) {
        self.bytes_in.fetch_add(block.byte_len() as u64, Relaxed);
    }

    /// Counts busy time since `start`: of work that no other stage's time is part of.
    pub fn busy(&self, start: Instant) {
        let ns = nanos(start);
        self.busy_ns.fetch_add(ns, Relaxed);
        ACCOUNTED.set(ACCOUNTED.get().wrapping_add(ns));
    }

    /// Counts busy time since `start`, but for what was put to any account since [`accounted`] was
    /// `before`.
    pub(crate) fn busy_beside(&self, start: Instant, before: u64) {
        self.busy_ns.fetch_add(beside(start, before), Relaxed);
    }

    /// Counts waiting time since `start`.
    pub fn wait(&self, start: Instant) {
        let ns = nanos(start);
        self.wait_ns.fetch_add(ns, Relaxed);
        ACCOUNTED.set(ACCOUNTED.get().wrapping_add(ns));
    }

    /// Counts waiting time since `start`, but for what was put to any account since [`accounted`] was `before`.
    pub(crate) fn wait_beside(&self, start: Instant, before: u64) {
        self.wait_ns.fetch_add(beside(start, before), Relaxed);
    }

    /// Counts how much of the room for work ahead was filled when the reader came.
    pub fn ahead(&self, filled: usize, room: usize) {
        self.ahead_filled.fetch_add(filled.min(room) as u64, Relaxed);
        self.ahead_room.fetch_add(room as u64, Relaxed);
    }

    /// Does work and counts the memory that it takes: buffers and page faults of this thread.
    pub fn memory<T>(&self, work: impl FnOnce() -> T) -> T {
        let before = (sys::page_faults(), thread_use());
        let out = work();
        let after = (sys::page_faults(), thread_use());
        self.page_faults.fetch_add(after.0.saturating_sub(before.0), Relaxed);
        self.buffers(before.1, after.1);
        out
    }

    fn buffers(&self, before: ThreadUse, after: ThreadUse) {
        if after != before {
            self.buffers_new.fetch_add(after.fresh - before.fresh, Relaxed);
            self.buffers_recycled.fetch_add(after.recycled - before.recycled, Relaxed);
        }
    }
}

impl StageReport {
    /// Mean share of the room for work ahead (a queue, blocks in flight) that was filled when the reader
    /// came, 0 to 1; `None` for stages that do not work ahead.
    pub fn occupancy(&self) -> Option<f64> {
        (self.ahead_room > 0).then(|| self.ahead_filled as f64 / self.ahead_room as f64)
    }
}

/// The bytes that one instance of a stage holds, as part of the stage's counter.
pub(crate) struct HeldBytes {
    stats: Arc<StageStats>,
    bytes: u64,
}

impl HeldBytes {
    pub(crate) fn new(stats: &Arc<StageStats>) -> Self {
        Self { stats: Arc::clone(stats), bytes: 0 }
    }

    /// Says how many there are now.
    pub(crate) fn set(&mut self, bytes: u64) {
        // Wrapping around twice comes out right: the counter is a sum of these differences.
        let change = bytes.wrapping_sub(self.bytes);
        let now = self.stats.bytes_held.fetch_add(change, Relaxed).wrapping_add(change);
        self.stats.bytes_held_most.fetch_max(now, Relaxed);
        self.bytes = bytes;
    }
}

impl Drop for HeldBytes {
    fn drop(&mut self) {
        self.set(0);
    }
}

fn nanos(start: Instant) -> u64 {
    u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gristmill_types::Buffer;

    #[test]
    fn memory_is_counted_where_it_is_taken() {
        let stats = StageStats::new("x");
        // Larger than anything that other tests of this process give back to the pool.
        let buffer = stats.memory(|| {
            let mut b = Buffer::recycled(9 << 20);
            b.as_mut_slice().fill(1);
            b
        });
        drop(buffer);
        let first = stats.snapshot();
        assert_eq!((first.buffers_new, first.buffers_recycled), (1, 0));
        #[cfg(target_os = "linux")]
        assert!(first.page_faults > 0, "{first:?}");
        stats.memory(|| Buffer::recycled(9 << 20).as_mut_slice().fill(2));
        let second = stats.snapshot();
        assert_eq!((second.buffers_new, second.buffers_recycled), (1, 1));
        assert!(second.page_faults - first.page_faults < 8, "{first:?} {second:?}");
    }

    #[test]
    fn held_bytes_add_up_over_instances() {
        let stats = Arc::new(StageStats::new("x"));
        let (mut a, mut b) = (HeldBytes::new(&stats), HeldBytes::new(&stats));
        a.set(100);
        b.set(10);
        a.set(40);
        assert_eq!(stats.snapshot().bytes_held, 50);
        drop(a);
        let end = stats.snapshot();
        assert_eq!((end.bytes_held, end.bytes_held_most), (10, 110));
    }

    #[test]
    fn occupancy_is_a_share() {
        let stats = StageStats::new("x");
        assert_eq!(stats.snapshot().occupancy(), None);
        stats.ahead(1, 4);
        stats.ahead(9, 4);
        assert_eq!(stats.snapshot().occupancy(), Some(5.0 / 8.0));
        assert!(stats.snapshot().counters().contains(&("ahead_room", 8)));
    }
}
