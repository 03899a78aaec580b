//! JPEG by a decoder of our own and libjpeg-turbo, with TensorFlow's choices (`tensorflow/core/lib/jpeg/jpeg_mem.cc`).

mod decode;
mod encode;
mod ffi;
mod own;
mod region;

pub use decode::{Crop, DctMethod, JpegOptions, decode, decode_with_libjpeg, shape};
pub use encode::{DensityUnit, EncodeFormat, EncodeOptions, encode};
pub use own::{restart_index, restart_index_or_none, served};
pub use region::{decode_region, decode_rows, output_shape};

/// Whether `contents` starts as a JPEG does, as `tf.io.is_jpeg` has it.
#[must_use]
pub fn is_jpeg(contents: &[u8]) -> bool {
    contents.starts_with(b"\xff\xd8\xff")
}

/// The version of the built-in libjpeg-turbo as (major, minor, patch).
#[must_use]
pub fn library_version() -> (u32, u32, u32) {
    let version = ffi::version();
    (version / 1_000_000, version / 1000 % 1000, version % 1000)
}

/// Whether the built-in libjpeg-turbo uses vector instructions on this machine.
#[must_use]
pub fn simd_in_use() -> bool {
    ffi::simd_in_use()
}

#[cfg(test)]
mod tests;
