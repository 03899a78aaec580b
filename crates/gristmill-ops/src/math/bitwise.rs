//! The operators on the bits of integers.

use super::arithmetic::{INPUTS, common, same};
use super::broadcast::zip;
use super::num::with_int;
use crate::array::support::{kernel_of, shapes};
use gristmill_plan::{Arg, ArgDef, Attrs, Class, Kernel, OpDef};
use gristmill_types::{DType, Element, Error, Result, Spec};
use std::ops::{BitAnd, BitOr, BitXor, Not};

/// An integer as its bits; shifts by less than 0 or more than the width are cut to that range.
trait Bits:
    Element + BitAnd<Output = Self> + BitOr<Output = Self> + BitXor<Output = Self> + Not<Output = Self>
{
    fn left(self, by: Self) -> Self;
    fn right(self, by: Self) -> Self;
}

macro_rules! bits {
    ($($t:ty),*) => { $(
        impl Bits for $t {
            #[inline(always)]
            fn left(self, by: Self) -> Self { self << by.clamp(0, (<$t>::BITS - 1) as $t) }
            #[inline(always)]
            fn right(self, by: Self) -> Self { self >> by.clamp(0, (<$t>::BITS - 1) as $t) }
        }
    )* };
}
bits!(u8, u16, u32, u64, i8, i16, i32, i64);

trait Function: Send + Sync + 'static {
    fn apply<T: Bits>(x: T, y: T) -> T;
}

macro_rules! operators {
    ($($id:ident $f:ident $name:literal $doc:literal |$x:ident, $y:ident| $body:expr;)*) => { $(
        struct $f;
        impl Function for $f {
            #[inline(always)]
            fn apply<T: Bits>($x: T, $y: T) -> T {
                $body
            }
        }
        pub(crate) static $id: OpDef = OpDef {
            name: $name,
            doc: $doc,
            inputs: INPUTS,
            attrs: &[],
            class: Class::Pure,
            total: false,
            elementwise: true,
            infer,
            kernel: kernel::<$f>,
        };
    )* };
}

operators! {
    AND And "math.bitwise_and" "The bits set in both integers." |x, y| x & y;
    OR Or "math.bitwise_or" "The bits set in one of the integers." |x, y| x | y;
    XOR Xor "math.bitwise_xor" "The bits set in just one of the integers." |x, y| x ^ y;
    LEFT_SHIFT Left "math.left_shift" "x shifted left by y bits (0 to width - 1)." |x, y| x.left(y);
    RIGHT_SHIFT Right "math.right_shift" "x shifted right by y bits (0 to width - 1), keeping the sign." |x, y| x.right(y);
}

pub(crate) static INVERT: OpDef = OpDef {
    name: "math.bitwise_invert",
    doc: "The bits not set in x.",
    inputs: &[ArgDef { name: "x", doc: "integers" }],
    attrs: &[],
    class: Class::Pure,
    total: true,
    elementwise: true,
    infer: |args, _| {
        integer(args[0].dtype())?;
        Ok(vec![Spec::tensor(args[0].dtype(), args[0].spec.shape().clone())])
    },
    kernel: |_, _| {
        kernel_of(|inputs, out| {
            let x = inputs[0].tensor()?;
            with_int!(x.dtype(), T => {
                for (to, v) in out.typed::<T>(0, *x.shape()).iter_mut().zip(x.as_slice::<T>()?) {
                    *to = !*v;
                }
                Ok(())
            }, d => integer(d))
        })
    },
};

fn integer(dtype: DType) -> Result<()> {
    if dtype.is_int() { Ok(()) } else { Err(Error::invalid(format!("expected integers, found {dtype}"))) }
}

fn infer(args: &[Arg], _: &Attrs) -> Result<Vec<Spec>> {
    let dtype = common(args, "the operator")?;
    integer(dtype)?;
    Ok(vec![Spec::tensor(dtype, shapes::broadcast_partial(args[0].spec.shape(), args[1].spec.shape())?)])
}

fn kernel<F: Function>(_: &[Arg], _: &Attrs) -> Result<Box<dyn Kernel>> {
    kernel_of(|inputs, out| {
        let (x, y) = (inputs[0].tensor()?, inputs[1].tensor()?);
        let shape = shapes::broadcast(x.shape(), y.shape())?;
        with_int!(same(x.dtype(), y.dtype(), "the operator")?, T => {
            zip((x.as_slice::<T>()?, x.shape()), (y.as_slice::<T>()?, y.shape()), out.typed::<T>(0, shape), &shape, F::apply::<T>);
            Ok(())
        }, d => integer(d))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{attrs, eval};
    use gristmill_types::Tensor;

    #[test]
    fn bits() {
        let call = |op: &OpDef, y: i8| {
            eval(op, &[Tensor::vector(&[5i8, -8]).into(), Tensor::scalar(y).into()], attrs(&[])).unwrap()
        };
        let is = |v: [i8; 2]| vec![Tensor::vector(&v).into()];
        assert_eq!(call(&AND, 3), is([1, 0]));
        assert_eq!(call(&OR, 3), is([7, -5]));
        assert_eq!(call(&XOR, 3), is([6, -5]));
        assert_eq!(call(&LEFT_SHIFT, 1), is([10, -16]));
        assert_eq!(call(&RIGHT_SHIFT, 100), is([0, -1]));
        assert_eq!(
            eval(&INVERT, &[Tensor::vector(&[0u8, 15]).into()], attrs(&[])).unwrap()[0],
            Tensor::vector(&[255u8, 240]).into()
        );
    }
}
