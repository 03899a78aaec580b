//! `image.crop_and_resize`: boxes of images, all resized to one size.

use super::common::{MadeKernel, Specs, dense, kernel_of, numeric};
use gristmill_image::resize::Sample;
use gristmill_plan::{Arg, ArgDef, Attrs, Class, OpDef};
use gristmill_types::{DType, Element, Error, PartialShape, Result, Shape, Spec, Tensor, with_element};

pub(crate) static OP: OpDef = OpDef {
    name: "image.crop_and_resize",
    doc: "Cuts boxes out of a batch of images and resizes them to one size.\n\nfloat32 [boxes, crop_height, crop_width, channels]. \
          Boxes are [y1, x1, y2, x2] with 0 and 1 at the centres of the outermost pixels.",
    inputs: &[
        ArgDef { name: "image", doc: "[n, height, width, channels], numbers" },
        ArgDef { name: "boxes", doc: "float32 [boxes, 4]" },
        ArgDef { name: "box_indices", doc: "int32 [boxes]: image of each box" },
        ArgDef { name: "crop_size", doc: "two integers: height and width in pixels" },
    ],
    attrs: &[
        ArgDef { name: "method", doc: "'bilinear' (default) or 'nearest'" },
        ArgDef { name: "extrapolation_value", doc: "value outside of the image; default 0" },
    ],
    class: Class::Pure,
    total: false,
    elementwise: false,
    infer,
    kernel,
};

fn is_nearest(attrs: &Attrs) -> Result<bool> {
    match attrs.str_or("method", "bilinear".into())?.as_str() {
        "bilinear" => Ok(false),
        "nearest" => Ok(true),
        other => Err(Error::invalid(format!("method must be 'bilinear' or 'nearest', found '{other}'"))),
    }
}

fn size_of(t: &Tensor) -> Result<(usize, usize)> {
    let sides = t.to_i64s()?;
    let [h, w] = sides[..] else {
        return Err(Error::invalid(format!("crop_size must have two elements, found shape {}", t.shape())));
    };
    let side = |n: i64| usize::try_from(n).ok().filter(|&n| n > 0 && n <= i32::MAX as usize);
    side(h)
        .zip(side(w))
        .ok_or_else(|| Error::invalid(format!("crop dimensions must be positive, found [{h}, {w}]")))
}

fn infer(args: &[Arg], attrs: &Attrs) -> Specs {
    is_nearest(attrs)?;
    numeric(&args[0], "image")?;
    let rank = |i: usize, name: &str, rank: usize| match args[i].spec.shape().rank() {
        Some(r) if r != rank => {
            Err(Error::invalid(format!("{name} must be {rank}-D, found {}", args[i].spec)))
        }
        _ => dense(&args[i], name),
    };
    rank(0, "image", 4)?;
    rank(1, "boxes", 2)?;
    rank(2, "box_indices", 1)?;
    if args[1].dtype() != DType::F32 || !args[2].dtype().is_int() {
        return Err(Error::invalid(format!(
            "boxes must be float32 and box_indices integers, found {} and {}",
            args[1].dtype(),
            args[2].dtype()
        )));
    }
    let (h, w) = match args[3].constant() {
        Some(t) => size_of(t).map(|(h, w)| (Some(h), Some(w)))?,
        None => (None, None),
    };
    let boxes = args[1].spec.shape().dim(0).or(args[2].spec.shape().dim(0));
    Ok(vec![Spec::tensor(DType::F32, PartialShape::new(vec![boxes, h, w, args[0].spec.shape().dim(3)]))])
}

fn kernel(_: &[Arg], attrs: &Attrs) -> MadeKernel {
    let (nearest, outside) = (is_nearest(attrs)?, attrs.float_or("extrapolation_value", 0.0)? as f32);
    kernel_of(move |_, inputs, out| {
        let (t, boxes) = (inputs[0].tensor()?, inputs[1].tensor()?);
        let indices = inputs[2].tensor()?.to_i64s()?;
        let (h, w) = size_of(inputs[3].tensor()?)?;
        let &[n, height, width, channels] = t.dims() else {
            return Err(Error::invalid(format!("image must be 4-D, found shape {}", t.shape())));
        };
        if boxes.dims() != [indices.len(), 4] {
            return Err(Error::invalid(format!(
                "boxes must have shape [{}, 4] as there are so many box_indices, found {}",
                indices.len(),
                boxes.shape()
            )));
        }
        if height == 0 || width == 0 {
            return Err(Error::invalid("image dimensions must be positive"));
        }
        let dst: &mut [f32] = out.typed(0, Shape::new(&[indices.len(), h, w, channels])?);
        let each = (h * w * channels).max(1);
        for ((b, &index), dst) in
            boxes.as_slice::<f32>()?.chunks_exact(4).zip(&indices).zip(dst.chunks_exact_mut(each))
        {
            let index = usize::try_from(index).ok().filter(|&i| i < n).ok_or_else(|| {
                Error::invalid(format!("box_indices has values outside [0, {n}), found {index}"))
            })?;
            let job = Job {
                y: Axis::new(b[0], b[2], height, h),
                x: Axis::new(b[1], b[3], width, w),
                nearest,
                outside,
            };
            let image = t.row(index);
            with_element!(t.dtype(), T => job.run(image.as_slice::<T>()?, width, channels, dst),
                _ => return Err(Error::invalid("an image must hold numbers, found string")));
        }
        Ok(())
    })
}

/// Where the samples of a box lie along one side.
struct Axis {
    first: f32,
    step: f32,
    last: f32,
    count: usize,
}

impl Axis {
    fn new(from: f32, to: f32, n: usize, count: usize) -> Self {
        let last = (n - 1) as f32;
        let (first, step) = if count > 1 {
            (from * last, (to - from) * last / (count - 1) as f32)
        } else {
            (0.5 * (from + to) * last, 0.0)
        };
        Self { first, step, last, count }
    }

    /// The place of sample `i`; `None` outside of the image.
    fn at(&self, i: usize) -> Option<f32> {
        let place = self.first + i as f32 * self.step;
        (place >= 0.0 && place <= self.last).then_some(place)
    }
}

struct Job {
    y: Axis,
    x: Axis,
    nearest: bool,
    outside: f32,
}

impl Job {
    fn run<T: Sample + Element>(&self, src: &[T], width: usize, channels: usize, dst: &mut [f32]) {
        let at = |y: usize, x: usize, c: usize| src[(y * width + x) * channels + c].to_f32();
        for i in 0..self.y.count {
            for j in 0..self.x.count {
                let out = &mut dst[(i * self.x.count + j) * channels..][..channels];
                let Some((y, x)) = self.y.at(i).zip(self.x.at(j)) else {
                    out.fill(self.outside);
                    continue;
                };
                if self.nearest {
                    // Away from zero at halves, as C's roundf.
                    let (y, x) = (y.round() as usize, x.round() as usize);
                    out.iter_mut().enumerate().for_each(|(c, o)| *o = at(y, x, c));
                    continue;
                }
                let (top, left) = (y.floor(), x.floor());
                let (dy, dx) = (y - top, x - left);
                let (y0, y1) = (top as usize, y.ceil() as usize);
                let (x0, x1) = (left as usize, x.ceil() as usize);
                for (c, o) in out.iter_mut().enumerate() {
                    let upper = at(y0, x0, c) + (at(y0, x1, c) - at(y0, x0, c)) * dx;
                    let lower = at(y1, x0, c) + (at(y1, x1, c) - at(y1, x0, c)) * dx;
                    *o = upper + (lower - upper) * dy;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::eval;
    use gristmill_types::Value;

    #[test]
    fn the_whole_and_a_part() {
        let x = Tensor::from_vec(Shape::new(&[1, 2, 2, 1]).unwrap(), &[0u8, 10, 20, 30]).unwrap();
        let boxes =
            Tensor::from_vec(Shape::new(&[2, 4]).unwrap(), &[0f32, 0.0, 1.0, 1.0, 0.5, 0.0, 1.5, 1.0])
                .unwrap();
        let inputs: [Value; 4] =
            [x.into(), boxes.into(), Tensor::vector(&[0i32, 0]).into(), Tensor::vector(&[2i32, 2]).into()];
        let out = eval(&OP, &inputs, Attrs::default()).unwrap();
        assert_eq!(
            out[0].tensor().unwrap().as_slice::<f32>().unwrap(),
            [0.0, 10.0, 20.0, 30.0, 10.0, 20.0, 0.0, 0.0]
        );
    }
}
