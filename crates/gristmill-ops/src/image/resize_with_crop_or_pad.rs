//! `image.resize_with_crop_or_pad` and `image.resize_with_pad`: images of one size without
//! distorting them.

use super::common::{
    IMAGE, Images, MadeKernel, Specs, image_dims, kernel_of, numeric, scalar_int, with_sides,
};
use super::place::{place, positive};
use super::resize::{ANTIALIAS, How, METHOD, resize_f32};
use gristmill_image::geometry::{Window, crop_or_pad, resize_with_pad};
use gristmill_image::resize::{Method, Scratch, resize_nearest};
use gristmill_plan::{Arg, ArgDef, Attrs, Class, OpCx, OpDef, Outs};
use gristmill_types::{Result, Spec, Tensor, Value};

const INPUTS: &[ArgDef] = &[
    IMAGE,
    ArgDef { name: "target_height", doc: "rows of the result, an integer scalar" },
    ArgDef { name: "target_width", doc: "columns of the result, an integer scalar" },
];

pub(crate) static CROP_OR_PAD: OpDef = OpDef {
    name: "image.resize_with_crop_or_pad",
    doc: "Cuts or pads images around their middle to a height and width.\n\nDtype and samples stay; added pixels are 0.",
    inputs: INPUTS,
    attrs: &[],
    class: Class::Pure,
    total: false,
    elementwise: false,
    infer: infer_crop_or_pad,
    kernel: kernel_crop_or_pad,
};

pub(crate) static PAD: OpDef = OpDef {
    name: "image.resize_with_pad",
    doc: "Resizes images to fit into a height and width and pads the rest with 0.\n\nThe aspect ratio stays. float32, but for \
          method 'nearest', which keeps the dtype.",
    inputs: INPUTS,
    attrs: &[METHOD, ANTIALIAS],
    class: Class::Pure,
    total: false,
    elementwise: false,
    infer: infer_pad,
    kernel: kernel_pad,
};

fn infer_crop_or_pad(args: &[Arg], _: &Attrs) -> Specs {
    let dims = image_dims(&args[0], "image")?;
    let known = |i: usize| args[i].constant().map(|t| side(t, i)).transpose();
    Ok(vec![args[0].spec.with_shape(with_sides(dims, known(1)?, known(2)?))])
}

fn infer_pad(args: &[Arg], attrs: &Attrs) -> Specs {
    let dtype = How::of(attrs)?.dtype(numeric(&args[0], "image")?);
    let spec = infer_crop_or_pad(args, attrs)?.remove(0);
    Ok(vec![Spec::tensor(dtype, spec.shape().clone())])
}

fn side(t: &Tensor, input: usize) -> Result<usize> {
    let name = INPUTS[input].name;
    positive(scalar_int(t, name)?, name)
}

/// Height and width of the result.
pub(crate) fn target(inputs: &[Value]) -> Result<(usize, usize)> {
    Ok((side(inputs[1].tensor()?, 1)?, side(inputs[2].tensor()?, 2)?))
}

fn kernel_crop_or_pad(_: &[Arg], _: &Attrs) -> MadeKernel {
    kernel_of(|_, inputs, out| {
        let t = inputs[0].tensor()?;
        let images = Images::of(t, "image")?;
        let to = target(inputs)?;
        let (window, at) = crop_or_pad(images.sides(), to);
        place(t, images, window, at, to, out)
    })
}

fn kernel_pad(_: &[Arg], attrs: &Attrs) -> MadeKernel {
    let how = How::of(attrs)?;
    kernel_of(move |cx, inputs, out| run_pad(cx, how, inputs[0].tensor()?, target(inputs)?, out))
}

/// Memory for the resized images before they are padded.
#[derive(Default)]
struct Resized {
    resizer: Scratch,
    floats: Vec<f32>,
}

fn run_pad(cx: &mut OpCx<'_>, how: How, t: &Tensor, to: (usize, usize), out: &mut Outs<'_>) -> Result<()> {
    let images = Images::of(t, "image")?;
    let ((h, w), at) = resize_with_pad(images.sides(), to);
    let channels = images.size.channels;
    let resized = images.shape(h, w, channels)?;
    let window = Window { y: 0, x: 0, height: h, width: w };
    if how.method == Method::Nearest {
        let mut bytes = vec![0; resized.count() * t.dtype().size()];
        let size = images.bytes_size(t.dtype());
        images.each(t.bytes(), &mut bytes, |src, dst| resize_nearest(src, size, dst, (h, w)))?;
        let small = Tensor::from_bytes(t.dtype(), resized, &bytes)?;
        return place(&small, Images::of(&small, "image")?, window, at, to, out);
    }
    let work: &mut Resized = cx.scratch.get();
    work.floats.resize(resized.count(), 0.0);
    let dst: &mut [f32] = out.typed(0, images.shape(to.0, to.1, channels)?);
    if (h, w) == to {
        return resize_f32(how, t, images, to, dst, &mut work.resizer);
    }
    resize_f32(how, t, images, (h, w), &mut work.floats, &mut work.resizer)?;
    images.each(&work.floats, dst, |src, dst| {
        dst.fill(0.0);
        let n = w * channels;
        for y in 0..h {
            let into = ((at.0 + y) * to.1 + at.1) * channels;
            dst[into..into + n].copy_from_slice(&src[y * n..(y + 1) * n]);
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{attrs, eval, infer_err};
    use gristmill_plan::Attr;
    use gristmill_types::Shape;

    fn inputs(h: i64, w: i64) -> [Value; 3] {
        let x = Tensor::from_vec(Shape::image(1, 2, 1), &[10u8, 20]).unwrap();
        [x.into(), Tensor::scalar(h).into(), Tensor::scalar(w).into()]
    }

    #[test]
    fn cuts_and_pads_around_the_middle() {
        let out = eval(&CROP_OR_PAD, &inputs(3, 1), Attrs::default()).unwrap();
        assert_eq!(out[0], Tensor::from_vec(Shape::image(3, 1, 1), &[0u8, 10, 0]).unwrap().into());
        assert!(
            infer_err(&CROP_OR_PAD, &inputs(0, 1), Attrs::default()).contains("target_height must be > 0")
        );
    }

    #[test]
    fn keeps_the_aspect_ratio() {
        let out = eval(&PAD, &inputs(4, 4), Attrs::default()).unwrap();
        let t = out[0].tensor().unwrap();
        let rows = [0.0, 0.0, 0.0, 0.0, 10.0, 12.5, 17.5, 20.0, 10.0, 12.5, 17.5, 20.0, 0.0, 0.0, 0.0, 0.0];
        assert_eq!(t.as_slice::<f32>().unwrap(), rows);
        let nearest = attrs(&[("method", Attr::Str("nearest".into()))]);
        let out = eval(&PAD, &inputs(2, 2), nearest).unwrap();
        assert_eq!(out[0].tensor().unwrap().as_slice::<u8>().unwrap(), [10, 20, 0, 0]);
    }
}
