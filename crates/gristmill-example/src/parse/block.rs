//! Parsing many records at once, each by the rules of `parse_single_example`, straight into
//! columns: the hot path.

use crate::parse::Parser;
use crate::parse::fault::{Place, explain, unparsable};
use crate::parse::layout::Layout;
use crate::parse::locate::{Found, Scratch, locate};
use crate::parse::outputs::Make;
use crate::parse::records::{Records, StringColumn};
use gristmill_types::{DType, Error, Result, Value};

/// Where one result of [`Parser::parse_block`] goes.
#[derive(Debug)]
pub enum ColumnDest<'a> {
    /// Numbers of a `FixedLenFeature`: record `i` is written to row `i`. As many bytes as rows
    /// (at least as many as records) times the bytes of a row, in native byte order.
    Plain(&'a mut [u8]),
    /// Strings of a `FixedLenFeature`, appended in row-major order; they share the records' memory.
    Strings(&'a mut StringColumn),
    /// One value per record, appended.
    Values(&'a mut Vec<Value>),
}

impl ColumnDest<'_> {
    /// Leaves what `rows` records of `strings` strings each have appended.
    fn truncate(&mut self, rows: usize, strings: usize) {
        match self {
            Self::Plain(_) => {}
            Self::Strings(v) => v.truncate(rows * strings),
            Self::Values(v) => v.truncate(rows),
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

    /// A column for the strings of result `i` over these records; `None` where the result is no
    /// `FixedLenFeature` of strings.
    pub fn string_column(&self, i: usize, records: &Records) -> Option<StringColumn> {
        match &self.outputs[i].make {
            Make::Fixed(f) if f.dtype == DType::String => {
                Some(StringColumn::new(f.count * records.len(), records, f.default.as_ref()))
            }
            _ => None,
        }
    }

    /// Parses record after record into `dest`, which has one entry per result. Stops at the first
    /// record that fails: returns how many were parsed, and the error. Appended columns then hold
    /// just these; rows of plain columns from there on are unspecified.
    ///
    /// # Errors
    /// In the result: as [`Parser::parse_single`], or `Internal` if `dest` does not fit the results.
    pub fn parse_block(&self, records: &Records, dest: &mut [ColumnDest<'_>]) -> (usize, Option<Error>) {
        if let Err(e) = self.check(records.len(), dest) {
            return (0, Some(e));
        }
        let mut scratch = Scratch::new(&self.keys);
        let mut layout = self.learnt.take();
        layout.suit(dest);
        let parsed = self.parse_on(records, dest, &mut scratch, &mut layout);
        self.learnt.put(layout);
        parsed
    }

    fn parse_on(
        &self,
        records: &Records,
        dest: &mut [ColumnDest<'_>],
        scratch: &mut Scratch,
        layout: &mut Layout,
    ) -> (usize, Option<Error>) {
        let mut i = 0;
        loop {
            let (at, mut made) =
                layout.read_on(&self.outputs, records, i, dest, &mut scratch.found, |k, row, dest, found| {
                    self.finish(records, row, k, dest, found)
                });
            if made.is_ok() {
                if at == records.len() {
                    return (at, None);
                }
                made = self.read_odd(records, at, dest, scratch, layout);
            }
            if let Err(e) = made {
                self.truncate(dest, at);
                return (at, Some(e));
            }
            i = at + 1;
        }
    }

    /// A record by the general rules, and what its form teaches.
    fn read_odd(
        &self,
        records: &Records,
        row: usize,
        dest: &mut [ColumnDest<'_>],
        scratch: &mut Scratch,
        layout: &mut Layout,
    ) -> Result<()> {
        self.truncate(dest, row);
        let made = self.parse_into(records, row, dest, scratch);
        layout.learn(&self.keys, &self.outputs, records.get(row), dest);
        made
    }

    /// Takes back what records from `rows` on have appended.
    fn truncate(&self, dest: &mut [ColumnDest<'_>], rows: usize) {
        for (d, output) in dest.iter_mut().zip(&self.outputs) {
            let strings = if let Make::Fixed(f) = &output.make { f.count } else { 0 };
            d.truncate(rows, strings);
        }
    }

    fn parse_into(
        &self,
        records: &Records,
        row: usize,
        dest: &mut [ColumnDest<'_>],
        scratch: &mut Scratch,
    ) -> Result<()> {
        let data = records.get(row);
        locate(&self.keys, data, scratch).map_err(|m| unparsable(m, data, Place::Single))?;
        for (k, dest) in dest.iter_mut().enumerate() {
            self.finish(records, row, k, dest, &scratch.found)?;
        }
        Ok(())
    }

    /// Makes result `k` of a record in which everything was found.
    #[inline]
    fn finish(
        &self,
        records: &Records,
        row: usize,
        k: usize,
        dest: &mut ColumnDest<'_>,
        found: &[Found],
    ) -> Result<()> {
        let output = &self.outputs[k];
        let data = records.get(row);
        match (&output.make, dest) {
            (Make::Fixed(f), ColumnDest::Plain(out)) => {
                let n = f.row_bytes();
                f.write_row(data, found[f.slot], &mut out[row * n..(row + 1) * n])
                    .map_err(|fault| explain(&fault, &self.keys, data, Place::Single))
            }
            (Make::Fixed(f), ColumnDest::Strings(out)) => {
                let span = records.span(row);
                match f.each_string(data, found[f.slot], |r| out.push(span, r.start, r.len())) {
                    Ok(Some(_)) => out.push_default(),
                    Ok(None) => {}
                    Err(fault) => return Err(explain(&fault, &self.keys, data, Place::Single)),
                }
                Ok(())
            }
            (_, ColumnDest::Values(out)) => {
                out.push(output.single(&self.keys, &records.bytes(row), found)?);
                Ok(())
            }
            (Make::Lists(_), _) => Err(Error::internal("destinations were checked")),
        }
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
