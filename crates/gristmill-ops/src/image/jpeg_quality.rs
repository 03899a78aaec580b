//! `image.adjust_jpeg_quality`, `image.random_jpeg_quality` and its stateless form.

use super::common::{
    IMAGE, MadeKernel, SEED, SEED_ATTR, Specs, check_seed, image_dims, image_error, kernel_of, numeric,
    scalar_int, seed_of,
};
use gristmill_image::convert::convert_image;
use gristmill_image::jpeg::{EncodeOptions, JpegOptions, decode, encode};
use gristmill_plan::{Arg, ArgDef, Attrs, Class, OpDef, Outs};
use gristmill_types::rng::Philox;
use gristmill_types::{DType, Error, Kind, Result, Tensor, with_element};

const MIN: ArgDef = ArgDef { name: "min_jpeg_quality", doc: "smallest quality, from 0 to 100" };
const MAX: ArgDef = ArgDef { name: "max_jpeg_quality", doc: "qualities are drawn below this, at most 100" };

pub(crate) static ADJUST: OpDef = OpDef {
    name: "image.adjust_jpeg_quality",
    doc: "Encodes an image as JPEG and decodes it again.\n\nOne image of 1 or 3 channels; shape and dtype stay. Other dtypes than \
          uint8 are converted before and after.",
    inputs: &[IMAGE, ArgDef { name: "jpeg_quality", doc: "integer scalar from 0 to 100" }],
    attrs: &[],
    class: Class::Pure,
    total: false,
    elementwise: false,
    infer,
    kernel,
};

pub(crate) static RANDOM: OpDef = OpDef {
    name: "image.random_jpeg_quality",
    doc: "Encodes an image as JPEG of a quality drawn anew for each element and decodes it again.\n\nShape and dtype stay.",
    inputs: &[IMAGE],
    attrs: &[MIN, MAX, SEED_ATTR],
    class: Class::Random,
    total: false,
    elementwise: false,
    infer: infer_random,
    kernel: kernel_random,
};

pub(crate) static STATELESS: OpDef = OpDef {
    name: "image.stateless_random_jpeg_quality",
    doc: "Encodes an image as JPEG of a quality that the seed alone decides and decodes it again.\n\nShape and dtype stay.",
    inputs: &[IMAGE, SEED],
    attrs: &[MIN, MAX],
    class: Class::Pure,
    total: false,
    elementwise: false,
    infer: infer_stateless,
    kernel: kernel_stateless,
};

fn infer(args: &[Arg], _: &Attrs) -> Specs {
    numeric(&args[0], "image")?;
    match image_dims(&args[0], "image")? {
        Some(d) if d.len() != 3 => {
            Err(Error::invalid(format!("image must be 3-dimensional, found {}", args[0].spec)))
        }
        _ => Ok(vec![args[0].spec.clone()]),
    }
}

fn infer_random(args: &[Arg], attrs: &Attrs) -> Specs {
    range(attrs)?;
    infer(args, attrs)
}

fn infer_stateless(args: &[Arg], attrs: &Attrs) -> Specs {
    check_seed(&args[1])?;
    infer_random(args, attrs)
}

fn range(attrs: &Attrs) -> Result<(i64, u64)> {
    let (min, max) = (attrs.int("min_jpeg_quality")?, attrs.int("max_jpeg_quality")?);
    let refuse = |what: &str| Err(Error::new(Kind::Value, format!("{what}, found {min} and {max}")));
    if !(0..=100).contains(&min) || !(0..=100).contains(&max) {
        return refuse("jpeg encoding range must be between 0 and 100");
    }
    if min >= max {
        return refuse("min_jpeg_quality must be less than max_jpeg_quality");
    }
    Ok((min, (max - min) as u64))
}

fn kernel(_: &[Arg], _: &Attrs) -> MadeKernel {
    kernel_of(|_, inputs, out| {
        let quality = scalar_int(inputs[1].tensor()?, "jpeg_quality")?;
        again(inputs[0].tensor()?, quality, out)
    })
}

fn kernel_random(_: &[Arg], attrs: &Attrs) -> MadeKernel {
    let (range, seed) = (range(attrs)?, attrs.seed()?);
    kernel_of(move |cx, inputs, out| again(inputs[0].tensor()?, draw(cx.philox(seed), range), out))
}

fn kernel_stateless(_: &[Arg], attrs: &Attrs) -> MadeKernel {
    let range = range(attrs)?;
    kernel_of(move |_, inputs, out| {
        let (a, b) = seed_of(&inputs[1])?;
        again(inputs[0].tensor()?, draw(Philox::stateless(a, b), range), out)
    })
}

fn draw(mut philox: Philox, (low, count): (i64, u64)) -> i64 {
    low + (u64::from(philox.next_u32()) % count) as i64
}

/// Encodes with that quality and decodes into output 0.
fn again(t: &Tensor, quality: i64, out: &mut Outs<'_>) -> Result<()> {
    let &[h, w, c] = t.dims() else {
        return Err(Error::invalid(format!("image must be 3-dimensional, found shape {}", t.shape())));
    };
    let quality = i32::try_from(quality).unwrap_or(-1);
    let mut bytes = Vec::new();
    let pixels = if t.dtype() == DType::U8 {
        t.as_slice::<u8>()?
    } else {
        bytes.resize(t.count(), 0);
        with_element!(t.dtype(), T => convert_image(t.as_slice::<T>()?, &mut bytes, true).map_err(image_error)?,
            _ => return Err(Error::invalid("an image must hold numbers, found string")));
        &bytes
    };
    let encoded =
        encode(pixels, h, w, c, &EncodeOptions { quality, ..Default::default() }).map_err(image_error)?;
    let options = JpegOptions { channels: c as u32, ..Default::default() };
    if t.dtype() == DType::U8 {
        return decode(&encoded, &options, &mut crate::io::Slot::new(out)).map_err(image_error);
    }
    decode(&encoded, &options, &mut bytes).map_err(image_error)?;
    with_element!(t.dtype(), T => convert_image(&bytes, out.typed::<T>(0, *t.shape()), true).map_err(image_error),
        _ => Err(Error::invalid("an image must hold numbers, found string")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{attrs, eval, infer_err};
    use gristmill_plan::Attr;
    use gristmill_types::{Shape, Value};

    #[test]
    fn a_flat_image_stays() {
        let x: Value = Tensor::from_vec(Shape::image(8, 8, 3), &[128u8; 192]).unwrap().into();
        let quality: Value = Tensor::scalar(50i32).into();
        assert_eq!(eval(&ADJUST, &[x.clone(), quality], Attrs::default()).unwrap(), std::slice::from_ref(&x));
        let given = attrs(&[("min_jpeg_quality", Attr::Int(40)), ("max_jpeg_quality", Attr::Int(90))]);
        let all = std::slice::from_ref(&x);
        assert_eq!(eval(&RANDOM, all, given).unwrap(), all);
        let given = attrs(&[("min_jpeg_quality", Attr::Int(90)), ("max_jpeg_quality", Attr::Int(90))]);
        assert!(infer_err(&RANDOM, &[x], given).contains("must be less than"));
    }
}
