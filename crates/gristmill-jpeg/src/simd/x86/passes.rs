//! What the transforms do for each block by itself, whatever the number of blocks beside each other in a vector: written
//! once, and made for each width of vectors.

/// Defines the passes for vectors of a type; the module has the instructions under short names.
macro_rules! passes {
    ($v:ty, $shift:ty, $features:literal) => {
        /// [`crate::idct::fast_pass`].
        #[inline]
        #[target_feature(enable = $features)]
        pub(super) fn fast_pass(r: [$v; 8]) -> [$v; 8] {
            let constant = |c: i16| set16(c);
            let (c1_414, c1_847) = (constant(362 << 6), constant(473 << 6));
            let (c1_082, m1_613) = (constant(277 << 6), constant(-(413 << 6)));
            let add = |a, b| add16(a, b);
            let sub = |a, b| sub16(a, b);
            let four = |a| shl16::<2>(a);
            let high = |a, b| mulhi16(a, b);
            let (t10, t11) = (add(r[0], r[4]), sub(r[0], r[4]));
            let t13 = add(r[2], r[6]);
            let t12 = sub(high(four(sub(r[2], r[6])), c1_414), t13);
            let (t0, t3) = (add(t10, t13), sub(t10, t13));
            let (t1, t2) = (add(t11, t12), sub(t11, t12));
            let (z13, z10) = (add(r[5], r[3]), sub(r[5], r[3]));
            let (z11, z12) = (add(r[1], r[7]), sub(r[1], r[7]));
            let t7 = add(z11, z13);
            let o11 = high(four(sub(z11, z13)), c1_414);
            let (y10, y12) = (four(z10), four(z12));
            let z5 = high(add(y10, y12), c1_847);
            let o12 = add(sub(high(y10, m1_613), z10), z5);
            let o10 = sub(high(y12, c1_082), z5);
            let t6 = sub(o12, t7);
            let t5 = sub(o11, t6);
            let t4 = add(o10, t5);
            [
                add(t0, t7),
                add(t1, t6),
                add(t2, t5),
                sub(t3, t4),
                add(t3, t4),
                sub(t2, t5),
                sub(t1, t6),
                sub(t0, t7),
            ]
        }

        /// Two pairs of factors for `madd`.
        #[inline]
        #[target_feature(enable = $features)]
        pub(super) fn factors(first: i32, second: i32) -> $v {
            set32(second << 16 | (first & 0xFFFF))
        }

        /// The pass of the accurate transform; see `accurate_pass` of [`crate::idct`].
        #[inline]
        #[target_feature(enable = $features)]
        pub(super) fn accurate_pass<const SHIFT: $shift>(x: [$v; 8]) -> [$v; 8] {
            let none = zero();
            let halves = |a, b| [low16(a, b), high16(a, b)];
            let times = |p: [$v; 2], f: $v| [madd(p[0], f), madd(p[1], f)];
            let plus = |a: [$v; 2], b: [$v; 2]| [add32(a[0], b[0]), add32(a[1], b[1])];
            let minus = |a: [$v; 2], b: [$v; 2]| [sub32(a[0], b[0]), sub32(a[1], b[1])];
            let scaled = |v| [sar32::<3>(low16(none, v)), sar32::<3>(high16(none, v))];
            let round = set32(1 << (SHIFT - 1));
            let down = |v: [$v; 2]| {
                let low = sar32::<SHIFT>(add32(v[0], round));
                let high = sar32::<SHIFT>(add32(v[1], round));
                pack32(low, high)
            };
            let pairs = halves(x[2], x[6]);
            let e3 = times(pairs, factors(4433 + 6270, 4433));
            let e2 = times(pairs, factors(4433, 4433 - 15137));
            let sum = scaled(add16(x[0], x[4]));
            let difference = scaled(sub16(x[0], x[4]));
            let even = [plus(sum, e3), plus(difference, e2), minus(difference, e2), minus(sum, e3)];
            let pairs = halves(add16(x[7], x[3]), add16(x[5], x[1]));
            let y3 = times(pairs, factors(9633 - 16069, 9633));
            let y4 = times(pairs, factors(9633, 9633 - 3196));
            let outer = halves(x[7], x[1]);
            let inner = halves(x[5], x[3]);
            let odd = [
                plus(times(outer, factors(-7373, 12299 - 7373)), y4),
                plus(times(inner, factors(-20995, 25172 - 20995)), y3),
                plus(times(inner, factors(16819 - 20995, -20995)), y4),
                plus(times(outer, factors(2446 - 7373, -7373)), y3),
            ];
            [
                down(plus(even[0], odd[0])),
                down(plus(even[1], odd[1])),
                down(plus(even[2], odd[2])),
                down(plus(even[3], odd[3])),
                down(minus(even[3], odd[3])),
                down(minus(even[2], odd[2])),
                down(minus(even[1], odd[1])),
                down(minus(even[0], odd[0])),
            ]
        }

        /// Transposes the 8x8 values in each 128 bits.
        #[inline]
        #[target_feature(enable = $features)]
        pub(super) fn transpose(r: [$v; 8]) -> [$v; 8] {
            let a = [
                low16(r[0], r[1]),
                low16(r[2], r[3]),
                low16(r[4], r[5]),
                low16(r[6], r[7]),
                high16(r[0], r[1]),
                high16(r[2], r[3]),
                high16(r[4], r[5]),
                high16(r[6], r[7]),
            ];
            let b = [
                low32(a[0], a[1]),
                low32(a[2], a[3]),
                high32(a[0], a[1]),
                high32(a[2], a[3]),
                low32(a[4], a[5]),
                low32(a[6], a[7]),
                high32(a[4], a[5]),
                high32(a[6], a[7]),
            ];
            let low = |i: usize| low64(b[i], b[i + 1]);
            let high = |i: usize| high64(b[i], b[i + 1]);
            [low(0), high(0), low(2), high(2), low(4), high(4), low(6), high(6)]
        }
    };
}

pub(super) use passes;
