//! Shared, 64-byte aligned memory that is recycled.
#![allow(unsafe_code)]

use crate::pages::{self, HUGE, LARGE, PAGE};
use crate::process::PerProcess;
use std::any::Any;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::ptr::NonNull;
use std::sync::Mutex;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU64, AtomicUsize};

/// Alignment of every buffer in bytes: what XLA needs to take memory over without a copy.
pub const ALIGN: usize = 64;
/// Buffers of at least this many bytes are recycled, if whole pages waste little of them.
const POOLED: usize = LARGE;
/// Requests for fewer bytes are served by pieces of up to a quarter more too: blocks of a few elements come in many sizes,
/// and the sizes that one batch is made of are not those of the next. No more than that, since what is held is counted
/// without it.
const LOOSE: usize = 4 << 20;
/// Free bytes that the pool keeps at most, unless [`keep_at_most`] says less.
const KEEP: usize = 512 << 20;
/// Free buffers that the pool keeps of each size, whatever they take.
const KEEP_OF_A_SIZE: usize = 8;
/// Free bytes that the pool keeps of each size beyond those: the images of a batch come back at once.
const KEEP_BYTES_OF_A_SIZE: usize = 128 << 20;

/// A piece of memory of a fixed size, always initialised, aligned to 64 bytes. Dropping it gives
/// larger pieces back to a pool, so that a steady state faults no pages.
pub struct Buffer {
    ptr: NonNull<u8>,
    len: usize,
    /// Bytes that were allocated; none where the memory is somebody else's.
    capacity: usize,
    /// What the memory belongs to, if it is somebody else's.
    owner: Option<Box<dyn Any + Send + Sync>>,
}

// SAFETY: a Buffer owns its memory alone; shared access is read-only through &self.
unsafe impl Send for Buffer {}
// SAFETY: as above.
unsafe impl Sync for Buffer {}

/// What is thrown where memory cannot be had: every place that runs kernels catches it and makes it an
/// error ([`crate::Error::from_panic`]), since a request that is too large must not end the process.
#[derive(Clone, Copy, Debug)]
pub struct OutOfMemory {
    /// Bytes asked for.
    pub bytes: usize,
}

/// What the pool did since the start of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct PoolStats {
    /// Large buffers taken fresh from the system.
    pub fresh: u64,
    /// Large buffers served from the pool.
    pub recycled: u64,
    /// Bytes of large buffers now in use or kept free.
    pub bytes: u64,
}

/// Large buffers that one thread asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct ThreadUse {
    /// Taken fresh from the system.
    pub fresh: u64,
    /// Served from the pool.
    pub recycled: u64,
}

static FRESH: AtomicU64 = AtomicU64::new(0);
static RECYCLED: AtomicU64 = AtomicU64::new(0);
static BYTES: AtomicUsize = AtomicUsize::new(0);

/// The address of a free piece.
struct Free(NonNull<u8>);
// SAFETY: a free piece belongs to nobody but the pool.
unsafe impl Send for Free {}

/// Free pieces of one capacity.
#[derive(Default)]
struct Shelf {
    pieces: Vec<Free>,
    /// When one was last taken or given, in such events of the pool.
    used: u64,
}

#[derive(Default)]
struct Pool {
    /// By capacity.
    free: BTreeMap<usize, Shelf>,
    bytes: usize,
    events: u64,
}

impl Pool {
    /// A free piece and its capacity: the one asked for, or a little more where none of that is free.
    fn take(&mut self, capacity: usize) -> Option<(NonNull<u8>, usize)> {
        self.events += 1;
        let most = if capacity < LOOSE { capacity + capacity / 4 } else { capacity };
        let (&capacity, shelf) = self.free.range_mut(capacity..=most).find(|(_, s)| !s.pieces.is_empty())?;
        shelf.used = self.events;
        let Free(ptr) = shelf.pieces.pop()?;
        self.bytes -= capacity;
        Some((ptr, capacity))
    }

    /// Takes a piece over; gives those that have to go back to the system for it, perhaps itself.
    fn give(&mut self, ptr: NonNull<u8>, capacity: usize, most: usize) -> Vec<(Free, usize)> {
        self.events += 1;
        let shelf = self.free.entry(capacity).or_default();
        shelf.used = self.events;
        let n = shelf.pieces.len();
        if capacity > most || (n >= KEEP_OF_A_SIZE && (n + 1) * capacity > KEEP_BYTES_OF_A_SIZE) {
            return vec![(Free(ptr), capacity)];
        }
        shelf.pieces.push(Free(ptr));
        self.bytes += capacity;
        let mut gone = Vec::new();
        while self.bytes > most {
            // Sizes that are in use push out those that are not any more.
            let oldest = self.free.iter().filter(|(_, s)| !s.pieces.is_empty()).min_by_key(|(_, s)| s.used);
            let Some((&capacity, _)) = oldest else { break };
            let Some(piece) = self.free.get_mut(&capacity).and_then(|s| s.pieces.pop()) else { break };
            self.bytes -= capacity;
            gone.push((piece, capacity));
        }
        gone
    }
}

static POOL: PerProcess<Mutex<Pool>> = PerProcess::new();

fn pool() -> &'static Mutex<Pool> {
    POOL.get(Mutex::default)
}

static MOST: AtomicUsize = AtomicUsize::new(KEEP);

/// Sets how many free bytes the pool keeps at most: less than 512 MiB where memory is short.
pub fn keep_at_most(bytes: usize) {
    MOST.store(bytes.min(KEEP), Relaxed);
}

thread_local! {
    static USE: Cell<ThreadUse> = const { Cell::new(ThreadUse { fresh: 0, recycled: 0 }) };
}

/// Large buffers that the calling thread has asked for since it started.
pub fn thread_use() -> ThreadUse {
    USE.get()
}

/// What the buffer pool did since the start of the process.
pub fn pool_stats() -> PoolStats {
    PoolStats {
        fresh: FRESH.load(Relaxed),
        recycled: RECYCLED.load(Relaxed),
        bytes: BYTES.load(Relaxed) as u64,
    }
}

/// Sizes are rounded up to eighths of a power of two and to whole pages, so that nearly equal requests share pieces;
/// not where that takes more than an eighth more.
fn class(len: usize) -> usize {
    let exact = len.next_multiple_of(ALIGN).max(ALIGN);
    let whole = len.next_multiple_of((len.next_power_of_two() / 16).max(PAGE));
    if exact >= POOLED && whole <= exact + exact / 8 { whole } else { exact }
}

/// Whether pieces of that many bytes are kept for others.
fn is_pooled(capacity: usize) -> bool {
    capacity >= POOLED && capacity.is_multiple_of(PAGE)
}

fn align(capacity: usize) -> usize {
    if capacity >= HUGE {
        HUGE
    } else if is_pooled(capacity) {
        PAGE
    } else {
        ALIGN
    }
}

impl Buffer {
    /// `len` bytes with arbitrary contents left by an earlier user (or zero): the caller writes
    /// them.
    pub fn recycled(len: usize) -> Self {
        let capacity = class(len);
        if is_pooled(capacity)
            && let Ok(mut pool) = pool().lock()
            && let Some((ptr, capacity)) = pool.take(capacity)
        {
            RECYCLED.fetch_add(1, Relaxed);
            USE.set(ThreadUse { recycled: USE.get().recycled + 1, ..USE.get() });
            return Self { ptr, len, capacity, owner: None };
        }
        Self::fresh(len, capacity)
    }

    /// `len` zero bytes.
    pub fn zeroed(len: usize) -> Self {
        let mut buffer = Self::recycled(len);
        buffer.as_mut_slice().fill(0);
        buffer
    }

    /// A copy of these bytes.
    pub fn from_slice(bytes: &[u8]) -> Self {
        let mut buffer = Self::recycled(bytes.len());
        buffer.as_mut_slice().copy_from_slice(bytes);
        buffer
    }

    fn fresh(len: usize, capacity: usize) -> Self {
        let Some(ptr) = pages::take(capacity, align(capacity)) else {
            std::panic::resume_unwind(Box::new(OutOfMemory { bytes: len }))
        };
        if is_pooled(capacity) {
            FRESH.fetch_add(1, Relaxed);
            USE.set(ThreadUse { fresh: USE.get().fresh + 1, ..USE.get() });
            BYTES.fetch_add(capacity, Relaxed);
        }
        Self { ptr, len, capacity, owner: None }
    }

    /// Memory that somebody else has laid out. It is never recycled; the owner is dropped with the buffer.
    ///
    /// # Safety
    /// From `ptr` on there are `len` initialised bytes, aligned to [`ALIGN`], which nobody else writes to, or reads
    /// while this buffer is written to, as long as the owner lives.
    pub unsafe fn over(ptr: NonNull<u8>, len: usize, owner: Box<dyn Any + Send + Sync>) -> Self {
        Self { ptr, len, capacity: 0, owner: Some(owner) }
    }

    /// Number of bytes.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The bytes.
    #[inline]
    pub fn as_slice(&self) -> &[u8] {
        // SAFETY: ptr is valid for capacity >= len initialised bytes as long as self lives.
        unsafe { std::slice::from_raw_parts(self.ptr.as_ptr(), self.len) }
    }

    /// The bytes, for writing.
    #[inline]
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: as in as_slice; &mut self makes the access exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.ptr.as_ptr(), self.len) }
    }

    /// Address of the first byte.
    pub fn as_ptr(&self) -> *const u8 {
        self.ptr.as_ptr()
    }

    /// Address of the first byte for writers of disjoint parts; see [`crate::batch`].
    pub(crate) fn raw(&self) -> NonNull<u8> {
        self.ptr
    }

    /// Makes the buffer shorter; its memory stays.
    pub fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if self.owner.is_some() {
            return;
        }
        if !is_pooled(self.capacity) {
            // SAFETY: taken in `fresh` with these very numbers, and not given to the pool.
            unsafe { pages::give(self.ptr, self.capacity, align(self.capacity)) };
            return;
        }
        let gone = match pool().lock() {
            Ok(mut pool) => pool.give(self.ptr, self.capacity, MOST.load(Relaxed)),
            Err(_) => vec![(Free(self.ptr), self.capacity)],
        };
        for (Free(ptr), capacity) in gone {
            BYTES.fetch_sub(capacity, Relaxed);
            // SAFETY: every piece of the pool was taken in `fresh` with these numbers for its capacity, and the pool has
            // just given it up.
            unsafe { pages::give(ptr, capacity, align(capacity)) };
        }
    }
}

impl std::fmt::Debug for Buffer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Buffer({} bytes)", self.len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_buffers_come_back() {
        let len = 3 << 20;
        let a = Buffer::recycled(len);
        assert_eq!(a.as_ptr() as usize % ALIGN, 0);
        let address = a.as_ptr() as usize;
        drop(a);
        let b = Buffer::recycled(len - 100);
        assert_eq!((b.as_ptr() as usize, b.len()), (address, len - 100));
    }

    #[test]
    fn as_many_come_back_as_a_batch_has() {
        let len = 190_000;
        let fresh = || thread_use().fresh;
        drop((0..300).map(|_| Buffer::recycled(len)).collect::<Vec<_>>());
        let before = fresh();
        drop((0..300).map(|_| Buffer::recycled(len)).collect::<Vec<_>>());
        assert_eq!(fresh(), before);
    }

    #[test]
    fn sizes_out_of_use_make_room() {
        let mut pool = Pool::default();
        let piece = |n: usize| NonNull::new(std::ptr::without_provenance_mut::<u8>(n)).unwrap();
        for i in 1..=4 {
            assert!(pool.give(piece(i), 100, 1000).is_empty());
        }
        for i in 5..=10 {
            assert!(pool.give(piece(i), 101, 1010).is_empty());
        }
        // 1,006 bytes lie free; one more piece of the second size pushes out one of the first.
        let gone: Vec<usize> =
            pool.give(piece(11), 101, 1010).into_iter().map(|(_, capacity)| capacity).collect();
        assert_eq!((gone, pool.bytes), (vec![100], 1007));
        assert_eq!(pool.give(piece(12), 2000, 1010).len(), 1);
        assert!(pool.take(101).is_some() && pool.take(102).is_none());
    }

    #[test]
    fn small_requests_take_larger_pieces() {
        let mut pool = Pool::default();
        let piece = |n: usize| NonNull::new(std::ptr::without_provenance_mut::<u8>(n)).unwrap();
        for (i, capacity) in [100, 125, 2 * LOOSE].into_iter().enumerate() {
            assert!(pool.give(piece(i + 1), capacity, 3 * LOOSE).is_empty());
        }
        assert_eq!(pool.take(79), None);
        assert_eq!(pool.take(80), Some((piece(1), 100)));
        assert_eq!(pool.take(101), Some((piece(2), 125)));
        assert_eq!((pool.take(LOOSE), pool.bytes), (None, 2 * LOOSE));
        assert_eq!(pool.take(2 * LOOSE), Some((piece(3), 2 * LOOSE)));
    }

    #[test]
    fn zeroed_is_zero_even_when_recycled() {
        let mut a = Buffer::recycled(5 << 20);
        a.as_mut_slice().fill(7);
        drop(a);
        assert!(Buffer::zeroed(5 << 20).as_slice().iter().all(|&b| b == 0));
    }

    #[test]
    fn classes_waste_little() {
        for len in (0..200_000).chain([562_500, 2_000_001, 77_070_336]) {
            let c = class(len);
            assert!(c >= len && c <= len + len / 8 + ALIGN && c.is_multiple_of(align(c)), "{len} {c}");
            assert_eq!(class(c), c);
            assert!(len < 32 << 10 || is_pooled(c), "{len} {c}");
        }
        assert!(is_pooled(class(8 << 10)) && is_pooled(class(11_000)) && !is_pooled(class(9_000)));
    }
}
