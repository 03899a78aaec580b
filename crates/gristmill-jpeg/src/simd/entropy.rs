//! The fast reader of sequential scans: window tables, one stream or two in turn.
//!
//! Two streams in turn are worth it because the processor waits most of the time: for a table entry, which says where
//! the next look-up is, and after a wrong guess of where a block ends.
#![allow(unsafe_code)]

use super::lane::Lane;
use super::stream::{ENDS_EARLY, Place, Stream, close};
use super::vector::widen;
use crate::bits::{BAD_CODE, extend};
use crate::huffman::Codes;
use crate::sequential::OVERRUN;
use crate::window::{BITS, DC_BITS, END, SLOW};
use crate::{Error, Result};

/// What a step comes to.
const GOES_ON: u8 = 0;
const DONE: u8 = 1;
const FAILED: u8 = 2;

/// Reads the DC coefficient of the block that begins.
///
/// # Safety
///
/// As [`step`].
#[inline(always)]
unsafe fn begin(p: &mut Place, s: &mut Stream) -> u8 {
    // SAFETY: `part` is below `count`, the table has 2^DC_BITS entries, the block is inside the row.
    unsafe {
        let part = s.parts.get_unchecked(s.part);
        p.refill();
        p.table = part.ac;
        p.shift = part.shift;
        let e = *part.dc.add((p.held >> (64 - DC_BITS)) as usize);
        let difference;
        if e == 0 {
            match long_dc(p.held, part.dc_codes) {
                Some((bits, value)) => {
                    difference = value;
                    p.take(bits);
                    p.refill();
                }
                None => {
                    s.failed = Some(BAD_CODE);
                    return FAILED;
                }
            }
        } else {
            let x = p.held.wrapping_shl((e >> 8) as u32);
            let negative = !(x as i64 >> 63) as i32;
            difference = (x >> 1).wrapping_shr((e >> 16) as u32) as i32 + ((e >> 32) as i32 & negative);
            p.take(e as u32);
        }
        let dc = (*part.previous).wrapping_add(difference);
        *part.previous = dc;
        *p.block = dc as i16;
        p.position = 1;
        // At most so many bits were used, and three look-ups can follow before the next refill.
        if 56 - (DC_BITS + 15) < 3 * BITS {
            p.refill();
        }
    }
    GOES_ON
}

/// Bits and value of a DC symbol whose code is longer than the window.
#[cold]
#[inline(never)]
fn long_dc(held: u64, codes: *const Codes) -> Option<(u32, i32)> {
    // SAFETY: the codes are borrowed by the lane.
    let (length, size) = unsafe { &*codes }.find(held)?;
    let size = u32::from(size);
    Some((length + size, extend(held << length, size)))
}

/// One look-up.
///
/// # Safety
///
/// `p` and `s` were made of a lane by [`Stream::open`], at least `BITS` bits are held, and the last step was neither `DONE` nor
/// `FAILED`.
#[inline(always)]
unsafe fn step(p: &mut Place, s: &mut Stream) -> u8 {
    // SAFETY: the index has as many bits as the table is made for. The store reaches at most 389 bytes from the start
    // of the block, and there are SPARE blocks more than are read; those after this one are zero, and so is what is
    // stored there (or the file is refused).
    unsafe {
        let entry = p.table.add(p.held.wrapping_shr(p.shift) as usize);
        // Loaded apart, or the compiler makes one slow load of it.
        let e = *entry.cast::<u32>();
        let (positions, distance) = ((e >> 8 & 255) as usize, (e >> 16) as usize);
        widen(entry.cast::<u8>().add(4), p.block.add(p.position).byte_add(distance).cast());
        p.take(e);
        p.position += positions;
        if p.position < 64 {
            return GOES_ON;
        }
        // Neither exactly full nor the end of the block after 1 to 63 positions.
        if p.position != 64 && p.position.wrapping_sub(END as usize + 1) >= 63 {
            // The whole byte: the lowest 6 bits of it, once known, would be used above too, one cycle later than `e`.
            if positions == SLOW as usize && e & 255 != 0 {
                // The symbol is known, but not its value.
                let (run, size) = ((e >> 20 & 15) as usize, e >> 16 & 15);
                p.refill();
                let value = extend(p.held, size);
                p.take(size);
                let at = p.position - SLOW as usize + run;
                if at < 63 {
                    *p.block.add(at) = value as i16;
                    p.position = at + 1;
                    return GOES_ON;
                }
                if at > 63 {
                    s.failed = Some(OVERRUN);
                    return FAILED;
                }
                *p.block.add(63) = value as i16;
                p.position = 64;
            } else {
                let (place, outcome) = single(*p, s, e);
                *p = place;
                if outcome != DONE {
                    return outcome;
                }
            }
        }
        finish(p, s)
    }
}

/// Ends a block and begins the next one.
///
/// # Safety
///
/// As [`step`].
#[inline(always)]
unsafe fn finish(p: &mut Place, s: &mut Stream) -> u8 {
    let extent = if p.position == 64 { 64 } else { p.position - END as usize };
    s.part = if s.part + 1 == s.count { 0 } else { s.part + 1 };
    s.left -= 1;
    // SAFETY: there is an extent for every block that is left, and the caller's word.
    unsafe {
        p.block = p.block.add(64);
        let mut outcome = DONE;
        if s.left != 0 {
            outcome = begin(p, s);
            if p.next > s.limit {
                s.failed = Some(ENDS_EARLY);
                outcome = FAILED;
            }
        } else {
            p.position = 0;
        }
        *s.extent = extent as u8;
        s.extent = s.extent.add(1);
        outcome
    }
}

/// Reads one symbol by itself, after the look-up of `e` found none or one too many.
///
/// # Safety
///
/// As [`step`].
#[inline(never)]
unsafe fn single(mut p: Place, s: &mut Stream, e: u32) -> (Place, u8) {
    let (bits, positions, distance) = (e & 255, (e >> 8 & 255) as usize, (e >> 16) as usize);
    let mut at = p.position - positions;
    // SAFETY: as in `step`; what was stored there is taken back.
    unsafe {
        p.block.add(at).byte_add(distance).cast::<u64>().write_unaligned(0);
        if bits != 0 {
            p.give_back(bits);
        }
        p.refill();
    }
    // SAFETY: `part` is below `count` and the codes are borrowed by the lane.
    let Some((length, symbol)) = unsafe { &*s.parts[s.part].ac_codes }.find(p.held) else {
        s.failed = Some(BAD_CODE);
        return (p, FAILED);
    };
    let (run, size) = (usize::from(symbol >> 4), u32::from(symbol & 15));
    let value = extend(p.held << length, size);
    p.take(length + size);
    // SAFETY: at least 25 bits are held, and the data go on or are padding.
    unsafe { p.refill() };
    if size == 0 && run != 15 {
        p.position = at + END as usize;
        return (p, DONE);
    }
    at += run;
    if at > 63 {
        s.failed = Some(OVERRUN);
        return (p, FAILED);
    }
    if size != 0 {
        // SAFETY: inside the block.
        unsafe { *p.block.add(at) = value as i16 };
    }
    p.position = at + 1;
    (p, if at == 63 { DONE } else { GOES_ON })
}

/// [`super::Level::read`].
pub(super) fn read(lane: &mut Lane<'_>) -> Result<()> {
    let mut s = Stream::closed();
    let mut p = s.open(lane)?;
    // SAFETY: `Level::detect` has found the features, and the state is that of the lane.
    unsafe { run_one(&mut p, &mut s) };
    close(lane, &p, &s);
    s.failed.map_or(Ok(()), Err)
}

/// [`super::Level::read_two`].
pub(super) fn read_two(a: &mut Lane<'_>, b: &mut Lane<'_>) -> std::result::Result<bool, (bool, Error)> {
    let (mut s, mut t) = (Stream::closed(), Stream::closed());
    let mut p = s.open(a).map_err(|e| (false, e))?;
    let mut q = t.open(b).map_err(|e| (true, e))?;
    // SAFETY: `Level::detect` has found the features, and the states are those of the lanes.
    let second = unsafe { run_two(&mut p, &mut s, &mut q, &mut t) };
    close(a, &p, &s);
    close(b, &q, &t);
    match if second { t.failed } else { s.failed } {
        Some(error) => Err((second, error)),
        None => Ok(second),
    }
}

/// # Safety
///
/// The processor has the features; `p` and `s` are of [`Stream::open`].
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,bmi1,bmi2,lzcnt,movbe"))]
unsafe fn run_one(place: &mut Place, s: &mut Stream) {
    let mut p = *place;
    // SAFETY: four look-ups take up to 48 of the 56 bits that a refill gives.
    unsafe {
        if p.position == 0 && begin(&mut p, s) != GOES_ON {
            *place = p;
            return;
        }
        loop {
            p.refill();
            if step(&mut p, s) != GOES_ON {
                break;
            }
            if step(&mut p, s) != GOES_ON {
                break;
            }
            if step(&mut p, s) != GOES_ON {
                break;
            }
            if step(&mut p, s) != GOES_ON {
                break;
            }
        }
    }
    *place = p;
}

/// Says whether it was the second that came to its end or failed.
///
/// # Safety
///
/// The processor has the features; the states are of [`Stream::open`].
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,bmi1,bmi2,lzcnt,movbe"))]
unsafe fn run_two(place: &mut Place, s: &mut Stream, place2: &mut Place, t: &mut Stream) -> bool {
    let (mut p, mut q) = (*place, *place2);
    let second;
    // SAFETY: as in `run_one`.
    unsafe {
        'run: {
            if p.position == 0 && begin(&mut p, s) != GOES_ON {
                second = false;
                break 'run;
            }
            if q.position == 0 && begin(&mut q, t) != GOES_ON {
                second = true;
                break 'run;
            }
            macro_rules! both {
                () => {
                    if step(&mut p, s) != GOES_ON {
                        second = false;
                        break;
                    }
                    if step(&mut q, t) != GOES_ON {
                        second = true;
                        break;
                    }
                };
            }
            loop {
                p.refill();
                q.refill();
                both!();
                both!();
                both!();
                both!();
            }
        }
    }
    (*place, *place2) = (p, q);
    second
}
