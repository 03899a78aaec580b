//! Decodes the JPEG files of a folder again and again in one way, to be watched by a profiler:
//! `repeat FOLDER turbo|single|batch ROUNDS`.
#![allow(clippy::unwrap_used)]

use gristmill_image::{Image as Other, jpeg};
use gristmill_jpeg::{Decoder, Job, Options};

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let mut paths: Vec<_> = std::fs::read_dir(&arguments[1]).unwrap().map(|e| e.unwrap().path()).collect();
    paths.sort();
    let files: Vec<Vec<u8>> = paths.iter().take(200).map(|p| std::fs::read(p).unwrap()).collect();
    let options = Options::default();
    let mut decoder = Decoder::new();
    let mut outs: Vec<Vec<u8>> = files.iter().map(|f| decoder.decode(f, &options).unwrap().data).collect();
    let mut image = Other::default();
    for _ in 0..arguments[3].parse().unwrap() {
        match arguments[2].as_str() {
            "turbo" => {
                for file in &files {
                    jpeg::decode_with_libjpeg(file, &jpeg::JpegOptions::default(), &mut image).unwrap();
                }
            }
            "single" => {
                for (file, out) in files.iter().zip(&mut outs) {
                    decoder.decode_into(file, &options, out).unwrap();
                }
            }
            _ => {
                let mut jobs: Vec<_> = files
                    .iter()
                    .zip(&mut outs)
                    .map(|(data, out)| Job { file: data.into(), options, out })
                    .collect();
                decoder.decode_batch(&mut jobs);
            }
        }
    }
}
