//! `boolean_mask`: the slices where a mask is true.

use super::support::{kernel_of, shapes, writer};
use gristmill_plan::{Arg, ArgDef, Attrs, Class, Kernel, OpDef};
use gristmill_types::{DType, Error, PartialShape, Result, Shape, Spec};

pub(crate) static OP: OpDef = OpDef {
    name: "boolean_mask",
    doc: "The slices where a mask is true.\n\nThe mask stands for dimensions `axis` and following; they become one.",
    inputs: &[
        ArgDef { name: "tensor", doc: "any dtype, rank >= 1" },
        ArgDef { name: "mask", doc: "bool, rank >= 1, of the shape of the dimensions it stands for" },
    ],
    attrs: &[ArgDef { name: "axis", doc: "the first dimension of the mask; default 0" }],
    class: Class::Pure,
    total: false,
    elementwise: false,
    infer,
    kernel,
};

fn infer(args: &[Arg], attrs: &Attrs) -> Result<Vec<Spec>> {
    let (spec, mask) = (&args[0].spec, &args[1].spec);
    if mask.dtype() != DType::Bool {
        return Err(Error::invalid(format!("mask must be bool, found {}", mask.dtype())));
    }
    let (Some(dims), Some(m)) = (spec.shape().dims(), mask.shape().dims()) else {
        return Ok(vec![Spec::tensor(spec.dtype(), PartialShape::UNKNOWN)]);
    };
    let at = place(attrs.int_or("axis", 0)?, dims.len(), m.len())?;
    if !PartialShape::new(dims[at..at + m.len()].to_vec()).compatible(mask.shape()) {
        return Err(Error::invalid(format!("shapes {} and {} are incompatible", spec.shape(), mask.shape())));
    }
    let mut out = dims[..at].to_vec();
    out.push(None);
    out.extend_from_slice(&dims[at + m.len()..]);
    Ok(vec![Spec::tensor(spec.dtype(), PartialShape::new(out))])
}

/// Where the mask begins.
fn place(axis: i64, rank: usize, mask: usize) -> Result<usize> {
    if mask == 0 {
        return Err(Error::invalid("mask cannot be scalar"));
    }
    let at = shapes::axis(axis, rank)?;
    if at + mask > rank {
        return Err(Error::invalid(format!(
            "a mask of rank {mask} does not fit at axis {at} of a tensor of rank {rank}"
        )));
    }
    Ok(at)
}

fn kernel(_: &[Arg], attrs: &Attrs) -> Result<Box<dyn Kernel>> {
    let axis = attrs.int_or("axis", 0)?;
    kernel_of(move |inputs, out| {
        let (t, mask) = (inputs[0].tensor()?, inputs[1].tensor()?);
        let (dims, m) = (t.dims(), mask.dims());
        let at = place(axis, dims.len(), m.len())?;
        if dims[at..at + m.len()] != *m {
            return Err(Error::invalid(format!(
                "shapes {} and {} are incompatible",
                t.shape(),
                mask.shape()
            )));
        }
        let picks: Vec<usize> =
            mask.as_slice::<u8>()?.iter().enumerate().filter(|(_, v)| **v != 0).map(|(i, _)| i).collect();
        let mut shape = dims[..at].to_vec();
        shape.push(picks.len());
        shape.extend_from_slice(&dims[at + m.len()..]);
        let inner: usize = dims[at + m.len()..].iter().product();
        let outer: usize = dims[..at].iter().product();
        writer::write(out, 0, t.dtype(), Shape::new(&shape)?, |w| {
            for o in 0..outer {
                for p in &picks {
                    w.run(t, (o * mask.count() + p) * inner, inner);
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
    fn picks_slices() {
        let x = Tensor::from_vec(Shape::new(&[2, 2]).unwrap(), &[1i32, 2, 3, 4]).unwrap();
        let mask = Tensor::from_bytes(DType::Bool, Shape::vector(2), &[0, 1]).unwrap();
        let rows = eval(&OP, &[x.clone().into(), mask.clone().into()], attrs(&[])).unwrap();
        assert_eq!(rows[0].tensor().unwrap().as_slice::<i32>().unwrap(), &[3, 4]);
        let columns = eval(&OP, &[x.clone().into(), mask.into()], attrs(&[("axis", Attr::Int(1))])).unwrap();
        assert_eq!(columns[0].tensor().unwrap().as_slice::<i32>().unwrap(), &[2, 4]);
        let all = Tensor::from_bytes(DType::Bool, Shape::new(&[2, 2]).unwrap(), &[1, 0, 0, 1]).unwrap();
        assert_eq!(
            eval(&OP, &[x.into(), all.into()], attrs(&[])).unwrap()[0],
            Tensor::vector(&[1i32, 4]).into()
        );
    }
}
