//! Allocations, counted by an allocator of the test's own: none per element in the steady state.
#![allow(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "a test that unwraps an error fails, which is what it should do")]

use gristmill::Dataset;
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);
static BYTES: AtomicU64 = AtomicU64::new(0);

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Relaxed);
        BYTES.fetch_add(layout.size() as u64, Relaxed);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(ptr, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Allocations and bytes per 1,000 elements once the blocks have grown.
fn cost(ds: &Dataset) -> (u64, u64) {
    let mut it = ds.iter().unwrap();
    let mut pass = |n: usize| {
        let mut seen = 0;
        while seen < n {
            seen += it.next_block(4096).expect("the dataset is longer").len;
        }
        seen as u64
    };
    pass(1_000_000);
    let before = (ALLOCATIONS.load(Relaxed), BYTES.load(Relaxed));
    let n = pass(1_000_000);
    let after = (ALLOCATIONS.load(Relaxed), BYTES.load(Relaxed));
    ((after.0 - before.0) * 1000 / n, (after.1 - before.1) * 1000 / n)
}

#[test]
fn nothing_is_allocated_per_element() {
    let plain = |optimize| {
        let options =
            gristmill::plan::Options { optimize: Some(optimize), ..gristmill::plan::Options::default() };
        (Dataset::range(0, 1 << 40, 1).unwrap(), options)
    };
    let (range, options) = plain(false);
    let alone = cost(&range.with_options(options.clone()).unwrap());
    assert!(alone.0 < 100, "{alone:?} allocations and bytes per 1,000 elements of range");
    let identity = range.map(|x| Ok(x.to_vec())).unwrap().with_options(options).unwrap();
    let mapped = cost(&identity);
    assert!(mapped.0 < 100, "{mapped:?} per 1,000 elements of range.map");
    // What a map of nothing adds is a few small allocations per block of thousands; the elements
    // themselves, 8,000 bytes per 1,000, are handed on and not copied.
    assert!(mapped.0 <= 2 * alone.0.max(4), "range alone {alone:?}, with an identity map {mapped:?}");
    assert!(mapped.1 < 2_000, "range alone {alone:?}, with an identity map {mapped:?}");
    let (range, _) = plain(true);
    let shuffled =
        cost(&range.shuffle(1000, Some(1), true).unwrap().batch(100, true).unwrap().unbatch().unwrap());
    assert!(shuffled.0 < 300, "{shuffled:?} per 1,000 elements of range.shuffle.batch.unbatch");
}
