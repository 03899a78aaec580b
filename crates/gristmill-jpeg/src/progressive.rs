//! Reading the scans of progressive files: each adds a band of coefficients or one bit of them.

use crate::bits::{BAD_CODE, Bits};
use crate::block::Block;
use crate::huffman::Codes;
use crate::sequential::OVERRUN;
use crate::{Error, Result};

/// First scan of the DC coefficients: the difference, without its `low` last bits.
#[inline]
pub(crate) fn dc_first(
    bits: &mut Bits<'_>,
    codes: &Codes,
    previous: &mut i32,
    low: u32,
    block: &mut Block,
) -> Result<()> {
    let (_, difference) = bits.coefficient(codes)?;
    *previous = previous.checked_add(difference).ok_or(Error::Corrupt("a DC coefficient is out of range"))?;
    block.0[0] = (*previous << low) as i16;
    Ok(())
}

/// One more bit of a DC coefficient.
#[inline]
pub(crate) fn dc_refine(bits: &mut Bits<'_>, low: u32, block: &mut Block) {
    block.0[0] |= (bits.take(1) << low) as i16;
}

/// First scan of a band of AC coefficients. `run` is the number of blocks that have nothing (more) in this band.
#[inline]
pub(crate) fn ac_first(
    bits: &mut Bits<'_>,
    codes: &Codes,
    band: (usize, usize),
    low: u32,
    run: &mut u32,
    block: &mut Block,
) -> Result<()> {
    let mut at = band.0;
    while at <= band.1 {
        let (symbol, value) = bits.coefficient(codes)?;
        let zeros = usize::from(symbol >> 4);
        if symbol & 15 == 0 {
            if zeros != 15 {
                *run = (1 << zeros) - 1 + bits.take(zeros as u32);
                return Ok(());
            }
            at += 16;
        } else {
            at += zeros;
            if at > band.1 {
                return Err(OVERRUN);
            }
            block.0[at] = (value << low) as i16;
            at += 1;
        }
    }
    if at > band.1 + 1 { Err(OVERRUN) } else { Ok(()) }
}

/// One more bit of a band of AC coefficients, with those that become other than zero by it. Their bits so far are all
/// above the new one. `nonzero` has a bit for each position that is other than zero.
#[inline]
pub(crate) fn ac_refine(
    bits: &mut Bits<'_>,
    codes: &Codes,
    band: (usize, usize),
    low: u32,
    run: &mut u32,
    block: &mut Block,
    nonzero: u64,
) -> Result<()> {
    let band_end = u64::MAX >> (63 - band.1);
    // The positions of the band that are left.
    let mut left = band_end & (u64::MAX << band.0);
    if *run == 0 {
        while left != 0 {
            let symbol = bits.symbol(codes)?;
            let zeros = u32::from(symbol >> 4);
            let mut value = 0;
            match symbol & 15 {
                0 if zeros < 15 => {
                    *run = (1 << zeros) + bits.take(zeros);
                    break;
                }
                0 => {}
                1 => value = if bits.take(1) == 1 { 1 } else { -1 },
                _ => return Err(BAD_CODE),
            }
            let mut free = left & !nonzero;
            for _ in 0..zeros {
                free &= free.wrapping_sub(1);
            }
            if free == 0 {
                return Err(OVERRUN);
            }
            let here = free & free.wrapping_neg();
            correct(bits, left & nonzero & (here - 1), low, block);
            block.0[here.trailing_zeros() as usize] = value << low;
            // Those above `here`.
            left &= !(here | (here - 1));
        }
    }
    if *run > 0 {
        correct(bits, left & nonzero, low, block);
        *run -= 1;
    }
    Ok(())
}

/// Takes a bit for each of the positions and adds it to the coefficient's absolute value.
#[inline]
fn correct(bits: &mut Bits<'_>, mut positions: u64, low: u32, block: &mut Block) {
    while positions != 0 {
        let count = positions.count_ones().min(48);
        let mut window = bits.take_high(count);
        for _ in 0..count {
            let c = &mut block.0[positions.trailing_zeros() as usize];
            let bit = (window as i64 >> 63) as i16;
            *c = c.wrapping_add(((*c >> 15 | 1) << low) & bit);
            window <<= 1;
            positions &= positions - 1;
        }
    }
}
