//! Images with TensorFlow's values: decoding, encoding, resizing, conversion, geometry and colour.
//!
//! Everything here is a pure function over byte or sample slices. Pixels are `height x width x channels`, row-major and
//! without padding. The caller supplies the memory of every result: a decoder asks an [`Output`] for the slice once it
//! knows the shape, so that it can write straight into its place in a batch.

pub mod bmp;
pub mod chain;
pub mod color;
pub mod convert;
pub mod decode_any;
mod error;
pub mod geometry;
pub mod gif;
pub mod jpeg;
mod output;
pub mod png;
pub mod resize;
mod sniff;
pub mod webp;

pub use error::{Error, Result};
pub use output::{Image, Output};
pub use sniff::{Format, sniff};

/// The number of samples (`height * width * channels`) that a decoded image has to stay below: `1 << 29`, the bound of
/// TensorFlow's JPEG reader (`tensorflow/core/lib/jpeg/jpeg_mem.cc`).
///
/// It is compared with the size that a file declares before memory is asked for, so that a few bytes can't make a
/// decoder allocate without bound.
pub const MAX_SAMPLES: u64 = 1 << 29;
