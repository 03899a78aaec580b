//! `image.resize`: another height and width.

use super::common::{
    IMAGE, Images, MadeKernel, Specs, image_dims, image_error, kernel_of, numeric, sides, with_sides,
};
use gristmill_image::geometry;
use gristmill_image::resize::{Method, Scratch, resize as resize_image, resize_nearest};
use gristmill_plan::{Arg, ArgDef, Attrs, Class, OpDef, Outs};
use gristmill_types::{DType, Error, PartialShape, Result, Spec, Tensor, with_element};

pub(crate) static OP: OpDef = OpDef {
    name: "image.resize",
    doc: "Resizes images to `size` = [height, width].\n\nThe result is float32 with the range of the input, except for \
          method 'nearest', which keeps the dtype. Pixel centres are at half positions.",
    inputs: &[
        ArgDef { name: "images", ..IMAGE },
        ArgDef { name: "size", doc: "two integers: new height and width in pixels" },
    ],
    attrs: &[
        METHOD,
        ArgDef { name: "preserve_aspect_ratio", doc: "whether `size` is only a bound; default False" },
        ANTIALIAS,
    ],
    class: Class::Pure,
    total: false,
    elementwise: false,
    infer,
    kernel,
};

/// The `method` attribute.
pub(crate) const METHOD: ArgDef = ArgDef {
    name: "method",
    doc: "'bilinear' (default), 'nearest', 'area', 'bicubic', 'lanczos3', 'lanczos5', 'gaussian' or 'mitchellcubic'",
};

/// The `antialias` attribute.
pub(crate) const ANTIALIAS: ArgDef =
    ArgDef { name: "antialias", doc: "whether the kernel widens when an image gets smaller; default False" };

/// How to resize.
#[derive(Clone, Copy, Debug)]
pub(crate) struct How {
    pub(crate) method: Method,
    pub(crate) antialias: bool,
}

impl How {
    /// From the attributes `method` and `antialias`.
    pub(crate) fn of(attrs: &Attrs) -> Result<Self> {
        let method = Method::from_name(&attrs.str_or("method", "bilinear".into())?).map_err(image_error)?;
        Ok(Self { method, antialias: attrs.bool_or("antialias", false)? })
    }

    /// The dtype of the result.
    pub(crate) fn dtype(self, from: DType) -> DType {
        if self.method == Method::Nearest { from } else { DType::F32 }
    }
}

/// Height and width of a size tensor.
pub(crate) fn size_of(t: &Tensor) -> Result<(usize, usize)> {
    let values =
        t.to_i64s().map_err(|_| Error::invalid(format!("'size' must hold integers, found {}", t.dtype())))?;
    let [h, w] = values[..] else {
        return Err(size_error(t.shape()));
    };
    let side = |n: i64| usize::try_from(n).ok().filter(|&n| n > 0 && n <= i32::MAX as usize);
    side(h)
        .zip(side(w))
        .ok_or_else(|| Error::invalid(format!("output dimensions must be positive, found size [{h}, {w}]")))
}

fn size_error(shape: &dyn std::fmt::Display) -> Error {
    Error::invalid(format!(
        "'size' must be a 1-D Tensor of 2 elements: new_height, new_width; found shape {shape}"
    ))
}

fn infer(args: &[Arg], attrs: &Attrs) -> Specs {
    let how = How::of(attrs)?;
    let dims = image_dims(&args[0], "images")?;
    let dtype = how.dtype(numeric(&args[0], "images")?);
    if !args[1].spec.shape().compatible(&PartialShape::known(&[2])) {
        return Err(size_error(args[1].spec.shape()));
    }
    let mut to = (None, None);
    if let Some(size) = args[1].constant() {
        let (h, w) = size_of(size)?;
        to = if !attrs.bool_or("preserve_aspect_ratio", false)? {
            (Some(h), Some(w))
        } else if let (Some(from_h), Some(from_w)) = sides(&dims) {
            let (h, w) = geometry::preserve_aspect_ratio((from_h, from_w), (h, w));
            (Some(h), Some(w))
        } else {
            to
        };
    }
    Ok(vec![Spec::tensor(dtype, with_sides(dims, to.0, to.1))])
}

fn kernel(_: &[Arg], attrs: &Attrs) -> MadeKernel {
    let how = How::of(attrs)?;
    let preserve = attrs.bool_or("preserve_aspect_ratio", false)?;
    kernel_of(move |cx, inputs, out| {
        let t = inputs[0].tensor()?;
        let images = Images::of(t, "images")?;
        let mut to = size_of(inputs[1].tensor()?)?;
        if preserve {
            to = geometry::preserve_aspect_ratio(images.sides(), to);
        }
        into_output(how, t, images, to, out, cx.scratch.get())
    })
}

fn into_output(
    how: How,
    t: &Tensor,
    images: Images,
    to: (usize, usize),
    out: &mut Outs<'_>,
    scratch: &mut Scratch,
) -> Result<()> {
    let shape = images.shape(to.0, to.1, images.size.channels)?;
    if how.method == Method::Nearest {
        let dtype = t.dtype();
        let dst = out.plain(0, dtype, shape);
        return images
            .each(t.bytes(), dst, |src, dst| resize_nearest(src, images.bytes_size(dtype), dst, to));
    }
    resize_f32(how, t, images, to, out.typed(0, shape), scratch)
}

/// Resizes all images of a tensor by a method that gives float32.
pub(crate) fn resize_f32(
    how: How,
    t: &Tensor,
    images: Images,
    to: (usize, usize),
    dst: &mut [f32],
    scratch: &mut Scratch,
) -> Result<()> {
    with_element!(t.dtype(), T => images.each(t.as_slice::<T>()?, dst, |src, dst| {
        resize_image(how.method, how.antialias, src, images.size, dst, to, scratch)
    }), _ => Err(Error::invalid("an image must hold numbers, found string")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{attrs, eval, infer_err};
    use gristmill_plan::Attr;
    use gristmill_types::{Shape, Value};

    fn size(h: i32, w: i32) -> Value {
        Tensor::vector(&[h, w]).into()
    }

    fn image() -> Value {
        Tensor::from_vec(Shape::image(2, 2, 1), &[0u8, 10, 20, 30]).unwrap().into()
    }

    #[test]
    fn bilinear_and_nearest() {
        let out = eval(&OP, &[image(), size(1, 4)], Attrs::default()).unwrap();
        let t = out[0].tensor().unwrap();
        assert_eq!((t.dims(), t.as_slice::<f32>().unwrap()), (&[1, 4, 1][..], &[10.0, 12.5, 17.5, 20.0][..]));
        let nearest = attrs(&[("method", Attr::Str("nearest".into()))]);
        let out = eval(&OP, &[image(), size(4, 1)], nearest).unwrap();
        assert_eq!(out[0].tensor().unwrap().as_slice::<u8>().unwrap(), [10, 10, 30, 30]);
    }

    #[test]
    fn static_shapes() {
        let arg = |dims: &[Option<usize>]| Arg {
            spec: Spec::tensor(DType::U8, PartialShape::new(dims.to_vec())),
            value: None,
        };
        let image = arg(&[None, None, Some(3)]);
        let constant = Arg::from(&size(192, 160));
        let spec = |args: &[Arg], a: Attrs| infer(args, &a).unwrap()[0].to_string();
        assert_eq!(spec(&[image.clone(), constant.clone()], Attrs::default()), "float32(192, 160, 3)");
        let unknown = Arg { spec: Spec::tensor(DType::I32, PartialShape::known(&[2])), value: None };
        assert_eq!(spec(&[image.clone(), unknown], Attrs::default()), "float32(None, None, 3)");
        let keep = attrs(&[("preserve_aspect_ratio", Attr::Bool(true))]);
        assert_eq!(spec(&[image, constant.clone()], keep.clone()), "float32(None, None, 3)");
        assert_eq!(
            spec(&[arg(&[None, Some(9), Some(13), Some(3)]), Arg::from(&size(20, 20))], keep),
            "float32(None, 14, 20, 3)"
        );
    }

    #[test]
    fn wrong_arguments() {
        let three: Value = Tensor::vector(&[1i32, 2, 3]).into();
        assert!(
            infer_err(&OP, &[image(), three], Attrs::default())
                .contains("'size' must be a 1-D Tensor of 2 elements")
        );
        assert!(
            infer_err(&OP, &[image(), size(0, 2)], Attrs::default())
                .contains("output dimensions must be positive")
        );
        assert!(
            infer_err(&OP, &[Tensor::string("x").into(), size(1, 1)], Attrs::default())
                .contains("3 or 4 dimensions")
        );
        let method = attrs(&[("method", Attr::Str("cubicx".into()))]);
        assert!(
            infer_err(&OP, &[image(), size(1, 1)], method)
                .contains("Resize method is not implemented: cubicx")
        );
    }
}
