//! Protobuf's wire format: a bounds-checked cursor over a record, and the writers' primitives.
//!
//! Facts are from the protobuf encoding guide (protobuf.dev/programming-guides/encoding).

use std::ops::Range;

/// Nesting of unknown groups that is followed; protobuf's own limit for nested messages.
const MAX_GROUPS: u32 = 100;

/// Bytes that are not valid protobuf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// Offset in the record at which reading failed.
    pub at: usize,
    /// What is wrong there, as a noun phrase.
    pub what: &'static str,
}

/// The tag of a field: its number and wire type, as it is written before the field.
pub const fn tag(field: u32, wire: u32) -> u32 {
    field << 3 | wire
}

/// Wire type of varints.
pub const VARINT: u32 = 0;
/// Wire type of 8-byte little-endian values.
pub const FIXED64: u32 = 1;
/// Wire type of length-prefixed values.
pub const LEN: u32 = 2;
/// Wire type that opens a group.
pub const GROUP: u32 = 3;
/// Wire type that closes a group.
pub const END_GROUP: u32 = 4;
/// Wire type of 4-byte little-endian values.
pub const FIXED32: u32 = 5;

/// Reads a range of a record; offsets are those in the whole record.
#[derive(Clone, Debug)]
pub struct Cursor<'a> {
    data: &'a [u8],
    pos: usize,
    end: usize,
}

impl<'a> Cursor<'a> {
    /// Reads the whole of `data`.
    pub fn new(data: &'a [u8]) -> Self {
        Self { data, pos: 0, end: data.len() }
    }

    /// Reads `range` of `data`; what lies outside `data` is not read.
    #[inline]
    pub fn within(data: &'a [u8], range: Range<usize>) -> Self {
        Self { data, pos: range.start, end: range.end.min(data.len()) }
    }

    /// Whether everything was read.
    #[inline]
    pub fn at_end(&self) -> bool {
        self.pos >= self.end
    }

    /// Bytes that are left.
    #[inline]
    pub fn left(&self) -> usize {
        self.end - self.pos.min(self.end)
    }

    #[cold]
    fn malformed<T>(&self, what: &'static str) -> Result<T, Malformed> {
        Err(Malformed { at: self.pos, what })
    }

    /// A varint of up to ten bytes; bits beyond the 64th are dropped, as protobuf does.
    ///
    /// # Errors
    /// If it is longer or cut off.
    #[inline]
    pub fn varint(&mut self) -> Result<u64, Malformed> {
        if self.pos < self.end {
            let byte = self.data[self.pos];
            if byte < 0x80 {
                self.pos += 1;
                return Ok(u64::from(byte));
            }
        }
        self.long_varint()
    }

    #[inline(never)]
    fn long_varint(&mut self) -> Result<u64, Malformed> {
        let mut value = 0u64;
        for (i, &byte) in self.data[self.pos.min(self.end)..self.end].iter().take(10).enumerate() {
            value |= u64::from(byte & 0x7f) << (7 * i);
            if byte < 0x80 {
                self.pos += i + 1;
                return Ok(value);
            }
        }
        self.malformed(if self.left() >= 10 {
            "a varint of more than ten bytes"
        } else {
            "a varint that is cut off"
        })
    }

    /// A field's tag. Whether it is a valid one is seen when the field is skipped.
    ///
    /// # Errors
    /// If it is cut off or does not fit 32 bits.
    #[inline]
    pub fn tag(&mut self) -> Result<u32, Malformed> {
        let start = self.pos;
        let value = self.varint()?;
        u32::try_from(value).map_err(|_| Malformed { at: start, what: "a field number that is too large" })
    }

    /// A length and the range of that many bytes that follow it.
    ///
    /// # Errors
    /// If fewer bytes are left.
    #[inline]
    pub fn delimited(&mut self) -> Result<Range<usize>, Malformed> {
        let len = self.varint()?;
        if len > self.left() as u64 {
            return self.malformed("a length beyond the end of its message");
        }
        let start = self.pos;
        self.pos += len as usize;
        Ok(start..self.pos)
    }

    /// The range of the next `n` bytes.
    ///
    /// # Errors
    /// If fewer bytes are left.
    #[inline]
    pub fn fixed(&mut self, n: usize) -> Result<Range<usize>, Malformed> {
        if n > self.left() {
            return self.malformed("a fixed-size value that is cut off");
        }
        let start = self.pos;
        self.pos += n;
        Ok(start..self.pos)
    }

    /// Passes over the field whose tag was just read.
    ///
    /// # Errors
    /// For field number 0, wire types 6 and 7, a group that is not closed or is closed without
    /// being open, and values that are cut off.
    pub fn skip(&mut self, field_tag: u32) -> Result<(), Malformed> {
        self.skip_nested(field_tag, MAX_GROUPS)
    }

    fn skip_nested(&mut self, field_tag: u32, depth: u32) -> Result<(), Malformed> {
        if field_tag >> 3 == 0 {
            return self.malformed("field number 0");
        }
        match field_tag & 7 {
            VARINT => self.varint().map(|_| ()),
            FIXED64 => self.fixed(8).map(|_| ()),
            LEN => self.delimited().map(|_| ()),
            FIXED32 => self.fixed(4).map(|_| ()),
            GROUP if depth == 0 => self.malformed("groups nested too deeply"),
            GROUP => loop {
                let inner = self.tag()?;
                if inner & 7 != END_GROUP {
                    self.skip_nested(inner, depth - 1)?;
                } else if inner >> 3 == field_tag >> 3 {
                    return Ok(());
                } else {
                    return self.malformed("the end of another group");
                }
            },
            END_GROUP => self.malformed("the end of a group that is not open"),
            _ => self.malformed("an unknown wire type"),
        }
    }
}

/// Bytes that a varint takes, 1 to 10.
pub fn varint_len(value: u64) -> usize {
    (64 - (value | 1).leading_zeros() as usize).div_ceil(7)
}

/// Appends a varint.
pub fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Bytes of a length-delimited field with a one-byte tag and `len` bytes of contents.
pub fn field_len(len: usize) -> usize {
    1 + varint_len(len as u64) + len
}

/// Appends the head of a length-delimited field with number `field` (1 to 15).
pub fn put_head(out: &mut Vec<u8>, field: u32, len: usize) {
    out.push(tag(field, LEN) as u8);
    put_varint(out, len as u64);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varints_round_trip() {
        for v in [0, 1, 127, 128, 300, 1 << 31, u64::from(u32::MAX), i64::MIN as u64, u64::MAX] {
            let mut out = Vec::new();
            put_varint(&mut out, v);
            assert_eq!(out.len(), varint_len(v));
            let mut c = Cursor::new(&out);
            assert_eq!((c.varint(), c.at_end()), (Ok(v), true));
            assert!(Cursor::new(&out[..out.len() - 1]).varint().is_err());
        }
        assert_eq!(Cursor::new(&[0x81, 0x80, 0x80, 0]).varint(), Ok(1));
        assert!(Cursor::new(&[0xff; 11]).varint().is_err());
    }

    #[test]
    fn groups_are_skipped_and_checked() {
        let skip = |bytes: &[u8]| {
            let mut c = Cursor::new(bytes);
            let t = c.tag()?;
            c.skip(t).map(|()| c.left())
        };
        // Group 1 holding group 2 and a varint, then one byte more.
        assert_eq!(skip(&[0x0b, 0x13, 0x14, 0x08, 5, 0x0c, 9]), Ok(1));
        assert_eq!(skip(&[0x0b, 0x14]).map_err(|m| m.what), Err("the end of another group"));
        assert!(skip(&[0x0b, 0x08, 5]).is_err());
        assert!(skip(&[0x0c]).is_err());
        assert!(skip(&[0x07, 1]).is_err());
        assert!(skip(&[0x0b; 300]).is_err());
    }

    #[test]
    fn lengths_are_checked_before_use() {
        assert!(Cursor::new(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1]).delimited().is_err());
        assert_eq!(Cursor::new(&[2, 7, 7]).delimited(), Ok(1..3));
        assert_eq!(Cursor::within(&[2, 7, 7], 0..2).delimited().map_err(|m| m.at), Err(1));
    }
}
