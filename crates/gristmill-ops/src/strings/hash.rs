//! `strings.to_hash_bucket_fast`: FarmHash's Fingerprint64 (Geoff Pike, "FarmHash", Google 2014;
//! the function is fixed for all time by its definition).

use super::each;
use gristmill_plan::{ArgDef, Attrs, Class, OpDef};
use gristmill_types::{DType, Error, Result};

pub(crate) static OP: OpDef = OpDef {
    name: "strings.to_hash_bucket_fast",
    doc: "The FarmHash fingerprint of each string modulo a number of buckets, int64.",
    inputs: &[ArgDef { name: "input", doc: "strings" }],
    attrs: &[ArgDef { name: "num_buckets", doc: "at least 1" }],
    class: Class::Pure,
    total: true,
    elementwise: true,
    infer: |args, attrs| {
        buckets(attrs)?;
        each::infer(args, DType::I64)
    },
    kernel: |_, attrs| {
        let n = buckets(attrs)?;
        each::to_number(move |s| Ok((fingerprint64(s) % n) as i64))
    },
};

fn buckets(attrs: &Attrs) -> Result<u64> {
    let n = attrs.int("num_buckets")?;
    u64::try_from(n)
        .ok()
        .filter(|&n| n > 0)
        .ok_or_else(|| Error::invalid(format!("num_buckets must be at least 1, found {n}")))
}

const K0: u64 = 0xC3A5_C85C_97CB_3127;
const K1: u64 = 0xB492_B66F_BE98_F273;
const K2: u64 = 0x9AE1_6A3B_2F90_404F;

/// Eight bytes at a position, little-endian.
fn word(s: &[u8], at: usize) -> u64 {
    s[at..at + 8].iter().rev().fold(0, |v, b| v << 8 | u64::from(*b))
}

fn half_word(s: &[u8], at: usize) -> u64 {
    s[at..at + 4].iter().rev().fold(0, |v, b| v << 8 | u64::from(*b))
}

fn mix(v: u64) -> u64 {
    v ^ v >> 47
}

fn pair(u: u64, v: u64, mul: u64) -> u64 {
    let a = mix((u ^ v).wrapping_mul(mul));
    mix((v ^ a).wrapping_mul(mul)).wrapping_mul(mul)
}

/// Two words over 32 bytes and two seeds.
fn weak(s: &[u8], at: usize, a: u64, b: u64) -> (u64, u64) {
    let [w, x, y, z] = [0, 8, 16, 24].map(|i| word(s, at + i));
    let a = a.wrapping_add(w);
    let b = b.wrapping_add(a).wrapping_add(z).rotate_right(21);
    let c = a;
    let a = a.wrapping_add(x).wrapping_add(y);
    (a.wrapping_add(z), b.wrapping_add(a.rotate_right(44)).wrapping_add(c))
}

/// FarmHash's Fingerprint64.
fn fingerprint64(s: &[u8]) -> u64 {
    let n = s.len();
    let mul = K2.wrapping_add(n as u64 * 2);
    match n {
        0 => K2,
        1..=3 => {
            let y = u64::from(s[0]) + (u64::from(s[n >> 1]) << 8);
            let z = n as u64 + (u64::from(s[n - 1]) << 2);
            mix(y.wrapping_mul(K2) ^ z.wrapping_mul(K0)).wrapping_mul(K2)
        }
        4..=7 => pair((n as u64).wrapping_add(half_word(s, 0) << 3), half_word(s, n - 4), mul),
        8..=16 => {
            let (a, b) = (word(s, 0).wrapping_add(K2), word(s, n - 8));
            let c = b.rotate_right(37).wrapping_mul(mul).wrapping_add(a);
            let d = a.rotate_right(25).wrapping_add(b).wrapping_mul(mul);
            pair(c, d, mul)
        }
        17..=32 => {
            let (a, b) = (word(s, 0).wrapping_mul(K1), word(s, 8));
            let (c, d) = (word(s, n - 8).wrapping_mul(mul), word(s, n - 16).wrapping_mul(K2));
            let u = a.wrapping_add(b).rotate_right(43).wrapping_add(c.rotate_right(30)).wrapping_add(d);
            pair(u, a.wrapping_add(b.wrapping_add(K2).rotate_right(18)).wrapping_add(c), mul)
        }
        33..=64 => {
            let (a, b) = (word(s, 0).wrapping_mul(K2), word(s, 8));
            let (c, d) = (word(s, n - 8).wrapping_mul(mul), word(s, n - 16).wrapping_mul(K2));
            let y = a.wrapping_add(b).rotate_right(43).wrapping_add(c.rotate_right(30)).wrapping_add(d);
            let z = pair(y, a.wrapping_add(b.wrapping_add(K2).rotate_right(18)).wrapping_add(c), mul);
            let (e, f) = (word(s, 16).wrapping_mul(mul), word(s, 24));
            let g = y.wrapping_add(word(s, n - 32)).wrapping_mul(mul);
            let h = z.wrapping_add(word(s, n - 24)).wrapping_mul(mul);
            let u = e.wrapping_add(f).rotate_right(43).wrapping_add(g.rotate_right(30)).wrapping_add(h);
            pair(u, e.wrapping_add(f.wrapping_add(a).rotate_right(18)).wrapping_add(g), mul)
        }
        _ => long(s),
    }
}

/// The state of the function over strings of more than 64 bytes.
struct State {
    x: u64,
    y: u64,
    z: u64,
    v: (u64, u64),
    w: (u64, u64),
}

impl State {
    fn step(&mut self, s: &[u8], at: usize, mul: u64, nine: u64) {
        let Self { x, y, z, v, w } = self;
        *x = x
            .wrapping_add(*y)
            .wrapping_add(v.0)
            .wrapping_add(word(s, at + 8))
            .rotate_right(37)
            .wrapping_mul(mul);
        *y = y.wrapping_add(v.1).wrapping_add(word(s, at + 48)).rotate_right(42).wrapping_mul(mul);
        *x ^= w.1.wrapping_mul(nine);
        *y = y.wrapping_add(v.0.wrapping_mul(nine)).wrapping_add(word(s, at + 40));
        *z = z.wrapping_add(w.0).rotate_right(33).wrapping_mul(mul);
        *v = weak(s, at, v.1.wrapping_mul(mul), x.wrapping_add(w.0));
        *w = weak(s, at + 32, z.wrapping_add(w.1), y.wrapping_add(word(s, at + 16)));
        std::mem::swap(x, z);
    }
}

fn long(s: &[u8]) -> u64 {
    const SEED: u64 = 81;
    let n = s.len();
    let y = SEED.wrapping_mul(K1).wrapping_add(113);
    let z = mix(y.wrapping_mul(K2).wrapping_add(113)).wrapping_mul(K2);
    let mut st = State { x: SEED.wrapping_mul(K2).wrapping_add(word(s, 0)), y, z, v: (0, 0), w: (0, 0) };
    for block in 0..(n - 1) / 64 {
        st.step(s, block * 64, K1, 1);
    }
    let mul = K1.wrapping_add((st.z & 0xFF) << 1);
    st.w.0 = st.w.0.wrapping_add((n as u64 - 1) & 63);
    st.v.0 = st.v.0.wrapping_add(st.w.0);
    st.w.0 = st.w.0.wrapping_add(st.v.0);
    st.step(s, n - 64, mul, 9);
    let State { x, y, z, v, w } = st;
    let u = pair(v.0, w.0, mul).wrapping_add(mix(y).wrapping_mul(K0)).wrapping_add(z);
    pair(u, pair(v.1, w.1, mul).wrapping_add(x), mul)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{attrs, eval};
    use gristmill_plan::Attr;
    use gristmill_types::Tensor;

    #[test]
    fn buckets_as_tensorflow_gives_them() {
        let x = Tensor::string_vector(vec![
            "".into(),
            "a".into(),
            "hello world".into(),
            "x".repeat(70).as_str().into(),
        ]);
        let out = eval(&OP, &[x.into()], attrs(&[("num_buckets", Attr::Int(1000))])).unwrap();
        assert_eq!(out[0], Tensor::vector(&[263i64, 939, 11, 745]).into());
    }
}
