//! Sources to pack, and a look into what came out.
#![allow(dead_code, missing_docs, unreachable_pub)]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use gristmill_example::{Example, Feature, FeatureMap};
use gristmill_image::jpeg::{EncodeOptions, encode};
use gristmill_record::{Compression, Inflater, scan_frames};
use gristmill_types::Bytes;

/// A JPEG with noise.
pub fn photo(height: usize, width: usize, seed: u32) -> Vec<u8> {
    let noise = |i: usize| {
        ((i as u32).wrapping_mul(2_654_435_761).wrapping_add(seed.wrapping_mul(40_503)) >> 24) as u8
    };
    let pixels: Vec<u8> = (0..height * width * 3).map(|i| noise(i) / 4 + (i / 7 % 128) as u8).collect();
    encode(&pixels, height, width, 3, &EncodeOptions::default()).unwrap()
}

/// The same JPEG with an Exif orientation.
pub fn with_orientation(jpeg: &[u8], orientation: u8) -> Vec<u8> {
    let mut tiff = b"II*\0\x08\0\0\0\x01\0".to_vec();
    tiff.extend([0x12, 0x01, 3, 0, 1, 0, 0, 0, orientation, 0, 0, 0, 0, 0, 0, 0]);
    let mut out = jpeg[..2].to_vec();
    out.extend([0xff, 0xe1]);
    out.extend(((8 + tiff.len()) as u16).to_be_bytes());
    out.extend(b"Exif\0\0");
    out.extend(tiff);
    out.extend(&jpeg[2..]);
    out
}

pub fn write(path: &Path, bytes: &[u8]) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

/// A folder `photos` with three classes and `n` images of sides around `side`.
pub fn tree_with(n: usize, side: usize) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    for i in 0..n {
        let class = ["daisy", "rose", "tulip"][i % 3];
        write(
            &root.path().join(format!("photos/{class}/{i}.jpg")),
            &photo(side + i % 5, side + i % 7, i as u32),
        );
    }
    root
}

pub fn tree(n: usize) -> tempfile::TempDir {
    tree_with(n, 24)
}

pub fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// All that is in a folder, folders within included.
pub fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        if entry.path().is_dir() {
            found.extend(files(&entry.path()).into_iter().map(|(n, data)| (format!("{name}/{n}"), data)));
            found.insert(name, Vec::new());
        } else {
            found.insert(name, fs::read(entry.path()).unwrap());
        }
    }
    found
}

/// The records of all shards of a split in order; checksums are verified.
pub fn records(folder: &Path, split: &str) -> Vec<FeatureMap> {
    let mut found = Vec::new();
    for (name, mut data) in files(folder) {
        if !name.starts_with(&format!("{split}-")) {
            continue;
        }
        if data.starts_with(&[0x1f, 0x8b]) {
            let mut plain = Vec::new();
            std::io::Read::read_to_end(&mut Inflater::new(&data[..], Compression::Gzip), &mut plain).unwrap();
            data = plain;
        }
        let mut spans = Vec::new();
        let scan = scan_frames(&data, 0, true, usize::MAX, &mut spans);
        assert_eq!(scan.consumed, data.len(), "{name}");
        for span in spans {
            let example = Example::decode(&Bytes::copy_from(span.of(&data))).unwrap();
            assert_eq!(example.encode(), span.of(&data), "as the deterministic encoder writes it");
            found.push(example.features.unwrap());
        }
    }
    found
}

pub fn bytes(record: &FeatureMap, key: &str) -> Vec<u8> {
    match &record[key] {
        Feature::Bytes(items) if items.len() == 1 => items[0].to_vec(),
        other => panic!("{key}: {other:?}"),
    }
}

pub fn text(record: &FeatureMap, key: &str) -> String {
    String::from_utf8(bytes(record, key)).unwrap()
}

pub fn ints(record: &FeatureMap, key: &str) -> Vec<i64> {
    match &record[key] {
        Feature::Ints(items) => items.clone(),
        other => panic!("{key}: {other:?}"),
    }
}

pub fn floats(record: &FeatureMap, key: &str) -> Vec<f32> {
    match &record[key] {
        Feature::Floats(items) => items.clone(),
        other => panic!("{key}: {other:?}"),
    }
}

pub fn int(record: &FeatureMap, key: &str) -> i64 {
    let items = ints(record, key);
    assert_eq!(items.len(), 1, "{key}");
    items[0]
}

/// Whether permissions do not bind this process.
pub fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|meta| std::os::unix::fs::MetadataExt::uid(&meta) == 0)
}
