//! Enlarging one row of a colour plane, the plain way.

/// How a component's plane becomes as large as the image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Method {
    /// It is as large already.
    #[default]
    Full,
    /// Each sample is repeated.
    Repeat {
        /// So often in a row.
        h: usize,
        /// And in so many rows.
        v: usize,
    },
    /// Twice as wide, three parts of the nearer sample and one of the farther.
    Wide,
    /// Twice as high.
    High,
    /// Both.
    Both,
}

impl Method {
    /// Whether rows above and below are looked at.
    pub(crate) fn looks_around(self) -> bool {
        matches!(self, Self::High | Self::Both)
    }
}

/// Repeats each sample `h` times until `out` is full.
pub(crate) fn repeat(row: &[u8], h: usize, out: &mut [u8]) {
    for (to, &sample) in out.chunks_mut(h).zip(row) {
        to.fill(sample);
    }
}

/// Twice as wide: `out` has two samples for each of `row`.
pub(crate) fn wide(row: &[u8], out: &mut [u8]) {
    let n = row.len();
    for i in 0..n {
        let near = 3 * u16::from(row[i]);
        let (left, right) = (row[i.saturating_sub(1)], row[(i + 1).min(n - 1)]);
        out[2 * i] = ((near + u16::from(left) + 1) >> 2) as u8;
        out[2 * i + 1] = ((near + u16::from(right) + 2) >> 2) as u8;
    }
    // The ends are copied, which is the same: (3s + s + 1) >> 2 = (3s + s + 2) >> 2 = s.
}

/// One row of a plane made twice as high; `upper` says whether it is the upper one of the two.
pub(crate) fn high(near: &[u8], far: &[u8], upper: bool, out: &mut [u8]) {
    let bias = if upper { 1 } else { 2 };
    for ((to, &n), &f) in out.iter_mut().zip(near).zip(far) {
        *to = ((3 * u16::from(n) + u16::from(f) + bias) >> 2) as u8;
    }
}

/// One row of a plane made twice as high and wide.
pub(crate) fn both(near: &[u8], far: &[u8], out: &mut [u8]) {
    let n = near.len();
    let sum = |i: usize| 3 * u16::from(near[i]) + u16::from(far[i]);
    for i in 0..n {
        let (left, middle, right) = (sum(i.saturating_sub(1)), 3 * sum(i), sum((i + 1).min(n - 1)));
        out[2 * i] = ((middle + left + 8) >> 4) as u8;
        out[2 * i + 1] = ((middle + right + 7) >> 4) as u8;
    }
}
