//! `image.central_crop`: the middle of images.

use super::common::{
    IMAGE, Images, MadeKernel, Specs, image_dims, image_error, kernel_of, sides, with_sides,
};
use super::place::place;
use gristmill_image::geometry::central_crop;
use gristmill_plan::{Arg, ArgDef, Attrs, Class, OpDef};

pub(crate) static OP: OpDef = OpDef {
    name: "image.central_crop",
    doc: "Cuts out the middle of images.\n\nKeeps `central_fraction` of height and of width; dtype and samples stay.",
    inputs: &[IMAGE],
    attrs: &[ArgDef { name: "central_fraction", doc: "share of each side that stays, above 0 and up to 1" }],
    class: Class::Pure,
    total: false,
    elementwise: false,
    infer,
    kernel,
};

fn infer(args: &[Arg], attrs: &Attrs) -> Specs {
    let dims = image_dims(&args[0], "image")?;
    let fraction = attrs.float("central_fraction")?;
    let keep = |n: Option<usize>| {
        let n = n.unwrap_or(0);
        central_crop(n, n, fraction).map(|w| w.height).map_err(image_error)
    };
    let (h, w) = sides(&dims);
    let (kept_h, kept_w) = (keep(h)?, keep(w)?);
    Ok(vec![args[0].spec.with_shape(with_sides(dims, h.map(|_| kept_h), w.map(|_| kept_w)))])
}

fn kernel(_: &[Arg], attrs: &Attrs) -> MadeKernel {
    let fraction = attrs.float("central_fraction")?;
    kernel_of(move |_, inputs, out| {
        let t = inputs[0].tensor()?;
        let images = Images::of(t, "image")?;
        let (h, w) = images.sides();
        let window = central_crop(h, w, fraction).map_err(image_error)?;
        if (window.height, window.width) == (h, w) {
            out.put(0, t.clone());
            return Ok(());
        }
        place(t, images, window, (0, 0), (window.height, window.width), out)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{attrs, eval, infer_err};
    use gristmill_plan::Attr;
    use gristmill_types::{Shape, Tensor, Value};

    #[test]
    fn keeps_the_middle() {
        let x: Value =
            Tensor::from_vec(Shape::image(4, 4, 1), &(0..16u8).collect::<Vec<_>>()).unwrap().into();
        let part = |f| attrs(&[("central_fraction", Attr::Float(f))]);
        let out = eval(&OP, std::slice::from_ref(&x), part(0.5)).unwrap();
        assert_eq!(out[0], Tensor::from_vec(Shape::image(2, 2, 1), &[5u8, 6, 9, 10]).unwrap().into());
        let all = std::slice::from_ref(&x);
        assert_eq!(eval(&OP, all, part(1.0)).unwrap(), all);
        assert!(infer_err(&OP, &[x], part(0.0)).contains("central_fraction must be within (0, 1]"));
    }
}
