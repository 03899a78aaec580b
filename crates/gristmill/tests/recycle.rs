//! Batch memory comes back to the pool; in a process of its own, since the pool's counters are the process's.

use gristmill::types::Tensor;
use gristmill::types::buffer::pool_stats;
use gristmill::{Dataset, f};

#[test]
fn batch_memory_is_recycled() {
    let ds = Dataset::range(0, 4096, 1)
        .unwrap()
        .map(|x| {
            let shape = x[0].constant(Tensor::vector(&[64i32, 64, 3]));
            f::call("fill", &[&shape, &f::cast(&x[0], gristmill::DType::F32)?], Vec::new())
        })
        .unwrap()
        .batch(32, true)
        .unwrap();
    let mut it = ds.iter().unwrap();
    for _ in 0..32 {
        it.next_element().unwrap().unwrap();
    }
    let warm = pool_stats();
    for _ in 0..90 {
        it.next_element().unwrap().unwrap();
    }
    let after = pool_stats();
    assert!(after.fresh - warm.fresh <= 4, "{warm:?} {after:?}");
    assert!(after.recycled - warm.recycled >= 80, "{warm:?} {after:?}");
}
