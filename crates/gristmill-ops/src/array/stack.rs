//! `stack`: tensors of one shape along a new dimension.

use super::support::{kernel_of, shapes, writer};
use gristmill_plan::{Arg, ArgDef, Attrs, Class, Kernel, OpDef};
use gristmill_types::{Error, Result, Shape, Spec, Tensor};

pub(crate) static OP: OpDef = OpDef {
    name: "stack",
    doc: "Joins tensors of one dtype and shape along a new dimension.",
    inputs: &[ArgDef { name: "values*", doc: "one or more tensors of the same dtype and shape" }],
    attrs: &[ArgDef { name: "axis", doc: "where the new dimension stands in the result; default 0" }],
    class: Class::Pure,
    total: false,
    elementwise: false,
    infer,
    kernel,
};

/// Refuses inputs that are none, or of several dtypes.
pub(super) fn same_dtype(args: &[Arg], op: &str) -> Result<()> {
    let Some(first) = args.first() else {
        return Err(Error::invalid(format!("{op} takes at least one tensor")));
    };
    match args.iter().enumerate().find(|(_, a)| a.dtype() != first.dtype()) {
        Some((i, a)) => Err(Error::invalid(format!(
            "{op} takes tensors of one dtype, found {} first and {} at position {i}",
            first.dtype(),
            a.dtype()
        ))
        .hint("cast brings them to one dtype")),
        None => Ok(()),
    }
}

fn infer(args: &[Arg], attrs: &Attrs) -> Result<Vec<Spec>> {
    same_dtype(args, "stack")?;
    let mut shape = args[0].spec.shape().clone();
    for a in &args[1..] {
        shape = shape.merge(a.spec.shape()).map_err(|e| e.hint("stack takes tensors of one shape"))?;
    }
    let shape = match shape.dims() {
        None => shape,
        Some(dims) => {
            let at = shapes::axis(attrs.int_or("axis", 0)?, dims.len() + 1)?;
            let mut dims = dims.to_vec();
            dims.insert(at, Some(args.len()));
            gristmill_types::PartialShape::new(dims)
        }
    };
    Ok(vec![Spec::tensor(args[0].dtype(), shape)])
}

fn kernel(_: &[Arg], attrs: &Attrs) -> Result<Box<dyn Kernel>> {
    let axis = attrs.int_or("axis", 0)?;
    kernel_of(move |inputs, out| {
        let parts = inputs.iter().map(|v| v.tensor()).collect::<Result<Vec<&Tensor>>>()?;
        let first = *parts.first().ok_or_else(|| Error::invalid("stack takes at least one tensor"))?;
        if let Some(other) = parts.iter().find(|t| t.shape() != first.shape() || t.dtype() != first.dtype()) {
            return Err(Error::invalid(format!(
                "shapes of all inputs must match: values[0].shape = {} != {}",
                first.shape(),
                other.shape()
            )));
        }
        let at = shapes::axis(axis, first.shape().rank() + 1)?;
        let mut dims = first.dims().to_vec();
        let inner: usize = dims[at..].iter().product();
        let outer: usize = dims[..at].iter().product();
        dims.insert(at, parts.len());
        writer::write(out, 0, first.dtype(), Shape::new(&dims)?, |w| {
            for o in 0..outer {
                for t in &parts {
                    w.run(t, o * inner, inner);
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

    #[test]
    fn stacks_along_any_axis() {
        let v = [Tensor::vector(&[1i32, 2]).into(), Tensor::vector(&[3i32, 4]).into()];
        let rows = eval(&OP, &v, attrs(&[])).unwrap();
        assert_eq!(rows[0].tensor().unwrap().as_slice::<i32>().unwrap(), &[1, 2, 3, 4]);
        let columns = eval(&OP, &v, attrs(&[("axis", Attr::Int(-1))])).unwrap();
        assert_eq!(columns[0].tensor().unwrap().as_slice::<i32>().unwrap(), &[1, 3, 2, 4]);
        let s = [Tensor::string("a").into(), Tensor::string("b").into()];
        assert_eq!(
            eval(&OP, &s, attrs(&[])).unwrap()[0],
            Tensor::string_vector(vec!["a".into(), "b".into()]).into()
        );
        let e = infer_err(&OP, &[v[0].clone(), Tensor::vector(&[1i32]).into()], attrs(&[]));
        assert!(e.contains("not compatible"), "{e}");
    }
}
