//! `cast`: another dtype.

use super::convert::{cast_into, no_cast};
use crate::array::support::flat::{OnFlat, with_dtype};
use gristmill_plan::{Arg, ArgDef, Attrs, Class, Kernel, OpCx, OpDef, Outs};
use gristmill_types::{DType, Result, Spec, Value};

pub(crate) static OP: OpDef = OpDef {
    name: "cast",
    doc: "The elements as another dtype.\n\n\
          Floats are cut towards zero; integers that do not fit wrap; floats round to the nearest, ties to even; bool is \
          whether a number is not 0. What a float outside an integer type's range becomes is not defined (it saturates \
          here, NaN is 0). Sparse and ragged tensors keep their structure.",
    inputs: &[ArgDef { name: "x", doc: "numbers or bools of any shape" }],
    attrs: &[ArgDef { name: "dtype", doc: "the dtype of the result" }],
    class: Class::Pure,
    total: true,
    elementwise: true,
    infer,
    kernel,
};

fn infer(args: &[Arg], attrs: &Attrs) -> Result<Vec<Spec>> {
    let (from, to) = (args[0].dtype(), attrs.dtype("dtype")?);
    if (from == DType::String) != (to == DType::String) {
        return Err(no_cast(from, to));
    }
    Ok(vec![with_dtype(&args[0].spec, to)])
}

fn kernel(_: &[Arg], attrs: &Attrs) -> Result<Box<dyn Kernel>> {
    let dtype = attrs.dtype("dtype")?;
    Ok(Box::new(OnFlat(move |_: &mut OpCx<'_>, inputs: &[Value], out: &mut Outs<'_>| {
        let t = inputs[0].tensor()?;
        if t.dtype() == dtype {
            out.put(0, t.clone());
            return Ok(());
        }
        if !dtype.is_plain() {
            return Err(no_cast(t.dtype(), dtype));
        }
        cast_into(t, dtype, out.plain(0, dtype, *t.shape()))
    })))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{attrs, eval, infer_err};
    use gristmill_plan::Attr;
    use gristmill_types::{Ragged, Tensor};
    use half::{bf16, f16};

    fn cast(t: Tensor, dtype: DType) -> Tensor {
        eval(&OP, &[t.into()], attrs(&[("dtype", Attr::DType(dtype))])).unwrap()[0].tensor().unwrap().clone()
    }

    #[test]
    fn c_casts() {
        assert_eq!(cast(Tensor::vector(&[1.9f32, -1.9, 2.5]), DType::I32), Tensor::vector(&[1i32, -1, 2]));
        assert_eq!(cast(Tensor::vector(&[256i32, -1, 300]), DType::U8), Tensor::vector(&[0u8, 255, 44]));
        assert_eq!(cast(Tensor::vector(&[4_294_967_301i64]), DType::I32), Tensor::vector(&[5i32]));
        assert_eq!(cast(Tensor::vector(&[0.0f32, -0.0, f32::NAN, 0.1]), DType::Bool).bytes(), &[0, 0, 1, 1]);
        assert_eq!(cast(Tensor::bool(true), DType::F32), Tensor::scalar(1f32));
        assert_eq!(cast(Tensor::vector(&[16_777_217i64]), DType::F32), Tensor::vector(&[16_777_216f32]));
    }

    #[test]
    fn sixteen_bit_floats_round_to_even() {
        let b = cast(Tensor::vector(&[1f32 + 1.0 / 256.0, 1.0 + 3.0 / 256.0, 3.4e38, -0.0]), DType::BF16);
        assert_eq!(b.as_slice::<bf16>().unwrap(), &[1.0, 1.015_625, f32::INFINITY, -0.0].map(bf16::from_f32));
        let h = cast(Tensor::vector(&[65_519.996f32, 65_520.0]), DType::F16);
        assert_eq!(h.as_slice::<f16>().unwrap(), &[f16::MAX, f16::INFINITY]);
        assert_eq!(cast(b, DType::F32).as_slice::<f32>().unwrap()[1], 1.015_625);
    }

    #[test]
    fn structure_stays_and_strings_do_not_cast() {
        let r: Value = Ragged {
            flat_values: Tensor::vector(&[1i32, 2]),
            row_splits: vec![Tensor::vector(&[0i64, 0, 2])],
        }
        .into();
        let out = eval(&OP, &[r], attrs(&[("dtype", Attr::DType(DType::F32))])).unwrap();
        assert_eq!(out[0].ragged().unwrap().flat_values, Tensor::vector(&[1f32, 2.0]));
        let e = infer_err(&OP, &[Tensor::string("1").into()], attrs(&[("dtype", Attr::DType(DType::I32))]));
        assert!(e.contains("unimplemented: cast string to int32 is not supported"), "{e}");
    }
}
