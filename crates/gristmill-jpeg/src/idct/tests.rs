use super::*;
use crate::block::EMPTY;
use crate::simd::{Level, Strip};

/// A simple generator of numbers that look random.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

#[test]
fn dc_alone_is_flat() {
    let mut block = EMPTY;
    block.0[0] = 10;
    let quant = [16; 64];
    for (kind, size) in
        [(Kind::Fast, 8), (Kind::Accurate, 8), (Kind::Half, 4), (Kind::Quarter, 2), (Kind::Eighth, 1)]
    {
        let mut out = [0; 64];
        kind.transform(&block, &kind.multipliers(&quant), &mut out, 8);
        for y in 0..size {
            assert!(out[y * 8..y * 8 + size].iter().all(|&v| v == 148), "{kind:?} {out:?}");
        }
    }
}

/// Also with coefficients that no encoder makes. 64-bit ARM always has vector code; on x86-64 it needs AVX2, without which
/// there is nothing to compare.
#[test]
fn vector_code_gives_the_same() {
    let levels = Level::all();
    println!("{levels:?}, of which {:?} is in use", Level::detect());
    assert!(levels.len() > 1 || cfg!(not(target_arch = "aarch64")), "vector code runs");
    let mut numbers = Numbers(7);
    for round in 0..40_000 {
        let kind = [Kind::Fast, Kind::Accurate, Kind::Half, Kind::Quarter][round % 4];
        let large = round % 7 == 0;
        let quant = std::array::from_fn(|_| (numbers.next() % if large { 65536 } else { 60 }) as u16);
        let multipliers = kind.multipliers(&quant);
        let mut blocks = [EMPTY; 13];
        let mut extents = [1u8; 13];
        for (block, extent) in blocks.iter_mut().zip(&mut extents) {
            *extent = [1, 3, 9, 16, 17, 40, 64][(numbers.next() % 7) as usize];
            // Often the first and one other only: what counts as flat depends on single ones.
            let alone =
                numbers.next().is_multiple_of(4).then(|| (numbers.next() % u64::from(*extent)) as usize);
            for (i, c) in block.0[..usize::from(*extent)].iter_mut().enumerate() {
                let value = numbers.next();
                *c = if large { value as i16 } else { (value % 40) as i16 - 20 };
                if alone.map_or_else(|| numbers.next().is_multiple_of(3), |other| i != 0 && i != other) {
                    *c = 0;
                }
            }
        }
        let count = 1 + round / 4 % 7;
        let strip = Strip { base: 1, h: 2, step: 3, first: 1, count };
        let (mut plain, start) = ([0u8; 640], blocks);
        Level::Plain.transform(kind, &multipliers, (&mut blocks, &extents), strip, &mut plain, 80);
        for level in &levels[1..] {
            let (mut fast, mut again) = ([0u8; 640], start);
            level.transform(kind, &multipliers, (&mut again, &extents), strip, &mut fast, 80);
            let size = [8, 8, 4, 2][round % 4];
            for y in 0..size {
                let row = y * 80..y * 80 + count * size;
                assert_eq!(plain[row.clone()], fast[row], "{level:?} {kind:?} row {y} round {round}");
            }
            assert!(blocks.iter().zip(&again).all(|(a, b)| a.0 == b.0), "the same blocks are zero");
        }
    }
}
