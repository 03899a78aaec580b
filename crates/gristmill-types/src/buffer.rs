//! Shared, 64-byte aligned memory that is recycled.
#![allow(unsafe_code)]

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;
use std::sync::Mutex;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize};

/// Alignment of every buffer in bytes: what XLA needs to take memory over without a copy.
pub const ALIGN: usize = 64;
/// Buffers of at least this many bytes are recycled.
const POOLED: usize = 32 << 10;
/// Buffers of at least this many bytes are advised to lie in huge pages.
const HUGE: usize = 2 << 20;
/// Free bytes that the pool keeps at most.
const KEEP: usize = 512 << 20;
/// Free buffers that the pool keeps per size class.
const KEEP_PER_CLASS: usize = 8;

/// A piece of memory of a fixed size, always initialised, aligned to 64 bytes. Dropping it gives
/// larger pieces back to a pool, so that a steady state faults no pages.
pub struct Buffer {
    ptr: NonNull<u8>,
    len: usize,
    capacity: usize,
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

static FRESH: AtomicU64 = AtomicU64::new(0);
static RECYCLED: AtomicU64 = AtomicU64::new(0);
static BYTES: AtomicUsize = AtomicUsize::new(0);

/// A free piece: address and capacity. Kept as numbers because the pool only stores them.
struct Free(NonNull<u8>, usize);
// SAFETY: a free piece belongs to nobody but the pool.
unsafe impl Send for Free {}

struct Pool {
    free: Vec<Free>,
    bytes: usize,
}

/// The pool of one process.
struct Cell {
    pid: u32,
    pool: Mutex<Pool>,
}

/// The current process's pool. A forked child may inherit the lock held by a thread that it does not
/// have, so it leaves the inherited pool alone and makes its own.
static CELL: AtomicPtr<Cell> = AtomicPtr::new(std::ptr::null_mut());

fn pool() -> &'static Mutex<Pool> {
    let pid = std::process::id();
    let current = CELL.load(Acquire);
    // SAFETY: the pointer is null or came from Box::leak below; cells are never freed.
    if let Some(cell) = unsafe { current.as_ref() }
        && cell.pid == pid
    {
        return &cell.pool;
    }
    let made: &'static mut Cell =
        Box::leak(Box::new(Cell { pid, pool: Mutex::new(Pool { free: Vec::new(), bytes: 0 }) }));
    let made: *mut Cell = made;
    let winner = match CELL.compare_exchange(current, made, AcqRel, Acquire) {
        Ok(_) => made,
        Err(other) => other,
    };
    // SAFETY: as above; the loser of a race between threads leaks one empty cell.
    unsafe { &(*winner).pool }
}

/// What the buffer pool did since the start of the process.
pub fn pool_stats() -> PoolStats {
    PoolStats {
        fresh: FRESH.load(Relaxed),
        recycled: RECYCLED.load(Relaxed),
        bytes: BYTES.load(Relaxed) as u64,
    }
}

/// Sizes are rounded up to eighths of a power of two, so that nearly equal requests share pieces.
fn class(len: usize) -> usize {
    if len < POOLED {
        return len.next_multiple_of(ALIGN).max(ALIGN);
    }
    let step = (len.next_power_of_two() / 16).max(4096);
    len.next_multiple_of(step)
}

fn layout(capacity: usize) -> Layout {
    let align = if capacity >= HUGE {
        HUGE
    } else if capacity >= POOLED {
        4096
    } else {
        ALIGN
    };
    Layout::from_size_align(capacity, align).expect("sizes are checked against isize when shapes are made")
}

impl Buffer {
    /// `len` bytes with arbitrary contents left by an earlier user (or zero): the caller writes
    /// them.
    pub fn recycled(len: usize) -> Self {
        let capacity = class(len);
        if capacity >= POOLED
            && let Ok(mut pool) = pool().lock()
            && let Some(i) = pool.free.iter().rposition(|f| f.1 == capacity)
        {
            let Free(ptr, _) = pool.free.swap_remove(i);
            pool.bytes -= capacity;
            RECYCLED.fetch_add(1, Relaxed);
            return Self { ptr, len, capacity };
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
        let layout = layout(capacity);
        // SAFETY: the layout's size is at least ALIGN, never zero.
        let ptr = unsafe { alloc_zeroed(layout) };
        let Some(ptr) = NonNull::new(ptr) else {
            std::panic::resume_unwind(Box::new(OutOfMemory { bytes: len }))
        };
        if capacity >= POOLED {
            FRESH.fetch_add(1, Relaxed);
            BYTES.fetch_add(capacity, Relaxed);
        }
        #[cfg(target_os = "linux")]
        if capacity >= HUGE {
            // SAFETY: the range was just allocated; the call is advice and cannot invalidate it.
            unsafe { libc::madvise(ptr.as_ptr().cast(), capacity, libc::MADV_HUGEPAGE) };
        }
        Self { ptr, len, capacity }
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
        if self.capacity >= POOLED {
            if let Ok(mut pool) = pool().lock() {
                let same = pool.free.iter().filter(|f| f.1 == self.capacity).count();
                if same < KEEP_PER_CLASS && pool.bytes + self.capacity <= KEEP {
                    pool.bytes += self.capacity;
                    pool.free.push(Free(self.ptr, self.capacity));
                    return;
                }
            }
            BYTES.fetch_sub(self.capacity, Relaxed);
        }
        // SAFETY: allocated in `fresh` with this very layout, and not given to the pool.
        unsafe { dealloc(self.ptr.as_ptr(), layout(self.capacity)) };
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
    fn zeroed_is_zero_even_when_recycled() {
        let mut a = Buffer::recycled(5 << 20);
        a.as_mut_slice().fill(7);
        drop(a);
        assert!(Buffer::zeroed(5 << 20).as_slice().iter().all(|&b| b == 0));
    }

    #[test]
    fn classes_waste_little() {
        for len in [1, 64, 65, 32 << 10, 100_000, 562_500, 77_070_336] {
            let c = class(len);
            assert!(c >= len && (len < 4096 || c <= len + len / 8 + 4096), "{len} {c}");
            assert_eq!(class(c), c);
        }
    }
}
