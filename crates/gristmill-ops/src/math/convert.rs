//! Elements of one dtype as elements of another.

use super::num::narrow;
use gristmill_plan::Attr;
use gristmill_types::elements::cast_slice_mut;
use gristmill_types::{Bytes, DType, Element, Error, Kind, Result, Shape, Tensor, Value, with_element};
use half::{bf16, f16};

/// A C cast, saturating where C leaves it undefined; the 16-bit floats go through float32.
pub(crate) trait Cast<T> {
    fn cast(self) -> T;
}

macro_rules! from_plain {
    ($($s:ty)*) => { $(
        to_plain!($s, |v: $s| v, u8 u16 u32 u64 i8 i16 i32 i64 f32 f64);
        impl Cast<f16> for $s {
            #[inline(always)]
            fn cast(self) -> f16 { f16::from_f32(self as f32) }
        }
        impl Cast<bf16> for $s {
            #[inline(always)]
            fn cast(self) -> bf16 { narrow(self as f32) }
        }
    )* };
}
macro_rules! to_plain {
    ($s:ty, $wide:expr, $($t:ty)*) => { $(
        impl Cast<$t> for $s {
            #[inline(always)]
            #[allow(clippy::unnecessary_cast, clippy::redundant_closure_call)]
            fn cast(self) -> $t { ($wide)(self) as $t }
        }
    )* };
}
from_plain!(u8 u16 u32 u64 i8 i16 i32 i64 f32 f64);
to_plain!(f16, f16::to_f32, u8 u16 u32 u64 i8 i16 i32 i64 f32 f64);
to_plain!(bf16, bf16::to_f32, u8 u16 u32 u64 i8 i16 i32 i64 f32 f64);

impl Cast<f16> for f16 {
    fn cast(self) -> f16 {
        self
    }
}
impl Cast<bf16> for bf16 {
    fn cast(self) -> bf16 {
        self
    }
}
impl Cast<bf16> for f16 {
    fn cast(self) -> bf16 {
        narrow(self.to_f32())
    }
}
impl Cast<f16> for bf16 {
    fn cast(self) -> f16 {
        f16::from_f32(self.to_f32())
    }
}

fn convert<S: Element + Cast<T>, T: Element>(from: &[S], to: &mut [T]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to = from.cast();
    }
}

/// The error for dtypes between which there is no cast.
pub(crate) fn no_cast(from: DType, to: DType) -> Error {
    let e = Error::new(Kind::Unimplemented, format!("cast {from} to {to} is not supported"));
    if from == DType::String {
        e.hint("strings.to_number reads numbers from strings")
    } else {
        e.hint("strings.as_string prints numbers")
    }
}

/// Writes the elements of `t` as `dtype`.
///
/// # Errors
/// `Unimplemented` for strings.
pub(crate) fn cast_into(t: &Tensor, dtype: DType, to: &mut [u8]) -> Result<()> {
    let from = t.dtype();
    if from == dtype && from.is_plain() {
        to.copy_from_slice(t.bytes());
        return Ok(());
    }
    if dtype == DType::Bool {
        return with_element!(from, S => {
            let zero = S::default();
            for (to, v) in to.iter_mut().zip(t.as_slice::<S>()?) {
                *to = u8::from(*v != zero);
            }
            Ok(())
        }, _ => Err(no_cast(from, dtype)));
    }
    with_element!(from, S => {
        let from = t.as_slice::<S>()?;
        with_element!(dtype, T => {
            convert::<S, T>(from, cast_slice_mut(to).ok_or_else(|| Error::internal("an output is not aligned"))?);
            Ok(())
        }, _ => Err(no_cast(t.dtype(), dtype)))
    }, _ => Err(no_cast(from, dtype)))
}

/// A tensor with the elements of `t` as `dtype`.
///
/// # Errors
/// `Unimplemented` between strings and others.
pub(crate) fn cast_tensor(t: &Tensor, dtype: DType) -> Result<Tensor> {
    if t.dtype() == dtype {
        return Ok(t.clone());
    }
    let mut buffer = gristmill_types::Buffer::recycled(t.count() * dtype.size());
    cast_into(t, dtype, buffer.as_mut_slice())?;
    if dtype == DType::String {
        return Err(no_cast(t.dtype(), dtype));
    }
    Tensor::from_buffer(dtype, *t.shape(), buffer)
}

/// A scalar of that dtype from an attribute; 0, False or the empty string where it is not given.
///
/// # Errors
/// `Type` if the attribute does not fit the dtype.
pub(crate) fn fill_value(attr: &Attr, dtype: DType) -> Result<Tensor> {
    let given = match attr {
        Attr::None => return Ok(Tensor::zeros(dtype, Shape::SCALAR)),
        Attr::Bool(v) => Tensor::bool(*v),
        Attr::Int(v) => Tensor::scalar(*v),
        Attr::Float(v) => Tensor::scalar(*v),
        Attr::Str(v) => Tensor::string(Bytes::from(v.as_str())),
        Attr::Value(Value::Tensor(t)) if t.count() == 1 => t.reshaped(Shape::SCALAR)?,
        other => {
            return Err(Error::new(
                Kind::Type,
                format!("expected one value of dtype {dtype}, found {other}"),
            ));
        }
    };
    cast_tensor(&given, dtype)
        .map_err(|_| Error::new(Kind::Type, format!("expected one value of dtype {dtype}, found {given:?}")))
}
