//! `tf.data` and TFRecord as a small, fast library of its own.
//!
//! ```
//! use gristmill::{Dataset, f};
//!
//! let squares = Dataset::range(0, 5, 1)?.map(|x| f::multiply(&x[0], &x[0]).map(|y| vec![y]))?;
//! let batches: Vec<_> = squares.batch(3, false)?.iter()?.collect::<Result<_, _>>()?;
//! assert_eq!(batches[0][0].tensor()?.as_slice::<i64>()?, &[0, 1, 4]);
//! assert_eq!(batches[1][0].tensor()?.as_slice::<i64>()?, &[9, 16]);
//! # Ok::<(), gristmill::Error>(())
//! ```

mod dataset;
pub mod f;
pub mod writer;

pub use dataset::Dataset;
pub use f::Sym;
pub use gristmill_example as example;
pub use gristmill_image as image;
pub use gristmill_ops as ops;
pub use gristmill_plan as plan;
pub use gristmill_record as record;
pub use gristmill_runtime as runtime;
pub use gristmill_storage as storage;
pub use gristmill_types as types;
pub use gristmill_types::{DType, Error, Result, Tensor, Value};
pub use writer::FileWriter;

/// Makes the built-in ops known. Harmless when repeated; the rest of this crate calls it itself.
pub fn init() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(gristmill_ops::register);
}

/// The Rust of README.md, compiled as documentation tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
pub struct ReadmeDoctests;
