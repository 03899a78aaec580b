//! The geometry of a frame.

use crate::few::Few;
use crate::{Error, Result};

/// One component of a frame.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Component {
    pub(crate) id: u8,
    /// Sampling factors.
    pub(crate) h: usize,
    pub(crate) v: usize,
    /// Index of the quantisation table.
    pub(crate) table: usize,
    /// Size in blocks, without padding to whole MCUs.
    pub(crate) blocks_wide: usize,
    pub(crate) blocks_high: usize,
}

impl Component {
    pub(crate) fn new(id: u8, h: u8, v: u8, table: u8) -> Self {
        let (h, v, table) = (h.into(), v.into(), table.into());
        Self { id, h, v, table, blocks_wide: 0, blocks_high: 0 }
    }
}

/// What the frame header says.
#[derive(Debug, Clone)]
pub(crate) struct Frame {
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) progressive: bool,
    pub(crate) components: Few<Component>,
    /// Largest sampling factors.
    pub(crate) max_h: usize,
    pub(crate) max_v: usize,
    /// Size in MCUs of an interleaved scan.
    pub(crate) mcus_wide: usize,
    pub(crate) mcus_high: usize,
}

impl Frame {
    pub(crate) fn new(
        width: usize,
        height: usize,
        progressive: bool,
        mut components: Few<Component>,
    ) -> Result<Self> {
        if width == 0 || height == 0 {
            return Err(Error::Corrupt("it has no pixels"));
        }
        if width > 65500 || height > 65500 {
            return Err(Error::Unsupported("a side above 65500 pixels"));
        }
        for (i, c) in components.iter().enumerate() {
            if !(1..=4).contains(&c.h) || !(1..=4).contains(&c.v) {
                return Err(Error::Corrupt("a sampling factor is not in 1..=4"));
            }
            if components[..i].iter().any(|other| other.id == c.id) {
                return Err(Error::Unsupported("two components of the same name"));
            }
        }
        if let [only] = &mut components[..] {
            // The factors of a single component mean nothing, its scan is not interleaved.
            (only.h, only.v) = (1, 1);
        }
        let max_h = components.iter().map(|c| c.h).max().unwrap_or(1);
        let max_v = components.iter().map(|c| c.v).max().unwrap_or(1);
        for c in components.iter_mut() {
            c.blocks_wide = (width * c.h).div_ceil(8 * max_h);
            c.blocks_high = (height * c.v).div_ceil(8 * max_v);
        }
        let (mcus_wide, mcus_high) = (width.div_ceil(8 * max_h), height.div_ceil(8 * max_v));
        Ok(Self { width, height, progressive, components, max_h, max_v, mcus_wide, mcus_high })
    }

    /// Blocks of an interleaved MCU of these components.
    pub(crate) fn blocks_per_mcu(&self) -> usize {
        self.components.iter().map(|c| c.h * c.v).sum()
    }
}
