//! With an index of its MCU rows a file has the same pixels, wherever the region is; damaged indexes and those of other
//! files are ignored.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

#[path = "exact/encoder.rs"]
mod encoder;
#[path = "exact/generator.rs"]
mod generator;
#[path = "exact/options.rs"]
mod options;

use std::num::NonZeroUsize;

use generator::Random;
use gristmill_jpeg::{Decoder, Error, Input, Job, Options, RestartIndex, read_header};
use options::random_options;

/// Files that are compared; emulators are slow.
fn count() -> u64 {
    std::env::var("GRISTMILL_JPEG_IMAGES").ok().and_then(|n| n.parse().ok()).unwrap_or(400)
}

/// The index with an entry every few rows.
fn built(file: &[u8], rows: usize) -> gristmill_jpeg::Result<RestartIndex> {
    RestartIndex::build(file, NonZeroUsize::new(rows))
}

/// Options with a region, if it can be low in the image.
fn region_options(r: &mut Random, width: usize, height: usize) -> Options {
    loop {
        let options = random_options(r, width, height);
        if options.region.is_some() {
            return options;
        }
    }
}

/// Generated files that have an index with something in it.
fn indexed(seeds: std::ops::Range<u64>) -> impl Iterator<Item = (u64, Vec<u8>, RestartIndex, String)> {
    seeds.filter_map(|seed| {
        let (file, what) = generator::file(seed);
        let index = built(&file, 1).ok().filter(|i| !i.is_empty())?;
        Some((seed, file, index, what))
    })
}

#[test]
fn regions_are_the_same() {
    let (mut fast, mut plain) = (Decoder::new(), Decoder::plain());
    let (mut compared, mut files) = (0, 0);
    for seed in 40_000..40_000 + count() {
        let (file, what) = generator::file(seed);
        let header = read_header(&file).unwrap();
        let r = &mut Random::new(seed * 77);
        let rows = 1 + r.below(4);
        let index = match built(&file, rows) {
            Ok(index) => index,
            Err(error) => {
                let many = !header.single_scan();
                assert!(many == matches!(error, Error::Unsupported(_)), "{what}: {error}");
                assert!(many || fast.decode(&file, &Options::default()).is_err(), "{what}");
                continue;
            }
        };
        files += usize::from(!index.is_empty());
        assert!(index.is_empty() || header.restart_interval() == 0, "{what}");
        assert_eq!(RestartIndex::from_bytes(&index.to_bytes()), Some(index.clone()), "{what}");
        let input = Input { data: &file, index: Some(&index) };
        for _ in 0..12 {
            let options = region_options(r, header.width(), header.height());
            let (without, with) = (fast.decode(&file, &options), fast.decode(input, &options));
            assert!(without == with, "{what} {options:?} every {rows} rows: {:?}", with.err());
            if r.chance(20) {
                assert!(plain.decode(input, &options) == without, "{what} {options:?}");
            }
            let Ok(image) = without else { continue };
            compared += usize::from(!index.is_empty());
            let mut bands = Vec::new();
            let told = fast.decode_bands(input, &options, &mut |_, band| bands.extend_from_slice(band));
            assert!(told == Ok(image.shape) && bands == image.data, "{what} {options:?} by rows");
            let mut outs = [vec![7; image.data.len()], vec![8; image.data.len()]];
            let [a, b] = &mut outs;
            let mut jobs =
                [Job { file: input, options, out: a }, Job { file: (&file).into(), options, out: b }];
            assert!(fast.decode_batch(&mut jobs).iter().all(|shape| *shape == Ok(image.shape)), "{what}");
            assert!(outs.iter().all(|out| *out == image.data), "{what} {options:?} in a batch");
        }
    }
    println!("{compared} regions of {files} files");
    assert!(compared as u64 > count(), "a part of the files has an index");
}

#[test]
fn other_files_are_noticed() {
    let mut decoder = Decoder::new();
    let all: Vec<_> = indexed(42_000..42_000 + count()).collect();
    for pair in all.windows(2) {
        let [(seed, file, index, what), (_, _, other, _)] = pair else { continue };
        let header = read_header(file).unwrap();
        let r = &mut Random::new(*seed);
        let mut changed = file.clone();
        let at = file.len() / 2 + r.below(file.len() / 2);
        changed[at] ^= 1 << r.below(8);
        for (data, index) in [(file, other), (&changed, index)] {
            for _ in 0..4 {
                let options = region_options(r, header.width(), header.height());
                let (a, b) = (
                    decoder.decode(data, &options),
                    decoder.decode(Input { data, index: Some(index) }, &options),
                );
                assert!(a == b, "{what} {options:?}");
            }
        }
    }
    assert!(all.len() as u64 > count() / 10);
}

#[test]
fn damaged_indexes_change_nothing() {
    let mut decoder = Decoder::new();
    let mut read = 0;
    for (seed, file, index, what) in indexed(43_000..43_000 + count() / 2) {
        let header = read_header(&file).unwrap();
        let r = &mut Random::new(seed);
        let bytes = index.to_bytes();
        for _ in 0..20 {
            let mut bad = bytes.clone();
            for _ in 0..1 + r.below(3) {
                let at = r.below(bad.len());
                match r.below(4) {
                    0 => bad.truncate(at.max(1)),
                    1 => bad.insert(at, r.below(256) as u8),
                    2 => drop(bad.remove(at)),
                    _ => bad[at] ^= 1 << r.below(8),
                }
                if bad.is_empty() {
                    break;
                }
            }
            let Some(index) = RestartIndex::from_bytes(&bad) else { continue };
            read += 1;
            let options = region_options(r, header.width(), header.height());
            let with = decoder.decode(Input { data: &file, index: Some(&index) }, &options);
            assert!(with == decoder.decode(&file, &options), "{what} {options:?}");
        }
    }
    println!("{read} were well formed");
    assert!(read > 0);
}

/// Some damage leaves a file that can be decoded. An index of that is as good as any.
#[test]
fn damaged_files_with_their_own_index() {
    let mut decoder = Decoder::new();
    let mut compared = 0;
    for (seed, file, _, what) in indexed(44_000..44_000 + count()) {
        let header = read_header(&file).unwrap();
        if header.width() * header.height() > 20_000 {
            continue;
        }
        let r = &mut Random::new(seed ^ 0x5A5A);
        for _ in 0..30 {
            let mut bad = file.clone();
            let start = bad.len() / 3;
            let at = start + r.below(bad.len() - start);
            match r.below(4) {
                0 => drop(bad.remove(at)),
                1 => bad.insert(at, r.pick(&[0xFF, 0xD0, 0xD9, 0])),
                _ => bad[at] ^= 1 << r.below(8),
            }
            let Ok(index) = built(&bad, 1 + r.below(3)) else { continue };
            for _ in 0..4 {
                let options = region_options(r, header.width(), header.height());
                let with = decoder.decode(Input { data: &bad, index: Some(&index) }, &options);
                assert!(with == decoder.decode(&bad, &options), "{what} {options:?}");
                compared += 1;
            }
        }
    }
    println!("{compared} compared");
    assert!(compared > 0);
}
