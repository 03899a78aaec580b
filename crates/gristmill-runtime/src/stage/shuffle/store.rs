//! The values that a shuffle holds.

use gristmill_types::{Buffer, Column, DType, Error, Result, Shape, Tensor, Value};

/// The values of one component, one slot per buffered element.
pub(super) enum Store {
    /// Nothing seen yet.
    Empty,
    /// Rows of equal dtype and shape, side by side.
    Plain {
        dtype: DType,
        row: Shape,
        row_bytes: usize,
        bytes: Vec<u8>,
        /// Slots used so far: rows may have no bytes.
        slots: usize,
    },
    /// One by one.
    Values {
        values: Vec<Option<Value>>,
        /// Of the values held.
        bytes: u64,
    },
}

impl Store {
    pub(super) fn put(&mut self, slot: usize, column: &Column, i: usize) {
        if matches!(self, Self::Empty) {
            *self = match column {
                Column::Uniform(t) if t.dtype().is_plain() => {
                    let row = t.shape().row();
                    Self::Plain {
                        dtype: t.dtype(),
                        row,
                        row_bytes: row.count() * t.dtype().size(),
                        bytes: Vec::new(),
                        slots: 0,
                    }
                }
                _ => Self::Values { values: Vec::new(), bytes: 0 },
            };
        }
        if let (Self::Plain { dtype, row, row_bytes, bytes, slots }, Column::Uniform(t)) =
            (&mut *self, column)
            && t.dtype() == *dtype
            && t.shape().row() == *row
        {
            let (from, to) = (i * *row_bytes, slot * *row_bytes);
            if bytes.len() < to + *row_bytes {
                bytes.resize(to + *row_bytes, 0);
            }
            bytes[to..to + *row_bytes].copy_from_slice(&t.bytes()[from..from + *row_bytes]);
            *slots = (*slots).max(slot + 1);
            return;
        }
        self.as_values();
        if let Self::Values { values, bytes: held } = self {
            if values.len() <= slot {
                values.resize(slot + 1, None);
            }
            // What stays in the buffer must not keep a whole read buffer alive.
            let value = column.get(i).detached();
            *held += value.byte_len() as u64;
            values[slot] = Some(value);
        }
    }

    /// Bytes of the values held; of rows side by side, those of all slots.
    pub(super) fn bytes(&self) -> u64 {
        match self {
            Self::Empty => 0,
            Self::Plain { bytes, .. } => bytes.len() as u64,
            Self::Values { bytes, .. } => *bytes,
        }
    }

    /// Gives up the common row shape, since an element has another one.
    fn as_values(&mut self) {
        if let Self::Plain { dtype, row, row_bytes, bytes, slots } = self {
            let n = *row_bytes;
            let values = (0..*slots)
                .map(|s| Tensor::from_bytes(*dtype, *row, &bytes[s * n..(s + 1) * n]).ok().map(Value::Tensor))
                .collect();
            let bytes = bytes.len() as u64;
            *self = Self::Values { values, bytes };
        }
    }

    /// The values in these slots, in that order; they are moved out.
    pub(super) fn gather(&mut self, slots: &[usize]) -> Result<Column> {
        match self {
            Self::Plain { dtype, row, row_bytes, bytes, .. } => {
                let mut out = Buffer::recycled(slots.len() * *row_bytes);
                gather_rows(bytes, *row_bytes, slots, out.as_mut_slice());
                Ok(Column::Uniform(Tensor::from_buffer(*dtype, row.prepend(slots.len())?, out)?))
            }
            Self::Values { values, bytes } => {
                let taken: Option<Vec<Value>> =
                    slots.iter().map(|&s| values.get_mut(s).and_then(Option::take)).collect();
                let taken = taken.ok_or_else(|| Error::internal("a shuffle slot was empty"))?;
                let gone: u64 = taken.iter().map(|v| v.byte_len() as u64).sum();
                *bytes = bytes.saturating_sub(gone);
                Ok(Column::from_values(taken))
            }
            Self::Empty => Err(Error::internal("a shuffle gave before it held anything")),
        }
    }
}

/// Copies rows of a size known to the compiler where that is common.
fn gather_rows(bytes: &[u8], row_bytes: usize, slots: &[usize], out: &mut [u8]) {
    if row_bytes == 8 {
        for (to, &s) in out.chunks_exact_mut(8).zip(slots) {
            to.copy_from_slice(&bytes[s * 8..s * 8 + 8]);
        }
        return;
    }
    for (to, &s) in out.chunks_exact_mut(row_bytes.max(1)).zip(slots) {
        to.copy_from_slice(&bytes[s * row_bytes..(s + 1) * row_bytes]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_without_bytes_stay_when_another_shape_comes() {
        let row = |n: usize| {
            Column::Uniform(Tensor::from_vec(Shape::new(&[1, n]).unwrap(), &vec![7i64; n]).unwrap())
        };
        let mut store = Store::Empty;
        store.put(0, &row(0), 0);
        store.put(1, &row(2), 0);
        let column = store.gather(&[1, 0]).unwrap();
        let bytes: Vec<usize> = (0..2).map(|i| column.get(i).byte_len()).collect();
        assert_eq!(bytes, [16, 0]);
    }
}
