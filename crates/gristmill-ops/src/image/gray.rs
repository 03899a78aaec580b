//! `image.rgb_to_grayscale` and `image.grayscale_to_rgb`.

use super::common::{
    IMAGE, MadeKernel, Specs, channels, image_error, kernel_of, numeric, through_f32, with_channels,
};
use gristmill_image::color;
use gristmill_plan::{Arg, ArgDef, Attrs, Class, OpDef};
use gristmill_types::{Error, with_element};

pub(crate) static TO_GRAY: OpDef = OpDef {
    name: "image.rgb_to_grayscale",
    doc: "Weighs red, green and blue by .2989, .5870 and .1140.\n\nThe last dimension goes from 3 to 1; the dtype stays.",
    inputs: &[ArgDef { name: "images", ..IMAGE }],
    attrs: &[],
    class: Class::Pure,
    total: false,
    elementwise: false,
    infer: infer_to_gray,
    kernel: kernel_to_gray,
};

pub(crate) static TO_RGB: OpDef = OpDef {
    name: "image.grayscale_to_rgb",
    doc: "Repeats the only channel three times.\n\nThe last dimension goes from 1 to 3; the dtype stays.",
    inputs: &[ArgDef { name: "images", ..IMAGE }],
    attrs: &[],
    class: Class::Pure,
    total: false,
    elementwise: false,
    infer: infer_to_rgb,
    kernel: kernel_to_rgb,
};

fn infer_to_gray(args: &[Arg], _: &Attrs) -> Specs {
    numeric(&args[0], "images")?;
    Ok(vec![args[0].spec.with_shape(with_channels(&args[0], "images", 3, 1)?)])
}

fn infer_to_rgb(args: &[Arg], _: &Attrs) -> Specs {
    numeric(&args[0], "images")?;
    Ok(vec![args[0].spec.with_shape(with_channels(&args[0], "images", 1, 3)?)])
}

fn kernel_to_gray(_: &[Arg], _: &Attrs) -> MadeKernel {
    kernel_of(|cx, inputs, out| {
        let t = inputs[0].tensor()?;
        let shape = channels(t, "images", 3, 1)?;
        through_f32(cx, t, out, shape, false, |src, dst| {
            color::rgb_to_grayscale(src, dst).map_err(image_error)
        })
    })
}

fn kernel_to_rgb(_: &[Arg], _: &Attrs) -> MadeKernel {
    kernel_of(|_, inputs, out| {
        let t = inputs[0].tensor()?;
        let shape = channels(t, "images", 1, 3)?;
        with_element!(t.dtype(), T => color::grayscale_to_rgb(t.as_slice::<T>()?, out.typed::<T>(0, shape)).map_err(image_error),
            _ => Err(Error::invalid("an image must hold numbers, found string")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{eval, infer_err};
    use gristmill_types::{Shape, Tensor, Value};

    #[test]
    fn there_and_back() {
        let x: Value = Tensor::from_vec(Shape::image(1, 2, 3), &[255u8, 255, 255, 255, 0, 0]).unwrap().into();
        let grey = eval(&TO_GRAY, std::slice::from_ref(&x), Attrs::default()).unwrap();
        assert_eq!(grey[0], Tensor::from_vec(Shape::image(1, 2, 1), &[255u8, 76]).unwrap().into());
        let rgb = eval(&TO_RGB, &grey, Attrs::default()).unwrap();
        assert_eq!(rgb[0].tensor().unwrap().as_slice::<u8>().unwrap(), [255, 255, 255, 76, 76, 76]);
        assert!(infer_err(&TO_RGB, &[x], Attrs::default()).contains("must have 1 channels"));
    }
}
