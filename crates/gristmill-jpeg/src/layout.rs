//! What a decode makes of a frame: sizes of planes and output, methods, and which parts are needed.

use crate::color::Convert;
use crate::few::Few;
use crate::frame::{Component, Frame};
use crate::idct::Kind;
use crate::marker::Space;
use crate::options::{Edges, Options, Region};
use crate::upsample::Method;
use crate::{Error, Result};

/// The part of a component's plane that is needed.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Plane {
    pub(crate) kind: Kind,
    /// Samples per block and direction.
    pub(crate) size: usize,
    /// Sampling factors.
    pub(crate) h: usize,
    pub(crate) v: usize,
    pub(crate) method: Method,
    /// First block column that is transformed, and how many; samples are counted from there.
    pub(crate) first_block: usize,
    pub(crate) blocks: usize,
    /// Samples of a row that belong to the image (or to the view of it).
    pub(crate) width: usize,
    /// Rows that belong to the image.
    pub(crate) height: usize,
    /// Rows of one band.
    pub(crate) rows: usize,
}

/// The whole of it.
#[derive(Debug, Clone)]
pub(crate) struct Layout {
    /// Planes of the components that are needed.
    pub(crate) planes: Few<Plane>,
    pub(crate) convert: Convert,
    /// Output rows of the whole image.
    pub(crate) full_height: usize,
    /// Output rows of a band (an MCU row).
    pub(crate) band: usize,
    /// Whether upsampling looks at rows of the next band.
    pub(crate) looks_around: bool,
    /// Where the output starts in the (upsampled) planes.
    pub(crate) skip: usize,
    /// Rows of the image that are wanted.
    pub(crate) first_row: usize,
    /// Shape of the output.
    pub(crate) height: usize,
    pub(crate) width: usize,
    pub(crate) channels: usize,
    /// Bands that have to be transformed.
    pub(crate) first_band: usize,
    pub(crate) last_band: usize,
}

/// Size of a block's transform for each component: planes of less resolution are enlarged by it where they can be.
fn sizes(frame: &Frame, smallest: usize) -> Few<usize> {
    let fits = |max: usize, own: usize, size: usize| (max * smallest).is_multiple_of(own * size * 2);
    let grow = |c: &Component| {
        let mut size = smallest;
        while size < 8 && fits(frame.max_h, c.h, size) && fits(frame.max_v, c.v, size) {
            size *= 2;
        }
        size
    };
    frame.components.iter().map(grow).collect()
}

impl Layout {
    pub(crate) fn new(frame: &Frame, space: Space, inverted: bool, options: &Options) -> Result<Self> {
        options.check()?;
        let smallest = 8 / usize::from(options.ratio);
        let (full_width, full_height) =
            ((frame.width * smallest).div_ceil(8), (frame.height * smallest).div_ceil(8));
        let pixels = full_width as u64 * full_height as u64;
        if pixels * frame.components.len() as u64 >= options.max_samples {
            return Err(Error::Unsupported("more samples than the limit"));
        }
        let (convert, channels) = Convert::of(space, options.channels, inverted)?;
        let region = match options.region {
            None => Region { x: 0, y: 0, width: full_width, height: full_height, edges: Edges::Whole },
            Some(r) => r,
        };
        let end = |start: usize, size: usize| start.checked_add(size).filter(|_| size > 0);
        let right = end(region.x, region.width).filter(|&e| e <= full_width);
        let bottom = end(region.y, region.height).filter(|&e| e <= full_height);
        let (Some(right), Some(bottom)) = (right, bottom) else {
            return Err(Error::Options("the region must not be empty and must lie inside the image"));
        };

        let mut layout = Self {
            planes: Few::default(),
            convert,
            full_height,
            band: frame.max_v * smallest,
            looks_around: false,
            skip: 0,
            first_row: region.y,
            height: region.height,
            width: region.width,
            channels,
            first_band: 0,
            last_band: frame.mcus_high - 1,
        };
        let sizes = sizes(frame, smallest);
        let plane = |(c, &size): (&Component, &usize)| {
            let width = (frame.width * c.h * size).div_ceil(frame.max_h * 8);
            let height = (frame.height * c.v * size).div_ceil(frame.max_v * 8);
            let fancy = options.fancy && smallest > 1;
            let group = (c.h * size / smallest, c.v * size / smallest);
            let method = method(group, (frame.max_h, frame.max_v), fancy, width)?;
            let (kind, rows) = (Kind::of(size, options.dct), c.v * size);
            let (h, v) = (c.h, c.v);
            Ok(Plane { kind, size, h, v, method, first_block: 0, blocks: 0, width, height, rows })
        };
        let inputs = frame.components.iter().zip(sizes.iter()).take(convert.inputs());
        layout.planes = inputs.map(plane).collect::<Result<_>>()?;
        layout.set_columns(frame, &sizes, smallest, (region.x, right), full_width, region.edges);
        layout.looks_around = layout.planes.iter().any(|p| p.method.looks_around());
        let margin = usize::from(layout.looks_around);
        layout.first_band = region.y.saturating_sub(margin) / layout.band;
        layout.last_band = ((bottom - 1 + margin) / layout.band).min(frame.mcus_high - 1);
        Ok(layout)
    }

    /// Narrows the planes to the columns from `left` to `right` of the output.
    fn set_columns(
        &mut self,
        frame: &Frame,
        sizes: &[usize],
        smallest: usize,
        (left, right): (usize, usize),
        full_width: usize,
        edges: Edges,
    ) {
        let align = frame.max_h * smallest;
        let full = left == 0 && right == full_width;
        let (start, end) = match edges {
            _ if full => (0, full_width),
            Edges::Cropped => (left / align * align, right),
            // One colour sample more on either side, whose own (wrong) neighbours do not show.
            Edges::Whole => {
                let margin = 2 * frame.max_h;
                let end = (right + margin).div_ceil(frame.max_h) * frame.max_h;
                (left.saturating_sub(margin) / align * align, end.min(full_width))
            }
        };
        // Libjpeg looks at the methods anew when a component becomes this narrow.
        let narrow = frame.components.iter().zip(sizes).any(|(c, size)| {
            let before = (frame.width * c.h * size).div_ceil(frame.max_h * 8);
            ((end - start) * c.h * size).div_ceil(align) < 2 && before >= 2
        });
        for p in self.planes.iter_mut() {
            let scale = p.h * p.size;
            p.width = ((end - start) * scale).div_ceil(align);
            let origin = start * scale / align;
            p.first_block = origin / p.size;
            // The padding of whole MCUs too: it would have to be cleared otherwise.
            p.blocks = if full {
                frame.mcus_wide * p.h
            } else {
                (origin + p.width).div_ceil(p.size) - p.first_block
            };
        }
        if narrow && !full && edges == Edges::Cropped {
            for p in self.planes.iter_mut() {
                p.method = match p.method {
                    Method::Wide if p.width <= 2 => Method::Repeat { h: 2, v: 1 },
                    Method::Both if p.width <= 2 => Method::Repeat { h: 2, v: 2 },
                    other => other,
                };
            }
        }
        self.skip = left - start;
    }

    /// How many MCUs of a row of `wide`, from the first on, have all blocks that are transformed.
    pub(crate) fn mcus_read(&self, wide: usize) -> usize {
        let end = |p: &Plane| (p.first_block + p.blocks).div_ceil(p.h);
        self.planes.iter().map(end).max().unwrap_or(wide).min(wide)
    }

    /// How many output rows (of the whole image) are complete when `bands` bands are transformed.
    pub(crate) fn rows_ready(&self, bands: usize) -> usize {
        let rows = bands * self.band;
        if rows >= self.full_height {
            self.full_height
        } else {
            // The last row looks at the band below.
            rows - usize::from(self.looks_around)
        }
    }
}

/// Libjpeg's choice; `group` are the samples that become one group of `full` pixels.
fn method(group: (usize, usize), full: (usize, usize), fancy: bool, width: usize) -> Result<Method> {
    let ((h, v), (full_h, full_v)) = (group, full);
    if !full_h.is_multiple_of(h) || !full_v.is_multiple_of(v) {
        return Err(Error::Unsupported("sampling factors that are no multiples of each other"));
    }
    Ok(match (full_h / h, full_v / v) {
        (1, 1) => Method::Full,
        (2, 1) if fancy && width > 2 => Method::Wide,
        (1, 2) if fancy => Method::High,
        (2, 2) if fancy && width > 2 => Method::Both,
        (h, v) => Method::Repeat { h, v },
    })
}
