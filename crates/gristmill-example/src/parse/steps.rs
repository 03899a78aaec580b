//! The steps of sequences: finding them, joining them into results, and the words for what is wrong.

use crate::list::first_list;
use crate::parse::compose::{Form, splits_tensor};
use crate::parse::fault::{Fault, FaultIn, Place, What};
use crate::parse::flat::{Flat, Lists};
use crate::parse::locate::{Found, Keys, find, map_entry};
use crate::wire::{Cursor, LEN, Malformed, tag};
use gristmill_types::{Bytes, DType, Error, Frame, Ragged, Result, Shape, Sparse, Tensor, Value};
use std::ops::Range;
use std::sync::Arc;

/// The values of one key: of every step of every record.
pub(crate) struct Steps {
    /// One list per step.
    pub(crate) lists: Lists,
    /// Number of steps of each record.
    pub(crate) per_record: Vec<usize>,
}

/// A fault, with the record and the step that have it.
pub(crate) struct StepFault {
    pub(crate) record: usize,
    pub(crate) step: usize,
    pub(crate) fault: Fault,
}

/// The lists of every step under one key.
pub(crate) fn gather_steps(
    keys: &Keys,
    records: &[Bytes],
    lists: &[Option<Range<usize>>],
    slot: usize,
    dtype: DType,
    dense: bool,
) -> Result<Steps, StepFault> {
    let (mut flat, mut counts, mut per_record) = (Flat::new(dtype), Vec::new(), Vec::new());
    for (i, record) in records.iter().enumerate() {
        let before = counts.len();
        if let Some(list) = &lists[i * keys.len() + slot] {
            let mut c = Cursor::within(record, list.clone());
            while !c.at_end() {
                let found = next_step(record, &mut c).unwrap_or_else(|m| Some(Found::Broken(m)));
                if let Some(found) = found {
                    let step = counts.len() - before;
                    let n = flat.take(record, found, slot, dense);
                    counts.push(n.map_err(|fault| StepFault { record: i, step, fault })?);
                }
            }
        }
        per_record.push(counts.len() - before);
    }
    Ok(Steps { lists: Lists { flat, counts }, per_record })
}

/// The Feature that comes next in a FeatureList; `None` where an unknown field was passed over.
fn next_step(data: &[u8], c: &mut Cursor<'_>) -> Result<Option<Found>, Malformed> {
    const FEATURE: u32 = tag(1, LEN);
    match c.tag()? {
        FEATURE => {
            let feature = c.delimited()?;
            Ok(Some(match first_list(data, feature)? {
                Some(list) => Found::List(list),
                None => Found::Absent,
            }))
        }
        other => c.skip(other).map(|()| None),
    }
}

/// The FeatureList of every slot; of equal keys the last.
pub(crate) fn locate_lists(keys: &Keys, data: &[u8]) -> Result<Vec<Option<Range<usize>>>, Malformed> {
    const LISTS: u32 = tag(2, LEN);
    const ENTRY: u32 = tag(1, LEN);
    let mut found = vec![None; keys.len()];
    let mut c = Cursor::new(data);
    while !c.at_end() {
        match c.tag()? {
            LISTS => {
                let mut entries = Cursor::within(data, c.delimited()?);
                while !entries.at_end() {
                    match entries.tag()? {
                        ENTRY => {
                            let (key, value) = map_entry(data, entries.delimited()?)?;
                            if let Some(slot) = find(keys, &data[key]) {
                                found[slot] = Some(value);
                            }
                        }
                        other => entries.skip(other)?,
                    }
                }
            }
            other => c.skip(other)?,
        }
    }
    Ok(found)
}

/// Finds the record that holds that step.
pub(crate) fn located(per_record: &[usize], mut step: usize, fault: Fault) -> StepFault {
    let mut record = 0;
    while record + 1 < per_record.len() && step >= per_record[record] {
        step -= per_record[record];
        record += 1;
    }
    StepFault { record, step, fault }
}

/// `[steps, ...]`, or `[records, most steps, ...]` with padding.
pub(crate) fn dense_steps(
    steps: &Steps,
    slot: usize,
    row: &Shape,
    default: Option<&Tensor>,
    form: Form,
) -> Result<Result<Value>, StepFault> {
    let Lists { flat, counts } = &steps.lists;
    let stride = row.count();
    if let Some(i) = counts.iter().position(|&c| c != stride) {
        let what = What::Count { found: counts[i], shape: *row };
        return Err(located(&steps.per_record, i, FaultIn::boxed(slot, flat.kind().dtype(), what)));
    }
    let most = steps.per_record.iter().copied().max().unwrap_or(0);
    let values: Vec<usize> = steps.per_record.iter().map(|n| n * stride).collect();
    Ok(row.prepend(most).and_then(|shape| match form {
        Form::Single => flat.clone().into_tensor(shape).map(Value::from),
        Form::Batch => {
            let shape = shape.prepend(steps.per_record.len())?;
            flat.clone().padded(&values, most * stride, default).into_tensor(shape).map(Value::from)
        }
    }))
}

/// Sparse `[steps, longest]`, or `[records, most steps, longest]`.
pub(crate) fn sparse_steps(steps: &Steps, form: Form) -> Result<Value> {
    let Lists { flat, counts } = &steps.lists;
    let longest = counts.iter().copied().max().unwrap_or(0) as i64;
    let most = steps.per_record.iter().copied().max().unwrap_or(0) as i64;
    let mut indices = Vec::new();
    let mut all = counts.iter();
    for (record, &n) in steps.per_record.iter().enumerate() {
        for (step, &count) in all.by_ref().take(n).enumerate() {
            for i in 0..count as i64 {
                if form == Form::Batch {
                    indices.push(record as i64);
                }
                indices.extend([step as i64, i]);
            }
        }
    }
    let mut dense_shape = vec![most, longest];
    if form == Form::Batch {
        dense_shape.insert(0, steps.per_record.len() as i64);
    }
    let indices = Tensor::from_vec(Shape::new(&[flat.len(), dense_shape.len()])?, &indices)?;
    Ok(Sparse { indices, values: flat.clone().into_vector(), dense_shape: Tensor::vector(&dense_shape) }
        .into())
}

/// Adds the level of records above a ragged result over all their steps.
pub(crate) fn under_records(made: Value, per_record: &[usize], splits: DType) -> Result<Value> {
    let ragged = match made {
        Value::Ragged(r) => Arc::unwrap_or_clone(r),
        _ => return Err(Error::internal("steps of a ragged feature are ragged")),
    };
    let mut outer = vec![0i64];
    for (i, &n) in per_record.iter().enumerate() {
        outer.push(outer[i] + n as i64);
    }
    let mut row_splits = vec![splits_tensor(&outer, splits)?];
    row_splits.extend(ragged.row_splits);
    Ok(Ragged { flat_values: ragged.flat_values, row_splits }.into())
}

pub(crate) fn missing_list(name: &str, place: Place<'_>) -> Error {
    Error::invalid(format!("{}Feature list '{name}' is required but could not be found.", place.prefix()))
        .hint("declare FixedLenSequenceFeature with allow_missing=True if records may lack it")
        .frame(Frame::Feature { key: name.to_owned() })
}

/// The error for one step, in the words of TensorFlow's sequence parser.
#[cold]
pub(crate) fn explain_step(e: StepFault, keys: &Keys, records: &[Bytes], name: Option<&[u8]>) -> Error {
    let StepFault { record, step, fault } = e;
    let key = keys.name(fault.slot);
    let prefix = Place::Batch { index: record, name }.prefix();
    let text = match fault.what {
        What::Kind { found, .. } => format!(
            "{prefix}Feature list: {key}, Index: {step}.  Data types don't match. Expected type: {}, stored as {}",
            fault.dtype.kernel_name(),
            found.name()
        ),
        What::Count { found, shape } => format!(
            "{prefix}Key: {key}, Index: {step}.  Number of values != expected.  values size: {found} but output shape: \
             {shape}"
        ),
        What::Broken(m) => format!(
            "{prefix}Feature list: {key}, Index: {step}.  Can't parse serialized Example: {} at byte {} of {}",
            m.what,
            m.at,
            records[record].len()
        ),
        What::Composed(text) => format!("{prefix}Feature list: {key}, Index: {step}.  {text}"),
        What::Missing | What::Multiple { .. } => {
            format!("{prefix}Feature list: {key}, Index: {step}.  not parsed")
        }
    };
    Error::invalid(text).frame(Frame::Feature { key: key.to_owned() })
}
