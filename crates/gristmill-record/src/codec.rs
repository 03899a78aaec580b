//! Compression of whole record files, and the look at the first bytes that tells what a file is.

use std::io::{self, Read};

use flate2::{Decompress, FlushDecompress, Status};

use crate::error::{CodecError, ReadError};
use crate::frame::{HEADER_BYTES, parse_header};

/// Compressed bytes taken from the source at a time.
const INPUT_BYTES: usize = 256 << 10;

/// How many first bytes [`sniff`] can make use of (a tar archive shows its magic at byte 257).
pub const SNIFF_BYTES: usize = 512;

/// How a record file is compressed as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Compression {
    /// Not compressed.
    #[default]
    None,
    /// One or more gzip members.
    Gzip,
    /// One or more zlib streams.
    Zlib,
}

impl Compression {
    /// Reads TensorFlow's `compression_type`: `""` or `"NONE"`, `"GZIP"`, `"ZLIB"`; `None` for other text.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "" | "NONE" => Some(Self::None),
            "GZIP" => Some(Self::Gzip),
            "ZLIB" => Some(Self::Zlib),
            _ => None,
        }
    }

    /// TensorFlow's name of it: `""`, `"GZIP"`, `"ZLIB"`.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Gzip => "GZIP",
            Self::Zlib => "ZLIB",
        }
    }
}

impl std::fmt::Display for Compression {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::None => "uncompressed",
            Self::Gzip => "GZIP",
            Self::Zlib => "ZLIB",
        })
    }
}

/// What the first bytes of a file look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Detected {
    /// An uncompressed record file.
    Plain,
    /// A gzip member.
    Gzip,
    /// A zlib stream.
    Zlib,
    /// A PNG picture.
    Png,
    /// A JPEG picture.
    Jpeg,
    /// A tar archive.
    Tar,
    /// A Parquet file.
    Parquet,
    /// None of these.
    Unknown,
}

impl Detected {
    /// The compression to read such a file with; `None` if it is no record file.
    pub fn compression(self) -> Option<Compression> {
        match self {
            Self::Plain => Some(Compression::None),
            Self::Gzip => Some(Compression::Gzip),
            Self::Zlib => Some(Compression::Zlib),
            _ => None,
        }
    }

    /// What to do about it, for the end of an error message.
    pub fn hint(self) -> &'static str {
        match self {
            Self::Plain => "pass compression_type=\"\"",
            Self::Gzip => "pass compression_type=\"GZIP\"",
            Self::Zlib => "pass compression_type=\"ZLIB\"",
            Self::Png | Self::Jpeg => "read pictures with read_file and decode_image",
            Self::Tar | Self::Parquet | Self::Unknown => "convert it to record files first",
        }
    }
}

impl std::fmt::Display for Detected {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Plain => "an uncompressed TFRecord file",
            Self::Gzip => "GZIP",
            Self::Zlib => "ZLIB",
            Self::Png => "a PNG picture",
            Self::Jpeg => "a JPEG picture",
            Self::Tar => "a tar archive",
            Self::Parquet => "a Parquet file",
            Self::Unknown => "an unknown format",
        })
    }
}

/// Tells from the first bytes (up to [`SNIFF_BYTES`] are of use) what a file is.
///
/// Plain is tried first: an uncompressed file whose first record has 0x8b1f or 0x9c78 bytes begins
/// like gzip or zlib, but only a record file has the checksum of bytes 0..8 in bytes 8..12.
pub fn sniff(head: &[u8]) -> Detected {
    if let Some(header) = head.first_chunk::<HEADER_BYTES>()
        && parse_header(header, 0).is_ok()
    {
        return Detected::Plain;
    }
    if head.starts_with(&[0x1f, 0x8b, 8]) {
        Detected::Gzip
    } else if head.starts_with(b"\x89PNG\r\n\x1a\n") {
        Detected::Png
    } else if head.starts_with(&[0xff, 0xd8, 0xff]) {
        Detected::Jpeg
    } else if head.starts_with(b"PAR1") {
        Detected::Parquet
    } else if head.get(257..262) == Some(b"ustar") {
        Detected::Tar
    } else if is_zlib_header(head) {
        Detected::Zlib
    } else {
        Detected::Unknown
    }
}

/// RFC 1950: method 8, window up to 32 KiB, no preset dictionary, check bits.
fn is_zlib_header(head: &[u8]) -> bool {
    let [method, flags, ..] = head else {
        return false;
    };
    let check = u16::from_be_bytes([*method, *flags]).is_multiple_of(31);
    method & 0x0f == 8 && method >> 4 <= 7 && flags & 0x20 == 0 && check
}

/// Decompresses a stream of gzip members or zlib streams, one after the other.
///
/// An empty member is passed over and reading goes on behind it (TensorFlow's reader stops there).
/// A stream that ends inside a member ends quietly; [`Inflater::cut_short`] tells.
pub struct Inflater<R> {
    source: R,
    compression: Compression,
    decoder: Option<Decompress>,
    input: Vec<u8>,
    at: usize,
    filled: usize,
    /// Compressed bytes of members before the current one.
    before: u64,
    cut_short: bool,
    ended: bool,
    /// Found behind bytes that had to be given out first.
    pending: Option<CodecError>,
}

impl<R: Read> Inflater<R> {
    /// A decoder over `source`; [`Compression::None`] is taken as gzip, which then says that the data
    /// are not gzip.
    pub fn new(source: R, compression: Compression) -> Self {
        Self {
            source,
            compression,
            decoder: None,
            input: Vec::new(),
            at: 0,
            filled: 0,
            before: 0,
            cut_short: false,
            ended: false,
            pending: None,
        }
    }

    /// Whether the compressed data ended inside a member.
    pub fn cut_short(&self) -> bool {
        self.cut_short
    }

    /// The source, whatever is left of it.
    pub fn into_inner(self) -> R {
        self.source
    }

    /// Decompresses at least one byte into `output`; 0 at the end or when `output` is empty.
    ///
    /// # Errors
    /// [`ReadError::Codec`] when the data do not decode or their check value is wrong,
    /// [`ReadError::Io`] when the source fails.
    pub fn read_some(&mut self, output: &mut [u8]) -> Result<usize, ReadError> {
        if let Some(error) = self.pending.take() {
            return Err(ReadError::Codec(error));
        }
        while !self.ended && !output.is_empty() {
            if self.at == self.filled && !self.refill()? {
                self.ended = true;
                self.cut_short = self.decoder.is_some();
                break;
            }
            let decoder = self.decoder.get_or_insert_with(|| match self.compression {
                Compression::Zlib => Decompress::new(true),
                Compression::Gzip | Compression::None => Decompress::new_gzip(15),
            });
            let (taken, given) = (decoder.total_in(), decoder.total_out());
            let input = &self.input[self.at..self.filled];
            let status = decoder.decompress(input, output, FlushDecompress::None);
            // Both differences are bounded by the slices just passed.
            let taken = (decoder.total_in() - taken) as usize;
            let given = (decoder.total_out() - given) as usize;
            self.at += taken;
            let reason = match status {
                Ok(Status::StreamEnd) => {
                    self.before += decoder.total_in();
                    self.decoder = None;
                    None
                }
                Ok(Status::Ok | Status::BufError) if taken > 0 || given > 0 => None,
                Ok(_) => Some("the decoder makes no progress".to_owned()),
                Err(error) => Some(error.to_string()),
            };
            if let Some(reason) = reason {
                self.ended = true;
                let inside = self.decoder.as_ref().map_or(0, Decompress::total_in);
                let error =
                    CodecError { compression: self.compression, offset: self.before + inside, reason };
                if given == 0 {
                    return Err(ReadError::Codec(error));
                }
                self.pending = Some(error);
            }
            if given > 0 {
                return Ok(given);
            }
        }
        Ok(0)
    }

    fn refill(&mut self) -> io::Result<bool> {
        self.input.resize(INPUT_BYTES, 0);
        self.at = 0;
        self.filled = 0;
        self.filled = read_retrying(&mut self.source, &mut self.input)?;
        Ok(self.filled > 0)
    }
}

impl<R: Read> Read for Inflater<R> {
    fn read(&mut self, output: &mut [u8]) -> io::Result<usize> {
        self.read_some(output).map_err(|error| match error {
            ReadError::Io(error) => error,
            other => io::Error::new(io::ErrorKind::InvalidData, other),
        })
    }
}

/// One read, repeated while a signal interrupts it.
pub(crate) fn read_retrying(source: &mut impl Read, into: &mut [u8]) -> io::Result<usize> {
    loop {
        match source.read(into) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::new(6));
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn zlib(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::new(6));
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn inflate(bytes: &[u8], compression: Compression) -> (Vec<u8>, io::Result<usize>, bool) {
        let mut inflater = Inflater::new(bytes, compression);
        let mut out = Vec::new();
        let result = inflater.read_to_end(&mut out);
        (out, result, inflater.cut_short())
    }

    #[test]
    fn members_and_empty_members_are_read_through() {
        let bytes = [gzip(b"one "), gzip(b""), gzip(b"two "), gzip(b""), gzip(b"three")].concat();
        let (out, result, cut) = inflate(&bytes, Compression::Gzip);
        assert_eq!((out.as_slice(), result.unwrap(), cut), (&b"one two three"[..], 13, false));
        let (out, _, _) = inflate(&[zlib(b"a"), zlib(b"b")].concat(), Compression::Zlib);
        assert_eq!(out, b"ab");
        assert_eq!(inflate(b"", Compression::Gzip).0, b"");
    }

    #[test]
    fn a_cut_is_quiet_and_reported_a_bad_trailer_is_an_error() {
        let text: Vec<u8> = (0..2000u32).flat_map(|i| (i * i).to_le_bytes()).collect();
        for (bytes, kind) in [(gzip(&text), Compression::Gzip), (zlib(&text), Compression::Zlib)] {
            for keep in [1, 5, bytes.len() / 2, bytes.len() - 1] {
                let (out, result, cut) = inflate(&bytes[..keep], kind);
                assert!(result.is_ok() && cut && text.starts_with(&out), "{keep}");
            }
            let mut bad = bytes.clone();
            let last = bad.len() - if kind == Compression::Gzip { 5 } else { 1 };
            bad[last] ^= 1;
            let (out, result, _) = inflate(&bad, kind);
            assert_eq!(out, text);
            let message = result.unwrap_err().to_string();
            assert!(message.starts_with("inflate() failed: "), "{message}");
        }
    }

    #[test]
    fn plain_bytes_are_no_gzip() {
        let message = inflate(&[7; 40], Compression::Gzip).1.unwrap_err().to_string();
        assert!(
            message.starts_with("inflate() failed: ") && message.ends_with("of the GZIP stream"),
            "{message}"
        );
    }

    #[test]
    fn sniffing_tries_plain_first() {
        for length in [0x8b1f, 0x08_8b1f, 0x9c78, 0] {
            assert_eq!(sniff(&crate::frame::header(length)), Detected::Plain);
        }
        assert_eq!(sniff(&gzip(b"x")), Detected::Gzip);
        assert_eq!(sniff(&zlib(b"x")), Detected::Zlib);
        assert_eq!(sniff(b"\x89PNG\r\n\x1a\n...."), Detected::Png);
        assert_eq!(sniff(&[0xff, 0xd8, 0xff, 0xe0]), Detected::Jpeg);
        assert_eq!(sniff(b"PAR1abcdefgh"), Detected::Parquet);
        let mut tar = vec![b'a'; 512];
        tar[257..262].copy_from_slice(b"ustar");
        assert_eq!(sniff(&tar), Detected::Tar);
        assert_eq!(sniff(b"not a record"), Detected::Unknown);
        assert_eq!(sniff(b""), Detected::Unknown);
    }
}
