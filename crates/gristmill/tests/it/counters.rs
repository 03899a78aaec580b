//! The promises about blocks, copies and page faults, read from the counters.

use gristmill::types::Tensor;
use gristmill::{Dataset, f};

fn report(it: &gristmill::runtime::DatasetIterator, name: &str) -> gristmill::runtime::StageReport {
    it.report()
        .0
        .into_iter()
        .find(|s| s.name == name)
        .unwrap_or_else(|| panic!("no stage {name}: {:?}", it.report().0))
}

#[test]
fn a_float_image_batch_is_written_once() {
    let pixels: Vec<u8> = (0..40 * 30 * 3).map(|i| (i % 251) as u8).collect();
    let image = Tensor::from_vec(gristmill::types::Shape::image(40, 30, 3), &pixels).unwrap();
    let images = Tensor::stack(&vec![image; 64]).unwrap();
    let ds = Dataset::from_tensor_slices(vec![images.into()])
        .unwrap()
        .map(|x| Ok(vec![f::resize(&x[0], 16, 16)?]))
        .unwrap()
        .batch(16, true)
        .unwrap();
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
}

#[test]
fn range_batch_moves_whole_blocks() {
    let ds = Dataset::range(0, 1_000_000, 1).unwrap().batch(1024, true).unwrap();
    let mut it = ds.iter().unwrap();
    while it.next_element().is_some() {}
    let range = report(&it, "range");
    assert!(range.elements / range.blocks >= 256, "{range:?}");
    assert_eq!(report(&it, "batch").bytes_written, 0, "whole blocks become batches without a copy");
}
