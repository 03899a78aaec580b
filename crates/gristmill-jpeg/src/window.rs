//! The tables of the fast reader. One look-up of the next [`BITS`] bits gives up to four coefficients in their zigzag
//! places, of one symbol or several, and how far they reach.
//!
//! An entry is, from its lowest byte: the number of bits used (lowest, for the shortest way to the next look-up), the
//! number of positions passed, in 16 bits twice the distance from the current position to the first coefficient, and four
//! coefficients of 8 bits.

use crate::Result;
use crate::huffman::Spec;

/// Bits that an AC look-up sees, at most.
pub(crate) const BITS: u32 = 11;
/// Bits that an AC look-up of a colour plane sees. Those have few coefficients, and the tables have to share the fastest
/// cache.
pub(crate) const NARROW: u32 = 10;
/// Added to the positions when the block ends.
pub(crate) const END: u32 = 80;
/// The positions of an entry that has no coefficient. If the code alone fits into the window, the bits used are those of
/// the code, and its symbol takes the place of the distance; if not, both are 0.
pub(crate) const SLOW: u32 = 176;
/// Bits that a DC look-up sees.
pub(crate) const DC_BITS: u32 = 7;

const fn entry(values: u32, bits: u32, positions: u32, offset: u32) -> u64 {
    (values as u64) << 32 | (offset as u64) << 17 | (positions as u64) << 8 | bits as u64
}

/// The value that `raw` stands for with `size` bits.
fn value(raw: u32, size: u32) -> i32 {
    if raw >> (size - 1) == 0 { raw as i32 + 1 - (1 << size) } else { raw as i32 }
}

/// A DC entry is, from its lowest byte: bits of code and value together, bits of the code, 63 less the size of the
/// value, nothing; above them what to add to a negative value. 0 if the code is longer than the window.
pub(crate) fn build_dc(spec: &Spec, table: &mut Vec<u64>) -> Result<()> {
    table.clear();
    table.resize(1 << DC_BITS, 0);
    spec.codes(|length, code, symbol| {
        if length <= DC_BITS {
            let size = u32::from(symbol & 15);
            let low = (length + size) | length << 8 | (63 - size) << 16;
            let bias = 1 - (1i32 << size);
            let at = (code << (DC_BITS - length)) as usize;
            table[at..at + (1 << (DC_BITS - length))].fill(u64::from(low) | u64::from(bias as u32) << 32);
        }
    })
}

/// One symbol of an AC table.
#[derive(Clone, Copy)]
struct Symbol {
    /// Bits of the code and of code and value.
    length: u32,
    total: u32,
    code: u32,
    run: u32,
    size: u32,
}

/// Fills `table` for an AC table and look-ups of `width` bits.
pub(crate) fn build_ac(spec: &Spec, table: &mut Vec<u64>, width: u32) -> Result<()> {
    table.clear();
    // One more: the vector that is loaded for the last one reaches beyond it.
    table.resize((1 << width) + 1, entry(0, 0, SLOW, 0));
    let mut symbols = Vec::with_capacity(160);
    spec.codes(|length, code, symbol| {
        if length > width {
            return;
        }
        let (run, size) = (u32::from(symbol >> 4), u32::from(symbol & 15));
        if length + size > width || size > 7 {
            let at = (code << (width - length)) as usize;
            let known = entry(0, length, SLOW, 0) | u64::from(symbol) << 16;
            table[at..at + (1 << (width - length))].fill(known);
        } else {
            symbols.push(Symbol { length, total: length + size, code, run, size });
        }
    })?;
    symbols.sort_unstable_by_key(|s| s.total);
    if let Some(first) = symbols.first() {
        let shortest = first.total;
        let start = Prefix { base: 0, bits: 0, positions: 0, values: 0 };
        extend(table, width, &symbols, shortest, start);
    }
    Ok(())
}

/// The symbols that a window starts with.
#[derive(Clone, Copy)]
struct Prefix {
    /// The first window that starts so.
    base: u32,
    bits: u32,
    positions: u32,
    values: u32,
}

/// Fills the windows that start with `prefix`, which have its own entry already, with those of one more symbol, and so
/// on.
fn extend(table: &mut [u64], width: u32, symbols: &[Symbol], shortest: u32, prefix: Prefix) {
    let room = width - prefix.bits;
    for s in symbols {
        if s.total > room {
            break;
        }
        let base = prefix.base + (s.code << (room - s.length));
        let bits = prefix.bits + s.total;
        let count = 1usize << (room - s.total);
        if s.size == 0 {
            let positions = match s.run {
                15 if prefix.bits == 0 => 16,
                // It does not fit beside others.
                15 => continue,
                _ => prefix.positions + END,
            };
            let at = base as usize;
            table[at..at + count].fill(entry(prefix.values, bits, positions, 0));
            continue;
        }
        let positions = prefix.positions + s.run + 1;
        if positions > 4 && prefix.bits > 0 {
            continue;
        }
        let offset = positions.saturating_sub(4);
        let shift = 8 * (positions - 1 - offset);
        for raw in 0..1u32 << s.size {
            let values = prefix.values | (value(raw, s.size) as u8 as u32) << shift;
            let base = base + raw * count as u32;
            let at = base as usize;
            table[at..at + count].fill(entry(values, bits, positions, offset));
            if offset == 0 && width - bits >= shortest {
                extend(table, width, symbols, shortest, Prefix { base, bits, positions, values });
            }
        }
    }
}
