//! `repeat`: each element several times in a row.

use super::support::{kernel_of, shapes, writer};
use gristmill_plan::{Arg, ArgDef, Attrs, Class, Kernel, OpDef};
use gristmill_types::{Error, PartialShape, Result, Shape, Spec};

pub(crate) static OP: OpDef = OpDef {
    name: "repeat",
    doc: "Each slice along a dimension several times in a row.",
    inputs: &[ArgDef { name: "input", doc: "any dtype and shape" }],
    attrs: &[
        ArgDef { name: "repeats", doc: "how often; one number, or one per slice" },
        ArgDef { name: "axis", doc: "the dimension; None (default) repeats the elements of the flat tensor" },
    ],
    class: Class::Pure,
    total: false,
    elementwise: false,
    infer,
    kernel,
};

fn settings(attrs: &Attrs) -> Result<(Vec<usize>, Option<i64>)> {
    let given = shapes::int_list(attrs, "repeats")?.unwrap_or_default();
    let repeats = shapes::sizes(&given)?;
    if repeats.is_empty() {
        return Err(Error::invalid("repeat needs a number of repeats"));
    }
    Ok((repeats, shapes::int_list(attrs, "axis")?.and_then(|a| a.first().copied())))
}

/// The total along a dimension of size `n`.
fn total(repeats: &[usize], n: usize) -> Result<usize> {
    match repeats {
        [one] => one.checked_mul(n).ok_or_else(|| Error::invalid("the result has too many elements")),
        many if many.len() == n => Ok(many.iter().fold(0usize, |a, &b| a.saturating_add(b))),
        many => {
            Err(Error::invalid(format!("repeats has {} numbers for a dimension of size {n}", many.len())))
        }
    }
}

fn infer(args: &[Arg], attrs: &Attrs) -> Result<Vec<Spec>> {
    let (repeats, axis) = settings(attrs)?;
    let spec = &args[0].spec;
    let shape = match (spec.shape().dims(), axis) {
        (_, None) => {
            let n = spec.shape().full().map(|s| total(&repeats, s.count())).transpose()?;
            PartialShape::new(vec![n])
        }
        (None, _) => PartialShape::UNKNOWN,
        (Some(dims), Some(axis)) => {
            let at = shapes::axis(axis, dims.len())?;
            let mut dims = dims.to_vec();
            dims[at] = dims[at].map(|n| total(&repeats, n)).transpose()?;
            PartialShape::new(dims)
        }
    };
    Ok(vec![Spec::tensor(spec.dtype(), shape)])
}

fn kernel(_: &[Arg], attrs: &Attrs) -> Result<Box<dyn Kernel>> {
    let (repeats, axis) = settings(attrs)?;
    kernel_of(move |inputs, out| {
        let mut t = inputs[0].tensor()?.clone();
        let at = match axis {
            Some(a) => shapes::axis(a, t.shape().rank())?,
            None => {
                t = t.reshaped(Shape::vector(t.count()))?;
                0
            }
        };
        let mut dims = t.dims().to_vec();
        let (n, inner) = (dims[at], dims[at + 1..].iter().product::<usize>());
        let outer: usize = dims[..at].iter().product();
        dims[at] = total(&repeats, n)?;
        writer::write(out, 0, t.dtype(), Shape::new(&dims)?, |w| {
            for o in 0..outer {
                for i in 0..n {
                    for _ in 0..repeats[if repeats.len() == 1 { 0 } else { i }] {
                        w.run(&t, (o * n + i) * inner, inner);
                    }
                }
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
    use gristmill_types::Tensor;

    #[test]
    fn repeats_slices() {
        let x = Tensor::from_vec(Shape::new(&[2, 2]).unwrap(), &[1i32, 2, 3, 4]).unwrap();
        let flat = eval(&OP, &[x.clone().into()], attrs(&[("repeats", Attr::Int(2))])).unwrap();
        assert_eq!(flat[0], Tensor::vector(&[1i32, 1, 2, 2, 3, 3, 4, 4]).into());
        let list = Attr::List(vec![Attr::Int(0), Attr::Int(2)]);
        let rows = eval(&OP, &[x.into()], attrs(&[("repeats", list), ("axis", Attr::Int(0))])).unwrap();
        assert_eq!(rows[0].tensor().unwrap().as_slice::<i32>().unwrap(), &[3, 4, 3, 4]);
    }
}
