use half::bf16;

use super::*;

/// The rule of the bilinear method written out, one sample at a time.
fn bilinear_by_rule<T: Sample>(src: &[T], from: Size, to: (usize, usize)) -> Vec<f32> {
    let tap = |i: usize, n: usize, o: usize| {
        let at = (i as f32 + 0.5) * (n as f32 / o as f32) - 0.5;
        (at.floor().max(0.0) as usize, (at.ceil() as usize).min(n - 1), at - at.floor())
    };
    let mut out = Vec::new();
    for y in 0..to.0 {
        let (top, bottom, fy) = tap(y, from.height, to.0);
        for x in 0..to.1 {
            let (left, right, fx) = tap(x, from.width, to.1);
            for c in 0..from.channels {
                let at = |y: usize, x: usize| src[(y * from.width + x) * from.channels + c].to_f32();
                let a = at(top, left) + (at(top, right) - at(top, left)) * fx;
                let b = at(bottom, left) + (at(bottom, right) - at(bottom, left)) * fx;
                out.push(a + (b - a) * fy);
            }
        }
    }
    out
}

fn noise(n: usize) -> Vec<u8> {
    let mut state = 12345u32;
    (0..n)
        .map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        })
        .collect()
}

#[test]
fn bilinear_follows_the_rule_bit_for_bit() {
    let mut scratch = Scratch::default();
    for channels in [1, 2, 3, 4, 5] {
        for (h, w) in [(1, 1), (9, 13), (2, 40), (40, 3)] {
            let src = noise(h * w * channels);
            let real: Vec<f32> = src.iter().map(|&v| f32::from(v) * 0.37 - 20.0).collect();
            for to in [(1, 1), (4, 5), (20, 31), (9, 13), (18, 26), (3, 100), (7, 4)] {
                let from = Size::new(h, w, channels);
                let mut dst = vec![f32::NAN; to.0 * to.1 * channels];
                resize_bilinear(&src, from, &mut dst, to, &mut scratch).unwrap();
                assert_eq!(dst, bilinear_by_rule(&src, from, to), "{from:?} to {to:?}");
                resize_bilinear(&real, from, &mut dst, to, &mut scratch).unwrap();
                assert_eq!(dst, bilinear_by_rule(&real, from, to), "{from:?} to {to:?} in f32");
            }
        }
    }
}

#[test]
fn small_values_of_every_method() {
    let src = [0u8, 10, 20, 30];
    let from = Size::new(1, 4, 1);
    let mut scratch = Scratch::default();
    let mut run = |method, antialias, n: usize| {
        let mut dst = vec![0.0; n];
        resize(method, antialias, &src, from, &mut dst, (1, n), &mut scratch).unwrap();
        dst
    };
    assert_eq!(run(Method::Bilinear, false, 2), [5.0, 25.0]);
    assert_eq!(run(Method::Bilinear, false, 8), [0.0, 2.5, 7.5, 12.5, 17.5, 22.5, 27.5, 30.0]);
    assert_eq!(run(Method::Area, false, 2), [5.0, 25.0]);
    assert_eq!(run(Method::Area, true, 4), [0.0, 10.0, 20.0, 30.0]);
    assert_eq!(run(Method::Bicubic, false, 4), [0.0, 10.0, 20.0, 30.0]);
    for method in [Method::Lanczos3, Method::Lanczos5, Method::Bicubic, Method::Bilinear] {
        let same = run(method, true, 4);
        assert!(same.iter().zip(&src).all(|(a, &b)| (a - f32::from(b)).abs() < 1e-3), "{method:?}: {same:?}");
    }
    // Half of 1/2 and a quarter... of the triangle of radius 2: 3/8 3/8 1/8 inside, renormalised at the border.
    let halved = run(Method::Bilinear, true, 2);
    assert!((halved[0] - 50.0 / 7.0).abs() < 1e-5, "{halved:?}");
    let blurred = run(Method::Gaussian, false, 4);
    assert!(blurred[0] > 0.0 && blurred[3] < 30.0, "a Gaussian changes an image of the same size");
}

#[test]
fn nearest_moves_pixels() {
    let src = [1u8, 2, 3, 4, 5, 6];
    let mut dst = [0; 12];
    resize_nearest(&src, Size::new(1, 3, 2), &mut dst, (2, 3)).unwrap();
    assert_eq!(dst, [1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6]);
    let mut dst = [0; 2];
    resize_nearest(&src, Size::new(1, 6, 1), &mut dst, (1, 2)).unwrap();
    assert_eq!(dst, [2, 5]);
}

#[test]
fn types_and_arguments() {
    let mut scratch = Scratch::default();
    let src = [bf16::from_f32(1.0), bf16::from_f32(3.0)];
    let mut dst = [0.0; 1];
    resize_bilinear(&src, Size::new(1, 2, 1), &mut dst, (1, 1), &mut scratch).unwrap();
    assert_eq!(dst, [2.0]);
    assert!(resize_bilinear(&src, Size::new(1, 3, 1), &mut dst, (1, 1), &mut scratch).is_err());
    assert!(resize_bilinear(&src, Size::new(1, 2, 1), &mut [], (0, 1), &mut scratch).is_err());
    assert!(resize_area::<u8>(&[], Size::new(0, 2, 1), &mut dst, (1, 1)).is_err());
    assert!(
        Method::from_name("cubicx").unwrap_err().to_string().contains("Resize method is not implemented")
    );
    assert_eq!(Method::from_name("lanczos5").unwrap(), Method::Lanczos5);
}
