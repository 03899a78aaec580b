//! Huffman tables as the file gives them, and the table of the plain reader.

use crate::{Error, Result};

const BAD: Error = Error::Corrupt("a Huffman table is impossible");

/// A table as it stands in the file.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Spec {
    /// Number of codes of 1 to 16 bits.
    pub(crate) counts: [u8; 16],
    /// The symbols in the order of their codes; 0 beyond the last.
    pub(crate) symbols: [u8; 256],
}

impl Default for Spec {
    fn default() -> Self {
        Self { counts: [0; 16], symbols: [0; 256] }
    }
}

impl Spec {
    /// Reads a table and tells how many bytes it has.
    pub(crate) fn read(bytes: &[u8]) -> Result<(Self, usize)> {
        let counts: [u8; 16] = bytes.get(..16).and_then(|b| b.try_into().ok()).ok_or(BAD)?;
        let total: usize = counts.iter().map(|&n| usize::from(n)).sum();
        let listed = bytes.get(16..16 + total).filter(|s| s.len() <= 256).ok_or(BAD)?;
        let mut symbols = [0; 256];
        symbols[..total].copy_from_slice(listed);
        Ok((Self { counts, symbols }, 16 + total))
    }

    /// Length, code and symbol of each entry, shorter codes first.
    ///
    /// # Errors
    ///
    /// When the codes do not fit into their lengths; no code may be all ones.
    pub(crate) fn codes(&self, mut each: impl FnMut(u32, u32, u8)) -> Result<()> {
        let (mut code, mut index) = (0u32, 0);
        for length in 1..=16 {
            for _ in 0..self.counts[length as usize - 1] {
                if code + 1 >= 1 << length {
                    return Err(BAD);
                }
                each(length, code, self.symbols[index]);
                code += 1;
                index += 1;
            }
            code <<= 1;
        }
        Ok(())
    }
}

/// Bits that the short table looks at.
pub(crate) const SHORT_BITS: u32 = 9;

/// Finds the symbol of a code: short codes in one look-up, others by their length's first code.
pub(crate) struct Codes {
    /// Length << 8 | symbol; 0 for longer codes.
    short: Box<[u16; 1 << SHORT_BITS]>,
    /// The first 16-bit window beyond the codes of each length, which grows with the length.
    limits: [u32; 17],
    /// What to add to a code of each length for its symbol's index.
    offsets: [i32; 17],
    symbols: [u8; 256],
}

impl Default for Codes {
    fn default() -> Self {
        let short = Box::new([0; 1 << SHORT_BITS]);
        Self { short, limits: [0; 17], offsets: [0; 17], symbols: [0; 256] }
    }
}

impl Codes {
    /// Fills the table anew.
    ///
    /// # Errors
    ///
    /// When the codes are impossible, or a symbol of a DC table is above 15.
    pub(crate) fn build(&mut self, spec: &Spec, dc: bool) -> Result<()> {
        let total: usize = spec.counts.iter().map(|&n| usize::from(n)).sum();
        if dc && spec.symbols[..total].iter().any(|&s| s > 15) {
            return Err(BAD);
        }
        self.short.fill(0);
        self.symbols = spec.symbols;
        let short = &mut self.short;
        spec.codes(|length, code, symbol| {
            if length <= SHORT_BITS {
                let shift = SHORT_BITS - length;
                let at = (code << shift) as usize;
                short[at..at + (1 << shift)].fill((length as u16) << 8 | u16::from(symbol));
            }
        })?;
        let (mut code, mut index) = (0u32, 0i32);
        for length in 1..=16usize {
            let count = u32::from(spec.counts[length - 1]);
            self.offsets[length] = index - code as i32;
            code += count;
            index += count as i32;
            self.limits[length] = code << (16 - length);
            code <<= 1;
        }
        Ok(())
    }

    /// Length and symbol of the code at the top of `window`; none when it is in no table.
    #[inline]
    pub(crate) fn find(&self, window: u64) -> Option<(u32, u8)> {
        let entry = self.short[(window >> (64 - SHORT_BITS)) as usize];
        if entry != 0 {
            return Some((u32::from(entry >> 8), entry as u8));
        }
        self.find_long(window)
    }

    #[cold]
    fn find_long(&self, window: u64) -> Option<(u32, u8)> {
        let top = (window >> 48) as u32;
        let length = (SHORT_BITS as usize + 1..=16).find(|&l| top < self.limits[l])?;
        let code = (window >> (64 - length)) as i32;
        let symbol = self.symbols.get(usize::try_from(code + self.offsets[length]).ok()?)?;
        Some((length as u32, *symbol))
    }
}
