//! `io.encode_jpeg`: the bytes of a JPEG.

use crate::image::common::{MadeKernel, Specs, dense, image_error, kernel_of};
use gristmill_image::jpeg::{DensityUnit, EncodeFormat, EncodeOptions, encode};
use gristmill_plan::{Arg, ArgDef, Attr, Attrs, Class, OpDef};
use gristmill_types::{DType, Error, Result, Spec, Tensor, Value};

pub(crate) static OP: OpDef = OpDef {
    name: "io.encode_jpeg",
    doc: "Encodes an image as JPEG.\n\nString scalar. The bytes are those of TensorFlow.",
    inputs: &[ArgDef { name: "image", doc: "uint8 [height, width, 1 or 3]" }],
    attrs: &[
        ArgDef { name: "format", doc: "'' (default), 'grayscale' or 'rgb': the channels to expect" },
        ArgDef { name: "quality", doc: "0 to 100; default 95" },
        ArgDef { name: "progressive", doc: "several scans, from coarse to fine; default False" },
        ArgDef { name: "optimize_size", doc: "tables made for this image; default False" },
        ArgDef { name: "chroma_downsampling", doc: "half the colour resolution; default True" },
        ArgDef { name: "density_unit", doc: "'in' (default) or 'cm'" },
        ArgDef { name: "x_density", doc: "pixels per unit across; default 300" },
        ArgDef { name: "y_density", doc: "pixels per unit down; default 300" },
        ArgDef { name: "xmp_metadata", doc: "XMP text to embed; default none" },
    ],
    class: Class::Pure,
    total: false,
    elementwise: false,
    infer,
    kernel,
};

/// Text or a string scalar.
fn bytes(attrs: &Attrs, name: &str) -> Result<Vec<u8>> {
    match attrs.get(name) {
        Some(Attr::Value(Value::Tensor(t))) if t.as_strings().len() == 1 => Ok(t.as_strings()[0].to_vec()),
        _ => attrs.str_or(name, String::new()).map(String::into_bytes),
    }
}

fn options(attrs: &Attrs) -> Result<EncodeOptions> {
    let quality = attrs.int_or("quality", 95)?;
    let density = |name: &str| {
        let n = attrs.int_or(name, 300)?;
        u16::try_from(n).map_err(|_| Error::invalid(format!("{name} must be in [0,65535], got {n}")))
    };
    if !(0..=100).contains(&quality) {
        return Err(Error::invalid(format!("quality must be in [0,100], got {quality}")));
    }
    Ok(EncodeOptions {
        format: match attrs.str_or("format", String::new())?.as_str() {
            "" => EncodeFormat::Auto,
            "grayscale" => EncodeFormat::Grayscale,
            "rgb" => EncodeFormat::Rgb,
            other => {
                return Err(Error::invalid(format!("format must be '', grayscale or rgb, got {other}")));
            }
        },
        quality: quality as i32,
        progressive: attrs.bool_or("progressive", false)?,
        optimize_size: attrs.bool_or("optimize_size", false)?,
        chroma_downsampling: attrs.bool_or("chroma_downsampling", true)?,
        density_unit: match attrs.str_or("density_unit", "in".into())?.as_str() {
            "in" => DensityUnit::Inch,
            "cm" => DensityUnit::Centimetre,
            other => {
                return Err(Error::invalid(format!("density_unit must be 'in' or 'cm', got {other}")));
            }
        },
        x_density: density("x_density")?,
        y_density: density("y_density")?,
        xmp_metadata: bytes(attrs, "xmp_metadata")?,
    })
}

fn infer(args: &[Arg], attrs: &Attrs) -> Specs {
    dense(&args[0], "image")?;
    options(attrs)?;
    let (dtype, shape) = (args[0].dtype(), args[0].spec.shape());
    if dtype != DType::U8 {
        return Err(Error::invalid(format!(
            "image was expected to be a uint8 tensor but is a {} tensor",
            dtype.kernel_name()
        ))
        .hint("image.convert_image_dtype(image, uint8, saturate=True) converts it"));
    }
    if shape.rank().is_some_and(|r| r != 3) {
        return Err(Error::invalid(format!("image must be 3-dimensional, found shape {shape}")));
    }
    Ok(vec![Spec::scalar(DType::String)])
}

fn kernel(_: &[Arg], attrs: &Attrs) -> MadeKernel {
    let options = options(attrs)?;
    kernel_of(move |_, inputs, out| {
        let t = inputs[0].tensor()?;
        let &[h, w, c] = t.dims() else {
            return Err(Error::invalid(format!("image must be 3-dimensional, found shape {}", t.shape())));
        };
        let bytes = encode(t.as_slice::<u8>()?, h, w, c, &options).map_err(image_error)?;
        out.put(0, Tensor::string(bytes));
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{attrs, eval, infer_err};
    use gristmill_image::jpeg::shape;
    use gristmill_types::Shape;

    #[test]
    fn encodes() {
        let x = |c: usize| -> Value {
            Tensor::from_vec(Shape::image(4, 5, c), &vec![9u8; 20 * c]).unwrap().into()
        };
        let out = eval(&OP, &[x(1)], attrs(&[("quality", Attr::Int(50))])).unwrap();
        assert_eq!(shape(&out[0].tensor().unwrap().as_strings()[0]).unwrap(), [4, 5, 1]);
        assert!(eval(&OP, &[x(4)], Attrs::default()).unwrap_err().message().contains("1 or 3 channels"));
        assert!(
            infer_err(&OP, &[x(3)], attrs(&[("quality", Attr::Int(101))]))
                .contains("quality must be in [0,100]")
        );
        let float: Value = Tensor::from_vec(Shape::image(1, 1, 1), &[1f32]).unwrap().into();
        assert!(infer_err(&OP, &[float], Attrs::default()).contains("a uint8 tensor but is a float tensor"));
    }
}
