//! `squeeze`: dimensions of size 1 fewer.

use super::support::{kernel_of, shapes};
use gristmill_plan::{Arg, ArgDef, Attrs, Class, Kernel, OpDef};
use gristmill_types::{Error, PartialShape, Result, Shape, Spec};

pub(crate) static OP: OpDef = OpDef {
    name: "squeeze",
    doc: "Removes dimensions of size 1.\n\nThe values and their memory stay as they are; a named dimension of another size is an error.",
    inputs: &[ArgDef { name: "input", doc: "any dtype and shape" }],
    attrs: &[ArgDef {
        name: "axis",
        doc: "the dimensions to remove; None (default) removes every one of size 1",
    }],
    class: Class::Pure,
    total: false,
    elementwise: false,
    infer,
    kernel,
};

fn refuse(at: usize, found: usize) -> Error {
    Error::invalid(format!("can not squeeze dim[{at}], expected a dimension of 1, got {found}"))
}

fn infer(args: &[Arg], attrs: &Attrs) -> Result<Vec<Spec>> {
    let spec = &args[0].spec;
    let axes = shapes::int_list(attrs, "axis")?.filter(|a| !a.is_empty());
    let Some(dims) = spec.shape().dims() else {
        return Ok(vec![spec.with_shape(PartialShape::UNKNOWN)]);
    };
    let shape = match axes {
        None if dims.iter().any(Option::is_none) => PartialShape::UNKNOWN,
        None => PartialShape::new(dims.iter().copied().filter(|d| *d != Some(1)).collect()),
        Some(axes) => {
            let drop = shapes::axis_mask(Some(&axes), dims.len())?;
            if let Some((i, Some(d))) =
                dims.iter().enumerate().find(|(i, d)| drop[*i] && d.is_some_and(|d| d != 1))
            {
                return Err(refuse(i, *d));
            }
            PartialShape::new(dims.iter().zip(drop).filter(|(_, drop)| !drop).map(|(d, _)| *d).collect())
        }
    };
    Ok(vec![spec.with_shape(shape)])
}

fn kernel(_: &[Arg], attrs: &Attrs) -> Result<Box<dyn Kernel>> {
    let axes = shapes::int_list(attrs, "axis")?.filter(|a| !a.is_empty());
    kernel_of(move |inputs, out| {
        let t = inputs[0].tensor()?;
        let drop = match &axes {
            None => t.dims().iter().map(|&d| d == 1).collect(),
            Some(axes) => shapes::axis_mask(Some(axes), t.dims().len())?,
        };
        if let Some(i) = (0..drop.len()).find(|&i| drop[i] && t.dims()[i] != 1) {
            return Err(refuse(i, t.dims()[i]));
        }
        let dims: Vec<usize> = t.dims().iter().zip(drop).filter(|(_, drop)| !drop).map(|(d, _)| *d).collect();
        out.put(0, t.reshaped(Shape::new(&dims)?)?);
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{attrs, eval, infer_err};
    use gristmill_plan::Attr;
    use gristmill_types::Tensor;

    #[test]
    fn removes_ones() {
        let x = Tensor::from_vec(Shape::new(&[1, 3, 1]).unwrap(), &[1i32, 2, 3]).unwrap();
        let all = eval(&OP, &[x.clone().into()], attrs(&[])).unwrap();
        assert_eq!(all[0].tensor().unwrap(), &Tensor::vector(&[1i32, 2, 3]));
        let one =
            eval(&OP, &[x.clone().into()], attrs(&[("axis", Attr::List(vec![Attr::Int(-1)]))])).unwrap();
        assert_eq!(one[0].tensor().unwrap().dims(), &[1, 3]);
        let e = infer_err(&OP, &[x.into()], attrs(&[("axis", Attr::Int(1))]));
        assert!(e.contains("can not squeeze dim[1], expected a dimension of 1, got 3"), "{e}");
    }
}
