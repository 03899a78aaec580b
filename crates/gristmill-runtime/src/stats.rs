//! Counters of a stage.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

/// What a stage did. All counts are totals since the iterator was made.
#[derive(Debug, Default)]
pub struct StageStats {
    /// The transformation's name.
    pub name: String,
    /// Elements given.
    pub elements: AtomicU64,
    /// Blocks given.
    pub blocks: AtomicU64,
    /// Errors given.
    pub errors: AtomicU64,
    /// Time spent working in this stage itself, all threads together, in ns.
    pub busy_ns: AtomicU64,
    /// Time in which the stage's reader waited for its workers, in ns.
    pub wait_ns: AtomicU64,
    /// Bytes of values given.
    pub bytes_out: AtomicU64,
    /// Bytes written into batches.
    pub bytes_written: AtomicU64,
    /// Bytes copied because a value could not be written straight into its place.
    pub bytes_copied: AtomicU64,
    /// Bytes held at the moment (shuffle, cache).
    pub bytes_held: AtomicU64,
}

impl StageStats {
    /// Counters of a stage of that name.
    pub fn new(name: &str) -> Self {
        Self { name: name.to_string(), ..Self::default() }
    }

    /// Counts a block.
    pub fn block(&self, block: &gristmill_types::Block) {
        self.elements.fetch_add(block.len as u64, Relaxed);
        self.blocks.fetch_add(1, Relaxed);
        self.errors.fetch_add(u64::from(block.failed.is_some()), Relaxed);
    }

    /// Counts busy time since `start`.
    pub fn busy(&self, start: Instant) {
        self.busy_ns.fetch_add(nanos(start), Relaxed);
    }

    /// Counts waiting time since `start`.
    pub fn wait(&self, start: Instant) {
        self.wait_ns.fetch_add(nanos(start), Relaxed);
    }

    /// The counters now.
    pub fn snapshot(&self) -> StageReport {
        StageReport {
            name: self.name.clone(),
            elements: self.elements.load(Relaxed),
            blocks: self.blocks.load(Relaxed),
            errors: self.errors.load(Relaxed),
            busy_ns: self.busy_ns.load(Relaxed),
            wait_ns: self.wait_ns.load(Relaxed),
            bytes_out: self.bytes_out.load(Relaxed),
            bytes_written: self.bytes_written.load(Relaxed),
            bytes_copied: self.bytes_copied.load(Relaxed),
            bytes_held: self.bytes_held.load(Relaxed),
        }
    }
}

/// A stage's counters at one moment; see [`StageStats`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StageReport {
    /// The transformation's name.
    pub name: String,
    /// Elements given.
    pub elements: u64,
    /// Blocks given.
    pub blocks: u64,
    /// Errors given.
    pub errors: u64,
    /// Time spent working, in ns.
    pub busy_ns: u64,
    /// Time spent waiting for workers, in ns.
    pub wait_ns: u64,
    /// Bytes of values given.
    pub bytes_out: u64,
    /// Bytes written into batches.
    pub bytes_written: u64,
    /// Bytes copied on the way.
    pub bytes_copied: u64,
    /// Bytes held.
    pub bytes_held: u64,
}

fn nanos(start: Instant) -> u64 {
    u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX)
}
