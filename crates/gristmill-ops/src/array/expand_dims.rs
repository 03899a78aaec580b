//! `expand_dims`: a dimension of size 1 more.

use gristmill_plan::{Arg, ArgDef, Attrs, Class, Kernel, OpCx, OpDef, Outs};
use gristmill_types::{Error, PartialShape, Result, Shape, Spec, Value};

pub(crate) static OP: OpDef = OpDef {
    name: "expand_dims",
    doc: "Inserts a dimension of size 1 at `axis`.\n\nThe values and their memory stay as they are.",
    inputs: &[ArgDef { name: "input", doc: "any dtype and shape" }],
    attrs: &[ArgDef { name: "axis", doc: "where, from -rank-1 to rank; negative counts from behind" }],
    class: Class::Pure,
    total: true,
    elementwise: false,
    infer,
    kernel,
};

/// The axis as a position in the result.
fn position(axis: i64, rank: usize) -> Result<usize> {
    let r = rank as i64 + 1;
    if !(-r..r).contains(&axis) {
        return Err(Error::invalid(format!(
            "axis {axis} is out of range for a tensor of rank {rank}: expected {} to {}",
            -r,
            r - 1
        )));
    }
    Ok(axis.rem_euclid(r) as usize)
}

fn infer(args: &[Arg], attrs: &Attrs) -> Result<Vec<Spec>> {
    let spec = &args[0].spec;
    let Some(dims) = spec.shape().dims() else {
        return Ok(vec![spec.clone()]);
    };
    let at = position(attrs.int("axis")?, dims.len())?;
    let mut dims = dims.to_vec();
    dims.insert(at, Some(1));
    Ok(vec![spec.with_shape(PartialShape::new(dims))])
}

fn kernel(_: &[Arg], attrs: &Attrs) -> Result<Box<dyn Kernel>> {
    let axis = attrs.int("axis")?;
    Ok(Box::new(move |_: &mut OpCx<'_>, inputs: &[Value], out: &mut Outs<'_>| {
        let t = inputs[0].tensor()?;
        let mut dims = t.dims().to_vec();
        dims.insert(position(axis, dims.len())?, 1);
        out.put(0, t.reshaped(Shape::new(&dims)?)?);
        Ok(())
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{attrs, eval, infer_err};
    use gristmill_plan::Attr;
    use gristmill_types::Tensor;

    #[test]
    fn inserts_a_dimension() {
        let x = Tensor::vector(&[1i32, 2]);
        let out = eval(&OP, &[x.clone().into()], attrs(&[("axis", Attr::Int(-1))])).unwrap();
        assert_eq!(out, vec![Value::Tensor(x.reshaped(Shape::new(&[2, 1]).unwrap()).unwrap())]);
        assert!(infer_err(&OP, &[x.into()], attrs(&[("axis", Attr::Int(2))])).contains("out of range"));
    }
}
