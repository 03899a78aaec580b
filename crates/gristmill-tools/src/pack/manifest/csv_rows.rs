//! Rows of CSV and TSV files.

use std::io::Read;

use csv::{ByteRecord, ReaderBuilder};
use gristmill_types::{Error, Kind, Result};

use super::columns::Scalar;
use super::{Table, bad, check_column, check_columns};
use crate::pack::report::{cancelled, shown};

fn csv_error(error: &csv::Error) -> Error {
    let line = error.position().map_or(0, csv::Position::line);
    match error.kind() {
        csv::ErrorKind::Io(io) => Error::new(Kind::Unknown, format!("reading the manifest failed: {io}")),
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            bad(line, format_args!("{len} cells where the header has {expected_len}"))
                .hint("put cells that hold a delimiter into double quotes")
        }
        _ => bad(line, error),
    }
}

/// What a column is for.
enum Role {
    Path,
    Label,
    Feature(usize),
}

pub(super) fn read(
    input: impl Read,
    delimiter: u8,
    table: &mut Table,
    stop: &dyn Fn() -> bool,
) -> Result<()> {
    let mut reader = ReaderBuilder::new().delimiter(delimiter).from_reader(input);
    let headers = reader.byte_headers().map_err(|e| csv_error(&e))?.clone();
    let roles = roles(&headers, table)?;
    let mut record = ByteRecord::new();
    let mut rows = 0u64;
    while reader.read_byte_record(&mut record).map_err(|e| csv_error(&e))? {
        let line = record.position().map_or(0, csv::Position::line);
        rows += 1;
        if rows.is_multiple_of(4096) && stop() {
            return Err(cancelled());
        }
        let (mut path, mut label): (&[u8], &[u8]) = (b"", b"");
        table.cells.begin_row();
        for (role, cell) in roles.iter().zip(&record) {
            match role {
                Role::Path => path = cell,
                Role::Label => label = cell,
                Role::Feature(column) => table.cells.push(*column, Some(&[Scalar::Untyped(cell)])),
            }
        }
        let label = std::str::from_utf8(label)
            .map_err(|_| bad(line, format_args!("the label '{}' is no UTF-8 text", shown(label))))?;
        table.push(path, label.trim(), line)?;
    }
    Ok(())
}

fn roles(headers: &ByteRecord, table: &mut Table) -> Result<Vec<Role>> {
    let mut roles = Vec::new();
    let mut found = [false; 2];
    for name in headers {
        let name = std::str::from_utf8(name)
            .map_err(|_| bad(1, format_args!("the column name '{}' is no UTF-8 text", shown(name))))?
            .trim();
        let own = match name {
            "path" => Some((0, Role::Path)),
            "label" => Some((1, Role::Label)),
            _ => None,
        };
        let (again, role) = match own {
            Some((i, role)) => (std::mem::replace(&mut found[i], true), role),
            None => {
                check_column(name, 1)?;
                let (column, new) = table.cells.column(name);
                check_columns(table.cells.columns().len(), 1)?;
                (!new, Role::Feature(column))
            }
        };
        if again {
            return Err(bad(1, format_args!("the column '{name}' is there twice")));
        }
        roles.push(role);
    }
    if let Some(missing) = ["path", "label"].into_iter().zip(found).find(|(_, found)| !found) {
        let names: Vec<_> = headers.iter().map(shown).collect();
        return Err(bad(1, format_args!("there is no column '{}', only: {}", missing.0, names.join(", ")))
            .hint("the first line names the columns; 'path' and 'label' are needed"));
    }
    Ok(roles)
}
