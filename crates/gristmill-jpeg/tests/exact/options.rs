//! Random options.

use gristmill_jpeg::{Dct, Edges, Options, Region};

use crate::generator::Random;

/// Options of all kinds for an image of that size.
pub(crate) fn random_options(r: &mut Random, width: usize, height: usize) -> Options {
    let mut options = Options {
        channels: r.pick(&[0, 0, 1, 3]),
        ratio: r.pick(&[1, 1, 1, 2, 4, 8]),
        fancy: r.chance(70),
        dct: if r.chance(60) { Dct::Fast } else { Dct::Accurate },
        ..Options::default()
    };
    if r.chance(50) {
        let ratio = usize::from(options.ratio);
        let (width, height) = (width.div_ceil(ratio), height.div_ceil(ratio));
        let (x, y) = (r.below(width), r.below(height));
        let (width, height) = (1 + r.below(width - x), 1 + r.below(height - y));
        let edges = if r.chance(50) { Edges::Whole } else { Edges::Cropped };
        options.region = Some(Region { x, y, width, height, edges });
    }
    options
}
