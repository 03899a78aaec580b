//! What a record holds, told from its bytes alone.

use std::ops::Range;

use gristmill_example::list::{List, ListKind};
use gristmill_example::wire::{Cursor, FIXED64, LEN, Malformed, VARINT, tag};
use serde::Serialize;

/// What the bytes of a record are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RecordKind {
    /// A `tf.train.Example`; also a record of no bytes.
    Example,
    /// A `tf.train.SequenceExample`.
    SequenceExample,
    /// An event of a TensorBoard log.
    Event,
    /// Anything else.
    Other,
}

impl RecordKind {
    /// The kind in words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Example => "Example",
            Self::SequenceExample => "SequenceExample",
            Self::Event => "TensorBoard event",
            Self::Other => "other",
        }
    }
}

/// The lists of one feature of a sequence, `None` where a step has none.
pub(crate) type Steps = Vec<Option<List>>;

/// The parts of a record, as places in its bytes.
#[derive(Debug)]
pub(crate) struct View {
    pub(crate) kind: RecordKind,
    /// Features of an Example, or the context of a SequenceExample; of equal keys only the last. `None` where the
    /// key has no list.
    pub(crate) features: Vec<(Range<usize>, Option<List>)>,
    /// Feature lists of a SequenceExample.
    pub(crate) lists: Vec<(Range<usize>, Steps)>,
}

/// Why bytes are not what they were tried as.
struct Unlike;

impl From<Malformed> for Unlike {
    fn from(_: Malformed) -> Self {
        Self
    }
}

/// The values of a feature by name, as messages have them.
pub(crate) const fn kind_name(kind: ListKind) -> &'static str {
    match kind {
        ListKind::Bytes => "bytes",
        ListKind::Floats => "float",
        ListKind::Ints => "int64",
    }
}

/// Looks at a record. Stricter than a parser, which passes over unknown fields: other messages must not be taken for
/// Examples.
pub(crate) fn view(data: &[u8]) -> View {
    let mut view = View { kind: RecordKind::Example, features: Vec::new(), lists: Vec::new() };
    if example(data, &mut view).is_ok() {
        return view;
    }
    let kind = if is_event(data).is_ok() { RecordKind::Event } else { RecordKind::Other };
    View { kind, features: Vec::new(), lists: Vec::new() }
}

fn example(data: &[u8], view: &mut View) -> Result<(), Unlike> {
    let mut c = Cursor::new(data);
    while !c.at_end() {
        match c.tag()? {
            FEATURES => features(data, c.delimited()?, &mut view.features)?,
            LISTS => {
                view.kind = RecordKind::SequenceExample;
                feature_lists(data, c.delimited()?, &mut view.lists)?;
            }
            _ => return Err(Unlike),
        }
    }
    Ok(())
}

const FEATURES: u32 = tag(1, LEN);
const LISTS: u32 = tag(2, LEN);
const ONE: u32 = tag(1, LEN);
const TWO: u32 = tag(2, LEN);

fn features(
    data: &[u8],
    range: Range<usize>,
    into: &mut Vec<(Range<usize>, Option<List>)>,
) -> Result<(), Unlike> {
    each_entry(data, range, |key, value| {
        let list = feature(data, value)?;
        put(data, into, key, list);
        Ok(())
    })
}

fn feature_lists(
    data: &[u8],
    range: Range<usize>,
    into: &mut Vec<(Range<usize>, Steps)>,
) -> Result<(), Unlike> {
    each_entry(data, range, |key, value| {
        let mut steps = Vec::new();
        let mut c = Cursor::within(data, value);
        while !c.at_end() {
            match c.tag()? {
                ONE => steps.push(feature(data, c.delimited()?)?),
                _ => return Err(Unlike),
            }
        }
        put(data, into, key, steps);
        Ok(())
    })
}

/// Adds an entry; of equal keys the last wins.
fn put<T>(data: &[u8], into: &mut Vec<(Range<usize>, T)>, key: Range<usize>, value: T) {
    match into.iter_mut().find(|(held, _)| data[held.clone()] == data[key.clone()]) {
        Some(held) => held.1 = value,
        None => into.push((key, value)),
    }
}

/// Calls `f` with key and value of every entry of a map: each must have both, the key readable text.
fn each_entry(
    data: &[u8],
    range: Range<usize>,
    mut f: impl FnMut(Range<usize>, Range<usize>) -> Result<(), Unlike>,
) -> Result<(), Unlike> {
    let mut c = Cursor::within(data, range);
    while !c.at_end() {
        if c.tag()? != ONE {
            return Err(Unlike);
        }
        let (mut key, mut value) = (None, None);
        let mut entry = Cursor::within(data, c.delimited()?);
        while !entry.at_end() {
            match entry.tag()? {
                ONE => key = Some(entry.delimited()?),
                TWO => value = Some(entry.delimited()?),
                _ => return Err(Unlike),
            }
        }
        let (Some(key), Some(value)) = (key, value) else { return Err(Unlike) };
        let text = std::str::from_utf8(&data[key.clone()]).map_err(|_| Unlike)?;
        if text.contains(char::is_control) {
            return Err(Unlike);
        }
        f(key, value)?;
    }
    Ok(())
}

/// The list of a feature, the first as TensorFlow's parser takes it; every list must be valid.
fn feature(data: &[u8], range: Range<usize>) -> Result<Option<List>, Unlike> {
    let mut found = None;
    let mut c = Cursor::within(data, range);
    while !c.at_end() {
        let kind = ListKind::from_tag(c.tag()?).ok_or(Unlike)?;
        let place = c.delimited()?;
        let list = List { kind, start: place.start, end: place.end };
        list.count(data)?;
        found = found.or(Some(list));
    }
    Ok(found)
}

/// A TensorBoard event: a time first, then a step and one message.
fn is_event(data: &[u8]) -> Result<(), Unlike> {
    const TIME: u32 = tag(1, FIXED64);
    const STEP: u32 = tag(2, VARINT);
    let mut c = Cursor::new(data);
    if c.tag()? != TIME {
        return Err(Unlike);
    }
    c.fixed(8)?;
    while !c.at_end() {
        match c.tag()? {
            STEP => {
                c.varint()?;
            }
            other if other & 7 == LEN && (3..=12).contains(&(other >> 3)) => {
                c.delimited()?;
            }
            _ => return Err(Unlike),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use gristmill_example::{Example, Feature, SequenceExample};
    use gristmill_types::Bytes;

    #[test]
    fn kinds_of_records() {
        let map = |key: &str| [(key.to_owned(), Feature::Ints(vec![1, 2]))].into();
        let example = Example { features: Some(map("a/ä")) }.encode();
        let seen = view(&example);
        assert_eq!((seen.kind, seen.features.len()), (RecordKind::Example, 1));
        assert_eq!(&example[seen.features[0].0.clone()], "a/ä".as_bytes());
        assert_eq!(seen.features[0].1.unwrap().count(&example).unwrap(), 2);
        let steps = vec![Feature::Bytes(vec![Bytes::copy_from(b"x")]), Feature::Unset];
        let sequence = SequenceExample {
            context: Some(map("c")),
            feature_lists: Some([("s".to_owned(), steps)].into()),
        };
        let seen = view(&sequence.encode());
        assert_eq!((seen.kind, seen.lists[0].1.len()), (RecordKind::SequenceExample, 2));
        assert!(seen.lists[0].1[1].is_none());
        let mut event = vec![9, 0, 0, 0, 0, 0, 0, 0, 0, 26, 2];
        event.extend(b"v1");
        assert_eq!(view(&event).kind, RecordKind::Event);
        assert_eq!(view(b"hello").kind, RecordKind::Other);
        assert_eq!(view(b"").kind, RecordKind::Example);
        assert_eq!(view(&example[..example.len() - 1]).kind, RecordKind::Other);
    }

    #[test]
    fn an_example_inside_another_message_is_no_example() {
        // ExampleListWithContext: examples in field 1, the context in field 2.
        let inner =
            Example { features: Some([("k".to_owned(), Feature::Floats(vec![1.0]))].into()) }.encode();
        let mut outer = vec![10, u8::try_from(inner.len()).unwrap()];
        outer.extend(&inner);
        assert_eq!(view(&outer).kind, RecordKind::Other);
    }

    #[test]
    fn the_last_of_equal_keys_wins() {
        let one = |v: i64| {
            Example { features: Some([("k".to_owned(), Feature::Ints(vec![v; 3]))].into()) }.encode()
        };
        let two =
            [one(1), Example { features: Some([("k".to_owned(), Feature::Unset)].into()) }.encode()].concat();
        let seen = view(&two);
        assert_eq!((seen.features.len(), seen.features[0].1), (1, None));
    }
}
