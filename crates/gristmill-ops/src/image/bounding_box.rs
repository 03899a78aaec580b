//! `image.crop_to_bounding_box` and `image.pad_to_bounding_box`.

use super::common::{IMAGE, Images, MadeKernel, Specs, image_dims, kernel_of, scalar_int, sides, with_sides};
use super::place::{offset, place, positive};
use gristmill_image::geometry::Window;
use gristmill_plan::{Arg, ArgDef, Attrs, Class, OpDef};
use gristmill_types::{Error, Result, Value};

const INPUTS: &[ArgDef] = &[
    IMAGE,
    ArgDef { name: "offset_height", doc: "first row, an integer scalar" },
    ArgDef { name: "offset_width", doc: "first column, an integer scalar" },
    ArgDef { name: "target_height", doc: "rows of the result, an integer scalar" },
    ArgDef { name: "target_width", doc: "columns of the result, an integer scalar" },
];

pub(crate) static CROP: OpDef = OpDef {
    name: "image.crop_to_bounding_box",
    doc: "Cuts a rectangle out of images.\n\nIt must lie inside; dtype and samples stay.",
    inputs: INPUTS,
    attrs: &[],
    class: Class::Pure,
    total: false,
    elementwise: false,
    infer: infer_crop,
    kernel: kernel_crop,
};

pub(crate) static PAD: OpDef = OpDef {
    name: "image.pad_to_bounding_box",
    doc: "Puts images at (offset_height, offset_width) of larger ones that are 0 elsewhere.\n\nDtype and samples stay.",
    inputs: INPUTS,
    attrs: &[],
    class: Class::Pure,
    total: false,
    elementwise: false,
    infer: infer_pad,
    kernel: kernel_pad,
};

/// One direction: offset and target as far as known, against the side `n` of the image.
fn crop_side(
    name: &str,
    start: Option<i64>,
    target: Option<i64>,
    n: Option<usize>,
) -> Result<(usize, usize)> {
    let start = start.map_or(Ok(0), |v| offset(v, &format!("offset_{name}")))?;
    let known = target.map_or(Ok(1), |v| positive(v, &format!("target_{name}")))?;
    match n {
        Some(n) if n < start + known => Err(Error::invalid(format!(
            "{name} must be >= target + offset, found {name} {n}, target {known} and offset {start}"
        ))),
        _ => Ok((start, known)),
    }
}

fn pad_side(name: &str, start: Option<i64>, target: Option<i64>, n: Option<usize>) -> Result<(usize, usize)> {
    let start = start.map_or(Ok(0), |v| offset(v, &format!("offset_{name}")))?;
    let Some(target) = target else {
        return Ok((start, 0));
    };
    let target = positive(target, &format!("target_{name}"))?;
    match n {
        Some(n) if start + n > target => Err(Error::invalid(format!(
            "{name} must be <= target - offset, found {name} {n}, target {target} and offset {start}"
        ))),
        _ => Ok((start, target)),
    }
}

type Side = fn(&str, Option<i64>, Option<i64>, Option<usize>) -> Result<(usize, usize)>;

fn infer(args: &[Arg], side: Side) -> Specs {
    let dims = image_dims(&args[0], "image")?;
    let known = |i: usize| args[i].constant().map(|t| scalar_int(t, INPUTS[i].name)).transpose();
    let (h, w) = sides(&dims);
    let (y, x, th, tw) = (known(1)?, known(2)?, known(3)?, known(4)?);
    side("height", y, th, h)?;
    side("width", x, tw, w)?;
    let target = |v: Option<i64>| v.and_then(|v| usize::try_from(v).ok());
    Ok(vec![args[0].spec.with_shape(with_sides(dims, target(th), target(tw)))])
}

fn infer_crop(args: &[Arg], _: &Attrs) -> Specs {
    infer(args, crop_side)
}

fn infer_pad(args: &[Arg], _: &Attrs) -> Specs {
    infer(args, pad_side)
}

/// Offset and target of both directions, checked.
fn window(inputs: &[Value], (h, w): (usize, usize), side: Side) -> Result<((usize, usize), (usize, usize))> {
    let int = |i: usize| scalar_int(inputs[i].tensor()?, INPUTS[i].name).map(Some);
    let (y, height) = side("height", int(1)?, int(3)?, Some(h))?;
    let (x, width) = side("width", int(2)?, int(4)?, Some(w))?;
    Ok(((y, x), (height, width)))
}

/// What the crop keeps of an image of that height and width; the inputs are those of the op.
pub(crate) fn crop_window(inputs: &[Value], sides: (usize, usize)) -> Result<Window> {
    let ((y, x), (height, width)) = window(inputs, sides, crop_side)?;
    Ok(Window { y, x, height, width })
}

fn kernel_crop(_: &[Arg], _: &Attrs) -> MadeKernel {
    kernel_of(|_, inputs, out| {
        let t = inputs[0].tensor()?;
        let images = Images::of(t, "image")?;
        let kept = crop_window(inputs, images.sides())?;
        place(t, images, kept, (0, 0), (kept.height, kept.width), out)
    })
}

fn kernel_pad(_: &[Arg], _: &Attrs) -> MadeKernel {
    kernel_of(|_, inputs, out| {
        let t = inputs[0].tensor()?;
        let images = Images::of(t, "image")?;
        let (at, to) = window(inputs, images.sides(), pad_side)?;
        let (height, width) = images.sides();
        place(t, images, Window { y: 0, x: 0, height, width }, at, to, out)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{eval, infer_err};
    use gristmill_types::{Shape, Tensor};

    fn inputs(x: &Value, numbers: [i32; 4]) -> Vec<Value> {
        std::iter::once(x.clone()).chain(numbers.map(|n| Tensor::scalar(n).into())).collect()
    }

    #[test]
    fn cuts_and_pads() {
        let x: Value = Tensor::from_vec(Shape::image(2, 3, 1), &[1u8, 2, 3, 4, 5, 6]).unwrap().into();
        let out = eval(&CROP, &inputs(&x, [1, 1, 1, 2]), Attrs::default()).unwrap();
        assert_eq!(out[0], Tensor::from_vec(Shape::image(1, 2, 1), &[5u8, 6]).unwrap().into());
        let out = eval(&PAD, &inputs(&x, [1, 0, 3, 4]), Attrs::default()).unwrap();
        let padded = [0u8, 0, 0, 0, 1, 2, 3, 0, 4, 5, 6, 0];
        assert_eq!(out[0], Tensor::from_vec(Shape::image(3, 4, 1), &padded).unwrap().into());
    }

    #[test]
    fn what_does_not_fit() {
        let x: Value = Tensor::from_vec(Shape::image(2, 3, 1), &[1u8, 2, 3, 4, 5, 6]).unwrap().into();
        let crop = |n| infer_err(&CROP, &inputs(&x, n), Attrs::default());
        assert!(crop([1, 0, 2, 1]).contains("height must be >= target + offset"));
        assert!(crop([-1, 0, 2, 1]).contains("offset_height must be >= 0"));
        assert!(crop([0, 0, 2, 0]).contains("target_width must be > 0"));
        assert!(
            infer_err(&PAD, &inputs(&x, [0, 2, 2, 4]), Attrs::default())
                .contains("width must be <= target - offset")
        );
    }
}
