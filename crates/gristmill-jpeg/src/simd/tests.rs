use super::*;

/// All lengths around the sizes of vectors, with samples that look random.
#[test]
fn rows_are_the_same() {
    let mut state = 1u32;
    let mut samples = move |n: usize| -> Vec<u8> {
        let next = |_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let byte = (state >> 24) as u8;
            // The extremes often.
            if state & 0x3000 == 0 { if byte < 128 { 0 } else { 255 } } else { byte }
        };
        (0..n).map(next).collect()
    };
    for n in 1..300 {
        let [a, b, c] = [0; 3].map(|_| samples(n + 64));
        let stuffed: Vec<u8> =
            a.iter().flat_map(|&v| if v == 255 { vec![255, 0] } else { vec![v] }).collect();
        let row = |level: Level| {
            let (mut both, mut wide, mut sums) = (vec![0; 2 * n + 128], vec![0; 2 * n], vec![0; n + 128]);
            let (mut high, mut rgb, mut bytes) = (vec![0; n], vec![0; 3 * n], vec![7]);
            level.both(&a, &b, n, &mut sums, &mut both);
            level.wide(&a, n, &mut wide);
            level.high(&a, &b, n, n % 2 == 0, &mut high);
            level.ycc_to_rgb(&a, &b, &c, &mut rgb);
            // Rows that end with the last pixel.
            let mut tight = vec![0; 3 * n];
            level.ycc_to_rgb(&a[..n], &b[..n], &c[..n], &mut tight);
            both.truncate(2 * n);
            let taken = level.copy_unstuffed(&stuffed, &mut bytes);
            (both, wide, high, rgb, tight, taken, bytes)
        };
        let plain = row(Level::Plain);
        for level in Level::all() {
            assert!(row(level) == plain, "{level:?} differs at {n} samples");
        }
        let mut block = EMPTY;
        for (to, &v) in block.0.iter_mut().zip(&a) {
            *to = if v % 3 == 0 { i16::from(v) << (v & 7) } else { 0 };
        }
        for level in Level::all() {
            assert_eq!(level.nonzero(&block), Level::Plain.nonzero(&block), "{level:?}");
        }
    }
}
