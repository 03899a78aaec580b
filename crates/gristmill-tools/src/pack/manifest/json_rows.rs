//! Rows of JSON lines.

use std::io::BufRead;

use gristmill_types::{Error, Kind, Result};
use serde_json::{Map, Value};

use super::columns::Scalar;
use super::{Table, bad, check_column, check_columns};
use crate::pack::report::cancelled;

pub(super) fn read(mut input: impl BufRead, table: &mut Table, stop: &dyn Fn() -> bool) -> Result<()> {
    let mut text = Vec::new();
    let mut line = 0u64;
    loop {
        text.clear();
        let read = input.read_until(b'\n', &mut text);
        if read.map_err(|e| Error::new(Kind::Unknown, format!("reading the manifest failed: {e}")))? == 0 {
            return Ok(());
        }
        line += 1;
        if line.is_multiple_of(4096) && stop() {
            return Err(cancelled());
        }
        if text.trim_ascii().is_empty() {
            continue;
        }
        let row = match serde_json::from_slice::<Value>(&text) {
            Ok(Value::Object(row)) => row,
            Ok(_) => {
                return Err(bad(line, "expected a JSON object such as {\"path\": \"a.jpg\", \"label\": 0}"));
            }
            Err(e) => return Err(bad(line, format_args!("it is no JSON: {e}"))),
        };
        add(&row, table, line)?;
    }
}

fn add(row: &Map<String, Value>, table: &mut Table, line: u64) -> Result<()> {
    let lacks = |name: &str| {
        let names: Vec<_> = row.keys().take(20).map(String::as_str).collect();
        bad(line, format_args!("there is no '{name}', only: {}", names.join(", ")))
    };
    let path = match row.get("path").ok_or_else(|| lacks("path"))? {
        Value::String(path) => path,
        _ => return Err(bad(line, "'path' must be a string")),
    };
    let label = match row.get("label").ok_or_else(|| lacks("label"))? {
        Value::String(label) => label.clone(),
        Value::Number(n) if n.is_i64() => n.to_string(),
        Value::Bool(b) => i32::from(*b).to_string(),
        _ => return Err(bad(line, "'label' must be a string or an integer")),
    };
    for name in row.keys().filter(|name| !matches!(name.as_str(), "path" | "label")) {
        if table.cells.column(name).1 {
            check_column(name, line)?;
            check_columns(table.cells.columns().len(), line)?;
        }
    }
    table.cells.begin_row();
    for column in 0..table.cells.columns().len() {
        let name = table.cells.columns()[column].name.clone();
        put(row.get(&name), column, &name, table, line)?;
    }
    table.push(path.as_bytes(), &label, line)
}

fn put(value: Option<&Value>, column: usize, name: &str, table: &mut Table, line: u64) -> Result<()> {
    let items: &[Value] = match value {
        None | Some(Value::Null) => {
            table.cells.push(column, None);
            return Ok(());
        }
        Some(Value::Array(items)) => items,
        Some(one) => std::slice::from_ref(one),
    };
    // Numbers are kept in their own digits, which have to live somewhere.
    let digits: Vec<String> =
        items.iter().map(|v| v.as_number().map(ToString::to_string).unwrap_or_default()).collect();
    let mut scalars = Vec::with_capacity(items.len());
    for (item, digits) in items.iter().zip(&digits) {
        scalars.push(match item {
            Value::String(text) => Scalar::Text(text.as_bytes()),
            Value::Number(_) => Scalar::Number(digits),
            Value::Bool(true) => Scalar::Number("true"),
            Value::Bool(false) => Scalar::Number("false"),
            _ => {
                return Err(bad(line, format_args!("'{name}' must be a scalar or an array of scalars")));
            }
        });
    }
    table.cells.push(column, Some(&scalars));
    Ok(())
}
