//! `io.parse_tensor` and `io.serialize_tensor`: tensors as `tensorflow.TensorProto` messages.

use super::decoding::{check_contents, contents};
use super::tensor_proto_read::{number_of, parse};
use crate::image::common::{MadeKernel, Specs, dense, kernel_of};
use gristmill_example::wire::{put_head, put_varint};
use gristmill_plan::{Arg, ArgDef, Attrs, Class, OpDef};
use gristmill_types::{DType, PartialShape, Spec, Tensor};

pub(crate) static PARSE: OpDef = OpDef {
    name: "io.parse_tensor",
    doc: "Reads a tensor from a serialized TensorProto.\n\nFails for bytes that are none and for another dtype; the shape is only \
          known when it runs.",
    inputs: &[ArgDef { name: "serialized", doc: "string scalar" }],
    attrs: &[ArgDef { name: "out_type", doc: "dtype of the tensor" }],
    class: Class::Pure,
    total: false,
    elementwise: false,
    infer: infer_parse,
    kernel: kernel_parse,
};

pub(crate) static SERIALIZE: OpDef = OpDef {
    name: "io.serialize_tensor",
    doc: "Writes a tensor as a serialized TensorProto.\n\nString scalar.",
    inputs: &[ArgDef { name: "tensor", doc: "any dtype and shape" }],
    attrs: &[],
    class: Class::Pure,
    total: true,
    elementwise: false,
    infer: infer_serialize,
    kernel: kernel_serialize,
};

fn infer_parse(args: &[Arg], attrs: &Attrs) -> Specs {
    check_contents(&args[0], "serialized")?;
    Ok(vec![Spec::tensor(attrs.dtype("out_type")?, PartialShape::UNKNOWN)])
}

fn kernel_parse(_: &[Arg], attrs: &Attrs) -> MadeKernel {
    let dtype = attrs.dtype("out_type")?;
    kernel_of(move |_, inputs, out| {
        out.put(0, parse(contents(&inputs[0], "serialized")?, dtype)?);
        Ok(())
    })
}

fn infer_serialize(args: &[Arg], _: &Attrs) -> Specs {
    dense(&args[0], "tensor")?;
    Ok(vec![Spec::scalar(DType::String)])
}

fn kernel_serialize(_: &[Arg], _: &Attrs) -> MadeKernel {
    kernel_of(|_, inputs, out| {
        out.put(0, Tensor::string(serialize(inputs[0].tensor()?)));
        Ok(())
    })
}

fn put_bytes(out: &mut Vec<u8>, field: u32, bytes: &[u8]) {
    put_head(out, field, bytes.len());
    out.extend_from_slice(bytes);
}

/// The message: dtype, shape, then the elements as one string of bytes, or string by string.
fn serialize(t: &Tensor) -> Vec<u8> {
    let mut shape = Vec::new();
    for &d in t.dims() {
        let mut dim = Vec::new();
        // A size of 0 is proto3's default and left out.
        if d > 0 {
            dim.push(1 << 3);
            put_varint(&mut dim, d as u64);
        }
        put_bytes(&mut shape, 2, &dim);
    }
    let mut out = vec![1 << 3];
    put_varint(&mut out, number_of(t.dtype()));
    put_bytes(&mut out, 2, &shape);
    if t.dtype() == DType::String {
        t.as_strings().iter().for_each(|s| put_bytes(&mut out, 8, s));
    } else if t.count() > 0 {
        let mut raw = t.bytes().to_vec();
        if cfg!(target_endian = "big") {
            raw.chunks_exact_mut(t.dtype().size()).for_each(<[u8]>::reverse);
        }
        put_bytes(&mut out, 4, &raw);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{attrs, eval};
    use gristmill_plan::Attr;
    use gristmill_types::Shape;

    #[test]
    fn every_dtype_comes_back() {
        for dtype in DType::ALL {
            let t = Tensor::zeros(dtype, Shape::new(&[2, 3]).unwrap());
            let bytes = eval(&SERIALIZE, &[t.clone().into()], Attrs::default()).unwrap();
            assert_eq!(eval(&PARSE, &bytes, attrs(&[("out_type", Attr::DType(dtype))])).unwrap(), [t.into()]);
        }
        let empty = Tensor::zeros(DType::F32, Shape::new(&[0, 3]).unwrap());
        assert_eq!(serialize(&empty), [8, 1, 0x12, 6, 0x12, 0, 0x12, 2, 8, 3]);
        assert_eq!(serialize(&Tensor::scalar(-7i32)), [8, 3, 0x12, 0, 0x22, 4, 0xF9, 255, 255, 255]);
    }
}
