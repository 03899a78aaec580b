//! Framing of record files: length, checksum, payload, checksum.
//!
//! Pure functions over bytes; the only input and output are the [`std::io::Read`] and
//! [`std::io::Write`] objects that the caller hands in, so nothing here knows file names.
//! The layers, from the bytes upwards: [`crc`] → [`frame`] → [`codec`] → [`reader`], [`writer`],
//! [`salvage`], [`index`].

pub mod codec;
pub mod crc;
pub mod error;
pub mod frame;
pub mod index;
pub mod reader;
pub mod salvage;
pub mod writer;

pub use codec::{Compression, Detected, Inflater, sniff};
pub use crc::{mask, masked_crc32c, unmask};
pub use error::{CodecError, FrameError, ReadError};
pub use frame::{Scan, Span, Stop, scan_frames};
pub use index::{Index, IndexEntry, IndexError};
pub use reader::{ChunkInfo, EndInfo, Filled, Lost, ReaderOptions, RecordReader};
pub use salvage::{Event, Salvager};
pub use writer::RecordWriter;
