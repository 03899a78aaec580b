//! Tables of files: CSV, TSV or JSON lines with the columns `path` and `label`; further columns become features.
//!
//! The kind of a column holds for all its rows. A CSV column is `int64` when every cell is an integer as a program
//! writes it (no leading zero or plus, so that postal codes stay text), else `float` when every cell is a number, else
//! bytes. An empty cell of a number column is missing: the record lacks the feature. JSON lines have kinds of their own;
//! `true` and `false` are 1 and 0, `null` is missing, and an array of scalars is a feature of several values.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use gristmill_types::hash::Fnv;
use gristmill_types::{Error, Kind, Result};

use super::listing::{Class, Listing, io_error, os};
use super::report::{cancelled, shown};
use crate::progress::Progress;

mod columns;
mod csv_rows;
mod json_rows;

pub(crate) use columns::{CellKind, Cells, Scalars};

/// What a manifest is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Comma-separated, with a header line.
    Csv,
    /// Tab-separated, with a header line.
    Tsv,
    /// One JSON object a line.
    JsonLines,
}

impl Format {
    /// The format of a file's name, if it is that of a manifest.
    pub fn of(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "csv" => Some(Self::Csv),
            "tsv" => Some(Self::Tsv),
            "jsonl" | "ndjson" => Some(Self::JsonLines),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Tsv => "tsv",
            Self::JsonLines => "jsonl",
        }
    }
}

/// The rows of a manifest: path and label, and the other cells.
#[derive(Debug, Default)]
pub(crate) struct Table {
    /// Paths one after the other, and where each ends.
    pub(crate) paths: Vec<u8>,
    pub(crate) path_ends: Vec<u64>,
    /// Distinct labels as text, and which one each row has.
    pub(crate) labels: Vec<String>,
    pub(crate) label_of: Vec<u32>,
    seen: std::collections::HashMap<String, u32>,
    /// Whether every label is an integer.
    pub(crate) integers: bool,
    pub(crate) cells: Cells,
}

/// A table with more columns than this is none: each costs time in every row.
const MAX_COLUMNS: usize = 4096;

/// Names of features that pack makes itself.
const OWN: [&str; 6] = ["image", "label", "label_name", "height", "width", "filename"];

impl Table {
    fn new() -> Self {
        Self { integers: true, ..Self::default() }
    }

    /// Adds what every row has; its other cells are added to `cells`.
    fn push(&mut self, path: &[u8], label: &str, line: u64) -> Result<()> {
        if path.is_empty() {
            return Err(bad(line, "the path is empty"));
        }
        if label.is_empty() {
            return Err(bad(line, "the label is empty"));
        }
        if self.path_ends.len() >= u32::MAX as usize {
            return Err(bad(line, "there are more than 2^32 rows"));
        }
        self.paths.extend_from_slice(path);
        self.path_ends.push(self.paths.len() as u64);
        let id = match self.seen.get(label) {
            Some(&id) => id,
            None => {
                let id = self.labels.len() as u32;
                self.integers &= columns::integer(label).is_some();
                self.labels.push(label.to_owned());
                self.seen.insert(label.to_owned(), id);
                id
            }
        };
        self.label_of.push(id);
        Ok(())
    }
}

/// An error about a line, counted from 1.
fn bad(line: u64, what: impl std::fmt::Display) -> Error {
    Error::invalid(format!("line {line} of the manifest: {what}"))
}

/// Refuses more columns than a table has.
fn check_columns(columns: usize, line: u64) -> Result<()> {
    if columns > MAX_COLUMNS {
        return Err(bad(line, format_args!("there are more than {MAX_COLUMNS} columns")));
    }
    Ok(())
}

/// Refuses names that pack's own features have.
fn check_column(name: &str, line: u64) -> Result<()> {
    if OWN.contains(&name) {
        return Err(bad(
            line,
            format_args!("the column '{name}' has the name of a feature that pack makes itself"),
        )
        .hint("rename the column"));
    }
    if name.is_empty() {
        return Err(bad(line, "a column has no name"));
    }
    Ok(())
}

/// Reads all rows. Nothing is asked of the file system; memory is bounded by the size of the input.
pub(crate) fn read(input: impl Read, format: Format, stop: &dyn Fn() -> bool) -> Result<Table> {
    let mut table = Table::new();
    let mut input = BufReader::with_capacity(256 << 10, input);
    // Spreadsheets put a byte order mark in front.
    let start = input.fill_buf().map_err(|e| Error::new(Kind::Unknown, e.to_string()))?;
    if start.starts_with(b"\xef\xbb\xbf") {
        input.consume(3);
    }
    match format {
        Format::Csv => csv_rows::read(input, b',', &mut table, stop)?,
        Format::Tsv => csv_rows::read(input, b'\t', &mut table, stop)?,
        Format::JsonLines => json_rows::read(input, &mut table, stop)?,
    }
    table.cells.finish(table.path_ends.len());
    table.seen = Default::default();
    Ok(table)
}

/// Whether these bytes are a manifest that can be packed, and how many rows it has; for tests with hostile input.
///
/// # Errors
/// `InvalidArgument` with the line at which the text is no manifest.
pub fn check(bytes: &[u8], format: Format) -> Result<u64> {
    let table = read(bytes, format, &|| false)?;
    let mut listing = Listing::default();
    listing_classes(&table, &mut listing);
    for row in 0..table.path_ends.len() {
        for column in 0..table.cells.columns().len() {
            if let Some(mut cell) = table.cells.get(row, column) {
                while cell.clone().float().is_some() && cell.int().is_some() {}
            }
        }
    }
    Ok(table.path_ends.len() as u64)
}

/// The files of a manifest; paths are relative to its folder.
pub(crate) fn list(path: &Path, format: Format, progress: &dyn Progress) -> Result<Listing> {
    progress.phase("listing", None);
    let file = fs::File::open(path).map_err(|e| io_error(path, &e))?;
    let here = || shown(path.as_os_str().as_encoded_bytes());
    let table = read(file, format, &|| progress.cancelled()).map_err(|e| e.in_file(here()))?;
    if table.path_ends.is_empty() {
        return Err(Error::new(Kind::InvalidArgument, "the manifest has no rows").in_file(here()));
    }
    let root = path.parent().unwrap_or(Path::new(""));
    let mut listing = Listing::new(root, format.name());
    listing.named = !table.integers;
    let numbers = listing_classes(&table, &mut listing);
    let mut start = 0;
    for (&end, &label) in table.path_ends.iter().zip(&table.label_of) {
        let name = &table.paths[start..end as usize];
        start = end as usize;
        if listing.len().is_multiple_of(1024) && progress.cancelled() {
            return Err(cancelled());
        }
        let full = root.join(os(name));
        // What is not there is found to be unreadable later, with the others.
        let meta = fs::metadata(full).ok().filter(fs::Metadata::is_file);
        listing.push(name, label, meta.as_ref());
    }
    listing.renumber(&numbers);
    listing.cells = table.cells;
    Ok(listing)
}

/// Sets the classes: integer labels stay what they are, text is numbered in sorted order. Gives the class of each
/// distinct label.
fn listing_classes(table: &Table, listing: &mut Listing) -> Vec<u32> {
    let mut order: Vec<u32> = (0..table.labels.len() as u32).collect();
    let text = |id: u32| &table.labels[id as usize];
    if table.integers {
        order.sort_unstable_by_key(|&id| columns::integer(text(id)));
    } else {
        order.sort_unstable_by_key(|&id| text(id).as_bytes());
    }
    let mut numbers = vec![0; order.len()];
    for (class, &id) in order.iter().enumerate() {
        numbers[id as usize] = class as u32;
        let label = if table.integers { columns::integer(text(id)).unwrap_or(0) } else { class as i64 };
        listing.classes.push(Class { label, name: text(id).clone().into_bytes() });
    }
    numbers
}

impl Cells {
    /// Takes in names, kinds and values.
    pub(crate) fn hash_into(&self, hash: &mut Fnv) {
        for column in self.columns() {
            hash.field(column.name.as_bytes());
            hash.bytes(&[column.kind() as u8]);
        }
        hash.field(self.raw());
    }
}

#[cfg(test)]
mod tests;
