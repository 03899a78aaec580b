//! The promises about blocks, copies and memory, read from the counters.

use crate::support::short_blocks;
use gristmill::runtime::{DatasetIterator, StageReport};
use gristmill::types::Tensor;
use gristmill::{Dataset, Error, Sym, Value, f};

fn report(it: &DatasetIterator, name: &str) -> StageReport {
    it.report()
        .0
        .into_iter()
        .find(|s| s.name == name)
        .unwrap_or_else(|| panic!("no stage {name}: {:?}", it.report().0))
}

fn images(n: usize) -> Dataset {
    let pixels: Vec<u8> = (0..40 * 30 * 3).map(|i| (i % 251) as u8).collect();
    let image = Tensor::from_vec(gristmill::types::Shape::image(40, 30, 3), &pixels).unwrap();
    Dataset::from_tensor_slices(vec![Tensor::stack(&vec![image; n]).unwrap().into()]).unwrap()
}

#[test]
fn a_float_image_batch_is_written_once() {
    let ds = images(64).map(|x| Ok(vec![f::resize(&x[0], 16, 16)?])).unwrap().batch(16, true).unwrap();
    let mut it = ds.iter().unwrap();
    let mut batches = 0;
    while let Some(batch) = it.next_element() {
        assert_eq!(batch.unwrap()[0].tensor().unwrap().dims(), &[16, 16, 16, 3]);
        batches += 1;
    }
    assert_eq!(batches, 4);
    let stage = report(&it, "map+batch");
    assert_eq!(stage.bytes_written, 64 * 16 * 16 * 3 * 4);
    assert_eq!(stage.bytes_copied, 0);
    assert_eq!(stage.bytes_in, 64 * 40 * 30 * 3);
    assert_eq!(stage.bytes_out, stage.bytes_written);
    assert!(stage.busy_ns > 0);
    assert!(stage.occupancy().is_some_and(|o| o > 0.0 && o <= 1.0), "{stage:?}");
    let buffers = stage.buffers_new + stage.buffers_recycled;
    assert!((4..=5).contains(&buffers), "one buffer a batch, and one to find the end: {stage:?}");
}

#[test]
fn range_batch_moves_whole_blocks() {
    let ds = Dataset::range(0, 1_000_000, 1).unwrap().batch(1024, true).unwrap();
    let mut it = ds.iter().unwrap();
    while it.next_element().is_some() {}
    let range = report(&it, "range");
    assert!(range.elements / range.blocks >= 256, "{range:?}");
    assert_eq!(range.bytes_out, 8_000_000);
    let batch = report(&it, "batch");
    assert_eq!(batch.bytes_written, 0, "whole blocks become batches without a copy");
    assert_eq!((batch.bytes_in, batch.bytes_out), (8_000_000, 976 * 1024 * 8));
}

#[test]
fn what_is_held_is_counted() {
    let ds = images(40).cache().unwrap().shuffle(10, Some(1), true).unwrap();
    let mut it = ds.iter().unwrap();
    it.next_element().unwrap().unwrap();
    let bytes = 40 * 30 * 3;
    let shuffle = report(&it, "shuffle");
    assert!((10 * bytes..=40 * bytes).contains(&shuffle.bytes_held_most), "{shuffle:?}");
    while it.next_element().is_some() {}
    assert_eq!(report(&it, "cache").bytes_held_most, 40 * bytes);
    let mut again = ds.iter().unwrap();
    again.next_element().unwrap().unwrap();
    assert_eq!(report(&again, "cache").bytes_held_most, 40 * bytes, "a second pass finds it full");
}

#[test]
fn later_passes_over_a_cache_read_long_blocks_however_short_the_first_ones_were() {
    // One element to a block: numbers, strings, and vectors of different lengths, one of them without a value.
    let plain = short_blocks(1000, 1).map(|x| {
        let [number, constant] = [&x[0], &x[0].constant(Tensor::scalar(500i64))];
        let other = |name, of: &[&Sym]| Ok::<_, Error>(f::call(name, of, vec![])?.swap_remove(0));
        let difference = other("math.subtract", &[number, constant])?;
        let share = other("math.floordiv", &[constant, &difference])?;
        let length = other("math.floormod", &[number, &x[0].constant(Tensor::scalar(3i64))])?;
        let dims = other("reshape", &[&length, &x[0].constant(Tensor::vector(&[1i64]))])?;
        Ok(vec![number.clone(), other("strings.as_string", &[number])?, other("fill", &[&dims, &share])?])
    });
    let plain = plain.unwrap();
    let pass = |ds: &Dataset, name: &str| {
        let mut it = ds.iter().unwrap();
        let all: Vec<_> = std::iter::from_fn(|| it.next_element()).collect();
        let errors = all.iter().filter(|e| e.is_err()).count();
        let elements: Vec<Vec<Value>> = all.into_iter().flatten().collect();
        (elements, errors, report(&it, name).blocks)
    };
    let (expected, errors, blocks) = pass(&plain, "flat_map");
    assert_eq!((expected.len(), errors, blocks), (999, 1, 1000));
    let cached = plain.cache().unwrap();
    let (first, errors, _) = pass(&cached, "cache");
    assert!(first == expected && errors == 1, "{errors} errors");
    let (later, errors, _) = pass(&cached, "cache");
    assert!(later == expected && errors == 0, "{errors} errors");
    let numbers = cached.map(|x| Ok(vec![x[0].clone()])).unwrap().batch(100, false).unwrap();
    let (_, _, blocks) = pass(&numbers, "cache");
    assert!(blocks < 40, "{blocks} blocks");
}

#[test]
fn strings_held_are_counted_as_they_come_and_go() {
    let words: Vec<String> = (0..100).map(|i| format!("{i:050}")).collect();
    let words = Tensor::string_vector(words.iter().map(|w| w.as_bytes().into()).collect());
    let ds = Dataset::from_tensor_slices(vec![words.into()]).unwrap().shuffle(20, Some(1), true).unwrap();
    let mut it = ds.iter().unwrap();
    while it.next_element().is_some() {}
    let shuffle = report(&it, "shuffle");
    assert!((500..=1000).contains(&shuffle.bytes_held_most), "{shuffle:?}");
    assert_eq!(shuffle.bytes_held, 0);
}

#[test]
fn no_moment_is_counted_for_two_stages() {
    let ds =
        Dataset::range(0, 200_000, 1).unwrap().shuffle(5_000, Some(1), true).unwrap().take(100_000).unwrap();
    let start = std::time::Instant::now();
    let mut it = DatasetIterator::direct(ds.plan()).unwrap();
    while it.next_block(4096).is_some() {}
    let elapsed = start.elapsed().as_nanos() as u64;
    // All stages run on this thread, so that their own times cannot add up to more than its time.
    let (stages, _) = it.report();
    let total: u64 = stages.iter().map(|s| s.busy_ns + s.wait_ns).sum();
    assert!(total <= elapsed && stages.iter().all(|s| s.busy_ns > 0), "{total} of {elapsed}: {stages:?}");
}

#[test]
fn a_filter_tests_whole_blocks_for_a_reader_of_single_elements() {
    let ds = Dataset::range(0, 1 << 40, 1)
        .unwrap()
        .filter(|x| f::less(&x[0], &x[0].constant(Tensor::scalar(1i64 << 40))))
        .unwrap();
    let mut it = DatasetIterator::direct(ds.plan()).unwrap();
    for i in 0..20_000i64 {
        let block = it.next_block(1).unwrap();
        assert_eq!(block.element(0)[0].tensor().unwrap().item::<i64>().unwrap(), i);
    }
    let filter = report(&it, "filter");
    assert!(filter.runs <= 20_000 / 8, "{filter:?}");
    assert!(
        filter.bytes_in <= (20_000 + 256) * 8,
        "no more than a small number is tested in vain: {filter:?}"
    );
}
