//! Grey from colours in linear light, as libpng computes it (`png_do_rgb_to_gray`) in a file that states its gamma.

use png::Info;

/// Tables from the file's samples to linear light and back.
pub(super) struct Gamma {
    to_linear: Vec<u16>,
    from_linear: Vec<u16>,
    shift: u32,
}

/// `floor(max * (i / (n - 1))^exponent + 0.5)` for all `n` values of `i`.
fn table(n: usize, max: f64, exponent: f64) -> Vec<u16> {
    let last = (n - 1) as f64;
    (0..n).map(|i| (max * (i as f64 / last).powf(exponent) + 0.5).floor() as u16).collect()
}

impl Gamma {
    /// The tables for samples of `depth` bits (8 or 16) that become `wanted` bits; `None` when the file states no gamma
    /// or one so near to 1 that libpng leaves it out.
    pub(super) fn new(info: &Info<'_>, depth: u32, wanted: u32) -> Option<Self> {
        let gamma = info.gamma()?.into_scaled();
        if gamma == 0 || (95_000..=105_000).contains(&gamma) {
            return None;
        }
        // libpng works with the reciprocal rounded to five places.
        let reciprocal = |g: f64| (1e10 / g + 0.5).floor();
        let to = reciprocal(gamma.into());
        let from = reciprocal(to);
        // 16 bits that become 8 are looked up with 11.
        let shift = if depth == 16 && wanted == 8 { 5 } else { 0 };
        let (n, max) = if depth == 16 { (1 << (16 - shift), 65535.0) } else { (256, 255.0) };
        Some(Self { to_linear: table(n, max, to * 1e-5), from_linear: table(n, max, from * 1e-5), shift })
    }

    /// The sample in linear light.
    pub(super) fn linear(&self, sample: u16) -> u32 {
        self.to_linear[usize::from(sample >> self.shift)].into()
    }

    /// The sample for an amount of light.
    pub(super) fn sample(&self, linear: u32) -> u16 {
        self.from_linear[(linear >> self.shift) as usize]
    }
}
