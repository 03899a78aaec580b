//! Page faults of the whole process in the steady state; in a process of its own, since the system counts
//! those of the process.
#![cfg(target_os = "linux")]
#![allow(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "a test that unwraps an error fails, which is what it should do")]
#![allow(clippy::print_stdout, reason = "the figures are for those who run it with --nocapture")]

use gristmill::types::{Shape, Tensor};
use gristmill::{Dataset, f};

/// Batches that bring nearly every buffer of the pool into use.
const WARM: usize = 24;
const BATCHES: usize = 20;
/// One batch of 128 float images has 18,816 pages of 4 KiB, or 37 of 2 MiB.
const MOST_FAULTS: u64 = 50;
/// Blocks grow and shrink with the speed of the machine, and more of a size may be in use than ever before: so a few
/// batches may still take new memory, for their input. Without recycling all of them do.
const MOST_COLD: usize = 5;

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
    let cold = each.iter().filter(|faults| **faults > MOST_FAULTS).count();
    assert!(cold <= MOST_COLD, "{each:?} in {:?}", it.report().0);
    let stage = it.report().0.into_iter().find(|s| s.name == "map+batch").unwrap();
    assert!(stage.buffers_new <= 8 && stage.buffers_recycled >= 20, "{stage:?}");
}
