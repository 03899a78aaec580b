//! The reductions.

use super::num::{Num, with_float, with_num};
use crate::array::support::walk::Walk;
use crate::array::support::{kernel_of, shapes};
use gristmill_plan::{Arg, ArgDef, Attrs, Class, Kernel, OpDef, Outs};
use gristmill_types::shape::MAX_RANK;
use gristmill_types::{DType, Error, PartialShape, Result, Shape, Spec, Tensor};

pub(super) const ATTRS: &[ArgDef] = &[
    ArgDef { name: "axis", doc: "the dimensions; None (default) takes all" },
    ArgDef { name: "keepdims", doc: "whether they stay with size 1; default False" },
];

#[derive(Clone, Copy)]
enum What {
    Sum,
    Mean,
    Max,
    Min,
    Prod,
    Any,
    All,
}

macro_rules! reductions {
    ($($id:ident $name:literal $doc:literal $what:ident $input:literal;)*) => { $(
        pub(crate) static $id: OpDef = OpDef {
            name: $name,
            doc: $doc,
            inputs: &[ArgDef { name: "input_tensor", doc: $input }],
            attrs: ATTRS,
            class: Class::Pure,
            total: false,
            elementwise: false,
            infer: |args, attrs| infer(args, attrs, matches!(What::$what, What::Any | What::All)),
            kernel: |_, attrs| kernel(attrs, What::$what),
        };
    )* };
}

reductions! {
    SUM "math.reduce_sum" "The sum over dimensions.\n\nIntegers wrap; floats add up in float64." Sum "numbers";
    MEAN "math.reduce_mean" "The mean over dimensions.\n\nOf integers it is cut towards zero, and their sum wraps in their dtype, as in TensorFlow." Mean "numbers";
    MAX "math.reduce_max" "The largest element over dimensions; NaN if one is." Max "numbers";
    MIN "math.reduce_min" "The smallest element over dimensions; NaN if one is." Min "numbers";
    PROD "math.reduce_prod" "The product over dimensions.\n\nIntegers wrap." Prod "numbers";
    ANY "math.reduce_any" "Whether one element is true." Any "bool";
    ALL "math.reduce_all" "Whether every element is true." All "bool";
}

/// The dimensions left by a reduction.
pub(super) fn left<D: Copy>(dims: &[D], reduced: &[bool], keep: Option<D>) -> Vec<D> {
    let pick = |(d, gone): (&D, &bool)| if *gone { keep } else { Some(*d) };
    dims.iter().zip(reduced).filter_map(pick).collect()
}

fn infer(args: &[Arg], attrs: &Attrs, bools: bool) -> Result<Vec<Spec>> {
    let (spec, axes) = (&args[0].spec, shapes::int_list(attrs, "axis")?);
    let keep = attrs.bool_or("keepdims", false)?;
    let fits = if bools {
        spec.dtype() == DType::Bool
    } else {
        !matches!(spec.dtype(), DType::Bool | DType::String)
    };
    if !fits {
        return Err(Error::invalid(format!(
            "expected {}, found {}",
            if bools { "bool" } else { "numbers" },
            spec.dtype()
        )));
    }
    let shape = match spec.shape().dims() {
        Some(dims) => PartialShape::new(left(
            dims,
            &shapes::axis_mask(axes.as_deref(), dims.len())?,
            keep.then_some(Some(1)),
        )),
        None if axes.is_none() && !keep => PartialShape::scalar(),
        None => PartialShape::UNKNOWN,
    };
    Ok(vec![Spec::tensor(spec.dtype(), shape)])
}

/// Where the elements go, and how many go to each place.
struct Plan {
    shape: Shape,
    walk: Walk<1>,
    each: usize,
}

fn plan(t: &Tensor, axes: Option<&[i64]>, keep: bool) -> Result<Plan> {
    let gone = shapes::axis_mask(axes, t.shape().rank())?;
    let shape = Shape::new(&left(t.dims(), &gone, keep.then_some(1)))?;
    let (mut steps, mut step, mut each) = ([[0usize; 1]; MAX_RANK], 1, 1);
    for (i, &d) in t.dims().iter().enumerate().rev() {
        if gone[i] {
            each *= d;
        } else {
            steps[i] = [step];
            step *= d;
        }
    }
    Ok(Plan { shape, walk: Walk::with_steps(t.shape(), steps), each })
}

/// Folds every element into its place.
fn fold<T: Copy, A: Copy>(x: &[T], plan: &Plan, acc: &mut [A], f: impl Fn(A, T) -> A) {
    plan.walk.each(|from, n, [to], [step]| {
        let x = &x[from..from + n];
        if step == 0 {
            acc[to] = x.iter().fold(acc[to], |a, v| f(a, *v));
        } else if step == 1 {
            for (a, v) in acc[to..to + n].iter_mut().zip(x) {
                *a = f(*a, *v);
            }
        } else {
            for (k, v) in x.iter().enumerate() {
                acc[to + k * step] = f(acc[to + k * step], *v);
            }
        }
    });
}

fn kernel(attrs: &Attrs, what: What) -> Result<Box<dyn Kernel>> {
    let axes = shapes::int_list(attrs, "axis")?;
    let keep = attrs.bool_or("keepdims", false)?;
    kernel_of(move |inputs, out| {
        let t = inputs[0].tensor()?;
        let plan = plan(t, axes.as_deref(), keep)?;
        match what {
            What::Any | What::All => {
                let acc = out.plain(0, DType::Bool, plan.shape);
                acc.fill(u8::from(matches!(what, What::All)));
                let x = t.as_slice::<u8>()?;
                if matches!(what, What::All) {
                    fold(x, &plan, acc, |a, v| a & v)
                } else {
                    fold(x, &plan, acc, |a, v| a | v)
                }
                Ok(())
            }
            What::Max | What::Min => extreme(t, &plan, matches!(what, What::Max), out),
            What::Sum | What::Mean | What::Prod => with_float!(t.dtype(), T => {
                let product = matches!(what, What::Prod);
                let mut acc = vec![f64::from(u8::from(product)); plan.shape.count()];
                let x = t.as_slice::<T>()?;
                if product { fold(x, &plan, &mut acc, |a, v| a * v.to_f64()) } else { fold(x, &plan, &mut acc, |a, v| a + v.to_f64()) }
                let by = if matches!(what, What::Mean) { plan.each as f64 } else { 1.0 };
                for (to, a) in out.typed::<T>(0, plan.shape).iter_mut().zip(acc) {
                    *to = T::from_f64(a / by);
                }
                Ok(())
            }, _d => whole(t, &plan, what, out)),
        }
    })
}

fn extreme(t: &Tensor, plan: &Plan, max: bool, out: &mut Outs<'_>) -> Result<()> {
    with_num!(t.dtype(), T => {
        let acc = out.typed::<T>(0, plan.shape);
        let start = match (T::INT, max) {
            (true, true) => T::LOWEST,
            (true, false) => T::HIGHEST,
            (false, true) => T::from_f64(f64::NEG_INFINITY),
            (false, false) => T::from_f64(f64::INFINITY),
        };
        acc.fill(start);
        let x = t.as_slice::<T>()?;
        if max { fold(x, plan, acc, |a: T, v| a.larger(v)) } else { fold(x, plan, acc, |a: T, v| a.smaller(v)) }
        Ok(())
    }, d => Err(Error::invalid(format!("expected numbers, found {d}"))))
}

/// Sums and products of integers.
fn whole(t: &Tensor, plan: &Plan, what: What, out: &mut Outs<'_>) -> Result<()> {
    with_num!(t.dtype(), T => {
        let acc = out.typed::<T>(0, plan.shape);
        let x = t.as_slice::<T>()?;
        if matches!(what, What::Prod) {
            acc.fill(T::from_f64(1.0));
            fold(x, plan, acc, T::mul);
            return Ok(());
        }
        acc.fill(T::default());
        fold(x, plan, acc, T::add);
        if matches!(what, What::Mean) {
            for a in acc.iter_mut() {
                let mean = a.to_i128().unwrap_or(0).checked_div(plan.each as i128).unwrap_or(0);
                *a = T::from_i128(mean);
            }
        }
        Ok(())
    }, d => Err(Error::invalid(format!("expected numbers, found {d}"))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{attrs, eval};
    use gristmill_plan::Attr;

    fn x() -> Tensor {
        Tensor::from_vec(Shape::new(&[2, 3, 2]).unwrap(), &(1..=12i32).collect::<Vec<_>>()).unwrap()
    }

    fn call(op: &OpDef, t: Tensor, axis: Option<&[i64]>, keep: bool) -> Tensor {
        let axis = axis.map_or(Attr::None, |a| Attr::List(a.iter().map(|&a| Attr::Int(a)).collect()));
        eval(op, &[t.into()], attrs(&[("axis", axis), ("keepdims", Attr::Bool(keep))])).unwrap()[0]
            .tensor()
            .unwrap()
            .clone()
    }

    #[test]
    fn over_any_dimensions() {
        assert_eq!(call(&SUM, x(), None, false), Tensor::scalar(78i32));
        assert_eq!(call(&SUM, x(), Some(&[1]), false).as_slice::<i32>().unwrap(), &[9, 12, 27, 30]);
        let kept = call(&MAX, x(), Some(&[0, -1]), true);
        assert_eq!((kept.dims(), kept.as_slice::<i32>().unwrap()), (&[1usize, 3, 1][..], &[8, 10, 12][..]));
        assert_eq!(call(&MIN, x(), Some(&[0]), false).as_slice::<i32>().unwrap(), &[1, 2, 3, 4, 5, 6]);
        assert_eq!(call(&PROD, Tensor::vector(&[2f32, 3.0]), None, false), Tensor::scalar(6f32));
    }

    #[test]
    fn means() {
        assert_eq!(
            call(&MEAN, Tensor::vector(&(0..8i32).collect::<Vec<_>>()), None, false),
            Tensor::scalar(3i32)
        );
        assert_eq!(call(&MEAN, Tensor::vector(&[1f32, 2.0]), None, false), Tensor::scalar(1.5f32));
        assert!(
            call(&MEAN, Tensor::zeros(DType::F32, Shape::vector(0)), None, false)
                .item::<f32>()
                .unwrap()
                .is_nan()
        );
        assert_eq!(
            call(&MAX, Tensor::zeros(DType::F32, Shape::vector(0)), None, false),
            Tensor::scalar(f32::NEG_INFINITY)
        );
        assert!(call(&MAX, Tensor::vector(&[f32::NAN, 1.0]), None, false).item::<f32>().unwrap().is_nan());
    }

    #[test]
    fn truths() {
        let b = Tensor::from_bytes(DType::Bool, Shape::new(&[2, 2]).unwrap(), &[1, 0, 1, 1]).unwrap();
        assert_eq!(call(&ALL, b.clone(), Some(&[0]), false).bytes(), &[1, 0]);
        assert_eq!(call(&ANY, b, None, false).bytes(), &[1]);
    }
}
