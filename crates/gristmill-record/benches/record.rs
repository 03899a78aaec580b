//! Checksums, the hop from frame to frame, and the reader over memory.

use criterion::{BenchmarkId, Criterion, Throughput};
use gristmill_record::codec::Compression;
use gristmill_record::crc::crc32c;
use gristmill_record::frame::scan_frames;
use gristmill_record::reader::{ReaderOptions, RecordReader};
use gristmill_record::writer::RecordWriter;
use std::hint::black_box;
use std::time::Duration;

/// Bytes of a stream: more than the second level of a processor's cache, less than a benchmark's patience.
const STREAM: usize = 8 << 20;

/// A stream of equal records of `len` bytes.
fn stream(len: usize) -> Vec<u8> {
    let payload: Vec<u8> = (0..len).map(|i| (i * 31) as u8).collect();
    let mut writer = RecordWriter::new(Vec::new(), Compression::None, None);
    for _ in 0..STREAM / len {
        writer.write(&payload).expect("a vector takes all that is written");
    }
    writer.finish().expect("a vector takes all that is written")
}

fn crc(c: &mut Criterion) {
    let bytes = vec![7u8; 1 << 20];
    let mut group = c.benchmark_group("crc32c");
    for len in [240, 100_000, 1 << 20] {
        group.throughput(Throughput::Bytes(len as u64));
        group.bench_function(BenchmarkId::from_parameter(len), |b| {
            b.iter(|| crc32c(black_box(&bytes[..len])))
        });
    }
    group.finish();
}

fn scan(c: &mut Criterion) {
    let mut group = c.benchmark_group("scan_frames");
    for len in [240, 100_000] {
        let bytes = stream(len);
        group.throughput(Throughput::Bytes(bytes.len() as u64));
        for (name, verify) in [("lengths", false), ("checked", true)] {
            let mut spans = Vec::new();
            group.bench_function(BenchmarkId::new(name, len), |b| {
                b.iter(|| {
                    spans.clear();
                    scan_frames(black_box(&bytes), 0, verify, usize::MAX, &mut spans).consumed
                });
            });
        }
    }
    group.finish();
}

fn read(c: &mut Criterion) {
    let mut group = c.benchmark_group("reader");
    for len in [240, 100_000] {
        let bytes = stream(len);
        let (mut buffer, mut spans) = (Vec::new(), Vec::new());
        group.throughput(Throughput::Bytes(bytes.len() as u64));
        group.bench_function(BenchmarkId::from_parameter(len), |b| {
            b.iter(|| {
                let options = ReaderOptions { size: Some(bytes.len() as u64), ..ReaderOptions::default() };
                let mut reader = RecordReader::open(bytes.as_slice(), &options).expect("whole");
                let mut records = 0;
                while reader.next_chunk(&mut buffer, usize::MAX, &mut spans).expect("whole").is_some() {
                    records += spans.len();
                }
                records
            });
        });
    }
    group.finish();
}

fn main() {
    let times = Criterion::default().warm_up_time(Duration::from_millis(200));
    let mut c = times.measurement_time(Duration::from_secs(1)).sample_size(20).configure_from_args();
    crc(&mut c);
    scan(&mut c);
    read(&mut c);
    c.final_summary();
}
