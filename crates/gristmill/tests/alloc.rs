//! What elements cost, counted: allocations by an allocator of the test's own, instructions one by one. In a process of its own, with one test, since both count the whole process.
#![allow(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "a test that unwraps an error fails, which is what it should do")]
#![allow(clippy::print_stdout, reason = "the figures are for those who run it with --nocapture")]

use gristmill::Dataset;
use gristmill::runtime::{DatasetIterator, StageReport};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);
static BYTES: AtomicU64 = AtomicU64::new(0);

fn count(bytes: usize) {
    ALLOCATIONS.fetch_add(1, Relaxed);
    BYTES.fetch_add(bytes as u64, Relaxed);
}

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller keeps the contract of `alloc_zeroed`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size);
        // SAFETY: the caller keeps the contract of `realloc`.
        unsafe { System.realloc(ptr, layout, size) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(ptr, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Instructions of a piece of work, counted one by one: the system stops a child process after each.
#[cfg(target_os = "linux")]
mod instructions {
    use std::io::Error;

    fn wait(child: i32) -> Result<i32, Error> {
        let mut status = 0;
        // SAFETY: the address of a status is that of an int.
        if unsafe { libc::waitpid(child, &raw mut status, libc::__WALL) } == child {
            return Ok(status);
        }
        Err(Error::last_os_error())
    }

    fn stopped_by(status: i32, signal: i32) -> bool {
        libc::WIFSTOPPED(status) && libc::WSTOPSIG(status) == signal
    }

    fn trace(request: libc::c_uint, child: i32) -> Result<(), Error> {
        let nothing = std::ptr::null_mut::<libc::c_void>();
        // SAFETY: the requests made here read and write no memory of this process.
        if unsafe { libc::ptrace(request, child, nothing, nothing) } == -1 {
            return Err(Error::last_os_error());
        }
        Ok(())
    }

    /// Instructions that `work` executes after its preparation, on one thread and outside of the
    /// kernel; what the system refuses otherwise.
    pub(crate) fn count<T>(prepare: impl FnOnce() -> T, work: impl FnOnce(&mut T)) -> Result<u64, Error> {
        // SAFETY: the child has this thread alone; it takes no lock that another may hold but the
        // allocator's, which survives a fork, and ends without running anything of the parent's.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let stop = || {
                // SAFETY: raises a signal in this very thread.
                unsafe { libc::raise(libc::SIGSTOP) }
            };
            let run = std::panic::AssertUnwindSafe(|| {
                if trace(libc::PTRACE_TRACEME, 0).is_ok() {
                    let mut prepared = prepare();
                    stop();
                    work(&mut prepared);
                    stop();
                }
            });
            drop(std::panic::catch_unwind(run));
            // SAFETY: ends the child.
            unsafe { libc::_exit(0) };
        }
        if child < 0 {
            return Err(Error::last_os_error());
        }
        let counted = step(child);
        // SAFETY: the child is this process's own and was not waited for to its end.
        unsafe { libc::kill(child, libc::SIGKILL) };
        while wait(child).is_ok_and(|s| libc::WIFSTOPPED(s)) {}
        counted
    }

    fn step(child: i32) -> Result<u64, Error> {
        let refused = || Error::other("the child was not stopped");
        if !stopped_by(wait(child)?, libc::SIGSTOP) {
            return Err(refused());
        }
        let mut count = 0;
        loop {
            trace(libc::PTRACE_SINGLESTEP, child)?;
            match wait(child)? {
                s if stopped_by(s, libc::SIGTRAP) => count += 1,
                s if stopped_by(s, libc::SIGSTOP) => return Ok(count),
                _ => return Err(refused()),
            }
        }
    }
}

/// Counted over a million elements, once the blocks have grown.
#[derive(Debug)]
struct Cost {
    allocations: u64,
    allocated: u64,
    /// The stages' own counts.
    stages: Vec<StageReport>,
}

const N: u64 = 1_000_000;

fn pass(it: &mut DatasetIterator, n: u64) {
    let mut seen = 0;
    while seen < n {
        seen += it.next_block(BLOCK).expect("the dataset is longer").len as u64;
    }
}

fn cost(mut it: DatasetIterator) -> Cost {
    pass(&mut it, N);
    let warm = it.report().0;
    let before = (ALLOCATIONS.load(Relaxed), BYTES.load(Relaxed));
    pass(&mut it, N);
    let after = (ALLOCATIONS.load(Relaxed), BYTES.load(Relaxed));
    let stages = it.report().0.into_iter().zip(warm).map(|(s, w)| since(s, &w)).collect();
    Cost { allocations: after.0 - before.0, allocated: after.1 - before.1, stages }
}

/// Elements of a block once the blocks have grown.
const BLOCK: usize = 4096;

/// Instructions for one block. No more than one: stopping after each instruction takes long, and the
/// stages would learn from the clock that their work is too expensive to be done on the spot.
#[cfg(target_os = "linux")]
fn instructions(ds: &Dataset) -> std::io::Result<u64> {
    let prepare = || {
        let mut it = DatasetIterator::direct(ds.plan()).unwrap();
        pass(&mut it, N);
        it
    };
    instructions::count(prepare, |it| pass(it, BLOCK as u64))
}

fn since(mut now: StageReport, then: &StageReport) -> StageReport {
    now.elements -= then.elements;
    now.blocks -= then.blocks;
    now.runs -= then.runs;
    now.bytes_in -= then.bytes_in;
    now.bytes_out -= then.bytes_out;
    now.bytes_written -= then.bytes_written;
    now.bytes_copied -= then.bytes_copied;
    now.buffers_new -= then.buffers_new;
    now.buffers_recycled -= then.buffers_recycled;
    now.ahead_room -= then.ahead_room;
    now.wait_ns -= then.wait_ns;
    now
}

fn integers() -> Dataset {
    Dataset::range(0, 1 << 40, 1).unwrap()
}

/// What the identity map over a range costs beside the range alone, both without rules; what is wrong
/// with it otherwise.
fn identity() -> Result<(), String> {
    let ds = integers();
    let identity = ds.map(|x| Ok(x.to_vec())).unwrap();
    let alone = cost(DatasetIterator::direct(ds.plan()).unwrap());
    let mapped = cost(DatasetIterator::direct(identity.plan()).unwrap());
    let [source] = alone.stages.as_slice() else { panic!("{alone:?}") };
    let [below, map] = mapped.stages.as_slice() else { panic!("{mapped:?}") };
    assert_eq!((source.name.as_str(), map.name.as_str()), ("range", "map"));
    println!(
        "per block of {}: range {} allocations of {} bytes, mapped {} of {}",
        source.elements / source.blocks,
        alone.allocations / source.blocks,
        alone.allocated / source.blocks,
        mapped.allocations / source.blocks,
        mapped.allocated / source.blocks
    );
    let checks = [
        ("the function runs once a block", map.runs <= below.blocks),
        ("blocks are no smaller", below.blocks.max(map.blocks) <= 2 * source.blocks),
        ("values pass as they are", (map.bytes_in, map.bytes_out) == (below.bytes_out, below.bytes_out)),
        ("no value is written or copied", (map.bytes_written, map.bytes_copied) == (0, 0)),
        ("no buffer is taken", (map.buffers_new, map.buffers_recycled) == (0, 0)),
        ("work this small stays on its thread", (map.ahead_room, map.wait_ns) == (0, 0)),
        ("nothing is allocated per element", alone.allocations < N / 500),
        ("at most twice the allocations", mapped.allocations <= 2 * alone.allocations),
        ("at most twice the allocated bytes", mapped.allocated <= 2 * alone.allocated),
    ];
    if let Some((what, _)) = checks.iter().find(|(_, holds)| !holds) {
        return Err(format!("{what}: range {alone:#?}, with the identity map {mapped:#?}"));
    }
    #[cfg(target_os = "linux")]
    match (instructions(&ds), instructions(&identity)) {
        (Ok(alone), Ok(mapped)) => {
            println!(
                "instructions per element: range {}, mapped {}",
                per_element(alone),
                per_element(mapped)
            );
            if mapped > 2 * alone {
                return Err(format!("instructions: range {alone}, with the identity map {mapped}"));
            }
        }
        (a, b) => {
            println!("instructions cannot be counted here ({a:?}, {b:?}); the other counts stand alone")
        }
    }
    Ok(())
}

/// The counts do not depend on the clock, but what the stages choose does: a thread that is kept from
/// running makes work look expensive, which is then handed over.
fn identity_costs_no_more_than_twice_the_range() {
    let wrong: Vec<String> = (0..5).map_while(|_| identity().err()).collect();
    assert!(wrong.len() < 5, "{}", wrong.join("\n"));
}

fn per_element(instructions: u64) -> f64 {
    instructions as f64 / BLOCK as f64
}

fn shuffled_batches_allocate_little() {
    let ds = integers().shuffle(1000, Some(1), true).unwrap().batch(100, true).unwrap().unbatch().unwrap();
    let cost = cost(ds.iter().unwrap());
    assert!(cost.allocations < 3 * N / 10, "{cost:?} of range.shuffle.batch.unbatch");
}

#[test]
fn elements_cost_what_they_should() {
    identity_costs_no_more_than_twice_the_range();
    shuffled_batches_allocate_little();
}
