//! What can be wrong with the bytes of a record file.
//!
//! No error here carries a file name: the layer that opened the file adds it.

use crate::codec::{Compression, Detected};

/// TensorFlow's question, asked when the very first frame does not fit.
fn doubt(offset: &u64) -> &'static str {
    if *offset == 0 { " (Is this even a TFRecord file?)" } else { "" }
}

/// A frame that does not hold. Offsets and lengths are bytes of the (decompressed) stream.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FrameError {
    /// The length field and its checksum disagree.
    #[error("corrupted record at {offset}{}: checksum of the length is {computed:#010x}, file says {stored:#010x}", doubt(.offset))]
    BadLengthCrc {
        /// Where the record starts.
        offset: u64,
        /// The masked checksum in the file.
        stored: u32,
        /// The masked checksum of the length field as read.
        computed: u32,
    },
    /// The payload and its checksum disagree.
    #[error("corrupted record at {}: checksum of the {length} payload bytes is {computed:#010x}, file says {stored:#010x}", .offset.saturating_add(12))]
    BadPayloadCrc {
        /// Where the record starts (its payload starts 12 bytes later, which is what the message says).
        offset: u64,
        /// Bytes of payload.
        length: u64,
        /// The masked checksum in the file.
        stored: u32,
        /// The masked checksum of the payload as read.
        computed: u32,
    },
    /// The data end inside a record whose header is whole.
    #[error("truncated record at {offset}{}: it needs {needed} bytes, {available} are left", doubt(.offset))]
    Truncated {
        /// Where the record starts.
        offset: u64,
        /// Bytes of the whole frame.
        needed: u64,
        /// Bytes there are from the start of the frame.
        available: u64,
    },
}

impl FrameError {
    /// Where the bad record starts, in bytes of the (decompressed) stream.
    pub fn offset(&self) -> u64 {
        match self {
            Self::BadLengthCrc { offset, .. }
            | Self::BadPayloadCrc { offset, .. }
            | Self::Truncated { offset, .. } => *offset,
        }
    }
}

/// A compressed stream that does not decode.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("inflate() failed: {reason} near compressed byte {offset} of the {compression} stream")]
pub struct CodecError {
    /// The compression the stream was read as.
    pub compression: Compression,
    /// Compressed bytes taken in when the decoder gave up.
    pub offset: u64,
    /// The decoder's own words.
    pub reason: String,
}

/// Why a reader stopped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// A frame is damaged; the records before it have been given out.
    #[error("{0}")]
    Frame(#[source] FrameError),
    /// The compressed stream is damaged; the records before it have been given out.
    #[error("{0}")]
    Codec(#[source] CodecError),
    /// The first bytes are not what they were read as, and look like something else.
    #[error("{cause}; the data look like {detected}; {}", detected.hint())]
    WrongFormat {
        /// What failed.
        #[source]
        cause: Box<ReadError>,
        /// What the first bytes look like.
        detected: Detected,
    },
    /// Reading failed.
    #[error("{0}")]
    Io(#[from] std::io::Error),
}

impl ReadError {
    /// The damaged frame, if that is what stopped the reader.
    pub fn frame(&self) -> Option<&FrameError> {
        match self {
            Self::Frame(error) => Some(error),
            Self::WrongFormat { cause, .. } => cause.frame(),
            _ => None,
        }
    }

    /// Whether the data are at fault rather than the machine that holds them.
    pub fn is_data_loss(&self) -> bool {
        !matches!(self, Self::Io(_))
    }
}

impl From<FrameError> for ReadError {
    fn from(error: FrameError) -> Self {
        Self::Frame(error)
    }
}

impl From<CodecError> for ReadError {
    fn from(error: CodecError) -> Self {
        Self::Codec(error)
    }
}

impl From<ReadError> for gristmill_types::Error {
    /// The error without its place: the caller knows file and record.
    fn from(e: ReadError) -> Self {
        use gristmill_types::Kind;
        match &e {
            ReadError::Io(io) if io.kind() == std::io::ErrorKind::IsADirectory => {
                Self::new(Kind::FailedPrecondition, "expected a file, found a directory")
            }
            ReadError::Io(_) => Self::new(Kind::Unknown, e.to_string()),
            ReadError::WrongFormat { .. } => Self::new(Kind::DataLoss, e.to_string()),
            _ => {
                Self::new(Kind::DataLoss, e.to_string()).hint("ds.ignore_errors() drops what cannot be read")
            }
        }
    }
}
