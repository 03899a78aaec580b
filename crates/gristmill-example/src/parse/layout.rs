//! Records that look like the one before: a program writes its features in one order, each in the shortest
//! form, so that only lengths and values differ from record to record. Such a record is read in one pass with
//! one comparison per feature; any other falls back on the general parser, whose results are the same.

use crate::list::{List, ListKind};
use crate::parse::block::ColumnDest;
use crate::parse::locate::{Found, Keys, each_feature};
use crate::parse::outputs::{Make, Output};
use crate::parse::records::{Records, StringColumn};
use crate::parse::scan::{FIRST, floats, ints, length, rest};
use crate::parse::template::{self, Fitting, Template};
use gristmill_types::{Result, StrSpan};

/// An entry's value.
const SECOND: u8 = 0x12;
/// The lists inside a Feature.
const BYTES: u8 = 0x0a;
const FLOATS: u8 = 0x12;
const INTS: u8 = 0x1a;
/// Features in a layout at most: a damaged or odd record must not make this grow.
const MOST: usize = 4096;
/// Records that are read at once: they stay in the processor's cache from column to column.
const RUN: usize = 64;

/// The constant bytes at the beginning of an entry: the key's field, then the value's tag.
struct Head {
    bytes: Vec<u8>,
    /// The first 16 bytes, and which of their bits count.
    words: [u64; 2],
    masks: [u64; 2],
}

impl Head {
    fn new(key: &[u8]) -> Option<Self> {
        let len = u8::try_from(key.len()).ok().filter(|&n| n < 0x80)?;
        let bytes = [&[FIRST, len], key, &[SECOND]].concat();
        let (mut words, mut masks) = ([0; 2], [0; 2]);
        for (i, &b) in bytes.iter().take(16).enumerate() {
            words[i / 8] |= u64::from(b) << (8 * (i % 8));
            masks[i / 8] |= 0xff << (8 * (i % 8));
        }
        Some(Self { bytes, words, masks })
    }

    /// Whether these bytes stand at `at`. What lies behind the entry may be read for it, too.
    #[inline(always)]
    fn stands_at(&self, data: &[u8], at: usize) -> bool {
        let tail = &data[at..];
        match tail.first_chunk::<16>() {
            Some(sixteen) => {
                let (a, b) = sixteen.split_at(8);
                let word = |w: &[u8]| u64::from_le_bytes(w.try_into().expect("eight bytes"));
                ((word(a) ^ self.words[0]) & self.masks[0]) | ((word(b) ^ self.words[1]) & self.masks[1]) == 0
                    && (self.bytes.len() <= 16 || tail.starts_with(&self.bytes))
            }
            None => tail.starts_with(&self.bytes),
        }
    }
}

/// What is done with a feature.
enum Act {
    /// Nobody wants it.
    Skip,
    /// Its list is noted for a result that is made by the general rules.
    Note(usize),
    /// Its values go straight to that destination.
    Write { dest: usize, kind: ListKind, count: usize },
}

struct Field {
    head: Head,
    act: Act,
}

/// Where a feature's values go while a block is read: destination and act in one, so that a record costs one
/// decision per feature.
pub(super) enum Place<'a> {
    Skip,
    Note(usize),
    /// Rows of so many bytes.
    Ints(&'a mut [u8], usize),
    Floats(&'a mut [u8], usize),
    /// So many strings a record.
    Strings(&'a mut StringColumn, usize),
}

/// What is known of the records' form.
#[derive(Default)]
pub(crate) struct Layout {
    fields: Vec<Field>,
    /// Results that take their default, since the records do not have them.
    defaults: Vec<usize>,
    /// Results that are made from what was noted.
    noted: Vec<usize>,
    usable: bool,
    hits: u32,
    misses: u32,
    /// Misses before the form is learnt again: records whose form keeps changing must not pay for learning.
    patience: u32,
    /// Forms of whole records, of different lengths.
    templates: Vec<Template>,
    /// Records that no template fitted since the last one was made, and how many there have to be before the next.
    unfit: u32,
    wait: u32,
    /// The kinds of destinations that all this was learnt for.
    dests: Vec<DestKind>,
}

/// What a destination is, its memory aside.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DestKind {
    Plain,
    Strings,
    Values,
}

impl Layout {
    /// Whether what was learnt holds for these destinations; forgets it otherwise.
    pub(crate) fn suit(&mut self, dest: &[ColumnDest<'_>]) {
        let kind = |d: &ColumnDest<'_>| match d {
            ColumnDest::Plain(_) => DestKind::Plain,
            ColumnDest::Strings(_) => DestKind::Strings,
            ColumnDest::Values(_) => DestKind::Values,
        };
        if !dest.iter().map(kind).eq(self.dests.iter().copied()) {
            *self = Self { dests: dest.iter().map(kind).collect(), ..Self::default() };
        }
    }

    /// Reads records from `row` on as long as they have the known form. The results of a record that are made by
    /// the general rules are left to `finish`, which gets their numbers, the row, the destination and what was
    /// found. Gives the first record that is not read, with the error that `finish` had for it; its destinations
    /// may hold parts of it.
    pub(crate) fn read_on<'b>(
        &mut self,
        outputs: &[Output],
        records: &Records,
        row: usize,
        dest: &mut [ColumnDest<'b>],
        found: &mut [Found],
        mut finish: impl FnMut(usize, usize, &mut ColumnDest<'b>, &[Found]) -> Result<()>,
    ) -> (usize, Result<()>) {
        if !self.usable {
            return (row, Ok(()));
        }
        let (mut places, mut rest) = self.places(dest);
        let mut at = row;
        let mut made = Ok(());
        let mut run: Vec<Fitting<'_>> = Vec::with_capacity(RUN);
        while at < records.len() {
            // Of what follows the general rules make results record by record.
            let most = if self.noted.is_empty() { RUN } else { 1 };
            run.clear();
            run.extend((at..records.len()).take(most).map_while(|i| {
                let data = records.get(i);
                let form = self.templates.iter().position(|t| t.fits(data))?;
                Some((data, records.span(i), form))
            }));
            let n = run.len().max(1);
            if !self.noted.is_empty() {
                found.fill(Found::Absent);
            }
            let read = match run.as_slice() {
                [] => self.walk(records.get(at), records.span(at), at, &mut places, found),
                run => template::write(&self.templates, run, at, &mut places, found),
            };
            if read.is_none() {
                break;
            }
            if run.is_empty() {
                self.unfit += 1;
                if self.unfit > self.wait {
                    self.add_template(records.get(at), &places);
                }
            }
            for &k in &self.defaults {
                if let Some(dest) = &mut rest[k] {
                    (at..at + n).for_each(|row| fill_default(&outputs[k], row, dest));
                }
            }
            made = self.noted.iter().try_for_each(|&k| match &mut rest[k] {
                Some(dest) => finish(k, at, dest, found),
                None => Ok(()),
            });
            if made.is_err() {
                break;
            }
            at += n;
        }
        self.hits = self.hits.saturating_add(u32::try_from(at - row).unwrap_or(u32::MAX));
        (at, made)
    }

    /// Notes the form of a record that was read field by field.
    #[cold]
    fn add_template(&mut self, data: &[u8], places: &[Place<'_>]) {
        /// Forms kept at once: every record is compared with each that has its length.
        const KEPT: usize = 4;
        self.unfit = 0;
        self.wait = (self.wait * 2 + 1).min(4095);
        if let Some(made) = Template::of(data, places) {
            self.templates.retain(|t| t.len() != made.len());
            self.templates.truncate(KEPT - 1);
            self.templates.insert(0, made);
        }
    }

    /// Field by field, where values go; and the destinations that no field is written to.
    fn places<'a, 'b>(
        &self,
        dest: &'a mut [ColumnDest<'b>],
    ) -> (Vec<Place<'a>>, Vec<Option<&'a mut ColumnDest<'b>>>) {
        let mut rest: Vec<Option<&'a mut ColumnDest<'b>>> = dest.iter_mut().map(Some).collect();
        let place = |f: &Field| match f.act {
            Act::Skip => Place::Skip,
            Act::Note(slot) => Place::Note(slot),
            // Every destination is written for one field only: `take_over` sees to it.
            Act::Write { dest, kind, count } => match (rest[dest].take(), kind) {
                (Some(ColumnDest::Plain(out)), ListKind::Ints) => Place::Ints(out, 8 * count),
                (Some(ColumnDest::Plain(out)), ListKind::Floats) => Place::Floats(out, 4 * count),
                (Some(ColumnDest::Strings(out)), ListKind::Bytes) => Place::Strings(out, count),
                _ => Place::Skip,
            },
        };
        let places = self.fields.iter().map(place).collect();
        (places, rest)
    }

    #[inline]
    fn walk(
        &self,
        data: &[u8],
        span: StrSpan,
        row: usize,
        places: &mut [Place<'_>],
        found: &mut [Found],
    ) -> Option<()> {
        let (len, mut at) = length(data, 0, FIRST)?;
        if at + len != data.len() {
            return None;
        }
        for (f, place) in self.fields.iter().zip(places) {
            let (len, body) = length(data, at, FIRST)?;
            let end = body + len;
            at = end;
            if end > data.len() || !f.head.stands_at(data, body) {
                return None;
            }
            let value = rest(data, body + f.head.bytes.len(), end)?;
            if let Place::Skip = place {
                continue;
            }
            let tag = *data.get(value)?;
            let start = rest(data, value + 1, end)?;
            match place {
                Place::Skip => {}
                Place::Note(slot) => {
                    let kind = ListKind::from_tag(u32::from(tag))?;
                    *found.get_mut(*slot)? = Found::List(List { kind, start, end });
                }
                Place::Ints(out, bytes) if tag == INTS => {
                    ints(data, start, end, out.get_mut(row * *bytes..(row + 1) * *bytes)?)?;
                }
                Place::Floats(out, bytes) if tag == FLOATS => {
                    floats(&data[..end], start, out.get_mut(row * *bytes..(row + 1) * *bytes)?)?;
                }
                Place::Strings(out, count) if tag == BYTES => {
                    let mut at = start;
                    for _ in 0..*count {
                        let (len, first) = length(data, at, FIRST)?;
                        at = first + len;
                        if at > end {
                            return None;
                        }
                        out.push(span, first, len);
                    }
                    if at != end {
                        return None;
                    }
                }
                _ => return None,
            }
        }
        (at == data.len()).then_some(())
    }

    /// After the general parser has read `data`: takes its form over, unless that was tried too often in vain.
    #[cold]
    pub(crate) fn learn(&mut self, keys: &Keys, outputs: &[Output], data: &[u8], dest: &[ColumnDest<'_>]) {
        /// Records in a row after which a form counts as settled.
        const SETTLED: u32 = 64;
        if self.hits >= SETTLED {
            self.patience = 0;
        }
        self.hits = 0;
        self.misses += 1;
        if self.misses <= self.patience {
            return;
        }
        self.misses = 0;
        self.patience = (self.patience * 2 + 1).min(1023);
        self.usable = self.take_over(keys, outputs, data, dest).is_some();
    }

    fn take_over(
        &mut self,
        keys: &Keys,
        outputs: &[Output],
        data: &[u8],
        dest: &[ColumnDest<'_>],
    ) -> Option<()> {
        self.fields.clear();
        self.templates.clear();
        let mut acts: Vec<Act> = (0..keys.len()).map(Act::Note).collect();
        let mut used = vec![0; keys.len()];
        outputs.iter().for_each(|o| o.slots().for_each(|s| used[s] += 1));
        let mut direct = vec![false; outputs.len()];
        for (k, o) in outputs.iter().enumerate() {
            if let (Make::Fixed(f), ColumnDest::Plain(_) | ColumnDest::Strings(_)) = (&o.make, &dest[k])
                && used[f.slot] == 1
                && f.count > 0
            {
                direct[k] = true;
                acts[f.slot] = Act::Write { dest: k, kind: f.kind, count: f.count };
            }
        }
        let mut seen = vec![false; keys.len()];
        let mut usable = true;
        let walked = each_feature(data, |key, _| {
            let slot = crate::parse::locate::find(keys, key);
            let act = match slot {
                Some(s) if std::mem::replace(&mut seen[s], true) => None,
                Some(s) => Some(std::mem::replace(&mut acts[s], Act::Skip)),
                None => Some(Act::Skip),
            };
            match (Head::new(key), act) {
                (Some(head), Some(act)) if self.fields.len() < MOST => self.fields.push(Field { head, act }),
                _ => usable = false,
            }
        });
        self.noted = (0..outputs.len()).filter(|&k| !direct[k]).collect();
        self.defaults.clear();
        for (k, o) in outputs.iter().enumerate().filter(|(k, _)| direct[*k]) {
            let Make::Fixed(f) = &o.make else { continue };
            if !seen[f.slot] {
                f.default.as_ref()?;
                self.defaults.push(k);
            }
        }
        (walked.is_ok() && usable).then_some(())
    }
}

/// Writes the default of a `FixedLenFeature` into row `row`.
fn fill_default(output: &Output, row: usize, dest: &mut ColumnDest<'_>) {
    let Make::Fixed(f) = &output.make else { return };
    match (dest, &f.default) {
        (ColumnDest::Plain(out), Some(default)) => {
            let n = f.row_bytes();
            out[row * n..(row + 1) * n].copy_from_slice(default.bytes());
        }
        (ColumnDest::Strings(out), _) => out.push_default(),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_of_every_length() {
        for n in 0..40 {
            let key: Vec<u8> = (0..n).map(|i| i as u8 + 60).collect();
            let head = Head::new(&key).unwrap();
            let mut data = head.bytes.clone();
            assert!(head.stands_at(&data, 0));
            data.extend([7; 20]);
            assert!(head.stands_at(&data, 0));
            for i in 0..head.bytes.len() {
                data[i] ^= 1;
                assert!(!head.stands_at(&data, 0), "byte {i} of {n}");
                data[i] ^= 1;
            }
        }
        assert!(Head::new(&[b'x'; 128]).is_none());
    }
}
