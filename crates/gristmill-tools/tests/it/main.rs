//! Jobs on record files, from the outside.

// The whole binary is tests, helpers too.
#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs)]

mod damage;
mod real_files;
mod reshape;

use std::ffi::OsString;
use std::fs;
use std::path::Path;

use gristmill_example::{Example, Feature};
use gristmill_record::{Compression, ReaderOptions, RecordReader, RecordWriter};
use gristmill_types::Bytes;

/// A record file with these payloads.
fn write(path: &Path, payloads: &[Vec<u8>], compression: Compression) -> OsString {
    let mut writer = RecordWriter::new(Vec::new(), compression, None);
    payloads.iter().for_each(|payload| writer.write(payload).unwrap());
    fs::write(path, writer.finish().unwrap()).unwrap();
    path.as_os_str().to_owned()
}

/// The payloads of a file that has no damage.
fn read(path: impl AsRef<Path>) -> Vec<Vec<u8>> {
    let bytes = fs::read(path).unwrap();
    let mut reader = RecordReader::open(&bytes[..], &ReaderOptions::default()).unwrap();
    let (mut buffer, mut spans, mut records) = (Vec::new(), Vec::new(), Vec::new());
    while reader.next_chunk(&mut buffer, 100, &mut spans).unwrap().is_some() {
        records.extend(spans.iter().map(|span| span.of(&buffer).to_vec()));
    }
    assert_eq!(reader.end().unwrap().tail_bytes, 0);
    records
}

/// Payloads that differ in bytes and length.
fn payloads(count: u32) -> Vec<Vec<u8>> {
    (0..count).map(|i| format!("record {i} ").repeat(1 + (i % 7) as usize).into_bytes()).collect()
}

fn example(features: &[(&str, Feature)]) -> Vec<u8> {
    let map = features.iter().map(|(key, feature)| ((*key).to_owned(), feature.clone())).collect();
    Example { features: Some(map) }.encode()
}

fn text(values: &[&[u8]]) -> Feature {
    Feature::Bytes(values.iter().map(|value| Bytes::copy_from(value)).collect())
}

/// The names of all files of a folder, sorted.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}
