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
    /// Puts the rows of a column from `at` on into these slots.
    pub(super) fn put(&mut self, slots: &[u32], column: &Column, at: usize) {
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
        let end = slots.iter().max().map_or(0, |&s| s as usize + 1);
        if let (Self::Plain { dtype, row, row_bytes, bytes, slots: used }, Column::Uniform(t)) =
            (&mut *self, column)
            && t.dtype() == *dtype
            && t.shape().row() == *row
        {
            if bytes.len() < end * *row_bytes {
                bytes.resize(end * *row_bytes, 0);
            }
            let from = &t.bytes()[at * *row_bytes..(at + slots.len()) * *row_bytes];
            match *row_bytes {
                4 => scatter_rows::<4>(bytes, slots, from),
                8 => scatter_rows::<8>(bytes, slots, from),
                n => {
                    for (from, &s) in from.chunks_exact(n.max(1)).zip(slots) {
                        bytes[s as usize * n..(s as usize + 1) * n].copy_from_slice(from);
                    }
                }
            }
            *used = (*used).max(end);
            return;
        }
        self.as_values();
        if let Self::Values { values, bytes: held } = self {
            if values.len() < end {
                values.resize(end, None);
            }
            for (i, &slot) in slots.iter().enumerate() {
                // What stays in the buffer must not keep a whole read buffer alive.
                let value = column.get(at + i).detached();
                *held += value.byte_len() as u64;
                values[slot as usize] = Some(value);
            }
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
    pub(super) fn gather(&mut self, slots: &[u32]) -> Result<Column> {
        match self {
            Self::Plain { dtype, row, row_bytes, bytes, .. } => {
                let mut out = Buffer::recycled(slots.len() * *row_bytes);
                gather_rows(bytes, *row_bytes, slots, out.as_mut_slice());
                Ok(Column::Uniform(Tensor::from_buffer(*dtype, row.prepend(slots.len())?, out)?))
            }
            Self::Values { values, bytes } => {
                let taken: Option<Vec<Value>> =
                    slots.iter().map(|&s| values.get_mut(s as usize).and_then(Option::take)).collect();
                let taken = taken.ok_or_else(|| Error::internal("a shuffle slot was empty"))?;
                let gone: u64 = taken.iter().map(|v| v.byte_len() as u64).sum();
                *bytes = bytes.saturating_sub(gone);
                Ok(Column::from_values(taken))
            }
            Self::Empty => Err(Error::internal("a shuffle gave before it held anything")),
        }
    }
}

/// Copies rows, side by side in `from`, to slots; `N` bytes each.
fn scatter_rows<const N: usize>(to: &mut [u8], slots: &[u32], from: &[u8]) {
    let (to, from) = (to.as_chunks_mut::<N>().0, from.as_chunks::<N>().0);
    for (row, &s) in from.iter().zip(slots) {
        to[s as usize] = *row;
    }
}

/// Copies rows of `row_bytes` out of slots.
fn gather_rows(bytes: &[u8], row_bytes: usize, slots: &[u32], out: &mut [u8]) {
    fn sized<const N: usize>(bytes: &[u8], slots: &[u32], out: &mut [u8]) {
        let (from, out) = (bytes.as_chunks::<N>().0, out.as_chunks_mut::<N>().0);
        for (to, &s) in out.iter_mut().zip(slots) {
            *to = from[s as usize];
        }
    }
    match row_bytes {
        4 => sized::<4>(bytes, slots, out),
        8 => sized::<8>(bytes, slots, out),
        n => {
            for (to, &s) in out.chunks_exact_mut(n.max(1)).zip(slots) {
                to.copy_from_slice(&bytes[s as usize * n..(s as usize + 1) * n]);
            }
        }
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
        store.put(&[0], &row(0), 0);
        store.put(&[1], &row(2), 0);
        let column = store.gather(&[1, 0]).unwrap();
        let bytes: Vec<usize> = (0..2).map(|i| column.get(i).byte_len()).collect();
        assert_eq!(bytes, [16, 0]);
    }
}
