//! `gristmill bench`.

use std::ffi::OsString;
use std::time::{Duration, Instant};

use gristmill::plan::Attr;
use gristmill::runtime::forecast::{Forecast, Meter};
use gristmill::types::{DType, PartialShape};
use gristmill::{Dataset, f};
use gristmill_tools::info::{FeatureInfo, FileInfo, InfoOptions, info};
use gristmill_tools::progress::{Progress, Silent};
use gristmill_tools::{RecordKind, check_twice, expand};
use gristmill_types::{Error, Kind, Result};
use serde::Serialize;

use super::Context;
use crate::exit;
use crate::show::{bytes, count, grouped};

/// Files of more bytes than this in all are not read as a whole before the measurement.
const READ_WHOLE_BYTES: u64 = 256 << 20;
/// Records of each file that tell which features there are where not all are looked at.
const LOOKED_AT: u64 = 10_000;
/// Elements asked for at a time.
const WANT: usize = 1024;

/// Measures how fast files are read, parsed and decoded
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Reads the files through the same pipeline that a training would use: reading alone, with \
    parsing, and with decoding where there are images. Files are looked at first to find their features, so that \
    small ones are in memory when the measurement begins. The bottleneck is the stage that the others wait for; what \
    is expected without it supposes that the rest goes on as it did. Small files are passed over again and again for a second: \
    what takes less cannot be measured.\n\nExamples:\n  \
    gristmill bench 'data/*.tfrecord'\n  \
    gristmill bench data --seconds 10 --repeat 3"
)]
pub(crate) struct Args {
    /// Files, patterns or directories
    #[arg(required = true, value_name = "FILE")]
    files: Vec<OsString>,
    /// Seconds for each measurement, unless the files end before
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    seconds: u64,
    /// Measures everything so many times
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    repeat: u32,
}

/// Passes over small files are repeated until they have taken this long: figures of less are noise.
const MEASURED_LEAST: Duration = Duration::from_secs(1);

/// One measurement.
#[derive(Debug, Serialize)]
struct Measured {
    what: &'static str,
    /// Passes over the files, the last of which may have been stopped.
    passes: u64,
    /// Records of all passes.
    records: u64,
    seconds: f64,
    records_per_second: f64,
    /// Bytes of what was read, for a pass that was not stopped: of the files.
    megabytes_per_second: f64,
    /// The stage without which reading would be fastest; `null` where taking the elements is what limits.
    limiting_stage: Option<String>,
    /// Work of that stage, in seconds of one thread.
    busy_seconds: f64,
    /// What is expected without that stage; `null` where nothing else takes time.
    records_per_second_without: Option<f64>,
}

impl Args {
    pub(crate) fn run(self, cx: &mut Context<'_>) -> Result<i32> {
        let files = expand(&self.files)?;
        check_twice(&files)?;
        // The first records tell how many bytes there are; a feature may be missing only far behind them.
        let mut known = info(&self.files, &InfoOptions { limit: Some(1) }, &Silent)?;
        let limit = if known.file_bytes > READ_WHOLE_BYTES { Some(LOOKED_AT) } else { None };
        known = info(&self.files, &InfoOptions { limit }, cx.bar)?;
        cx.bar.finish();
        if let Some(error) = known.files.iter().find_map(FileInfo::failure) {
            return Err(error);
        }
        let read = Dataset::tfrecord(&files)?;
        let mut levels = vec![("read", read.clone())];
        if known.kind == Some(RecordKind::Example) && !known.features.is_empty() {
            levels.push(("read, parse", read.map(|x| parse(&x[0], &known.features))?));
            if let Some(image) = image_feature(&known.features) {
                levels.push(("read, parse, decode", read.map(|x| decode(&x[0], image))?));
            }
        }
        let mut per_record = known.payload_bytes as f64 / known.records.max(1) as f64;
        if !cx.json {
            cx.line(format!("{}, {}", count(files.len() as u64, "file"), bytes(known.file_bytes)));
        }
        let mut all = Vec::new();
        for _ in 0..self.repeat {
            for (what, dataset) in &levels {
                let measured = self.measure(what, dataset, per_record, cx)?;
                // The first level counts what it reads; the others are given as much per record.
                per_record = measured.megabytes_per_second * 1e6 / measured.records_per_second.max(1e-9);
                if !cx.json {
                    show(&measured, cx);
                }
                all.push(measured);
            }
        }
        cx.as_json(&all)?;
        Ok(exit::OK)
    }

    fn measure(
        &self,
        what: &'static str,
        dataset: &Dataset,
        per_record: f64,
        cx: &Context<'_>,
    ) -> Result<Measured> {
        let limit = Duration::from_secs(self.seconds);
        let started = Instant::now();
        let (mut passes, mut records, mut read_bytes) = (0, 0, 0);
        let mut meter = Meter::start();
        while passes == 0 || (records > 0 && started.elapsed() < limit.min(MEASURED_LEAST)) {
            passes += 1;
            let mut pass = dataset.iter()?;
            while let Some(block) = pass.next_block(WANT) {
                if let Some(error) = block.failed {
                    return Err(error);
                }
                records += block.len as u64;
                if what == "read" {
                    read_bytes += block.byte_len() as u64;
                }
                if cx.bar.cancelled() {
                    return Err(Error::new(Kind::Cancelled, "stopped before the end"));
                }
                if started.elapsed() >= limit {
                    break;
                }
            }
            meter.add(&pass.report().0);
        }
        let seconds = started.elapsed().as_secs_f64().max(1e-9);
        let forecast = Forecast::new(&meter.counted());
        let limiting = forecast.limiting();
        let read_bytes = if read_bytes > 0 { read_bytes as f64 } else { records as f64 * per_record };
        Ok(Measured {
            what,
            passes,
            records,
            seconds,
            records_per_second: records as f64 / seconds,
            megabytes_per_second: read_bytes / seconds / 1e6,
            limiting_stage: forecast.name(limiting).map(str::to_owned),
            busy_seconds: forecast.work.get(limiting).copied().unwrap_or(forecast.outside),
            records_per_second_without: Some(forecast.without(limiting))
                .filter(|seconds| *seconds > 0.0)
                .map(|seconds| records as f64 / seconds),
        })
    }
}

fn show(measured: &Measured, cx: &mut Context<'_>) {
    let mut line = format!(
        "{:20} {:>12} records/s  {:>8.1} MB/s  {} in {:.2} s",
        measured.what,
        grouped(measured.records_per_second as u64),
        measured.megabytes_per_second,
        count(measured.records, "record"),
        measured.seconds
    );
    if measured.passes > 1 {
        line += &format!(" ({} passes)", grouped(measured.passes));
    }
    let stage = measured.limiting_stage.as_deref().unwrap_or("taking the records");
    line += &format!("  bottleneck: {stage} ({:.2} s of work)", measured.busy_seconds);
    if let Some(rate) = measured.records_per_second_without {
        line += &format!(", without it about {} records/s", grouped(rate as u64));
    }
    cx.line(line);
    cx.screen.flush();
}

/// Whether every record looked at has one list of one length.
fn is_fixed(feature: &FeatureInfo) -> bool {
    feature.min_len == feature.max_len && feature.missing == 0 && feature.unset == 0
}

fn declared(feature: &FeatureInfo) -> Option<(String, Attr)> {
    let dtype = match feature.kind {
        "bytes" => DType::String,
        "float" => DType::F32,
        "int64" => DType::I64,
        _ => return None,
    };
    let mut entries = vec![("dtype".to_owned(), Attr::DType(dtype))];
    let kind = if is_fixed(feature) {
        let dims = if feature.max_len == 1 { Vec::new() } else { vec![feature.max_len as usize] };
        entries.push(("shape".to_owned(), Attr::Shape(PartialShape::known(&dims))));
        "FixedLenFeature"
    } else {
        "VarLenFeature"
    };
    entries.push(("kind".to_owned(), Attr::Str(kind.to_owned())));
    Some((feature.name.clone(), Attr::Dict(entries)))
}

fn parse(record: &f::Sym, features: &[FeatureInfo]) -> Result<Vec<f::Sym>> {
    let declared = features.iter().filter_map(declared).collect();
    f::call("io.parse_single_example", &[record], vec![("features", Attr::Dict(declared))])
}

/// The first feature that holds one image in every record.
fn image_feature(features: &[FeatureInfo]) -> Option<&FeatureInfo> {
    features.iter().find(|feature| {
        let images: u64 = feature.images.values().sum();
        feature.kind == "bytes" && is_fixed(feature) && feature.max_len == 1 && images == feature.present
    })
}

fn decode(record: &f::Sym, image: &FeatureInfo) -> Result<Vec<f::Sym>> {
    let parsed = parse(record, std::slice::from_ref(image))?;
    let contents: Vec<&f::Sym> = parsed.iter().collect();
    let still = image.images.keys().all(|format| matches!(*format, "JPEG" | "PNG"));
    if still {
        f::call("io.decode_jpeg", &contents, vec![("channels", Attr::Int(3))])
    } else {
        let attrs = vec![("channels", Attr::Int(0)), ("expand_animations", Attr::Bool(false))];
        f::call("io.decode_image", &contents, attrs)
    }
}
