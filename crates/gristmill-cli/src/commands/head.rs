//! `gristmill head`.

use std::ffi::OsString;
use std::ops::ControlFlow;

use gristmill_tools::head::{HeadOptions, RecordView, head};
use gristmill_types::Result;
use serde_json::Value;

use super::{Context, to_json};
use crate::exit;
use crate::show::{bytes, count};

/// Shows the first records
#[derive(Debug, clap::Args)]
#[command(after_help = "With --json one line for each record.\n\nExamples:\n  \
    gristmill head train.tfrecord\n  \
    gristmill head 'data/*.tfrecord' -n 100 --json | jq .features.label.values[0]")]
pub(crate) struct Args {
    /// Files, patterns or directories
    #[arg(required = true, value_name = "FILE")]
    files: Vec<OsString>,
    /// Records shown, of all files together
    #[arg(long, short = 'n', value_name = "N", default_value_t = 5)]
    records: u64,
    /// Values shown of a feature
    #[arg(long, value_name = "N", default_value_t = 8)]
    values: u32,
    /// Characters shown of a text
    #[arg(long, value_name = "N", default_value_t = 80)]
    bytes: u32,
}

impl Args {
    pub(crate) fn run(self, cx: &mut Context<'_>) -> Result<i32> {
        let options =
            HeadOptions { records: self.records, values: self.values as usize, bytes: self.bytes as usize };
        let (json, screen) = (cx.json, &mut *cx.screen);
        let mut file = String::new();
        head(&self.files, &options, cx.bar, &mut |record| {
            if json {
                screen.line(to_json(&record, false)?);
            } else {
                if record.file != file {
                    file.clone_from(&record.file);
                    screen.line(&file);
                }
                show(&record).into_iter().for_each(|line| screen.line(line));
            }
            Ok(if screen.is_done() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })?;
        Ok(exit::OK)
    }
}

fn show(record: &RecordView) -> Vec<String> {
    let size = bytes(record.bytes);
    let mut lines =
        vec![format!("record {} at byte {}: {}, {size}", record.record, record.offset, record.kind.name())];
    let keys = record.features.keys().chain(record.feature_lists.keys());
    let width = keys.map(|key| key.chars().count()).max().unwrap_or(0).min(40);
    for (key, feature) in &record.features {
        lines.push(format!("  {key:width$}  {}", show_feature(feature)));
    }
    for (key, list) in &record.feature_lists {
        let steps = list["steps"].as_u64().unwrap_or(0);
        lines.push(format!("  {key:width$}  {}", count(steps, "step")));
        let first = list["first"].as_array().map_or(&[][..], Vec::as_slice);
        lines.extend(first.iter().map(|step| format!("  {:width$}    {}", "", show_feature(step))));
        if steps > first.len() as u64 {
            lines.push(format!("  {:width$}    …", ""));
        }
    }
    if let Some(payload) = &record.payload {
        lines.push(format!("  {}", show_value(payload)));
    }
    lines
}

fn show_feature(feature: &Value) -> String {
    let kind = feature["kind"].as_str().unwrap_or_default();
    let all = feature["count"].as_u64().unwrap_or(0);
    let values = feature["values"].as_array().map_or(&[][..], Vec::as_slice);
    let mut shown: Vec<String> = values.iter().map(show_value).collect();
    if all > values.len() as u64 {
        shown.push("…".to_owned());
    }
    match (kind, all) {
        ("unset", _) => "unset".to_owned(),
        (_, 1) => format!("{kind:5}  {}", shown.join("")),
        _ => format!("{kind:5}  [{}] {}", shown.join(", "), count(all, "value")),
    }
}

fn show_value(value: &Value) -> String {
    let length = || value["bytes"].as_u64().map(bytes).unwrap_or_default();
    match (value.get("format").and_then(Value::as_str), value.get("hex").and_then(Value::as_str)) {
        (Some(format), _) => match (value["width"].as_u64(), value["height"].as_u64()) {
            (Some(width), Some(height)) => format!("{format} {width}x{height}, {}", length()),
            _ => format!("{format} without a readable header, {}", length()),
        },
        (_, Some(hex)) => format!("0x{hex}… ({})", length()),
        _ => value.to_string(),
    }
}
