//! The operators of two numbers.

use super::broadcast::zip;
use super::convert::cast_tensor;
use super::num::{Num, with_num};
use crate::array::support::flat::{OnFlat, elementwise_spec};
use crate::array::support::shapes;
use crate::array::support::walk::Walk;
use gristmill_plan::{Arg, ArgDef, Attrs, Class, Kernel, OpCx, OpDef, Outs};
use gristmill_types::{Bytes, DType, Error, Result, Shape, Spec, Tensor, Value};

pub(super) const INPUTS: &[ArgDef] = &[
    ArgDef { name: "x", doc: "numbers" },
    ArgDef { name: "y", doc: "the dtype of x, a shape that broadcasts with it" },
];

/// A function of two numbers of one dtype.
trait Function: Send + Sync + 'static {
    fn apply<T: Num>(x: T, y: T) -> T;
    /// Whether an integer 0 on the right is an error.
    const DIVIDES: bool = false;
    /// Whether a negative integer on the right is an error.
    const RAISES: bool = false;
    /// Whether strings are joined.
    const STRINGS: bool = false;
}

macro_rules! operators {
    ($($id:ident $f:ident $name:literal $doc:literal, $method:ident $(, $flag:ident)*;)*) => { $(
        struct $f;
        impl Function for $f {
            #[inline(always)]
            fn apply<T: Num>(x: T, y: T) -> T {
                x.$method(y)
            }
            $(const $flag: bool = true;)*
        }
        pub(crate) static $id: OpDef = OpDef {
            name: $name,
            doc: $doc,
            inputs: INPUTS,
            attrs: &[],
            class: Class::Pure,
            total: false,
            elementwise: true,
            infer: infer::<$f>,
            kernel: kernel::<$f>,
        };
    )* };
}

operators! {
    ADD Add "math.add" "`x + y`; strings are joined.\n\nIntegers wrap.", add, STRINGS;
    SUBTRACT Subtract "math.subtract" "`x - y`.\n\nIntegers wrap.", sub;
    MULTIPLY Multiply "math.multiply" "`x * y`.\n\nIntegers wrap.", mul;
    FLOORDIV FloorDiv "math.floordiv" "`x // y`, rounded down.\n\nInteger division by zero is an error.", floor_div, DIVIDES;
    FLOORMOD FloorMod "math.floormod" "`x % y`, with the sign of y.\n\nInteger division by zero is an error.", floor_mod, DIVIDES;
    POW Pow "math.pow" "`x ** y`.\n\nNegative powers of integers are an error.", power, RAISES;
    MAXIMUM Maximum "math.maximum" "The larger of x and y; NaN if one is.", larger;
    MINIMUM Minimum "math.minimum" "The smaller of x and y; NaN if one is.", smaller;
}

pub(crate) static TRUEDIV: OpDef = OpDef {
    name: "math.truediv",
    doc: "`x / y` as Python divides.\n\n8- and 16-bit integers give float32, other integers float64.",
    inputs: INPUTS,
    attrs: &[],
    class: Class::Pure,
    total: false,
    elementwise: true,
    infer: |args, _| {
        let dtype = quotient(common(args, "math.truediv")?)?;
        elementwise_spec(args, dtype, || {
            shapes::broadcast_partial(args[0].spec.shape(), args[1].spec.shape())
        })
        .map(|s| vec![s])
    },
    kernel: |_, _| Ok(Box::new(OnFlat(truediv))),
};

/// The dtype of both sides.
pub(super) fn common(args: &[Arg], op: &str) -> Result<DType> {
    same(args[0].dtype(), args[1].dtype(), op)
}

pub(super) fn same(x: DType, y: DType, op: &str) -> Result<DType> {
    if x == y {
        return Ok(x);
    }
    Err(Error::invalid(format!(
        "cannot compute {op} as input #1 was expected to be a {x} tensor but is a {y} tensor"
    ))
    .hint(format!("cast one side, as in cast(y, \"{x}\")")))
}

/// The dtype of a quotient.
fn quotient(dtype: DType) -> Result<DType> {
    match dtype {
        d if d.is_float() => Ok(d),
        DType::U8 | DType::I8 | DType::U16 | DType::I16 => Ok(DType::F32),
        d if d.is_int() => Ok(DType::F64),
        d => Err(Error::invalid(format!("math.truediv takes numbers, found {d}"))),
    }
}

fn infer<F: Function>(args: &[Arg], _: &Attrs) -> Result<Vec<Spec>> {
    let dtype = common(args, "the operator")?;
    if dtype == DType::Bool || (dtype == DType::String && !F::STRINGS) {
        return Err(Error::invalid(format!("expected numbers, found {dtype}")));
    }
    if let Some(y) = args[1].constant() {
        check_right::<F>(y)?;
    }
    let spec = elementwise_spec(args, dtype, || {
        shapes::broadcast_partial(args[0].spec.shape(), args[1].spec.shape())
    })?;
    Ok(vec![spec])
}

/// Refuses right sides for which the operator is not defined.
fn check_right<F: Function>(y: &Tensor) -> Result<()> {
    if !y.dtype().is_int() {
        return Ok(());
    }
    if F::DIVIDES {
        let zero = with_num!(y.dtype(), T => y.as_slice::<T>()?.iter().any(|v| v.is_zero()), _ => false);
        if zero {
            return Err(Error::invalid("integer division by zero"));
        }
    }
    if F::RAISES && y.dtype().is_signed_int() {
        let negative =
            with_num!(y.dtype(), T => y.as_slice::<T>()?.iter().any(|v| v.to_f64() < 0.0), _ => false);
        if negative {
            return Err(Error::invalid("integers to negative integer powers are not allowed"));
        }
    }
    Ok(())
}

fn kernel<F: Function>(_: &[Arg], _: &Attrs) -> Result<Box<dyn Kernel>> {
    Ok(Box::new(OnFlat(|_: &mut OpCx<'_>, inputs: &[Value], out: &mut Outs<'_>| {
        let (x, y) = (inputs[0].tensor()?, inputs[1].tensor()?);
        let dtype = same(x.dtype(), y.dtype(), "the operator")?;
        let shape = shapes::broadcast(x.shape(), y.shape())?;
        if shape.count() > 0 {
            check_right::<F>(y)?;
        }
        with_num!(dtype, T => {
            zip((x.as_slice::<T>()?, x.shape()), (y.as_slice::<T>()?, y.shape()), out.typed::<T>(0, shape), &shape, F::apply::<T>);
            Ok(())
        }, d => {
            if d != DType::String || !F::STRINGS {
                return Err(Error::invalid(format!("expected numbers, found {d}")));
            }
            out.put(0, joined(x, y, shape)?);
            Ok(())
        })
    })))
}

fn joined(x: &Tensor, y: &Tensor, shape: Shape) -> Result<Tensor> {
    let (a, b) = (x.as_strings(), y.as_strings());
    let mut items: Vec<Bytes> = Vec::with_capacity(shape.count());
    Walk::new(&shape, [x.shape(), y.shape()]).each(|_, n, [i, j], [p, q]| {
        items.extend((0..n).map(|k| Bytes::from([&*a[i + k * p], &*b[j + k * q]].concat())));
    });
    Tensor::strings(shape, items)
}

fn truediv(_: &mut OpCx<'_>, inputs: &[Value], out: &mut Outs<'_>) -> Result<()> {
    let (x, y) = (inputs[0].tensor()?, inputs[1].tensor()?);
    let dtype = quotient(same(x.dtype(), y.dtype(), "math.truediv")?)?;
    let (x, y) = (cast_tensor(x, dtype)?, cast_tensor(y, dtype)?);
    let shape = shapes::broadcast(x.shape(), y.shape())?;
    super::num::with_float!(dtype, T => {
        zip((x.as_slice::<T>()?, x.shape()), (y.as_slice::<T>()?, y.shape()), out.typed::<T>(0, shape), &shape, T::div);
        Ok(())
    }, d => Err(Error::internal(format!("a quotient of dtype {d}"))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{attrs, eval, infer_err};
    use gristmill_types::Sparse;
    use half::bf16;

    fn call(op: &OpDef, x: Tensor, y: Tensor) -> Tensor {
        eval(op, &[x.into(), y.into()], attrs(&[])).unwrap()[0].tensor().unwrap().clone()
    }

    #[test]
    fn operators() {
        let (x, y) = (Tensor::vector(&[7i32, -7, 7, -7]), Tensor::vector(&[2i32, 2, -2, -2]));
        assert_eq!(call(&FLOORDIV, x.clone(), y.clone()), Tensor::vector(&[3i32, -4, -4, 3]));
        assert_eq!(call(&FLOORMOD, x.clone(), Tensor::scalar(3i32)), Tensor::vector(&[1i32, 2, 1, 2]));
        assert_eq!(call(&TRUEDIV, x.clone(), y), Tensor::vector(&[3.5f64, -3.5, -3.5, 3.5]));
        assert_eq!(call(&TRUEDIV, Tensor::scalar(1u8), Tensor::scalar(3u8)), Tensor::scalar(1f32 / 3.0));
        assert_eq!(
            call(&ADD, Tensor::string("a"), Tensor::string_vector(vec!["b".into()])),
            Tensor::string_vector(vec!["ab".into()])
        );
        assert_eq!(call(&SUBTRACT, Tensor::scalar(1u8), Tensor::scalar(2u8)), Tensor::scalar(255u8));
        assert_eq!(call(&POW, Tensor::scalar(2i64), Tensor::scalar(40i64)), Tensor::scalar(1i64 << 40));
    }

    #[test]
    fn sixteen_bit_floats_round_each_step() {
        let b = |v: f32| Tensor::scalar(bf16::from_f32(v));
        assert_eq!(call(&MULTIPLY, b(1.007_812_5), b(1.007_812_5)), b(1.015_625));
    }

    #[test]
    fn channels_broadcast() {
        let image = Tensor::from_vec(Shape::image(40, 5, 3), &(0..600).map(|v| v as f32).collect::<Vec<_>>())
            .unwrap();
        let out = call(&SUBTRACT, image, Tensor::vector(&[0f32, 1.0, 2.0]));
        assert!(out.as_slice::<f32>().unwrap().iter().enumerate().all(|(i, v)| *v == (i - i % 3) as f32));
    }

    #[test]
    fn errors_say_what_is_wrong() {
        let e = |op: &OpDef, x: Tensor, y: Tensor| infer_err(op, &[x.into(), y.into()], attrs(&[]));
        assert!(
            e(&ADD, Tensor::vector(&[1f32, 2.0]), Tensor::vector(&[1f32, 2.0, 3.0]))
                .contains("incompatible shapes: [2] vs. [3]")
        );
        assert!(
            e(&ADD, Tensor::scalar(1i32), Tensor::scalar(1f32))
                .contains("expected to be a int32 tensor but is a float32")
        );
        assert!(
            e(&FLOORDIV, Tensor::scalar(1i32), Tensor::scalar(0i32)).contains("integer division by zero")
        );
        assert!(e(&MULTIPLY, Tensor::string("a"), Tensor::string("b")).contains("expected numbers"));
    }

    #[test]
    fn sparse_values_take_scalars() {
        let s = Sparse {
            indices: Tensor::zeros(DType::I64, Shape::new(&[1, 1]).unwrap()),
            values: Tensor::vector(&[2f32]),
            dense_shape: Tensor::vector(&[3i64]),
        };
        let out = eval(&MULTIPLY, &[s.into(), Tensor::scalar(2f32).into()], attrs(&[])).unwrap();
        assert_eq!(out[0].sparse().unwrap().values, Tensor::vector(&[4f32]));
    }
}
