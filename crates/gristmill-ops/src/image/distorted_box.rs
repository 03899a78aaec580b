//! `image.sample_distorted_bounding_box` and its stateless form: a random window that shows enough of some object.

use super::common::{MadeKernel, SEED, SEED_ATTR, Specs, check_seed, dense, kernel_of, scalar_f32, seed_of};
use gristmill_plan::{Arg, ArgDef, Attrs, Class, OpDef, Outs};
use gristmill_types::rng::{Philox, uniform_f32};
use gristmill_types::{DType, Error, PartialShape, Result, Shape, Spec, Tensor, Value, with_element};

const SIZE: ArgDef =
    ArgDef { name: "image_size", doc: "uint8, int8, int16, int32 or int64 [3]: height, width and channels" };
const BOXES: ArgDef = ArgDef {
    name: "bounding_boxes",
    doc: "float32 [batch, n, 4]: objects as top, left, bottom and right, in fractions of the image",
};
const COVERED: ArgDef = ArgDef {
    name: "min_object_covered",
    doc: "float32 scalar: the share of some object that the window has to show",
};
const ATTRS: &[ArgDef] = &[
    ArgDef { name: "aspect_ratio_range", doc: "least and largest width / height; default [0.75, 1.33]" },
    ArgDef { name: "area_range", doc: "least and largest share of the image's area; default [0.05, 1]" },
    ArgDef { name: "max_attempts", doc: "draws before the whole image is taken; default 100" },
    ArgDef {
        name: "use_image_if_no_bounding_boxes",
        doc: "whether the whole image is the object where none is given; default False, an error",
    },
];
const RANDOM_ATTRS: &[ArgDef] = &[SEED_ATTR, ATTRS[0], ATTRS[1], ATTRS[2], ATTRS[3]];

pub(crate) static OP: OpDef = OpDef {
    name: "image.sample_distorted_bounding_box",
    doc: "Draws a window of random size, shape and place anew for each element.\n\n\
          Three outputs for `slice` and for drawing: begin [3] and size [3] of image_size's dtype (size ends with -1), and \
          the window as a box, float32 [1, 1, 4]. The whole image where no draw satisfies the bounds.",
    inputs: &[SIZE, BOXES, COVERED],
    attrs: RANDOM_ATTRS,
    class: Class::Random,
    total: false,
    elementwise: false,
    infer,
    kernel,
};

pub(crate) static STATELESS: OpDef = OpDef {
    name: "image.stateless_sample_distorted_bounding_box",
    doc: "Draws a window of random size, shape and place as the seed alone decides: TensorFlow's, value for value.\n\n\
          Outputs as those of `image.sample_distorted_bounding_box`.",
    inputs: &[SIZE, BOXES, COVERED, SEED],
    attrs: ATTRS,
    class: Class::Pure,
    total: false,
    elementwise: false,
    infer: infer_stateless,
    kernel: kernel_stateless,
};

/// What is drawn.
#[derive(Clone, Copy)]
struct Bounds {
    aspect: [f32; 2],
    area: [f32; 2],
    attempts: i64,
    whole_image: bool,
}

impl Bounds {
    fn of(attrs: &Attrs) -> Result<Self> {
        let bounds = Self {
            aspect: pair(attrs, "aspect_ratio_range", "Aspect ratio range", [0.75, 1.33])?,
            area: pair(attrs, "area_range", "Area range", [0.05, 1.0])?,
            attempts: attrs.int_or("max_attempts", 100)?,
            whole_image: attrs.bool_or("use_image_if_no_bounding_boxes", false)?,
        };
        let [low, high] = bounds.area;
        if low > 1.0 || high > 1.0 {
            return Err(Error::invalid(format!(
                "Area range must be less then or equal to 1.0: [{low}, {high}]"
            )));
        }
        if bounds.attempts <= 0 {
            return Err(Error::invalid(format!("Max attempts must be non-negative: {}", bounds.attempts))
                .hint("give at least one attempt"));
        }
        Ok(bounds)
    }
}

/// Two numbers above 0 under `name`, which TensorFlow's messages call `title`.
fn pair(attrs: &Attrs, name: &str, title: &str, default: [f32; 2]) -> Result<[f32; 2]> {
    use gristmill_plan::Attr;
    if matches!(attrs.get(name), None | Some(Attr::None)) {
        return Ok(default);
    }
    let given = attrs.list(name)?;
    let number = |a: &Attr| Attrs::default().with(name, a.clone()).float(name).map(|v| v as f32);
    let [low, high] = given.as_slice() else {
        return Err(Error::invalid(format!(
            "{title} field must specify 2 dimensions, found {}",
            given.len()
        )));
    };
    let (low, high) = (number(low)?, number(high)?);
    // Written so that NaN is refused too.
    if !(low > 0.0 && high > 0.0) {
        return Err(Error::invalid(format!("{title} must be non-negative: [{low}, {high}]"))
            .hint("both numbers have to be above 0"));
    }
    Ok([low, high])
}

fn infer(args: &[Arg], attrs: &Attrs) -> Specs {
    Bounds::of(attrs)?;
    args.iter().zip([SIZE, BOXES, COVERED]).try_for_each(|(a, def)| dense(a, def.name))?;
    let dtype = args[0].dtype();
    if !matches!(dtype, DType::U8 | DType::I8 | DType::I16 | DType::I32 | DType::I64) {
        return Err(Error::invalid(format!(
            "image_size must be uint8, int8, int16, int32 or int64, found {dtype}"
        )));
    }
    size_shape(args[0].spec.shape(), |s| s.dims().map(<[_]>::to_vec))?;
    box_shape(args[1].spec.shape(), |s| s.dims().map(<[_]>::to_vec))?;
    if args[1].dtype() != DType::F32 {
        return Err(Error::invalid(format!("bounding_boxes must be float32, found {}", args[1].dtype())));
    }
    if let Some(t) = args[2].constant() {
        covered(&Value::Tensor(t.clone()))?;
    }
    let three = Spec::tensor(dtype, PartialShape::known(&[3]));
    Ok(vec![three.clone(), three, Spec::tensor(DType::F32, PartialShape::known(&[1, 1, 4]))])
}

fn infer_stateless(args: &[Arg], attrs: &Attrs) -> Specs {
    check_seed(&args[3])?;
    infer(args, attrs)
}

fn size_shape<S: std::fmt::Display>(
    shape: &S,
    dims: impl Fn(&S) -> Option<Vec<Option<usize>>>,
) -> Result<()> {
    match dims(shape).as_deref() {
        None | Some([None | Some(3)]) => Ok(()),
        Some([_]) => Err(Error::invalid(format!("image_size must contain 3 elements, found shape {shape}"))),
        Some(_) => Err(Error::invalid(format!("image_size must be 1-dimensional, found shape {shape}"))),
    }
}

fn box_shape<S: std::fmt::Display>(shape: &S, dims: impl Fn(&S) -> Option<Vec<Option<usize>>>) -> Result<()> {
    match dims(shape).as_deref() {
        None | Some([_, _, None | Some(4)]) => Ok(()),
        Some([_, _, _]) => {
            Err(Error::invalid(format!("bounding boxes must have shape [4] or [*, 4], got {shape}")))
        }
        Some(_) => Err(Error::invalid(format!(
            "input boxes must be 3-dimensional [batch, num_boxes, coords], found shape {shape}"
        ))),
    }
}

fn covered(v: &Value) -> Result<f32> {
    let t = v.tensor()?;
    if t.shape().rank() != 0 {
        return Err(Error::invalid(format!("min_object_covered must be 0-D, got shape {}", t.shape())));
    }
    let share = scalar_f32(v, "min_object_covered")?;
    if share >= 0.0 {
        return Ok(share);
    }
    Err(Error::invalid(format!("Min object covered must be non-negative: {share}")))
}

fn kernel(_: &[Arg], attrs: &Attrs) -> MadeKernel {
    let (bounds, seed) = (Bounds::of(attrs)?, attrs.seed()?);
    kernel_of(move |cx, inputs, out| run(&bounds, inputs, cx.philox(seed), out))
}

fn kernel_stateless(_: &[Arg], attrs: &Attrs) -> MadeKernel {
    let bounds = Bounds::of(attrs)?;
    kernel_of(move |_, inputs, out| {
        let (a, b) = seed_of(&inputs[3])?;
        run(&bounds, inputs, Philox::stateless(a, b), out)
    })
}

/// A rectangle in pixels; the right and lower edges are outside.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Rect {
    top: i32,
    left: i32,
    bottom: i32,
    right: i32,
}

impl Rect {
    fn area(&self) -> f32 {
        // In 32 bits that wrap, as in TensorFlow.
        (self.right - self.left).wrapping_mul(self.bottom - self.top) as f32
    }

    fn intersection(&self, o: &Self) -> Self {
        let (top, left) = (self.top.max(o.top), self.left.max(o.left));
        let (bottom, right) = (self.bottom.min(o.bottom), self.right.min(o.right));
        if top > bottom || left > right {
            return Self { top: 0, left: 0, bottom: 0, right: 0 };
        }
        Self { top, left, bottom, right }
    }

    /// Whether it shows at least that share of some object of at least a pixel.
    fn shows(&self, share: f32, objects: &[Self]) -> bool {
        self.area() >= 1.0
            && objects.iter().any(|o| o.area() >= 1.0 && self.intersection(o).area() / o.area() >= share)
    }
}

/// A number in `[0, n)` without bias (`SimplePhilox::Uniform`).
fn below(philox: &mut Philox, n: u32) -> i32 {
    if n & n.wrapping_sub(1) == 0 {
        return (philox.next_u32() & n.wrapping_sub(1)) as i32;
    }
    let rest = u32::MAX % n + 1;
    loop {
        let word = philox.next_u32();
        if word >= rest {
            return (word % n) as i32;
        }
    }
}

fn round(v: f32) -> i32 {
    v.round_ties_even() as i32
}

/// One attempt of that ratio of width to height (`GenerateRandomCrop` of
/// `tensorflow/core/kernels/image/sample_distorted_bounding_box_op.cc`): `None` where the area cannot be kept.
fn attempt(height: i32, width: i32, area: [f32; 2], aspect: f32, philox: &mut Philox) -> Option<Rect> {
    if height <= 0 || width <= 0 || area[0] > area[1] {
        return None;
    }
    let [least, most] = area.map(|share| share * width as f32 * height as f32);
    let mut h = round((least / aspect).sqrt());
    let mut highest = round((most / aspect).sqrt());
    if round(highest as f32 * aspect) > width {
        const EPSILON: f32 = 0.000_000_1;
        highest = ((f64::from(width) + 0.5 - f64::from(EPSILON)) / f64::from(aspect)) as i32;
        if round(highest as f32 * aspect) > width {
            highest -= 1;
        }
    }
    highest = highest.min(height);
    h = h.min(highest);
    if h < highest {
        h += below(philox, (highest - h + 1) as u32);
    }
    let mut w = round(h as f32 * aspect);
    let mut got = w.wrapping_mul(h) as f32;
    // Rounding may have left the bounds by a row.
    if got < least {
        h += 1;
        w = round(h as f32 * aspect);
        got = w.wrapping_mul(h) as f32;
    }
    if got > most {
        h -= 1;
        w = round(h as f32 * aspect);
        got = w.wrapping_mul(h) as f32;
    }
    if got < least || got > most || w > width || h > height || w <= 0 || h <= 0 {
        return None;
    }
    let top = if h < height { below(philox, (height - h) as u32) } else { 0 };
    let left = if w < width { below(philox, (width - w) as u32) } else { 0 };
    Some(Rect { top, left, bottom: top + h, right: left + w })
}

/// The objects in pixels.
fn objects(boxes: &Tensor, height: i32, width: i32, whole_image: bool) -> Result<Vec<Rect>> {
    box_shape(boxes.shape(), |s| Some(s.dims().iter().map(|&d| Some(d)).collect()))?;
    let values = boxes.as_slice::<f32>()?;
    if values.is_empty() {
        if whole_image {
            return Ok(vec![Rect { top: 0, left: 0, bottom: height, right: width }]);
        }
        return Err(Error::invalid(
            "No bounding boxes provided as input. One must enable use_image_if_no_bounding_boxes if you wish to not \
             provide any bounding boxes",
        ));
    }
    if let Some(wrong) = values.iter().find(|v| !(0.0..=1.0).contains(*v)) {
        return Err(Error::invalid(format!("All bounding box coordinates must be in [0.0, 1.0]: {wrong}")));
    }
    let at = |share: f32, side: i32| (share * side as f32) as i32;
    let rect = |b: &[f32]| Rect {
        top: at(b[0], height),
        left: at(b[1], width),
        bottom: at(b[2], height),
        right: at(b[3], width),
    };
    Ok(values.chunks_exact(4).map(rect).collect())
}

fn run(bounds: &Bounds, inputs: &[Value], mut philox: Philox, out: &mut Outs<'_>) -> Result<()> {
    let size = inputs[0].tensor()?;
    size_shape(size.shape(), |s| Some(s.dims().iter().map(|&d| Some(d)).collect()))?;
    let sizes = size.to_i64s()?;
    let side = |i: usize, name: &str| {
        i32::try_from(sizes[i]).ok().filter(|&n| (0..i32::MAX).contains(&n)).ok_or_else(|| {
            Error::invalid(format!("image {name} cannot be >= int32 max or negative, found {}", sizes[i]))
        })
    };
    let (height, width) = (side(0, "height")?, side(1, "width")?);
    let objects = objects(inputs[1].tensor()?, height, width, bounds.whole_image)?;
    let share = covered(&inputs[2])?;
    let [low, high] = bounds.aspect;
    let drawn = (0..bounds.attempts).find_map(|_| {
        let aspect = uniform_f32(philox.next_u32()) * (high - low) + low;
        attempt(height, width, bounds.area, aspect, &mut philox).filter(|r| r.shows(share, &objects))
    });
    let r = drawn.unwrap_or(Rect { top: 0, left: 0, bottom: height, right: width });
    let (h, w) = (height as f32, width as f32);
    let edges = [r.top as f32 / h, r.left as f32 / w, r.bottom as f32 / h, r.right as f32 / w];
    out.typed::<f32>(2, Shape::new(&[1, 1, 4])?).copy_from_slice(&edges);
    with_element!(size.dtype(), T => {
        use crate::math::num::Num;
        write::<T>(out, [r.top, r.left, 0], [r.bottom - r.top, r.right - r.left, -1], |v| T::from_i128(i128::from(v)))
    }, _ => return Err(Error::internal("infer accepted the dtype of image_size")));
    Ok(())
}

fn write<T: gristmill_types::Element>(out: &mut Outs<'_>, begin: [i32; 3], size: [i32; 3], to: fn(i32) -> T) {
    out.typed::<T>(0, Shape::vector(3)).copy_from_slice(&begin.map(to));
    out.typed::<T>(1, Shape::vector(3)).copy_from_slice(&size.map(to));
}

#[cfg(test)]
mod tests;
