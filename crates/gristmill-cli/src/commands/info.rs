//! `gristmill info`.

use std::ffi::OsString;

use gristmill_tools::info::{FeatureInfo, FileInfo, InfoOptions, InfoReport, Labels, info};
use gristmill_types::Result;

use super::Context;
use crate::exit;
use crate::show::{bytes, count, extent, grouped};

/// Files and labels shown as text.
const SHOWN: usize = 40;

/// Says what files hold: records, bytes, features, labels, and the Python code that parses them
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Reads every record and checks its checksums, unless --limit says otherwise. The exit code is \
    1 when a file is damaged or no record file.\n\nExamples:\n  \
    gristmill info train.tfrecord\n  \
    gristmill info 'data/*.tfrecord' --spec > parse.py"
)]
pub(crate) struct Args {
    /// Files, patterns or directories
    #[arg(required = true, value_name = "FILE")]
    files: Vec<OsString>,
    /// Looks at the first N records of each file only
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
    /// Prints the Python code only
    #[arg(long, conflicts_with = "json")]
    spec: bool,
}

impl Args {
    pub(crate) fn run(self, cx: &mut Context<'_>) -> Result<i32> {
        if self.spec {
            let report = gristmill_tools::info::infer_spec(&self.files, self.limit, cx.bar)?;
            cx.line(report.parse_spec.unwrap_or_default().trim_end());
            return Ok(exit::OK);
        }
        let report = info(&self.files, &InfoOptions { limit: self.limit }, cx.bar)?;
        if !cx.as_json(&report)? {
            show(&report, cx);
        }
        Ok(if report.ok() { exit::OK } else { exit::DATA })
    }
}

/// Says which files hold no records at all: one as it is, of many the first.
fn show_others(others: &[&FileInfo], cx: &mut Context<'_>) {
    let Some(first) = others.first() else { return };
    let error = first.error.as_deref().unwrap_or_default();
    match others.len() {
        1 => cx.line(format!("{}: {}, {error}", first.path, bytes(first.file_bytes))),
        n => {
            let all = bytes(others.iter().map(|file| file.file_bytes).sum());
            cx.line(format!("{} that hold no records, {all}", count(n as u64, "file")));
            cx.line(format!("  the first, {}: {error}", first.path));
        }
    }
    if let Some(hint) = first.hint {
        cx.line(format!("  hint: {}", exit::for_shell(hint)));
    }
}

fn show(report: &InfoReport, cx: &mut Context<'_>) {
    let (others, files): (Vec<_>, Vec<_>) = report.files.iter().partition(|file| file.hint.is_some());
    let bad = |file: &&&FileInfo| file.error.is_some() || file.tail_bytes > 0;
    show_others(&others, cx);
    for file in files.iter().take(SHOWN).chain(files.iter().skip(SHOWN).filter(bad)) {
        let compression = match file.compression {
            "NONE" => "uncompressed",
            other => other,
        };
        cx.line(format!(
            "{}: {}, {}, {compression}",
            file.path,
            count(file.records, "record"),
            bytes(file.file_bytes)
        ));
        if let Some(error) = &file.error {
            cx.line(format!("  damaged: {error}"));
        }
        if file.tail_bytes > 0 {
            cx.line(format!("  ends with {} that are no record", count(file.tail_bytes, "byte")));
        }
    }
    if files.len() > SHOWN {
        cx.line(format!("and {}", count((files.len() - SHOWN) as u64, "more file")));
    }
    if report.files.len() > 1 && !files.is_empty() {
        let size = bytes(report.file_bytes);
        cx.line(format!("in all: {}, {size}", count(report.records, "record")));
    }
    let sizes = report.files.iter().filter_map(|file| Some((file.min_record?, file.max_record?)));
    if let Some((min, max)) = sizes.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))) {
        let kind = report.kind.map_or("of different kinds", gristmill_tools::RecordKind::name);
        cx.line(format!("records: {kind}, {} to {}", bytes(min), bytes(max)));
    }
    show_features("features", &report.features, cx);
    show_features("features of the sequence", &report.feature_lists, cx);
    for feature in report.features.iter().chain(&report.feature_lists) {
        if let Some(labels) = &feature.labels {
            show_labels(&feature.name, labels, cx);
        }
    }
    if let Some(spec) = &report.parse_spec {
        cx.line("\nto read them in Python:\n");
        spec.trim_end().lines().for_each(|line| cx.line(format!("    {line}").trim_end()));
    }
}

fn show_features(title: &str, features: &[FeatureInfo], cx: &mut Context<'_>) {
    if features.is_empty() {
        return;
    }
    cx.line(format!("\n{title}:"));
    let width = features.iter().map(|feature| feature.name.chars().count()).max().unwrap_or(0).min(48);
    for feature in features {
        cx.line(format!("  {:width$}  {:5}  {}", feature.name, feature.kind, details(feature)));
    }
}

fn details(feature: &FeatureInfo) -> String {
    let mut parts = Vec::new();
    if let (Some(min), Some(max)) = (feature.min_steps, feature.max_steps) {
        let one = (min, max) == (1, 1);
        parts.push(format!("{} step{}", extent(min, max), if one { "" } else { "s" }));
    }
    if feature.present > 0 {
        let one = (feature.min_len, feature.max_len) == (1, 1);
        parts.push(format!(
            "{} value{}",
            extent(feature.min_len, feature.max_len),
            if one { "" } else { "s" }
        ));
    }
    if let (Some(min), Some(max)) = (feature.min_bytes, feature.max_bytes) {
        parts.push(if min == max { bytes(min) } else { format!("{} to {}", bytes(min), bytes(max)) });
    }
    parts.extend(feature.images.iter().map(|(format, n)| format!("{} {format}", grouped(*n))));
    if feature.missing > 0 {
        parts.push(format!("missing in {}", count(feature.missing, "record")));
    }
    if feature.unset > 0 {
        parts.push(format!("unset {}", if feature.unset == 1 { "once" } else { "several times" }));
    }
    parts.join(", ")
}

fn show_labels(name: &str, labels: &Labels, cx: &mut Context<'_>) {
    let different = count(labels.values.len() as u64, "different value");
    cx.line(format!("\nlabels in '{name}', {different}:"));
    let most = labels.values.iter().map(|label| label.count).max().unwrap_or(1);
    let shown: Vec<_> = labels.values.iter().take(SHOWN).map(|l| (l.value.to_string(), l.count)).collect();
    let width = shown.iter().map(|(value, _)| value.chars().count()).max().unwrap_or(0);
    for (value, n) in shown {
        let length = (u128::from(n) * 40 / u128::from(most)) as usize;
        cx.line(format!("  {value:>width$}  {:>9}  {}", grouped(n), "#".repeat(length)).trim_end());
    }
    if labels.values.len() > SHOWN {
        cx.line(format!("  and {} more", grouped((labels.values.len() - SHOWN) as u64)));
    }
}
