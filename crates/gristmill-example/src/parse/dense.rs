//! `FixedLenFeature`: one row per record, written where the caller wants it.

use crate::list::{List, ListKind, copy_floats, each_bytes, each_float_run, each_int};
use crate::parse::fault::{Fault, FaultIn, What};
use crate::parse::locate::Found;
use gristmill_types::{Buffer, Bytes, DType, Result, Shape, Tensor};
use std::ops::Range;

/// A dense feature.
#[derive(Clone, Debug)]
pub(crate) struct Fixed {
    pub(crate) slot: usize,
    pub(crate) dtype: DType,
    pub(crate) kind: ListKind,
    pub(crate) shape: Shape,
    /// Values of a row.
    pub(crate) count: usize,
    /// In the feature's shape.
    pub(crate) default: Option<Tensor>,
}

impl Fixed {
    /// Bytes of one row; 0 for strings.
    pub(crate) fn row_bytes(&self) -> usize {
        self.count * self.dtype.size()
    }

    #[cold]
    fn fault(&self, what: What) -> Fault {
        FaultIn::boxed(self.slot, self.dtype, what)
    }

    /// The list to read, `None` for the default.
    #[inline]
    fn list(&self, found: Found) -> Result<Option<List>, Fault> {
        match found {
            Found::List(list) if list.kind == self.kind => Ok(Some(list)),
            Found::List(list) => Err(self.fault(What::Kind { found: list.kind, dense: true })),
            Found::Broken(m) => Err(self.fault(What::Broken(m))),
            Found::Absent if self.default.is_some() => Ok(None),
            Found::Absent => Err(self.fault(What::Missing)),
        }
    }

    #[inline]
    fn counted(&self, found: usize) -> Result<(), Fault> {
        if found == self.count { Ok(()) } else { Err(self.fault(What::Count { found, shape: self.shape })) }
    }

    /// Writes the numbers of one record into `row`, which has [`Fixed::row_bytes`] bytes.
    #[inline]
    pub(crate) fn write_row(&self, data: &[u8], found: Found, row: &mut [u8]) -> Result<(), Fault> {
        let Some(list) = self.list(found)? else {
            if let Some(default) = &self.default {
                row.copy_from_slice(default.bytes());
            }
            return Ok(());
        };
        let mut n = 0;
        if self.kind == ListKind::Floats {
            each_float_run(data, list.range(), |run| {
                if let Some(place) = row.get_mut(4 * n..4 * n + run.len()) {
                    copy_floats(run, place);
                }
                n += run.len() / 4;
            })
        } else {
            let mut places = row.chunks_exact_mut(8);
            each_int(data, list.range(), |v| {
                if let Some(place) = places.next() {
                    place.copy_from_slice(&v.to_ne_bytes());
                }
                n += 1;
            })
        }
        .map_err(|m| self.fault(What::Broken(m)))?;
        self.counted(n)
    }

    /// Gives the places of a record's strings to `f`, one after the other; or, where the record has none, the
    /// default instead of calling it. After an error `f` may have seen some.
    #[inline]
    pub(crate) fn each_string(
        &self,
        data: &[u8],
        found: Found,
        mut f: impl FnMut(Range<usize>),
    ) -> Result<Option<&Tensor>, Fault> {
        let Some(list) = self.list(found)? else { return Ok(self.default.as_ref()) };
        let mut n = 0;
        each_bytes(data, list.range(), |r| {
            if n < self.count {
                f(r);
            }
            n += 1;
        })
        .map_err(|m| self.fault(What::Broken(m)))?;
        self.counted(n)?;
        Ok(None)
    }

    /// Appends the strings of one record, which share its memory. After an error some may have been
    /// appended.
    pub(crate) fn push_strings(
        &self,
        record: &Bytes,
        found: Found,
        out: &mut Vec<Bytes>,
    ) -> Result<(), Fault> {
        if let Some(default) =
            self.each_string(record, found, |r| out.push(record.slice(r.start, r.len())))?
        {
            out.extend_from_slice(default.as_strings());
        }
        Ok(())
    }

    /// The tensor of one record.
    pub(crate) fn tensor(&self, record: &Bytes, found: Found) -> Result<Result<Tensor>, Fault> {
        /// Rows up to this size pass through the stack: tensors hold them inline.
        const SMALL: usize = 16;
        let n = self.row_bytes();
        if self.dtype == DType::String {
            let mut items = Vec::new();
            self.push_strings(record, found, &mut items)?;
            return Ok(match (self.shape.rank(), items.pop()) {
                (0, Some(only)) => Ok(Tensor::string(only)),
                (_, last) => {
                    items.extend(last);
                    Tensor::strings(self.shape, items)
                }
            });
        }
        if n <= SMALL {
            // 8-byte words, so that rows of either kind are aligned.
            let mut row = [0u8; SMALL];
            self.write_row(record, found, &mut row[..n])?;
            return Ok(Tensor::from_bytes(self.dtype, self.shape, &row[..n]));
        }
        let mut buffer = Buffer::recycled(n);
        self.write_row(record, found, buffer.as_mut_slice())?;
        Ok(Tensor::from_buffer(self.dtype, self.shape, buffer))
    }
}
