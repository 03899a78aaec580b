//! The cells of further columns, kept as text until a record is written.

use gristmill_example::wire::{Cursor, put_varint};

/// What a column's feature holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum CellKind {
    /// `int64_list`.
    Int,
    /// `float_list`.
    Float,
    /// `bytes_list`.
    Bytes,
}

/// What is known of a column so far.
#[derive(Debug, Clone)]
pub(crate) struct Column {
    pub(crate) name: String,
    ints: bool,
    floats: bool,
    /// Whether a value is a proper number: `nan` alone does not make floats.
    digits: bool,
    /// Number of values of the first cell that is there; `None` when cells differ.
    length: Option<u64>,
    filled: u64,
    missing: bool,
    /// Whether empty CSV cells were met, which are missing numbers or empty texts.
    empty: bool,
}

impl Column {
    fn new(name: String) -> Self {
        let (ints, floats) = (true, true);
        Self { name, ints, floats, digits: false, length: None, filled: 0, missing: false, empty: false }
    }

    pub(crate) fn kind(&self) -> CellKind {
        if !self.digits {
            CellKind::Bytes
        } else if self.ints {
            CellKind::Int
        } else if self.floats {
            CellKind::Float
        } else {
            CellKind::Bytes
        }
    }

    /// The number of values where it is the same in every row.
    pub(crate) fn length(&self) -> Option<u64> {
        self.length
    }

    /// Whether some rows have no value.
    pub(crate) fn optional(&self) -> bool {
        self.missing || (self.empty && self.kind() != CellKind::Bytes)
    }
}

/// An integer as programs write it: `0`, `-5`, but not `007`, `+5` or what does not fit.
pub(crate) fn integer(text: &str) -> Option<i64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let plain = digits == "0" || (!digits.starts_with(['0', '+']) && text != "-0");
    text.parse().ok().filter(|_| plain)
}

/// A real number: any that Rust reads, without leading zeros before digits or a plus sign.
fn real(text: &str) -> Option<f32> {
    let digits = text.strip_prefix('-').unwrap_or(text).as_bytes();
    let code = digits.len() > 1 && digits[0] == b'0' && digits[1].is_ascii_digit();
    if code || digits.first() == Some(&b'+') {
        return None;
    }
    text.parse::<f64>().ok().map(|value| value as f32)
}

/// One scalar of a cell as the reader found it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Scalar<'a> {
    /// Text that may be a number.
    Untyped(&'a [u8]),
    /// Text that is text.
    Text(&'a [u8]),
    /// A number in its own digits.
    Number(&'a str),
}

/// All cells, one after the other: for each its number of values plus one (0: missing), then each value's length and
/// text.
#[derive(Debug, Default)]
pub(crate) struct Cells {
    columns: Vec<Column>,
    data: Vec<u8>,
    /// Where each row starts.
    rows: Vec<u64>,
}

impl Cells {
    pub(crate) fn columns(&self) -> &[Column] {
        &self.columns
    }

    pub(crate) fn raw(&self) -> &[u8] {
        &self.data
    }

    /// The column of that name, made where there is none; it is missing in the rows before.
    pub(crate) fn column(&mut self, name: &str) -> (usize, bool) {
        match self.columns.iter().position(|c| c.name == name) {
            Some(i) => (i, false),
            None => {
                self.columns.push(Column::new(name.to_owned()));
                (self.columns.len() - 1, true)
            }
        }
    }

    /// Begins the next row.
    pub(crate) fn begin_row(&mut self) {
        self.rows.push(self.data.len() as u64);
    }

    /// Adds the next cell of the row; cells of columns come in their order.
    pub(crate) fn push(&mut self, column: usize, values: Option<&[Scalar<'_>]>) {
        let column = &mut self.columns[column];
        let Some(values) = values else {
            column.missing = true;
            self.data.push(0);
            return;
        };
        put_varint(&mut self.data, values.len() as u64 + 1);
        let mut empty = false;
        for &value in values {
            let bytes = match value {
                Scalar::Untyped(b) | Scalar::Text(b) => b,
                Scalar::Number(n) => n.as_bytes(),
            };
            put_varint(&mut self.data, bytes.len() as u64);
            self.data.extend_from_slice(bytes);
            let text = std::str::from_utf8(bytes).unwrap_or("?").trim();
            match value {
                Scalar::Untyped(b"") => empty = true,
                Scalar::Text(_) => (column.ints, column.floats) = (false, false),
                Scalar::Number("true" | "false") => column.digits = true,
                _ => {
                    column.ints = column.ints && integer(text).is_some();
                    let number = column.floats.then(|| real(text)).flatten();
                    column.floats = number.is_some();
                    column.digits |= number.is_some_and(|n| !n.is_nan()) && !text.ends_with(['f', 'y']);
                }
            }
        }
        if empty {
            column.empty = true;
        }
        let length = values.len() as u64;
        column.length = if column.filled == 0 || column.length == Some(length) { Some(length) } else { None };
        column.filled += 1;
    }

    /// Says how many rows there are: columns that came late are missing in the first ones.
    pub(crate) fn finish(&mut self, rows: usize) {
        for column in &mut self.columns {
            column.missing |= column.filled < rows as u64;
        }
        self.data.shrink_to_fit();
    }

    /// The values of a cell; `None` when it is missing.
    pub(crate) fn get(&self, row: usize, column: usize) -> Option<Scalars<'_>> {
        let start = *self.rows.get(row)? as usize;
        let end = self.rows.get(row + 1).map_or(self.data.len(), |&end| end as usize);
        let mut cursor = Cursor::within(&self.data, start..end);
        let mut left = 0;
        for at in 0..=column {
            // Rows from before a column came have fewer cells.
            left = cursor.varint().ok()?;
            if at < column {
                (1..left).try_for_each(|_| cursor.delimited().map(|_| ()).ok())?;
            }
        }
        let kind = self.columns[column].kind();
        let cell = Scalars { data: &self.data, cursor, left: left.checked_sub(1)?, kind };
        let missing_number = kind != CellKind::Bytes && cell.left == 1 && cell.clone().text() == Some(b"");
        (!missing_number).then_some(cell)
    }
}

/// The values of one cell.
#[derive(Debug, Clone)]
pub(crate) struct Scalars<'a> {
    data: &'a [u8],
    cursor: Cursor<'a>,
    left: u64,
    pub(crate) kind: CellKind,
}

impl<'a> Scalars<'a> {
    /// Values left.
    pub(crate) fn count(&self) -> u64 {
        self.left
    }

    /// The next value as its text.
    pub(crate) fn text(&mut self) -> Option<&'a [u8]> {
        self.left = self.left.checked_sub(1)?;
        self.cursor.delimited().ok().map(|range| &self.data[range])
    }

    /// The next value as an integer.
    pub(crate) fn int(&mut self) -> Option<i64> {
        Some(match self.text()?.trim_ascii() {
            b"true" => 1,
            b"false" => 0,
            text => std::str::from_utf8(text).ok()?.parse().unwrap_or(0),
        })
    }

    /// The next value as a real number.
    pub(crate) fn float(&mut self) -> Option<f32> {
        Some(match self.text()?.trim_ascii() {
            b"true" => 1.0,
            b"false" => 0.0,
            text => std::str::from_utf8(text).ok()?.parse::<f64>().map_or(f32::NAN, |v| v as f32),
        })
    }
}
