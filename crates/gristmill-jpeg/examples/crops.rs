//! The time that random crops take without and with a restart index: `crops FOLDER...`, each a set of JPEG files. The
//! crops are those of the usual augmentation: 8 to 100 % of the area, sides 3:4 to 4:3. Reading the index's bytes counts.
#![allow(unsafe_code, clippy::print_stdout, clippy::unwrap_used)]

use std::time::Duration;

use gristmill_jpeg::{Decoder, Edges, Input, Options, Region, RestartIndex, read_header};

const ROUNDS: usize = 11;
/// Crops of each file.
const CROPS: usize = 8;

/// The time that this thread has run: others on the machine do not count.
fn now() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is what the function wants.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Numbers from 0 to 1 that look random.
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    fn crop(&mut self, width: usize, height: usize) -> Region {
        for _ in 0..10 {
            let area = (width * height) as f64 * (0.08 + 0.92 * self.next());
            let ratio = (0.75f64.ln() + self.next() * (16.0f64 / 9.0).ln()).exp();
            let (w, h) = ((area * ratio).sqrt().round() as usize, (area / ratio).sqrt().round() as usize);
            if w <= width && h <= height {
                let x = (self.next() * (width - w + 1) as f64) as usize;
                let y = (self.next() * (height - h + 1) as f64) as usize;
                return Region { x, y, width: w, height: h, edges: Edges::Cropped };
            }
        }
        Region { x: 0, y: 0, width, height, edges: Edges::Cropped }
    }
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort();
    times[times.len() / 2].as_secs_f64()
}

fn main() {
    let mut decoder = Decoder::new();
    for folder in std::env::args().skip(1) {
        let mut paths: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|e| e.unwrap().path()).collect();
        paths.sort();
        let jpegs = paths.iter().filter(|p| p.extension().is_some_and(|e| e == "jpg")).take(200);
        let (mut bytes, mut index_bytes, mut files, mut empty) = (0, 0, 0, 0);
        let mut sums = [0.0; 4];
        let mut r = Random(1);
        let mut out = Vec::new();
        for path in jpegs {
            let file = std::fs::read(path).unwrap();
            let start = now();
            let Ok(index) = RestartIndex::build(&file, None) else { continue };
            sums[2] += (now() - start).as_secs_f64();
            let saved = index.to_bytes();
            let header = read_header(&file).unwrap();
            (bytes, index_bytes, files) = (bytes + file.len(), index_bytes + saved.len(), files + 1);
            empty += usize::from(index.is_empty());
            let crops: Vec<_> = (0..CROPS).map(|_| r.crop(header.width(), header.height())).collect();
            let mut times = [vec![], vec![], vec![]];
            for _ in 0..ROUNDS {
                for (way, times) in times.iter_mut().enumerate() {
                    let start = now();
                    for &region in &crops {
                        let region = if way == 2 { None } else { Some(region) };
                        let options = Options { region, ..Options::default() };
                        let index = if way == 1 { RestartIndex::from_bytes(&saved) } else { None };
                        let shape = header.shape(&options).unwrap();
                        out.resize(shape.iter().product(), 0);
                        decoder
                            .decode_into(Input { data: &file, index: index.as_ref() }, &options, &mut out)
                            .unwrap();
                    }
                    times.push(now() - start);
                }
            }
            for (sum, times) in [0, 1, 3].into_iter().zip(times) {
                sums[sum] += median(times) / CROPS as f64;
            }
        }
        let each = |sum: f64| sum * 1e3 / f64::from(files);
        println!(
            "{folder}: {files} files, {empty} without entries; index {:.2} % of the file, {:.0} bytes each, built in {:.3} ms",
            index_bytes as f64 / bytes as f64 * 100.0,
            index_bytes as f64 / f64::from(files),
            each(sums[2])
        );
        println!(
            "  crop without {:.3} ms, with {:.3} ms: {:.2} x   (whole image {:.3} ms)",
            each(sums[0]),
            each(sums[1]),
            sums[0] / sums[1],
            each(sums[3])
        );
    }
}
