//! A photo's way: decoding, resizing, and both with what follows in one pass.

use criterion::{Criterion, Throughput};
use gristmill_image::Image;
use gristmill_image::chain::{Chain, Mirror, Operation, Resize, Samples, Scratch, Source, Step, Stream, run};
use gristmill_image::geometry::Window;
use gristmill_image::jpeg::{EncodeOptions, JpegOptions, decode, decode_region, decode_rows, encode};
use gristmill_image::resize::{self, Method, Size};
use half::bf16;
use std::hint::black_box;
use std::time::Duration;

const FROM: (usize, usize) = (375, 500);
const TO: (usize, usize) = (224, 224);

/// A scene with smooth parts, edges and grain: its JPEG is about as large as a photo's.
fn scene() -> Vec<u8> {
    let mut noise = 1u32;
    let mut pixel = |y: usize, x: usize, c: usize| {
        noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let smooth = 128.0 + 60.0 * ((x as f32 / 41.0).sin() + (y as f32 / 29.0 + c as f32).cos());
        let edge = if (x / 50 + y / 60).is_multiple_of(2) { 25.0 } else { -25.0 };
        (smooth + edge + (noise >> 28) as f32) as u8
    };
    let (h, w) = FROM;
    (0..h * w * 3).map(|i| pixel(i / 3 / w, i / 3 % w, i % 3)).collect()
}

fn main() {
    let times = Criterion::default().warm_up_time(Duration::from_millis(200));
    let mut c = times.measurement_time(Duration::from_secs(1)).sample_size(20).configure_from_args();
    let (h, w) = FROM;
    let pixels = scene();
    let jpeg = encode(&pixels, h, w, 3, &EncodeOptions { quality: 85, ..EncodeOptions::default() })
        .expect("an image of that size");
    let options = JpegOptions { channels: 3, ..JpegOptions::default() };
    let (size, whole) = (Size::new(h, w, 3), Window::whole(h, w));
    let n = TO.0 * TO.1 * 3;
    let (mut image, mut floats, mut halves) = (Image::default(), vec![0f32; n], vec![bf16::ZERO; n]);

    let mut group = c.benchmark_group("image");
    group.throughput(Throughput::Elements(1));
    group.bench_function("decode_jpeg", |b| {
        b.iter(|| decode(black_box(&jpeg), &options, &mut image).expect("it was encoded here"));
    });
    let middle = Window { y: h / 4, x: w / 4, height: h / 2, width: w / 2 };
    group.bench_function("decode_jpeg, the middle quarter", |b| {
        b.iter(|| {
            decode_region(black_box(&jpeg), &options, middle, &mut image).expect("it was encoded here")
        });
    });
    let mut resizer = resize::Scratch::default();
    for (name, antialias) in [("resize bilinear", false), ("resize bilinear, antialiased", true)] {
        group.bench_function(name, |b| {
            b.iter(|| {
                let source = black_box(&pixels);
                resize::resize(Method::Bilinear, antialias, source, size, &mut floats, TO, &mut resizer)
                    .expect("sizes fit")
            });
        });
    }

    let (mean, deviation) = ([123.68f32, 116.78, 103.94], [58.4f32, 57.12, 57.38]);
    let after = [
        Step { operation: Operation::Subtract, operand: &mean[..] },
        Step { operation: Operation::Divide, operand: &deviation[..] },
    ];
    let chain = Chain {
        before: &[],
        mirror_before: Mirror::default(),
        resize: Some(Resize {
            method: Method::Bilinear,
            antialias: false,
            to: TO,
            keep: Window::whole(TO.0, TO.1),
        }),
        after: &after,
        mirror_after: Mirror { rows: false, columns: true },
    };
    let mut scratch = Scratch::default();
    let source = Source { samples: &pixels, size, window: whole };
    group.bench_function("resize, normalise, mirror to float32", |b| {
        b.iter(|| {
            run(black_box(source), &chain, &mut Samples::F32(&mut floats), &mut scratch).expect("sizes fit")
        });
    });
    group.bench_function("resize, normalise, mirror to bfloat16", |b| {
        b.iter(|| {
            run(black_box(source), &chain, &mut Samples::BF16(&mut halves), &mut scratch).expect("sizes fit")
        });
    });
    let mut rows = Vec::new();
    group.bench_function("decode to bfloat16 in bands", |b| {
        b.iter(|| {
            let mut to = Samples::BF16(&mut halves);
            let mut stream = Stream::new(size, &chain, &mut to, &mut scratch).expect("sizes fit");
            decode_rows(black_box(&jpeg), &options, None, &mut rows, &mut |first, rows| {
                stream.band(first, rows);
                Ok(())
            })
            .expect("it was encoded here");
        });
    });
    group.finish();
    c.final_summary();
}
