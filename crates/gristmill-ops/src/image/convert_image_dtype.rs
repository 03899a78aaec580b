//! `image.convert_image_dtype`: the same picture in another dtype and its range.

use super::common::{MadeKernel, Specs, image_error, kernel_of, numeric};
use gristmill_image::convert::convert_image;
use gristmill_plan::{Arg, ArgDef, Attrs, Class, OpDef};
use gristmill_types::{DType, Error, Result, Spec, with_element};

pub(crate) static OP: OpDef = OpDef {
    name: "image.convert_image_dtype",
    doc: "Converts samples to another dtype and its range.\n\nThe range of an integer dtype is 0 to its largest value, that of \
          a floating one 0 to 1. Without `saturate` integers out of range keep their low bits.",
    inputs: &[ArgDef { name: "image", doc: "any shape; integers or floats" }],
    attrs: &[
        ArgDef { name: "dtype", doc: "integer or floating dtype of the result" },
        ArgDef { name: "saturate", doc: "whether values out of range are clipped; default False" },
    ],
    class: Class::Pure,
    total: true,
    elementwise: true,
    infer,
    kernel,
};

fn target(attrs: &Attrs) -> Result<DType> {
    match attrs.dtype("dtype")? {
        d @ (DType::Bool | DType::String) => {
            Err(Error::invalid(format!("dtype must be either floating point or integer, found {d}")))
        }
        d => Ok(d),
    }
}

fn infer(args: &[Arg], attrs: &Attrs) -> Specs {
    numeric(&args[0], "image")?;
    super::common::dense(&args[0], "image")?;
    Ok(vec![Spec::tensor(target(attrs)?, args[0].spec.shape().clone())])
}

fn kernel(_: &[Arg], attrs: &Attrs) -> MadeKernel {
    let (dtype, saturate) = (target(attrs)?, attrs.bool_or("saturate", false)?);
    kernel_of(move |_, inputs, out| {
        let t = inputs[0].tensor()?;
        if t.dtype() == dtype {
            out.put(0, t.clone());
            return Ok(());
        }
        let text = || Error::invalid("an image must hold numbers, found string");
        with_element!(t.dtype(), S => {
            let src = t.as_slice::<S>()?;
            with_element!(dtype, D => convert_image(src, out.typed::<D>(0, *t.shape()), saturate).map_err(image_error),
                _ => Err(text()))
        }, _ => Err(text()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{attrs, eval, infer_err};
    use gristmill_plan::Attr;
    use gristmill_types::Tensor;

    #[test]
    fn ranges() {
        let to = |d| attrs(&[("dtype", Attr::DType(d))]);
        let out = eval(&OP, &[Tensor::vector(&[0u8, 51, 255]).into()], to(DType::F32)).unwrap();
        assert_eq!(out[0].tensor().unwrap().as_slice::<f32>().unwrap(), [0.0, 51.0 * (1.0 / 255.0), 1.0]);
        let out = eval(&OP, &[Tensor::vector(&[0f32, 0.5, 1.0]).into()], to(DType::U8)).unwrap();
        assert_eq!(out[0], Tensor::vector(&[0u8, 127, 255]).into());
        let clip = to(DType::U8).with("saturate", Attr::Bool(true));
        let out = eval(&OP, &[Tensor::vector(&[-1f32, 2.0]).into()], clip).unwrap();
        assert_eq!(out[0], Tensor::vector(&[0u8, 255]).into());
        assert!(infer_err(&OP, &[Tensor::vector(&[1u8]).into()], to(DType::Bool)).contains("dtype must be"));
    }
}
