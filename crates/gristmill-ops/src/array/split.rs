//! `split`: parts of a tensor along a dimension.

use super::support::writer::View;
use super::support::{kernel_of, shapes};
use gristmill_plan::{Arg, ArgDef, Attrs, Class, Kernel, OpDef};
use gristmill_types::{Error, PartialShape, Result, Spec};

pub(crate) static OP: OpDef = OpDef {
    name: "split",
    doc: "Cuts a tensor into parts along a dimension.\n\nEither into `num` equal parts or into parts of these `sizes`, of which one may be -1.",
    inputs: &[ArgDef { name: "value", doc: "any dtype, rank >= 1" }],
    attrs: &[
        ArgDef { name: "num", doc: "number of equal parts" },
        ArgDef { name: "sizes", doc: "sizes of the parts, in place of num" },
        ArgDef { name: "axis", doc: "the dimension; default 0" },
    ],
    class: Class::Pure,
    total: false,
    elementwise: false,
    infer,
    kernel,
};

enum Parts {
    Equal(usize),
    Sizes(Vec<i64>),
}

impl Parts {
    fn of(attrs: &Attrs) -> Result<Self> {
        if let Some(sizes) = shapes::int_list(attrs, "sizes")? {
            return Ok(Self::Sizes(sizes));
        }
        let n = attrs.int("num")?;
        usize::try_from(n)
            .ok()
            .filter(|&n| n > 0)
            .map(Self::Equal)
            .ok_or_else(|| Error::invalid(format!("num must be at least 1, found {n}")))
    }

    fn len(&self) -> usize {
        match self {
            Self::Equal(n) => *n,
            Self::Sizes(s) => s.len(),
        }
    }

    /// The sizes for a dimension of size `dim`.
    fn sizes(&self, dim: usize) -> Result<Vec<usize>> {
        let wrong = |what: String| Err(Error::invalid(what));
        match self {
            Self::Equal(n) if dim.is_multiple_of(*n) => Ok(vec![dim / n; *n]),
            Self::Equal(n) => wrong(format!(
                "number of ways to split should evenly divide the split dimension, found size {dim} and {n} parts"
            )),
            Self::Sizes(sizes) => {
                let open = sizes.iter().filter(|&&s| s == -1).count();
                let sum: i64 = sizes.iter().filter(|&&s| s != -1).sum();
                let bad = open > 1 || sizes.iter().any(|&s| s < -1);
                if bad || sum > dim as i64 || (open == 0 && sum != dim as i64) {
                    return wrong(format!("sizes {sizes:?} do not add up to the dimension of size {dim}"));
                }
                Ok(sizes.iter().map(|&s| if s == -1 { dim - sum as usize } else { s as usize }).collect())
            }
        }
    }
}

fn infer(args: &[Arg], attrs: &Attrs) -> Result<Vec<Spec>> {
    let parts = Parts::of(attrs)?;
    let spec = &args[0].spec;
    let Some(dims) = spec.shape().dims() else {
        return Ok(vec![spec.with_shape(PartialShape::UNKNOWN); parts.len()]);
    };
    let at = shapes::axis(attrs.int_or("axis", 0)?, dims.len())?;
    let sizes: Vec<Option<usize>> = match (dims[at], &parts) {
        (Some(d), _) => parts.sizes(d)?.into_iter().map(Some).collect(),
        (None, Parts::Sizes(s)) => s.iter().map(|&s| usize::try_from(s).ok()).collect(),
        (None, Parts::Equal(n)) => vec![None; *n],
    };
    let part = |size| {
        let mut dims = dims.to_vec();
        dims[at] = size;
        spec.with_shape(PartialShape::new(dims))
    };
    Ok(sizes.into_iter().map(part).collect())
}

fn kernel(_: &[Arg], attrs: &Attrs) -> Result<Box<dyn Kernel>> {
    let parts = Parts::of(attrs)?;
    let axis = attrs.int_or("axis", 0)?;
    kernel_of(move |inputs, out| {
        let t = inputs[0].tensor()?;
        let at = shapes::axis(axis, t.shape().rank())?;
        let mut view = View::of(t.shape());
        let step = view.dims[at].1;
        for (k, size) in parts.sizes(t.dims()[at])?.into_iter().enumerate() {
            view.dims[at].0 = size;
            view.put(t, view.shape()?, out, k)?;
            view.start += size * step;
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{attrs, eval, infer_err};
    use gristmill_plan::Attr;
    use gristmill_types::{Shape, Tensor};

    #[test]
    fn cuts_by_number_and_by_sizes() {
        let x = Tensor::from_vec(Shape::new(&[2, 3]).unwrap(), &[1i32, 2, 3, 4, 5, 6]).unwrap();
        let sizes = Attr::List(vec![Attr::Int(1), Attr::Int(-1)]);
        let out = eval(&OP, &[x.clone().into()], attrs(&[("sizes", sizes), ("axis", Attr::Int(1))])).unwrap();
        let t = |k: usize| out[k].tensor().unwrap().as_slice::<i32>().unwrap().to_vec();
        assert_eq!((t(0), t(1)), (vec![1, 4], vec![2, 3, 5, 6]));
        let out = eval(&OP, &[x.clone().into()], attrs(&[("num", Attr::Int(2))])).unwrap();
        assert_eq!(out[1].tensor().unwrap().as_slice::<i32>().unwrap(), &[4, 5, 6]);
        assert!(
            infer_err(&OP, &[x.into()], attrs(&[("num", Attr::Int(2)), ("axis", Attr::Int(1))]))
                .contains("evenly divide")
        );
    }
}
