//! The functions of one number.

use super::num::{Num, with_float, with_num};
use crate::array::support::flat::{OnFlat, with_dtype};
use gristmill_plan::{Arg, ArgDef, Attrs, Class, Kernel, OpCx, OpDef, Outs};
use gristmill_types::{DType, Error, Result, Spec, Tensor, Value};

const INPUTS: &[ArgDef] = &[ArgDef { name: "x", doc: "numbers of any shape" }];

macro_rules! unary {
    ($($id:ident $name:literal $doc:literal $infer:expr, $kernel:expr;)*) => { $(
        pub(crate) static $id: OpDef = OpDef {
            name: $name,
            doc: $doc,
            inputs: INPUTS,
            attrs: &[],
            class: Class::Pure,
            total: true,
            elementwise: true,
            infer: $infer,
            kernel: |_, _| $kernel,
        };
    )* };
}

unary! {
    NEGATIVE "math.negative" "`-x`. Integers wrap." numbers, each(Negative);
    ABS "math.abs" "`|x|`. Integers wrap." numbers, each(Abs);
    SIGN "math.sign" "-1, 0 or 1; NaN stays." numbers, each(Sign);
    SQUARE "math.square" "`x * x`. Integers wrap." numbers, each(Square);
    ROUND "math.round" "The nearest integer, halves to the even one." numbers, each(Round);
    SQRT "math.sqrt" "The square root; NaN below 0." floats, real(f32::sqrt, f64::sqrt);
    RSQRT "math.rsqrt" "`1 / sqrt(x)`." floats, real(|x| 1.0 / x.sqrt(), |x| 1.0 / x.sqrt());
    EXP "math.exp" "e to the power of x." floats, real(f32::exp, f64::exp);
    LOG "math.log" "The natural logarithm; NaN below 0." floats, real(f32::ln, f64::ln);
    LOG1P "math.log1p" "`log(1 + x)`, exact near 0." floats, real(f32::ln_1p, f64::ln_1p);
    SIN "math.sin" "The sine of x in radians." floats, real(f32::sin, f64::sin);
    COS "math.cos" "The cosine of x in radians." floats, real(f32::cos, f64::cos);
    TAN "math.tan" "The tangent of x in radians." floats, real(f32::tan, f64::tan);
    TANH "math.tanh" "The hyperbolic tangent." floats, real(f32::tanh, f64::tanh);
    SIGMOID "math.sigmoid" "`1 / (1 + exp(-x))`." floats, real(|x| 1.0 / (1.0 + (-x).exp()), |x| 1.0 / (1.0 + (-x).exp()));
    FLOOR "math.floor" "The largest integer not above x." floats, real(f32::floor, f64::floor);
    CEIL "math.ceil" "The smallest integer not below x." floats, real(f32::ceil, f64::ceil);
    IS_NAN "math.is_nan" "Whether x is not a number." tests, test(|x| x.is_nan());
    IS_FINITE "math.is_finite" "Whether x is neither infinite nor NaN." tests, test(|x| x.is_finite());
}

trait Function: Send + Sync + 'static {
    fn apply<T: Num>(x: T) -> T;
}

macro_rules! functions {
    ($($f:ident |$x:ident| $body:expr;)*) => { $(
        struct $f;
        impl Function for $f {
            #[inline(always)]
            fn apply<T: Num>($x: T) -> T {
                $body
            }
        }
    )* };
}
functions! {
    Negative |x| x.negate();
    Abs |x| x.magnitude();
    Sign |x| x.signum_or_zero();
    Square |x| x.mul(x);
    Round |x| x.round_even();
}

fn numbers(args: &[Arg], _: &Attrs) -> Result<Vec<Spec>> {
    match args[0].dtype() {
        d @ (DType::Bool | DType::String) => Err(Error::invalid(format!("expected numbers, found {d}"))),
        d => Ok(vec![with_dtype(&args[0].spec, d)]),
    }
}

fn floats(args: &[Arg], _: &Attrs) -> Result<Vec<Spec>> {
    match args[0].dtype() {
        d if d.is_float() => Ok(vec![with_dtype(&args[0].spec, d)]),
        d => Err(not_float(d)),
    }
}

fn tests(args: &[Arg], attrs: &Attrs) -> Result<Vec<Spec>> {
    Ok(vec![with_dtype(&floats(args, attrs)?[0], DType::Bool)])
}

fn not_float(d: DType) -> Error {
    Error::invalid(format!("expected floats, found {d}")).hint("cast(x, \"float32\") first")
}

/// A kernel over the dense tensor or the flat values.
fn flat(f: impl Fn(&Tensor, &mut Outs<'_>) -> Result<()> + Send + Sync + 'static) -> Result<Box<dyn Kernel>> {
    Ok(Box::new(OnFlat(move |_: &mut OpCx<'_>, inputs: &[Value], out: &mut Outs<'_>| {
        f(inputs[0].tensor()?, out)
    })))
}

fn each<F: Function>(_: F) -> Result<Box<dyn Kernel>> {
    flat(|x, out| {
        with_num!(x.dtype(), T => {
            for (to, v) in out.typed::<T>(0, *x.shape()).iter_mut().zip(x.as_slice::<T>()?) {
                *to = F::apply(*v);
            }
            Ok(())
        }, d => Err(Error::invalid(format!("expected numbers, found {d}"))))
    })
}

/// Float64 by the second function, the other floats by the first.
fn real(
    f: impl Fn(f32) -> f32 + Copy + Send + Sync + 'static,
    g: impl Fn(f64) -> f64 + Copy + Send + Sync + 'static,
) -> Result<Box<dyn Kernel>> {
    flat(move |x, out| match x.dtype() {
        DType::F64 => map(x, out, g),
        DType::F32 => map(x, out, f),
        DType::F16 => map(x, out, |v: half::f16| half::f16::from_f32(f(v.to_f32()))),
        DType::BF16 => map(x, out, |v: half::bf16| super::num::narrow(f(v.to_f32()))),
        d => Err(not_float(d)),
    })
}

fn map<T: Num>(x: &Tensor, out: &mut Outs<'_>, f: impl Fn(T) -> T) -> Result<()> {
    for (to, v) in out.typed::<T>(0, *x.shape()).iter_mut().zip(x.as_slice::<T>()?) {
        *to = f(*v);
    }
    Ok(())
}

fn test(f: impl Fn(f64) -> bool + Copy + Send + Sync + 'static) -> Result<Box<dyn Kernel>> {
    flat(move |x, out| {
        let to = out.plain(0, DType::Bool, *x.shape());
        with_float!(x.dtype(), T => {
            for (to, v) in to.iter_mut().zip(x.as_slice::<T>()?) {
                *to = u8::from(f(v.to_f64()));
            }
            Ok(())
        }, d => Err(not_float(d)))
    })
}

#[cfg(test)]
mod tests_of_unary {
    use super::*;
    use crate::testing::{attrs, eval, infer_err};
    use half::f16;

    fn call(op: &OpDef, x: Tensor) -> Tensor {
        eval(op, &[x.into()], attrs(&[])).unwrap()[0].tensor().unwrap().clone()
    }

    #[test]
    fn values() {
        assert_eq!(
            call(&ROUND, Tensor::vector(&[0.5f32, 1.5, 2.5, -0.5])),
            Tensor::vector(&[0f32, 2.0, 2.0, -0.0])
        );
        assert_eq!(call(&ABS, Tensor::vector(&[-3i32, i32::MIN])), Tensor::vector(&[3i32, i32::MIN]));
        assert_eq!(call(&SIGN, Tensor::vector(&[-2.5f64, 0.0, 9.0])), Tensor::vector(&[-1f64, 0.0, 1.0]));
        assert_eq!(call(&SQUARE, Tensor::vector(&[16u8])), Tensor::vector(&[0u8]));
        assert_eq!(call(&SQRT, Tensor::vector(&[9f32])), Tensor::vector(&[3f32]));
        assert_eq!(call(&SIGMOID, Tensor::vector(&[0f64])), Tensor::vector(&[0.5f64]));
        assert_eq!(
            call(&FLOOR, Tensor::vector(&[f16::from_f32(-1.5)])),
            Tensor::vector(&[f16::from_f32(-2.0)])
        );
        assert_eq!(call(&IS_NAN, Tensor::vector(&[f32::NAN, 1.0])).bytes(), &[1, 0]);
        assert_eq!(call(&IS_FINITE, Tensor::vector(&[f32::INFINITY, 1.0])).bytes(), &[0, 1]);
        assert!(
            infer_err(&EXP, &[Tensor::scalar(1i32).into()], attrs(&[]))
                .contains("expected floats, found int32")
        );
    }
}
