//! Random files: sizes, samplings, qualities, scans, colour spaces, tables, restart intervals.

use crate::encoder::{Component, File, Scan};

/// A generator of numbers that look random.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        let mut random = Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        for _ in 0..4 {
            random.below(2);
        }
        random
    }

    /// A number below `n`.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 16) % n as u64) as usize
    }

    pub(crate) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub(crate) fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())].clone()
    }
}

/// Sampling factors of three components: those in use, and odd ones.
const SAMPLINGS: [[(usize, usize); 3]; 18] = [
    [(1, 1), (1, 1), (1, 1)],
    [(2, 2), (1, 1), (1, 1)],
    [(2, 1), (1, 1), (1, 1)],
    [(1, 2), (1, 1), (1, 1)],
    [(4, 1), (1, 1), (1, 1)],
    [(1, 4), (1, 1), (1, 1)],
    [(4, 2), (1, 1), (1, 1)],
    [(2, 4), (1, 1), (1, 1)],
    [(4, 1), (2, 1), (1, 1)],
    [(2, 2), (2, 1), (2, 1)],
    [(2, 2), (1, 2), (1, 2)],
    [(2, 2), (2, 1), (1, 2)],
    [(1, 1), (2, 2), (2, 2)],
    [(3, 1), (1, 1), (1, 1)],
    [(1, 3), (1, 1), (1, 1)],
    [(2, 2), (2, 2), (2, 2)],
    [(3, 2), (1, 2), (1, 1)],
    [(2, 1), (1, 1), (2, 1)],
];

/// The scans of a sequential file.
fn sequential(random: &mut Random, components: usize) -> Vec<Scan> {
    let scan = |components: Vec<usize>| Scan { components, band: (0, 63), bits: (0, 0) };
    let mut scans: Vec<Scan> = match random.below(5) {
        0 => (0..components).map(|c| scan(vec![c])).collect(),
        1 if components > 2 => vec![scan(vec![0]), scan((1..components).collect())],
        _ => vec![scan((0..components).collect())],
    };
    // In any order: what is read later lies before what is there already.
    let first = random.below(scans.len());
    scans.rotate_left(first);
    if random.chance(50) {
        scans.reverse();
    }
    scans
}

/// The scans of a progressive file: some bands for each component, refined bit by bit.
fn progressive(random: &mut Random, components: usize) -> Vec<Scan> {
    let low = random.below(3) as u8;
    let all: Vec<usize> = (0..components).collect();
    let together = random.chance(70);
    let mut scans = Vec::new();
    let mut dc = |bits: (u8, u8)| {
        if together {
            scans.push(Scan { components: all.clone(), band: (0, 0), bits });
        } else {
            scans.extend(all.iter().map(|&c| Scan { components: vec![c], band: (0, 0), bits }));
        }
    };
    dc((0, low));
    let mut later = Vec::new();
    for bit in (0..low).rev() {
        dc((bit + 1, bit));
    }
    for c in 0..components {
        let mut first = 1;
        while first < 64 {
            let last = if random.chance(40) { 63 } else { (first + random.below(20) as u8).min(63) };
            let low = random.below(4) as u8;
            let one = |bits| Scan { components: vec![c], band: (first, last), bits };
            scans.push(one((0, low)));
            later.push((low, one((0, 0))));
            first = last + 1;
        }
    }
    for bit in (0..3u8).rev() {
        for (low, scan) in &later {
            if bit < *low {
                scans.push(Scan { bits: (bit + 1, bit), ..scan.clone() });
            }
        }
    }
    scans
}

/// A quantisation table: from coarse to fine.
fn quant(random: &mut Random) -> [u16; 64] {
    let scale = random.pick(&[0, 1, 2, 5, 10, 20, 40, 80]);
    let wide = random.chance(4);
    std::array::from_fn(|i| {
        let q = 1 + i * scale / 16 + scale / 2 + random.below(1 + scale / 2);
        if wide { (q * 37).min(3000) as u16 } else { q.min(255) as u16 }
    })
}

/// A picture's plane: waves, edges and noise, often beyond the range of samples.
struct Picture {
    waves: Vec<[f32; 4]>,
    noise: f32,
    base: f32,
    edge: usize,
}

impl Picture {
    fn new(random: &mut Random) -> Self {
        let mut value = |range: usize| random.below(1000) as f32 / 1000.0 * range as f32;
        let waves = (0..3).map(|_| [value(2) * 0.4, value(2) * 0.4, value(7), value(90)]).collect();
        let (noise, base) = (value(1), value(200) - 100.0);
        let noise = if noise < 0.3 { 0.0 } else { noise * noise * 120.0 };
        Self { waves, noise, base, edge: 1 + random.below(60) }
    }

    fn sample(&self, random: &mut Random, x: usize, y: usize) -> f32 {
        let mut value = self.base;
        for [a, b, phase, height] in &self.waves {
            value += height * (a * x as f32 + b * y as f32 + phase).sin();
        }
        if (x / self.edge + y / self.edge).is_multiple_of(5) {
            value = -value;
        }
        if self.noise > 0.0 {
            value += self.noise * (random.below(2001) as f32 / 1000.0 - 1.0);
        }
        value
    }
}

/// The natural place of each zigzag position.
fn zigzag() -> [usize; 64] {
    let mut order: Vec<(usize, usize)> = (0..64).map(|i| (i / 8, i % 8)).collect();
    order.sort_by_key(|&(y, x)| (x + y, if (x + y) % 2 == 0 { x } else { y }));
    std::array::from_fn(|i| order[i].0 * 8 + order[i].1)
}

fn forward(samples: &[f32; 64], cosines: &[[f32; 8]; 8]) -> [f32; 64] {
    let mut rows = [0.0; 64];
    for y in 0..8 {
        for u in 0..8 {
            rows[y * 8 + u] = (0..8).map(|x| samples[y * 8 + x] * cosines[u][x]).sum();
        }
    }
    let mut out = [0.0; 64];
    for v in 0..8 {
        for u in 0..8 {
            out[v * 8 + u] = (0..8).map(|y| rows[y * 8 + u] * cosines[v][y]).sum();
        }
    }
    out
}

/// A file, and what it is in words.
pub(crate) fn file(seed: u64) -> (Vec<u8>, String) {
    let mut random = Random::new(seed);
    let r = &mut random;
    let side = |r: &mut Random| match r.below(10) {
        0..3 => 1 + r.below(20),
        3..9 => 1 + r.below(150),
        _ => 1 + r.below(600),
    };
    let (width, height) = (side(r), side(r));
    let count = r.pick(&[1, 3, 3, 3, 3, 3, 3, 4]);
    let mut samplings: Vec<(usize, usize)> = match r.below(10) {
        0..3 => SAMPLINGS[r.below(18)].to_vec(),
        n => SAMPLINGS[n % 4].to_vec(),
    };
    samplings.truncate(count);
    if count == 4 {
        samplings.push(samplings[0]);
        if samplings.iter().map(|(h, v)| h * v).sum::<usize>() > 10 {
            samplings = vec![(1, 1); 4];
        }
    }
    if count == 1 && r.chance(30) {
        samplings[0] = (2, 2);
    }
    let is_progressive = r.chance(30);
    let scans = if is_progressive { progressive(r, count) } else { sequential(r, count) };
    let quant: Vec<_> = (0..2).map(|_| quant(r)).collect();
    let (max_h, max_v) =
        (samplings.iter().map(|s| s.0).max().unwrap(), samplings.iter().map(|s| s.1).max().unwrap());
    let mcus = (width.div_ceil(8 * max_h), height.div_ceil(8 * max_v));
    let order = zigzag();
    let cosines: [[f32; 8]; 8] = std::array::from_fn(|u| {
        std::array::from_fn(|x| {
            let scale = if u == 0 { (1.0f32 / 8.0).sqrt() } else { 0.5 };
            scale * ((2 * x + 1) as f32 * u as f32 * std::f32::consts::PI / 16.0).cos()
        })
    });
    let ids = r.pick(&[[1, 2, 3, 4], [0, 1, 2, 3], *b"RGBA", [82, 1, 2, 9]]);
    let mut components = Vec::new();
    for (i, &(h, v)) in samplings.iter().enumerate() {
        let table = u8::from(i > 0);
        let (stride, rows) = (mcus.0 * h, mcus.1 * v);
        let picture = Picture::new(r);
        let mut blocks = Vec::with_capacity(stride * rows);
        for at in 0..stride * rows {
            let (bx, by) = (at % stride * 8, at / stride * 8);
            let samples =
                std::array::from_fn(|i| picture.sample(r, bx + i % 8, by + i / 8).clamp(-128.0, 127.0));
            let transformed = forward(&samples, &cosines);
            blocks.push(std::array::from_fn(|k| {
                let value = transformed[order[k]] / f32::from(quant[usize::from(table)][k]);
                (value.round() as i16).clamp(-1023, 1023)
            }));
        }
        let (wide, high) = ((width * h).div_ceil(8 * max_h), (height * v).div_ceil(8 * max_v));
        // The factors of a single component mean nothing: no padding.
        components.push(Component { id: ids[i], h, v, table, blocks, stride, wide, high });
    }
    let restart = if r.chance(25) { 1 + r.below(mcus.0 * 2 + 3) } else { 0 };
    let adobe = if r.chance(40) { Some(r.below(3) as u8) } else { None };
    let what = format!(
        "seed {seed}: {width}x{height}, {samplings:?}, progressive {is_progressive}, {} scans, restart {restart}, adobe {adobe:?}",
        scans.len()
    );
    let file = File {
        width,
        height,
        progressive: is_progressive,
        components,
        mcus,
        quant,
        scans,
        restart,
        optimised: is_progressive || r.chance(50),
        jfif: r.chance(50),
        adobe,
        extras: r.chance(20),
    };
    (file.write(), what)
}
