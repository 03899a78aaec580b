//! The bytes of an index: four that name format and version, a checksum, and numbers of seven bits a byte.

use super::{Entry, RestartIndex};
use crate::checksum::checksum;

/// The last one is the version.
const MAGIC: [u8; 4] = *b"JRI\x01";
/// Where the numbers begin.
const NUMBERS: usize = MAGIC.len() + 8;
/// What stands behind them: some libraries take zeros off the end of byte strings.
const END: u8 = 1;
/// More than numbers of the largest image take: 8,192 rows of five numbers, and three numbers before them.
const MOST: usize = 8192 * (10 + 4 * 5) + 30;

impl RestartIndex {
    /// It as bytes, 5 to 8 for each entry as a rule and some 19 more.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(NUMBERS + 16 + self.entries.len() * 10);
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&[0; 8]);
        put(&mut out, self.length);
        put(&mut out, self.every as u64);
        put(&mut out, self.components as u64);
        let mut last = Entry::default();
        for entry in &self.entries {
            put(&mut out, entry.bit - last.bit);
            for (now, before) in entry.previous.iter().zip(&last.previous).take(self.components) {
                put_signed(&mut out, now.wrapping_sub(*before));
            }
            last = *entry;
        }
        // One checksum for both: when the numbers are damaged, it is that of no file.
        let sum = self.file ^ checksum(&out[NUMBERS..]);
        out[MAGIC.len()..NUMBERS].copy_from_slice(&sum.to_le_bytes());
        out.push(END);
        out
    }

    /// Reads what [`RestartIndex::to_bytes`] made. `None` for other bytes, also of another version. Damage that is not
    /// noticed here is when the index is used: it then fits no file.
    ///
    /// What it takes is at most 12 times as long as the bytes.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let rest = bytes.strip_prefix(&MAGIC)?;
        let (sum, rest) = rest.split_first_chunk::<8>()?;
        let (&END, mut rest) = rest.split_last()? else { return None };
        if rest.len() > MOST {
            return None;
        }
        let file = u64::from_le_bytes(*sum) ^ checksum(rest);
        let length = take(&mut rest)?;
        let every = usize::try_from(take(&mut rest)?).ok().filter(|&n| n > 0)?;
        let components = usize::try_from(take(&mut rest)?).ok().filter(|n| (1..=4).contains(n))?;
        // The smallest entry has a byte for the position and one for each component.
        let mut entries = Vec::with_capacity(rest.len() / (1 + components));
        let end = length.checked_mul(8)?;
        let mut last = Entry::default();
        while !rest.is_empty() {
            let step = take(&mut rest).filter(|&n| n > 0)?;
            last.bit = last.bit.checked_add(step).filter(|&bit| bit < end)?;
            for previous in &mut last.previous[..components] {
                *previous = previous.wrapping_add(take_signed(&mut rest)?);
            }
            entries.push(last);
        }
        Some(Self { length, file, every, components, entries })
    }
}

/// Seven bits a byte, the lowest first; all but the last byte have their top bit set.
fn put(out: &mut Vec<u8>, mut value: u64) {
    while value > 127 {
        out.push(value as u8 | 128);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Small numbers of either sign become small ones without.
fn put_signed(out: &mut Vec<u8>, value: i32) {
    put(out, u64::from((value << 1 ^ value >> 31) as u32));
}

fn take(from: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = from.split_first()?;
        *from = rest;
        let bits = u64::from(byte & 127);
        value |= bits << shift;
        if bits << shift >> shift != bits {
            return None;
        }
        if byte < 128 {
            return Some(value);
        }
    }
    None
}

fn take_signed(from: &mut &[u8]) -> Option<i32> {
    let value = u32::try_from(take(from)?).ok()?;
    Some((value >> 1) as i32 ^ -((value & 1) as i32))
}
