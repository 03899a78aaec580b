//! Stages as they run in a pipeline, and the cast of a column.

use criterion::{Criterion, Throughput};
use gristmill::plan::{Program, Run, Scratch};
use gristmill::record::codec::Compression;
use gristmill::runtime::DatasetIterator;
use gristmill::types::{Block, Column, Ids, Shape, Spec};
use gristmill::{DType, Dataset, FileWriter, Result, Tensor, f};
use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

const ELEMENTS: i64 = 200_000;
const RECORDS: usize = 640;
const RECORD: usize = 100_000;

/// Elements of a whole pass.
fn pass(mut iterator: DatasetIterator) -> usize {
    let mut elements = 0;
    while let Some(Block { len, failed, .. }) = iterator.next_block(1024) {
        assert!(failed.is_none(), "{failed:?}");
        elements += len;
    }
    elements
}

fn elements(c: &mut Criterion) -> Result<()> {
    let range = Dataset::range(0, ELEMENTS, 1)?;
    let one = |x: &f::Sym| x.constant(Tensor::scalar(1i64));
    let cases = [
        ("range", range.clone()),
        ("range, batch 1024", range.batch(1024, false)?),
        ("range, map identity, batch 1024", range.map(|x| Ok(vec![x[0].clone()]))?.batch(1024, false)?),
        (
            "range, map x + 1, batch 1024",
            range.map(|x| Ok(vec![f::add(&x[0], &one(&x[0]))?]))?.batch(1024, false)?,
        ),
        ("range, shuffle 10000", range.shuffle(10_000, Some(1), true)?),
        ("range, shuffle 10000, batch 1024", range.shuffle(10_000, Some(1), true)?.batch(1024, false)?),
        ("range, batch 1024, prefetch", range.batch(1024, false)?.prefetch(None)?),
    ];
    let mut group = c.benchmark_group("elements");
    group.throughput(Throughput::Elements(ELEMENTS as u64));
    for (name, dataset) in cases {
        group.bench_function(name, |b| b.iter(|| pass(dataset.iter().expect("a plan that runs"))));
    }
    group.finish();
    Ok(())
}

fn batches(c: &mut Criterion) -> Result<()> {
    // Few that are repeated: every pass looks at the values that a plan holds.
    let (count, floats, times) = (64, 16_384, 32);
    let all = Tensor::zeros(DType::F32, Shape::new(&[count, floats])?);
    let dataset = Dataset::from_tensor_slices(vec![all.into()])?.repeat(times)?.batch(64, false)?;
    let mut group = c.benchmark_group("batch");
    group.throughput(Throughput::Bytes((count * floats * 4) as u64 * times as u64));
    group.bench_function("64 elements of 64 KiB", |b| {
        b.iter(|| pass(dataset.iter().expect("a plan that runs")))
    });
    group.finish();
    Ok(())
}

fn records(c: &mut Criterion) -> Result<()> {
    let path = std::env::temp_dir().join(format!("gristmill-bench-{}.tfrecord", std::process::id()));
    let mut writer = FileWriter::create(&path, Compression::None, None)?;
    let payload = vec![7u8; RECORD];
    for _ in 0..RECORDS {
        writer.write(&payload)?;
    }
    writer.finish()?;
    let dataset = Dataset::tfrecord(&[&path])?;
    let mut group = c.benchmark_group("records of 100 KB");
    group.throughput(Throughput::Bytes((RECORDS * RECORD) as u64));
    group.bench_function("plain", |b| {
        b.iter(|| {
            assert_eq!(pass(DatasetIterator::direct(dataset.plan()).expect("a plan that runs")), RECORDS)
        });
    });
    group.bench_function("ahead", |b| {
        b.iter(|| assert_eq!(pass(dataset.iter().expect("a plan that runs")), RECORDS));
    });
    group.finish();
    // A file left behind harms nothing.
    drop(std::fs::remove_file(path));
    Ok(())
}

fn cast(c: &mut Criterion) -> Result<()> {
    let (rows, width) = (16, 1 << 16);
    let spec = Spec::tensor(DType::F32, gristmill::types::PartialShape::known(&[width]));
    let graph = f::trace(vec![spec], |x| Ok(vec![f::cast(&x[0], DType::BF16)?]))?;
    let program = Program::new(Arc::new(graph), &[])?;
    let values: Vec<f32> = (0..rows * width).map(|i| i as f32 / 7.0).collect();
    let column = [Column::Uniform(Tensor::from_vec(Shape::new(&[rows, width])?, &values)?)];
    let mut scratch = Scratch::default();
    let mut group = c.benchmark_group("cast");
    group.throughput(Throughput::Elements(values.len() as u64));
    group.bench_function("float32 to bfloat16", |b| {
        b.iter(|| {
            let mut run = Run { scratch: &mut scratch, entropy: 0, copied: 0 };
            program.run(&mut run, black_box(&column), rows, &Ids::None, &mut []).expect("a cast")
        });
    });
    group.finish();
    Ok(())
}

fn main() -> Result<()> {
    let times = Criterion::default().warm_up_time(Duration::from_millis(200));
    let mut c = times.measurement_time(Duration::from_secs(1)).sample_size(20).configure_from_args();
    elements(&mut c)?;
    batches(&mut c)?;
    records(&mut c)?;
    cast(&mut c)?;
    c.final_summary();
    Ok(())
}
