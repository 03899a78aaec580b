//! `image.adjust_gamma`: a power law.

use super::common::{IMAGE, MadeKernel, Specs, image_error, kernel_of, numeric, through_f32};
use gristmill_image::color;
use gristmill_plan::{Arg, ArgDef, Attrs, Class, OpDef};
use gristmill_types::{Error, Result};

pub(crate) static OP: OpDef = OpDef {
    name: "image.adjust_gamma",
    doc: "Computes gain * sample ** gamma.\n\nInteger images are adjusted in float32 and converted back, clipped. Any shape.",
    inputs: &[IMAGE],
    attrs: &[
        ArgDef { name: "gamma", doc: "exponent, not negative; default 1" },
        ArgDef { name: "gain", doc: "factor; default 1" },
    ],
    class: Class::Pure,
    total: false,
    elementwise: true,
    infer,
    kernel,
};

fn numbers(attrs: &Attrs) -> Result<(f32, f32)> {
    let gamma = attrs.float_or("gamma", 1.0)?;
    if gamma.is_nan() || gamma < 0.0 {
        return Err(Error::invalid(format!("Gamma should be a non-negative real number, found {gamma}")));
    }
    Ok((gamma as f32, attrs.float_or("gain", 1.0)? as f32))
}

fn infer(args: &[Arg], attrs: &Attrs) -> Specs {
    numeric(&args[0], "image")?;
    numbers(attrs)?;
    Ok(vec![args[0].spec.clone()])
}

fn kernel(_: &[Arg], attrs: &Attrs) -> MadeKernel {
    let (gamma, gain) = numbers(attrs)?;
    kernel_of(move |cx, inputs, out| {
        let t = inputs[0].tensor()?;
        through_f32(cx, t, out, *t.shape(), true, |src, dst| {
            color::adjust_gamma(src, gamma, gain, dst).map_err(image_error)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{attrs, eval, infer_err};
    use gristmill_plan::Attr;
    use gristmill_types::{Tensor, Value};

    #[test]
    fn powers() {
        let given = attrs(&[("gamma", Attr::Int(2)), ("gain", Attr::Float(2.0))]);
        let out = eval(&OP, &[Tensor::vector(&[0f32, 0.5, 1.0]).into()], given).unwrap();
        assert_eq!(out[0], Tensor::vector(&[0f32, 0.5, 2.0]).into());
        let x: Value = Tensor::vector(&[255u8]).into();
        assert!(
            infer_err(&OP, &[x], attrs(&[("gamma", Attr::Int(-1))])).contains("non-negative real number")
        );
    }
}
