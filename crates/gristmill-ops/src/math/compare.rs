//! The comparisons.

use super::arithmetic::same;
use super::broadcast::zip;
use crate::array::support::flat::{OnFlat, elementwise_spec};
use crate::array::support::shapes;
use crate::array::support::walk::Walk;
use gristmill_plan::{Arg, ArgDef, Attrs, Class, Kernel, OpCx, OpDef, Outs};
use gristmill_types::{DType, Element, Error, Result, Spec, Value, with_element};

const INPUTS: &[ArgDef] = &[
    ArgDef { name: "x", doc: "numbers; bools and strings for equality" },
    ArgDef { name: "y", doc: "the dtype of x, a shape that broadcasts with it" },
];

trait Comparison: Send + Sync + 'static {
    fn holds<T: Element + PartialOrd>(x: T, y: T) -> bool;
    /// What it says of two strings; `None` where they are not compared.
    fn strings(equal: bool) -> Option<bool>;
}

macro_rules! comparisons {
    ($($id:ident $f:ident $name:literal $doc:literal $op:tt $strings:expr;)*) => { $(
        struct $f;
        impl Comparison for $f {
            #[inline(always)]
            fn holds<T: Element + PartialOrd>(x: T, y: T) -> bool {
                x $op y
            }
            fn strings(equal: bool) -> Option<bool> {
                let f: fn(bool) -> Option<bool> = $strings;
                f(equal)
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
            infer: infer::<$f>,
            kernel: kernel::<$f>,
        };
    )* };
}

comparisons! {
    EQUAL Equal "math.equal" "Whether `x == y`. NaN equals nothing." == Some;
    NOT_EQUAL NotEqual "math.not_equal" "Whether `x != y`." != |equal| Some(!equal);
    LESS Less "math.less" "Whether `x < y`." < |_| None;
    LESS_EQUAL LessEqual "math.less_equal" "Whether `x <= y`." <= |_| None;
    GREATER Greater "math.greater" "Whether `x > y`." > |_| None;
    GREATER_EQUAL GreaterEqual "math.greater_equal" "Whether `x >= y`." >= |_| None;
}

fn infer<F: Comparison>(args: &[Arg], _: &Attrs) -> Result<Vec<Spec>> {
    let dtype = same(args[0].dtype(), args[1].dtype(), "the comparison")?;
    if matches!(dtype, DType::String | DType::Bool) && F::strings(true).is_none() {
        return Err(Error::invalid(format!("expected numbers, found {dtype}")));
    }
    let shape = || shapes::broadcast_partial(args[0].spec.shape(), args[1].spec.shape());
    Ok(vec![elementwise_spec(args, DType::Bool, shape)?])
}

fn kernel<F: Comparison>(_: &[Arg], _: &Attrs) -> Result<Box<dyn Kernel>> {
    Ok(Box::new(OnFlat(|_: &mut OpCx<'_>, inputs: &[Value], out: &mut Outs<'_>| {
        let (x, y) = (inputs[0].tensor()?, inputs[1].tensor()?);
        let dtype = same(x.dtype(), y.dtype(), "the comparison")?;
        let shape = shapes::broadcast(x.shape(), y.shape())?;
        let to = out.plain(0, DType::Bool, shape);
        with_element!(dtype, T => {
            zip((x.as_slice::<T>()?, x.shape()), (y.as_slice::<T>()?, y.shape()), to, &shape, |a, b| u8::from(F::holds(a, b)));
            Ok(())
        }, _ => {
            let (a, b) = (x.as_strings(), y.as_strings());
            Walk::new(&shape, [x.shape(), y.shape()]).each(|o, n, [i, j], [p, q]| {
                for (k, to) in to[o..o + n].iter_mut().enumerate() {
                    *to = u8::from(F::strings(a[i + k * p] == b[j + k * q]).unwrap_or(false));
                }
            });
            Ok(())
        })
    })))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{attrs, eval, infer_err};
    use gristmill_types::Tensor;

    #[test]
    fn compares() {
        let call = |op: &OpDef, x: Tensor, y: Tensor| {
            eval(op, &[x.into(), y.into()], attrs(&[])).unwrap()[0].tensor().unwrap().bytes().to_vec()
        };
        let x = Tensor::vector(&[1f32, 2.0, f32::NAN]);
        assert_eq!(call(&LESS, x.clone(), Tensor::scalar(2f32)), [1, 0, 0]);
        assert_eq!(call(&GREATER_EQUAL, Tensor::scalar(2f32), x.clone()), [1, 1, 0]);
        assert_eq!(call(&NOT_EQUAL, x.clone(), x), [0, 0, 1]);
        let s = Tensor::string_vector(vec!["a".into(), "b".into()]);
        assert_eq!(call(&EQUAL, s.clone(), Tensor::string("b")), [0, 1]);
        assert!(infer_err(&LESS, &[s.clone().into(), s.into()], attrs(&[])).contains("expected numbers"));
    }
}
