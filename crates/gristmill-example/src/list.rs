//! The three lists that a Feature may hold, read straight from their bytes.

use crate::wire::{Cursor, FIXED32, LEN, Malformed, VARINT, tag};
use gristmill_types::DType;
use std::ops::Range;

/// Which list a Feature holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListKind {
    /// `bytes_list`.
    Bytes,
    /// `float_list`.
    Floats,
    /// `int64_list`.
    Ints,
}

/// Tag of field 1 of every message here when it is length-delimited: a packed list, a byte string.
const ONE_LEN: u32 = tag(1, LEN);

impl ListKind {
    /// The kind whose field has that tag inside a Feature.
    #[inline]
    pub fn from_tag(field_tag: u32) -> Option<Self> {
        const BYTES: u32 = tag(1, LEN);
        const FLOATS: u32 = tag(2, LEN);
        const INTS: u32 = tag(3, LEN);
        match field_tag {
            BYTES => Some(Self::Bytes),
            FLOATS => Some(Self::Floats),
            INTS => Some(Self::Ints),
            _ => None,
        }
    }

    /// The dtype that its values parse to.
    pub const fn dtype(self) -> DType {
        match self {
            Self::Bytes => DType::String,
            Self::Floats => DType::F32,
            Self::Ints => DType::I64,
        }
    }

    /// The kind that a dtype is stored as; `None` for dtypes that no list holds.
    pub const fn of(dtype: DType) -> Option<Self> {
        match dtype {
            DType::String => Some(Self::Bytes),
            DType::F32 => Some(Self::Floats),
            DType::I64 => Some(Self::Ints),
            _ => None,
        }
    }

    /// The field's name in the schema.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bytes => "bytes_list",
            Self::Floats => "float_list",
            Self::Ints => "int64_list",
        }
    }
}

/// A list inside a record: its kind and the range of its message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct List {
    /// Which list.
    pub kind: ListKind,
    /// First byte in the record.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

impl List {
    /// The range of the list's message in its record.
    #[inline]
    pub fn range(self) -> Range<usize> {
        self.start..self.end
    }

    /// Number of values.
    ///
    /// # Errors
    /// If the bytes are not a list of that kind.
    pub fn count(self, data: &[u8]) -> Result<usize, Malformed> {
        let mut n = 0;
        match self.kind {
            ListKind::Bytes => each_bytes(data, self.range(), |_| n += 1)?,
            ListKind::Floats => each_float_run(data, self.range(), |run| n += run.len() / 4)?,
            ListKind::Ints => each_int(data, self.range(), |_| n += 1)?,
        }
        Ok(n)
    }
}

/// The first list inside the Feature at `range`: the one that TensorFlow's parser reads. Fields
/// that are not lists are passed over; `None` if there is no list.
///
/// # Errors
/// If the bytes before or of the list's head are not valid.
#[inline]
pub fn first_list(data: &[u8], range: Range<usize>) -> Result<Option<List>, Malformed> {
    let mut c = Cursor::within(data, range);
    while !c.at_end() {
        let t = c.tag()?;
        if let Some(kind) = ListKind::from_tag(t) {
            let r = c.delimited()?;
            return Ok(Some(List { kind, start: r.start, end: r.end }));
        }
        c.skip(t)?;
    }
    Ok(None)
}

/// Calls `f` with every value of an int64 list, packed, unpacked or mixed.
///
/// # Errors
/// If the bytes are not valid; `f` has then seen the values before that place.
#[inline]
pub fn each_int(data: &[u8], range: Range<usize>, mut f: impl FnMut(i64)) -> Result<(), Malformed> {
    const ONE: u32 = tag(1, VARINT);
    let mut c = Cursor::within(data, range);
    while !c.at_end() {
        match c.tag()? {
            ONE_LEN => {
                let mut packed = Cursor::within(data, c.delimited()?);
                while !packed.at_end() {
                    f(packed.varint()? as i64);
                }
            }
            ONE => f(c.varint()? as i64),
            other => c.skip(other)?,
        }
    }
    Ok(())
}

/// Calls `f` with every run of little-endian floats, a whole number of them: a packed list is one
/// run, an unpacked value is one of four bytes.
///
/// # Errors
/// If the bytes are not valid; `f` has then seen the runs before that place.
#[inline]
pub fn each_float_run(data: &[u8], range: Range<usize>, mut f: impl FnMut(&[u8])) -> Result<(), Malformed> {
    const ONE: u32 = tag(1, FIXED32);
    let mut c = Cursor::within(data, range);
    while !c.at_end() {
        match c.tag()? {
            ONE_LEN => {
                let run = c.delimited()?;
                if !run.len().is_multiple_of(4) {
                    return Err(Malformed {
                        at: run.start,
                        what: "a packed float list whose length is no multiple of 4",
                    });
                }
                f(&data[run]);
            }
            ONE => f(&data[c.fixed(4)?]),
            other => c.skip(other)?,
        }
    }
    Ok(())
}

/// Calls `f` with the range of every byte string of a list.
///
/// # Errors
/// If the bytes are not valid; `f` has then seen the strings before that place.
#[inline]
pub fn each_bytes(
    data: &[u8],
    range: Range<usize>,
    mut f: impl FnMut(Range<usize>),
) -> Result<(), Malformed> {
    let mut c = Cursor::within(data, range);
    while !c.at_end() {
        match c.tag()? {
            ONE_LEN => f(c.delimited()?),
            other => c.skip(other)?,
        }
    }
    Ok(())
}

/// Copies little-endian floats into memory of native order.
#[inline]
pub(crate) fn copy_floats(run: &[u8], out: &mut [u8]) {
    if cfg!(target_endian = "little") {
        out.copy_from_slice(run);
    } else {
        for (o, r) in out.chunks_exact_mut(4).zip(run.chunks_exact(4)) {
            o.copy_from_slice(&[r[3], r[2], r[1], r[0]]);
        }
    }
}

/// The floats of a run.
pub(crate) fn floats(run: &[u8]) -> impl Iterator<Item = f32> + '_ {
    run.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]))
}
