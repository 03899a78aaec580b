use super::*;
use crate::geometry::{flip_left_right, flip_up_down};
use half::{bf16, f16};

fn noise(n: usize, seed: u32) -> Vec<u8> {
    let mut state = seed;
    (0..n)
        .map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        })
        .collect()
}

/// One step, written out.
fn one_by_one(values: &mut [f32], step: &Step<'_>) {
    for (i, x) in values.iter_mut().enumerate() {
        let c = if step.operand.is_empty() { 0.0 } else { step.operand[i % step.operand.len()] };
        *x = match step.operation {
            Operation::Add => *x + c,
            Operation::Subtract => *x - c,
            Operation::SubtractFrom => c - *x,
            Operation::Multiply => *x * c,
            Operation::Divide => *x / c,
            Operation::DivideInto => c / *x,
            Operation::Round(Half::F16) => f16::from_f32(*x).to_f32(),
            Operation::Round(Half::BF16) => bf16::from_f32(*x).to_f32(),
        };
    }
}

fn mirrored(values: &[f32], size: Size, mirror: Mirror) -> Vec<f32> {
    let bytes = Size { channels: size.channels * 4, ..size };
    let mut now: Vec<u8> = values.iter().flat_map(|v| v.to_ne_bytes()).collect();
    let mut next = now.clone();
    if mirror.rows {
        flip_up_down(&now, bytes, &mut next).unwrap();
        now.clone_from(&next);
    }
    if mirror.columns {
        flip_left_right(&now, bytes, &mut next).unwrap();
        now = next;
    }
    now.chunks_exact(4).map(|b| f32::from_ne_bytes([b[0], b[1], b[2], b[3]])).collect()
}

fn cut(values: &[f32], size: Size, w: Window) -> Vec<f32> {
    let row = |y: usize| {
        let at = ((w.y + y) * size.width + w.x) * size.channels;
        values[at..at + w.width * size.channels].to_vec()
    };
    (0..w.height).flat_map(row).collect()
}

/// The chain, one pass over the whole image after the other.
fn passes<T: Sample>(source: &Source<'_, T>, chain: &Chain<'_>) -> Vec<f32> {
    let all: Vec<f32> = source.samples.iter().map(|v| v.to_f32()).collect();
    let (w, c) = (source.window, source.size.channels);
    let mut now = cut(&all, source.size, w);
    chain.before.iter().for_each(|s| one_by_one(&mut now, s));
    now = mirrored(&now, Size::new(w.height, w.width, c), chain.mirror_before);
    let mut size = Size::new(w.height, w.width, c);
    if let Some(r) = chain.resize {
        let mut to = vec![0.0; r.to.0 * r.to.1 * c];
        resize::resize(r.method, r.antialias, &now, size, &mut to, r.to, &mut resize::Scratch::default())
            .unwrap();
        now = cut(&to, Size::new(r.to.0, r.to.1, c), r.keep);
        size = Size::new(r.keep.height, r.keep.width, c);
    }
    chain.after.iter().for_each(|s| one_by_one(&mut now, s));
    mirrored(&now, size, chain.mirror_after)
}

fn check<T: Sample>(source: Source<'_, T>, chain: &Chain<'_>, scratch: &mut Scratch) {
    let expected = passes(&source, chain);
    let bits = |v: &[f32]| v.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
    let mut floats = vec![f32::NAN; expected.len()];
    run(source, chain, &mut Samples::F32(&mut floats), scratch).unwrap();
    assert_eq!(bits(&floats), bits(&expected), "{chain:?} on {:?}", source.window);
    if streams(chain) && source.window == Window::whole(source.size.height, source.size.width) {
        for rows in [1, 3, 16] {
            let mut banded = vec![f32::NAN; expected.len()];
            let mut dst = Samples::F32(&mut banded);
            let mut stream = Stream::new(source.size, chain, &mut dst, scratch).unwrap();
            let band = rows * source.size.width * source.size.channels;
            for (i, samples) in source.samples.chunks(band).enumerate() {
                stream.band(i * rows, samples);
            }
            assert_eq!(bits(&banded), bits(&expected), "{chain:?} by {rows} rows");
        }
    }
    let mut halves = vec![bf16::ZERO; expected.len()];
    run(source, chain, &mut Samples::BF16(&mut halves), scratch).unwrap();
    assert!(halves.iter().zip(&expected).all(|(a, b)| a.to_bits() == bf16::from_f32(*b).to_bits()));
    let mut halves = vec![f16::ZERO; expected.len()];
    run(source, chain, &mut Samples::F16(&mut halves), scratch).unwrap();
    assert!(halves.iter().zip(&expected).all(|(a, b)| a.to_bits() == f16::from_f32(*b).to_bits()));
    let mut bytes = vec![0u8; expected.len()];
    run(source, chain, &mut Samples::U8(&mut bytes), scratch).unwrap();
    assert!(bytes.iter().zip(&expected).all(|(a, b)| *a == *b as u8));
}

#[test]
fn rows_in_cache_are_whole_passes_bit_for_bit() {
    let mut scratch = Scratch::default();
    let mirrors = [(false, false), (true, false), (false, true), (true, true)];
    let mirror = |i: usize| Mirror { rows: mirrors[i % 4].0, columns: mirrors[i % 4].1 };
    let round = |half| Step { operation: Operation::Round(half), operand: &[] };
    let mut i = 0;
    for channels in [1, 3, 4, 5] {
        let many = &[123.68f32, 116.78, 103.94, 90.5, 77.25][..channels];
        let one = &[0.017f32][..];
        let step = |operation, operand| Step { operation, operand };
        let sets: [&[Step<'_>]; 5] = [
            &[],
            &[step(Operation::Subtract, many), step(Operation::Divide, many)],
            &[step(Operation::Multiply, one), step(Operation::SubtractFrom, many), round(Half::BF16)],
            &[step(Operation::Add, many), round(Half::F16), step(Operation::Divide, one), round(Half::F16)],
            &[step(Operation::Add, one), step(Operation::DivideInto, one)],
        ];
        for (h, w) in [(9, 13), (40, 31), (1, 7)] {
            let size = Size::new(h, w, channels);
            let samples = noise(h * w * channels, 7);
            let real: Vec<f32> = samples.iter().map(|&v| f32::from(v) * 0.37 - 20.0).collect();
            let inner = Window { y: h / 3, x: 2, height: h - h / 3, width: w - 3 };
            for window in [Window::whole(h, w), inner] {
                for to in [(7, 4), (20, 33), (9, 13), (window.height, window.width), (1, 1)] {
                    for method in [Method::Bilinear, Method::Bicubic, Method::Area, Method::Lanczos3] {
                        for part in [false, true] {
                            let all = Window::whole(to.0, to.1);
                            let some = Window {
                                y: to.0 / 3,
                                x: to.1 / 4,
                                height: to.0 - to.0 / 3,
                                width: to.1 - to.1 / 4,
                            };
                            let keep = if part { some } else { all };
                            let antialias = i % 5 == 0;
                            let resize = (i % 11 != 0).then_some(Resize { method, antialias, to, keep });
                            let chain = Chain {
                                before: sets[i % 5],
                                mirror_before: mirror(i / 5),
                                resize,
                                after: sets[i / 3 % 5],
                                mirror_after: mirror(i / 2),
                            };
                            check(Source { samples: &samples, size, window }, &chain, &mut scratch);
                            check(Source { samples: &real, size, window }, &chain, &mut scratch);
                            i += 1;
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let samples = [0u8; 12];
    let chain = Chain {
        before: &[],
        mirror_before: Mirror::default(),
        resize: None,
        after: &[],
        mirror_after: Mirror::default(),
    };
    let source = Source { samples: &samples, size: Size::new(2, 2, 3), window: Window::whole(2, 2) };
    let fails = |source, chain: &Chain<'_>, n: usize| {
        run(source, chain, &mut Samples::F32(&mut vec![0.0; n]), &mut Scratch::default()).is_err()
    };
    assert!(!fails(source, &chain, 12));
    assert!(fails(source, &chain, 11));
    assert!(fails(Source { window: Window::whole(3, 2), ..source }, &chain, 18));
    assert!(fails(Source { window: Window { y: usize::MAX, ..Window::whole(2, 2) }, ..source }, &chain, 12));
    assert!(fails(Source { size: Size::new(2, 3, 3), ..source }, &chain, 12));
    let two = [Step { operation: Operation::Add, operand: &[1.0, 2.0] }];
    assert!(fails(source, &Chain { after: &two, ..chain }, 12));
    let nearest = Resize { method: Method::Nearest, antialias: false, to: (1, 1), keep: Window::whole(1, 1) };
    assert!(fails(source, &Chain { resize: Some(nearest), ..chain }, 3));
}

/// Each pixel repeated in a square.
fn enlarged(small: &[u8], size: Size, ratio: usize) -> Vec<u8> {
    let row = |y: usize| {
        let pixels =
            small[y * size.width * size.channels..][..size.width * size.channels].chunks(size.channels);
        pixels.flat_map(|p| p.repeat(ratio)).collect::<Vec<_>>().repeat(ratio)
    };
    (0..size.height).flat_map(row).collect()
}

#[test]
fn a_smaller_image_gives_what_the_whole_one_does() {
    let mut scratch = Scratch::default();
    let minus = [Step { operation: Operation::Subtract, operand: &[100.0] }];
    let half = [Step { operation: Operation::Divide, operand: &[2.0] }];
    for ratio in [2, 4, 8] {
        for channels in [1, 3] {
            let small = Size::new(23, 31, channels);
            let samples = noise(23 * 31 * channels, 9);
            let whole = enlarged(&samples, small, ratio);
            let size = Size::new(23 * ratio, 31 * ratio, channels);
            let inner = Window { y: 5, x: ratio + 1, height: 21 * ratio - 1, width: 27 * ratio + 1 };
            for (i, window) in [Window::whole(size.height, size.width), inner].into_iter().enumerate() {
                for to in [(23, 31), (20, 20), (7, 30), (1, 1)] {
                    let some =
                        Window { y: to.0 / 3, x: to.1 / 4, height: to.0 - to.0 / 3, width: to.1 - to.1 / 4 };
                    let keep = if i == 1 { some } else { Window::whole(to.0, to.1) };
                    let mirror = |rows, columns| Mirror { rows, columns };
                    let chain = Chain {
                        before: &minus,
                        mirror_before: mirror(to.0 % 2 == 0, i == 1),
                        resize: Some(Resize { method: Method::Bilinear, antialias: true, to, keep }),
                        after: &half,
                        mirror_after: mirror(i == 1, to.1 == 20),
                    };
                    let expected = passes(&Source { samples: &whole, size, window }, &chain);
                    for rows in [1, 4] {
                        let mut out = vec![f32::NAN; expected.len()];
                        let mut dst = Samples::F32(&mut out);
                        let mut reduced =
                            Reduced::new(ratio as u32, window, channels, &chain, &mut dst, &mut scratch)
                                .unwrap();
                        let part = reduced.part();
                        let bytes = Size { channels: 1, width: 31 * channels, ..small };
                        let all = Window { x: part.x * channels, width: part.width * channels, ..part };
                        let real: Vec<f32> = samples.iter().map(|&v| f32::from(v)).collect();
                        let part: Vec<u8> = cut(&real, bytes, all).iter().map(|&v| v as u8).collect();
                        for (k, band) in part.chunks(rows * all.width).enumerate() {
                            reduced.band(k * rows, band);
                        }
                        let off = out.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
                        assert!(off < 0.01, "{off} off: {chain:?} of {window:?} at 1/{ratio}");
                    }
                }
            }
        }
    }
}

#[test]
fn images_are_decoded_smaller_only_where_they_are_large_enough() {
    assert_eq!(ratio((1792, 1800), (224, 224)), Some(8));
    assert_eq!(ratio((1791, 1800), (224, 224)), None);
    assert_eq!(ratio((1800, 1791), (224, 224)), None);
    assert_eq!(ratio((9, 9), (1, 1)), Some(8));
}
