//! `io.encode_png`: the bytes of PNGs.

use crate::image::common::{MadeKernel, Specs, dense, image_error, kernel_of};
use gristmill_image::png::encode;
use gristmill_plan::{Arg, ArgDef, Attrs, Class, OpDef};
use gristmill_types::{Bytes, DType, Error, PartialShape, Result, Shape, Spec, Tensor};

pub(crate) static OP: OpDef = OpDef {
    name: "io.encode_png",
    doc: "Encodes images as PNG.\n\nStrings of the shape before the last three dimensions. The pixels come back exactly.",
    inputs: &[ArgDef { name: "image", doc: "uint8 or uint16 [..., height, width, 1 to 4]" }],
    attrs: &[ArgDef { name: "compression", doc: "-1 (default) or 0 to 9" }],
    class: Class::Pure,
    total: false,
    elementwise: false,
    infer,
    kernel,
};

fn compression(attrs: &Attrs) -> Result<i32> {
    let level = attrs.int_or("compression", -1)?;
    if !(-1..=9).contains(&level) {
        return Err(Error::invalid(format!("compression must be in [-1,9], got {level}")));
    }
    Ok(level as i32)
}

fn infer(args: &[Arg], attrs: &Attrs) -> Specs {
    dense(&args[0], "image")?;
    compression(attrs)?;
    if !matches!(args[0].dtype(), DType::U8 | DType::U16) {
        return Err(Error::invalid(format!("image must be uint8 or uint16, found {}", args[0].dtype())));
    }
    let shape = match args[0].spec.shape().dims() {
        None => PartialShape::UNKNOWN,
        Some(d) if d.len() >= 3 => PartialShape::new(d[..d.len() - 3].to_vec()),
        Some(_) => {
            return Err(Error::invalid(format!("image must be at least rank 3, found {}", args[0].spec)));
        }
    };
    Ok(vec![Spec::tensor(DType::String, shape)])
}

fn kernel(_: &[Arg], attrs: &Attrs) -> MadeKernel {
    let level = compression(attrs)?;
    kernel_of(move |_, inputs, out| {
        let t = inputs[0].tensor()?;
        let Some((outer, &[h, w, c])) = t.dims().split_last_chunk::<3>() else {
            return Err(Error::invalid(format!("image must be at least rank 3, found shape {}", t.shape())));
        };
        let shape = Shape::new(outer)?;
        let n = h * w * c;
        let one = |i: usize| -> Result<Bytes> {
            let range = i * n..(i + 1) * n;
            let bytes = if t.dtype() == DType::U16 {
                encode(&t.as_slice::<u16>()?[range], h, w, c, level)
            } else {
                encode(&t.as_slice::<u8>()?[range], h, w, c, level)
            };
            Ok(bytes.map_err(image_error)?.into())
        };
        let items = (0..shape.count()).map(one).collect::<Result<Vec<_>>>()?;
        out.put(0, Tensor::strings(shape, items)?);
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{attrs, eval, infer_err};
    use gristmill_image::{Image, png};
    use gristmill_plan::Attr;
    use gristmill_types::Value;

    #[test]
    fn pixels_come_back() {
        let pixels = [1u16, 2, 3, 65535];
        let x: Value = Tensor::from_vec(Shape::new(&[2, 1, 2, 1]).unwrap(), &pixels).unwrap().into();
        let out = eval(&OP, std::slice::from_ref(&x), Attrs::default()).unwrap();
        let mut image = Image::<u16>::default();
        png::decode(&out[0].tensor().unwrap().as_strings()[1], 0, &mut image).unwrap();
        assert_eq!((image.shape, image.data), (vec![1, 2, 1], vec![3, 65535]));
        assert!(infer_err(&OP, &[x], attrs(&[("compression", Attr::Int(10))])).contains("[-1,9]"));
    }
}
