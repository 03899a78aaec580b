//! Where the time of a photo goes, in microseconds an image: `photo_times FOLDER [PASSES]`.
//!
//! For every JPEG under FOLDER on one thread: decoding the whole, decoding the middle (half of each side) in part,
//! bilinear resize to 224 x 224 in float32 as a pass of its own, mirroring and normalising as passes of their own, the
//! same as one chain, the chain fed by the decoder in bands, and a write of the result into memory that was used before and into fresh memory.

#![allow(clippy::print_stdout)] // The table is what it is for.

use gristmill_image::Image;
use gristmill_image::chain::{Chain, Mirror, Operation, Resize, Samples, Scratch, Source, Step, Stream, run};
use gristmill_image::geometry::{Window, flip_left_right};
use gristmill_image::jpeg::{JpegOptions, decode, decode_region, decode_rows};
use gristmill_image::resize::{self, Method, Size};
use half::bf16;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const TO: (usize, usize) = (224, 224);
const MEAN: [f32; 3] = [123.68, 116.78, 103.94];
const DEVIATION: [f32; 3] = [58.4, 57.12, 57.38];

fn photos(folder: &Path, found: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            photos(&path, found)?;
        } else if path.extension().is_some_and(|e| e == "jpg" || e == "jpeg") {
            found.push(path);
        }
    }
    Ok(())
}

#[derive(Default)]
struct Times(Vec<(&'static str, Duration)>);

impl Times {
    fn time<T>(&mut self, name: &'static str, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let out = black_box(work());
        let took = start.elapsed();
        match self.0.iter_mut().find(|(n, _)| *n == name) {
            Some((_, sum)) => *sum += took,
            None => self.0.push((name, took)),
        }
        out
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let folder = args.next().ok_or("usage: photo_times FOLDER [PASSES]")?;
    let passes: usize = args.next().map_or(Ok(3), |n| n.parse())?;
    let mut paths = Vec::new();
    photos(Path::new(&folder), &mut paths)?;
    paths.sort();
    let files = paths.iter().map(std::fs::read).collect::<Result<Vec<_>, _>>()?;
    let (mut times, mut photo) = (Times::default(), Image::default());
    let (mut resizer, mut scratch) = (resize::Scratch::default(), Scratch::default());
    let n = TO.0 * TO.1 * 3;
    let mut part = Image::default();
    let (mut plain, mut moved, mut half) = (vec![0f32; n], vec![0f32; n], vec![bf16::ZERO; n]);
    let step = |operation, operand| Step { operation, operand };
    let after = [step(Operation::Subtract, &MEAN[..]), step(Operation::Divide, &DEVIATION[..])];
    let options = JpegOptions { channels: 3, ..JpegOptions::default() };
    for file in files.iter().cycle().take(files.len() * passes) {
        times.time("decode, whole", || decode(file, &options, &mut photo))?;
        let &[h, w, c] = photo.shape.as_slice() else { return Err("a JPEG is one image".into()) };
        let middle = Window { y: h / 4, x: w / 4, height: h / 2, width: w / 2 };
        times.time("decode, middle", || decode_region(file, &options, middle, &mut part))?;
        let size = Size::new(h, w, c);
        times.time("resize alone", || {
            resize::resize(Method::Bilinear, false, &photo.data, size, &mut plain, TO, &mut resizer)
        })?;
        times.time("mirror and normalise alone", || {
            let bytes: Vec<u8> = plain.iter().flat_map(|v| v.to_ne_bytes()).collect();
            let mut out = vec![0; bytes.len()];
            let done = flip_left_right(&bytes, Size::new(TO.0, TO.1, 12), &mut out);
            for (i, v) in moved.iter_mut().enumerate() {
                *v = (plain[i] - MEAN[i % 3]) / DEVIATION[i % 3];
            }
            done
        })?;
        let keep = Window::whole(TO.0, TO.1);
        let chain = Chain {
            before: &[],
            mirror_before: Mirror::default(),
            resize: Some(Resize { method: Method::Bilinear, antialias: false, to: TO, keep }),
            after: &after,
            mirror_after: Mirror { rows: false, columns: true },
        };
        let source = Source { samples: &photo.data, size, window: Window::whole(h, w) };
        times
            .time("chain to float32", || run(source, &chain, &mut Samples::F32(&mut plain), &mut scratch))?;
        times
            .time("chain to bfloat16", || run(source, &chain, &mut Samples::BF16(&mut half), &mut scratch))?;
        let mut dst = Samples::F32(&mut plain);
        times.time("decode and chain in bands", || {
            let mut stream = Stream::new(size, &chain, &mut dst, &mut scratch)?;
            decode_rows(file, &options, None, &mut photo.data, &mut |first, rows| {
                stream.band(first, rows);
                Ok(())
            })
        })?;
        times.time("write, used memory", || moved.copy_from_slice(&plain));
        times.time("write, fresh memory", || plain.clone());
    }
    println!("{} photos, {passes} passes, microseconds each", files.len());
    for (name, sum) in &times.0 {
        println!("{name:28} {:8.1}", sum.as_secs_f64() * 1e6 / (files.len() * passes) as f64);
    }
    Ok(())
}
