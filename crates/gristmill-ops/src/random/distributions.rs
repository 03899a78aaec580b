//! `random.uniform`, `random.normal` and their stateless forms.

use super::draw::{self, fill_integers, fill_normal, fill_uniform};
use crate::array::support::shapes;
use crate::math::num::{with_float, with_int};
use gristmill_plan::{Arg, ArgDef, Attrs, Class, Kernel, OpCx, OpDef, Outs};
use gristmill_types::rng::Philox;
use gristmill_types::{DType, Error, Result, Spec, Tensor, Value};

const SHAPE: ArgDef = ArgDef { name: "shape", doc: "integer vector: the shape of the result" };
const SEED: ArgDef = ArgDef { name: "seed", doc: "two integers" };
const PAIR: ArgDef = ArgDef {
    name: "seed",
    doc: "the pair (graph seed, op seed), or None for numbers that differ in each run",
};
const DTYPE: ArgDef = ArgDef { name: "dtype", doc: "dtype of the result; default float32" };
const LOW: ArgDef = ArgDef { name: "minval", doc: "scalar of the dtype: the least value" };
const HIGH: ArgDef = ArgDef { name: "maxval", doc: "scalar of the dtype: not reached" };
const BOUNDS: ArgDef = ArgDef {
    name: "bounds*",
    doc: "minval and maxval, scalars of the dtype; without them integers of the whole range",
};
const MEAN: ArgDef = ArgDef { name: "mean", doc: "scalar of the dtype" };
const DEVIATION: ArgDef = ArgDef { name: "stddev", doc: "scalar of the dtype" };

pub(crate) static UNIFORM: OpDef = OpDef {
    name: "random.uniform",
    doc: "Uniform numbers in `[minval, maxval)`.\n\n\
          Called outside a pipeline: TensorFlow's numbers for the seed pair. In a pipeline each element has numbers of its own.",
    inputs: &[SHAPE, LOW, HIGH],
    attrs: &[DTYPE, PAIR],
    class: Class::Random,
    total: false,
    elementwise: false,
    infer: |args, attrs| infer(args, attrs, 1, true),
    kernel: |_, attrs| kernel(attrs, false, uniform),
};

pub(crate) static NORMAL: OpDef = OpDef {
    name: "random.normal",
    doc: "Normally distributed numbers.\n\n\
          Called outside a pipeline: TensorFlow's numbers for the seed pair. In a pipeline each element has numbers of its own.",
    inputs: &[SHAPE, MEAN, DEVIATION],
    attrs: &[DTYPE, PAIR],
    class: Class::Random,
    total: false,
    elementwise: false,
    infer: |args, attrs| infer(args, attrs, 1, false),
    kernel: |_, attrs| kernel(attrs, false, normal),
};

pub(crate) static STATELESS_UNIFORM: OpDef = OpDef {
    name: "random.stateless_uniform",
    doc: "Uniform numbers in `[minval, maxval)` that depend on the seed alone: TensorFlow's, bit for bit.",
    inputs: &[SHAPE, SEED, BOUNDS],
    attrs: &[DTYPE],
    class: Class::Pure,
    total: false,
    elementwise: false,
    infer: |args, attrs| infer(args, attrs, 2, true),
    kernel: |_, attrs| kernel(attrs, true, uniform),
};

pub(crate) static STATELESS_NORMAL: OpDef = OpDef {
    name: "random.stateless_normal",
    doc: "Normally distributed numbers that depend on the seed alone: TensorFlow's, up to the last bits of sine and logarithm.",
    inputs: &[SHAPE, SEED, MEAN, DEVIATION],
    attrs: &[DTYPE],
    class: Class::Pure,
    total: false,
    elementwise: false,
    infer: |args, attrs| infer(args, attrs, 2, false),
    kernel: |_, attrs| kernel(attrs, true, normal),
};

fn infer(args: &[Arg], attrs: &Attrs, first: usize, uniform: bool) -> Result<Vec<Spec>> {
    let dtype = attrs.dtype_or("dtype", DType::F32)?;
    draw::check_dtype(dtype, uniform)?;
    shapes::expect_ints(&args[0], "shape")?;
    if first == 2 {
        shapes::expect_ints(&args[1], "seed")?;
    }
    let bounds = &args[first..];
    if bounds.len() != 2 && !(bounds.is_empty() && dtype.is_int()) {
        return Err(Error::invalid(format!("expected two bounds, found {}", bounds.len())));
    }
    if let Some(a) = bounds.iter().find(|a| a.dtype() != dtype) {
        return Err(Error::invalid(format!("bounds must be of dtype {dtype}, found {}", a.dtype())));
    }
    Ok(vec![Spec::tensor(dtype, shapes::known_shape(&args[0])?)])
}

type Fill = fn(&mut Philox, DType, &[&Tensor], gristmill_types::Shape, &mut Outs<'_>) -> Result<()>;

fn kernel(attrs: &Attrs, stateless: bool, fill: Fill) -> Result<Box<dyn Kernel>> {
    let dtype = attrs.dtype_or("dtype", DType::F32)?;
    let pair = attrs.seed()?;
    Ok(Box::new(move |cx: &mut OpCx<'_>, inputs: &[Value], out: &mut Outs<'_>| {
        let v = inputs.iter().map(|v| v.tensor()).collect::<Result<Vec<_>>>()?;
        let (mut stream, bounds) =
            if stateless { (stateless_stream(v[1])?, &v[2..]) } else { (cx.philox(pair), &v[1..]) };
        fill(&mut stream, dtype, bounds, shapes::shape_from(v[0])?, out)
    }))
}

/// The stream of a seed tensor.
pub(crate) fn stateless_stream(seed: &Tensor) -> Result<Philox> {
    match seed.to_i64s()?.as_slice() {
        [a, b] => Ok(Philox::stateless(*a as u64, *b as u64)),
        _ => Err(Error::invalid(format!("seed must have shape [2], not {}", seed.shape()))),
    }
}

fn uniform(
    p: &mut Philox,
    dtype: DType,
    bounds: &[&Tensor],
    shape: gristmill_types::Shape,
    out: &mut Outs<'_>,
) -> Result<()> {
    with_float!(dtype, T => {
        let (low, high) = (item::<T>(bounds, 0)?, item::<T>(bounds, 1)?);
        fill_uniform(p, out.typed::<T>(0, shape), low, high);
        Ok(())
    }, d => with_int!(d, T => {
        let bounds = if bounds.is_empty() { None } else { Some((item::<T>(bounds, 0)?, item::<T>(bounds, 1)?)) };
        fill_integers(p, out.typed::<T>(0, shape), bounds)
    }, d => draw::check_dtype(d, true)))
}

fn normal(
    p: &mut Philox,
    dtype: DType,
    bounds: &[&Tensor],
    shape: gristmill_types::Shape,
    out: &mut Outs<'_>,
) -> Result<()> {
    with_float!(dtype, T => {
        let (mean, deviation) = (item::<T>(bounds, 0)?, item::<T>(bounds, 1)?);
        fill_normal(p, out.typed::<T>(0, shape), mean, deviation);
        Ok(())
    }, d => draw::check_dtype(d, false))
}

fn item<T: gristmill_types::Element>(bounds: &[&Tensor], i: usize) -> Result<T> {
    bounds.get(i).ok_or_else(|| Error::invalid("expected two bounds"))?.item::<T>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{attrs, eval, infer_err};
    use gristmill_plan::Attr;
    use half::{bf16, f16};

    fn call(
        op: &OpDef,
        n: i32,
        seed: Option<[i64; 2]>,
        bounds: [Tensor; 2],
        pair: Option<[i64; 2]>,
    ) -> Result<Tensor> {
        let [a, b] = bounds;
        let mut inputs: Vec<Value> = vec![Tensor::vector(&[n]).into()];
        inputs.extend(seed.map(|s| Value::from(Tensor::vector(&s))));
        let dtype = a.dtype();
        inputs.extend([a.into(), b.into()]);
        let mut entries = vec![("dtype", Attr::DType(dtype))];
        entries.extend(pair.map(|p| ("seed", Attr::List(p.map(Attr::Int).to_vec()))));
        eval(op, &inputs, attrs(&entries)).map(|o| o[0].tensor().unwrap().clone())
    }

    #[test]
    fn stateless_numbers_are_tensorflows() {
        // From TensorFlow 2.21: tf.random.stateless_uniform([3], [1, 2]) and as integers.
        let f = call(&STATELESS_UNIFORM, 3, Some([1, 2]), [Tensor::scalar(0f32), Tensor::scalar(1f32)], None)
            .unwrap();
        assert_eq!(f, Tensor::vector(&[0.844_060_4f32, 0.192_045_33, 0.996_223_2]));
        let i =
            call(&STATELESS_UNIFORM, 5, Some([1, 2]), [Tensor::scalar(-3i32), Tensor::scalar(1000i32)], None)
                .unwrap();
        assert_eq!(i, Tensor::vector(&[97i32, 284, 647, 168, 310]));
        let l = call(
            &STATELESS_UNIFORM,
            2,
            Some([1, 2]),
            [Tensor::scalar(0i64), Tensor::scalar(1i64 << 40)],
            None,
        )
        .unwrap();
        assert_eq!(l, Tensor::vector(&[1_036_193_106_476i64, 635_319_583_806]));
    }

    #[test]
    fn stateless_normals_are_close() {
        let n = call(&STATELESS_NORMAL, 3, Some([1, 2]), [Tensor::scalar(0f32), Tensor::scalar(1f32)], None)
            .unwrap();
        for (a, b) in n.as_slice::<f32>().unwrap().iter().zip([0.544_110_1, 0.207_380_3, 0.073_564_32]) {
            assert!((a - b).abs() < 1e-6, "{a} {b}");
        }
    }

    #[test]
    fn eager_numbers_are_tensorflows() {
        // tf.random.set_seed(42); tf.random.uniform([2]): the op seed is the first of random.Random(42).
        let pair = Some([42, 478_163_327]);
        let f = call(&UNIFORM, 2, None, [Tensor::scalar(0f32), Tensor::scalar(1f32)], pair).unwrap();
        assert_eq!(f, Tensor::vector(&[0.664_562_1f32, 0.441_006_78]));
    }

    #[test]
    fn every_dtype_stays_in_range() {
        let h = call(
            &STATELESS_UNIFORM,
            100,
            Some([3, 4]),
            [Tensor::scalar(f16::from_f32(1.0)), Tensor::scalar(f16::from_f32(2.0))],
            None,
        )
        .unwrap();
        assert!(h.as_slice::<f16>().unwrap().iter().all(|v| (1.0..=2.0).contains(&v.to_f32())));
        let b = call(
            &STATELESS_UNIFORM,
            100,
            Some([3, 4]),
            [Tensor::scalar(bf16::from_f32(0.0)), Tensor::scalar(bf16::from_f32(1.0))],
            None,
        )
        .unwrap();
        assert!(b.as_slice::<bf16>().unwrap().iter().all(|v| (0.0..1.0).contains(&v.to_f32())));
        let d =
            call(&STATELESS_NORMAL, 101, Some([3, 4]), [Tensor::scalar(5f64), Tensor::scalar(0f64)], None)
                .unwrap();
        assert!(d.as_slice::<f64>().unwrap().iter().all(|v| *v == 5.0));
        let e = call(&UNIFORM, 1, None, [Tensor::scalar(5i32), Tensor::scalar(5i32)], None)
            .unwrap_err()
            .to_string();
        assert!(e.contains("need minval < maxval, got 5 >= 5"), "{e}");
        let bad = [Tensor::vector(&[1i32]).into(), Tensor::scalar(1i32).into(), Tensor::scalar(2i32).into()];
        assert!(infer_err(&UNIFORM, &bad, attrs(&[])).contains("bounds must be of dtype float32"));
    }
}
