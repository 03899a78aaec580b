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
/// Words that are compared at a time, and in records that are too short for it.
const WIDE: usize = 4;
const NARROW: usize = 2;

/// Words that are compared.
struct Piece<const N: usize> {
    /// First byte in the record.
    at: usize,
    /// What is expected, and which bits count.
    expected: [u64; N],
    mask: [u64; N],
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
    /// One of them is empty.
    wide: Vec<Piece<WIDE>>,
    narrow: Vec<Piece<NARROW>>,
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
        let (wide, narrow) = match pieces(data, &masks) {
            Some(wide) => (wide, Vec::new()),
            None => (Vec::new(), pieces(data, &masks)?),
        };
        Some(Self { len: data.len(), wide, narrow, values })
    }

    /// Bytes of the records that it may fit.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Whether the record has this form.
    #[inline]
    pub(super) fn fits(&self, data: &[u8]) -> bool {
        data.len() == self.len && agree(data, &self.wide) && agree(data, &self.narrow)
    }
}

/// Whether the record has in all these places what is expected.
#[inline(always)]
fn agree<const N: usize>(data: &[u8], pieces: &[Piece<N>]) -> bool {
    let mut other = [0; N];
    for piece in pieces {
        let Some(words) = words::<N>(data, piece.at) else { return false };
        for (i, other) in other.iter_mut().enumerate() {
            *other |= (words[i] ^ piece.expected[i]) & piece.mask[i];
        }
    }
    other.into_iter().fold(0, |all, other| all | other) == 0
}

/// The words that stand at `at`.
#[inline(always)]
fn words<const N: usize>(data: &[u8], at: usize) -> Option<[u64; N]> {
    let (words, _) = data.get(at..)?.as_chunks::<8>();
    words.first_chunk::<N>().map(|words| words.map(u64::from_le_bytes))
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
        let values = |form: usize| forms.get(form)?.values.get(k);
        match values(form)? {
            // What is the same for all of them is not looked up for each.
            Values::Ints(ints) if alike => match ints.as_slice() {
                [int] => write_ints(records, row, place, |_| Some(std::slice::from_ref(int))),
                ints => write_ints(records, row, place, |_| Some(ints)),
            },
            Values::Floats(start) if alike => write_floats(records, row, place, |_| Some(*start)),
            Values::Strings(strings) if alike => match (strings.as_slice(), place) {
                (&[(start, len)], Place::Strings(out, _)) => {
                    out.extend(records.iter().map(|r| (r.1, start, len)));
                    Some(())
                }
                (strings, place) => write_strings(records, place, |_| Some(strings)),
            },
            Values::Ints(_) => write_ints(records, row, place, |form| match values(form)? {
                Values::Ints(ints) => Some(ints),
                _ => None,
            }),
            Values::Floats(_) => write_floats(records, row, place, |form| match values(form)? {
                Values::Floats(start) => Some(*start),
                _ => None,
            }),
            Values::Strings(_) => write_strings(records, place, |form| match values(form)? {
                Values::Strings(strings) => Some(strings),
                _ => None,
            }),
            Values::Note(_) => note(place, found, values(records.last()?.2)?),
            Values::Skip => Some(()),
        }?;
    }
    Some(())
}

fn note(place: &Place<'_>, found: &mut [Found], values: &Values) -> Option<()> {
    let (Place::Note(slot), Values::Note(list)) = (place, values) else { return None };
    *found.get_mut(*slot)? = Found::List(*list);
    Some(())
}

/// The words that hold them first, then what they mean: the latter goes for several at once.
#[inline(always)]
fn write_ints<'t>(
    records: &[Fitting<'_>],
    row: usize,
    place: &mut Place<'_>,
    ints: impl Fn(usize) -> Option<&'t [Varint]>,
) -> Option<()> {
    let Place::Ints(out, bytes) = place else { return None };
    let out = out.get_mut(row * *bytes..(row + records.len()) * *bytes)?;
    for (&(data, _, form), out) in records.iter().zip(out.chunks_exact_mut(*bytes)) {
        for (place, int) in out.as_chunks_mut::<8>().0.iter_mut().zip(ints(form)?) {
            let [word] = words(data, int.at)?;
            *place = ((word >> int.shift) & int.mask).to_ne_bytes();
        }
    }
    for place in out.as_chunks_mut::<8>().0 {
        *place = joined_groups(u64::from_ne_bytes(*place)).to_ne_bytes();
    }
    Some(())
}

#[inline(always)]
fn write_floats(
    records: &[Fitting<'_>],
    row: usize,
    place: &mut Place<'_>,
    start: impl Fn(usize) -> Option<usize>,
) -> Option<()> {
    let Place::Floats(out, bytes) = place else { return None };
    let out = out.get_mut(row * *bytes..)?.chunks_exact_mut(*bytes);
    for (&(data, _, form), out) in records.iter().zip(out) {
        let start = start(form)?;
        copy_floats(data.get(start..start + out.len())?, out);
    }
    Some(())
}

#[inline(always)]
fn write_strings<'t>(
    records: &[Fitting<'_>],
    place: &mut Place<'_>,
    strings: impl Fn(usize) -> Option<&'t [(usize, usize)]>,
) -> Option<()> {
    let Place::Strings(out, _) = place else { return None };
    for &(_, span, form) in records {
        strings(form)?.iter().for_each(|&(start, len)| out.push(span, start, len));
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

/// The places in which bytes count. `None` if the record is shorter than a piece.
fn pieces<const N: usize>(data: &[u8], masks: &[u8]) -> Option<Vec<Piece<N>>> {
    let mut pieces = Vec::new();
    let mut done = 0;
    while let Some(next) = masks[done..].iter().position(|&m| m != 0) {
        // At the end of the record a piece begins earlier.
        let at = (done + next).min(data.len().checked_sub(8 * N)?);
        pieces.push(Piece { at, expected: words(data, at)?, mask: words(masks, at)? });
        done = at + 8 * N;
    }
    Some(pieces)
}
