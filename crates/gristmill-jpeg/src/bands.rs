//! The planes of the two latest bands, and the output rows that are made of them.

use crate::color::Convert;
use crate::layout::{Layout, Plane};
use crate::simd::Level;
use crate::upsample::Method;

/// Samples that vector code may read or write beyond the end of a row.
pub(crate) const SLACK: usize = 64;

/// Two bands of each plane, one beside the other, and room for enlarged rows. Kept from image to image.
#[derive(Default)]
pub(crate) struct Bands {
    planes: [Vec<u8>; 4],
    strides: [usize; 4],
    enlarged: [Vec<u8>; 4],
    sums: Vec<i16>,
}

impl Bands {
    /// Makes room for the planes of a layout. What is in them does not matter.
    pub(crate) fn prepare(&mut self, layout: &Layout) {
        for (i, p) in layout.planes.iter().enumerate() {
            self.strides[i] = (p.blocks * p.size).next_multiple_of(32) + SLACK;
            grow(&mut self.planes[i], 2 * p.rows * self.strides[i] + SLACK);
            let h = match p.method {
                Method::Repeat { h, .. } => h,
                _ => 2,
            };
            if p.method != Method::Full {
                grow(&mut self.enlarged[i], p.width.next_multiple_of(32) * h + 2 * SLACK);
                if self.sums.len() < p.width + 2 * SLACK {
                    self.sums.resize(p.width + 2 * SLACK, 0);
                }
            }
        }
    }

    /// The samples of a band of plane `index`, from its first row on, and the distance of rows.
    pub(crate) fn band(&mut self, index: usize, plane: &Plane, band: usize) -> (&mut [u8], usize) {
        let stride = self.strides[index];
        let start = (band & 1) * plane.rows * stride;
        (&mut self.planes[index][start..], stride)
    }

    /// Makes output rows `first..end` (of the image) in `out`, which has room for just them.
    pub(crate) fn render(&mut self, layout: &Layout, level: Level, first: usize, end: usize, out: &mut [u8]) {
        let stride = layout.width * layout.channels;
        for (y, out) in (first..end).zip(out.chunks_exact_mut(stride)) {
            for (i, p) in layout.planes.iter().enumerate() {
                self.enlarge(level, i, p, y);
            }
            let mut rows: [&[u8]; 4] = [&[]; 4];
            for (i, p) in layout.planes.iter().enumerate() {
                rows[i] = match p.method {
                    Method::Full => &self.planes[i][self.start(i, p, y)..],
                    _ => &self.enlarged[i],
                };
                rows[i] = &rows[i][layout.skip..];
            }
            match layout.convert {
                Convert::YccToRgb => level.ycc_to_rgb(rows[0], rows[1], rows[2], out),
                other => other.row(rows, out),
            }
        }
    }

    fn start(&self, index: usize, p: &Plane, row: usize) -> usize {
        // Narrow numbers: divisions are slow.
        let (row, rows) = (row as u32, p.rows as u32);
        ((((row / rows) & 1) * rows + row % rows) as usize) * self.strides[index]
    }

    fn enlarge(&mut self, level: Level, index: usize, p: &Plane, y: usize) {
        let n = p.width;
        let near = |s: &Self, row: usize| s.start(index, p, row);
        let around = |s: &Self| {
            let (row, upper) = (y / 2, y & 1 == 0);
            let far = if upper { row.saturating_sub(1) } else { (row + 1).min(p.height - 1) };
            (s.start(index, p, row), s.start(index, p, far), upper)
        };
        match p.method {
            Method::Full => {}
            Method::Repeat { h, v } => {
                let near = near(self, y / v);
                crate::upsample::repeat(&self.planes[index][near..near + n], h, &mut self.enlarged[index]);
            }
            Method::Wide => {
                let near = near(self, y);
                level.wide(&self.planes[index][near..], n, &mut self.enlarged[index]);
            }
            Method::High => {
                let (near, far, upper) = around(self);
                let plane = &self.planes[index];
                level.high(&plane[near..], &plane[far..], n, upper, &mut self.enlarged[index]);
            }
            Method::Both => {
                let (near, far, _) = around(self);
                let plane = &self.planes[index];
                level.both(&plane[near..], &plane[far..], n, &mut self.sums, &mut self.enlarged[index]);
            }
        }
    }
}

fn grow(buffer: &mut Vec<u8>, size: usize) {
    if buffer.len() < size {
        buffer.resize(size, 0);
    }
}
