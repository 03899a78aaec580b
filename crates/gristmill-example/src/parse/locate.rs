//! Finding the wanted features of a record: one pass over heads, without looking into values.

use crate::list::{List, first_list};
use crate::wire::{Cursor, LEN, Malformed, tag};
use std::ops::Range;

/// Tag of field 1, length-delimited: `Example.features`, `Features.feature`, an entry's key.
const FIRST: u32 = tag(1, LEN);
/// Tag of field 2, length-delimited: an entry's value.
const SECOND: u32 = tag(2, LEN);
/// Slot of a key that nobody wants.
const UNWANTED: usize = usize::MAX;

/// What a record holds for a wanted key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// No such key, or no list under it.
    Absent,
    /// Something that is no Feature.
    Broken(Malformed),
    /// A list.
    List(List),
}

/// The keys that a parser wants.
#[derive(Clone, Debug, Default)]
pub(crate) struct Keys {
    /// By slot.
    names: Vec<String>,
    /// Slots by ascending key.
    sorted: Vec<usize>,
}

impl Keys {
    /// The slot of that key, a new one if it has none yet.
    pub(crate) fn slot(&mut self, key: &str) -> usize {
        match self.sorted.binary_search_by(|&s| self.names[s].as_str().cmp(key)) {
            Ok(i) => self.sorted[i],
            Err(i) => {
                self.names.push(key.to_owned());
                self.sorted.insert(i, self.names.len() - 1);
                self.names.len() - 1
            }
        }
    }

    /// The key of that slot.
    pub(crate) fn name(&self, slot: usize) -> &str {
        &self.names[slot]
    }

    /// Number of slots.
    pub(crate) fn len(&self) -> usize {
        self.names.len()
    }

    fn find(&self, key: &[u8]) -> usize {
        match self.sorted.binary_search_by(|&s| self.names[s].as_bytes().cmp(key)) {
            Ok(i) => self.sorted[i],
            Err(_) => UNWANTED,
        }
    }
}

/// A key that the next record is expected to have at the same place.
#[derive(Default)]
struct Expected {
    key: Vec<u8>,
    slot: usize,
}

/// Memory that is reused from record to record: what was found, and the order of keys so far.
/// Writers list features in the same order record after record, so one comparison per feature
/// replaces a search.
pub(crate) struct Scratch {
    /// By slot.
    pub(crate) found: Vec<Found>,
    order: Vec<Expected>,
}

impl Scratch {
    /// For records read with these keys.
    pub(crate) fn new(keys: &Keys) -> Self {
        Self { found: vec![Found::Absent; keys.len()], order: Vec::new() }
    }

    /// Which slot the key belongs to that is number `position` of its record.
    #[inline]
    fn slot_of(&mut self, keys: &Keys, position: usize, key: &[u8]) -> usize {
        match self.order.get(position) {
            Some(expected) if expected.key == key => expected.slot,
            _ => self.learn(keys, position, key),
        }
    }

    #[cold]
    fn learn(&mut self, keys: &Keys, position: usize, key: &[u8]) -> usize {
        /// Keys remembered at most: a damaged or odd record must not make this grow.
        const MOST: usize = 4096;
        let slot = keys.find(key);
        if position >= self.order.len() {
            if self.order.len() >= MOST {
                return slot;
            }
            self.order.push(Expected::default());
        }
        // Positions are visited one after the other, so this one is the last or exists.
        if let Some(expected) = self.order.get_mut(position) {
            expected.key.clear();
            expected.key.extend_from_slice(key);
            expected.slot = slot;
        }
        slot
    }
}

/// Fills `scratch.found` for an Example.
///
/// # Errors
/// If the record's structure down to the map entries is not valid protobuf.
#[inline]
pub(crate) fn locate(keys: &Keys, data: &[u8], scratch: &mut Scratch) -> Result<(), Malformed> {
    scratch.found.fill(Found::Absent);
    let mut position = 0;
    let mut c = Cursor::new(data);
    while !c.at_end() {
        match c.tag()? {
            FIRST => {
                let features = c.delimited()?;
                locate_features(keys, data, features, scratch, &mut position)?;
            }
            other => c.skip(other)?,
        }
    }
    Ok(())
}

/// Adds what a `Features` message holds. Of equal keys the last that holds a list counts.
#[inline]
pub(crate) fn locate_features(
    keys: &Keys,
    data: &[u8],
    features: Range<usize>,
    scratch: &mut Scratch,
    position: &mut usize,
) -> Result<(), Malformed> {
    let mut c = Cursor::within(data, features);
    while !c.at_end() {
        match c.tag()? {
            FIRST => {
                let (key, value) = map_entry(data, c.delimited()?)?;
                let slot = scratch.slot_of(keys, *position, &data[key]);
                *position += 1;
                if slot != UNWANTED {
                    match first_list(data, value) {
                        Ok(Some(list)) => scratch.found[slot] = Found::List(list),
                        Ok(None) => {}
                        Err(m) => scratch.found[slot] = Found::Broken(m),
                    }
                }
            }
            other => c.skip(other)?,
        }
    }
    Ok(())
}

/// Key and value of a map entry, each the last given.
#[inline]
pub(crate) fn map_entry(data: &[u8], entry: Range<usize>) -> Result<(Range<usize>, Range<usize>), Malformed> {
    let mut c = Cursor::within(data, entry);
    let (mut key, mut value) = (0..0, 0..0);
    while !c.at_end() {
        match c.tag()? {
            FIRST => key = c.delimited()?,
            SECOND => value = c.delimited()?,
            other => c.skip(other)?,
        }
    }
    Ok((key, value))
}

/// The slot of a key outside the learned order (feature lists of sequence examples).
pub(crate) fn find(keys: &Keys, key: &[u8]) -> Option<usize> {
    Some(keys.find(key)).filter(|&s| s != UNWANTED)
}

/// Calls `f` with every key of an Example and the first list under it, duplicates included.
///
/// # Errors
/// If the bytes are not an Example; `f` has then seen the features before that place.
pub(crate) fn each_feature<'a>(
    data: &'a [u8],
    mut f: impl FnMut(&'a [u8], Option<List>),
) -> Result<(), Malformed> {
    let mut c = Cursor::new(data);
    while !c.at_end() {
        match c.tag()? {
            FIRST => {
                let mut features = Cursor::within(data, c.delimited()?);
                while !features.at_end() {
                    match features.tag()? {
                        FIRST => {
                            let (key, value) = map_entry(data, features.delimited()?)?;
                            f(&data[key], first_list(data, value)?);
                        }
                        other => features.skip(other)?,
                    }
                }
            }
            other => c.skip(other)?,
        }
    }
    Ok(())
}

/// The keys of an Example, for messages; what cannot be read is left out.
pub(crate) fn keys_present(data: &[u8]) -> Vec<String> {
    let mut names = Vec::new();
    // The caller reports another error already; names read before a damaged place still help.
    let _ = each_feature(data, |key, _| names.push(String::from_utf8_lossy(key).into_owned()));
    names.sort();
    names.dedup();
    names
}
