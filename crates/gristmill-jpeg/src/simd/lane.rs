//! One scan being read, block by block, so that it can be left and taken up again at any block.

use std::sync::Arc;

use crate::Result;
use crate::bits::Bits;
use crate::block::Block;
use crate::sequential::read_block;
use crate::tables::Table;

/// Blocks behind the last one that the fast reader may write to (zeros only, if the file is intact).
pub(crate) const SPARE: usize = 3;

/// The tables and the predictor of one block of the MCU.
#[derive(Clone)]
pub(crate) struct Part {
    pub(crate) dc: Arc<Table>,
    pub(crate) ac: Arc<Table>,
    pub(crate) component: usize,
}

/// Where the reading of a scan is.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Place {
    /// The next bit.
    pub(crate) bit: usize,
    /// The next position of the current block; 0 before its DC coefficient.
    pub(crate) position: usize,
    /// The current block in the row's buffer.
    pub(crate) block: usize,
    /// Its place in the MCU.
    pub(crate) part: usize,
    /// The latest DC coefficients.
    pub(crate) previous: [i32; 4],
}

/// A scan's data, tables and place, and where its blocks go.
pub(crate) struct Lane<'a> {
    /// The data and [`PADDING`](crate::unstuff::PADDING) bytes.
    pub(crate) bytes: &'a [u8],
    pub(crate) parts: &'a [Part],
    pub(crate) place: &'a mut Place,
    /// Zero from the current block on; [`SPARE`] more than will be read, over which zeros are written.
    pub(crate) blocks: &'a mut [Block],
    /// For each block how many positions from the front may be other than zero.
    pub(crate) extents: &'a mut [u8],
    /// Read up to this block.
    pub(crate) end: usize,
}

impl Lane<'_> {
    /// Reads to the end without any vector code.
    pub(crate) fn read_plain(&mut self) -> Result<()> {
        let place = &mut *self.place;
        debug_assert_eq!(place.position, 0, "plain code does not leave a block half read");
        let mut bits = Bits::new(self.bytes, place.bit);
        while place.block < self.end {
            let part = &self.parts[place.part];
            let (dc, ac) = (&part.dc.codes, &part.ac.codes);
            let previous = &mut place.previous[part.component];
            let block = &mut self.blocks[place.block];
            self.extents[place.block] = read_block(&mut bits, dc, ac, previous, block)?;
            place.block += 1;
            place.part = (place.part + 1) % self.parts.len();
        }
        place.bit = bits.bit();
        Ok(())
    }
}
