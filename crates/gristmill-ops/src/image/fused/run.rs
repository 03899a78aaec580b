//! The fast way: decode what is read, then one pass.

use super::compile::{Compiled, Link, Origin, Wanted, When};
use super::reduced;
use crate::image::common::seed_of;
use crate::image::resize::{How, size_of};
use crate::io::decode_jpeg;
use crate::io::decoding::{Slot, contents};
use gristmill_image::Image;
use gristmill_image::chain::{self, Chain, Mirror, Operation, Resize, Samples, Source, Step};
use gristmill_image::decode_any::{self, DecodeOptions, Target};
use gristmill_image::geometry::{Window, preserve_aspect_ratio};
use gristmill_image::jpeg::{self, JpegOptions};
use gristmill_image::resize::{Sample, Size};
use gristmill_plan::{OpCx, Outs};
use gristmill_types::rng::{Philox, uniform_f32};
use gristmill_types::{DType, Shape, Tensor, Value};
use half::{bf16, f16};

/// Working memory of a thread.
#[derive(Default)]
pub(super) struct Work {
    pixels: Image<u8>,
    chain: chain::Scratch,
    pub(super) geometry: Geometry,
}

/// What the links of a chain mean for one image.
#[derive(Default)]
pub(super) struct Geometry {
    pub(super) before: Vec<(Operation, std::ops::Range<usize>)>,
    after: Vec<(Operation, std::ops::Range<usize>)>,
    /// The operands of all steps.
    numbers: Vec<f32>,
    mirrors: [Mirror; 2],
    pub(super) resize: Option<Resize>,
}

/// Runs a chain on one element. `None`, with nothing of use written, where the ops themselves have to run.
pub(super) fn run(chain: &Compiled, cx: &mut OpCx<'_>, inputs: &[Value], out: &mut Outs<'_>) -> Option<()> {
    // Taken, so that random links can use the rest of the scratch.
    let mut work = std::mem::take(cx.scratch.get::<Work>());
    let done = with_work(chain, cx, inputs, out, &mut work);
    *cx.scratch.get::<Work>() = work;
    done
}

fn with_work(
    chain: &Compiled,
    cx: &mut OpCx<'_>,
    inputs: &[Value],
    out: &mut Outs<'_>,
    work: &mut Work,
) -> Option<()> {
    match &chain.origin {
        Origin::Image(given) => {
            let t = given.get(inputs).tensor().ok()?;
            let &[h, w, c] = t.dims() else { return None };
            let window = work.geometry.read(chain, [h, w, c], cx, inputs)?;
            let size = Size::new(h, w, c);
            match t.dtype() {
                DType::U8 => finish(chain, t.as_slice::<u8>().ok()?, (size, window), out, work.split()),
                DType::F32 => finish(chain, t.as_slice::<f32>().ok()?, (size, window), out, work.split()),
                _ => None,
            }
        }
        Origin::Encoded { contents: given, options, window: crop, index } => {
            let bytes = contents(given.get(inputs), "contents").ok()?;
            let mut options = *options;
            if let Some(crop) = crop {
                options.jpeg.crop = Some(decode_jpeg::window(crop.get(inputs).tensor().ok()?).ok()?);
            }
            if let Some(index) = index {
                options.jpeg.restart_index = Some(contents(index.get(inputs), "restart_index").ok()?);
            }
            encoded(chain, bytes, &options, cx, inputs, out, work)
        }
    }
}

fn encoded(
    chain: &Compiled,
    bytes: &[u8],
    options: &DecodeOptions<'_>,
    cx: &mut OpCx<'_>,
    inputs: &[Value],
    out: &mut Outs<'_>,
    work: &mut Work,
) -> Option<()> {
    let from_header = jpeg::is_jpeg(bytes);
    let jpeg_options = JpegOptions { channels: options.channels, ..options.jpeg };
    let dims = if from_header {
        let [h, w, c] = jpeg::output_shape(bytes, &jpeg_options).ok()?;
        // Its pixels at the edges are not those of the whole.
        options.jpeg.crop.map_or(Some([h, w, c]), |crop| {
            Some([usize::try_from(crop.height).ok()?, usize::try_from(crop.width).ok()?, c])
        })?
    } else if chain.wanted_shape().is_some() {
        return None;
    } else {
        decode_any::decode(bytes, options, Target::U8(&mut work.pixels)).ok()?;
        <[usize; 3]>::try_from(work.pixels.shape.as_slice()).ok()?
    };
    if let Some(dtype) = chain.wanted_shape() {
        return put_shape(dims, dtype, out);
    }
    let window = work.geometry.read(chain, dims, cx, inputs)?;
    if chain.reduced
        && from_header
        && reduced::run(chain, bytes, &jpeg_options, (window, dims[2]), out, work).is_some()
    {
        return Some(());
    }
    if !from_header {
        let (pixels, geometry, scratch) = work.parts();
        let size = Size::new(dims[0], dims[1], dims[2]);
        return finish(chain, &pixels.data, (size, window), out, (geometry, scratch));
    }
    let part = (window != Window::whole(dims[0], dims[1])).then_some(window);
    if work.geometry.is_plain() && chain.wanted == Wanted::Pixels(DType::U8) {
        let mut slot = Slot::new(out);
        return match part {
            None => jpeg::decode(bytes, &jpeg_options, &mut slot).ok(),
            Some(window) if options.jpeg.crop.is_none() => {
                jpeg::decode_region(bytes, &jpeg_options, window, &mut slot).ok()
            }
            Some(_) => None,
        };
    }
    if part.is_some() && options.jpeg.crop.is_some() {
        jpeg::decode(bytes, &jpeg_options, &mut work.pixels).ok()?;
        let (pixels, geometry, scratch) = work.parts();
        let size = Size::new(dims[0], dims[1], dims[2]);
        return finish(chain, &pixels.data, (size, window), out, (geometry, scratch));
    }
    let (size, whole) =
        (Size::new(window.height, window.width, dims[2]), Window::whole(window.height, window.width));
    let (pixels, geometry, scratch) = work.parts();
    with_chain(chain, (size, whole), out, geometry, |all, dst| {
        if chain::streams(all) {
            let mut stream = chain::Stream::new(size, all, dst, scratch)?;
            // The image is never there as a whole: each band is used while it is in cache.
            return jpeg::decode_rows(bytes, &jpeg_options, part, &mut pixels.data, &mut |first, rows| {
                stream.band(first, rows);
                Ok(())
            });
        }
        match part {
            None => jpeg::decode(bytes, &jpeg_options, pixels)?,
            Some(window) => jpeg::decode_region(bytes, &jpeg_options, window, pixels)?,
        }
        chain::run(Source { samples: &pixels.data, size, window: whole }, all, dst, scratch)
    })
}

impl Compiled {
    fn wanted_shape(&self) -> Option<DType> {
        match self.wanted {
            Wanted::Shape(dtype) => Some(dtype),
            Wanted::Pixels(_) => None,
        }
    }
}

fn put_shape(dims: [usize; 3], dtype: DType, out: &mut Outs<'_>) -> Option<()> {
    match dtype {
        DType::I32 => out.typed::<i32>(0, Shape::vector(3)).copy_from_slice(&dims.map(|n| n as i32)),
        DType::I64 => out.typed::<i64>(0, Shape::vector(3)).copy_from_slice(&dims.map(|n| n as i64)),
        _ => return None,
    }
    Some(())
}

impl Work {
    pub(super) fn parts(&mut self) -> (&mut Image<u8>, &Geometry, &mut chain::Scratch) {
        (&mut self.pixels, &self.geometry, &mut self.chain)
    }

    fn split(&mut self) -> (&Geometry, &mut chain::Scratch) {
        (&self.geometry, &mut self.chain)
    }
}

impl Geometry {
    /// Follows the links for an origin of that height, width and channels; gives the part that is read.
    fn read(
        &mut self,
        chain: &Compiled,
        dims: [usize; 3],
        cx: &mut OpCx<'_>,
        inputs: &[Value],
    ) -> Option<Window> {
        self.before.clear();
        self.after.clear();
        self.numbers.clear();
        (self.mirrors, self.resize) = (<[Mirror; 2]>::default(), None);
        let channels = dims[2];
        let mut window = Window::whole(dims[0], dims[1]);
        window.fits(dims[0], dims[1]).then_some(())?;
        for link in &chain.links {
            let late = usize::from(self.resize.is_some());
            match link {
                Link::Window(op) => {
                    // What a window of a mirrored image shows is not worked out here.
                    if self.mirrors[late] != Mirror::default() {
                        return None;
                    }
                    let now = self.resize.map_or(window, |r| r.keep);
                    let inner = now.part(op.window([now.height, now.width, channels], cx, inputs)?);
                    match &mut self.resize {
                        Some(r) => r.keep = inner,
                        None => window = inner,
                    }
                }
                Link::Flip { up_down, when } => {
                    if drawn(when, cx, inputs)? {
                        let mirror = Mirror { rows: *up_down, columns: !up_down };
                        self.mirrors[late] = self.mirrors[late].then(mirror);
                    }
                }
                Link::Resize { how, preserve, size } => {
                    let mut to = size_of(size.get(inputs).tensor().ok()?).ok()?;
                    if *preserve {
                        to = preserve_aspect_ratio((window.height, window.width), to);
                    }
                    let &How { method, antialias } = how;
                    self.resize = Some(Resize { method, antialias, to, keep: Window::whole(to.0, to.1) });
                }
                Link::Step { operation, operand } => {
                    let from = self.numbers.len();
                    read_numbers(operand.get(inputs).tensor().ok()?, channels, &mut self.numbers)?;
                    self.push(*operation, from);
                }
                Link::Scale(scale) => {
                    self.numbers.push(*scale);
                    self.push(Operation::Multiply, self.numbers.len() - 1);
                }
                Link::Round(half) => self.push(Operation::Round(*half), self.numbers.len()),
            }
        }
        Some(window)
    }

    fn push(&mut self, operation: Operation, from: usize) {
        let steps = if self.resize.is_some() { &mut self.after } else { &mut self.before };
        steps.push((operation, from..self.numbers.len()));
    }

    /// Whether pixels are only cut out.
    fn is_plain(&self) -> bool {
        self.before.is_empty() && self.resize.is_none() && self.mirrors == <[Mirror; 2]>::default()
    }
}

fn drawn(when: &When, cx: &mut OpCx<'_>, inputs: &[Value]) -> Option<bool> {
    let mut philox = match when {
        When::Always => return Some(true),
        When::Random(seed, op_id) => {
            OpCx { scratch: &mut *cx.scratch, draw: cx.draw, op_id: *op_id }.philox(*seed)
        }
        When::Stateless(seed) => {
            let (a, b) = seed_of(seed.get(inputs)).ok()?;
            Philox::stateless(a, b)
        }
    };
    Some(uniform_f32(philox.next_u32()) < 0.5)
}

/// One number, or one a channel, of an operand that does not change the shape of an image.
fn read_numbers(t: &Tensor, channels: usize, to: &mut Vec<f32>) -> Option<()> {
    let (last, leading) = t.dims().split_last().map_or((1, &[][..]), |(l, d)| (*l, d));
    if leading.len() > 2 || leading.iter().any(|&d| d != 1) || (last != 1 && last != channels) {
        return None;
    }
    match t.dtype() {
        DType::F32 => to.extend_from_slice(t.as_slice().ok()?),
        DType::F16 => to.extend(t.as_slice::<f16>().ok()?.iter().map(|v| v.to_f32())),
        DType::BF16 => to.extend(t.as_slice::<bf16>().ok()?.iter().map(|v| v.to_f32())),
        _ => return None,
    }
    Some(())
}

/// Runs a chain on samples that are there.
fn finish<T: Sample>(
    chain: &Compiled,
    samples: &[T],
    (size, window): (Size, Window),
    out: &mut Outs<'_>,
    (geometry, scratch): (&Geometry, &mut chain::Scratch),
) -> Option<()> {
    with_chain(chain, (size, window), out, geometry, |all, dst| {
        chain::run(Source { samples, size, window }, all, dst, scratch)
    })
}

/// Gives `run` the chain for one image and the place of its result.
pub(super) fn with_chain(
    chain: &Compiled,
    (size, window): (Size, Window),
    out: &mut Outs<'_>,
    geometry: &Geometry,
    run: impl FnOnce(&Chain<'_>, &mut Samples<'_>) -> gristmill_image::Result<()>,
) -> Option<()> {
    let steps = |list: &[(Operation, std::ops::Range<usize>)]| -> Vec<Step<'_>> {
        let step = |(operation, at): &(Operation, std::ops::Range<usize>)| Step {
            operation: *operation,
            operand: &geometry.numbers[at.clone()],
        };
        list.iter().map(step).collect()
    };
    let (before, after) = (steps(&geometry.before), steps(&geometry.after));
    let [mirror_before, mirror_after] = geometry.mirrors;
    let all = Chain { before: &before, mirror_before, resize: geometry.resize, after: &after, mirror_after };
    let (h, w) = chain::sides(window, &all);
    let shape = Shape::new(&[h, w, size.channels]).ok()?;
    let mut dst = match chain.wanted {
        Wanted::Pixels(DType::U8) => Samples::U8(out.typed(0, shape)),
        Wanted::Pixels(DType::F32) => Samples::F32(out.typed(0, shape)),
        Wanted::Pixels(DType::F16) => Samples::F16(out.typed(0, shape)),
        Wanted::Pixels(DType::BF16) => Samples::BF16(out.typed(0, shape)),
        _ => return None,
    };
    run(&all, &mut dst).ok()
}
