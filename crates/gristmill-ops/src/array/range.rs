//! `range` and `linspace`: evenly spaced numbers.

use super::support::kernel_of;
use crate::math::num::{Num, with_float, with_num};
use gristmill_plan::{Arg, ArgDef, Attrs, Class, Kernel, OpDef};
use gristmill_types::{Error, PartialShape, Result, Shape, Spec, Tensor};

pub(crate) static RANGE: OpDef = OpDef {
    name: "range",
    doc: "The numbers from `start` in steps of `delta`, without `limit`.",
    inputs: &[
        ArgDef { name: "start", doc: "a scalar number" },
        ArgDef { name: "limit", doc: "a scalar of the same dtype; not in the result" },
        ArgDef { name: "delta", doc: "a scalar of the same dtype, not 0" },
    ],
    attrs: &[],
    class: Class::Pure,
    total: false,
    elementwise: false,
    infer: infer_range,
    kernel: kernel_range,
};

pub(crate) static LINSPACE: OpDef = OpDef {
    name: "linspace",
    doc: "`num` numbers from `start` to `stop`, both included.",
    inputs: &[
        ArgDef { name: "start", doc: "a float scalar" },
        ArgDef { name: "stop", doc: "a scalar of the same dtype" },
        ArgDef { name: "num", doc: "an integer scalar >= 1" },
    ],
    attrs: &[],
    class: Class::Pure,
    total: false,
    elementwise: false,
    infer: infer_linspace,
    kernel: kernel_linspace,
};

fn same(args: &[Arg], op: &str) -> Result<()> {
    if args.iter().any(|a| a.dtype() != args[0].dtype()) {
        let found: Vec<_> = args.iter().map(|a| a.dtype().name()).collect();
        return Err(Error::invalid(format!("{op} takes numbers of one dtype, found {}", found.join(", "))));
    }
    Ok(())
}

/// How many numbers there are.
fn steps<T: Num>(start: T, limit: T, delta: T) -> Result<usize> {
    let (a, b, d) = (start.to_f64(), limit.to_f64(), delta.to_f64());
    if d == 0.0 {
        return Err(Error::invalid("range requires delta != 0"));
    }
    if d > 0.0 && a > b {
        return Err(Error::invalid(format!("range requires start <= limit when delta > 0: {a}/{b}")));
    }
    if d < 0.0 && a < b {
        return Err(Error::invalid(format!("range requires start >= limit when delta < 0: {a}/{b}")));
    }
    let n = match (start.to_i128(), limit.to_i128(), delta.to_i128()) {
        (Some(a), Some(b), Some(d)) => ((b - a).unsigned_abs()).div_ceil(d.unsigned_abs()) as f64,
        _ => ((b - a) / d).abs().ceil(),
    };
    if n.is_finite() && n < (1u64 << 40) as f64 {
        Ok(n as usize)
    } else {
        Err(Error::invalid(format!("range would have {n} numbers")))
    }
}

fn range<T: Num>(inputs: &[&Tensor]) -> Result<(T, T, usize)> {
    let (a, b, d) = (inputs[0].item::<T>()?, inputs[1].item::<T>()?, inputs[2].item::<T>()?);
    Ok((a, d, steps(a, b, d)?))
}

fn infer_range(args: &[Arg], _: &Attrs) -> Result<Vec<Spec>> {
    same(args, "range")?;
    let values: Option<Vec<&Tensor>> = args.iter().map(Arg::constant).collect();
    let dtype = args[0].dtype();
    let n = match values {
        Some(v) => with_num!(dtype, T => Some(range::<T>(&v)?.2), _ => None),
        None => None,
    };
    if !dtype.is_int() && !dtype.is_float() {
        return Err(Error::invalid(format!("range takes numbers, found {dtype}")));
    }
    Ok(vec![Spec::tensor(dtype, PartialShape::new(vec![n]))])
}

fn kernel_range(_: &[Arg], _: &Attrs) -> Result<Box<dyn Kernel>> {
    kernel_of(|inputs, out| {
        let v = inputs.iter().map(|v| v.tensor()).collect::<Result<Vec<_>>>()?;
        with_num!(v[0].dtype(), T => {
            let (mut at, step, n) = range::<T>(&v)?;
            for to in out.typed::<T>(0, Shape::new(&[n])?) {
                *to = at;
                at = at.add(step);
            }
            Ok(())
        }, d => Err(Error::invalid(format!("range takes numbers, found {d}"))))
    })
}

fn count(t: &Tensor) -> Result<usize> {
    let n = t.item_i64()?;
    usize::try_from(n)
        .ok()
        .filter(|&n| n > 0)
        .ok_or_else(|| Error::invalid(format!("linspace requires num > 0: {n}")))
}

fn infer_linspace(args: &[Arg], _: &Attrs) -> Result<Vec<Spec>> {
    same(&args[..2], "linspace")?;
    if !args[0].dtype().is_float() {
        return Err(Error::invalid(format!("linspace takes floats, found {}", args[0].dtype())));
    }
    let n = args[2].constant().map(count).transpose()?;
    Ok(vec![Spec::tensor(args[0].dtype(), PartialShape::new(vec![n]))])
}

fn kernel_linspace(_: &[Arg], _: &Attrs) -> Result<Box<dyn Kernel>> {
    kernel_of(|inputs, out| {
        let n = count(inputs[2].tensor()?)?;
        let shape = Shape::new(&[n])?;
        with_float!(inputs[0].dtype(), T => {
            let (a, b) = (inputs[0].tensor()?.item::<T>()?, inputs[1].tensor()?.item::<T>()?);
            let step = b.sub(a).div(T::from_f64((n - 1).max(1) as f64));
            let to = out.typed::<T>(0, shape);
            for (i, to) in to.iter_mut().enumerate() {
                *to = a.add(step.mul(T::from_f64(i as f64)));
            }
            if n > 1 {
                to[n - 1] = b;
            }
            Ok(())
        }, d => Err(Error::invalid(format!("linspace takes floats, found {d}"))))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{attrs, eval, infer_err};

    #[test]
    fn counts() {
        let r = |a: i32, b: i32, d: i32| [a, b, d].map(|v| Tensor::scalar(v).into());
        assert_eq!(eval(&RANGE, &r(3, 10, 3), attrs(&[])).unwrap()[0], Tensor::vector(&[3i32, 6, 9]).into());
        assert_eq!(eval(&RANGE, &r(3, 0, -2), attrs(&[])).unwrap()[0], Tensor::vector(&[3i32, 1]).into());
        assert!(infer_err(&RANGE, &r(0, 1, 0), attrs(&[])).contains("delta != 0"));
        assert!(infer_err(&RANGE, &r(2, 1, 1), attrs(&[])).contains("start <= limit when delta > 0: 2/1"));
        let f = [0f32, 1.0, 0.3].map(|v| Tensor::scalar(v).into());
        assert_eq!(eval(&RANGE, &f, attrs(&[])).unwrap()[0].tensor().unwrap().count(), 4);
    }

    #[test]
    fn spaces() {
        let v = [Tensor::scalar(0f32).into(), Tensor::scalar(1f32).into(), Tensor::scalar(5i32).into()];
        assert_eq!(
            eval(&LINSPACE, &v, attrs(&[])).unwrap()[0],
            Tensor::vector(&[0f32, 0.25, 0.5, 0.75, 1.0]).into()
        );
    }
}
