//! Reading ahead in record files gives what reading one after the other gives.

use gristmill::record::codec::Compression;
use gristmill::record::crc::crc32c;
use gristmill::record::writer::RecordWriter;
use gristmill::runtime::DatasetIterator;
use gristmill::types::rng::Philox;
use gristmill::types::{Bytes, Tensor};
use gristmill::{Dataset, Value};
use std::path::Path;

/// A file of about `bytes` bytes, records of up to `most`; one in seven is empty.
fn file(seed: u64, bytes: usize, most: u32) -> Vec<u8> {
    let mut random = Philox::seeded(seed, 0);
    let mut writer = RecordWriter::new(Vec::new(), Compression::None, None);
    while writer.get_ref().len() < bytes {
        let len = if random.next_u32().is_multiple_of(7) { 0 } else { random.next_u32() % most };
        let first = random.next_u32();
        writer.write(&(0..len).map(|i| (first.wrapping_add(i) >> 3) as u8).collect::<Vec<_>>()).unwrap();
    }
    writer.finish().unwrap()
}

/// Length and checksum of every record, errors in their places.
fn outcomes(mut it: DatasetIterator) -> Vec<Result<(usize, u32), String>> {
    let mut all = Vec::new();
    while let Some(element) = it.next_element() {
        all.push(element.map(|v| seen(&v)).map_err(|e| e.to_string()));
    }
    all
}

fn seen(element: &[Value]) -> (usize, u32) {
    let bytes = element[0].tensor().unwrap().string_slices().next().unwrap();
    (bytes.len(), crc32c(bytes))
}

fn agree(path: &Path, what: &str) -> usize {
    let ds = Dataset::tfrecord(&[path, path]).unwrap();
    let (ahead, plain) = (ds.iter().unwrap(), DatasetIterator::direct(ds.plan()).unwrap());
    let (ahead, plain) = (outcomes(ahead), outcomes(plain));
    for (i, (a, p)) in ahead.iter().zip(&plain).enumerate() {
        assert_eq!(a, p, "{what}: outcome {i}");
    }
    assert_eq!(ahead.len(), plain.len(), "{what}");
    ahead.iter().filter(|o| o.is_err()).count()
}

#[test]
fn records_of_any_size_and_damage_in_any_place() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.tfrecord");
    for (seed, bytes, most) in [
        (1, 5 << 20, 300),
        (2, 9 << 20, 100_000),
        (3, 20 << 20, 3 << 20),
        (4, 3 << 20, 20),
        (5, 20 << 20, 10 << 20),
    ] {
        let whole = file(seed, bytes, most);
        std::fs::write(&path, &whole).unwrap();
        assert_eq!(agree(&path, &format!("file {seed}")), 0);
        let mut random = Philox::seeded(seed, 1);
        for _ in 0..3 {
            let at = random.next_u32() as usize % whole.len();
            let mut damaged = whole.clone();
            damaged[at] ^= 1 << (at % 8);
            std::fs::write(&path, &damaged).unwrap();
            assert!(agree(&path, &format!("file {seed}, byte {at} changed")) > 0);
            std::fs::write(&path, &whole[..at]).unwrap();
            agree(&path, &format!("file {seed}, cut at {at}"));
        }
        std::fs::write(&path, [&whole[..], b"tail"].concat()).unwrap();
        agree(&path, &format!("file {seed} with a tail"));
    }
}

#[test]
fn records_of_one_size_but_for_some() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.tfrecord");
    for (len, odd) in [(16, 17), (237, 5_000), (100_000, 99_999), (300_000, 0), (3 << 20, 5 << 20)] {
        // None, the first, or one in the middle has another size.
        for other in [None, Some(0), Some(7)] {
            let mut writer = RecordWriter::new(Vec::new(), Compression::None, None);
            let mut count = 0;
            while writer.get_ref().len() < 12 << 20 || count < 9 {
                let n = if other == Some(count) { odd } else { len };
                writer.write(&(0..n).map(|i| ((i + count) >> 2) as u8).collect::<Vec<_>>()).unwrap();
                count += 1;
            }
            let mut whole = writer.finish().unwrap();
            std::fs::write(&path, &whole).unwrap();
            assert_eq!(agree(&path, &format!("records of {len}, {other:?} of {odd}")), 0);
            let at = whole.len() / 3;
            whole[at] ^= 1;
            std::fs::write(&path, &whole).unwrap();
            assert!(agree(&path, &format!("records of {len}, byte {at} changed")) > 0);
        }
    }
}

#[test]
fn records_that_are_record_files_themselves() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.tfrecord");
    let mut random = Philox::seeded(7, 0);
    for most in [100_000, 3 << 20] {
        let mut writer = RecordWriter::new(Vec::new(), Compression::None, None);
        while writer.get_ref().len() < 12 << 20 {
            let (seed, bytes) = (u64::from(random.next_u32()), random.next_u32() % most);
            writer.write(&file(seed, bytes as usize, 2000)).unwrap();
        }
        let whole = writer.finish().unwrap();
        std::fs::write(&path, &whole).unwrap();
        assert_eq!(agree(&path, "nested files"), 0);
        let mut damaged = whole.clone();
        damaged[whole.len() / 2] ^= 1;
        std::fs::write(&path, &damaged).unwrap();
        assert_eq!(agree(&path, "nested files, one byte changed"), 2);
    }
}

#[test]
fn a_position_is_taken_up_anywhere() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.tfrecord");
    std::fs::write(&path, file(7, 12 << 20, 60_000)).unwrap();
    let ds = Dataset::tfrecord(&[&path, &path]).unwrap();
    let all = outcomes(ds.iter().unwrap());
    let mut it = ds.iter().unwrap();
    for i in 0..all.len() {
        if i % 61 == 0 {
            let rest = outcomes(ds.resume(&it.state()).unwrap());
            assert_eq!(rest.len(), all.len() - i);
            assert!(rest == all[i..], "after {i}");
        }
        it.next_element().unwrap().unwrap();
    }
}

#[test]
fn records_shuffled_with_elements_that_have_no_place_in_a_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.tfrecord");
    let mut writer = RecordWriter::new(Vec::new(), Compression::None, None);
    (0..5u8).for_each(|i| writer.write(&[i]).unwrap());
    std::fs::write(&path, writer.finish().unwrap()).unwrap();
    let others: Vec<Bytes> = (5..15u8).map(|i| Bytes::from(vec![i])).collect();
    let others = Dataset::from_tensor_slices(vec![Tensor::string_vector(others).into()]).unwrap();
    let ds = Dataset::tfrecord(&[path]).unwrap().concatenate(&others).unwrap();
    let ds = ds.shuffle(100, Some(3), true).unwrap().repeat(2).unwrap();
    let mut seen: Vec<u8> = ds
        .iter()
        .unwrap()
        .map(|e| e.unwrap()[0].tensor().unwrap().string_slices().next().unwrap()[0])
        .collect();
    assert!(!seen.is_sorted());
    seen.sort_unstable();
    assert_eq!(seen, (0..15).flat_map(|i| [i, i]).collect::<Vec<_>>());
}
