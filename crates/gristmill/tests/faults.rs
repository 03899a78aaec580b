//! Page faults of the whole process in the steady state; in a process of its own, since the system counts
//! those of the process.
#![cfg(target_os = "linux")]
#![allow(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "a test that unwraps an error fails, which is what it should do")]
#![allow(clippy::print_stdout, reason = "the figures are for those who run it with --nocapture")]

use gristmill::types::{Shape, Tensor};
use gristmill::{Dataset, f};

/// Batches that bring nearly every buffer of the pool into use. How many are in use at a time depends on which thread
/// runs when, so that even later there may be one more than ever before.
const WARM: usize = 24;
const BATCHES: usize = 20;
/// A fiftieth of the pages of 4 KiB that one batch of 128 float images has; without recycling it is all of them.
const MOST_FAULTS: u64 = 18_816 / 50;

fn faults() -> u64 {
    // SAFETY: all zero is a valid rusage, and getrusage writes one to the address given.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        assert_eq!(libc::getrusage(libc::RUSAGE_SELF, &raw mut usage), 0);
        usage
    };
    u64::try_from(usage.ru_minflt).unwrap()
}

fn image(seed: usize) -> Tensor {
    let pixels: Vec<u8> = (0..224 * 224 * 3).map(|i| ((i * 7 + seed * 13) % 256) as u8).collect();
    Tensor::from_vec(Shape::image(224, 224, 3), &pixels).unwrap()
}

#[test]
fn a_warm_image_pipeline_faults_no_pages() {
    let images = Tensor::stack(&(0..32).map(image).collect::<Vec<_>>()).unwrap();
    let ds = Dataset::from_tensor_slices(vec![images.into()])
        .unwrap()
        .repeat(-1)
        .unwrap()
        .shuffle(64, Some(1), true)
        .unwrap()
        .map(|x| Ok(vec![f::resize(&x[0], 224, 224)?]))
        .unwrap()
        .batch(128, true)
        .unwrap()
        .prefetch(Some(2))
        .unwrap();
    let mut it = ds.iter().unwrap();
    let mut step = || {
        let batch = it.next_element().unwrap().unwrap();
        assert_eq!(batch[0].tensor().unwrap().dims(), &[128, 224, 224, 3]);
    };
    (0..WARM).for_each(|_| step());
    let mut each = Vec::with_capacity(BATCHES);
    for _ in 0..BATCHES {
        let before = faults();
        step();
        each.push(faults() - before);
    }
    let mean = each.iter().sum::<u64>() / BATCHES as u64;
    println!("page faults per batch of 77 MB: {mean} in the mean, each {each:?}");
    assert!(mean < MOST_FAULTS, "{each:?} in {:?}", it.report().0);
    let stage = it.report().0.into_iter().find(|s| s.name == "map+batch").unwrap();
    assert!(stage.buffers_new <= 8 && stage.buffers_recycled >= 20, "{stage:?}");
}
