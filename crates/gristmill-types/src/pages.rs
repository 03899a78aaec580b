//! Large pieces of memory straight from the system: zero without being written. The largest are faulted in by those
//! who first write to them, in parallel, in huge pages where the system has them; smaller ones at once, which takes
//! half the time of as many faults.
#![allow(unsafe_code)]

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;

/// Size and alignment of huge pages: of 2 MiB on x86-64 and on AArch64 with pages of 4 KiB.
pub(crate) const HUGE: usize = 2 << 20;
/// Pieces of fewer bytes come from the allocator: there may be many of them, and a process has 65,530 mappings at most.
#[cfg(target_os = "linux")]
const MAPPED: usize = 256 << 10;

/// `capacity` zero bytes aligned to `align`; `None` where they cannot be had.
pub(crate) fn take(capacity: usize, align: usize) -> Option<NonNull<u8>> {
    #[cfg(target_os = "linux")]
    if capacity >= MAPPED {
        return if capacity >= HUGE { linux::take_huge(capacity) } else { linux::take(capacity) };
    }
    let layout = Layout::from_size_align(capacity, align).ok().filter(|l| l.size() > 0)?;
    // SAFETY: the layout's size is not zero.
    NonNull::new(unsafe { alloc_zeroed(layout) })
}

/// Gives memory back.
///
/// # Safety
/// It is of [`take`] with the same numbers, and nobody uses it any more.
pub(crate) unsafe fn give(ptr: NonNull<u8>, capacity: usize, align: usize) {
    #[cfg(target_os = "linux")]
    if capacity >= MAPPED {
        // SAFETY: `take` has mapped this very range.
        unsafe { linux::unmap(ptr.as_ptr(), capacity) };
        return;
    }
    // SAFETY: `take` has allocated it with this layout, which was valid then.
    unsafe { dealloc(ptr.as_ptr(), Layout::from_size_align_unchecked(capacity, align)) };
}

#[cfg(target_os = "linux")]
mod linux {
    use super::HUGE;
    use std::ptr::{NonNull, null_mut};

    fn map(bytes: usize, how: libc::c_int) -> Option<*mut u8> {
        let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a new private mapping at an address of the system's choice touches no other memory.
        let begin = unsafe { libc::mmap(null_mut(), bytes, access, kind | how, -1, 0) };
        (begin != libc::MAP_FAILED).then(|| begin.cast())
    }

    /// A mapping of its own, whose pages are there already.
    pub(super) fn take(capacity: usize) -> Option<NonNull<u8>> {
        NonNull::new(map(capacity, libc::MAP_POPULATE)?)
    }

    /// One cut out of a mapping that is larger by the alignment.
    pub(super) fn take_huge(capacity: usize) -> Option<NonNull<u8>> {
        let begin = map(capacity.checked_add(HUGE)?, 0)?;
        let before = begin.align_offset(HUGE);
        // SAFETY: `before` is less than HUGE, so that the aligned piece and what is cut off before and behind it lie
        // in the mapping that was just made; the advice cannot invalidate it.
        unsafe {
            let aligned = begin.add(before);
            unmap(begin, before);
            unmap(aligned.add(capacity), HUGE - before);
            libc::madvise(aligned.cast(), capacity, libc::MADV_HUGEPAGE);
            NonNull::new(aligned)
        }
    }

    /// # Safety
    /// The range is part of a mapping of [`take`] or [`take_huge`] that nobody uses.
    pub(super) unsafe fn unmap(begin: *mut u8, bytes: usize) {
        // SAFETY: see above. Where a process has too many mappings to cut one in two, the range stays reserved, which
        // takes no memory once its pages are given back.
        unsafe {
            if bytes > 0 && libc::munmap(begin.cast(), bytes) != 0 {
                libc::madvise(begin.cast(), bytes, libc::MADV_DONTNEED);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_aligned_zero_and_writable() {
        let large = 5 * HUGE + (128 << 10);
        for (capacity, align) in
            [(64, 64), (40 << 10, 4096), (260 << 10, 4096), (HUGE / 2, 4096), (HUGE, HUGE), (large, HUGE)]
        {
            let pieces: Vec<_> = (0..3).map(|_| take(capacity, align).unwrap()).collect();
            for &ptr in &pieces {
                assert_eq!(ptr.as_ptr() as usize % align, 0);
                // SAFETY: `take` gave that many initialised bytes, which nobody else knows.
                let bytes = unsafe { std::slice::from_raw_parts_mut(ptr.as_ptr(), capacity) };
                assert!(bytes.iter().all(|&b| b == 0));
                bytes.fill(7);
            }
            // SAFETY: of `take` with these numbers, and used no more.
            pieces.into_iter().for_each(|ptr| unsafe { give(ptr, capacity, align) });
        }
        assert_eq!(take(usize::MAX / 2, HUGE), None);
        assert_eq!(take(usize::MAX, HUGE), None);
    }
}
