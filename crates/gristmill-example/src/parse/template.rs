//! Records that differ in nothing but their values: where a whole record has the length and, outside of the
//! values, the bytes of an earlier one, its values lie where they lay there. That is found out by comparing words
//! under masks, without a branch per feature.
//!
//! The bytes of a string or of packed floats are free. Of an integer's bytes the uppermost bits count: they say how
//! long it is.

use crate::list::{List, copy_floats, each_bytes};
use crate::parse::layout::Place;
use crate::parse::locate::{Found, each_feature};
use crate::parse::scan::{FIRST, joined_groups, rest};
use gristmill_types::StrSpan;

/// Values of a record that may have places of their own here.
const MOST_VALUES: usize = 256;
/// Bytes that are compared at a time.
const WIDTH: usize = 16;

/// Bytes that are compared.
struct Piece {
    /// First byte in the record.
    at: usize,
    /// What is expected, and which bits count.
    expected: u128,
    mask: u128,
}

/// A varint of at most eight bytes: the word that holds it, and how it is taken out.
struct Varint {
    at: usize,
    shift: u32,
    mask: u64,
}

/// Where a feature's values lie.
enum Values {
    Skip,
    Note(List),
    Ints(Vec<Varint>),
    Floats(usize),
    /// First byte and length of each.
    Strings(Vec<(usize, usize)>),
}

/// See the module.
pub(super) struct Template {
    len: usize,
    pieces: Vec<Piece>,
    values: Vec<Values>,
}

impl Template {
    /// The form of a record that the layout with these places reads: feature by feature, in their order. `None`
    /// where it is no use.
    pub(super) fn of(data: &[u8], places: &[Place<'_>]) -> Option<Self> {
        let mut masks = vec![0xff; data.len()];
        let mut values = Vec::with_capacity(places.len());
        let mut room = MOST_VALUES;
        let mut useful = true;
        each_feature(data, |_, list| {
            let found = places.get(values.len()).zip(list);
            match found.and_then(|(place, list)| values_of(data, list, place, &mut masks, &mut room)) {
                Some(found) => values.push(found),
                None => useful = false,
            }
        })
        .ok()?;
        if !useful || values.len() != places.len() {
            return None;
        }
        Some(Self { len: data.len(), pieces: pieces(data, &masks)?, values })
    }

    /// Bytes of the records that it may fit.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Whether the record has this form.
    #[inline]
    pub(super) fn fits(&self, data: &[u8]) -> bool {
        if data.len() != self.len {
            return false;
        }
        let mut other = 0;
        for piece in &self.pieces {
            let Some(bytes) = data.get(piece.at..).and_then(|d| d.first_chunk::<WIDTH>()) else {
                return false;
            };
            other |= (u128::from_ne_bytes(*bytes) ^ piece.expected) & piece.mask;
        }
        other == 0
    }
}

/// A record, where it lies, and which of the forms it has.
pub(super) type Fitting<'a> = (&'a [u8], StrSpan, usize);

/// Writes the values of records, the first of which is number `row`: column after column, since what the values of
/// one column take is the same for all of them, and one record's need not wait for another's. What is noted is the
/// last record's.
pub(super) fn write(
    forms: &[Template],
    records: &[Fitting<'_>],
    row: usize,
    places: &mut [Place<'_>],
    found: &mut [Found],
) -> Option<()> {
    let &(_, _, form) = records.first()?;
    let alike = records.iter().all(|r| r.2 == form);
    for (k, place) in places.iter_mut().enumerate() {
        if alike {
            let values = forms.get(form)?.values.get(k)?;
            write_column(records, row, place, found, |_| Some(values))?;
        } else {
            write_column(records, row, place, found, |form| forms.get(form)?.values.get(k))?;
        }
    }
    Some(())
}

#[inline(always)]
fn write_column<'t>(
    records: &[Fitting<'_>],
    row: usize,
    place: &mut Place<'_>,
    found: &mut [Found],
    values: impl Fn(usize) -> Option<&'t Values>,
) -> Option<()> {
    match place {
        Place::Skip => {}
        Place::Note(slot) => {
            let Values::Note(list) = values(records.last()?.2)? else { return None };
            *found.get_mut(*slot)? = Found::List(*list);
        }
        Place::Ints(out, bytes) => {
            let out = out.get_mut(row * *bytes..)?.chunks_exact_mut(*bytes);
            for (&(data, _, form), out) in records.iter().zip(out) {
                let Values::Ints(ints) = values(form)? else { return None };
                for (place, int) in out.as_chunks_mut::<8>().0.iter_mut().zip(ints) {
                    let word = u64::from_le_bytes(*data.get(int.at..)?.first_chunk::<8>()?);
                    *place = joined_groups((word >> int.shift) & int.mask).to_ne_bytes();
                }
            }
        }
        Place::Floats(out, bytes) => {
            let out = out.get_mut(row * *bytes..)?.chunks_exact_mut(*bytes);
            for (&(data, _, form), out) in records.iter().zip(out) {
                let Values::Floats(start) = values(form)? else { return None };
                copy_floats(data.get(*start..*start + out.len())?, out);
            }
        }
        Place::Strings(out, _) => {
            for &(_, span, form) in records {
                let Values::Strings(strings) = values(form)? else { return None };
                strings.iter().for_each(|&(start, len)| out.push(span, start, len));
            }
        }
    }
    Some(())
}

/// Where the values of a list lie; takes them out of the masks.
fn values_of(
    data: &[u8],
    list: List,
    place: &Place<'_>,
    masks: &mut [u8],
    room: &mut usize,
) -> Option<Values> {
    let mut take = |n: usize| {
        *room = room.checked_sub(n)?;
        Some(())
    };
    match place {
        Place::Skip => {
            masks[list.range()].fill(0);
            Some(Values::Skip)
        }
        Place::Note(_) => {
            masks[list.range()].fill(0);
            Some(Values::Note(list))
        }
        Place::Ints(_, bytes) => {
            take(*bytes / 8)?;
            let packed = *data.get(list.start)? == FIRST;
            let mut at = if packed { rest(data, list.start + 1, list.end)? } else { list.start };
            let mut ints = Vec::with_capacity(*bytes / 8);
            while at < list.end {
                at += usize::from(!packed);
                let n = data[at..list.end].iter().position(|b| b & 0x80 == 0)? + 1;
                let first = at.min(data.len().checked_sub(8)?);
                if n > 8 {
                    return None;
                }
                let mask = 0x7f7f_7f7f_7f7f_7f7f >> (8 * (8 - n));
                ints.push(Varint { at: first, shift: 8 * (at - first) as u32, mask });
                masks[at..at + n].fill(0x80);
                at += n;
            }
            (ints.len() == *bytes / 8).then_some(Values::Ints(ints))
        }
        Place::Floats(_, bytes) => {
            let start = list.end.checked_sub(*bytes)?;
            let packed = *data.get(list.start)? == FIRST && rest(data, list.start + 1, list.end)? == start;
            masks[start..list.end].fill(0);
            packed.then_some(Values::Floats(start))
        }
        Place::Strings(_, count) => {
            take(*count)?;
            let mut strings = Vec::with_capacity(*count);
            each_bytes(data, list.range(), |r| strings.push((r.start, r.len()))).ok()?;
            strings.iter().for_each(|&(start, len)| masks[start..start + len].fill(0));
            (strings.len() == *count).then_some(Values::Strings(strings))
        }
    }
}

/// The places in which bytes count.
fn pieces(data: &[u8], masks: &[u8]) -> Option<Vec<Piece>> {
    let mut pieces = Vec::new();
    let mut done = 0;
    while let Some(next) = masks[done..].iter().position(|&m| m != 0) {
        // At the end of the record a piece begins earlier.
        let at = (done + next).min(data.len().checked_sub(WIDTH)?);
        let word = |bytes: &[u8]| bytes[at..].first_chunk::<WIDTH>().copied().map(u128::from_ne_bytes);
        pieces.push(Piece { at, expected: word(data)?, mask: word(masks)? });
        done = at + WIDTH;
    }
    Some(pieces)
}
