//! The output of one batch, written in place by several workers.
#![allow(unsafe_code)]

use crate::{Buffer, DType, Error, Result, Shape, Tensor};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Slots whose bits stand in one word.
const BITS: usize = u64::BITS as usize;

/// One plain column of a batch under construction.
struct Area {
    dtype: DType,
    row: Shape,
    row_bytes: usize,
    buffer: Arc<Buffer>,
}

/// The plain columns of one batch, laid out before their elements exist. Workers take disjoint
/// ranges of slots and write into them; the finished batch is handed on without a copy.
pub struct BatchBuilder {
    size: usize,
    /// A bit per slot.
    taken: Box<[AtomicU64]>,
    areas: Box<[Option<Area>]>,
}

/// Exclusive access to a range of slots of one column.
pub struct RowsMut<'a> {
    dtype: DType,
    row: Shape,
    bytes: &'a mut [u8],
}

/// Exclusive access to a range of slots of every plain column.
pub struct SlotsMut<'a> {
    /// Per column; `None` where the column is not laid out in advance.
    pub columns: Vec<Option<RowsMut<'a>>>,
}

impl<'a> RowsMut<'a> {
    /// Rows over memory of the caller's own: `bytes` is a whole number of rows.
    pub fn new(dtype: DType, row: Shape, bytes: &'a mut [u8]) -> Self {
        Self { dtype, row, bytes }
    }

    /// Element type.
    #[inline]
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Shape of one row.
    #[inline]
    pub fn row_shape(&self) -> &Shape {
        &self.row
    }

    /// Bytes of one row.
    #[inline]
    pub fn row_bytes(&self) -> usize {
        self.row.count() * self.dtype.size()
    }

    /// The first `n` rows.
    ///
    /// # Panics
    /// If there are fewer.
    #[inline]
    pub fn first(&mut self, n: usize) -> RowsMut<'_> {
        let len = n * self.row_bytes();
        RowsMut { dtype: self.dtype, row: self.row, bytes: &mut self.bytes[..len] }
    }

    /// All rows.
    #[inline]
    pub fn bytes(&mut self) -> &mut [u8] {
        self.bytes
    }

    /// Row `i`.
    ///
    /// # Panics
    /// If the row is not in the range.
    #[inline]
    pub fn row(&mut self, i: usize) -> &mut [u8] {
        let n = self.row_bytes();
        &mut self.bytes[i * n..(i + 1) * n]
    }
}

impl BatchBuilder {
    /// Lays out `size` slots for each column whose dtype and row shape are given.
    ///
    /// # Errors
    /// `InvalidArgument` if the batch is too large to be addressed.
    pub fn new(size: usize, columns: &[Option<(DType, Shape)>]) -> Result<Self> {
        let areas = columns
            .iter()
            .map(|c| {
                let Some((dtype, row)) = c.filter(|c| c.0.is_plain()) else { return Ok(None) };
                let bytes = row.prepend(size)?.count() * dtype.size();
                let buffer = Arc::new(Buffer::recycled(bytes));
                Ok(Some(Area { dtype, row, row_bytes: row.count() * dtype.size(), buffer }))
            })
            .collect::<Result<Vec<_>>>()?;
        Ok(Self {
            size,
            taken: (0..size.div_ceil(BITS)).map(|_| AtomicU64::new(0)).collect(),
            areas: areas.into_boxed_slice(),
        })
    }

    /// Number of slots.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Takes the slots `start..start + n` for writing. Each slot can be taken once.
    ///
    /// # Errors
    /// `Internal` if a slot does not exist or was taken before.
    pub fn take(&self, start: usize, n: usize) -> Result<SlotsMut<'_>> {
        let end = start.checked_add(n).filter(|&end| end <= self.size);
        let end =
            end.ok_or_else(|| Error::internal(format!("slots {start}+{n} of a batch of {}", self.size)))?;
        let mut at = start;
        while at < end {
            let (word, bit) = (at / BITS, at % BITS);
            let many = (BITS - bit).min(end - at);
            let bits = (u64::MAX >> (BITS - many)) << bit;
            if self.taken[word].fetch_or(bits, Ordering::AcqRel) & bits != 0 {
                return Err(Error::internal(format!("a slot of {start}+{n} was taken twice")));
            }
            at += many;
        }
        let columns = self
            .areas
            .iter()
            .map(|area| {
                area.as_ref().map(|a| {
                    let len = n * a.row_bytes;
                    // SAFETY: the buffer has size * row_bytes bytes and start + n <= size; every
                    // slot is given out at most once (the bits above), so no two of these slices
                    // overlap; `finish` consumes the builder, so none is alive when the buffer is
                    // read.
                    let bytes = unsafe {
                        std::slice::from_raw_parts_mut(a.buffer.raw().as_ptr().add(start * a.row_bytes), len)
                    };
                    RowsMut { dtype: a.dtype, row: a.row, bytes }
                })
            })
            .collect();
        Ok(SlotsMut { columns })
    }

    /// The finished columns, `[n, ...]` each: the first `n` rows. `None` for columns that were not laid out.
    ///
    /// # Errors
    /// `Internal` if there are not so many slots.
    pub fn finish(self, n: usize) -> Result<Vec<Option<Tensor>>> {
        if n > self.size {
            return Err(Error::internal(format!("{n} rows of a batch of {}", self.size)));
        }
        self.areas
            .into_vec()
            .into_iter()
            .map(|area| {
                let Some(a) = area else { return Ok(None) };
                let mut buffer = Arc::try_unwrap(a.buffer)
                    .map_err(|_| Error::internal("a batch buffer is shared before it is finished"))?;
                buffer.truncate(n * a.row_bytes);
                Tensor::from_buffer(a.dtype, a.row.prepend(n)?, buffer).map(Some)
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn builder(n: usize) -> BatchBuilder {
        BatchBuilder::new(n, &[Some((DType::I32, Shape::vector(2))), None]).unwrap()
    }

    #[test]
    fn workers_write_disjoint_slots() {
        let b = builder(64);
        std::thread::scope(|s| {
            for t in 0..4 {
                let b = &b;
                s.spawn(move || {
                    let mut slots = b.take(t * 16, 16).unwrap();
                    let rows = slots.columns[0].as_mut().unwrap();
                    for i in 0..16 {
                        let v = (t * 16 + i) as i32;
                        rows.row(i)[..4].copy_from_slice(&v.to_ne_bytes());
                        rows.row(i)[4..].copy_from_slice(&(-v).to_ne_bytes());
                    }
                });
            }
        });
        let out = b.finish(64).unwrap();
        let expect: Vec<i32> = (0..64).flat_map(|v| [v, -v]).collect();
        assert_eq!(out[0].as_ref().unwrap().as_slice::<i32>().unwrap(), expect);
        assert!(out[1].is_none());
    }

    #[test]
    fn a_batch_may_be_short() {
        let b = builder(5);
        let mut slots = b.take(0, 3).unwrap();
        slots.columns[0].as_mut().unwrap().bytes().fill(7);
        drop(slots);
        let out = b.finish(3).unwrap();
        let t = out[0].as_ref().unwrap();
        assert_eq!((t.dims(), t.bytes()), (&[3, 2][..], &[7; 24][..]));
        assert!(builder(5).finish(6).is_err());
    }

    #[test]
    fn slots_are_taken_once() {
        for (first, n) in
            [(0, 1), (0, 64), (3, 61), (3, 62), (60, 140), (63, 1), (64, 64), (199, 1), (0, 200)]
        {
            let b = builder(200);
            assert!(b.take(first, n).is_ok());
            for slot in 0..200 {
                assert_eq!(b.take(slot, 1).is_err(), (first..first + n).contains(&slot), "slot {slot}");
            }
            assert!(b.take(first, n).is_err());
        }
        let b = builder(4);
        assert!(b.take(3, 2).is_err() && b.take(usize::MAX, 2).is_err());
        assert!(b.take(0, 4).is_ok() && b.take(4, 0).is_ok());
    }
}
