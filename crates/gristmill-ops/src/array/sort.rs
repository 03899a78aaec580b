//! `argsort` and `sort`.

use super::support::{kernel_of, shapes, writer};
use gristmill_plan::{Arg, ArgDef, Attrs, Class, Kernel, OpDef};
use gristmill_types::{DType, Element, Error, Result, Spec, Tensor, with_element};
use std::cmp::Ordering;

const INPUT: &[ArgDef] = &[ArgDef { name: "values", doc: "numbers, rank >= 1" }];
const ATTRS: &[ArgDef] = &[
    ArgDef { name: "axis", doc: "the dimension; default -1" },
    ArgDef { name: "direction", doc: "ASCENDING (default) or DESCENDING" },
    ArgDef { name: "stable", doc: "whether equal values keep their order: they always do" },
];

pub(crate) static ARGSORT: OpDef = OpDef {
    name: "argsort",
    doc: "The int32 indices that sort a tensor along a dimension. Equal values keep their order; NaN comes last.",
    inputs: INPUT,
    attrs: ATTRS,
    class: Class::Pure,
    total: false,
    elementwise: false,
    infer: |args, attrs| infer(args, attrs, DType::I32),
    kernel: |_, attrs| kernel(attrs, true),
};

pub(crate) static SORT: OpDef = OpDef {
    name: "sort",
    doc: "The tensor sorted along a dimension; NaN comes last.",
    inputs: INPUT,
    attrs: ATTRS,
    class: Class::Pure,
    total: false,
    elementwise: false,
    infer: |args, attrs| infer(args, attrs, args[0].dtype()),
    kernel: |_, attrs| kernel(attrs, false),
};

fn descending(attrs: &Attrs) -> Result<bool> {
    match attrs.str_or("direction", "ASCENDING".into())?.as_str() {
        "ASCENDING" => Ok(false),
        "DESCENDING" => Ok(true),
        other => Err(Error::invalid(format!(
            "argument `direction` should be one of 'ASCENDING' or 'DESCENDING', found {other}"
        ))),
    }
}

fn infer(args: &[Arg], attrs: &Attrs, dtype: DType) -> Result<Vec<Spec>> {
    descending(attrs)?;
    let spec = &args[0].spec;
    if spec.dtype() == DType::String {
        return Err(Error::invalid("sort takes numbers, found strings"));
    }
    if let Some(rank) = spec.shape().rank() {
        shapes::axis(attrs.int_or("axis", -1)?, rank)?;
    }
    Ok(vec![Spec::tensor(dtype, spec.shape().clone())])
}

/// Positions within each row along the axis, in order; laid out as the tensor is.
fn order<T: Element + PartialOrd>(t: &Tensor, axis: usize, descending: bool) -> Result<Vec<usize>> {
    let v = t.as_slice::<T>()?;
    let n = t.dims()[axis];
    let inner: usize = t.dims()[axis + 1..].iter().product();
    let mut out = vec![0; v.len()];
    let mut row: Vec<usize> = Vec::with_capacity(n);
    for start in (0..v.len()).filter(|i| (i / inner).is_multiple_of(n)) {
        row.clear();
        row.extend(0..n);
        row.sort_by(|&a, &b| {
            let (x, y) = (v[start + a * inner], v[start + b * inner]);
            match x.partial_cmp(&y) {
                Some(o) if descending => o.reverse(),
                Some(o) => o,
                // Only NaN differs from itself; it goes behind every number.
                None => match (x.partial_cmp(&x), y.partial_cmp(&y)) {
                    (None, None) => Ordering::Equal,
                    (None, _) => Ordering::Greater,
                    _ => Ordering::Less,
                },
            }
        });
        for (k, &r) in row.iter().enumerate() {
            out[start + k * inner] = r;
        }
    }
    Ok(out)
}

fn kernel(attrs: &Attrs, indices: bool) -> Result<Box<dyn Kernel>> {
    let (axis, descending) = (attrs.int_or("axis", -1)?, descending(attrs)?);
    kernel_of(move |inputs, out| {
        let t = inputs[0].tensor()?;
        let at = shapes::axis(axis, t.shape().rank())?;
        let order: Vec<usize> = with_element!(t.dtype(), T => order::<T>(t, at, descending)?, _ => {
            return Err(Error::invalid("sort takes numbers, found strings"))
        });
        if indices {
            for (to, i) in out.typed::<i32>(0, *t.shape()).iter_mut().zip(order) {
                *to = i as i32;
            }
            return Ok(());
        }
        let inner: usize = t.dims()[at + 1..].iter().product();
        let row = t.dims()[at] * inner;
        writer::write(out, 0, t.dtype(), *t.shape(), |w| {
            for (i, r) in order.iter().enumerate() {
                w.run(t, i / row * row + r * inner + i % inner, 1);
            }
            Ok(())
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{attrs, eval};
    use gristmill_plan::Attr;
    use gristmill_types::Shape;

    #[test]
    fn sorts_stably_in_both_directions() {
        let x = Tensor::vector(&[3i32, 1, 2, 1]);
        let down = || attrs(&[("direction", Attr::Str("DESCENDING".into()))]);
        assert_eq!(
            eval(&ARGSORT, &[x.clone().into()], attrs(&[])).unwrap()[0],
            Tensor::vector(&[1i32, 3, 2, 0]).into()
        );
        assert_eq!(
            eval(&ARGSORT, &[x.clone().into()], down()).unwrap()[0],
            Tensor::vector(&[0i32, 2, 1, 3]).into()
        );
        assert_eq!(eval(&SORT, &[x.into()], down()).unwrap()[0], Tensor::vector(&[3i32, 2, 1, 1]).into());
        let m = Tensor::from_vec(Shape::new(&[2, 2]).unwrap(), &[4f32, 1.0, 3.0, 2.0]).unwrap();
        let out = eval(&SORT, &[m.into()], attrs(&[("axis", Attr::Int(0))])).unwrap();
        assert_eq!(out[0].tensor().unwrap().as_slice::<f32>().unwrap(), &[3.0, 1.0, 4.0, 2.0]);
    }
}
