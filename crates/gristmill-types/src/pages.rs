//! Large pieces of memory straight from the system, past the allocator, whose heaps grow page by page under a lock of
//! the whole process. The largest pieces are faulted in by those who first write to them, in parallel, in huge pages
//! where the system has them; smaller ones at once, which takes half the time of as many faults.
#![allow(unsafe_code)]

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;

/// Size and alignment of huge pages: of 2 MiB on x86-64 and on AArch64 with pages of 4 KiB.
pub(crate) const HUGE: usize = 2 << 20;
/// The alignment of pieces whose size is a multiple of it, from [`LARGE`] on.
pub(crate) const PAGE: usize = 4096;
/// Pieces of fewer bytes come from the allocator, as do those of fewer than two of the system's pages.
pub(crate) const LARGE: usize = 2 * PAGE;

/// `capacity` zero bytes aligned to `align`; `None` where they cannot be had.
pub(crate) fn take(capacity: usize, align: usize) -> Option<NonNull<u8>> {
    #[cfg(target_os = "linux")]
    if capacity >= HUGE {
        return linux::take_huge(capacity);
    } else if cut::fits(capacity) {
        return cut::take(capacity);
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
    if capacity >= HUGE {
        // SAFETY: `take` has mapped this very range.
        return unsafe { linux::unmap(ptr.as_ptr(), capacity) };
    } else if cut::fits(capacity) {
        // SAFETY: `take` has cut out this very range.
        return unsafe { cut::give(ptr, capacity) };
    }
    // SAFETY: `take` has allocated it with this layout, which was valid then.
    unsafe { dealloc(ptr.as_ptr(), Layout::from_size_align_unchecked(capacity, align)) };
}

#[cfg(target_os = "linux")]
mod linux {
    use super::HUGE;
    use std::ptr::{NonNull, null_mut};

    pub(super) fn map(bytes: usize, how: libc::c_int) -> Option<NonNull<u8>> {
        let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a new private mapping at an address of the system's choice touches no other memory.
        let begin = unsafe { libc::mmap(null_mut(), bytes, access, kind | how, -1, 0) };
        (begin != libc::MAP_FAILED).then(|| NonNull::new(begin.cast())).flatten()
    }

    /// One cut out of a mapping that is larger by the alignment.
    pub(super) fn take_huge(capacity: usize) -> Option<NonNull<u8>> {
        let begin = map(capacity.checked_add(HUGE)?, 0)?.as_ptr();
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
    /// The range is part of a mapping of [`map`] or [`take_huge`] that nobody uses.
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

/// Pieces cut one after the other out of large mappings, since a process has 65,530 mappings at most. What is given
/// back takes no memory, but its addresses are kept for the next piece of its size.
#[cfg(target_os = "linux")]
mod cut {
    use super::{LARGE, linux};
    use crate::process::PerProcess;
    use std::collections::BTreeMap;
    use std::ptr::NonNull;
    use std::sync::{Mutex, OnceLock, PoisonError};

    /// Addresses that are reserved at a time: sixteen of the largest pieces. They take no memory.
    const REGION: usize = 32 << 20;

    struct Piece(NonNull<u8>);
    // SAFETY: a piece that lies here belongs to nobody else.
    unsafe impl Send for Piece {}

    #[derive(Default)]
    struct Cutting {
        /// Where the next piece begins, and how many bytes of its region are left from there on.
        next: Option<Piece>,
        left: usize,
        /// Pieces without memory, by size.
        empty: BTreeMap<usize, Vec<Piece>>,
    }

    static CUTTING: PerProcess<Mutex<Cutting>> = PerProcess::new();

    fn with<R>(f: impl FnOnce(&mut Cutting) -> R) -> R {
        f(&mut CUTTING.get(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Bytes of a page of the system.
    fn page() -> usize {
        static PAGE: OnceLock<usize> = OnceLock::new();
        // SAFETY: a question without side effects.
        *PAGE.get_or_init(|| unsafe { libc::sysconf(libc::_SC_PAGESIZE) }.try_into().unwrap_or(LARGE))
    }

    /// Whether pieces of so many bytes are cut here.
    pub(super) fn fits(capacity: usize) -> bool {
        capacity >= LARGE.max(2 * page()) && capacity.is_multiple_of(page())
    }

    pub(super) fn take(capacity: usize) -> Option<NonNull<u8>> {
        let Piece(piece) = with(|c| c.cut(capacity))?;
        // SAFETY: the range is mapped and belongs to the caller. Where the system knows no such advice (before Linux
        // 5.14) the pages come when they are first written to.
        unsafe { libc::madvise(piece.as_ptr().cast(), capacity, libc::MADV_POPULATE_WRITE) };
        Some(piece)
    }

    /// # Safety
    /// The range is a piece of [`take`] that nobody uses.
    pub(super) unsafe fn give(piece: NonNull<u8>, capacity: usize) {
        // SAFETY: see above. Emptied pages read as zero when they are next used; those that are locked in memory
        // cannot be emptied.
        unsafe {
            if libc::madvise(piece.as_ptr().cast(), capacity, libc::MADV_DONTNEED) != 0 {
                piece.write_bytes(0, capacity);
            }
        }
        with(|c| c.empty.entry(capacity).or_default().push(Piece(piece)));
    }

    impl Cutting {
        fn cut(&mut self, capacity: usize) -> Option<Piece> {
            if let Some(piece) = self.empty.get_mut(&capacity).and_then(Vec::pop) {
                return Some(piece);
            }
            if self.left < capacity {
                // Where addresses are short (RLIMIT_AS) a region is as large as there is room for.
                let sizes = [REGION, REGION / 16, capacity].into_iter().filter(|&size| size >= capacity);
                let region = |size| Some((linux::map(size, libc::MAP_NORESERVE)?, size));
                let (begin, size) = sizes.into_iter().find_map(region)?;
                (self.next, self.left) = (Some(Piece(begin)), size);
            }
            let Piece(piece) = self.next.take()?;
            self.left -= capacity;
            // SAFETY: `capacity` bytes were left from here on, so that this is inside the region or just behind it.
            self.next = Some(Piece(unsafe { piece.add(capacity) }));
            Some(Piece(piece))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_aligned_zero_and_writable() {
        let large = 5 * HUGE + (128 << 10);
        for (capacity, align) in [
            (64, 64),
            (LARGE, PAGE),
            (40 << 10, PAGE),
            (260 << 10, PAGE),
            (HUGE / 2, PAGE),
            (HUGE, HUGE),
            (large, HUGE),
        ] {
            // The second time some are what was given back the first time.
            for round in 0..2 {
                let pieces: Vec<_> = (0..3 + 40 * round).map(|_| take(capacity, align).unwrap()).collect();
                for (i, &ptr) in pieces.iter().enumerate() {
                    assert_eq!(ptr.as_ptr() as usize % align, 0);
                    // SAFETY: `take` gave that many initialised bytes, which nobody else knows.
                    let bytes = unsafe { std::slice::from_raw_parts_mut(ptr.as_ptr(), capacity) };
                    assert!(bytes.iter().all(|&b| b == 0), "{capacity} {i}");
                    bytes.fill(i as u8 + 1);
                }
                for (i, &ptr) in pieces.iter().enumerate() {
                    // SAFETY: as above.
                    let bytes = unsafe { std::slice::from_raw_parts(ptr.as_ptr(), capacity) };
                    assert!(bytes.iter().all(|&b| b == i as u8 + 1), "{capacity} {i}: shared with another");
                }
                // SAFETY: of `take` with these numbers, and used no more.
                pieces.into_iter().for_each(|ptr| unsafe { give(ptr, capacity, align) });
            }
        }
        assert_eq!(take(usize::MAX / 2, HUGE), None);
        assert_eq!(take(usize::MAX, HUGE), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_is_given_back_takes_no_memory() {
        let capacity = 300 * PAGE; // of a size that no other test takes
        let resident = |piece: NonNull<u8>| {
            let mut pages = [0_u8; 300];
            // SAFETY: the range stays mapped after it is given back, and the vector has room for all its pages.
            let failed = unsafe { libc::mincore(piece.as_ptr().cast(), capacity, pages.as_mut_ptr()) };
            assert_eq!(failed, 0);
            pages.iter().filter(|&&p| p & 1 == 1).count()
        };
        let piece = take(capacity, PAGE).unwrap();
        // SAFETY: `take` gave that many bytes.
        unsafe { piece.write_bytes(1, capacity) };
        let pages = resident(piece);
        // SAFETY: of `take` with these numbers, and used no more.
        unsafe { give(piece, capacity, PAGE) };
        assert_eq!((pages > 0, resident(piece)), (true, 0));
        assert_eq!(take(capacity, PAGE), Some(piece));
        // SAFETY: as above.
        unsafe { give(piece, capacity, PAGE) };
    }

    #[test]
    fn threads_get_pieces_of_their_own() {
        std::thread::scope(|s| {
            for t in 1..=4_u8 {
                s.spawn(move || {
                    for n in 0..200 {
                        let capacity = LARGE + (n * 7 + usize::from(t)) % 90 * PAGE;
                        let ptr = take(capacity, PAGE).unwrap();
                        // SAFETY: `take` gave that many initialised bytes, which nobody else knows, and they are
                        // given back once.
                        unsafe {
                            let bytes = std::slice::from_raw_parts_mut(ptr.as_ptr(), capacity);
                            assert!(bytes.iter().all(|&b| b == 0));
                            bytes.fill(t);
                            std::thread::yield_now();
                            assert!(bytes.iter().all(|&b| b == t));
                            give(ptr, capacity, PAGE);
                        }
                    }
                });
            }
        });
    }
}
