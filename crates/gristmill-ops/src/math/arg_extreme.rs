//! `argmax` and `argmin`.

use super::num::{Num, with_num};
use crate::array::support::{kernel_of, shapes};
use gristmill_plan::{Arg, ArgDef, Attrs, Class, Kernel, OpDef};
use gristmill_types::{DType, Error, PartialShape, Result, Shape, Spec, Tensor};

const INPUTS: &[ArgDef] = &[ArgDef { name: "input", doc: "numbers, rank >= 1" }];
const ATTRS: &[ArgDef] = &[
    ArgDef { name: "axis", doc: "the dimension; default 0" },
    ArgDef { name: "output_type", doc: "int64 (default) or int32" },
];

pub(crate) static ARGMAX: OpDef = OpDef {
    name: "math.argmax",
    doc: "The position of the largest element along a dimension, the first of equal ones.",
    inputs: INPUTS,
    attrs: ATTRS,
    class: Class::Pure,
    total: false,
    elementwise: false,
    infer,
    kernel: |_, attrs| kernel(attrs, true),
};

pub(crate) static ARGMIN: OpDef = OpDef {
    name: "math.argmin",
    doc: "The position of the smallest element along a dimension, the first of equal ones.",
    inputs: INPUTS,
    attrs: ATTRS,
    class: Class::Pure,
    total: false,
    elementwise: false,
    infer,
    kernel: |_, attrs| kernel(attrs, false),
};

fn out_type(attrs: &Attrs) -> Result<DType> {
    match attrs.dtype_or("output_type", DType::I64)? {
        d @ (DType::I32 | DType::I64) => Ok(d),
        d => Err(Error::invalid(format!("output_type must be int32 or int64, found {d}"))),
    }
}

fn infer(args: &[Arg], attrs: &Attrs) -> Result<Vec<Spec>> {
    let (spec, dtype) = (&args[0].spec, out_type(attrs)?);
    if matches!(spec.dtype(), DType::Bool | DType::String) {
        return Err(Error::invalid(format!("expected numbers, found {}", spec.dtype())));
    }
    let Some(dims) = spec.shape().dims() else {
        return Ok(vec![Spec::tensor(dtype, PartialShape::UNKNOWN)]);
    };
    let at = shapes::axis(attrs.int_or("axis", 0)?, dims.len())?;
    if dims[at] == Some(0) {
        return Err(Error::invalid(format!("reduction axis {at} is empty in shape {}", spec.shape())));
    }
    let mut dims = dims.to_vec();
    dims.remove(at);
    Ok(vec![Spec::tensor(dtype, PartialShape::new(dims))])
}

fn positions<T: Num>(t: &Tensor, at: usize, max: bool) -> Result<Vec<usize>> {
    let x = t.as_slice::<T>()?;
    let inner: usize = t.dims()[at + 1..].iter().product();
    let n = t.dims()[at];
    let mut out = Vec::new();
    for block in x.chunks_exact((n * inner).max(1)) {
        for i in 0..inner {
            let mut best = 0;
            for k in 1..n {
                let (v, top) = (block[k * inner + i], block[best * inner + i]);
                if if max { v > top } else { v < top } {
                    best = k;
                }
            }
            out.push(best);
        }
    }
    Ok(out)
}

fn kernel(attrs: &Attrs, max: bool) -> Result<Box<dyn Kernel>> {
    let (axis, dtype) = (attrs.int_or("axis", 0)?, out_type(attrs)?);
    kernel_of(move |inputs, out| {
        let t = inputs[0].tensor()?;
        let at = shapes::axis(axis, t.shape().rank())?;
        if t.dims()[at] == 0 {
            return Err(Error::invalid(format!("reduction axis {at} is empty in shape {}", t.shape())));
        }
        let mut dims = t.dims().to_vec();
        dims.remove(at);
        let shape = Shape::new(&dims)?;
        let found = with_num!(t.dtype(), T => positions::<T>(t, at, max)?, d => {
            return Err(Error::invalid(format!("expected numbers, found {d}")))
        });
        if dtype == DType::I32 {
            out.typed::<i32>(0, shape).iter_mut().zip(found).for_each(|(to, v)| *to = v as i32);
        } else {
            out.typed::<i64>(0, shape).iter_mut().zip(found).for_each(|(to, v)| *to = v as i64);
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{attrs, eval};
    use gristmill_plan::Attr;

    #[test]
    fn first_of_equals() {
        let x = Tensor::from_vec(Shape::new(&[2, 3]).unwrap(), &[1i32, 5, 5, 7, 7, 0]).unwrap();
        let rows = eval(&ARGMAX, &[x.clone().into()], attrs(&[("axis", Attr::Int(1))])).unwrap();
        assert_eq!(rows[0], Tensor::vector(&[1i64, 0]).into());
        let columns = eval(&ARGMIN, &[x.into()], attrs(&[("output_type", Attr::DType(DType::I32))])).unwrap();
        assert_eq!(columns[0], Tensor::vector(&[0i32, 0, 1]).into());
    }
}
