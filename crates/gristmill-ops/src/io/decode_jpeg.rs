//! `io.decode_jpeg` and `io.decode_and_crop_jpeg`.

use super::decoding::{CONTENTS, check_contents, contents, decode_into, image_shape};
use crate::image::common::{MadeKernel, Specs, image_error, kernel_of};
use gristmill_image::decode_any::{DecodeOptions, Op};
use gristmill_image::jpeg::{Crop, DctMethod, JpegOptions};
use gristmill_plan::{Arg, ArgDef, Attrs, Class, OpDef};
use gristmill_types::{DType, Error, PartialShape, Result, Spec, Tensor};

const ATTRS: &[ArgDef] = &[
    ArgDef { name: "channels", doc: "0 (as in the file, default), 1 (grey) or 3 (RGB)" },
    ArgDef { name: "ratio", doc: "makes the image smaller by 1 (default), 2, 4 or 8 while decoding" },
    ArgDef { name: "fancy_upscaling", doc: "smooth enlarging of the colour planes; default True" },
    ArgDef {
        name: "try_recover_truncated",
        doc: "whether files that end early are decoded as far as they go; default False",
    },
    ArgDef { name: "acceptable_fraction", doc: "share of the rows that a damaged file must have; default 1" },
    ArgDef { name: "dct_method", doc: "'' (default, fast), 'INTEGER_FAST' or 'INTEGER_ACCURATE'" },
];

pub(crate) static OP: OpDef = OpDef {
    name: "io.decode_jpeg",
    doc: "Decodes a JPEG (also a PNG, a GIF of one frame, or a WebP with all its frames).\n\nuint8 [height, width, channels], \
          for WebP [frames, height, width, channels]. Fails for other formats and for damaged data.",
    inputs: &[CONTENTS],
    attrs: ATTRS,
    class: Class::Pure,
    total: false,
    elementwise: false,
    infer,
    kernel,
};

pub(crate) static CROP: OpDef = OpDef {
    name: "io.decode_and_crop_jpeg",
    doc: "Decodes a rectangle of a JPEG, without the work for the rest.\n\nuint8 [crop height, crop width, channels]. Fails for \
          other formats, damaged data and a window that is not inside.",
    inputs: &[
        CONTENTS,
        ArgDef { name: "crop_window", doc: "int32 [4]: y, x, height and width in pixels of the result" },
        ArgDef {
            name: "restart_index*",
            doc: "string scalar: what `io.jpeg_restart_index` gave for the file; saves work, values are the same",
        },
    ],
    attrs: ATTRS,
    class: Class::Pure,
    total: false,
    elementwise: false,
    infer: infer_crop,
    kernel: kernel_crop,
};

/// The `channels` attribute.
pub(crate) fn channels(attrs: &Attrs) -> Result<u32> {
    let n = attrs.int_or("channels", 0)?;
    u32::try_from(n)
        .ok()
        .filter(|n| matches!(n, 0 | 1 | 3 | 4))
        .ok_or_else(|| Error::invalid(format!("`channels` must be 0, 1, 3 or 4 but got {n}")))
}

/// The options of a decoding op of this file.
pub(crate) fn options(attrs: &Attrs, op: Op) -> Result<DecodeOptions<'static>> {
    let ratio = attrs.int_or("ratio", 1)?;
    let jpeg = JpegOptions {
        channels: channels(attrs)?,
        ratio: u32::try_from(ratio).unwrap_or(0),
        fancy_upscaling: attrs.bool_or("fancy_upscaling", true)?,
        try_recover_truncated: attrs.bool_or("try_recover_truncated", false)?,
        acceptable_fraction: attrs.float_or("acceptable_fraction", 1.0)? as f32,
        dct_method: DctMethod::from_name(&attrs.str_or("dct_method", String::new())?).map_err(image_error)?,
        crop: None,
        restart_index: None,
    };
    if !matches!(ratio, 1 | 2 | 4 | 8) {
        return Err(Error::invalid(format!("ratio must be 1, 2, 4, or 8, got {ratio}")));
    }
    // A PNG under this op may have 4 channels; a JPEG is refused when it is decoded.
    JpegOptions { channels: jpeg.channels % 4, ..jpeg }.check().map_err(image_error)?;
    Ok(DecodeOptions { op, channels: jpeg.channels, expand_animations: true, jpeg })
}

fn infer(args: &[Arg], attrs: &Attrs) -> Specs {
    check_contents(&args[0], "contents")?;
    let options = options(attrs, Op::DecodeJpeg)?;
    Ok(vec![Spec::tensor(DType::U8, image_shape(options.channels))])
}

fn kernel(_: &[Arg], attrs: &Attrs) -> MadeKernel {
    let options = options(attrs, Op::DecodeJpeg)?;
    kernel_of(move |_, inputs, out| decode_into(contents(&inputs[0], "contents")?, &options, DType::U8, out))
}

/// The crop window of `io.decode_and_crop_jpeg`.
pub(crate) fn window(t: &Tensor) -> Result<Crop> {
    let values = t.to_i64s()?;
    let [y, x, height, width] = values[..] else {
        return Err(Error::invalid(format!(
            "crop_window must have four elements, found shape {}",
            t.shape()
        )));
    };
    // Out of range becomes a window that is not inside the image.
    let int = |n: i64| i32::try_from(n).unwrap_or(-1);
    Ok(Crop { y: int(y), x: int(x), height: int(height), width: int(width) })
}

fn infer_crop(args: &[Arg], attrs: &Attrs) -> Specs {
    check_contents(&args[0], "contents")?;
    if !args[1].spec.shape().compatible(&PartialShape::known(&[4])) {
        return Err(Error::invalid(format!(
            "crop_window must have four elements, found shape {}",
            args[1].spec.shape()
        )));
    }
    match &args[2..] {
        [] => {}
        [index] => check_contents(index, "restart_index")?,
        more => {
            return Err(Error::invalid(format!("expected at most one restart_index, found {}", more.len())));
        }
    }
    let options = options(attrs, Op::DecodeAndCropJpeg)?;
    let mut dims = image_shape(options.channels).dims().unwrap_or(&[]).to_vec();
    if let Some(t) = args[1].constant() {
        let crop = window(t)?;
        dims[0] = usize::try_from(crop.height).ok();
        dims[1] = usize::try_from(crop.width).ok();
    }
    Ok(vec![Spec::tensor(DType::U8, PartialShape::new(dims))])
}

fn kernel_crop(_: &[Arg], attrs: &Attrs) -> MadeKernel {
    let options = options(attrs, Op::DecodeAndCropJpeg)?;
    kernel_of(move |_, inputs, out| {
        let mut options = options;
        options.jpeg.crop = Some(window(inputs[1].tensor()?)?);
        if let Some(index) = inputs.get(2) {
            options.jpeg.restart_index = Some(contents(index, "restart_index")?);
        }
        decode_into(contents(&inputs[0], "contents")?, &options, DType::U8, out)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::jpeg_header::RESTART_INDEX;
    use crate::testing::{attrs, eval, infer_err};
    use gristmill_image::jpeg::{EncodeOptions, encode};
    use gristmill_plan::{Attr, Draw, OpCx, Out, Outs, Scratch};
    use gristmill_types::{Shape, Value};

    fn grey() -> Vec<u8> {
        encode(&[128; 16 * 24 * 3], 16, 24, 3, &EncodeOptions::default()).unwrap()
    }

    fn jpeg() -> Value {
        Tensor::string(grey()).into()
    }

    #[test]
    fn decodes_whole_and_in_part() {
        let out = eval(&OP, &[jpeg()], Attrs::default()).unwrap();
        let t = out[0].tensor().unwrap();
        assert_eq!((t.dims(), t.bytes()), (&[16, 24, 3][..], &[128; 16 * 24 * 3][..]));
        let window: Value = Tensor::vector(&[2i32, 4, 5, 6]).into();
        let out = eval(&CROP, &[jpeg(), window], Attrs::default()).unwrap();
        assert_eq!(out[0].tensor().unwrap().dims(), &[5, 6, 3]);
        let smaller = attrs(&[("ratio", Attr::Int(2)), ("channels", Attr::Int(1))]);
        assert_eq!(eval(&OP, &[jpeg()], smaller).unwrap()[0].tensor().unwrap().dims(), &[8, 12, 1]);
    }

    #[test]
    fn a_restart_index_changes_no_value() {
        let pixels: Vec<u8> = (0..96 * 80 * 3).map(|i| (i * 31 % 251) as u8).collect();
        let file: Value =
            Tensor::string(encode(&pixels, 96, 80, 3, &EncodeOptions::default()).unwrap()).into();
        let index = eval(&RESTART_INDEX, std::slice::from_ref(&file), Attrs::default()).unwrap().remove(0);
        assert!(index.tensor().unwrap().as_strings()[0].len() > 20);
        let window: Value = Tensor::vector(&[70i32, 30, 20, 25]).into();
        let without = eval(&CROP, &[file.clone(), window.clone()], Attrs::default()).unwrap();
        assert_eq!(without[0].tensor().unwrap().dims(), &[20, 25, 3]);
        for index in [index, Tensor::string("").into(), Tensor::string("other bytes").into()] {
            let inputs = [file.clone(), window.clone(), index];
            assert_eq!(eval(&CROP, &inputs, Attrs::default()).unwrap(), without);
        }
        let e = infer_err(&CROP, &[file.clone(), window.clone(), window.clone()], Attrs::default());
        assert!(e.contains("restart_index must be a string tensor"), "{e}");
        let e = infer_err(&CROP, &[file.clone(), window, file.clone(), file], Attrs::default());
        assert!(e.contains("at most one restart_index, found 2"), "{e}");
        let e = eval(&RESTART_INDEX, &[Tensor::string("no image").into()], Attrs::default()).unwrap_err();
        assert!(e.message().contains("look like text"), "{e}");
    }

    #[test]
    fn pixels_go_straight_into_a_slot_that_fits() {
        let run = |shape: Shape| {
            let mut memory = vec![0u8; shape.count()];
            let kernel = kernel(&[], &Attrs::default()).unwrap();
            let mut scratch = Scratch::default();
            let mut cx = OpCx { scratch: &mut scratch, draw: Draw::Eager { entropy: 0 }, op_id: 0 };
            let mut outs = Outs::new(vec![Out::new(Some((DType::U8, shape, &mut memory)))]);
            kernel.run(&mut cx, &[jpeg()], &mut outs).unwrap();
            let left = outs.finish().unwrap().remove(0);
            (left.is_none(), memory[0])
        };
        assert_eq!(run(Shape::image(16, 24, 3)), (true, 128));
        assert_eq!(run(Shape::image(24, 16, 3)), (false, 0));
    }

    #[test]
    fn static_shapes() {
        let contents = Arg { spec: Spec::scalar(DType::String), value: None };
        let spec = |a: Attrs| infer(std::slice::from_ref(&contents), &a).unwrap()[0].to_string();
        assert_eq!(spec(Attrs::default()), "uint8(None, None, None)");
        assert_eq!(spec(attrs(&[("channels", Attr::Int(3))])), "uint8(None, None, 3)");
    }

    #[test]
    fn other_bytes_are_named() {
        let fail = |bytes: &[u8]| eval(&OP, &[Tensor::string(bytes).into()], Attrs::default()).unwrap_err();
        let e = fail(b"not an image at all");
        assert!(
            e.message().contains("Unknown image file format") && e.message().contains("look like text"),
            "{e}"
        );
        assert!(fail(b"").message().contains("Input is empty"));
        let e = fail(&grey()[..200]);
        assert!(e.message().contains("Invalid JPEG data") && e.message().contains("begin like JPEG"), "{e}");
        assert!(fail(b"BM").message().contains("Trying to decode BMP format using a wrong op"));
    }

    #[test]
    fn arguments_are_checked() {
        let wrong = |name: &str, v: Attr| infer_err(&OP, &[jpeg()], attrs(&[(name, v)]));
        assert!(wrong("channels", Attr::Int(2)).contains("`channels` must be 0, 1, 3 or 4 but got 2"));
        assert!(wrong("ratio", Attr::Int(3)).contains("ratio must be 1, 2, 4, or 8, got 3"));
        assert!(wrong("dct_method", Attr::Str("SLOW".into())).contains("dct_method must be one of"));
        let two: Value = Tensor::string_vector(vec!["a".into(), "b".into()]).into();
        assert!(infer_err(&OP, &[two], Attrs::default()).contains("contents must be scalar"));
    }
}
