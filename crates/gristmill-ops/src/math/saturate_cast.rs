//! `saturate_cast`: another dtype, cut to its range.

use super::convert::{Cast, cast_into, no_cast};
use super::num::{Num, with_num};
use crate::array::support::flat::{OnFlat, with_dtype};
use gristmill_plan::{Arg, ArgDef, Attrs, Class, Kernel, OpCx, OpDef, Outs};
use gristmill_types::elements::cast_slice_mut;
use gristmill_types::{DType, Error, Result, Spec, Tensor, Value};

pub(crate) static OP: OpDef = OpDef {
    name: "saturate_cast",
    doc: "The elements as another dtype, cut to its range first.\n\n\
          Floats are then cut towards zero. The upper bound is the largest value of the source dtype that fits, so float32 \
          to int32 gives at most 2147483520.",
    inputs: &[ArgDef { name: "value", doc: "numbers of any shape" }],
    attrs: &[ArgDef { name: "dtype", doc: "the dtype of the result" }],
    class: Class::Pure,
    total: true,
    elementwise: true,
    infer,
    kernel,
};

fn infer(args: &[Arg], attrs: &Attrs) -> Result<Vec<Spec>> {
    let (from, to) = (args[0].dtype(), attrs.dtype("dtype")?);
    if from == DType::String || to == DType::String {
        return Err(no_cast(from, to));
    }
    Ok(vec![with_dtype(&args[0].spec, to)])
}

/// The largest value of a float type that is at most `limit`.
fn highest<S: Num, T: Num>() -> f64 {
    let top = S::from_f64(T::HIGHEST.to_f64());
    let top = if top > S::HIGHEST { S::HIGHEST } else { top };
    let exact = |v: S| T::HIGHEST.to_i128().is_none_or(|max| v.to_f64() as i128 <= max);
    if exact(top) {
        return top.to_f64();
    }
    // Rounding went up to a power of two: one step below it in the source type.
    top.to_f64() * (1.0 - 2f64.powi(-S::DIGITS))
}

fn saturate<S: Num + Cast<T>, T: Num>(from: &[S], to: &mut [T])
where
    f64: Cast<T>,
{
    if S::INT && T::INT {
        let (low, high) = (T::LOWEST.to_i128().unwrap_or(0), T::HIGHEST.to_i128().unwrap_or(0));
        for (to, v) in to.iter_mut().zip(from) {
            *to = T::from_i128(v.to_i128().unwrap_or(0).clamp(low, high));
        }
        return;
    }
    if S::INT && S::HIGHEST.to_f64() <= T::HIGHEST.to_f64() {
        for (to, v) in to.iter_mut().zip(from) {
            *to = v.cast();
        }
        return;
    }
    let low = T::LOWEST.to_f64().max(S::LOWEST.to_f64());
    let high = if S::INT { T::HIGHEST.to_f64() } else { highest::<S, T>() };
    for (to, v) in to.iter_mut().zip(from) {
        let v = v.to_f64();
        *to = (if v < low {
            low
        } else if v > high {
            high
        } else {
            v
        })
        .cast();
    }
}

fn kernel(_: &[Arg], attrs: &Attrs) -> Result<Box<dyn Kernel>> {
    let dtype = attrs.dtype("dtype")?;
    Ok(Box::new(OnFlat(move |_: &mut OpCx<'_>, inputs: &[Value], out: &mut Outs<'_>| {
        let t = inputs[0].tensor()?;
        if dtype == DType::String || t.dtype() == DType::String {
            return Err(no_cast(t.dtype(), dtype));
        }
        if t.dtype() == dtype {
            out.put(0, t.clone());
            return Ok(());
        }
        run(t, dtype, out.plain(0, dtype, *t.shape()))
    })))
}

fn run(t: &Tensor, dtype: DType, to: &mut [u8]) -> Result<()> {
    with_num!(t.dtype(), S => {
        let from = t.as_slice::<S>()?;
        with_num!(dtype, T => {
            saturate::<S, T>(from, cast_slice_mut(to).ok_or_else(|| Error::internal("an output is not aligned"))?);
            Ok(())
        }, _ => cast_into(t, dtype, to))
    }, _ => cast_into(t, dtype, to))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{attrs, eval};
    use gristmill_plan::Attr;
    use half::{bf16, f16};

    fn cast(t: Tensor, dtype: DType) -> Tensor {
        eval(&OP, &[t.into()], attrs(&[("dtype", Attr::DType(dtype))])).unwrap()[0].tensor().unwrap().clone()
    }

    #[test]
    fn stays_in_range() {
        let f = Tensor::vector(&[-5f32, 1.9, 255.0, 256.0, f32::INFINITY, f32::NEG_INFINITY]);
        assert_eq!(cast(f, DType::U8), Tensor::vector(&[0u8, 1, 255, 255, 255, 0]));
        assert_eq!(
            cast(Tensor::vector(&[3e9f32, -3e9, 1.5]), DType::I32),
            Tensor::vector(&[2_147_483_520i32, i32::MIN, 1])
        );
        assert_eq!(
            cast(Tensor::vector(&[1e30f64]), DType::I64),
            Tensor::vector(&[9_223_372_036_854_774_784i64])
        );
        assert_eq!(cast(Tensor::vector(&[127u16, 65_535]), DType::I8), Tensor::vector(&[127i8, 127]));
        assert_eq!(cast(Tensor::vector(&[u64::MAX]), DType::I64), Tensor::vector(&[i64::MAX]));
    }

    #[test]
    fn floats_saturate_at_the_largest_finite_value() {
        assert_eq!(
            cast(Tensor::vector(&[1e6f64, -1e6, 1.1]), DType::F16),
            Tensor::vector(&[f16::MAX, f16::MIN, f16::from_f32(1.1)])
        );
        assert_eq!(cast(Tensor::vector(&[3.4e38f32]), DType::BF16), Tensor::vector(&[bf16::MAX]));
        assert_eq!(cast(Tensor::vector(&[100_000i32]), DType::F16), Tensor::vector(&[f16::MAX]));
    }
}
