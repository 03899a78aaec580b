//! What is counted over the records of a file, and how the counts of several files come together.

use std::collections::BTreeMap;

use gristmill_example::list::{List, ListKind, each_bytes, each_int};

use crate::picture;
use crate::view::{RecordKind, View};

/// Different labels counted; files with more have no histogram worth looking at.
const LABELS_COUNTED: usize = 10_000;
/// The longest byte string taken for a label.
const LABEL_BYTES: usize = 64;
/// Byte strings of a list that are looked at for being pictures.
const PICTURES_PER_LIST: usize = 4;

/// Fewest and most; empty until something was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Extent {
    pub(super) min: u64,
    pub(super) max: u64,
}

impl Default for Extent {
    fn default() -> Self {
        Self { min: u64::MAX, max: 0 }
    }
}

impl Extent {
    pub(super) fn see(&mut self, value: usize) {
        self.merge(Self { min: value as u64, max: value as u64 });
    }

    pub(super) fn merge(&mut self, other: Self) {
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// The two, unless nothing was seen.
    pub(super) fn get(self) -> Option<(u64, u64)> {
        (self.min <= self.max).then_some((self.min, self.max))
    }
}

/// A label as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Label {
    Int(i64),
    Bytes(Vec<u8>),
}

#[derive(Clone, Debug, Default)]
pub(super) struct Histogram {
    pub(super) counts: BTreeMap<Label, u64>,
    /// Values seen after the table was full, and byte strings too long for a label.
    pub(super) other: u64,
}

impl Histogram {
    fn add(&mut self, label: Label, count: u64) {
        if let Some(held) = self.counts.get_mut(&label) {
            *held += count;
        } else if self.counts.len() < LABELS_COUNTED {
            self.counts.insert(label, count);
        } else {
            self.other += count;
        }
    }

    fn see(&mut self, data: &[u8], list: List) {
        // The list was found valid when the record was looked at.
        let _ = match list.kind {
            ListKind::Ints => each_int(data, list.range(), |v| self.add(Label::Int(v), 1)),
            ListKind::Bytes => each_bytes(data, list.range(), |r| {
                if r.len() <= LABEL_BYTES {
                    self.add(Label::Bytes(data[r].to_vec()), 1);
                } else {
                    self.other += 1;
                }
            }),
            ListKind::Floats => Ok(()),
        };
    }
}

/// What was seen under one key.
#[derive(Clone, Debug, Default)]
pub(super) struct FeatureAcc {
    /// Records (or steps) with a list of each kind: bytes, floats, ints.
    pub(super) of_kind: [u64; 3],
    /// Records (or steps) that have the key but no list under it.
    pub(super) unset: u64,
    /// Values in a list; nothing under the key counts as 0.
    pub(super) len: Extent,
    /// Values in a list that is there.
    pub(super) list_len: Extent,
    /// Bytes of a byte string.
    pub(super) value_bytes: Extent,
    /// Byte strings that are pictures, by format.
    pub(super) pictures: BTreeMap<&'static str, u64>,
    pub(super) labels: Option<Histogram>,
}

impl FeatureAcc {
    fn named(key: &[u8]) -> Self {
        Self { labels: is_label_name(key).then(Histogram::default), ..Self::default() }
    }

    fn see(&mut self, data: &[u8], list: Option<List>) {
        let Some(list) = list else {
            self.unset += 1;
            self.len.see(0);
            return;
        };
        let count = list.count(data).unwrap_or(0);
        self.of_kind[list.kind as usize] += 1;
        self.len.see(count);
        self.list_len.see(count);
        if let Some(labels) = &mut self.labels {
            labels.see(data, list);
        }
        if list.kind == ListKind::Bytes {
            let mut looked_at = 0;
            let _ = each_bytes(data, list.range(), |r| {
                self.value_bytes.see(r.len());
                looked_at += 1;
                if looked_at <= PICTURES_PER_LIST
                    && let Some(picture) = picture::recognise(&data[r])
                {
                    *self.pictures.entry(picture.format.name()).or_default() += 1;
                }
            });
        }
    }

    fn merge(&mut self, other: Self) {
        for (mine, theirs) in self.of_kind.iter_mut().zip(other.of_kind) {
            *mine += theirs;
        }
        self.unset += other.unset;
        self.len.merge(other.len);
        self.list_len.merge(other.list_len);
        self.value_bytes.merge(other.value_bytes);
        for (format, count) in other.pictures {
            *self.pictures.entry(format).or_default() += count;
        }
        if let (Some(mine), Some(theirs)) = (&mut self.labels, other.labels) {
            mine.other += theirs.other;
            theirs.counts.into_iter().for_each(|(label, count)| mine.add(label, count));
        }
    }

    /// Records with a list of any kind.
    pub(super) fn present(&self) -> u64 {
        self.of_kind.iter().sum()
    }

    /// The kinds that occur.
    pub(super) fn kinds(&self) -> Vec<ListKind> {
        let all = [ListKind::Bytes, ListKind::Floats, ListKind::Ints];
        all.into_iter().filter(|&kind| self.of_kind[kind as usize] > 0).collect()
    }
}

/// A feature that has a value per step.
#[derive(Clone, Debug, Default)]
pub(super) struct ListAcc {
    pub(super) values: FeatureAcc,
    pub(super) records: u64,
    pub(super) steps: Extent,
}

/// Everything that is counted.
#[derive(Clone, Debug, Default)]
pub(super) struct Acc {
    pub(super) records: u64,
    pub(super) payload_bytes: u64,
    pub(super) record_bytes: Extent,
    /// Records that are Examples, SequenceExamples, events, others.
    pub(super) of_kind: [u64; 4],
    pub(super) features: BTreeMap<Vec<u8>, FeatureAcc>,
    pub(super) lists: BTreeMap<Vec<u8>, ListAcc>,
}

impl Acc {
    pub(super) fn see(&mut self, data: &[u8], view: &View) {
        self.records += 1;
        self.payload_bytes += data.len() as u64;
        self.record_bytes.see(data.len());
        self.of_kind[view.kind as usize] += 1;
        for (key, list) in &view.features {
            let key = &data[key.clone()];
            if !self.features.contains_key(key) {
                self.features.insert(key.to_vec(), FeatureAcc::named(key));
            }
            self.features.get_mut(key).expect("just put there").see(data, *list);
        }
        for (key, steps) in &view.lists {
            let all = self.lists.entry(data[key.clone()].to_vec()).or_default();
            all.records += 1;
            all.steps.see(steps.len());
            steps.iter().for_each(|step| all.values.see(data, *step));
        }
    }

    pub(super) fn merge(&mut self, other: Self) {
        self.records += other.records;
        self.payload_bytes += other.payload_bytes;
        self.record_bytes.merge(other.record_bytes);
        for (mine, theirs) in self.of_kind.iter_mut().zip(other.of_kind) {
            *mine += theirs;
        }
        for (key, theirs) in other.features {
            match self.features.get_mut(&key) {
                Some(mine) => mine.merge(theirs),
                None => drop(self.features.insert(key, theirs)),
            }
        }
        for (key, theirs) in other.lists {
            let mine = self.lists.entry(key).or_default();
            mine.records += theirs.records;
            mine.steps.merge(theirs.steps);
            mine.values.merge(theirs.values);
        }
    }

    /// The kind that all records have; `None` without records and where they differ.
    pub(super) fn kind(&self) -> Option<RecordKind> {
        let kinds = [RecordKind::Example, RecordKind::SequenceExample, RecordKind::Event, RecordKind::Other];
        let only = |kind: &RecordKind| self.records > 0 && self.of_kind[*kind as usize] == self.records;
        // A SequenceExample whose lists are absent looks like an Example.
        let sequences = self.of_kind[RecordKind::SequenceExample as usize];
        if sequences > 0 && sequences + self.of_kind[RecordKind::Example as usize] == self.records {
            return Some(RecordKind::SequenceExample);
        }
        kinds.into_iter().find(only)
    }
}

/// Whether the last part of a key speaks of a label.
fn is_label_name(key: &[u8]) -> bool {
    let text = String::from_utf8_lossy(key).to_lowercase();
    let words = ["label", "labels", "class", "classes", "category", "categories", "target"];
    let mut parts = text.split(['/', '.', '_', '-', ' ', ':']);
    parts.any(|part| words.contains(&part))
}
