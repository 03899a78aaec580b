//! Vector code gives what the plain code gives: files of all kinds, whole and damaged, one at a time, in batches and by
//! rows. No other decoder is needed, so that it also runs where there is none, under an emulator too.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

#[path = "exact/encoder.rs"]
mod encoder;
#[path = "exact/generator.rs"]
mod generator;
#[path = "exact/options.rs"]
mod options;

use generator::Random;
use gristmill_jpeg::{Decoder, Image, Job, Options, Result, read_header};
use options::random_options;

/// Files that are compared; emulators are slow.
fn count() -> u64 {
    std::env::var("GRISTMILL_JPEG_IMAGES").ok().and_then(|n| n.parse().ok()).unwrap_or(200)
}

fn check(
    fast: &mut Decoder,
    plain: &mut Decoder,
    file: &[u8],
    options: &Options,
    what: &str,
) -> Result<Image> {
    let (a, b) = (fast.decode(file, options), plain.decode(file, options));
    match (&a, &b) {
        (Ok(a), Ok(b)) => {
            let differs = a.data.iter().zip(&b.data).position(|(a, b)| a != b);
            assert_eq!((a.shape, differs), (b.shape, None), "{what} {options:?}");
        }
        (Err(_), Err(_)) => {}
        _ => panic!("{what} {options:?}: {:?} with vector code, {:?} without", a.err(), b.err()),
    }
    a
}

#[test]
fn generated_files() {
    let (mut fast, mut plain) = (Decoder::new(), Decoder::plain());
    let mut decoded = 0;
    for first in (70_000..70_000 + count()).step_by(8) {
        let (mut files, mut images) = (Vec::new(), Vec::new());
        for seed in first..first + 8 {
            let (file, what) = generator::file(seed);
            let header = read_header(&file).unwrap();
            let r = &mut Random::new(seed * 31);
            for _ in 0..2 {
                let options = random_options(r, header.width(), header.height());
                // Both refuse four inks as grey.
                let _ = check(&mut fast, &mut plain, &file, &options, &what);
            }
            // And MCUs of more than 10 blocks.
            if let Ok(image) = check(&mut fast, &mut plain, &file, &Options::default(), &what) {
                images.push(image);
                files.push((file, what));
            }
        }
        decoded += images.len();
        let mut outs: Vec<_> = images.iter().map(|i| vec![7; i.data.len()]).collect();
        let options = Options::default();
        let mut jobs: Vec<_> = files
            .iter()
            .zip(&mut outs)
            .map(|((data, _), out)| Job { file: data.into(), options, out })
            .collect();
        let results = fast.decode_batch(&mut jobs);
        for (((file, what), image), (result, out)) in files.iter().zip(&images).zip(results.iter().zip(&outs))
        {
            assert_eq!(Ok(image.shape), *result, "{what}");
            assert!(image.data == *out, "{what} differs in a batch");
            let mut rows = Vec::new();
            let told = fast.decode_bands(file, &options, &mut |_, band| rows.extend_from_slice(band));
            assert_eq!(told, Ok(image.shape), "{what}");
            assert!(rows == image.data, "{what} differs by rows");
        }
    }
    println!("{decoded} decoded");
    assert!(decoded as u64 > count() / 2, "most of them can be decoded");
}

#[test]
fn damaged_files() {
    let (mut fast, mut plain) = (Decoder::new(), Decoder::plain());
    let mut decoded = 0;
    for seed in 80_000..80_000 + count() / 2 {
        let (file, what) = generator::file(seed);
        let header = read_header(&file).unwrap();
        if header.width() * header.height() > 10_000 {
            continue;
        }
        let r = &mut Random::new(seed ^ 0xABCD);
        for _ in 0..8 {
            let mut bad = file.clone();
            let start = if r.chance(30) { 0 } else { bad.len() / 2 };
            let at = start + r.below(bad.len() - start);
            bad[at] ^= 1 << r.below(8);
            if read_header(&bad).is_ok_and(|h| h.width() * h.height() < 1 << 18) {
                let options = random_options(r, header.width(), header.height());
                decoded += usize::from(check(&mut fast, &mut plain, &bad, &options, &what).is_ok());
            }
        }
    }
    println!("{decoded} decoded");
    assert!(decoded > 0, "some of them can be decoded");
}
