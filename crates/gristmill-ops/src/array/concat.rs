//! `concat`: tensors along an existing dimension.

use super::stack::same_dtype;
use super::support::{kernel_of, shapes, writer};
use gristmill_plan::{Arg, ArgDef, Attrs, Class, Kernel, OpDef};
use gristmill_types::{Error, PartialShape, Result, Shape, Spec, Tensor};

pub(crate) static OP: OpDef = OpDef {
    name: "concat",
    doc: "Joins tensors along a dimension that they have.\n\nAll other dimensions must be equal.",
    inputs: &[ArgDef { name: "values*", doc: "one or more tensors of the same dtype and rank" }],
    attrs: &[ArgDef { name: "axis", doc: "the dimension; negative counts from behind" }],
    class: Class::Pure,
    total: false,
    elementwise: false,
    infer,
    kernel,
};

fn refuse(dim: usize, k: usize, first: &str, other: &str) -> Error {
    Error::invalid(format!(
        "concat: dimension {dim} in both shapes must be equal: shape[0] = {first} vs. shape[{k}] = {other}"
    ))
}

fn infer(args: &[Arg], attrs: &Attrs) -> Result<Vec<Spec>> {
    same_dtype(args, "concat")?;
    let dtype = args[0].dtype();
    let Some(rank) = args.iter().find_map(|a| a.spec.shape().rank()) else {
        return Ok(vec![Spec::tensor(dtype, PartialShape::UNKNOWN)]);
    };
    if rank == 0 {
        return Err(
            Error::invalid("concat takes tensors of rank >= 1, found a scalar").hint("stack joins scalars")
        );
    }
    let at = shapes::axis(attrs.int("axis")?, rank)?;
    let mut dims = vec![None; rank];
    dims[at] = Some(0);
    for (k, a) in args.iter().enumerate() {
        let Some(own) = a.spec.shape().dims() else {
            dims[at] = None;
            continue;
        };
        let texts = || (shapes::plain(args[0].spec.shape()), shapes::plain(a.spec.shape()));
        if own.len() != rank {
            let (first, other) = texts();
            return Err(Error::invalid(format!(
                "concat: ranks of all input tensors should match: shape[0] = {first} vs. shape[{k}] = {other}"
            )));
        }
        for (i, d) in own.iter().enumerate() {
            if i == at {
                dims[at] = dims[at].zip(*d).map(|(x, y): (usize, usize)| x + y);
            } else if let (Some(x), Some(y)) = (dims[i], *d)
                && x != y
            {
                let (first, other) = texts();
                return Err(refuse(i, k, &first, &other));
            } else {
                dims[i] = dims[i].or(*d);
            }
        }
    }
    Ok(vec![Spec::tensor(dtype, PartialShape::new(dims))])
}

fn kernel(_: &[Arg], attrs: &Attrs) -> Result<Box<dyn Kernel>> {
    let axis = attrs.int("axis")?;
    kernel_of(move |inputs, out| {
        let parts = inputs.iter().map(|v| v.tensor()).collect::<Result<Vec<&Tensor>>>()?;
        let first = *parts.first().ok_or_else(|| Error::invalid("concat takes at least one tensor"))?;
        let at = shapes::axis(axis, first.shape().rank())?;
        let mut dims = first.dims().to_vec();
        dims[at] = 0;
        for (k, t) in parts.iter().enumerate() {
            let differs = (0..dims.len().max(t.dims().len()))
                .find(|&i| i != at && t.dims().get(i) != first.dims().get(i) || t.dims().len() != dims.len());
            if let Some(i) = differs {
                return Err(refuse(i, k, &first.shape().to_string(), &t.shape().to_string()));
            }
            if t.dtype() != first.dtype() {
                return Err(Error::invalid(format!(
                    "concat takes tensors of one dtype, found {} and {}",
                    first.dtype(),
                    t.dtype()
                )));
            }
            dims[at] += t.dims()[at];
        }
        let outer: usize = dims[..at].iter().product();
        let inner: usize = dims[at + 1..].iter().product();
        writer::write(out, 0, first.dtype(), Shape::new(&dims)?, |w| {
            for o in 0..outer {
                for t in &parts {
                    let n = t.dims()[at] * inner;
                    w.run(t, o * n, n);
                }
            }
            Ok(())
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{attrs, eval, infer_err};
    use gristmill_plan::Attr;

    fn t(dims: &[usize], v: &[i32]) -> gristmill_types::Value {
        Tensor::from_vec(Shape::new(dims).unwrap(), v).unwrap().into()
    }

    #[test]
    fn joins_along_any_axis() {
        let v = [t(&[2, 1], &[1, 2]), t(&[2, 2], &[3, 4, 5, 6])];
        let out = eval(&OP, &v, attrs(&[("axis", Attr::Int(-1))])).unwrap();
        assert_eq!(out, vec![t(&[2, 3], &[1, 3, 4, 2, 5, 6])]);
        let e = infer_err(&OP, &v, attrs(&[("axis", Attr::Int(0))]));
        assert!(
            e.contains("dimension 1 in both shapes must be equal: shape[0] = [2,1] vs. shape[1] = [2,2]"),
            "{e}"
        );
    }
}
