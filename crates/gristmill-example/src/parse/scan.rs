//! The wire format as a scan of records of a known form needs it: `None` wherever it is not the shortest form, and
//! the general parser decides.

use crate::list::copy_floats;
use crate::wire::Cursor;

/// `Example.features`, `Features.feature`, an entry's key, a packed list, a byte string.
pub(super) const FIRST: u8 = 0x0a;
/// One unpacked int64 or float.
const INT: u8 = 0x08;
const FLOAT: u8 = 0x0d;

/// Length and first byte of the contents of the field with that tag at `at`. The length is at most that of
/// the data, the contents may end behind them.
#[inline(always)]
pub(super) fn length(data: &[u8], at: usize, tag: u8) -> Option<(usize, usize)> {
    if *data.get(at)? != tag {
        return None;
    }
    let (len, start) = varint(data, at + 1)?;
    (len <= data.len() as u64).then_some((len as usize, start))
}

/// Where the contents begin whose length stands at `at` and which end at `end`.
#[inline(always)]
pub(super) fn rest(data: &[u8], at: usize, end: usize) -> Option<usize> {
    let (len, start) = varint(data, at)?;
    (start <= end && len == (end - start) as u64).then_some(start)
}

#[inline(always)]
fn word(data: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*data.get(at..)?.first_chunk::<8>()?))
}

/// The varint at `at` and the place behind it.
#[inline(always)]
fn varint(data: &[u8], at: usize) -> Option<(u64, usize)> {
    let first = *data.get(at)?;
    if first < 0x80 {
        return Some((u64::from(first), at + 1));
    }
    if let Some(w) = word(data, at) {
        let stop = !w & 0x8080_8080_8080_8080;
        if stop != 0 {
            // The bits below and of the byte that ends the varint.
            let w = joined_groups(w & (stop ^ (stop - 1)) & 0x7f7f_7f7f_7f7f_7f7f);
            return Some((w, at + stop.trailing_zeros() as usize / 8 + 1));
        }
    }
    long_varint(data, at)
}

/// The groups of seven bits of a word's bytes, joined: in pairs, in fours, in eights.
#[inline(always)]
pub(super) fn joined_groups(w: u64) -> u64 {
    let w = (w & 0x007f_007f_007f_007f) | ((w & 0x7f00_7f00_7f00_7f00) >> 1);
    let w = (w & 0x0000_3fff_0000_3fff) | ((w & 0x3fff_0000_3fff_0000) >> 2);
    (w & 0x0000_0000_0fff_ffff) | ((w & 0x0fff_ffff_0000_0000) >> 4)
}

#[cold]
fn long_varint(data: &[u8], at: usize) -> Option<(u64, usize)> {
    let mut c = Cursor::within(data, at..data.len());
    let value = c.varint().ok()?;
    Some((value, data.len() - c.left()))
}

/// Writes the list from `start` to `end`, of as many int64 as `out` has room for.
#[inline(always)]
pub(super) fn ints(data: &[u8], start: usize, end: usize, out: &mut [u8]) -> Option<()> {
    // Bytes behind the end may be read, but what they are decides nothing: a list that takes them in is refused.
    let packed = *data.get(start)? == FIRST;
    let mut at = if packed { rest(data, start + 1, end)? } else { start };
    for place in out.chunks_exact_mut(8) {
        if !packed {
            if *data.get(at)? != INT {
                return None;
            }
            at += 1;
        }
        let (value, next) = varint(data, at)?;
        place.copy_from_slice(&value.to_ne_bytes());
        at = next;
    }
    (at == end).then_some(())
}

/// Writes the list from `start` to the end of the data, of as many floats as `out` has room for.
#[inline(always)]
pub(super) fn floats(data: &[u8], start: usize, out: &mut [u8]) -> Option<()> {
    let list = data.get(start..)?;
    if *list.first()? == FIRST {
        let run = &data[rest(data, start + 1, data.len())?..];
        if run.len() != out.len() {
            return None;
        }
        copy_floats(run, out);
        return Some(());
    }
    if list.len() / 5 != out.len() / 4 || !list.len().is_multiple_of(5) {
        return None;
    }
    for (place, one) in out.chunks_exact_mut(4).zip(list.chunks_exact(5)) {
        if one[0] != FLOAT {
            return None;
        }
        copy_floats(&one[1..], place);
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::put_varint;

    #[test]
    fn varints_of_every_length() {
        for bits in 0..64 {
            for value in [1u64 << bits, (1u64 << bits) - 1, (1u64 << bits) | 1, u64::MAX >> (63 - bits)] {
                let mut bytes = Vec::new();
                put_varint(&mut bytes, value);
                let n = bytes.len();
                assert_eq!(varint(&bytes, 0), Some((value, n)));
                bytes.extend([0xff; 9]);
                assert_eq!(varint(&bytes, 0), Some((value, n)), "{value:#x}");
                assert_eq!(varint(&bytes[..n - 1], 0), None);
            }
        }
        assert_eq!(varint(&[0x81, 0x80, 0], 0), Some((1, 3)));
        assert_eq!(varint(&[0xff; 11], 0), None);
    }
}
