//! `tf.train.Example` as a message: decoded by protobuf's full rules, encoded deterministically.

use crate::list::{ListKind, each_bytes, each_float_run, each_int, floats};
use crate::wire::{Cursor, LEN, Malformed, field_len, put_head, put_varint, tag, varint_len};
use gristmill_types::{Bytes, Error, Kind, Result};
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::ops::Range;

/// A Feature: one of three lists, or nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Feature {
    /// No list is set.
    #[default]
    Unset,
    /// `bytes_list`.
    Bytes(Vec<Bytes>),
    /// `float_list`.
    Floats(Vec<f32>),
    /// `int64_list`.
    Ints(Vec<i64>),
}

/// Features by key, in ascending order of the keys' bytes.
pub type FeatureMap = BTreeMap<String, Feature>;

/// A `tf.train.Example`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Example {
    /// The features; `None` if the submessage is absent, which is encoded differently from an
    /// empty one.
    pub features: Option<FeatureMap>,
}

/// Why a message cannot be decoded.
pub(crate) enum Refused {
    Wire(Malformed),
    Utf8 { at: usize },
}

impl From<Malformed> for Refused {
    fn from(m: Malformed) -> Self {
        Self::Wire(m)
    }
}

impl Refused {
    /// protobuf's words, then place and reason.
    pub(crate) fn explain(self, message: &str) -> Error {
        let head = format!("Error parsing message with type 'tensorflow.{message}'");
        match self {
            Self::Wire(m) => Error::new(
                Kind::DataLoss,
                format!("{head}: Wire format was corrupt: {} at byte {}", m.what, m.at),
            ),
            Self::Utf8 { at } => Error::new(
                Kind::DataLoss,
                format!("{head}: String field had bad UTF-8: the key at byte {at}"),
            )
            .hint("io.parse_single_example accepts such keys"),
        }
    }
}

impl Example {
    /// Decodes by protobuf's rules: of equal keys the last wins whole, repeated `features`
    /// submessages merge, a list given twice in one Feature concatenates, another list replaces it,
    /// unknown fields are ignored. Strings share the record's memory.
    ///
    /// # Errors
    /// `DataLoss` for bytes that are no protobuf message and for keys that are not UTF-8.
    pub fn decode(record: &Bytes) -> Result<Self> {
        let mut features = None;
        decode_fields(record, |field, range| match field {
            1 => merge_features(record, range, features.get_or_insert_default()),
            _ => Ok(()),
        })
        .map_err(|e| e.explain("Example"))?;
        Ok(Self { features })
    }

    /// The deterministic serialisation of Python's protobuf: lists packed, keys ascending, but longer
    /// keys before those that begin them.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        if let Some(features) = &self.features {
            put_features(&mut out, 1, features);
        }
        out
    }
}

/// Calls `f` with number and range of every length-delimited field of the message that fills the
/// record; fields of other wire types are unknown ones and passed over.
pub(crate) fn decode_fields(
    data: &[u8],
    f: impl FnMut(u32, Range<usize>) -> Result<(), Refused>,
) -> Result<(), Refused> {
    decode_fields_in(data, 0..data.len(), f)
}

/// As [`decode_fields`] for the message at `range`.
pub(crate) fn decode_fields_in(
    data: &[u8],
    range: Range<usize>,
    mut f: impl FnMut(u32, Range<usize>) -> Result<(), Refused>,
) -> Result<(), Refused> {
    let mut c = Cursor::within(data, range);
    while !c.at_end() {
        let t = c.tag()?;
        if t & 7 == LEN && t >> 3 != 0 {
            f(t >> 3, c.delimited()?)?;
        } else {
            c.skip(t)?;
        }
    }
    Ok(())
}

/// Key and value ranges of a map entry: the last key, every value submessage (they merge).
pub(crate) fn map_entry(data: &[u8], range: Range<usize>) -> Result<(String, Vec<Range<usize>>), Refused> {
    let (mut key, mut values) = ("", Vec::new());
    decode_fields_in(data, range, |field, r| {
        match field {
            1 => key = std::str::from_utf8(&data[r.clone()]).map_err(|_| Refused::Utf8 { at: r.start })?,
            2 => values.push(r),
            _ => {}
        }
        Ok(())
    })?;
    Ok((key.to_owned(), values))
}

/// Adds the features of a `Features` message.
pub(crate) fn merge_features(
    record: &Bytes,
    range: Range<usize>,
    into: &mut FeatureMap,
) -> Result<(), Refused> {
    decode_fields_in(record, range, |field, entry| {
        if field == 1 {
            let (key, values) = map_entry(record, entry)?;
            let mut feature = Feature::Unset;
            for value in values {
                merge_feature(record, value, &mut feature)?;
            }
            into.insert(key, feature);
        }
        Ok(())
    })
}

/// Adds one `Feature` message to what a Feature holds already.
pub(crate) fn merge_feature(record: &Bytes, range: Range<usize>, into: &mut Feature) -> Result<(), Refused> {
    decode_fields_in(record, range, |field, list| {
        match ListKind::from_tag(tag(field, LEN)) {
            Some(ListKind::Bytes) => {
                let mut items = if let Feature::Bytes(v) = into { std::mem::take(v) } else { Vec::new() };
                each_bytes(record, list, |r| items.push(record.slice(r.start, r.len())))?;
                *into = Feature::Bytes(items);
            }
            Some(ListKind::Floats) => {
                let mut items = if let Feature::Floats(v) = into { std::mem::take(v) } else { Vec::new() };
                each_float_run(record, list, |run| items.extend(floats(run)))?;
                *into = Feature::Floats(items);
            }
            Some(ListKind::Ints) => {
                let mut items = if let Feature::Ints(v) = into { std::mem::take(v) } else { Vec::new() };
                each_int(record, list, |v| items.push(v))?;
                *into = Feature::Ints(items);
            }
            None => {}
        }
        Ok(())
    })
}

/// Bytes of a list's packed contents (for byte strings: of all their fields).
fn payload_len(feature: &Feature) -> usize {
    match feature {
        Feature::Unset => 0,
        Feature::Bytes(v) => v.iter().map(|s| field_len(s.len())).sum(),
        Feature::Floats(v) => 4 * v.len(),
        Feature::Ints(v) => v.iter().map(|&i| varint_len(i as u64)).sum(),
    }
}

/// Bytes of the list's message: packed lists that are not empty have a head of their own.
fn list_len(feature: &Feature, payload: usize) -> usize {
    if matches!(feature, Feature::Bytes(_)) || payload == 0 { payload } else { field_len(payload) }
}

/// Bytes of the Feature message.
pub(crate) fn feature_len(feature: &Feature) -> usize {
    match feature {
        Feature::Unset => 0,
        set => field_len(list_len(set, payload_len(set))),
    }
}

/// Appends the Feature message without a head.
pub(crate) fn put_feature(out: &mut Vec<u8>, feature: &Feature) {
    let field = match feature {
        Feature::Unset => return,
        Feature::Bytes(_) => 1,
        Feature::Floats(_) => 2,
        Feature::Ints(_) => 3,
    };
    let payload = payload_len(feature);
    put_head(out, field, list_len(feature, payload));
    if payload > 0 && !matches!(feature, Feature::Bytes(_)) {
        put_head(out, 1, payload);
    }
    match feature {
        Feature::Unset => {}
        Feature::Bytes(v) => {
            for s in v {
                put_head(out, 1, s.len());
                out.extend_from_slice(s);
            }
        }
        Feature::Floats(v) => out.extend(v.iter().flat_map(|f| f.to_le_bytes())),
        Feature::Ints(v) => v.iter().for_each(|&i| put_varint(out, i as u64)),
    }
}

/// The order of keys in protobuf's deterministic serialisation: ascending bytes, but of two keys of
/// which one begins the other the longer comes first (upb, the runtime behind Python, compares the
/// common part and writes from the end).
pub fn wire_order(a: &str, b: &str) -> Ordering {
    let common = a.len().min(b.len());
    a.as_bytes()[..common].cmp(&b.as_bytes()[..common]).then(b.len().cmp(&a.len()))
}

/// The entries of a map in [`wire_order`].
pub(crate) fn in_wire_order<V>(map: &BTreeMap<String, V>) -> Vec<(&String, &V)> {
    let mut entries: Vec<_> = map.iter().collect();
    entries.sort_by(|(a, _), (b, _)| wire_order(a, b));
    entries
}

/// Appends a `Features` message as that field.
pub(crate) fn put_features(out: &mut Vec<u8>, field: u32, features: &FeatureMap) {
    let entry = |key: &String, f: &Feature| field_len(key.len()) + field_len(feature_len(f));
    put_head(out, field, features.iter().map(|(k, f)| field_len(entry(k, f))).sum());
    for (key, feature) in in_wire_order(features) {
        put_head(out, 1, entry(key, feature));
        put_head(out, 1, key.len());
        out.extend_from_slice(key.as_bytes());
        put_head(out, 2, feature_len(feature));
        put_feature(out, feature);
    }
}

#[cfg(test)]
mod tests;
