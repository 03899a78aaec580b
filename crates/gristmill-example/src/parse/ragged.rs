//! `RaggedFeature`: values cut into rows by partitions, innermost first.

use crate::parse::compose::{At, Form, splits_tensor};
use crate::parse::fault::{FaultIn, What};
use crate::parse::flat::{Flat, Lists};
use gristmill_types::{DType, Ragged, Result, Shape, Value};

/// How one level's rows are given, without its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rows {
    Splits,
    Lengths,
    Starts,
    Limits,
    ValueIds,
}

/// One level of partitions, outermost first in a feature.
#[derive(Clone, Debug)]
pub(crate) enum Level {
    /// Read from the key of that slot.
    Key { slot: usize, rows: Rows },
    /// Rows of equal length.
    Uniform(usize),
}

impl Level {
    /// The slot that it is read from.
    pub(crate) fn slot(&self) -> Option<usize> {
        match self {
            Self::Key { slot, .. } => Some(*slot),
            Self::Uniform(_) => None,
        }
    }

    pub(crate) fn is_uniform(&self) -> bool {
        matches!(self, Self::Uniform(_))
    }
}

/// How many of the innermost levels are uniform: these become dense inner dimensions.
pub(crate) fn dense_levels(levels: &[Level]) -> usize {
    levels.iter().rev().take_while(|l| l.is_uniform()).count()
}

/// The row splits over `items` items.
fn splits(rows: Rows, given: &[i64], items: usize) -> Result<Vec<i64>, String> {
    let items = items as i64;
    let mut out = Vec::with_capacity(given.len() + 1);
    match rows {
        Rows::Splits if given.is_empty() => out.push(0),
        Rows::Splits => out.extend_from_slice(given),
        Rows::Lengths => {
            out.push(0);
            let mut end = 0i64;
            for &length in given {
                end = end.checked_add(length).ok_or_else(|| "row lengths overflow".to_owned())?;
                out.push(end);
            }
        }
        Rows::Starts => {
            out.extend_from_slice(given);
            if given.is_empty() {
                out.push(0);
            } else {
                out.push(items);
            }
        }
        Rows::Limits => {
            out.push(0);
            out.extend_from_slice(given);
        }
        Rows::ValueIds => {
            if given.len() as i64 != items {
                return Err(format!("{} value_rowids for {items} values", given.len()));
            }
            // Empty rows cost memory, not bytes of the record: a damaged row number must not ask
            // for billions of them.
            let most = (1 << 16) + 256 * items;
            out.push(0);
            for (i, &row) in given.iter().enumerate() {
                if row < 0 || row < out.len() as i64 - 1 {
                    return Err("value_rowids must be non-negative and ascending".to_owned());
                }
                if row >= most {
                    return Err(format!(
                        "value_rowids name row {row}, at most {most} rows are supported for {items} values"
                    ));
                }
                out.resize(row as usize + 1, i as i64);
            }
            if !given.is_empty() {
                out.push(items);
            }
        }
    }
    if out.first() != Some(&0) || out.windows(2).any(|w| w[0] > w[1]) || out.last() != Some(&items) {
        return Err(format!("partitions must rise from 0 to the number of values, which is {items}"));
    }
    Ok(out)
}

/// Makes the feature of one record or of a batch. `parts` are the lists of the levels that have a
/// key, outermost first.
pub(crate) fn ragged_feature(
    values: Lists,
    value_slot: usize,
    levels: &[Level],
    parts: &[Lists],
    splits_dtype: DType,
    form: Form,
) -> At<Result<Value>> {
    let dense = dense_levels(levels);
    let ragged = levels.len() - dense;
    let mut all = vec![vec![0i64]; ragged];
    let mut outer = vec![0i64];
    let mut starts = vec![0usize; parts.len()];
    let fault = |i, slot, dtype, text| (i, FaultIn::boxed(slot, dtype, What::Composed(text)));
    let dtype = values.flat.kind().dtype();
    for (record, &count) in values.counts.iter().enumerate() {
        let mut items = count;
        let mut part = parts.len();
        for (level, rule) in levels.iter().enumerate().rev() {
            let own: Vec<i64> = match rule {
                Level::Uniform(length) => {
                    if !items.is_multiple_of(*length) {
                        let text = format!("{items} items cannot be cut into rows of {length}");
                        return Err(fault(record, value_slot, dtype, text));
                    }
                    items /= length;
                    if level >= ragged {
                        continue;
                    }
                    (0..=items).map(|i| (i * length) as i64).collect()
                }
                Level::Key { slot, rows } => {
                    part -= 1;
                    let n = parts[part].counts[record];
                    let given = match &parts[part].flat {
                        Flat::Ints(v) => &v[starts[part]..starts[part] + n],
                        _ => &[],
                    };
                    starts[part] += n;
                    splits(*rows, given, items).map_err(|text| fault(record, *slot, DType::I64, text))?
                }
            };
            items = own.len() - 1;
            let base = all[level][all[level].len() - 1];
            all[level].extend(own[1..].iter().map(|s| base + s));
        }
        outer.push(outer[record] + items as i64);
    }
    let inner: Vec<usize> =
        levels[ragged..].iter().map(|l| if let Level::Uniform(n) = l { *n } else { 1 }).collect();
    Ok(finish(values.flat, &inner, outer, all, splits_dtype, form))
}

fn finish(
    flat: Flat,
    inner: &[usize],
    outer: Vec<i64>,
    mut all: Vec<Vec<i64>>,
    splits_dtype: DType,
    form: Form,
) -> Result<Value> {
    let rows = flat.len() / inner.iter().product::<usize>().max(1);
    let dims: Vec<usize> = std::iter::once(rows).chain(inner.iter().copied()).collect();
    let flat_values = flat.into_tensor(Shape::new(&dims)?)?;
    if form == Form::Batch {
        all.insert(0, outer);
    }
    if all.is_empty() {
        return Ok(flat_values.into());
    }
    let row_splits = all.iter().map(|s| splits_tensor(s, splits_dtype)).collect::<Result<_>>()?;
    Ok(Ragged { flat_values, row_splits }.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_ways_to_say_the_same_rows() {
        let want = Ok(vec![0, 1, 1, 4]);
        assert_eq!(splits(Rows::Splits, &[0, 1, 1, 4], 4), want);
        assert_eq!(splits(Rows::Lengths, &[1, 0, 3], 4), want);
        assert_eq!(splits(Rows::Starts, &[0, 1, 1], 4), want);
        assert_eq!(splits(Rows::Limits, &[1, 1, 4], 4), want);
        assert_eq!(splits(Rows::ValueIds, &[0, 2, 2, 2], 4), want);
    }

    #[test]
    fn rows_that_do_not_fit_are_refused() {
        for (rows, given) in [
            (Rows::Splits, &[0, 5][..]),
            (Rows::Splits, &[1, 4]),
            (Rows::Lengths, &[5, -1]),
            (Rows::Lengths, &[i64::MAX, 5]),
            (Rows::Starts, &[]),
            (Rows::Limits, &[3, 2, 4]),
            (Rows::ValueIds, &[0, 2, 1, 3]),
            (Rows::ValueIds, &[0, 0, 0, i64::MAX]),
            (Rows::ValueIds, &[0, i64::MAX, 0, 0]),
            (Rows::ValueIds, &[0, 1]),
        ] {
            assert!(splits(rows, given, 4).is_err(), "{rows:?} {given:?}");
        }
        assert_eq!(splits(Rows::Starts, &[], 0), Ok(vec![0]));
        assert_eq!(splits(Rows::ValueIds, &[], 0), Ok(vec![0]));
    }
}
