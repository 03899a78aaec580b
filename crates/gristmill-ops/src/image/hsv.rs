//! `image.rgb_to_hsv` and `image.hsv_to_rgb`.

use super::common::{IMAGE, MadeKernel, Specs, channels, image_error, kernel_of, through_f32, with_channels};
use gristmill_image::color;
use gristmill_plan::{Arg, ArgDef, Attrs, Class, OpDef};
use gristmill_types::Error;

pub(crate) static TO_HSV: OpDef = OpDef {
    name: "image.rgb_to_hsv",
    doc: "Hue, saturation and value of RGB samples from 0 to 1.\n\nFloating dtype, last dimension 3; shape and dtype stay.",
    inputs: &[ArgDef { name: "images", ..IMAGE }],
    attrs: &[],
    class: Class::Pure,
    total: false,
    elementwise: false,
    infer,
    kernel: kernel_to_hsv,
};

pub(crate) static TO_RGB: OpDef = OpDef {
    name: "image.hsv_to_rgb",
    doc: "RGB samples of hue, saturation and value from 0 to 1.\n\nFloating dtype, last dimension 3; shape and dtype stay.",
    inputs: &[ArgDef { name: "images", ..IMAGE }],
    attrs: &[],
    class: Class::Pure,
    total: false,
    elementwise: false,
    infer,
    kernel: kernel_to_rgb,
};

fn infer(args: &[Arg], _: &Attrs) -> Specs {
    if !args[0].dtype().is_float() {
        return Err(Error::invalid(format!("'images' must be floating point, found {}", args[0].dtype()))
            .hint("image.convert_image_dtype gives float32 from 0 to 1"));
    }
    Ok(vec![args[0].spec.with_shape(with_channels(&args[0], "images", 3, 3)?)])
}

fn kernel_to_hsv(_: &[Arg], _: &Attrs) -> MadeKernel {
    kernel_of(|cx, inputs, out| {
        let t = inputs[0].tensor()?;
        let shape = channels(t, "images", 3, 3)?;
        through_f32(cx, t, out, shape, false, |src, dst| color::rgb_to_hsv(src, dst).map_err(image_error))
    })
}

fn kernel_to_rgb(_: &[Arg], _: &Attrs) -> MadeKernel {
    kernel_of(|cx, inputs, out| {
        let t = inputs[0].tensor()?;
        let shape = channels(t, "images", 3, 3)?;
        through_f32(cx, t, out, shape, false, |src, dst| color::hsv_to_rgb(src, dst).map_err(image_error))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{eval, infer_err};
    use gristmill_types::{Shape, Tensor, Value};

    #[test]
    fn there_and_back() {
        let x: Value = Tensor::from_vec(Shape::image(1, 1, 3), &[0f32, 1.0, 0.0]).unwrap().into();
        let hsv = eval(&TO_HSV, std::slice::from_ref(&x), Attrs::default()).unwrap();
        let t = hsv[0].tensor().unwrap().as_slice::<f32>().unwrap();
        assert!((t[0] - 1.0 / 3.0).abs() < 1e-6 && t[1..] == [1.0, 1.0], "{t:?}");
        let rgb = eval(&TO_RGB, &hsv, Attrs::default()).unwrap();
        let t = rgb[0].tensor().unwrap().as_slice::<f32>().unwrap();
        assert!(t.iter().zip([0.0, 1.0, 0.0]).all(|(a, b)| (a - b).abs() < 1e-6), "{t:?}");
        let bytes: Value = Tensor::from_vec(Shape::image(1, 1, 3), &[0u8; 3]).unwrap().into();
        assert!(infer_err(&TO_HSV, &[bytes], Attrs::default()).contains("floating point"));
    }
}
