//! What the image ops share: layout of image tensors, argument checks, conversion through float32.

use gristmill_image::convert::{Pixel, convert_image};
use gristmill_image::resize::Size;
use gristmill_plan::{Arg, ArgDef, Attrs, Kernel, OpCx, Outs};
use gristmill_types::{
    DType, Element, Error, Kind, PartialShape, Result, Shape, Spec, Tensor, Value, with_element,
};

/// The usual first input.
pub(crate) const IMAGE: ArgDef =
    ArgDef { name: "image", doc: "[height, width, channels] or a batch [n, height, width, channels]" };

/// The pair of seeds of a stateless op.
pub(crate) const SEED: ArgDef = ArgDef { name: "seed", doc: "two integers, shape [2]" };

/// The seed attribute of a random op.
pub(crate) const SEED_ATTR: ArgDef =
    ArgDef { name: "seed", doc: "[graph seed, op seed] or None: drawn anew in every run" };

/// What infer gives.
pub(crate) type Specs = Result<Vec<Spec>>;
/// What kernel gives.
pub(crate) type MadeKernel = Result<Box<dyn Kernel>>;
/// Dimensions as far as known; `None` for an unknown rank.
pub(crate) type Dims = Option<Vec<Option<usize>>>;

/// A kernel of one output from a function of its inputs.
pub(crate) fn kernel_of<F>(f: F) -> MadeKernel
where
    F: Fn(&mut OpCx<'_>, &[Value], &mut Outs<'_>) -> Result<()> + Send + Sync + 'static,
{
    Ok(Box::new(f))
}

/// The error of the image crate as the one of ops.
pub(crate) fn image_error(e: gristmill_image::Error) -> Error {
    let kind = match e {
        gristmill_image::Error::Unsupported(_) => Kind::Unimplemented,
        _ => Kind::InvalidArgument,
    };
    Error::new(kind, e.to_string().trim_end_matches('.'))
}

fn rank_error(name: &str, shape: &dyn std::fmt::Display) -> Error {
    Error::invalid(format!("'{name}' must have either 3 or 4 dimensions, found shape {shape}"))
}

/// The images in a tensor: one of rank 3 or a batch of rank 4.
#[derive(Clone, Copy)]
pub(crate) struct Images {
    /// Number of images.
    pub(crate) count: usize,
    /// Size of each.
    pub(crate) size: Size,
    batched: bool,
}

impl Images {
    /// The layout of a tensor of rank 3 or 4.
    pub(crate) fn of(t: &Tensor, name: &str) -> Result<Self> {
        match *t.dims() {
            [h, w, c] => Ok(Self { count: 1, size: Size::new(h, w, c), batched: false }),
            [n, h, w, c] => Ok(Self { count: n, size: Size::new(h, w, c), batched: true }),
            _ => Err(rank_error(name, t.shape())),
        }
    }

    /// The shape of as many images of another size.
    pub(crate) fn shape(&self, height: usize, width: usize, channels: usize) -> Result<Shape> {
        if self.batched {
            Shape::new(&[self.count, height, width, channels])
        } else {
            Shape::new(&[height, width, channels])
        }
    }

    /// Height and width.
    pub(crate) fn sides(&self) -> (usize, usize) {
        (self.size.height, self.size.width)
    }

    /// The size with pixels counted in bytes.
    pub(crate) fn bytes_size(&self, dtype: DType) -> Size {
        Size { channels: self.size.channels * dtype.size(), ..self.size }
    }

    /// Calls `f` with source and destination of every image.
    pub(crate) fn each<S, D>(
        &self,
        src: &[S],
        dst: &mut [D],
        mut f: impl FnMut(&[S], &mut [D]) -> gristmill_image::Result<()>,
    ) -> Result<()> {
        let (from, to) = (src.len() / self.count.max(1), dst.len() / self.count.max(1));
        for i in 0..self.count {
            f(&src[i * from..(i + 1) * from], &mut dst[i * to..(i + 1) * to]).map_err(image_error)?;
        }
        Ok(())
    }
}

/// The dimensions of an image input, whose rank must be 3 or 4 if it is known.
pub(crate) fn image_dims(arg: &Arg, name: &str) -> Result<Dims> {
    dense(arg, name)?;
    match arg.spec.shape().dims() {
        Some(d) if !(3..=4).contains(&d.len()) => Err(rank_error(name, arg.spec.shape())),
        known => Ok(known.map(<[_]>::to_vec)),
    }
}

/// Height and width of image dimensions.
pub(crate) fn sides(dims: &Dims) -> (Option<usize>, Option<usize>) {
    dims.as_ref().map_or((None, None), |d| (d[d.len() - 3], d[d.len() - 2]))
}

/// The shape with another height and width.
pub(crate) fn with_sides(dims: Dims, height: Option<usize>, width: Option<usize>) -> PartialShape {
    let Some(mut d) = dims else {
        return PartialShape::UNKNOWN;
    };
    let n = d.len();
    (d[n - 3], d[n - 2]) = (height, width);
    PartialShape::new(d)
}

/// The shape with other channels; refuses what has not as many as `expected` says.
pub(crate) fn with_channels(arg: &Arg, name: &str, expected: usize, to: usize) -> Result<PartialShape> {
    dense(arg, name)?;
    let Some(d) = arg.spec.shape().dims() else {
        return Ok(PartialShape::UNKNOWN);
    };
    let mut d = d.to_vec();
    match d.last_mut() {
        Some(c) if c.is_none_or(|c| c == expected) => *c = Some(to),
        _ => return Err(channels_error(name, expected, arg.spec.shape())),
    }
    Ok(PartialShape::new(d))
}

/// The shape of a tensor with other channels; refuses what has not `expected` ones.
pub(crate) fn channels(t: &Tensor, name: &str, expected: usize, to: usize) -> Result<Shape> {
    match t.dims().split_last() {
        Some((&c, rest)) if c == expected => Shape::new(&[rest, &[to]].concat()),
        _ => Err(channels_error(name, expected, t.shape())),
    }
}

fn channels_error(name: &str, expected: usize, shape: &dyn std::fmt::Display) -> Error {
    Error::invalid(format!(
        "'{name}' must have {expected} channels in its last dimension, found shape {shape}"
    ))
}

/// Refuses sparse and ragged inputs.
pub(crate) fn dense(arg: &Arg, name: &str) -> Result<()> {
    if arg.spec.is_dense() {
        return Ok(());
    }
    Err(Error::invalid(format!("'{name}' must be a dense tensor, found {}", arg.spec)))
}

/// The dtype of an input of numbers.
pub(crate) fn numeric(arg: &Arg, name: &str) -> Result<DType> {
    match arg.dtype() {
        DType::String => Err(Error::invalid(format!("'{name}' must hold numbers, found string"))
            .hint("decode the bytes first: io.decode_jpeg, io.decode_png or io.decode_image")),
        DType::Bool => Err(Error::invalid(format!("'{name}' must hold numbers, found bool"))),
        d => Ok(d),
    }
}

/// The one number of a tensor as float32.
pub(crate) fn scalar_f32(v: &Value, name: &str) -> Result<f32> {
    let t = v.tensor()?;
    let one = |n: usize| {
        (n == 1)
            .then_some(())
            .ok_or_else(|| Error::invalid(format!("'{name}' must be one number, found shape {}", t.shape())))
    };
    one(t.count())?;
    with_element!(t.dtype(), T => Ok(gristmill_image::resize::Sample::to_f32(t.as_slice::<T>()?[0])),
        _ => Err(Error::invalid(format!("'{name}' must be a number, found string"))))
}

/// The one integer of a tensor.
pub(crate) fn scalar_int(t: &Tensor, name: &str) -> Result<i64> {
    t.item_i64().map_err(|e| Error::invalid(format!("'{name}' must be an integer: {}", e.message())))
}

/// The two integers of a stateless seed.
pub(crate) fn seed_of(v: &Value) -> Result<(u64, u64)> {
    let t = v.tensor()?;
    match t.to_i64s()?.as_slice() {
        [a, b] if t.shape().rank() == 1 => Ok((*a as u64, *b as u64)),
        _ => Err(Error::invalid(format!("seed must have shape [2], not {}", t.shape()))),
    }
}

/// Refuses a seed input that cannot be one.
pub(crate) fn check_seed(arg: &Arg) -> Result<()> {
    let fits = arg.spec.shape().compatible(&PartialShape::known(&[2]));
    if fits && arg.dtype().is_int() {
        return Ok(());
    }
    Err(Error::invalid(format!("seed must have shape [2] and hold integers, found {}", arg.spec)))
}

/// Working memory for images that are computed in float32.
#[derive(Default)]
struct Floats {
    from: Vec<f32>,
    to: Vec<f32>,
}

/// Computes output 0 in float32: `f` gets the samples as float32 and room for those of `shape`.
/// Other dtypes are converted before (integers to 0..1) and after (clipped with `saturate`).
pub(crate) fn through_f32(
    cx: &mut OpCx<'_>,
    t: &Tensor,
    out: &mut Outs<'_>,
    shape: Shape,
    saturate: bool,
    f: impl FnOnce(&[f32], &mut [f32]) -> Result<()>,
) -> Result<()> {
    if t.dtype() == DType::F32 {
        return f(t.as_slice()?, out.typed(0, shape));
    }
    let floats: &mut Floats = cx.scratch.get();
    floats.from.resize(t.count(), 0.0);
    floats.to.resize(shape.count(), 0.0);
    with_element!(t.dtype(), T => run_as::<T>(floats, t, out, shape, saturate, f),
        _ => Err(Error::invalid("an image must hold numbers, found string")))
}

fn run_as<T: Pixel + Element>(
    floats: &mut Floats,
    t: &Tensor,
    out: &mut Outs<'_>,
    shape: Shape,
    saturate: bool,
    f: impl FnOnce(&[f32], &mut [f32]) -> Result<()>,
) -> Result<()> {
    convert_image(t.as_slice::<T>()?, &mut floats.from, false).map_err(image_error)?;
    f(&floats.from, &mut floats.to)?;
    convert_image(&floats.to, out.typed::<T>(0, shape), saturate).map_err(image_error)
}

/// No attributes are looked at: for kernels that need none.
pub(crate) fn same_spec(args: &[Arg], _: &Attrs) -> Specs {
    let name = "image";
    image_dims(&args[0], name)?;
    Ok(vec![args[0].spec.clone()])
}

/// The shape of an input that holds images.
pub(crate) fn with_rank(arg: &Arg, name: &str) -> Result<PartialShape> {
    Ok(image_dims(arg, name)?.map_or(PartialShape::UNKNOWN, PartialShape::new))
}
