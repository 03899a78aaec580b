//! The Python code that reads and parses record files.

use std::ffi::OsString;
use std::fmt::Write as _;

use gristmill_example::{FeatureKind, FeatureSpec, Inferred};
use gristmill_types::{DType, PartialShape};

use super::FileInfo;
use super::acc::{Acc, FeatureAcc, ListAcc};
use crate::view::RecordKind;

/// The program, ready to run; `None` if the records are no Examples.
pub(super) fn python(files: &[OsString], infos: &[FileInfo], all: &Acc) -> Option<String> {
    let sequence = match all.kind()? {
        RecordKind::Example => false,
        RecordKind::SequenceExample => true,
        RecordKind::Event | RecordKind::Other => return None,
    };
    let mut code = String::from("import gristmill as gm\n\nfiles = [\n");
    for file in files {
        line(&mut code, format_args!("    {},", quoted(&file.to_string_lossy())));
    }
    code.push_str("]\n");
    let name = if sequence { "context_features" } else { "feature_description" };
    line(&mut code, format_args!("{name} = {{"));
    for (key, acc) in &all.features {
        let key = String::from_utf8_lossy(key);
        entry(&mut code, &key, acc, of_record(&key, acc, all.records).as_ref());
    }
    code.push_str("}\n");
    if sequence {
        code.push_str("sequence_features = {\n");
        for (key, acc) in &all.lists {
            let key = String::from_utf8_lossy(key);
            entry(&mut code, &key, &acc.values, of_steps(&key, acc).as_ref());
        }
        code.push_str("}\n");
    }
    code.push_str("\n\ndef parse(record):\n");
    code.push_str(if sequence {
        "    return gm.io.parse_single_sequence_example(record, context_features, sequence_features)\n"
    } else {
        "    return gm.io.parse_single_example(record, feature_description)\n"
    });
    let compression = infos.first().map_or("NONE", |info| info.compression);
    let one = infos.iter().all(|info| info.compression == compression);
    let argument = match compression {
        "NONE" => String::new(),
        // Files compressed in different ways are told apart by their bytes.
        _ if !one => String::new(),
        name => format!(", compression_type=\"{name}\""),
    };
    line(&mut code, format_args!("\n\ndataset = gm.data.TFRecordDataset(files{argument}).map(parse)"));
    Some(code)
}

fn line(code: &mut String, text: std::fmt::Arguments<'_>) {
    writeln!(code, "{text}").expect("writing to a string succeeds");
}

/// What is known of a feature of a record, as the spec's inference wants it.
fn of_record(name: &str, acc: &FeatureAcc, records: u64) -> Option<FeatureSpec> {
    let [kind] = acc.kinds()[..] else { return None };
    let (shortest, longest) = acc.list_len.get().unwrap_or((0, 0));
    let inferred = Inferred {
        name: name.to_owned(),
        dtype: Some(kind.dtype()),
        present: acc.present(),
        records,
        shortest: shortest as usize,
        longest: longest as usize,
    };
    inferred.spec()
}

/// A feature of a sequence: dense where every step of every record has the same number of values.
fn of_steps(name: &str, acc: &ListAcc) -> Option<FeatureSpec> {
    let spec = of_record(name, &acc.values, acc.values.present() + acc.values.unset)?;
    Some(match spec.kind {
        FeatureKind::FixedLen { dtype, shape, .. } => {
            let kind = FeatureKind::FixedLenSequence { dtype, shape, allow_missing: false, default: None };
            FeatureSpec { name: spec.name, kind }
        }
        _ => spec,
    })
}

fn entry(code: &mut String, key: &str, acc: &FeatureAcc, spec: Option<&FeatureSpec>) {
    let name = quoted(key);
    match spec.map(|spec| &spec.kind) {
        Some(FeatureKind::FixedLen { dtype, shape, .. }) => {
            line(
                code,
                format_args!(
                    "    {name}: gm.io.FixedLenFeature({}, gm.{}),",
                    dims(shape),
                    dtype_name(*dtype)
                ),
            );
        }
        Some(FeatureKind::FixedLenSequence { dtype, shape, .. }) => {
            let dtype = dtype_name(*dtype);
            line(
                code,
                format_args!("    {name}: gm.io.FixedLenSequenceFeature({}, gm.{dtype}),", dims(shape)),
            );
        }
        Some(FeatureKind::VarLen { dtype }) => {
            line(code, format_args!("    {name}: gm.io.VarLenFeature(gm.{}),", dtype_name(*dtype)));
        }
        _ if acc.present() == 0 => line(code, format_args!("    # {name} has no value in any record")),
        _ => line(code, format_args!("    # {name} is stored with different kinds: parse the files apart")),
    }
}

/// A shape as a Python list.
fn dims(shape: &PartialShape) -> String {
    let dims = shape.dims().unwrap_or_default();
    let shown: Vec<String> = dims.iter().map(|d| d.map_or("None".to_owned(), |d| d.to_string())).collect();
    format!("[{}]", shown.join(", "))
}

const fn dtype_name(dtype: DType) -> &'static str {
    match dtype {
        DType::I64 => "int64",
        DType::F32 => "float32",
        _ => "string",
    }
}

/// A Python string literal.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => {
                write!(out, "\\u{:04x}", u32::from(c)).expect("writing to a string succeeds");
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals() {
        assert_eq!(quoted("a\"b\\c\n\u{1}ä"), "\"a\\\"b\\\\c\\n\\u0001ä\"");
    }
}
