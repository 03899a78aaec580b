//! Files whose only scan has all components: some MCUs are read and transformed, then the next ones, and each MCU row is
//! delivered.

use crate::bands::Bands;
use crate::block::{Block, EMPTY};
use crate::frame::Frame;
use crate::layout::Layout;
use crate::marker::{Reader, Scan};
use crate::open::Open;
use crate::simd::lane::{Lane, Part, Place, SPARE};
use crate::simd::{Level, Strip};
use crate::tables::{Cache, Use};
use crate::target::Target;
use crate::unstuff::ScanData;
use crate::{Error, Result};

/// Memory that is kept from file to file.
#[derive(Default)]
pub(crate) struct Room {
    pub(crate) data: ScanData,
    /// The blocks of some MCUs (and some more), or of whole components one after the other. All zero between files
    /// unless `dirty`.
    pub(crate) blocks: Vec<Block>,
    pub(crate) extents: Vec<u8>,
    pub(crate) bands: Bands,
    /// Empty between files.
    parts: Vec<Part>,
    pub(crate) dirty: bool,
}

impl Room {
    /// Makes room for `count` zero blocks.
    pub(crate) fn zero_blocks(&mut self, count: usize) {
        if self.dirty {
            self.blocks.clear();
        }
        self.dirty = false;
        if self.blocks.len() < count {
            self.blocks.resize(count, EMPTY);
        }
    }
}

/// Blocks that are read before they are transformed: few enough to stay in the fastest cache beside the tables.
const BLOCKS_AT_ONCE: usize = 96;

/// The quantisation multipliers of the planes.
pub(crate) type Multipliers = [[i16; 64]; 4];

/// The work on one file.
pub(crate) struct Single<'a> {
    frame: Frame,
    pub(crate) layout: Layout,
    target: Target<'a>,
    parts: Vec<Part>,
    multipliers: Multipliers,
    place: Place,
    /// The current MCU row, what is left of it, and of the restart interval.
    row: usize,
    row_left: usize,
    restart: usize,
    restart_left: usize,
    /// The current restart segment.
    segment: usize,
    /// MCUs at the end of a row that need not be read where an index says how to go on; 0 without one.
    beyond: usize,
    /// MCUs that are read at once, and at most.
    stretch: usize,
    most: usize,
    /// Output rows (of the whole image) that were delivered.
    delivered: usize,
}

/// The tables of each block of a scan's MCU; `parts` is an empty list, whose memory is used.
pub(crate) fn parts(
    reader: &Reader<'_>,
    scan: &Scan,
    frame: &Frame,
    cache: &mut Cache,
    level: Level,
    mut parts: Vec<Part>,
) -> Result<Vec<Part>> {
    const NONE: Error = Error::Corrupt("a scan's Huffman table is missing");
    for &(component, dc, ac) in &scan.parts[..scan.count] {
        let dc = reader.dc.get(dc).and_then(Option::as_ref).ok_or(NONE)?;
        let ac = reader.ac.get(ac).and_then(Option::as_ref).ok_or(NONE)?;
        let for_ac = if matches!(component, 1 | 2) { Use::ColorAc } else { Use::Ac };
        let (dc, ac) = (cache.get(dc, Use::Dc, level)?, cache.get(ac, for_ac, level)?);
        let c = &frame.components[component];
        let part = Part { dc, ac, component };
        let blocks = if scan.count == 1 { 1 } else { c.h * c.v };
        parts.extend(std::iter::repeat_n(part, blocks));
    }
    if parts.len() > 10 {
        return Err(Error::Corrupt("an MCU has more than 10 blocks"));
    }
    Ok(parts)
}

impl<'a> Single<'a> {
    /// Prepares everything up to the first block.
    pub(crate) fn new(
        open: Open<'_>,
        layout: Layout,
        target: Target<'a>,
        room: &mut Room,
        cache: &mut Cache,
        level: Level,
    ) -> Result<Self> {
        let Open { mut reader, scan, header, index } = open;
        let frame = header.frame;
        target.check(layout.height * layout.width * layout.channels)?;
        let in_order = scan.parts[..scan.count].iter().enumerate().all(|(i, p)| p.0 == i);
        if scan.band != (0, 63) || scan.bits != (0, 0) || !in_order {
            return Err(Error::Unsupported("an unusual scan"));
        }
        let parts = parts(&reader, &scan, &frame, cache, level, std::mem::take(&mut room.parts))?;
        let mut multipliers = [[0; 64]; 4];
        for (i, c) in frame.components.iter().enumerate() {
            let table = reader.quant.get(c.table).and_then(Option::as_ref);
            let table = table.ok_or(Error::Corrupt("a quantisation table is missing"))?;
            if let Some(plane) = layout.planes.get(i) {
                multipliers[i] = plane.kind.multipliers(table);
            }
        }
        let (restart, wide) = (reader.restart, frame.mcus_wide);
        let bands = (layout.first_band, layout.last_band);
        let beyond = wide - layout.mcus_read(wide);
        let known = index.filter(|_| restart == 0);
        let known = known.and_then(|i| i.pieces(reader.data, reader.pos, &frame, bands, beyond == 0));
        // Whoever made the index has seen that the rest is intact.
        let known = known.map(|pieces| room.data.read_pieces(reader.data, pieces, wide, level));
        if known.is_none() {
            reader.pos = room.data.read(reader.data, reader.pos, restart != 0, level)?;
            if reader.next_scan()?.is_some() {
                return Err(Error::Corrupt("there is a scan after the last"));
            }
        }
        let blocks = BLOCKS_AT_ONCE.max(parts.len());
        room.zero_blocks(blocks + SPARE);
        room.extents.resize(room.extents.len().max(blocks), 0);
        room.bands.prepare(&layout);
        room.dirty = true;
        let most = (BLOCKS_AT_ONCE / parts.len()).max(1);
        // Restart segments that end above the first band need not be read.
        let first_mcu = layout.first_band * wide;
        let segment = first_mcu.checked_div(restart).map_or(0, |s| s.min(room.data.ends.len() - 1));
        let start = known.map_or(segment * restart, |row| row * wide);
        let (row, row_left) = (start / wide, wide - start % wide);
        let mut restart_left = if restart == 0 { usize::MAX } else { restart };
        let mut place = Place::default();
        if segment > 0 {
            place.bit = room.data.ends[segment - 1] * 8;
        }
        let mut beyond = beyond;
        match room.data.starts.first() {
            Some(start) => {
                (place.bit, place.previous, restart_left) = (start.bit, start.previous, start.mcus);
            }
            // The way on is known only from what lies there.
            None => beyond = 0,
        }
        let delivered = layout.first_row;
        let mut single = Self {
            frame,
            layout,
            target,
            parts,
            multipliers,
            place,
            row,
            row_left,
            restart,
            restart_left,
            segment,
            beyond,
            most,
            stretch: 0,
            delivered,
        };
        single.set_stretch();
        Ok(single)
    }

    /// Sets how many MCUs are read next.
    fn set_stretch(&mut self) {
        let mut left = self.row_left;
        if self.is_last_row() && left > self.beyond {
            left -= self.beyond;
        }
        self.stretch = left.min(self.restart_left).min(self.most);
    }

    /// Whether the row is the last one of its segment or the last that is needed.
    fn is_last_row(&self) -> bool {
        self.restart_left == self.row_left || self.row == self.layout.last_band
    }

    /// What is to be read next.
    pub(crate) fn lane<'r>(&'r mut self, room: &'r mut Room) -> Lane<'r> {
        let end = self.stretch * self.parts.len();
        let (blocks, extents) = (&mut room.blocks[..], &mut room.extents[..]);
        Lane { bytes: &room.data.bytes, parts: &self.parts, place: &mut self.place, blocks, extents, end }
    }

    /// Goes on after a stretch was read, and says whether the file is done.
    pub(crate) fn next(&mut self, room: &mut Room, level: Level) -> Result<bool> {
        let end = room.data.ends[self.segment];
        if self.place.bit > end * 8 {
            return Err(Error::Corrupt("a scan ends early"));
        }
        self.transform(room, level);
        self.place.block = 0;
        self.row_left -= self.stretch;
        if self.restart_left != usize::MAX {
            self.restart_left -= self.stretch;
        }
        if self.row_left <= self.beyond && self.is_last_row() {
            // The columns right of those that are needed: the next row's beginning is known without them.
            self.restart_left -= self.row_left;
            self.row_left = 0;
        }
        if self.row_left == 0 {
            if self.row >= self.layout.first_band {
                let bands = &mut room.bands;
                deliver(&self.layout, &mut self.target, bands, level, self.row + 1, &mut self.delivered);
            }
            self.row += 1;
            if self.row > self.layout.last_band {
                if self.row == self.frame.mcus_high && self.segment + 1 != room.data.ends.len() {
                    return Err(Error::Corrupt("a scan has too many segments"));
                }
                room.dirty = false;
                self.parts.clear();
                room.parts = std::mem::take(&mut self.parts);
                return Ok(true);
            }
            self.row_left = self.frame.mcus_wide;
        }
        if self.restart_left == 0 {
            self.segment += 1;
            if self.segment == room.data.ends.len() {
                return Err(Error::Corrupt("a restart marker is missing"));
            }
            (self.restart_left, self.place.bit, self.place.previous) =
                match room.data.starts.get(self.segment) {
                    Some(start) => (start.mcus, start.bit, start.previous),
                    None => (self.restart, end * 8, [0; 4]),
                };
        }
        self.set_stretch();
        Ok(false)
    }

    /// Where the data are, if an MCU row begins there.
    pub(crate) fn row_start(&self) -> Option<&Place> {
        (self.row_left == self.frame.mcus_wide).then_some(&self.place)
    }

    /// Transforms the stretch that was read and makes its blocks zero.
    fn transform(&mut self, room: &mut Room, level: Level) {
        let step = self.parts.len();
        let mut all =
            self.row >= self.layout.first_band && self.layout.planes.len() == self.frame.components.len();
        if self.row >= self.layout.first_band {
            let start = self.frame.mcus_wide - self.row_left;
            let mut base = 0;
            for (i, (p, multipliers)) in self.layout.planes.iter().zip(&self.multipliers).enumerate() {
                // The columns of the stretch that are needed.
                let (first, end) = (start * p.h, (start + self.stretch) * p.h);
                let (from, to) = (first.max(p.first_block), end.min(p.first_block + p.blocks));
                all &= (from, to) == (first, end);
                if from < to {
                    let (out, stride) = room.bands.band(i, p, self.row);
                    let out = &mut out[(from - p.first_block) * p.size..];
                    for v in 0..p.v {
                        let (base, first, count) = (base + v * p.h, from - first, to - from);
                        let strip = Strip { base, h: p.h, step, first, count };
                        let blocks = (&mut room.blocks[..], &room.extents[..]);
                        let out = &mut out[v * p.size * stride..];
                        level.transform(p.kind, multipliers, blocks, strip, out, stride);
                    }
                }
                base += p.h * p.v;
            }
        }
        if !all {
            room.blocks[..self.stretch * step].fill(EMPTY);
        }
    }
}

/// Delivers the rows that are complete after `bands` bands and have not been `delivered`.
pub(crate) fn deliver(
    layout: &Layout,
    target: &mut Target<'_>,
    bands: &mut Bands,
    level: Level,
    done: usize,
    delivered: &mut usize,
) {
    let ready = layout.rows_ready(done).min(layout.first_row + layout.height);
    if ready <= *delivered {
        return;
    }
    let (first, end) = (*delivered - layout.first_row, ready - layout.first_row);
    target.rows(first, end, layout.width * layout.channels, |out| {
        bands.render(layout, level, *delivered, ready, out);
    });
    *delivered = ready;
}
