//! Parsing many records at once, each by the rules of `parse_single_example`, straight into
//! columns: the hot path.

use crate::parse::Parser;
use crate::parse::fault::{Place, explain, unparsable};
use crate::parse::locate::{Scratch, locate};
use crate::parse::outputs::Make;
use gristmill_types::{Bytes, DType, Error, Result, Value};

/// Where one result of [`Parser::parse_block`] goes.
#[derive(Debug)]
pub enum ColumnDest<'a> {
    /// Numbers of a `FixedLenFeature`: record `i` is written to row `i`. As many bytes as rows
    /// (at least as many as records) times the bytes of a row, in native byte order.
    Plain(&'a mut [u8]),
    /// Strings of a `FixedLenFeature`, appended in row-major order; they share the records' memory.
    Strings(&'a mut Vec<Bytes>),
    /// One value per record, appended.
    Values(&'a mut Vec<Value>),
}

impl ColumnDest<'_> {
    /// Length of what was appended so far.
    fn len(&self) -> usize {
        match self {
            Self::Plain(_) => 0,
            Self::Strings(v) => v.len(),
            Self::Values(v) => v.len(),
        }
    }

    fn truncate(&mut self, len: usize) {
        match self {
            Self::Plain(_) => {}
            Self::Strings(v) => v.truncate(len),
            Self::Values(v) => v.truncate(len),
        }
    }
}

impl Parser {
    /// Bytes that a record takes in a [`ColumnDest::Plain`], by result; `None` where the result
    /// is no `FixedLenFeature` of numbers.
    pub fn row_bytes(&self) -> Vec<Option<usize>> {
        self.outputs
            .iter()
            .map(|o| match &o.make {
                Make::Fixed(f) if f.dtype != DType::String => Some(f.row_bytes()),
                _ => None,
            })
            .collect()
    }

    /// Whether a result may go to a [`ColumnDest::Strings`], by result.
    pub fn is_strings(&self) -> Vec<bool> {
        self.outputs.iter().map(|o| matches!(&o.make, Make::Fixed(f) if f.dtype == DType::String)).collect()
    }

    /// Parses record after record into `dest`, which has one entry per result. Stops at the first
    /// record that fails: returns how many were parsed, and the error. Appended columns then hold
    /// just these; rows of plain columns from there on are unspecified.
    ///
    /// # Errors
    /// In the result: as [`Parser::parse_single`], or `Internal` if `dest` does not fit the results.
    pub fn parse_block(&self, records: &[Bytes], dest: &mut [ColumnDest<'_>]) -> (usize, Option<Error>) {
        if let Err(e) = self.check(records.len(), dest) {
            return (0, Some(e));
        }
        let mut scratch = Scratch::new(&self.keys);
        let mut marks = vec![0; dest.len()];
        for (i, record) in records.iter().enumerate() {
            for (mark, d) in marks.iter_mut().zip(dest.iter()) {
                *mark = d.len();
            }
            if let Err(e) = self.parse_into(record, i, dest, &mut scratch) {
                for (d, mark) in dest.iter_mut().zip(marks) {
                    d.truncate(mark);
                }
                return (i, Some(e));
            }
        }
        (records.len(), None)
    }

    #[inline]
    fn parse_into(
        &self,
        record: &Bytes,
        row: usize,
        dest: &mut [ColumnDest<'_>],
        scratch: &mut Scratch,
    ) -> Result<()> {
        let data = record.as_slice();
        locate(&self.keys, data, scratch).map_err(|m| unparsable(m, data, Place::Single))?;
        for (output, d) in self.outputs.iter().zip(dest) {
            match (&output.make, d) {
                (Make::Fixed(f), ColumnDest::Plain(out)) => {
                    let n = f.row_bytes();
                    f.write_row(data, scratch.found[f.slot], &mut out[row * n..(row + 1) * n])
                        .map_err(|fault| explain(&fault, &self.keys, data, Place::Single))?;
                }
                (Make::Fixed(f), ColumnDest::Strings(out)) => {
                    f.push_strings(record, scratch.found[f.slot], out)
                        .map_err(|fault| explain(&fault, &self.keys, data, Place::Single))?;
                }
                (_, ColumnDest::Values(out)) => {
                    out.push(output.single(&self.keys, record, &scratch.found)?)
                }
                (Make::Lists(_), _) => return Err(Error::internal("destinations were checked")),
            }
        }
        Ok(())
    }

    /// Whether every destination fits its result.
    fn check(&self, records: usize, dest: &[ColumnDest<'_>]) -> Result<()> {
        if dest.len() != self.outputs.len() {
            return Err(Error::internal(format!(
                "{} destinations given for {} features",
                dest.len(),
                self.outputs.len()
            )));
        }
        for (o, d) in self.outputs.iter().zip(dest) {
            let fits = match (&o.make, d) {
                (_, ColumnDest::Values(_)) => true,
                (Make::Fixed(f), ColumnDest::Plain(out)) if f.dtype != DType::String => {
                    f.row_bytes().checked_mul(records).is_some_and(|need| need <= out.len())
                }
                (Make::Fixed(f), ColumnDest::Strings(_)) => f.dtype == DType::String,
                _ => false,
            };
            if !fits {
                return Err(Error::internal(format!(
                    "the destination of feature '{}' does not fit it",
                    o.name
                )));
            }
        }
        Ok(())
    }
}
