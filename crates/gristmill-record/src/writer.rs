//! Writing records.

use std::io::{self, Write};

use flate2::{Compress, FlushCompress, Status};

use crate::codec::Compression;
use crate::frame;

/// Bytes gathered before they are handed to the sink.
const BUFFER_BYTES: usize = 256 << 10;

/// Writes records as TensorFlow's writer does: plain files byte for byte, compressed ones after
/// decompression.
///
/// Nothing is promised to be written before [`RecordWriter::flush`] or [`RecordWriter::finish`];
/// dropping the writer without them loses what is still held.
pub struct RecordWriter<W: Write> {
    sink: W,
    encoder: Option<Compress>,
    /// Bytes on their way to the sink (compressed ones if there is an encoder).
    buffer: Vec<u8>,
    position: u64,
    records: u64,
}

impl<W: Write> RecordWriter<W> {
    /// A writer into `sink`. `level` is zlib's, 0 to 9 (larger ones count as 9), 6 when `None`; plain
    /// files ignore it.
    pub fn new(sink: W, compression: Compression, level: Option<u32>) -> Self {
        let level = flate2::Compression::new(level.unwrap_or(6).min(9));
        let encoder = match compression {
            Compression::None => None,
            Compression::Gzip => Some(Compress::new_gzip(level, 15)),
            Compression::Zlib => Some(Compress::new(level, true)),
        };
        Self { sink, encoder, buffer: Vec::with_capacity(BUFFER_BYTES), position: 0, records: 0 }
    }

    /// Records written so far.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Where the next record begins: bytes of the stream before compression.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// The sink; what the writer still holds is not in it.
    pub fn get_ref(&self) -> &W {
        &self.sink
    }

    /// The sink, for what only it can do (publishing a file, for example).
    pub fn get_mut(&mut self) -> &mut W {
        &mut self.sink
    }

    /// Appends one record.
    ///
    /// # Errors
    /// What the sink reports. The file then ends inside a record.
    pub fn write(&mut self, payload: &[u8]) -> io::Result<()> {
        self.put(&frame::header(payload.len() as u64))?;
        self.put(payload)?;
        self.put(&frame::footer(payload))?;
        self.position += (payload.len() + frame::OVERHEAD_BYTES) as u64;
        self.records += 1;
        Ok(())
    }

    /// Makes everything written so far readable by others: ends the deflate block when compressed
    /// (which costs a few bytes), hands all bytes to the sink and flushes it.
    ///
    /// # Errors
    /// What the sink reports.
    pub fn flush(&mut self) -> io::Result<()> {
        self.encode(&[], FlushCompress::Sync)?;
        self.hand_over()?;
        self.sink.flush()
    }

    /// Ends the stream (trailer when compressed), flushes, and gives the sink back.
    ///
    /// # Errors
    /// What the sink reports.
    pub fn finish(mut self) -> io::Result<W> {
        self.encode(&[], FlushCompress::Finish)?;
        self.hand_over()?;
        self.sink.flush()?;
        Ok(self.sink)
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.encoder.is_some() {
            return self.encode(bytes, FlushCompress::None);
        }
        let passes_through = bytes.len() > BUFFER_BYTES / 2;
        if passes_through || self.buffer.len() + bytes.len() > BUFFER_BYTES {
            self.hand_over()?;
        }
        if passes_through {
            self.sink.write_all(bytes)
        } else {
            self.buffer.extend_from_slice(bytes);
            Ok(())
        }
    }

    /// Compresses `bytes`; with a flush mode, until the encoder holds nothing back. Plain: nothing.
    fn encode(&mut self, mut bytes: &[u8], flush: FlushCompress) -> io::Result<()> {
        let Some(mut encoder) = self.encoder.take() else {
            return Ok(());
        };
        let result = loop {
            if self.buffer.len() == self.buffer.capacity()
                && let Err(error) = self.hand_over()
            {
                break Err(error);
            }
            let taken = encoder.total_in();
            let status = match encoder.compress_vec(bytes, &mut self.buffer, flush) {
                Ok(status) => status,
                Err(error) => break Err(io::Error::other(error)),
            };
            // Bounded by the length of the slice just passed.
            bytes = &bytes[(encoder.total_in() - taken) as usize..];
            let room_left = self.buffer.len() < self.buffer.capacity();
            if bytes.is_empty() && (room_left || status == Status::StreamEnd) {
                break Ok(());
            }
        };
        self.encoder = Some(encoder);
        result
    }

    fn hand_over(&mut self) -> io::Result<()> {
        self.sink.write_all(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::Inflater;
    use std::io::Read;

    fn write(records: &[&[u8]], compression: Compression, level: Option<u32>) -> Vec<u8> {
        let mut writer = RecordWriter::new(Vec::new(), compression, level);
        for record in records {
            writer.write(record).unwrap();
        }
        writer.finish().unwrap()
    }

    #[test]
    fn plain_bytes() {
        let bytes = write(&[b"", b"s"], Compression::None, None);
        // As TensorFlow writes them.
        let expected = [
            0, 0, 0, 0, 0, 0, 0, 0, 0x29, 3, 0x98, 7, 0xd8, 0xea, 0x82, 0xa2, //
            1, 0, 0, 0, 0, 0, 0, 0, 0x01, 0x75, 0xde, 0x41, 0x73, 0x43, 0x4c, 0xd3, 0x8b,
        ];
        assert_eq!(bytes, expected);
        assert_eq!(write(&[], Compression::None, None), b"");
    }

    #[test]
    fn heads_of_compressed_files() {
        let gzip = write(&[b"abc"], Compression::Gzip, None);
        assert_eq!(gzip[..10], [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3]);
        assert_eq!(write(&[b"abc"], Compression::Zlib, None)[..2], [0x78, 0x9c]);
    }

    #[test]
    fn large_records_pass_through_and_positions_count() {
        let big: Vec<u8> = (0..700_000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        for compression in [Compression::None, Compression::Gzip, Compression::Zlib] {
            for level in [None, Some(0), Some(1), Some(9), Some(99)] {
                let mut writer = RecordWriter::new(Vec::new(), compression, level);
                writer.write(b"small").unwrap();
                writer.write(&big).unwrap();
                assert_eq!((writer.position(), writer.records()), (21 + 700_016, 2));
                let bytes = writer.finish().unwrap();
                let mut plain = Vec::new();
                match compression {
                    Compression::None => plain = bytes,
                    _ => assert_eq!(
                        Inflater::new(&bytes[..], compression).read_to_end(&mut plain).unwrap(),
                        700_037
                    ),
                }
                assert_eq!(plain, write(&[b"small", &big], Compression::None, None));
            }
        }
    }

    #[test]
    fn order_holds_whatever_the_sizes() {
        let half = BUFFER_BYTES / 2;
        let sizes = [
            10,
            half,
            half + 1,
            3,
            BUFFER_BYTES - 30,
            5,
            BUFFER_BYTES,
            BUFFER_BYTES + 1,
            0,
            half - 12,
            half,
            1,
        ];
        let mut writer = RecordWriter::new(Vec::new(), Compression::None, None);
        let mut expected = Vec::new();
        for (value, size) in (0u8..).zip(sizes) {
            let record = vec![value; size];
            writer.write(&record).unwrap();
            expected.extend(frame::header(size as u64));
            expected.extend(&record);
            expected.extend(frame::footer(&record));
        }
        assert!(writer.finish().unwrap() == expected);
    }

    #[test]
    fn flush_makes_records_readable() {
        for compression in [Compression::None, Compression::Gzip, Compression::Zlib] {
            let mut writer = RecordWriter::new(Vec::new(), compression, None);
            for record in [&b"a"[..], b"bc", b"def"] {
                writer.write(record).unwrap();
            }
            writer.flush().unwrap();
            let so_far = writer.get_ref().clone();
            let mut plain = Vec::new();
            match compression {
                Compression::None => plain.clone_from(&so_far),
                _ => drop(Inflater::new(&so_far[..], compression).read_to_end(&mut plain).unwrap()),
            }
            assert_eq!(plain, write(&[b"a", b"bc", b"def"], Compression::None, None));
            writer.flush().unwrap();
            assert_eq!(writer.get_ref().len(), so_far.len(), "a second flush writes nothing");
            writer.finish().unwrap();
        }
    }

    #[test]
    fn a_failing_sink_is_reported() {
        struct Full;
        impl Write for Full {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::StorageFull.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let mut writer = RecordWriter::new(Full, Compression::None, None);
        writer.write(b"held").unwrap();
        assert_eq!(writer.flush().unwrap_err().kind(), io::ErrorKind::StorageFull);
    }
}
