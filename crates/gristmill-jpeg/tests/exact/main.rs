//! Every pixel against libjpeg-turbo.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod encoder;
mod generator;
mod options;

use generator::Random;
use gristmill_image::{Image as Oracle, jpeg};
use gristmill_jpeg::{Dct, Decoder, Edges, Error, Job, Options, Region};
use options::random_options;

/// How a file went.
#[derive(Debug, Default, Clone, Copy)]
struct Tally {
    /// Decoded by us, and the same.
    same: usize,
    /// Left to libjpeg, which decodes it.
    left: usize,
    /// Refused by both.
    refused: usize,
}

impl Tally {
    fn add(&mut self, other: Self) {
        self.same += other.same;
        self.left += other.left;
        self.refused += other.refused;
    }
}

/// What libjpeg-turbo makes of a file.
fn oracle(file: &[u8], options: &Options) -> Result<(Vec<usize>, Vec<u8>), String> {
    let crop = options.region.map(|r| jpeg::Crop {
        y: r.y as i32,
        x: r.x as i32,
        height: r.height as i32,
        width: r.width as i32,
    });
    let whole = options.region.is_some_and(|r| r.edges == Edges::Whole);
    let theirs = jpeg::JpegOptions {
        channels: options.channels.into(),
        ratio: options.ratio.into(),
        fancy_upscaling: options.fancy,
        dct_method: match options.dct {
            Dct::Fast => jpeg::DctMethod::IntegerFast,
            Dct::Accurate => jpeg::DctMethod::IntegerAccurate,
        },
        crop: if whole { None } else { crop },
        ..Default::default()
    };
    let mut image = Oracle::default();
    jpeg::decode_with_libjpeg(file, &theirs, &mut image).map_err(|e| e.to_string())?;
    if let (true, Some(r)) = (whole, options.region) {
        let (width, channels) = (image.shape[1], image.shape[2]);
        if r.x + r.width > width || r.y + r.height > image.shape[0] {
            return Err("the region lies outside".into());
        }
        let mut part = Vec::new();
        for y in r.y..r.y + r.height {
            let at = (y * width + r.x) * channels;
            part.extend_from_slice(&image.data[at..at + r.width * channels]);
        }
        return Ok((vec![r.height, r.width, channels], part));
    }
    Ok((image.shape, image.data))
}

/// The first difference, in words.
fn difference(ours: &[u8], theirs: &[u8], shape: &[usize]) -> String {
    let count = ours.iter().zip(theirs).filter(|(a, b)| a != b).count();
    let at = ours.iter().zip(theirs).position(|(a, b)| a != b).unwrap_or(0);
    let (row, rest) = (at / (shape[1] * shape[2]), at % (shape[1] * shape[2]));
    format!(
        "{count} bytes differ, the first at row {row} column {} channel {}: {} is {} in libjpeg-turbo",
        rest / shape[2],
        rest % shape[2],
        ours[at],
        theirs[at]
    )
}

/// Compares one file under one set of options.
fn compare(decoder: &mut Decoder, file: &[u8], options: &Options, what: &str) -> Tally {
    let ours = decoder.decode(file, options);
    let theirs = oracle(file, options);
    match (ours, theirs) {
        (Ok(image), Ok((shape, data))) => {
            assert_eq!(image.shape[..], shape[..], "{what} {options:?}");
            assert!(image.data == data, "{what} {options:?}: {}", difference(&image.data, &data, &shape));
            Tally { same: 1, ..Tally::default() }
        }
        (Ok(_), Err(error)) => panic!("{what} {options:?}: decoded, but libjpeg-turbo says {error}"),
        (Err(Error::Unsupported(_) | Error::Corrupt(_)), Ok(_)) => Tally { left: 1, ..Tally::default() },
        (Err(_), Err(_)) => Tally { refused: 1, ..Tally::default() },
        (Err(error), Ok(_)) => panic!("{what} {options:?}: {error}"),
    }
}

/// All files below `folder`.
fn files(folder: &std::path::Path, found: &mut Vec<std::path::PathBuf>) {
    let mut entries: Vec<_> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|e| e == "jpg" || e == "jpeg") {
            found.push(path);
        }
    }
}

#[test]
fn real_files() {
    let Some(folder) = std::env::var_os("GRISTMILL_TESTDATA") else {
        println!("skipped: GRISTMILL_TESTDATA does not name the folder of test data");
        return;
    };
    let mut paths = Vec::new();
    files(&std::path::Path::new(&folder).join("data"), &mut paths);
    let (mut fast, mut plain) = (Decoder::new(), Decoder::plain());
    let mut tally = Tally::default();
    for (i, path) in paths.iter().enumerate() {
        let file = std::fs::read(path).unwrap();
        let what = path.display().to_string();
        let options = Options::default();
        let accurate = Options { dct: Dct::Accurate, fancy: false, ..options };
        let one = compare(&mut fast, &file, &options, &what);
        if one.left > 0 {
            println!("left {what}: {:?}", fast.decode(&file, &options).err());
        }
        tally.add(one);
        if i % 10 == 0 {
            tally.add(compare(&mut plain, &file, &options, &what));
            tally.add(compare(&mut fast, &file, &accurate, &what));
            for ratio in [2, 4, 8] {
                tally.add(compare(&mut fast, &file, &Options { ratio, ..options }, &what));
            }
            for edges in [Edges::Cropped, Edges::Whole] {
                let region = Some(Region { x: 13, y: 17, width: 33, height: 29, edges });
                tally.add(compare(&mut fast, &file, &Options { region, ..options }, &what));
            }
        }
    }
    println!("{tally:?}");
    // In batches.
    let contents: Vec<_> = paths.iter().map(|p| std::fs::read(p).unwrap()).collect();
    let options = Options::default();
    let mut outs: Vec<Vec<u8>> = contents
        .iter()
        .map(|file| {
            let shape = gristmill_jpeg::read_header(file).and_then(|h| h.shape(&options));
            vec![0; shape.map_or(0, |s| s.iter().product())]
        })
        .collect();
    let mut jobs: Vec<_> =
        contents.iter().zip(&mut outs).map(|(data, out)| Job { file: data.into(), options, out }).collect();
    let results = fast.decode_batch(&mut jobs);
    for ((file, out), (result, path)) in contents.iter().zip(&outs).zip(results.iter().zip(&paths)) {
        match (fast.decode(file, &options), result) {
            (Ok(image), Ok(shape)) => {
                assert_eq!(image.shape, *shape, "{}", path.display());
                assert!(image.data == *out, "{} differs in a batch", path.display());
            }
            (one, batch) => assert_eq!(one.err(), batch.clone().err(), "{}", path.display()),
        }
    }
}

/// Libjpeg-turbo has other vector code on each architecture, which differs for coefficients that no encoder makes; ours
/// gives everywhere what that for x86 does.
fn is_x86() -> bool {
    if !cfg!(target_arch = "x86_64") {
        println!("skipped: libjpeg-turbo gives other pixels for extreme coefficients on this architecture");
    }
    cfg!(target_arch = "x86_64")
}

/// Compares `count` generated files from `start` on, each with the default options and some others.
fn generated(start: u64, count: u64) {
    if !is_x86() {
        return;
    }
    let (mut fast, mut plain) = (Decoder::new(), Decoder::plain());
    let mut tally = Tally::default();
    let mut paths = [0; 3];
    for first in (start..start + count).step_by(8) {
        let files: Vec<_> = (first..(first + 8).min(start + count)).map(generator::file).collect();
        for (i, (file, what)) in files.iter().enumerate() {
            let r = &mut Random::new(first * 31 + i as u64);
            let header = gristmill_jpeg::read_header(file).expect(what);
            paths[if header.progressive() { 2 } else { usize::from(!header.single_scan()) }] += 1;
            tally.add(compare(&mut fast, file, &Options::default(), what));
            for _ in 0..3 {
                let options = random_options(r, header.width(), header.height());
                tally.add(compare(&mut fast, file, &options, what));
                if r.chance(20) {
                    tally.add(compare(&mut plain, file, &options, what));
                }
            }
            assert_eq!(
                tally.left,
                0,
                "{what}: left to libjpeg-turbo: {:?}",
                fast.decode(file, &Options::default()).err()
            );
        }
        in_other_ways(&mut fast, &files, first);
    }
    println!("{tally:?}; {} in one scan, {} in several, {} progressive", paths[0], paths[1], paths[2]);
}

/// A batch and delivery by rows give what one decode gives.
fn in_other_ways(decoder: &mut Decoder, files: &[(Vec<u8>, String)], seed: u64) {
    let r = &mut Random::new(seed + 77);
    let header = |file: &[u8]| gristmill_jpeg::read_header(file).unwrap();
    let options: Vec<_> = files
        .iter()
        .map(|(file, _)| random_options(r, header(file).width(), header(file).height()))
        .collect();
    let one: Vec<_> = files.iter().zip(&options).map(|((file, _), o)| decoder.decode(file, o)).collect();
    let mut outs: Vec<_> = one.iter().map(|i| vec![7; i.as_ref().map_or(0, |i| i.data.len())]).collect();
    let mut jobs: Vec<_> = files
        .iter()
        .zip(&options)
        .zip(&mut outs)
        .map(|(((data, _), &options), out)| Job { file: data.into(), options, out })
        .collect();
    let results = decoder.decode_batch(&mut jobs);
    for (i, (one, result)) in one.iter().zip(&results).enumerate() {
        let (file, what) = &files[i];
        match one {
            Ok(image) => {
                assert_eq!(Ok(image.shape), *result, "{what}");
                assert!(image.data == outs[i], "{what} {:?} differs in a batch", options[i]);
                let mut rows = Vec::new();
                let stride = image.shape[1] * image.shape[2];
                let shape = decoder.decode_bands(file, &options[i], &mut |first, band| {
                    assert_eq!(first * stride, rows.len(), "{what}");
                    rows.extend_from_slice(band);
                });
                assert_eq!(shape, Ok(image.shape), "{what}");
                assert!(rows == image.data, "{what} {:?} differs by rows", options[i]);
            }
            Err(_) => assert!(result.is_err(), "{what}"),
        }
    }
}

#[test]
fn generated_files() {
    generated(1, 300);
}

/// All of it takes minutes: `make jpeg-exact`.
#[test]
#[ignore = "takes minutes: make jpeg-exact"]
fn generated_files_all() {
    let count = std::env::var("GRISTMILL_JPEG_IMAGES").ok().and_then(|n| n.parse().ok()).unwrap_or(24_000);
    generated(1_000_000, count);
}

/// Damages files: what is still decoded is what libjpeg-turbo makes of it, with and without vector code.
fn damaged(start: u64, count: u64) {
    if !is_x86() {
        return;
    }
    let (mut fast, mut plain) = (Decoder::new(), Decoder::plain());
    let (mut decoded, mut refused) = (0, 0);
    for seed in start..start + count {
        let (file, what) = generator::file(seed);
        let header = gristmill_jpeg::read_header(&file).unwrap();
        if header.width() * header.height() > 20_000 {
            continue;
        }
        let r = &mut Random::new(seed ^ 0xABCD);
        for _ in 0..12 {
            let mut bad = file.clone();
            for _ in 0..1 + r.below(3) {
                let at = if r.chance(30) { r.below(bad.len().min(700)) } else { r.below(bad.len()) };
                match r.below(5) {
                    0 => bad[at] = r.below(256) as u8,
                    1 => bad[at] ^= 1 << r.below(8),
                    2 => drop(bad.remove(at)),
                    3 => bad.insert(at, r.pick(&[0xFF, 0xD0, 0xD9, 0])),
                    _ => bad.truncate(at.max(4)),
                }
            }
            let options = random_options(r, header.width(), header.height());
            let small =
                |f: &[u8]| gristmill_jpeg::read_header(f).is_ok_and(|h| h.width() * h.height() < 1 << 20);
            if !small(&bad) {
                continue;
            }
            let tally = compare(&mut fast, &bad, &options, &what);
            decoded += tally.same;
            refused += tally.left + tally.refused;
            let (a, b) = (fast.decode(&bad, &options), plain.decode(&bad, &options));
            assert_eq!(a.is_ok(), b.is_ok(), "{what}: {:?} {:?}", a.err(), b.err());
            assert!(a.ok() == b.ok(), "{what}: vector code and plain code differ");
        }
    }
    println!("{decoded} decoded, {refused} refused");
}

#[test]
fn damaged_files() {
    damaged(5_000, 200);
}

#[test]
#[ignore = "takes minutes: make jpeg-exact"]
fn damaged_files_all() {
    let count = std::env::var("GRISTMILL_JPEG_IMAGES").ok().and_then(|n| n.parse().ok()).unwrap_or(24_000);
    damaged(9_000_000, count / 4);
}

/// Small files that the fuzzer kept because they reached code which none before them did.
#[test]
fn files_of_the_fuzzer() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/jpeg_own");
    let judged = is_x86();
    let (mut fast, mut plain) = (Decoder::new(), Decoder::plain());
    let (mut seen, mut tally) = (0, Tally::default());
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let file = std::fs::read(&path).unwrap();
        if !gristmill_jpeg::read_header(&file).is_ok_and(|h| h.width() * h.height() < 1 << 18) {
            continue;
        }
        let options = Options::default();
        for options in
            [options, Options { dct: Dct::Accurate, fancy: false, ratio: 2, channels: 1, ..options }]
        {
            assert!(fast.decode(&file, &options).ok() == plain.decode(&file, &options).ok(), "{path:?}");
            if judged {
                tally.add(compare(&mut fast, &file, &options, &path.display().to_string()));
            }
        }
        seen += 1;
    }
    println!("{seen} files: {tally:?}");
    assert!(seen > 100 && (tally.same > 0 || !judged));
}
