//! Merging, splitting, shuffling and indexing.

use std::ffi::OsString;
use std::fs;
use std::path::Path;

use gristmill_record::{Compression, Index};
use gristmill_tools::OutOptions;
use gristmill_tools::index::index;
use gristmill_tools::progress::{Progress, Silent};
use gristmill_tools::reshape::{SplitBy, merge, split};
use gristmill_tools::shuffle::{ShuffleOptions, shuffle};
use gristmill_types::Kind;

use super::{names, payloads, read, write};

fn all(folder: &Path, prefix: &str, shards: usize) -> Vec<Vec<Vec<u8>>> {
    (0..shards).map(|i| read(folder.join(format!("{prefix}-{i:05}-of-{shards:05}.tfrecord")))).collect()
}

#[test]
fn split_and_merge_are_inverse() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name).into_os_string();
    let records = payloads(103);
    let first = write(&dir.path().join("a"), &records[..50], Compression::None);
    let second = write(&dir.path().join("b.gz"), &records[50..], Compression::Gzip);
    let inputs = [first, second];
    let options = OutOptions::default();
    let report = split(&inputs, &at("out/part"), 8, SplitBy::Contiguous, &options, &Silent).unwrap();
    let bytes: usize = records.iter().map(Vec::len).sum();
    assert_eq!((report.inputs, report.records, report.payload_bytes), (2, 103, bytes as u64));
    let shards = all(&dir.path().join("out"), "part", 8);
    assert!(shards.iter().all(|shard| shard.len() == 12 || shard.len() == 13));
    assert_eq!(shards.concat(), records);
    let report = merge(&[at("out/part-*")], &at("whole"), &options, &Silent).unwrap();
    assert_eq!((report.inputs, report.records, report.files[0].records), (8, 103, 103));
    assert_eq!(read(at("whole")), records);
    assert_eq!(report.files[0].bytes, fs::metadata(at("whole")).unwrap().len());

    split(&inputs, &at("rr/part"), 150, SplitBy::RoundRobin, &options, &Silent).unwrap();
    let shards = all(&dir.path().join("rr"), "part", 150);
    for (i, shard) in shards.iter().enumerate() {
        assert_eq!(*shard, records.get(i..=i).unwrap_or_default().to_vec());
    }
    split(&inputs, &at("rr/few"), 10, SplitBy::RoundRobin, &options, &Silent).unwrap();
    let shards = all(&dir.path().join("rr"), "few", 10);
    assert_eq!(shards[3], (0..10).map(|i| records[3 + 10 * i].clone()).collect::<Vec<_>>());
    split(&inputs, &at("many/part"), 150, SplitBy::Contiguous, &options, &Silent).unwrap();
    assert_eq!(all(&dir.path().join("many"), "part", 150).concat(), records);
    let gz = OutOptions { compression: Some(Compression::Gzip), ..options };
    merge(&inputs, &at("whole.gz"), &gz, &Silent).unwrap();
    assert_eq!(read(at("whole.gz")), records);
    assert_eq!(fs::read(at("whole.gz")).unwrap()[..2], [0x1f, 0x8b]);
}

#[test]
fn shuffle_is_a_permutation_that_memory_does_not_change() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name).into_os_string();
    let records = payloads(2000);
    let inputs = [
        write(&dir.path().join("a"), &records[..1500], Compression::None),
        write(&dir.path().join("b"), &records[1500..], Compression::Zlib),
    ];
    let run = |name: &str, seed, memory| {
        let options = ShuffleOptions { shards: 3, seed, memory, ..ShuffleOptions::default() };
        let report = shuffle(&inputs, &at(name), &options, &Silent).unwrap();
        assert_eq!((report.records, report.seed), (2000, Some(seed)));
        all(dir.path(), name, 3).concat()
    };
    let once = run("one", 7, 1 << 27);
    assert_eq!(run("two", 7, 3_000), once);
    assert_ne!(run("three", 8, 1 << 27), once);
    assert_ne!(once, records);
    let mut sorted = once.clone();
    sorted.sort();
    let mut expected = records.clone();
    expected.sort();
    assert_eq!(sorted, expected);
    // A record's new place says nothing of its old one: the mean distance of two random places is a third.
    let place = |record: &Vec<u8>| records.iter().position(|r| r == record).unwrap() as i64;
    let distance: i64 = once.iter().enumerate().map(|(i, r)| (place(r) - i as i64).abs()).sum();
    assert!((distance / 2000 - 667).abs() < 40, "{}", distance / 2000);
    assert_eq!(names(dir.path()).iter().filter(|name| name.contains("tmp")).count(), 0);
}

#[test]
fn indexes_are_those_of_tfrecord2idx() {
    let dir = tempfile::tempdir().unwrap();
    let path = write(&dir.path().join("a"), &[vec![0; 3], vec![], vec![1; 1 << 20]], Compression::None);
    let report = index(std::slice::from_ref(&path), None, &Silent).unwrap();
    assert_eq!((report.records, report.files[0].records), (3, 3));
    let written = fs::read_to_string(dir.path().join("a.idx")).unwrap();
    assert_eq!(written, "0 19\n19 16\n35 1048592\n");
    let parsed = Index::parse(written.as_bytes()).unwrap();
    parsed.check_size(fs::metadata(&path).unwrap().len()).unwrap();
    let report =
        index(&[dir.path().join("*").into_os_string()], Some(dir.path().join("idx").as_os_str()), &Silent);
    assert_eq!(report.unwrap().files.len(), 1, "the index itself is passed over");
    assert_eq!(names(&dir.path().join("idx")), ["a.idx"]);

    let gz = write(&dir.path().join("b.gz"), &payloads(3), Compression::Gzip);
    assert_eq!(index(&[gz], None, &Silent).unwrap_err().kind(), Kind::InvalidArgument);
    let mut bytes = fs::read(&path).unwrap();
    bytes.extend(b"tail");
    fs::write(dir.path().join("c"), &bytes).unwrap();
    let tail = index(&[dir.path().join("c").into_os_string()], None, &Silent).unwrap_err();
    assert_eq!(
        (tail.kind(), tail.message()),
        (Kind::DataLoss, "4 bytes behind the last record are no record")
    );
    bytes[19 + 8] ^= 1;
    fs::write(dir.path().join("c"), &bytes).unwrap();
    let bad = index(&[dir.path().join("c").into_os_string()], None, &Silent).unwrap_err();
    assert_eq!((bad.kind(), bad.record_index(), bad.offset()), (Kind::DataLoss, Some(1), Some(19)));
    assert_eq!(names(dir.path()), ["a", "a.idx", "b.gz", "c", "idx"]);
}

#[test]
fn damage_and_stops_leave_nothing_half_written() {
    struct Stops(std::sync::atomic::AtomicU64);
    impl Progress for Stops {
        fn phase(&self, _: &str, _: Option<u64>) {}
        fn advance(&self, _: u64, _: u64) {}
        fn note(&self, _: &str) {}
        fn cancelled(&self) -> bool {
            self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed) >= 3
        }
    }
    let dir = tempfile::tempdir().unwrap();
    let good = write(&dir.path().join("a"), &payloads(5000), Compression::None);
    let mut bytes = fs::read(&good).unwrap();
    let last = bytes.len() - 5;
    bytes[last] ^= 1;
    fs::write(dir.path().join("bad"), bytes).unwrap();
    let bad = dir.path().join("bad").into_os_string();
    let out = dir.path().join("out").into_os_string();
    let options = OutOptions::default();
    let inputs = [good.clone(), bad];
    let kinds = |inputs: &[OsString], progress: &dyn Progress| {
        [
            merge(inputs, &out, &options, progress).unwrap_err().kind(),
            split(inputs, &out, 3, SplitBy::Contiguous, &options, progress).unwrap_err().kind(),
            split(inputs, &out, 3, SplitBy::RoundRobin, &options, progress).unwrap_err().kind(),
            shuffle(inputs, &out, &ShuffleOptions::default(), progress).unwrap_err().kind(),
        ]
    };
    assert_eq!(kinds(&inputs, &Silent), [Kind::DataLoss; 4]);
    assert_eq!(names(dir.path()), ["a", "bad"]);
    assert_eq!(kinds(std::slice::from_ref(&good), &Stops(10.into())), [Kind::Cancelled; 4]);
    assert_eq!(names(dir.path()), ["a", "bad"]);
    let error =
        split(std::slice::from_ref(&good), &out, 0, SplitBy::Contiguous, &options, &Silent).unwrap_err();
    assert_eq!(error.kind(), Kind::InvalidArgument);
    merge(std::slice::from_ref(&good), &out, &options, &Silent).unwrap();
    assert_eq!(merge(&[good], &out, &options, &Silent).unwrap_err().kind(), Kind::AlreadyExists);
}
