//! Compares the speed with libjpeg-turbo's: `bench FOLDER...`, each a set of JPEG files. All variants take turns on the
//! same files in one thread; the figures are medians.
#![allow(unsafe_code, clippy::print_stdout, clippy::unwrap_used)]

use std::time::Duration;

use gristmill_image::{Output, jpeg};
use gristmill_jpeg::{Decoder, Job, Options};

const ROUNDS: usize = 11;
/// Files that all variants decode before the next ones.
const GROUP: usize = 8;

/// The time that this thread has run: others on the machine do not count.
fn now() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is what the function wants.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// The same memory for all variants.
struct Slot<'a>(&'a mut [u8]);

impl Output<u8> for Slot<'_> {
    fn slot(&mut self, _: &[usize]) -> gristmill_image::Result<&mut [u8]> {
        Ok(self.0)
    }
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort();
    times[times.len() / 2].as_secs_f64()
}

fn main() {
    let options = Options::default();
    for folder in std::env::args().skip(1) {
        let mut paths: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|e| e.unwrap().path()).collect();
        paths.sort();
        let files: Vec<Vec<u8>> = paths
            .iter()
            .filter(|p| p.extension().is_some_and(|e| e == "jpg"))
            .map(|p| std::fs::read(p).unwrap())
            .take(200)
            .collect();
        let bytes: usize = files.iter().map(Vec::len).sum();
        let (mut pixels, mut left) = (0, 0);
        let mut decoder = Decoder::new();
        let mut sums = [0.0; 3];
        for group in files.chunks(GROUP) {
            let mut outs: Vec<Vec<u8>> = Vec::new();
            for file in group {
                let shape = gristmill_jpeg::read_header(file).and_then(|h| h.shape(&options));
                match shape {
                    Ok(shape) if decoder.decode(file, &options).is_ok() => {
                        pixels += shape[0] * shape[1];
                        outs.push(vec![0; shape.iter().product()]);
                    }
                    _ => {
                        left += 1;
                        outs.push(Vec::new());
                    }
                }
            }
            let mut times = [vec![], vec![], vec![]];
            for _ in 0..ROUNDS {
                let start = now();
                for (file, out) in group.iter().zip(&mut outs) {
                    if !out.is_empty() {
                        jpeg::decode_with_libjpeg(file, &jpeg::JpegOptions::default(), &mut Slot(out))
                            .unwrap();
                    }
                }
                times[0].push(now() - start);
                let start = now();
                for (file, out) in group.iter().zip(&mut outs) {
                    if !out.is_empty() {
                        decoder.decode_into(file, &options, out).unwrap();
                    }
                }
                times[1].push(now() - start);
                let mut jobs: Vec<_> = group
                    .iter()
                    .zip(&mut outs)
                    .filter(|(_, out)| !out.is_empty())
                    .map(|(data, out)| Job { file: data.into(), options, out })
                    .collect();
                let start = now();
                let results = decoder.decode_batch(&mut jobs);
                times[2].push(now() - start);
                assert!(results.iter().all(Result::is_ok));
            }
            for (sum, times) in sums.iter_mut().zip(times) {
                *sum += median(times);
            }
        }
        let rate = |seconds: f64| bytes as f64 / seconds / 1e6;
        println!(
            "{folder}: {} files ({left} left to libjpeg), {:.1} bits per pixel",
            files.len(),
            bytes as f64 * 8.0 / pixels as f64
        );
        for (name, seconds) in ["libjpeg-turbo", "one at a time", "batch"].iter().zip(sums) {
            println!(
                "  {name:14} {:7.1} MB/s {:6.2} ns/pixel {:5.2} x",
                rate(seconds),
                seconds * 1e9 / pixels as f64,
                sums[0] / seconds
            );
        }
    }
}
