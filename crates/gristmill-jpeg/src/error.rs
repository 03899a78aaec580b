//! What can go wrong.

use std::fmt;

/// The result of this crate's functions.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a file was not decoded.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The file may be fine, but it uses something that this decoder leaves to libjpeg.
    Unsupported(&'static str),
    /// The file is damaged or ends early. Libjpeg may still make pixels of it.
    Corrupt(&'static str),
    /// The options contradict themselves or do not suit the file.
    Options(&'static str),
    /// The output slice has not the size of the image, both in bytes.
    Size {
        /// The size of the image.
        expected: usize,
        /// The size of the slice.
        found: usize,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsupported(what) => write!(f, "unsupported JPEG: {what}"),
            Self::Corrupt(what) => write!(f, "damaged JPEG: {what}"),
            Self::Options(what) => f.write_str(what),
            Self::Size { expected, found } => {
                write!(f, "the output must have {expected} bytes for this image, found {found}")
            }
        }
    }
}

impl std::error::Error for Error {}
