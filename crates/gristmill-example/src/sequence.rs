//! `tf.train.SequenceExample` as a message.

use crate::example::{
    Feature, FeatureMap, Refused, decode_fields, decode_fields_in, feature_len, in_wire_order, map_entry,
    merge_feature, merge_features, put_feature, put_features,
};
use crate::wire::{field_len, put_head};
use gristmill_types::{Bytes, Result};
use std::collections::BTreeMap;
use std::ops::Range;

/// A `tf.train.SequenceExample`. Absent submessages are encoded differently from empty ones.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SequenceExample {
    /// Features of the whole sequence.
    pub context: Option<FeatureMap>,
    /// One Feature per step, by key, in ascending order of the keys' bytes.
    pub feature_lists: Option<BTreeMap<String, Vec<Feature>>>,
}

impl SequenceExample {
    /// Decodes by protobuf's rules, as [`crate::Example::decode`] does.
    ///
    /// # Errors
    /// `DataLoss` for bytes that are no protobuf message and for keys that are not UTF-8.
    pub fn decode(record: &Bytes) -> Result<Self> {
        let mut out = Self::default();
        decode_fields(record, |field, range| match field {
            1 => merge_features(record, range, out.context.get_or_insert_default()),
            2 => merge_lists(record, range, out.feature_lists.get_or_insert_default()),
            _ => Ok(()),
        })
        .map_err(|e| e.explain("SequenceExample"))?;
        Ok(out)
    }

    /// Deterministic serialisation, with keys ordered as by [`crate::Example::encode`].
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        if let Some(context) = &self.context {
            put_features(&mut out, 1, context);
        }
        if let Some(lists) = &self.feature_lists {
            let steps = |l: &[Feature]| l.iter().map(|f| field_len(feature_len(f))).sum::<usize>();
            let entry = |key: &str, l: &[Feature]| field_len(key.len()) + field_len(steps(l));
            put_head(&mut out, 2, lists.iter().map(|(k, l)| field_len(entry(k, l))).sum());
            for (key, list) in in_wire_order(lists) {
                put_head(&mut out, 1, entry(key, list));
                put_head(&mut out, 1, key.len());
                out.extend_from_slice(key.as_bytes());
                put_head(&mut out, 2, steps(list));
                for feature in list {
                    put_head(&mut out, 1, feature_len(feature));
                    put_feature(&mut out, feature);
                }
            }
        }
        out
    }
}

/// Adds the lists of a `FeatureLists` message; of equal keys the last wins whole.
fn merge_lists(
    record: &Bytes,
    range: Range<usize>,
    into: &mut BTreeMap<String, Vec<Feature>>,
) -> Result<(), Refused> {
    decode_fields_in(record, range, |field, entry| {
        if field == 1 {
            let (key, values) = map_entry(record, entry)?;
            let mut list = Vec::new();
            for value in values {
                decode_fields_in(record, value, |field, step| {
                    if field == 1 {
                        let mut feature = Feature::Unset;
                        merge_feature(record, step, &mut feature)?;
                        list.push(feature);
                    }
                    Ok(())
                })?;
            }
            into.insert(key, list);
        }
        Ok(())
    })
}
