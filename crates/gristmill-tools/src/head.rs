//! The first records of files in readable form.

use std::ffi::OsString;
use std::ops::ControlFlow;

use gristmill_example::list::{List, ListKind, each_bytes, each_float_run, each_int};
use gristmill_types::Result;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::files::{expand, shown};
use crate::progress::Progress;
use crate::view::{RecordKind, Steps, View, kind_name, view};
use crate::{picture, read};

/// How [`head`] works.
#[derive(Clone, Debug)]
pub struct HeadOptions {
    /// Records of all files together.
    pub records: u64,
    /// Values shown of a list.
    pub values: usize,
    /// Characters shown of a text, bytes shown of other byte strings.
    pub bytes: usize,
}

impl Default for HeadOptions {
    fn default() -> Self {
        Self { records: 5, values: 8, bytes: 80 }
    }
}

/// One record in readable form.
#[derive(Clone, Debug, Serialize)]
pub struct RecordView {
    /// The file.
    pub file: String,
    /// Position in the file, from 0.
    pub record: u64,
    /// Where the frame begins, in bytes of the (decompressed) stream.
    pub offset: u64,
    /// Bytes of the payload.
    pub bytes: u64,
    /// What it is.
    pub kind: RecordKind,
    /// By key: `kind`, `count` and the first `values`. A value is a number, a text, or an object that tells of a
    /// picture (`format`, `height`, `width`, `bytes`) or of other bytes (`hex`, `bytes`).
    pub features: Map<String, Value>,
    /// As `features`, a list of steps for every key of a sequence.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub feature_lists: Map<String, Value>,
    /// The payload itself where it is no Example.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload: Option<Value>,
}

/// Gives the first records of the files to `f`, one at a time; `f` may break.
///
/// # Errors
/// `NotFound` and what the store reports; `DataLoss` at a damage before enough records were seen (those before it
/// have been given); `Cancelled`; what `f` returns.
pub fn head(
    inputs: &[OsString],
    options: &HeadOptions,
    progress: &dyn Progress,
    f: &mut dyn FnMut(RecordView) -> Result<ControlFlow<()>>,
) -> Result<()> {
    let mut left = options.records;
    for path in expand(inputs)? {
        if left == 0 {
            break;
        }
        let file = shown(&path);
        let (mut reader, _) = read::open(&path, progress)?;
        let mut stopped = false;
        let read = read::each_of(&mut reader, progress, |record| {
            let seen = view(record.payload);
            let flow = f(RecordView {
                file: file.clone(),
                record: record.index,
                offset: record.offset,
                bytes: record.payload.len() as u64,
                kind: seen.kind,
                features: features(record.payload, &seen, options),
                feature_lists: feature_lists(record.payload, &seen, options),
                payload: matches!(seen.kind, RecordKind::Event | RecordKind::Other)
                    .then(|| byte_string(record.payload, options)),
            })?;
            left -= 1;
            stopped = flow.is_break();
            Ok(if left == 0 || stopped { ControlFlow::Break(()) } else { flow })
        })?;
        if let Err(error) = read {
            return Err(read::at_record(error, &reader, &path));
        }
        if stopped {
            break;
        }
    }
    Ok(())
}

fn key(data: &[u8], range: &std::ops::Range<usize>) -> String {
    String::from_utf8_lossy(&data[range.clone()]).into_owned()
}

fn features(data: &[u8], view: &View, options: &HeadOptions) -> Map<String, Value> {
    let shown = |(name, list): &(_, Option<List>)| (key(data, name), feature(data, *list, options));
    view.features.iter().map(shown).collect()
}

fn feature_lists(data: &[u8], view: &View, options: &HeadOptions) -> Map<String, Value> {
    let shown = |(name, steps): &(_, Steps)| {
        let first: Vec<Value> =
            steps.iter().take(options.values).map(|step| feature(data, *step, options)).collect();
        (key(data, name), json!({"steps": steps.len(), "first": first}))
    };
    view.lists.iter().map(shown).collect()
}

fn feature(data: &[u8], list: Option<List>, options: &HeadOptions) -> Value {
    let Some(list) = list else {
        return json!({"kind": "unset", "count": 0, "values": []});
    };
    let (mut values, mut count) = (Vec::new(), 0usize);
    let mut add = |make: &dyn Fn() -> Value| {
        if count < options.values {
            values.push(make());
        }
        count += 1;
    };
    // The list was found valid when the record was looked at.
    let _ = match list.kind {
        ListKind::Ints => each_int(data, list.range(), |v| add(&|| v.into())),
        ListKind::Floats => each_float_run(data, list.range(), |run| {
            for bytes in run.chunks_exact(4) {
                add(&|| float(f32::from_le_bytes(bytes.try_into().expect("four bytes"))));
            }
        }),
        ListKind::Bytes => {
            each_bytes(data, list.range(), |r| add(&|| byte_string(&data[r.clone()], options)))
        }
    };
    json!({"kind": kind_name(list.kind), "count": count, "values": values})
}

/// The shortest decimal that is this float; JSON has no infinities.
fn float(value: f32) -> Value {
    let shortest = value.to_string();
    match shortest.parse::<f64>().ok().and_then(serde_json::Number::from_f64) {
        Some(number) => Value::Number(number),
        None => shortest.into(),
    }
}

fn byte_string(bytes: &[u8], options: &HeadOptions) -> Value {
    if let Some(picture) = picture::recognise(bytes) {
        let mut object = json!({"format": picture.format.name(), "bytes": bytes.len()});
        if let Some((height, width)) = picture.size {
            object["height"] = height.into();
            object["width"] = width.into();
        }
        return object;
    }
    if let Some(text) = readable(bytes, options.bytes) {
        return text.into();
    }
    let hex: String = bytes.iter().take(options.bytes.min(16)).map(|byte| format!("{byte:02x}")).collect();
    json!({"hex": hex, "bytes": bytes.len()})
}

/// The text, cut after `limit` characters; `None` if it is not readable.
fn readable(bytes: &[u8], limit: usize) -> Option<String> {
    // A character has at most four bytes: what lies beyond is not looked at.
    let begin = &bytes[..bytes.len().min(limit.saturating_mul(4).saturating_add(4))];
    let text = match std::str::from_utf8(begin) {
        Ok(text) => text,
        // Cut inside a character.
        Err(error) if begin.len() < bytes.len() && error.error_len().is_none() => {
            std::str::from_utf8(&begin[..error.valid_up_to()]).ok()?
        }
        Err(_) => return None,
    };
    let odd = |c: char| c.is_control() && !matches!(c, '\n' | '\t' | '\r');
    if text.chars().take(limit).any(odd) {
        return None;
    }
    match text.char_indices().nth(limit) {
        None if begin.len() == bytes.len() => Some(text.to_owned()),
        None => Some(format!("{text}…")),
        Some((end, _)) => Some(format!("{}…", &text[..end])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn byte_strings() {
        let options = HeadOptions { bytes: 5, ..HeadOptions::default() };
        let shown = |bytes: &[u8]| byte_string(bytes, &options);
        assert_eq!(shown("héllo".as_bytes()), "héllo");
        assert_eq!(shown("hellö world".as_bytes()), "hellö…");
        assert_eq!(shown("ääääääääääääääääääää".as_bytes()), "äääää…");
        assert_eq!(shown(b""), "");
        assert_eq!(shown(b"a\0b"), json!({"hex": "610062", "bytes": 3}));
        assert_eq!(shown(&[0xff; 300]), json!({"hex": "ffffffffff", "bytes": 300}));
        assert_eq!(float(0.1), json!(0.1));
        assert_eq!(float(f32::NAN), "NaN");
        assert_eq!(float(f32::INFINITY), "inf");
    }
}
