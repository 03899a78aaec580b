//! Making an index by reading a file once.

use std::num::NonZeroUsize;

use super::{Entry, RestartIndex};
use crate::checksum::checksum;
use crate::open::Open;
use crate::options::{Edges, Options, Region};
use crate::simd::Level;
use crate::single::{Room, Single};
use crate::tables::Cache;
use crate::target::Target;
use crate::{Error, Result};

/// Bytes of the scan for each entry, at least: those take 5 to 8 bytes as a rule.
const BYTES_AN_ENTRY: usize = 1024;

impl RestartIndex {
    /// Reads the whole file. `rows` are the MCU rows from one entry to the next; without it, as many as have 1 KB on
    /// average, so that the index takes a hundredth of the file at most, as a rule.
    ///
    /// That of a file with restart markers is empty: a decoder finds its way by them.
    ///
    /// # Errors
    ///
    /// As [`Decoder::decode`](crate::Decoder::decode), and [`Error::Unsupported`] for a progressive file or one that has
    /// its components in several scans.
    pub fn build(data: &[u8], rows: Option<NonZeroUsize>) -> Result<Self> {
        let open = Open::new(data.into())?;
        if !open.header.single_scan() {
            return Err(Error::Unsupported("an index of a file with more than one scan"));
        }
        let (frame, start) = (open.header.frame.clone(), open.reader.pos);
        // Everything is read; the last rows are decoded, too.
        let (x, y) = (0, frame.height.div_ceil(8) - 1);
        let region = Some(Region { x, y, width: 1, height: 1, edges: Edges::Whole });
        let options = Options { ratio: 8, region, ..Options::default() };
        let layout = open.layout(&options)?;
        let marked = open.header.restart_interval() != 0;
        let (mut room, level) = (Room::default(), Level::detect());
        let mut pixel = [0; 4];
        let target = Target::Whole(&mut pixel[..layout.channels]);
        let mut single = Single::new(open, layout, target, &mut room, &mut Cache::default(), level)?;
        let mut entries = Vec::new();
        loop {
            level.read(&mut single.lane(&mut room))?;
            if single.next(&mut room, level)? {
                break;
            }
            if let Some(place) = single.row_start().filter(|_| !marked) {
                entries.push(Entry { bit: place.bit as u64, previous: place.previous });
            }
        }
        let in_row = (room.data.bytes.len() / frame.mcus_high).max(1);
        let every = rows.map_or(BYTES_AN_ENTRY.div_ceil(in_row), NonZeroUsize::get);
        let every = if marked { frame.mcus_high } else { every };
        let mut at = 0;
        entries.retain(|_| {
            at += 1;
            at % every == 0
        });
        stuff(&data[start..], start as u64, &mut entries);
        let components = frame.components.len();
        Ok(Self { length: data.len() as u64, file: checksum(data), every, components, entries })
    }
}

/// Makes positions in a scan without stuffing positions in the file. `scan` is the scan with stuffing and `start` the
/// byte where it starts.
fn stuff(scan: &[u8], start: u64, entries: &mut [Entry]) {
    // The bytes that were looked at, and those of them that are stuffing.
    let (mut seen, mut stuffing) = (0, 0);
    for entry in entries {
        let byte = (entry.bit / 8) as usize;
        while seen < byte + stuffing {
            let end = byte + stuffing;
            match scan[seen..end].iter().position(|&b| b == 0xFF) {
                Some(at) => {
                    seen += at + 2;
                    stuffing += 1;
                }
                None => seen = end,
            }
        }
        entry.bit += (start + stuffing as u64) * 8;
    }
}
