//! `image.rot90` and `image.transpose`: pixels in another arrangement.

use super::common::{IMAGE, Images, MadeKernel, Specs, image_dims, kernel_of, sides, with_sides};
use gristmill_image::geometry;
use gristmill_image::resize::Size;
use gristmill_plan::{Arg, ArgDef, Attrs, Class, OpDef, Outs};
use gristmill_types::{Error, Result, Tensor};

pub(crate) static ROT90: OpDef = OpDef {
    name: "image.rot90",
    doc: "Turns images by quarters against the clock.\n\nDtype and samples stay; odd `k` exchanges height and width.",
    inputs: &[IMAGE],
    attrs: &[ArgDef { name: "k", doc: "number of quarter turns; default 1" }],
    class: Class::Pure,
    total: false,
    elementwise: false,
    infer: infer_rot90,
    kernel: kernel_rot90,
};

pub(crate) static TRANSPOSE: OpDef = OpDef {
    name: "image.transpose",
    doc: "Exchanges rows and columns of images.\n\nDtype and samples stay.",
    inputs: &[IMAGE],
    attrs: &[],
    class: Class::Pure,
    total: false,
    elementwise: false,
    infer: infer_transpose,
    kernel: kernel_transpose,
};

fn turned(args: &[Arg], turns: bool) -> Specs {
    let dims = image_dims(&args[0], "image")?;
    let (h, w) = sides(&dims);
    let shape = if turns { with_sides(dims, w, h) } else { with_sides(dims, h, w) };
    Ok(vec![args[0].spec.with_shape(shape)])
}

fn infer_rot90(args: &[Arg], attrs: &Attrs) -> Specs {
    turned(args, attrs.int_or("k", 1)?.rem_euclid(2) == 1)
}

fn infer_transpose(args: &[Arg], _: &Attrs) -> Specs {
    turned(args, true)
}

fn kernel_rot90(_: &[Arg], attrs: &Attrs) -> MadeKernel {
    let k = attrs.int_or("k", 1)?;
    kernel_of(move |_, inputs, out| {
        run(inputs[0].tensor()?, out, k.rem_euclid(2) == 1, |src, size, dst| {
            geometry::rot90(src, size, k, dst)
        })
    })
}

fn kernel_transpose(_: &[Arg], _: &Attrs) -> MadeKernel {
    kernel_of(|_, inputs, out| run(inputs[0].tensor()?, out, true, geometry::transpose))
}

fn run(
    t: &Tensor,
    out: &mut Outs<'_>,
    turns: bool,
    turn: impl Fn(&[u8], Size, &mut [u8]) -> gristmill_image::Result<()>,
) -> Result<()> {
    let images = Images::of(t, "image")?;
    if !t.dtype().is_plain() {
        return Err(Error::invalid("an image must hold numbers, found string"));
    }
    let (h, w) = images.sides();
    let (h, w) = if turns { (w, h) } else { (h, w) };
    let size = images.bytes_size(t.dtype());
    let shape = images.shape(h, w, images.size.channels)?;
    images.each(t.bytes(), out.plain(0, t.dtype(), shape), |src, dst| {
        if src.is_empty() { Ok(()) } else { turn(src, size, dst) }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{attrs, eval};
    use gristmill_plan::Attr;
    use gristmill_types::{Shape, Value};

    fn image(h: usize, w: usize, values: &[i32]) -> Value {
        Tensor::from_vec(Shape::image(h, w, 1), values).unwrap().into()
    }

    #[test]
    fn quarters() {
        let x = image(2, 3, &[1, 2, 3, 4, 5, 6]);
        let turn =
            |k| eval(&ROT90, std::slice::from_ref(&x), attrs(&[("k", Attr::Int(k))])).unwrap().remove(0);
        assert_eq!(turn(1), image(3, 2, &[3, 6, 2, 5, 1, 4]));
        assert_eq!(turn(2), image(2, 3, &[6, 5, 4, 3, 2, 1]));
        assert_eq!(turn(-1), image(3, 2, &[4, 1, 5, 2, 6, 3]));
        assert_eq!(turn(4), x);
        assert_eq!(eval(&TRANSPOSE, &[x], Attrs::default()).unwrap(), [image(3, 2, &[1, 4, 2, 5, 3, 6])]);
    }
}
