//! Files of several scans: all coefficients are gathered first.

use crate::bits::Bits;
use crate::block::extent;
use crate::frame::Frame;
use crate::layout::Layout;
use crate::marker::{Reader, Scan};
use crate::open::Open;
use crate::progressive::{ac_first, ac_refine, dc_first, dc_refine};
use crate::segments::Segments;
use crate::sequential::read_block;
use crate::simd::lane::{Lane, Place, SPARE};
use crate::simd::{Level, Strip};
use crate::single::{Multipliers, Room, deliver, parts};
use crate::tables::{Cache, Table, Use};
use crate::target::Target;
use crate::{Error, Result};
use std::sync::Arc;

/// More scans than this are not looked at: libjpeg is left to refuse them.
const MOST_SCANS: usize = 1000;

/// The work on one file.
struct Multi<'a> {
    reader: Reader<'a>,
    frame: Frame,
    layout: Layout,
    /// Where each component's blocks start in the room.
    bases: [usize; 4],
    multipliers: Multipliers,
    seen: [bool; 4],
    /// For each coefficient how many of its last bits are unknown; -1 for all of them.
    unknown: [[i8; 64]; 4],
}

/// Decodes a file of several scans.
pub(crate) fn decode(
    open: Open<'_>,
    layout: Layout,
    mut target: Target<'_>,
    room: &mut Room,
    cache: &mut Cache,
    level: Level,
) -> Result<()> {
    target.check(layout.height * layout.width * layout.channels)?;
    let Open { reader, scan, header, .. } = open;
    let frame = header.frame;
    let (mut bases, mut blocks) = ([0; 4], 0);
    for (i, c) in frame.components.iter().enumerate() {
        bases[i] = blocks;
        // The vector code writes zeros behind the last block: not into those of a component read before.
        blocks += frame.mcus_wide * c.h * frame.mcus_high * c.v + SPARE;
    }
    room.zero_blocks(blocks);
    room.dirty = true;
    let most = room.extents.len().max(frame.mcus_wide * 4 + 2);
    room.extents.resize(most, 0);
    let multipliers = [[0; 64]; 4];
    let (seen, unknown) = ([false; 4], [[-1; 64]; 4]);
    let mut multi = Multi { reader, frame, layout, bases, multipliers, seen, unknown };
    multi.read_all(scan, blocks, room, cache, level)?;
    multi.check_complete()?;
    multi.deliver_all(&mut target, room, level);
    if multi.is_clean() {
        room.dirty = false;
    }
    Ok(())
}

impl Multi<'_> {
    fn read_all(
        &mut self,
        mut scan: Scan,
        blocks: usize,
        room: &mut Room,
        cache: &mut Cache,
        level: Level,
    ) -> Result<()> {
        let data = self.reader.data;
        // Each scan may visit all blocks, whatever its own size is.
        let most = (data.len() * 256 + (1 << 20)) / blocks;
        for number in 1.. {
            if number > most.min(MOST_SCANS) {
                return Err(Error::Unsupported("very many scans"));
            }
            let in_mcu: usize =
                scan.parts[..scan.count].iter().map(|p| self.frame.components[p.0]).map(|c| c.h * c.v).sum();
            if scan.count > 1 && in_mcu > 10 {
                return Err(Error::Corrupt("an MCU has more than 10 blocks"));
            }
            self.latch(&scan)?;
            self.reader.pos = room.data.read(data, self.reader.pos, self.reader.restart != 0, level)?;
            if self.frame.progressive {
                self.read_progressive(&scan, room, cache, level)?;
            } else {
                self.read_sequential(&scan, room, cache, level)?;
            }
            match self.reader.next_scan()? {
                Some(next) => scan = next,
                None => break,
            }
        }
        Ok(())
    }

    /// A component keeps the quantisation table that it has at its first scan.
    fn latch(&mut self, scan: &Scan) -> Result<()> {
        for &(component, ..) in &scan.parts[..scan.count] {
            if self.seen[component] {
                if !self.frame.progressive {
                    return Err(Error::Unsupported("a component that is coded twice"));
                }
                continue;
            }
            self.seen[component] = true;
            let table = self.reader.quant.get(self.frame.components[component].table);
            let table = table.and_then(Option::as_ref);
            let table = table.ok_or(Error::Corrupt("a quantisation table is missing"))?;
            if let Some(plane) = self.layout.planes.get(component) {
                self.multipliers[component] = plane.kind.multipliers(table);
            }
        }
        Ok(())
    }

    /// The MCUs of a scan: how many in a row and how many rows.
    fn extent(&self, scan: &Scan) -> (usize, usize) {
        if scan.count == 1 {
            let c = &self.frame.components[scan.parts[0].0];
            (c.blocks_wide, c.blocks_high)
        } else {
            (self.frame.mcus_wide, self.frame.mcus_high)
        }
    }

    /// Component and place of each block of an MCU.
    fn places(
        &self,
        scan: &Scan,
        x: usize,
        y: usize,
        mut each: impl FnMut(usize, usize) -> Result<()>,
    ) -> Result<()> {
        for (i, &(component, ..)) in scan.parts[..scan.count].iter().enumerate() {
            let c = &self.frame.components[component];
            let wide = self.frame.mcus_wide * c.h;
            if scan.count == 1 {
                each(i, self.bases[component] + y * wide + x)?;
                continue;
            }
            for v in 0..c.v {
                let start = self.bases[component] + (y * c.v + v) * wide + x * c.h;
                for h in 0..c.h {
                    each(i, start + h)?;
                }
            }
        }
        Ok(())
    }

    fn read_sequential(
        &mut self,
        scan: &Scan,
        room: &mut Room,
        cache: &mut Cache,
        level: Level,
    ) -> Result<()> {
        if scan.band != (0, 63) || scan.bits != (0, 0) {
            return Err(Error::Unsupported("an unusual scan"));
        }
        let tables = parts(&self.reader, scan, &self.frame, cache, level, Vec::new())?;
        let (wide, high) = self.extent(scan);
        let mut segments = Segments::new(self.reader.restart);
        if scan.count == 1 {
            let component = scan.parts[0].0;
            let stride = self.frame.mcus_wide * self.frame.components[component].h;
            let mut place = Place::default();
            for y in 0..high {
                let mut x = 0;
                while x < wide {
                    if segments.next(&room.data.ends, place.bit)? {
                        place.bit = segments.start(&room.data.ends);
                        place.previous = [0; 4];
                    }
                    let count = (wide - x).min(segments.left);
                    let start = self.bases[component] + y * stride + x;
                    let blocks = &mut room.blocks[start..];
                    let extents = &mut room.extents[..];
                    place.block = 0;
                    let bytes = &room.data.bytes;
                    let mut lane =
                        Lane { bytes, parts: &tables, place: &mut place, blocks, extents, end: count };
                    level.read(&mut lane)?;
                    segments.pass(count);
                    x += count;
                }
            }
            return segments.finish(&room.data.ends, place.bit);
        }
        let mut bits = Bits::new(&room.data.bytes, 0);
        let mut previous = [0; 4];
        // One entry per component is enough here.
        let tables: Vec<_> =
            (0..scan.count).filter_map(|i| tables.iter().find(|t| t.component == scan.parts[i].0)).collect();
        for y in 0..high {
            for x in 0..wide {
                if segments.next(&room.data.ends, bits.bit())? {
                    bits = Bits::new(&room.data.bytes, segments.start(&room.data.ends));
                    previous = [0; 4];
                }
                let blocks = &mut room.blocks;
                self.places(scan, x, y, |i, at| {
                    let (dc, ac) = (&tables[i].dc.codes, &tables[i].ac.codes);
                    read_block(&mut bits, dc, ac, &mut previous[i], &mut blocks[at]).map(drop)
                })?;
                segments.pass(1);
            }
        }
        segments.finish(&room.data.ends, bits.bit())
    }

    fn read_progressive(
        &mut self,
        scan: &Scan,
        room: &mut Room,
        cache: &mut Cache,
        level: Level,
    ) -> Result<()> {
        self.progress(scan)?;
        let ((first, last), (high_bit, low)) = (scan.band, scan.bits);
        let tables = self.progressive_tables(scan, cache)?;
        let (wide, high) = self.extent(scan);
        let mut segments = Segments::new(self.reader.restart);
        let mut bits = Bits::new(&room.data.bytes, 0);
        let blocks = &mut room.blocks;
        if first == 0 {
            let mut previous = [0; 4];
            for y in 0..high {
                for x in 0..wide {
                    if segments.next(&room.data.ends, bits.bit())? {
                        bits = Bits::new(&room.data.bytes, segments.start(&room.data.ends));
                        previous = [0; 4];
                    }
                    self.places(scan, x, y, |i, at| {
                        if high_bit == 0 {
                            dc_first(&mut bits, &tables[i].codes, &mut previous[i], low, &mut blocks[at])
                        } else {
                            dc_refine(&mut bits, low, &mut blocks[at]);
                            Ok(())
                        }
                    })?;
                    segments.pass(1);
                }
            }
            return segments.finish(&room.data.ends, bits.bit());
        }
        let component = scan.parts[0].0;
        let stride = self.frame.mcus_wide * self.frame.components[component].h;
        let codes = &tables[0].codes;
        let mut run = 0;
        for y in 0..high {
            let start = self.bases[component] + y * stride;
            for block in &mut blocks[start..start + wide] {
                if segments.next(&room.data.ends, bits.bit())? {
                    if run != 0 {
                        return Err(Error::Corrupt("a run goes beyond a restart marker"));
                    }
                    bits = Bits::new(&room.data.bytes, segments.start(&room.data.ends));
                }
                segments.pass(1);
                if high_bit != 0 {
                    {
                        let nonzero = level.nonzero(block);
                        ac_refine(&mut bits, codes, (first, last), low, &mut run, block, nonzero)?
                    };
                } else if run > 0 {
                    run -= 1;
                } else {
                    ac_first(&mut bits, codes, (first, last), low, &mut run, block)?;
                }
            }
        }
        if run != 0 {
            return Err(Error::Corrupt("a run goes beyond the scan"));
        }
        segments.finish(&room.data.ends, bits.bit())
    }

    /// Checks that a scan follows from those before and notes what it adds.
    fn progress(&mut self, scan: &Scan) -> Result<()> {
        let ((first, last), (high, low)) = (scan.band, scan.bits);
        let band = if first == 0 { last == 0 } else { first <= last && last < 64 && scan.count == 1 };
        if !band || low > 13 || (high != 0 && low + 1 != high) {
            return Err(Error::Corrupt("a scan's parameters are impossible"));
        }
        for &(component, ..) in &scan.parts[..scan.count] {
            let unknown = &mut self.unknown[component];
            if first > 0 && unknown[0] < 0 {
                return Err(Error::Unsupported("scans in an unusual order"));
            }
            for bits in &mut unknown[first..=last] {
                // A first scan is one of coefficients of which nothing is known.
                if (*bits).max(0) as u32 != high || (high == 0 && *bits >= 0) {
                    return Err(Error::Unsupported("scans in an unusual order"));
                }
                *bits = low as i8;
            }
        }
        Ok(())
    }

    /// The table of each component of a scan; a refinement of DC coefficients needs none.
    fn progressive_tables(&self, scan: &Scan, cache: &mut Cache) -> Result<Vec<Arc<Table>>> {
        let dc = scan.band.0 == 0;
        if dc && scan.bits.0 != 0 {
            return Ok(Vec::new());
        }
        let find = |&(_, dc_table, ac_table): &(usize, usize, usize)| {
            let spec = if dc { self.reader.dc.get(dc_table) } else { self.reader.ac.get(ac_table) };
            let spec = spec.and_then(Option::as_ref);
            let spec = spec.ok_or(Error::Corrupt("a scan's Huffman table is missing"))?;
            cache.get(spec, if dc { Use::Dc } else { Use::Ac }, Level::Plain)
        };
        scan.parts[..scan.count].iter().map(find).collect()
    }

    /// Libjpeg smooths the blocks of a progressive file whose low frequencies are not known to the last bit.
    fn check_complete(&self) -> Result<()> {
        for (i, _) in self.frame.components.iter().enumerate() {
            if !self.seen[i] {
                return Err(Error::Unsupported("a component without a scan"));
            }
            if self.frame.progressive && self.unknown[i][..10].iter().any(|&bits| bits != 0) {
                return Err(Error::Unsupported("a progressive file that is not complete"));
            }
        }
        Ok(())
    }

    fn deliver_all(&mut self, target: &mut Target<'_>, room: &mut Room, level: Level) {
        let layout = &self.layout;
        room.bands.prepare(layout);
        let mut delivered = layout.first_row;
        for band in layout.first_band..=layout.last_band {
            for (i, (p, multipliers)) in layout.planes.iter().zip(&self.multipliers).enumerate() {
                let (out, stride) = room.bands.band(i, p, band);
                let wide = self.frame.mcus_wide * p.h;
                for v in 0..p.v {
                    let base = self.bases[i] + (band * p.v + v) * wide;
                    let row = &mut room.blocks[base..base + wide];
                    for (extent_of, block) in room.extents.iter_mut().zip(&*row) {
                        *extent_of = extent(block);
                    }
                    let strip = Strip { base: 0, h: 1, step: 1, first: p.first_block, count: p.blocks };
                    let out = &mut out[v * p.size * stride..];
                    level.transform(p.kind, multipliers, (row, &room.extents), strip, out, stride);
                }
            }
            deliver(layout, target, &mut room.bands, level, band + 1, &mut delivered);
        }
    }

    /// Whether every block was transformed, and so is zero again.
    fn is_clean(&self) -> bool {
        let l = &self.layout;
        l.planes.len() == self.frame.components.len()
            && (l.first_band, l.last_band + 1) == (0, self.frame.mcus_high)
            && l.planes.iter().all(|p| p.blocks == self.frame.mcus_wide * p.h)
    }
}
