use std::io::{self, Cursor, Read};

use proptest::prelude::*;

use super::*;
use crate::writer::RecordWriter;

fn write(records: &[Vec<u8>], compression: Compression) -> Vec<u8> {
    let mut writer = RecordWriter::new(Vec::new(), compression, None);
    for record in records {
        writer.write(record).unwrap();
    }
    writer.finish().unwrap()
}

fn options(compression: Option<Compression>) -> ReaderOptions {
    ReaderOptions { compression, ..ReaderOptions::default() }
}

/// Reads with a buffer of `chunk` bytes that grows when it must; checks positions on the way.
fn drain<R: Read>(
    reader: &mut RecordReader<R>,
    chunk: usize,
    max: usize,
) -> (Vec<Vec<u8>>, Result<EndInfo, ReadError>) {
    let mut buffer = vec![0; chunk];
    let (mut spans, mut records) = (Vec::new(), Vec::new());
    loop {
        let (index, offset) = (reader.index(), reader.offset());
        match reader.fill(&mut buffer, max, &mut spans) {
            Ok(Filled::Records(info)) => {
                assert_eq!((info.first_index, info.offset), (index, offset));
                assert_eq!(info.frame_offset(spans[0]), offset);
                assert!(!spans.is_empty() && spans.len() <= max.max(1));
                records.extend(spans.iter().map(|span| span.of(&buffer).to_vec()));
            }
            Ok(Filled::NeedCapacity(bytes)) => {
                assert!(bytes > buffer.len());
                buffer.resize(bytes, 0);
            }
            Ok(Filled::End(end)) => return (records, Ok(end)),
            Err(error) => return (records, Err(error)),
        }
    }
}

fn read(bytes: &[u8], compression: Option<Compression>) -> (Vec<Vec<u8>>, Result<EndInfo, ReadError>) {
    match RecordReader::open(bytes, &options(compression)) {
        Ok(mut reader) => drain(&mut reader, 100, usize::MAX),
        Err(error) => (Vec::new(), Err(error)),
    }
}

fn three() -> Vec<Vec<u8>> {
    vec![b"ten bytes!".to_vec(), b"twenty bytes of text".to_vec(), b"more".to_vec()]
}

#[test]
fn tails_end_quietly_and_are_reported() {
    let bytes = write(&three(), Compression::None);
    for keep in 0..bytes.len() {
        let (records, result) = read(&bytes[..keep], None);
        let whole = [26, 62, 82].iter().filter(|&&end| end <= keep).count();
        assert_eq!(records, three()[..whole], "{keep}");
        let start = [0, 26, 62][whole];
        match keep - start {
            tail @ 0..12 => assert_eq!(result.unwrap().tail_bytes, tail),
            available => {
                let message = result.unwrap_err().to_string();
                let expected = format!("truncated record at {start}");
                assert!(message.starts_with(&expected), "{message}");
                assert!(message.contains(&format!("{available} are left")), "{message}");
            }
        }
    }
}

#[test]
fn a_known_size_refuses_at_once_an_unknown_one_in_steps() {
    let bytes = [&crate::frame::header(1 << 40)[..], &[0; 500]].concat();
    let known = ReaderOptions { size: Some(512), ..options(Some(Compression::None)) };
    let mut reader = RecordReader::open(&bytes[..], &known).unwrap();
    let error = reader.fill(&mut [0; 64], 9, &mut Vec::new()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "truncated record at 0 (Is this even a TFRecord file?): it needs 1099511627792 bytes, 512 are left"
    );
    let mut reader = RecordReader::open(&bytes[..], &options(None)).unwrap();
    let mut buffer = vec![0; 64];
    let need = reader.fill(&mut buffer, 9, &mut Vec::new()).unwrap();
    assert_eq!(need, Filled::NeedCapacity(CHUNK_BYTES));
    buffer.resize(CHUNK_BYTES, 0);
    assert!(reader.fill(&mut buffer, 9, &mut Vec::new()).is_err());
    assert!(matches!(reader.fill(&mut buffer, 9, &mut Vec::new()), Ok(Filled::End(_))));
}

#[test]
fn records_before_damage_come_first() {
    let mut bytes = write(&three(), Compression::None);
    bytes[26 + 12] ^= 4;
    let (records, result) = read(&bytes, None);
    assert_eq!(records, three()[..1]);
    let error = result.unwrap_err();
    assert!(error.to_string().starts_with("corrupted record at 38: "), "{error}");
    assert_eq!(error.frame().unwrap().offset(), 26);
    let unchecked = ReaderOptions { verify: false, ..options(None) };
    let mut reader = RecordReader::open(&bytes[..], &unchecked).unwrap();
    assert_eq!(drain(&mut reader, 64, 9).0.len(), 3);
}

#[test]
fn wrong_formats_are_named() {
    let plain = write(&three(), Compression::None);
    let gzip = write(&three(), Compression::Gzip);
    let zlib = write(&three(), Compression::Zlib);
    let message = |bytes: &[u8], c| read(bytes, Some(c)).1.unwrap_err().to_string();
    let text = message(&gzip, Compression::None);
    assert!(text.starts_with("corrupted record at 0 (Is this even a TFRecord file?)"), "{text}");
    assert!(text.ends_with("the data look like GZIP; pass compression_type=\"GZIP\""), "{text}");
    let text = message(&plain, Compression::Gzip);
    assert!(
        text.starts_with("inflate() failed")
            && text.ends_with("an uncompressed TFRecord file; pass compression_type=\"\""),
        "{text}"
    );
    let text = message(&zlib, Compression::Gzip);
    assert!(text.ends_with("the data look like ZLIB; pass compression_type=\"ZLIB\""), "{text}");
    let text = message(b"\x89PNG\r\n\x1a\n and the rest", Compression::None);
    assert!(text.contains("look like a PNG picture"), "{text}");
    let text = message(&[9; 40], Compression::None);
    assert!(!text.contains("look like"), "{text}");
}

#[test]
fn cut_and_damaged_gzip() {
    let mut state = 1u64;
    let mut noise = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    let records: Vec<Vec<u8>> = (0..200).map(|_| (0..100).map(|_| noise()).collect()).collect();
    let gzip = write(&records, Compression::Gzip);
    let (all, end) = read(&gzip[..gzip.len() - 1], None);
    assert_eq!(all, records);
    assert_eq!(end.unwrap(), EndInfo { records: 200, tail_bytes: 0, cut_short: true });
    let (some, end) = read(&gzip[..gzip.len() / 2], None);
    assert_eq!(some, records[..some.len()]);
    assert!(some.len() > 80);
    match end {
        Ok(end) => assert!(end.cut_short && end.tail_bytes < 12),
        Err(error) => assert!(error.to_string().starts_with("truncated record at "), "{error}"),
    }
    let mut zlib = write(&records, Compression::Zlib);
    *zlib.last_mut().unwrap() ^= 1;
    let (all, result) = read(&zlib, None);
    assert_eq!(all, records);
    assert!(result.unwrap_err().to_string().starts_with("inflate() failed"));
}

#[test]
fn skip_seek_and_resume() {
    let mut records: Vec<Vec<u8>> = (0..50).map(|i| vec![i; usize::from(i) * 3]).collect();
    records[7] = vec![7; 1 << 20];
    for compression in [Compression::None, Compression::Gzip] {
        let bytes = write(&records, compression);
        for skip in [0, 1, 7, 8, 30, 50, 60] {
            let mut reader = RecordReader::open(&bytes[..], &options(None)).unwrap();
            let expected = skip.min(50);
            assert_eq!(reader.skip_records(skip).unwrap(), expected);
            assert_eq!(drain(&mut reader, 200, 4).0, records[expected as usize..]);
            let mut reader = RecordReader::open(Cursor::new(&bytes), &options(None)).unwrap();
            assert_eq!(reader.seek_records(skip).unwrap(), expected);
            let (offset, index) = (reader.offset(), reader.index());
            assert_eq!(drain(&mut reader, 200, 4).0, records[expected as usize..]);
            if compression == Compression::None {
                let rest = &bytes[offset as usize..];
                let mut reader = RecordReader::resume(rest, offset, index, &options(None));
                assert_eq!(drain(&mut reader, 70, 1).0, records[expected as usize..]);
            }
        }
    }
    let bytes = write(&records, Compression::None);
    let mut cut = RecordReader::open(Cursor::new(&bytes[..bytes.len() / 2]), &options(None)).unwrap();
    assert!(cut.seek_records(8).unwrap_err().to_string().starts_with("truncated record at "));
    assert_eq!(cut.index(), 7);
}

#[test]
fn resync_loses_only_the_damage() {
    let records: Vec<Vec<u8>> = (0..40u8).map(|i| vec![i; 1 + usize::from(i)]).collect();
    let clean = write(&records, Compression::None);
    // Offset of record i: 16 i of overhead and 1 + 2 + ... + i of payload.
    let start = |i: usize| 16 * i + i * (i + 1) / 2;
    for (flip, lost) in
        [(start(5) + 12, 5), (start(9) + 3, 9), (start(0), 0), (start(39) + 12, 39), (start(39), 39)]
    {
        let mut bytes = clean.clone();
        bytes[flip] ^= 0x10;
        let mut reader = RecordReader::open(&bytes[..], &options(Some(Compression::None))).unwrap();
        let (mut got, result) = drain(&mut reader, 128, 3);
        assert!(result.is_err());
        let range = Lost { start: start(lost) as u64, end: start(lost + 1) as u64 };
        assert_eq!(reader.resync().unwrap(), Some(range));
        let (rest, result) = drain(&mut reader, 128, 3);
        assert_eq!(result.unwrap().tail_bytes, 0);
        got.extend(rest);
        let mut expected = records.clone();
        expected.remove(lost);
        assert_eq!(got, expected);
        assert_eq!(reader.resync().unwrap(), None);
    }
}

#[test]
fn an_io_error_may_be_retried() {
    struct Shaky<'a>(&'a [u8], usize);
    impl Read for Shaky<'_> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            self.1 += 1;
            match self.1 % 3 {
                0 => Err(io::ErrorKind::TimedOut.into()),
                1 => Err(io::ErrorKind::Interrupted.into()),
                _ => {
                    let n = out.len().min(7);
                    self.0.read(&mut out[..n])
                }
            }
        }
    }
    let bytes = write(&three(), Compression::None);
    let mut reader = RecordReader::resume(Shaky(&bytes, 0), 0, 0, &options(None));
    let (mut got, mut errors) = (Vec::new(), 0);
    loop {
        let (some, result) = drain(&mut reader, 64, 9);
        got.extend(some);
        match result {
            Ok(_) => break,
            Err(error) => {
                assert!(!error.is_data_loss());
                errors += 1;
            }
        }
    }
    assert_eq!(got, three());
    assert!(errors > 5);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn write_then_read_is_identity(
        records in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), 0..40),
        chunk in 1usize..2000, max in 0usize..10, kind in 0usize..3, sniffed in any::<bool>(), known in any::<bool>(),
    ) {
        let compression = [Compression::None, Compression::Gzip, Compression::Zlib][kind];
        let bytes = write(&records, compression);
        let options = ReaderOptions {
            compression: (!sniffed).then_some(compression),
            size: known.then_some(bytes.len() as u64),
            ..ReaderOptions::default()
        };
        let mut reader = RecordReader::open(&bytes[..], &options).unwrap();
        prop_assert_eq!(reader.compression(), if bytes.is_empty() { Compression::None } else { compression });
        let (got, end) = drain(&mut reader, chunk, max);
        prop_assert_eq!(end.unwrap(), EndInfo { records: records.len() as u64, tail_bytes: 0, cut_short: false });
        prop_assert_eq!(got, records);
    }

    #[test]
    fn junk_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..400), valid in any::<bool>(), length in any::<u64>(), chunk in 1usize..300) {
        let bytes = if valid { [&crate::frame::header(length)[..], &bytes].concat() } else { bytes };
        for compression in [None, Some(Compression::None), Some(Compression::Gzip), Some(Compression::Zlib)] {
            let mut reader = RecordReader::open(&bytes[..], &options(compression)).unwrap();
            let _ = drain(&mut reader, chunk, 2);
            while let Ok(Some(_)) = reader.resync() {
                let _ = drain(&mut reader, chunk, 2);
            }
            let mut reader = RecordReader::open(Cursor::new(&bytes), &options(compression)).unwrap();
            let _ = reader.seek_records(5);
        }
    }
}

proptest! {
    // Each case reads its file once for every bit.
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn every_bit_flip_is_noticed(records in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..12), 1..4), kind in 0usize..2) {
        let compression = [Compression::None, Compression::Zlib][kind];
        let clean = write(&records, compression);
        for bit in 0..clean.len() * 8 {
            let mut bytes = clean.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            let (got, result) = read(&bytes, Some(compression));
            let prefix = records.starts_with(&got);
            // One flipped bit of a compressed stream may copy a header, checksum and all, over a payload
            // of eight bytes; then only the stream's own check value tells.
            prop_assert!(prefix || (compression != Compression::None && result.is_err()));
            // Harmless only where everything came out all the same (the level hint in zlib's head).
            prop_assert!(result.is_err() || got == records || result.unwrap().cut_short, "bit {}", bit);
        }
    }
}
