//! Parsing serialized Examples by a spec, as `tf.io.parse_single_example` and `parse_example` do.
//!
//! Each record is read twice, both times forward: once over the heads of its features to find the
//! wanted lists, once over these lists. Differences from protobuf's rules are TensorFlow's: of
//! equal keys the last that holds a list counts, of the lists in one Feature the first, and keys
//! need not be UTF-8. Unlike TensorFlow's parser, unknown fields are passed over everywhere.

mod block;
mod compose;
mod dense;
mod fault;
mod flat;
mod layout;
mod locate;
mod outputs;
mod ragged;
mod records;
mod scan;
mod sequence;
mod steps;
mod template;

pub use block::ColumnDest;
pub(crate) use locate::each_feature;
pub use records::{Records, StringColumn};
pub use sequence::{SequenceBatch, SequenceParser};

use crate::feature_spec::{FeatureSpec, output_order};
use compose::Form;
use fault::{Place, explain, unparsable};
use gristmill_types::{Buffer, Bytes, DType, Error, Kind, Result, Spec, Tensor, Value};
use layout::Layout;
use locate::{Found, Keys, Scratch, locate};
use outputs::{Make, Output};
use std::sync::{Mutex, PoisonError};

/// Parses serialized Examples by a spec. Results come in the order of [`Parser::names`].
#[derive(Clone, Debug)]
pub struct Parser {
    keys: Keys,
    outputs: Vec<Output>,
    learnt: Learnt,
}

/// What was learnt of the records' form, kept from block to block; one for each thread that parses.
#[derive(Default)]
struct Learnt(Mutex<Vec<Layout>>);

impl Learnt {
    fn take(&self) -> Layout {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.pop().unwrap_or_default()
    }

    fn put(&self, layout: Layout) {
        /// More threads than this parse with what they learn anew.
        const KEPT: usize = 64;
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() < KEPT {
            kept.push(layout);
        }
    }
}

impl Clone for Learnt {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl std::fmt::Debug for Learnt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Learnt")
    }
}

impl Parser {
    /// A parser for these features.
    ///
    /// # Errors
    /// `Value` for no features, a name given twice, unknown dimensions, or a
    /// `FixedLenSequenceFeature` whose key may not be absent; `InvalidArgument` for a dtype that
    /// Examples do not store and for a default that does not fit its shape.
    pub fn new(specs: &[FeatureSpec]) -> Result<Self> {
        if specs.is_empty() {
            return Err(Error::new(Kind::Value, "features cannot be empty"));
        }
        Self::of_any(specs)
    }

    /// As [`Parser::new`], with no features allowed: the context of a sequence may be unused.
    fn of_any(specs: &[FeatureSpec]) -> Result<Self> {
        let mut keys = Keys::default();
        let outputs = output_order(specs)?
            .into_iter()
            .map(|f| Output::new(f, &mut keys))
            .collect::<Result<Vec<_>>>()?;
        Ok(Self { keys, outputs, learnt: Learnt::default() })
    }

    /// Names of the results, in their order.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.outputs.iter().map(|o| o.name.as_str())
    }

    /// Specs of the results of one record.
    pub fn specs(&self) -> Vec<Spec> {
        self.outputs.iter().map(Output::spec).collect()
    }

    /// Specs of the results of a batch of `n` records.
    pub fn batch_specs(&self, n: Option<usize>) -> Vec<Spec> {
        self.outputs.iter().map(|o| o.batch_spec(n)).collect()
    }

    /// Parses one record as `parse_single_example` does. Strings share the record's memory.
    ///
    /// # Errors
    /// `InvalidArgument` in TensorFlow's words, with the feature and what was found in it.
    pub fn parse_single(&self, record: &Bytes) -> Result<Vec<Value>> {
        let mut scratch = Scratch::new(&self.keys);
        locate(&self.keys, record, &mut scratch).map_err(|m| unparsable(m, record, Place::Single))?;
        self.values(record, &scratch.found)
    }

    /// The results of a record in which everything was found.
    fn values(&self, record: &Bytes, found: &[Found]) -> Result<Vec<Value>> {
        self.outputs.iter().map(|o| o.single(&self.keys, record, found)).collect()
    }

    /// Parses a batch as `parse_example` does: dense features `[n, ...]`, sparse and ragged ones
    /// with one more dimension, sequences padded to the longest. `names` are the records' names for
    /// error messages, as many as there are records.
    ///
    /// # Errors
    /// `InvalidArgument` in TensorFlow's words, naming record and feature.
    pub fn parse_batch(&self, records: &Records, names: Option<&[Bytes]>) -> Result<Vec<Value>> {
        if let Some(names) = names
            && names.len() != records.len()
        {
            return Err(Error::invalid(format!(
                "{} example names given for {} examples",
                names.len(),
                records.len()
            )));
        }
        if let Some(values) = self.dense_batch(records)? {
            return Ok(values);
        }
        let items: Vec<Bytes> = (0..records.len()).map(|i| records.bytes(i)).collect();
        self.batch_of(&items, names)
    }

    /// Columns of dense features only, by the hot path; `None` if there are others, or if a record fails: which
    /// feature of which record a batch reports first is for the general path to say.
    fn dense_batch(&self, records: &Records) -> Result<Option<Vec<Value>>> {
        enum Room {
            Plain(Buffer),
            Strings(StringColumn),
        }
        let n = records.len();
        let mut rooms = Vec::with_capacity(self.outputs.len());
        for (i, output) in self.outputs.iter().enumerate() {
            let Make::Fixed(fixed) = &output.make else { return Ok(None) };
            rooms.push(match self.string_column(i, records) {
                Some(column) => Room::Strings(column),
                None => Room::Plain(Buffer::recycled(fixed.shape.prepend(n)?.count() * fixed.dtype.size())),
            });
        }
        let mut dest: Vec<ColumnDest<'_>> = rooms
            .iter_mut()
            .map(|room| match room {
                Room::Plain(buffer) => ColumnDest::Plain(buffer.as_mut_slice()),
                Room::Strings(column) => ColumnDest::Strings(column),
            })
            .collect();
        let (_, failed) = self.parse_block(records, &mut dest);
        drop(dest);
        if failed.is_some() {
            return Ok(None);
        }
        let columns = self.outputs.iter().zip(rooms).map(|(output, room)| {
            let Make::Fixed(fixed) = &output.make else {
                return Err(Error::internal("only dense features were laid out"));
            };
            let shape = fixed.shape.prepend(n)?;
            match room {
                Room::Plain(buffer) => Tensor::from_buffer(fixed.dtype, shape, buffer),
                Room::Strings(column) => column.finish(shape, records),
            }
            .map(Value::from)
        });
        columns.collect::<Result<_>>().map(Some)
    }

    /// As [`Parser::parse_batch`], feature by feature.
    fn batch_of(&self, records: &[Bytes], names: Option<&[Bytes]>) -> Result<Vec<Value>> {
        let place = |index| Place::Batch { index, name: names.map(|n| n[index].as_slice()) };
        let mut scratch = Scratch::new(&self.keys);
        let mut all = Vec::new();
        for (i, record) in records.iter().enumerate() {
            locate(&self.keys, record, &mut scratch).map_err(|m| unparsable(m, record, place(i)))?;
            all.extend_from_slice(&scratch.found);
        }
        self.batch_values(records, &all, place)
    }

    /// The results of records in which everything was found: `all` has one entry per record and
    /// slot.
    fn batch_values<'a>(
        &self,
        records: &[Bytes],
        all: &[Found],
        place: impl Fn(usize) -> Place<'a>,
    ) -> Result<Vec<Value>> {
        let slots = self.keys.len();
        let found = |record: usize, slot: usize| all[record * slots + slot];
        self.outputs
            .iter()
            .map(|o| {
                let made = match &o.make {
                    Make::Fixed(fixed) => {
                        fixed_column(fixed, records, |i| found(i, fixed.slot)).map(|t| t.map(Value::from))
                    }
                    Make::Lists(lists) => lists.make(records, found, Form::Batch),
                };
                made.map_err(|(i, fault)| explain(&fault, &self.keys, &records[i], place(i)))?
            })
            .collect()
    }
}

/// A dense column: a row per record.
fn fixed_column(
    fixed: &dense::Fixed,
    records: &[Bytes],
    found: impl Fn(usize) -> Found,
) -> compose::At<Result<Tensor>> {
    let shape = match fixed.shape.prepend(records.len()) {
        Ok(shape) => shape,
        Err(e) => return Ok(Err(e)),
    };
    if fixed.dtype == DType::String {
        let mut items = Vec::with_capacity(records.len());
        for (i, record) in records.iter().enumerate() {
            fixed.push_strings(record, found(i), &mut items).map_err(|f| (i, f))?;
        }
        return Ok(Tensor::strings(shape, items));
    }
    let row = fixed.row_bytes();
    let mut buffer = Buffer::recycled(row * records.len());
    for (i, record) in records.iter().enumerate() {
        let out = &mut buffer.as_mut_slice()[i * row..(i + 1) * row];
        fixed.write_row(record, found(i), out).map_err(|f| (i, f))?;
    }
    Ok(Tensor::from_buffer(fixed.dtype, shape, buffer))
}

#[cfg(test)]
mod tests;
