//! Streams shuffled batches of photos out of packed shards, as a program that trains would.
//!
//! ```sh
//! gristmill pack flowers shards
//! cargo run --release -p gristmill --example stream_batches -- 'shards/*.tfrecord' 2
//! ```
//!
//! Prints images per second and the labels seen, once per epoch; the last line shows that a saved state goes on
//! exactly where the pass was.

use std::collections::BTreeMap;
use std::error::Error;
use std::io::Write;
use std::time::Instant;

use gristmill::{DType, Dataset, f};

const BATCH: i64 = 16;
const SIZE: i32 = 96;

/// Batches of float images `[16, 96, 96, 3]` from 0 to 1 and their labels.
fn training(pattern: &str) -> gristmill::Result<Dataset> {
    let files = Dataset::list_files(pattern)?;
    let paths: Vec<String> = files
        .iter()?
        .map(|path| Ok(String::from_utf8_lossy(&path?[0].tensor()?.as_strings()[0]).into_owned()))
        .collect::<gristmill::Result<_>>()?;
    Dataset::tfrecord(&paths)?
        .shuffle(1_000, Some(7), true)?
        .map(|record| {
            let features: [(&str, DType, &[usize]); 2] =
                [("image", DType::String, &[]), ("label", DType::I64, &[])];
            let example = f::parse_single_example(&record[0], &features)?;
            let image = f::resize(&f::decode_jpeg(&example[0], 3)?, SIZE, SIZE)?;
            let scale = image.constant(gristmill::Tensor::scalar(1.0f32 / 255.0));
            Ok(vec![f::multiply(&image, &scale)?, example[1].clone()])
        })?
        .batch(BATCH, true)?
        .prefetch(None)
}

/// The whole program, with its arguments and where it prints.
pub fn run(mut arguments: impl Iterator<Item = String>, out: &mut dyn Write) -> Result<(), Box<dyn Error>> {
    let pattern = arguments.next().ok_or("usage: stream_batches PATTERN [EPOCHS]")?;
    let epochs: u32 = arguments.next().map_or(Ok(1), |n| n.parse())?;
    let batches = training(&pattern)?;
    for epoch in 1..=epochs {
        let start = Instant::now();
        let mut labels = BTreeMap::<i64, u64>::new();
        let mut images = 0;
        for batch in batches.iter()? {
            let batch = batch?;
            images += batch[0].tensor()?.dims()[0];
            for &label in batch[1].tensor()?.as_slice::<i64>()? {
                *labels.entry(label).or_default() += 1;
            }
        }
        let rate = images as f64 / start.elapsed().as_secs_f64();
        writeln!(out, "epoch {epoch}: {images} images, {rate:.0} images/s, labels {labels:?}")?;
    }

    let mut pass = batches.iter()?;
    pass.next_element().ok_or("there is no batch")??;
    let state = pass.state();
    let here = pass.next_element().ok_or("there is one batch only")??;
    let there = batches.resume(&state)?.next_element().ok_or("the state has nothing left")??;
    writeln!(out, "a state of {} bytes goes on with the same batch: {}", state.len(), here == there)?;
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    run(std::env::args().skip(1), &mut std::io::stdout().lock())
}
