//! Which code runs: the plain one, or vector code where the processor has it. All give the same.

pub(crate) mod lane;

#[cfg(any(target_arch = "x86_64", all(target_arch = "aarch64", target_endian = "little")))]
mod entropy;
#[cfg(any(target_arch = "x86_64", all(target_arch = "aarch64", target_endian = "little")))]
mod stream;

// The vector code of this architecture, all with the same functions.
#[cfg_attr(target_arch = "x86_64", path = "x86/mod.rs")]
#[cfg_attr(all(target_arch = "aarch64", target_endian = "little"), path = "neon/mod.rs")]
#[cfg_attr(
    not(any(target_arch = "x86_64", all(target_arch = "aarch64", target_endian = "little"))),
    path = "none.rs"
)]
mod vector;

use crate::block::{Block, EMPTY};
use crate::color::Convert;
use crate::idct::Kind;
use crate::{Result, unstuff, upsample};
use lane::Lane;

/// The instructions in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Level {
    /// None in particular.
    Plain,
    /// AVX2 and BMI2, or NEON.
    #[cfg_attr(
        not(any(target_arch = "x86_64", all(target_arch = "aarch64", target_endian = "little"))),
        expect(dead_code, reason = "there is no vector code for this architecture")
    )]
    Vector {
        /// AVX-512 where it is of use.
        wide: bool,
    },
}

/// A row of blocks: the place of block column `c` is `base + c / h * step + c % h`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Strip {
    pub(crate) base: usize,
    pub(crate) h: usize,
    pub(crate) step: usize,
    /// The columns.
    pub(crate) first: usize,
    pub(crate) count: usize,
}

impl Strip {
    #[inline]
    pub(crate) fn place(&self, column: usize) -> usize {
        self.base + column / self.h * self.step + column % self.h
    }

    /// The places of all columns, without divisions.
    #[inline]
    pub(crate) fn places(self) -> impl Iterator<Item = usize> {
        let mut place = self.place(self.first);
        let mut left = self.h - self.first % self.h;
        (0..self.count).map(move |_| {
            let this = place;
            left -= 1;
            place += 1;
            if left == 0 {
                left = self.h;
                place += self.step - self.h;
            }
            this
        })
    }
}

impl Level {
    /// The best that this processor has.
    pub(crate) fn detect() -> Self {
        vector::detect()
    }

    /// All that this processor can run.
    #[cfg(test)]
    pub(crate) fn all() -> Vec<Self> {
        let mut all = vec![Self::Plain];
        all.extend(vector::usable());
        all
    }

    pub(crate) fn is_plain(self) -> bool {
        self == Self::Plain
    }

    /// As [`unstuff::copy_plain`].
    pub(crate) fn copy_unstuffed(self, data: &[u8], out: &mut Vec<u8>) -> usize {
        match self {
            Self::Plain => unstuff::copy_plain(data, out),
            Self::Vector { .. } => vector::copy_unstuffed(data, out),
        }
    }

    /// A bit for each position that is other than zero.
    #[inline]
    pub(crate) fn nonzero(self, block: &Block) -> u64 {
        match self {
            Self::Plain => block.0.iter().rev().fold(0, |bits, &c| bits << 1 | u64::from(c != 0)),
            Self::Vector { .. } => vector::nonzero(block),
        }
    }

    /// Reads blocks of a lane up to its end.
    ///
    /// # Errors
    ///
    /// When the data are damaged; the blocks are of no use then.
    pub(crate) fn read(self, lane: &mut Lane<'_>) -> Result<()> {
        match self {
            Self::Plain => lane.read_plain(),
            Self::Vector { .. } => vector::read(lane),
        }
    }

    /// Reads blocks of two lanes until one is at its end, and says whether that is the second.
    ///
    /// # Errors
    ///
    /// As [`Level::read`], with whether it was the second lane.
    pub(crate) fn read_two(
        self,
        a: &mut Lane<'_>,
        b: &mut Lane<'_>,
    ) -> std::result::Result<bool, (bool, crate::Error)> {
        match self {
            Self::Plain => {
                let _ = b;
                a.read_plain().map(|()| false).map_err(|e| (false, e))
            }
            Self::Vector { .. } => vector::read_two(a, b),
        }
    }

    /// Transforms a row of blocks into `out`, whose rows are `stride` apart, and makes the blocks zero.
    pub(crate) fn transform(
        self,
        kind: Kind,
        multipliers: &[i16; 64],
        (blocks, extents): (&mut [Block], &[u8]),
        strip: Strip,
        out: &mut [u8],
        stride: usize,
    ) {
        if let Self::Vector { wide } = self
            && kind != Kind::Eighth
        {
            return vector::transform(wide, kind, multipliers, blocks, extents, strip, out, stride);
        }
        let _ = extents;
        let size = match kind {
            Kind::Fast | Kind::Accurate => 8,
            Kind::Half => 4,
            Kind::Quarter => 2,
            Kind::Eighth => 1,
        };
        for (i, place) in strip.places().enumerate() {
            let block = &mut blocks[place];
            kind.transform(block, multipliers, &mut out[i * size..], stride);
            *block = EMPTY;
        }
    }

    /// [`upsample::wide`] of the first `n` samples.
    pub(crate) fn wide(self, row: &[u8], n: usize, out: &mut [u8]) {
        match self {
            Self::Plain => upsample::wide(&row[..n], out),
            Self::Vector { .. } => vector::wide(row, n, out),
        }
    }

    /// [`upsample::high`] of the first `n` samples.
    pub(crate) fn high(self, near: &[u8], far: &[u8], n: usize, upper: bool, out: &mut [u8]) {
        upsample::high(&near[..n], &far[..n], upper, out);
    }

    /// [`upsample::both`] of the first `n` samples; `sums` is room for the work.
    pub(crate) fn both(self, near: &[u8], far: &[u8], n: usize, sums: &mut [i16], out: &mut [u8]) {
        match self {
            Self::Plain => {
                let _ = sums;
                upsample::both(&near[..n], &far[..n], out);
            }
            Self::Vector { wide } => vector::both(wide, near, far, n, sums, out),
        }
    }

    /// [`Convert::YccToRgb`].
    pub(crate) fn ycc_to_rgb(self, y: &[u8], cb: &[u8], cr: &[u8], out: &mut [u8]) {
        match self {
            Self::Plain => Convert::YccToRgb.row([y, cb, cr, &[]], out),
            Self::Vector { wide } => vector::ycc_to_rgb(wide, y, cb, cr, out),
        }
    }
}

#[cfg(test)]
mod tests;
