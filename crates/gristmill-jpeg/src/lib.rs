//! A JPEG decoder whose pixels are those of libjpeg-turbo, bit for bit, at about twice its speed.
//!
//! It reads baseline and progressive files of 8 bits and 1, 3 or 4 components. What it leaves to libjpeg is an
//! [`Error::Unsupported`], and a file that is not intact an [`Error::Corrupt`]: libjpeg then says what is wrong, or makes
//! of it what it can. So a caller that needs every file tries this decoder first and libjpeg on those two errors.
//!
//! ```
//! # fn main() -> gristmill_jpeg::Result<()> {
//! # let file = include_bytes!("../tests/example.jpg");
//! let header = gristmill_jpeg::read_header(file)?;
//! let options = gristmill_jpeg::Options::default();
//! let shape = header.shape(&options)?;
//! let mut pixels = vec![0; shape.iter().product()];
//! let mut decoder = gristmill_jpeg::Decoder::new();
//! decoder.decode_into(file, &options, &mut pixels)?;
//! # Ok(())
//! # }
//! ```

mod bands;
mod bits;
mod block;
mod checksum;
mod color;
mod decoder;
mod error;
mod few;
mod frame;
mod huffman;
mod idct;
mod index;
mod input;
mod layout;
mod marker;
mod multi;
mod open;
mod options;
mod progressive;
mod segments;
mod sequential;
mod simd;
mod single;
mod tables;
mod target;
mod unstuff;
mod upsample;
mod window;

pub use decoder::{Decoder, Image, Job, Shape, read_header};
pub use error::{Error, Result};
pub use index::RestartIndex;
pub use input::Input;
pub use marker::Space;
pub use open::Header;
pub use options::{Dct, Edges, Options, Region};

/// Decodes a file; where there are many, a [`Decoder`] that is kept is faster.
///
/// # Errors
///
/// As [`Decoder::decode`].
pub fn decode<'d>(file: impl Into<Input<'d>>, options: &Options) -> Result<Image> {
    Decoder::new().decode(file, options)
}

/// Decodes a file into `out`; see [`Decoder::decode_into`].
///
/// # Errors
///
/// As [`Decoder::decode_into`].
pub fn decode_into<'d>(file: impl Into<Input<'d>>, options: &Options, out: &mut [u8]) -> Result<Shape> {
    Decoder::new().decode_into(file, options, out)
}

/// Decodes a part of a file; see [`Decoder::decode_region`].
///
/// # Errors
///
/// As [`Decoder::decode_region`].
pub fn decode_region<'d>(file: impl Into<Input<'d>>, options: &Options, region: Region) -> Result<Image> {
    Decoder::new().decode_region(file, options, region)
}
