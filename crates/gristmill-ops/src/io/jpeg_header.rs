//! `io.extract_jpeg_shape` and `io.is_jpeg`: what the first bytes say; `io.jpeg_restart_index`: where rows begin.

use super::decoding::{CONTENTS, check_contents, contents, explain};
use crate::image::common::{MadeKernel, Specs, dense, image_error, kernel_of};
use gristmill_image::jpeg;
use gristmill_plan::{Arg, ArgDef, Attrs, Class, OpDef};
use gristmill_types::{DType, Error, PartialShape, Result, Shape, Spec, Tensor};

pub(crate) static SHAPE: OpDef = OpDef {
    name: "io.extract_jpeg_shape",
    doc: "Reads height, width and channels from a JPEG's header.\n\nint32 or int64 [3]; 4 channels for CMYK.",
    inputs: &[CONTENTS],
    attrs: &[ArgDef { name: "output_type", doc: "int32 (default) or int64" }],
    class: Class::Pure,
    total: false,
    elementwise: false,
    infer: infer_shape,
    kernel: kernel_shape,
};

pub(crate) static IS_JPEG: OpDef = OpDef {
    name: "io.is_jpeg",
    doc: "Whether bytes begin as a JPEG does.\n\nbool of the input's shape.",
    inputs: &[ArgDef { name: "contents", doc: "strings of any shape" }],
    attrs: &[],
    class: Class::Pure,
    total: true,
    elementwise: true,
    infer: infer_is_jpeg,
    kernel: kernel_is_jpeg,
};

pub(crate) static RESTART_INDEX: OpDef = OpDef {
    name: "io.jpeg_restart_index",
    doc: "Makes an index of where a JPEG's rows begin, for `io.decode_and_crop_jpeg`.\n\nstring scalar, about a hundredth of the \
          file at most; empty where it would be of no use (progressive files, small ones, and those with restart markers). Fails for \
          other formats and for damaged baseline files.",
    inputs: &[CONTENTS],
    attrs: &[],
    class: Class::Pure,
    total: false,
    elementwise: false,
    infer: infer_restart_index,
    kernel: kernel_restart_index,
};

fn output_type(attrs: &Attrs) -> Result<DType> {
    match attrs.dtype_or("output_type", DType::I32)? {
        d @ (DType::I32 | DType::I64) => Ok(d),
        other => Err(Error::invalid(format!("output_type must be int32 or int64, found {other}"))),
    }
}

fn infer_shape(args: &[Arg], attrs: &Attrs) -> Specs {
    check_contents(&args[0], "contents")?;
    Ok(vec![Spec::tensor(output_type(attrs)?, PartialShape::known(&[3]))])
}

fn kernel_shape(_: &[Arg], attrs: &Attrs) -> MadeKernel {
    let wide = output_type(attrs)? == DType::I64;
    kernel_of(move |_, inputs, out| {
        let bytes = contents(&inputs[0], "contents")?;
        let shape = jpeg::shape(bytes).map_err(|e| explain(image_error(e), bytes))?;
        if wide {
            out.typed::<i64>(0, Shape::vector(3)).copy_from_slice(&shape.map(|n| n as i64));
        } else {
            out.typed::<i32>(0, Shape::vector(3)).copy_from_slice(&shape.map(|n| n as i32));
        }
        Ok(())
    })
}

fn infer_is_jpeg(args: &[Arg], _: &Attrs) -> Specs {
    dense(&args[0], "contents")?;
    if args[0].dtype() != DType::String {
        return Err(Error::invalid(format!("contents must be a string tensor, found {}", args[0].spec)));
    }
    Ok(vec![Spec::tensor(DType::Bool, args[0].spec.shape().clone())])
}

fn kernel_is_jpeg(_: &[Arg], _: &Attrs) -> MadeKernel {
    kernel_of(|_, inputs, out| {
        let t = inputs[0].tensor()?;
        let dst = out.plain(0, DType::Bool, *t.shape());
        dst.iter_mut().zip(t.as_strings()).for_each(|(d, s)| *d = jpeg::is_jpeg(s).into());
        Ok(())
    })
}

fn infer_restart_index(args: &[Arg], _: &Attrs) -> Specs {
    check_contents(&args[0], "contents")?;
    Ok(vec![Spec::scalar(DType::String)])
}

fn kernel_restart_index(_: &[Arg], _: &Attrs) -> MadeKernel {
    kernel_of(|_, inputs, out| {
        let bytes = contents(&inputs[0], "contents")?;
        let index = jpeg::restart_index(bytes).map_err(|e| explain(image_error(e), bytes))?;
        out.put(0, Tensor::string(index));
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::eval;
    use gristmill_types::Value;

    #[test]
    fn headers() {
        let bytes = jpeg::encode(&[0; 5 * 7 * 3], 5, 7, 3, &Default::default()).unwrap();
        let x: Value = Tensor::string(bytes).into();
        assert_eq!(
            eval(&SHAPE, std::slice::from_ref(&x), Attrs::default()).unwrap(),
            [Tensor::vector(&[5i32, 7, 3]).into()]
        );
        assert_eq!(eval(&IS_JPEG, &[x], Attrs::default()).unwrap(), [Tensor::bool(true).into()]);
        let bad: Value = Tensor::string("no").into();
        let e = eval(&SHAPE, std::slice::from_ref(&bad), Attrs::default()).unwrap_err();
        assert!(e.message().contains("Invalid JPEG data, size 2"), "{e}");
        assert_eq!(eval(&IS_JPEG, &[bad], Attrs::default()).unwrap(), [Tensor::bool(false).into()]);
    }
}
