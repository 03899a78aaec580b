//! `image.per_image_standardization` and `image.total_variation`.

use super::common::{IMAGE, Images, MadeKernel, Specs, kernel_of, numeric, with_rank};
use gristmill_image::color;
use gristmill_image::resize::Sample;
use gristmill_plan::{Arg, ArgDef, Attrs, Class, OpDef};
use gristmill_types::{DType, Element, Error, PartialShape, Result, Shape, Spec, Tensor, with_element};
use half::f16;

pub(crate) static STANDARDIZATION: OpDef = OpDef {
    name: "image.per_image_standardization",
    doc: "Shifts and scales every image to mean 0 and variance 1.\n\nThe standard deviation counts as at least 1 / sqrt(number \
          of samples). float16 stays, everything else becomes float32.",
    inputs: &[IMAGE],
    attrs: &[],
    class: Class::Pure,
    total: false,
    elementwise: false,
    infer: infer_standardization,
    kernel: kernel_standardization,
};

pub(crate) static TOTAL_VARIATION: OpDef = OpDef {
    name: "image.total_variation",
    doc: "Sums the absolute differences of neighbouring samples.\n\nFloating dtype; one number per image: a scalar, or [n] for a \
          batch.",
    inputs: &[ArgDef { name: "images", ..IMAGE }],
    attrs: &[],
    class: Class::Pure,
    total: false,
    elementwise: false,
    infer: infer_variation,
    kernel: kernel_variation,
};

fn infer_standardization(args: &[Arg], _: &Attrs) -> Specs {
    let dtype = match numeric(&args[0], "image")? {
        DType::F16 => DType::F16,
        _ => DType::F32,
    };
    Ok(vec![Spec::tensor(dtype, with_rank(&args[0], "image")?)])
}

/// Working memory for the samples as float32.
#[derive(Default)]
struct Samples {
    from: Vec<f32>,
    to: Vec<f32>,
}

fn kernel_standardization(_: &[Arg], _: &Attrs) -> MadeKernel {
    kernel_of(|cx, inputs, out| {
        let t = inputs[0].tensor()?;
        let images = Images::of(t, "image")?;
        if t.dtype() == DType::F32 {
            return images.each(t.as_slice()?, out.typed(0, *t.shape()), color::per_image_standardization);
        }
        let samples: &mut Samples = cx.scratch.get();
        samples.from.clear();
        with_element!(t.dtype(), T => samples.from.extend(t.as_slice::<T>()?.iter().map(|v| v.to_f32())), _ => return text());
        if t.dtype() != DType::F16 {
            return images.each(&samples.from, out.typed(0, *t.shape()), color::per_image_standardization);
        }
        samples.to.resize(t.count(), 0.0);
        images.each(&samples.from, &mut samples.to, color::per_image_standardization)?;
        let halves: &mut [f16] = out.typed(0, *t.shape());
        halves.iter_mut().zip(&samples.to).for_each(|(h, &v)| *h = f16::from_f32(v));
        Ok(())
    })
}

fn text<T>() -> Result<T> {
    Err(Error::invalid("an image must hold numbers, found string"))
}

fn infer_variation(args: &[Arg], _: &Attrs) -> Specs {
    let dtype = args[0].dtype();
    if !dtype.is_float() {
        return Err(Error::invalid(format!("'images' must be floating point, found {dtype}"))
            .hint("image.convert_image_dtype gives float32 from 0 to 1"));
    }
    let shape = with_rank(&args[0], "images")?;
    let shape = shape.dims().map_or(PartialShape::UNKNOWN, |d| PartialShape::new(d[..d.len() - 3].to_vec()));
    Ok(vec![Spec::tensor(dtype, shape)])
}

fn variation<T: Element>(t: &Tensor, images: Images, value: fn(T) -> f64) -> Result<Vec<f64>> {
    let (row, pixel) = (images.size.width * images.size.channels, images.size.channels);
    let count = images.size.samples().unwrap_or(0);
    let src = t.as_slice::<T>()?;
    Ok((0..images.count)
        .map(|i| {
            let image = &src[i * count..(i + 1) * count];
            let apart = |step: usize| {
                image.iter().zip(image.iter().skip(step)).map(|(&a, &b)| (value(a) - value(b)).abs())
            };
            let down: f64 = apart(row).sum();
            let across: f64 =
                apart(pixel).enumerate().filter(|(k, _)| k % row.max(1) + pixel < row).map(|(_, d)| d).sum();
            down + across
        })
        .collect())
}

fn kernel_variation(_: &[Arg], _: &Attrs) -> MadeKernel {
    kernel_of(|_, inputs, out| {
        let t = inputs[0].tensor()?;
        let images = Images::of(t, "images")?;
        let shape = Shape::new(&t.dims()[..t.dims().len() - 3])?;
        match t.dtype() {
            DType::F32 => put(variation(t, images, |v: f32| v.into())?, out.typed(0, shape), |v| v as f32),
            DType::F64 => put(variation(t, images, |v: f64| v)?, out.typed(0, shape), |v| v),
            DType::F16 => put(variation(t, images, f16::to_f64)?, out.typed(0, shape), f16::from_f64),
            DType::BF16 => {
                put(variation(t, images, half::bf16::to_f64)?, out.typed(0, shape), half::bf16::from_f64)
            }
            other => {
                return Err(Error::invalid(format!("'images' must be floating point, found {other}")));
            }
        }
        Ok(())
    })
}

fn put<T>(sums: Vec<f64>, out: &mut [T], convert: impl Fn(f64) -> T) {
    out.iter_mut().zip(sums).for_each(|(o, s)| *o = convert(s));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::eval;
    use gristmill_types::Value;

    #[test]
    fn standardized() {
        let x: Value = Tensor::from_vec(Shape::image(1, 2, 1), &[1u8, 3]).unwrap().into();
        let out = eval(&STANDARDIZATION, &[x], Attrs::default()).unwrap();
        assert_eq!(out[0], Tensor::from_vec(Shape::image(1, 2, 1), &[-1f32, 1.0]).unwrap().into());
    }

    #[test]
    fn neighbours_differ() {
        let x: Value = Tensor::from_vec(Shape::image(2, 2, 1), &[1f32, 2.0, 4.0, 8.0]).unwrap().into();
        assert_eq!(eval(&TOTAL_VARIATION, &[x], Attrs::default()).unwrap(), [Tensor::scalar(14f32).into()]);
        let two =
            Tensor::from_vec(Shape::new(&[2, 1, 2, 2]).unwrap(), &[0f32, 0.0, 1.0, 2.0, 0.0, 0.0, 0.0, 0.0])
                .unwrap();
        assert_eq!(
            eval(&TOTAL_VARIATION, &[two.into()], Attrs::default()).unwrap(),
            [Tensor::vector(&[3f32, 0.0]).into()]
        );
    }
}
