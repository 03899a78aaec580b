//! The plain bit reader, without any `unsafe`.

use crate::huffman::Codes;
use crate::{Error, Result};

/// A code that is in no table, or a value where none can be.
pub(crate) const BAD_CODE: Error = Error::Corrupt("a code is in no Huffman table");

/// Reads bits from data that end in padding; reading beyond gives zeros.
#[derive(Clone, Copy)]
pub(crate) struct Bits<'a> {
    bytes: &'a [u8],
    /// The next byte to be loaded.
    next: usize,
    /// Loaded bits, the next one at the top; those below `count` are right too or zero.
    held: u64,
    count: u32,
}

impl<'a> Bits<'a> {
    /// A reader that starts at that bit.
    pub(crate) fn new(bytes: &'a [u8], bit: usize) -> Self {
        let mut bits = Self { bytes, next: bit / 8, held: 0, count: 0 };
        bits.refill();
        bits.skip((bit % 8) as u32);
        bits
    }

    /// The position of the next bit.
    #[inline]
    pub(crate) fn bit(&self) -> usize {
        self.next * 8 - self.count as usize
    }

    /// Holds at least 56 bits after it.
    #[inline]
    fn refill(&mut self) {
        let bytes = match self.bytes.get(self.next..self.next + 8) {
            Some(b) => u64::from_be_bytes(b.try_into().expect("8 bytes")),
            None => 0,
        };
        self.held |= bytes >> self.count;
        self.next += ((63 - self.count) >> 3) as usize;
        self.count |= 56;
    }

    #[inline]
    fn skip(&mut self, count: u32) {
        self.held <<= count;
        self.count -= count;
    }

    /// The next symbol.
    #[inline]
    pub(crate) fn symbol(&mut self, codes: &Codes) -> Result<u8> {
        self.refill();
        let (length, symbol) = codes.find(self.held).ok_or(BAD_CODE)?;
        self.skip(length);
        Ok(symbol)
    }

    /// The next symbol and, behind it, the value whose size is the symbol's low half.
    #[inline]
    pub(crate) fn coefficient(&mut self, codes: &Codes) -> Result<(u8, i32)> {
        self.refill();
        let (length, symbol) = codes.find(self.held).ok_or(BAD_CODE)?;
        let size = u32::from(symbol & 15);
        let value = extend(self.held << length, size);
        self.skip(length + size);
        Ok((symbol, value))
    }

    /// The next `count` bits, 0 to 16.
    #[inline]
    pub(crate) fn take(&mut self, count: u32) -> u32 {
        self.refill();
        let value = (self.held >> 1 >> (63 - count)) as u32;
        self.skip(count);
        value
    }

    /// The next `count` bits, up to 56, at the top of the number.
    #[inline]
    pub(crate) fn take_high(&mut self, count: u32) -> u64 {
        self.refill();
        let value = self.held;
        self.skip(count);
        value
    }
}

/// The value in the top `size` (0 to 15) bits: negative ones start with a 0.
#[inline]
pub(crate) fn extend(window: u64, size: u32) -> i32 {
    let raw = (window >> 1 >> (63 - size)) as i32;
    let negative = !(window as i64 >> 63) as i32;
    raw + (negative & (1 - (1 << size)))
}
