//! A file whose headers have been read.

use crate::frame::Frame;
use crate::index::RestartIndex;
use crate::input::Input;
use crate::layout::Layout;
use crate::marker::{Reader, Scan, Space};
use crate::options::Options;
use crate::{Error, Result};

/// What the headers before the first scan say.
#[derive(Debug, Clone)]
pub struct Header {
    pub(crate) frame: Frame,
    space: Space,
    inverted: bool,
    restart: usize,
    /// All components are in the first scan, which is the only one.
    single: bool,
}

impl Header {
    /// Width in pixels.
    #[must_use]
    pub fn width(&self) -> usize {
        self.frame.width
    }

    /// Height in pixels.
    #[must_use]
    pub fn height(&self) -> usize {
        self.frame.height
    }

    /// Number of components: 1, 3 or 4.
    #[must_use]
    pub fn components(&self) -> usize {
        self.frame.components.len()
    }

    /// Horizontal and vertical sampling factor of a component; (1, 1) for a single one.
    ///
    /// # Panics
    ///
    /// When there is no such component.
    #[must_use]
    pub fn sampling(&self, component: usize) -> (usize, usize) {
        let c = &self.frame.components[component];
        (c.h, c.v)
    }

    /// The colour space.
    #[must_use]
    pub fn space(&self) -> Space {
        self.space
    }

    /// Whether the file goes from coarse to fine in several scans.
    #[must_use]
    pub fn progressive(&self) -> bool {
        self.frame.progressive
    }

    /// Whether one scan has everything, so that rows can be decoded one after the other.
    #[must_use]
    pub fn single_scan(&self) -> bool {
        self.single
    }

    /// MCUs between restart markers, 0 without.
    #[must_use]
    pub fn restart_interval(&self) -> usize {
        self.restart
    }

    /// `[height, width, channels]` of the output under these options.
    ///
    /// # Errors
    ///
    /// [`Error::Options`] or [`Error::Unsupported`] when the file cannot be decoded so.
    pub fn shape(&self, options: &Options) -> Result<[usize; 3]> {
        let layout = Layout::new(&self.frame, self.space, self.inverted, options)?;
        Ok([layout.height, layout.width, layout.channels])
    }
}

/// A file at the start of its first scan.
pub(crate) struct Open<'a> {
    pub(crate) reader: Reader<'a>,
    pub(crate) scan: Scan,
    pub(crate) header: Header,
    pub(crate) index: Option<&'a RestartIndex>,
}

impl<'a> Open<'a> {
    pub(crate) fn new(file: Input<'a>) -> Result<Self> {
        let mut reader = Reader::new(file.data)?;
        let scan = reader.next_scan()?.ok_or(Error::Corrupt("it has no image"))?;
        let frame = reader.frame.clone().ok_or(Error::Corrupt("it has no frame"))?;
        let (space, inverted) = (reader.space(&frame), reader.inverted());
        let single = !frame.progressive && scan.count == frame.components.len();
        let header = Header { frame, space, inverted, restart: reader.restart, single };
        Ok(Self { reader, scan, header, index: file.index })
    }

    /// The layout under `options`.
    ///
    /// # Errors
    ///
    /// When the options do not suit the file, or the file is too short for what it declares: every block takes bits.
    pub(crate) fn layout(&self, options: &Options) -> Result<Layout> {
        let Header { frame, space, inverted, .. } = &self.header;
        let layout = Layout::new(frame, *space, *inverted, options)?;
        let blocks = if self.header.single {
            frame.mcus_wide * frame.mcus_high * frame.blocks_per_mcu()
        } else {
            // A scan of one component has only the blocks in which there is something to see.
            frame.components.iter().map(|c| c.blocks_wide * c.blocks_high).sum()
        };
        let bits_per_block = if frame.progressive { 1 } else { 2 };
        if blocks as u64 * bits_per_block > self.reader.data.len() as u64 * 8 {
            return Err(Error::Corrupt("the file is too short for its size in pixels"));
        }
        Ok(layout)
    }
}
