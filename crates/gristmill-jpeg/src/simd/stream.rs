//! The state of the fast reader of sequential scans.
#![allow(unsafe_code)]

use std::ptr;

use super::lane::{Lane, SPARE};
use crate::huffman::Codes;
use crate::unstuff::PADDING;
use crate::window::{BITS, DC_BITS, NARROW};
use crate::{Error, Result};

pub(super) const ENDS_EARLY: Error = Error::Corrupt("a scan ends early");

/// The tables of one block of the MCU.
#[derive(Clone, Copy)]
pub(super) struct Part {
    pub(super) dc: *const u64,
    pub(super) ac: *const u64,
    /// 64 less the bits that an AC look-up sees.
    pub(super) shift: u32,
    pub(super) dc_codes: *const Codes,
    pub(super) ac_codes: *const Codes,
    pub(super) previous: *mut i32,
}

/// What changes at most once a block.
pub(super) struct Stream {
    pub(super) parts: [Part; 10],
    pub(super) count: usize,
    pub(super) part: usize,
    pub(super) extent: *mut u8,
    pub(super) left: usize,
    pub(super) start: *const u8,
    /// Where a block may not start any more. A block takes at most 64 symbols of 31 bits, 248 bytes; with the bytes that
    /// are held in `Place::held`, and the DC coefficient that is read before the check, all reads stay inside the
    /// padding.
    pub(super) limit: *const u8,
    pub(super) failed: Option<Error>,
}

/// What changes with every look-up, to be kept in registers.
#[derive(Clone, Copy)]
pub(super) struct Place {
    /// The next byte to be loaded.
    pub(super) next: *const u8,
    /// Bits that were loaded, the next one at the top; those below `bits` are right too or zero.
    pub(super) held: u64,
    /// How many, in the lowest 6 bits; the others mean nothing.
    pub(super) bits: u32,
    pub(super) position: usize,
    pub(super) block: *mut i16,
    pub(super) table: *const u64,
    /// As in the part.
    pub(super) shift: u32,
}

impl Place {
    /// Holds at least 56 bits after it.
    ///
    /// # Safety
    ///
    /// 8 bytes at `next` can be read.
    #[inline(always)]
    pub(super) unsafe fn refill(&mut self) {
        // SAFETY: the caller's word.
        let bytes = unsafe { self.next.cast::<u64>().read_unaligned() };
        self.held |= u64::from_be(bytes).wrapping_shr(self.bits);
        // SAFETY: at most 7 bytes on, inside the padding as the 8 just read.
        self.next = unsafe { self.next.add((!self.bits >> 3 & 7) as usize) };
        self.bits |= 56;
    }

    /// Gives `count` bits back that were used up.
    ///
    /// # Safety
    ///
    /// They were, and the place is in the data.
    #[inline]
    pub(super) unsafe fn give_back(&mut self, count: u32) {
        let total = (self.bits & 63) + count;
        let bytes = total.div_ceil(8);
        let spare = bytes * 8 - total;
        // SAFETY: these bytes were read before.
        unsafe {
            let at = self.next.sub(bytes as usize);
            self.held = u64::from_be(at.cast::<u64>().read_unaligned()) << spare;
            self.next = at.add(7);
        }
        self.bits = 56 - spare;
    }

    /// Uses up `count` bits; only the lowest 6 bits of it count.
    #[inline(always)]
    pub(super) fn take(&mut self, count: u32) {
        self.held = self.held.wrapping_shl(count);
        self.bits = self.bits.wrapping_sub(count);
    }
}

impl Stream {
    /// One that nothing is read from.
    pub(super) fn closed() -> Self {
        let part = Part {
            dc: ptr::null(),
            ac: ptr::null(),
            shift: 0,
            dc_codes: ptr::null(),
            ac_codes: ptr::null(),
            previous: ptr::null_mut(),
        };
        Self {
            parts: [part; 10],
            count: 0,
            part: 0,
            extent: ptr::null_mut(),
            left: 0,
            start: ptr::null(),
            limit: ptr::null(),
            failed: None,
        }
    }

    /// Makes the state of a lane.
    pub(super) fn open(&mut self, lane: &mut Lane<'_>) -> Result<Place> {
        let place = &mut *lane.place;
        let count = lane.parts.len();
        assert!((1..=10).contains(&count) && place.part < count && place.position < 64);
        assert!(
            place.block < lane.end && lane.end + SPARE <= lane.blocks.len() && lane.end <= lane.extents.len()
        );
        assert!(lane.bytes.len() >= PADDING);
        let length = lane.bytes.len() - PADDING;
        if place.bit > length * 8 {
            return Err(ENDS_EARLY);
        }
        let previous = place.previous.as_mut_ptr();
        for (to, part) in self.parts.iter_mut().zip(lane.parts) {
            let (dc, ac) = (&part.dc, &part.ac);
            let width = if ac.quick.len() == (1 << NARROW) + 1 { NARROW } else { BITS };
            assert!(
                dc.quick.len() == 1 << DC_BITS && ac.quick.len() == (1 << width) + 1 && part.component < 4
            );
            *to = Part {
                dc: dc.quick.as_ptr(),
                ac: ac.quick.as_ptr(),
                shift: 64 - width,
                dc_codes: &raw const dc.codes,
                ac_codes: &raw const ac.codes,
                previous: previous.wrapping_add(part.component),
            };
        }
        (self.count, self.part) = (count, place.part);
        self.extent = lane.extents[place.block..].as_mut_ptr();
        self.left = lane.end - place.block;
        self.start = lane.bytes.as_ptr();
        self.limit = lane.bytes[length + 8..].as_ptr();
        let mut p = Place {
            next: lane.bytes[place.bit / 8..].as_ptr(),
            held: 0,
            bits: 0,
            position: place.position,
            block: lane.blocks[place.block..].as_mut_ptr().cast(),
            table: self.parts[place.part].ac,
            shift: self.parts[place.part].shift,
        };
        // SAFETY: `next` is inside the data, after which there are PADDING bytes.
        unsafe { p.refill() };
        p.take((place.bit % 8) as u32);
        Ok(p)
    }
}

/// Puts the state back into the lane.
pub(super) fn close(lane: &mut Lane<'_>, p: &Place, s: &Stream) {
    let place = &mut *lane.place;
    let bytes = p.next as usize - s.start as usize;
    place.bit = bytes * 8 - (p.bits & 63) as usize;
    place.position = p.position;
    place.block = lane.end - s.left;
    place.part = s.part;
}
