//! `io.decode_png`, `io.decode_gif`, `io.decode_bmp` and `io.decode_image`.

use super::decode_jpeg::channels;
use super::decoding::{CONTENTS, Slot, check_contents, contents, decode_into, explain, image_shape};
use crate::image::common::{MadeKernel, Specs, image_error, kernel_of};
use gristmill_image::convert::convert_image;
use gristmill_image::decode_any::{DecodeOptions, Op, Target, decode};
use gristmill_image::{Image, Output};
use gristmill_plan::{Arg, ArgDef, Attrs, Class, OpDef, Outs};
use gristmill_types::{DType, Error, PartialShape, Result, Spec, with_element};

const CHANNELS: ArgDef = ArgDef { name: "channels", doc: "0 (as in the file, default), 1, 3 or 4" };

pub(crate) static PNG: OpDef = OpDef {
    name: "io.decode_png",
    doc: "Decodes a PNG (also a JPEG or a GIF of one frame).\n\n[height, width, channels] of uint8 or uint16.",
    inputs: &[CONTENTS],
    attrs: &[CHANNELS, ArgDef { name: "dtype", doc: "uint8 (default) or uint16" }],
    class: Class::Pure,
    total: false,
    elementwise: false,
    infer: infer_png,
    kernel: kernel_png,
};

pub(crate) static GIF: OpDef = OpDef {
    name: "io.decode_gif",
    doc: "Decodes all frames of a GIF (also a JPEG or PNG as one frame).\n\nuint8 [frames, height, width, 3].",
    inputs: &[CONTENTS],
    attrs: &[],
    class: Class::Pure,
    total: false,
    elementwise: false,
    infer: infer_gif,
    kernel: kernel_gif,
};

pub(crate) static BMP: OpDef = OpDef {
    name: "io.decode_bmp",
    doc: "Decodes a BMP without compression and palette.\n\nuint8 [height, width, channels].",
    inputs: &[CONTENTS],
    attrs: &[ArgDef { name: "channels", doc: "0 (as in the file, default), 3 or 4" }],
    class: Class::Pure,
    total: false,
    elementwise: false,
    infer: infer_bmp,
    kernel: kernel_bmp,
};

pub(crate) static IMAGE: OpDef = OpDef {
    name: "io.decode_image",
    doc: "Decodes a JPEG, PNG, GIF, BMP or WebP.\n\n[height, width, channels], or [frames, height, width, channels] for a \
          GIF or WebP with `expand_animations`; the static shape is unknown then. WebP gives uint8 only.",
    inputs: &[CONTENTS],
    attrs: &[
        CHANNELS,
        ArgDef { name: "dtype", doc: "uint8 (default), or another number type with samples in its range" },
        ArgDef { name: "expand_animations", doc: "whether a GIF or WebP gives all its frames; default True" },
    ],
    class: Class::Pure,
    total: false,
    elementwise: false,
    infer: infer_image,
    kernel: kernel_image,
};

fn options(op: Op, channels: u32) -> DecodeOptions<'static> {
    DecodeOptions { op, channels, ..Default::default() }
}

fn png_dtype(attrs: &Attrs) -> Result<DType> {
    match attrs.dtype_or("dtype", DType::U8)? {
        d @ (DType::U8 | DType::U16) => Ok(d),
        other => Err(Error::invalid(format!("dtype must be uint8 or uint16, found {other}"))),
    }
}

fn infer_png(args: &[Arg], attrs: &Attrs) -> Specs {
    check_contents(&args[0], "contents")?;
    Ok(vec![Spec::tensor(png_dtype(attrs)?, image_shape(channels(attrs)?))])
}

fn kernel_png(_: &[Arg], attrs: &Attrs) -> MadeKernel {
    let (dtype, options) = (png_dtype(attrs)?, options(Op::DecodePng, channels(attrs)?));
    kernel_of(move |_, inputs, out| decode_into(contents(&inputs[0], "contents")?, &options, dtype, out))
}

fn infer_gif(args: &[Arg], _: &Attrs) -> Specs {
    check_contents(&args[0], "contents")?;
    Ok(vec![Spec::tensor(DType::U8, PartialShape::new(vec![None, None, None, Some(3)]))])
}

fn kernel_gif(_: &[Arg], _: &Attrs) -> MadeKernel {
    let options = options(Op::DecodeGif, 3);
    kernel_of(move |_, inputs, out| decode_into(contents(&inputs[0], "contents")?, &options, DType::U8, out))
}

fn infer_bmp(args: &[Arg], attrs: &Attrs) -> Specs {
    check_contents(&args[0], "contents")?;
    Ok(vec![Spec::tensor(DType::U8, image_shape(channels(attrs)?))])
}

fn kernel_bmp(_: &[Arg], attrs: &Attrs) -> MadeKernel {
    let options = options(Op::DecodeBmp, channels(attrs)?);
    kernel_of(move |_, inputs, out| decode_into(contents(&inputs[0], "contents")?, &options, DType::U8, out))
}

fn image_dtype(attrs: &Attrs) -> Result<DType> {
    match attrs.dtype_or("dtype", DType::U8)? {
        d @ (DType::Bool | DType::String) => {
            Err(Error::invalid(format!("dtype must be either floating point or integer, found {d}")))
        }
        d => Ok(d),
    }
}

fn infer_image(args: &[Arg], attrs: &Attrs) -> Specs {
    check_contents(&args[0], "contents")?;
    let shape = match attrs.bool_or("expand_animations", true)? {
        true => PartialShape::UNKNOWN,
        false => image_shape(channels(attrs)?),
    };
    channels(attrs)?;
    Ok(vec![Spec::tensor(image_dtype(attrs)?, shape)])
}

fn image_options(attrs: &Attrs) -> Result<DecodeOptions<'static>> {
    Ok(DecodeOptions {
        expand_animations: attrs.bool_or("expand_animations", true)?,
        ..options(Op::DecodeImage, channels(attrs)?)
    })
}

/// The options of `io.decode_png` or `io.decode_image` with these attributes, where they give uint8.
pub(crate) fn uint8_options(op: &OpDef, attrs: &Attrs) -> Result<Option<DecodeOptions<'static>>> {
    let (dtype, options) = if op.name == PNG.name {
        (png_dtype(attrs)?, options(Op::DecodePng, channels(attrs)?))
    } else {
        (image_dtype(attrs)?, image_options(attrs)?)
    };
    Ok((dtype == DType::U8).then_some(options))
}

fn kernel_image(_: &[Arg], attrs: &Attrs) -> MadeKernel {
    let (dtype, options) = (image_dtype(attrs)?, image_options(attrs)?);
    kernel_of(move |_, inputs, out| {
        let bytes = contents(&inputs[0], "contents")?;
        match dtype {
            DType::U8 | DType::U16 | DType::F32 => decode_into(bytes, &options, dtype, out),
            _ => decode_other(bytes, &options, dtype, out),
        }
    })
}

/// As TensorFlow has it: dtypes that the decoder does not give are made from uint16.
fn decode_other(bytes: &[u8], options: &DecodeOptions<'_>, dtype: DType, out: &mut Outs<'_>) -> Result<()> {
    let mut image = Image::<u16>::default();
    decode(bytes, options, Target::U16(&mut image)).map_err(|e| explain(image_error(e), bytes))?;
    let mut slot = Slot::new(out);
    with_element!(dtype, T => {
        let dst: &mut [T] = slot.slot(&image.shape).map_err(image_error)?;
        convert_image(&image.data, dst, false).map_err(image_error)
    }, _ => Err(Error::internal("the dtype was checked when the op was placed")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{attrs, eval, infer_err};
    use gristmill_image::png;
    use gristmill_plan::Attr;
    use gristmill_types::{Tensor, Value};

    fn image() -> Value {
        Tensor::string(png::encode(&[0u8, 51, 255], 1, 1, 3, -1).unwrap()).into()
    }

    #[test]
    fn dtypes() {
        let to = |d| attrs(&[("dtype", Attr::DType(d))]);
        let run = |op, d| eval(op, &[image()], to(d)).unwrap().remove(0).tensor().unwrap().clone();
        assert_eq!(run(&PNG, DType::U8).as_slice::<u8>().unwrap(), [0, 51, 255]);
        assert_eq!(run(&PNG, DType::U16).as_slice::<u16>().unwrap(), [0, 51 * 257, 65535]);
        assert_eq!(run(&IMAGE, DType::F32).as_slice::<f32>().unwrap()[2], 1.0);
        assert_eq!(run(&IMAGE, DType::F64).as_slice::<f64>().unwrap(), [0.0, 0.2, 1.0]);
        assert!(infer_err(&PNG, &[image()], to(DType::F32)).contains("uint8 or uint16"));
    }

    /// 2 x 1 pixels, lossless: red and blue.
    const WEBP: &[u8] =
        b"RIFF\x1e\0\0\0WEBPVP8L\x11\0\0\0/\x01\0\0\0\x0f\x10\xf3\xbf\xff\xf3\x1f\x0e2\xa2\xff\x01\0";

    #[test]
    fn webp() {
        let webp: Value = Tensor::string(WEBP).into();
        let run = |attrs| eval(&IMAGE, std::slice::from_ref(&webp), attrs).unwrap().remove(0);
        let whole = run(Attrs::default());
        let t = whole.tensor().unwrap();
        assert_eq!((t.dims(), t.bytes()), (&[1, 1, 2, 3][..], &[255, 0, 0, 0, 0, 255][..]));
        let still = run(attrs(&[("expand_animations", Attr::Bool(false))]));
        assert_eq!(still.tensor().unwrap().dims(), &[1, 2, 3]);
        let real = attrs(&[("dtype", Attr::DType(DType::F32))]);
        let e = eval(&IMAGE, std::slice::from_ref(&webp), real).unwrap_err();
        assert!(e.message().contains("WebP only supports uint8 for dtype"), "{e}");
    }

    #[test]
    fn static_shapes() {
        let arg = Arg::from(&image());
        let spec = |a: Attrs| infer_image(std::slice::from_ref(&arg), &a).unwrap()[0].to_string();
        assert_eq!(spec(Attrs::default()), "uint8<unknown>");
        assert_eq!(spec(attrs(&[("expand_animations", Attr::Bool(false))])), "uint8(None, None, None)");
        let out = eval(&GIF, &[image()], Attrs::default()).unwrap();
        assert_eq!(out[0].tensor().unwrap().dims(), &[1, 1, 1, 3]);
        assert!(
            eval(&BMP, &[image()], Attrs::default())
                .unwrap_err()
                .message()
                .contains("Trying to decode PNG format")
        );
    }
}
