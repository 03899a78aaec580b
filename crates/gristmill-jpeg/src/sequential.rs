//! Reading the blocks of sequential scans: the plain way, which also defines what the fast one gives.

use crate::bits::Bits;
use crate::block::Block;
use crate::huffman::Codes;
use crate::{Error, Result};

/// A run of zeros that goes beyond the block.
pub(crate) const OVERRUN: Error = Error::Corrupt("a block has more than 64 coefficients");

/// Reads one block, which must be zero, and tells how many positions from the front may be other than zero.
pub(crate) fn read_block(
    bits: &mut Bits<'_>,
    dc: &Codes,
    ac: &Codes,
    previous: &mut i32,
    block: &mut Block,
) -> Result<u8> {
    let (_, difference) = bits.coefficient(dc)?;
    *previous = previous.wrapping_add(difference);
    block.0[0] = *previous as i16;
    let mut at = 1;
    let mut extent = 1;
    while at < 64 {
        let (symbol, value) = bits.coefficient(ac)?;
        let run = usize::from(symbol >> 4);
        if symbol & 15 == 0 {
            if run != 15 {
                break;
            }
            at += 16;
        } else {
            at += run;
            *block.0.get_mut(at).ok_or(OVERRUN)? = value as i16;
            at += 1;
            extent = at;
        }
    }
    if at > 64 {
        return Err(OVERRUN);
    }
    Ok(extent as u8)
}
