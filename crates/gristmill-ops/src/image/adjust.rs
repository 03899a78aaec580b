//! `image.adjust_brightness`, `_contrast`, `_saturation` and `_hue`.

use super::common::{
    IMAGE, Images, MadeKernel, Specs, channels, image_error, kernel_of, numeric, scalar_f32, through_f32,
    with_channels,
};
use gristmill_image::color;
use gristmill_plan::{Arg, ArgDef, Attrs, Class, OpCx, OpDef, Outs};
use gristmill_types::{Error, Result, Tensor};

/// What is adjusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Adjust {
    /// A delta is added.
    Brightness,
    /// The distance from the channel's mean is multiplied by a factor.
    Contrast,
    /// The saturation is multiplied by a factor.
    Saturation,
    /// The hue is turned by a delta.
    Hue,
}

macro_rules! adjust_ops {
    ($($op:ident $infer:ident $kernel:ident $what:ident $elementwise:literal $name:literal $image:literal $amount:literal
       $amount_doc:literal $doc:literal;)*) => { $(
        pub(crate) static $op: OpDef = OpDef {
            name: $name,
            doc: $doc,
            inputs: &[ArgDef { name: $image, ..IMAGE }, ArgDef { name: $amount, doc: $amount_doc }],
            attrs: &[],
            class: Class::Pure,
            total: false,
            elementwise: $elementwise,
            infer: $infer,
            kernel: $kernel,
        };

        fn $infer(args: &[Arg], _: &Attrs) -> Specs {
            Adjust::$what.infer(&args[0])
        }

        fn $kernel(_: &[Arg], _: &Attrs) -> MadeKernel {
            kernel_of(|cx, inputs, out| {
                Adjust::$what.run(cx, inputs[0].tensor()?, scalar_f32(&inputs[1], $amount)?, out)
            })
        }
    )* };
}

adjust_ops! {
    BRIGHTNESS infer_brightness kernel_brightness Brightness true "image.adjust_brightness" "image" "delta"
        "scalar; in units of the float range, 1 is the whole of it"
        "Adds `delta` to every sample.\n\nInteger images are adjusted in float32 and converted back, clipped. Any shape.";
    CONTRAST infer_contrast kernel_contrast Contrast false "image.adjust_contrast" "images" "contrast_factor"
        "scalar; 1 changes nothing"
        "Multiplies the distance of every sample from the mean of its channel.\n\nInteger images are adjusted in float32 and \
         converted back, clipped.";
    SATURATION infer_saturation kernel_saturation Saturation false "image.adjust_saturation" "image" "saturation_factor"
        "scalar; 1 changes nothing, 0 gives grey"
        "Multiplies the saturation of RGB images.\n\nThe last dimension is 3. Integer images are adjusted in float32 and \
         converted back.";
    HUE infer_hue kernel_hue Hue false "image.adjust_hue" "image" "delta"
        "scalar from -1 to 1; 1 is once around"
        "Turns the hue of RGB images.\n\nThe last dimension is 3. Integer images are adjusted in float32 and converted back.";
}

impl Adjust {
    /// The spec of the result.
    pub(crate) fn infer(self, image: &Arg) -> Specs {
        numeric(image, "image")?;
        let spec = match self {
            Self::Saturation | Self::Hue => image.spec.with_shape(with_channels(image, "image", 3, 3)?),
            Self::Contrast => image.spec.with_shape(super::common::with_rank(image, "images")?),
            Self::Brightness => image.spec.clone(),
        };
        Ok(vec![spec])
    }

    /// Adjusts by `amount` into output 0.
    pub(crate) fn run(self, cx: &mut OpCx<'_>, t: &Tensor, amount: f32, out: &mut Outs<'_>) -> Result<()> {
        let shape = *t.shape();
        match self {
            Self::Brightness => through_f32(cx, t, out, shape, true, |src, dst| {
                color::adjust_brightness(src, amount, dst).map_err(image_error)
            }),
            Self::Contrast => {
                let images = Images::of(t, "images")?;
                through_f32(cx, t, out, shape, true, |src, dst| {
                    images.each(src, dst, |src, dst| {
                        color::adjust_contrast(src, images.size.channels, amount, dst)
                    })
                })
            }
            Self::Saturation => {
                channels(t, "image", 3, 3)?;
                through_f32(cx, t, out, shape, false, |src, dst| {
                    color::adjust_saturation(src, amount, dst).map_err(image_error)
                })
            }
            Self::Hue => {
                channels(t, "image", 3, 3)?;
                if !(-1.0..=1.0).contains(&amount) {
                    return Err(Error::invalid(format!(
                        "delta must be in the interval [-1, 1], found {amount}"
                    )));
                }
                through_f32(cx, t, out, shape, false, |src, dst| {
                    color::adjust_hue(src, amount, dst).map_err(image_error)
                })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{eval, infer_err};
    use gristmill_types::{Shape, Value};

    fn pixel(values: [u8; 3]) -> Value {
        Tensor::from_vec(Shape::image(1, 1, 3), &values).unwrap().into()
    }

    fn run(op: &OpDef, x: Value, amount: f32) -> Vec<u8> {
        let out = eval(op, &[x, Tensor::scalar(amount).into()], Attrs::default()).unwrap();
        out[0].tensor().unwrap().as_slice::<u8>().unwrap().to_vec()
    }

    #[test]
    fn bytes_are_clipped() {
        assert_eq!(run(&BRIGHTNESS, pixel([0, 100, 250]), 0.1), [25, 125, 255]);
        assert_eq!(run(&BRIGHTNESS, pixel([0, 100, 250]), -1.0), [0, 0, 0]);
        let two: Value = Tensor::from_vec(Shape::image(1, 2, 1), &[100u8, 200]).unwrap().into();
        assert_eq!(run(&CONTRAST, two, 10.0), [0, 255]);
    }

    #[test]
    fn colours() {
        assert_eq!(run(&SATURATION, pixel([200, 100, 100]), 0.0), [200, 200, 200]);
        assert_eq!(run(&HUE, pixel([200, 0, 0]), 0.5), [0, 200, 200]);
        let grey: Value = Tensor::from_vec(Shape::image(1, 1, 1), &[1u8]).unwrap().into();
        let amount: Value = Tensor::scalar(0.5f32).into();
        assert!(infer_err(&HUE, &[grey, amount], Attrs::default()).contains("must have 3 channels"));
        let turned = eval(&HUE, &[pixel([1, 2, 3]), Tensor::scalar(1.5f32).into()], Attrs::default());
        assert!(turned.unwrap_err().message().contains("[-1, 1]"));
    }
}
