//! `transpose`: the dimensions in another order.

use super::support::writer::View;
use super::support::{kernel_of, shapes};
use gristmill_plan::{Arg, ArgDef, Attrs, Class, Kernel, OpDef};
use gristmill_types::{Error, PartialShape, Result, Spec};

pub(crate) static OP: OpDef = OpDef {
    name: "transpose",
    doc: "The dimensions in another order.\n\nDimension `i` of the result is dimension `perm[i]` of the input.",
    inputs: &[ArgDef { name: "a", doc: "any dtype and shape" }],
    attrs: &[ArgDef { name: "perm", doc: "the order; None (default) reverses it" }],
    class: Class::Pure,
    total: false,
    elementwise: false,
    infer,
    kernel,
};

fn order(perm: Option<&[i64]>, rank: usize) -> Result<Vec<usize>> {
    let Some(perm) = perm else {
        return Ok((0..rank).rev().collect());
    };
    let order = perm.iter().map(|&p| shapes::axis(p, rank)).collect::<Result<Vec<_>>>()?;
    let mut seen = vec![false; rank];
    order.iter().for_each(|&p| seen[p] = true);
    if order.len() != rank || seen.contains(&false) {
        return Err(Error::invalid(format!(
            "transpose expects a vector of size {rank} that names each dimension once, found {perm:?}"
        )));
    }
    Ok(order)
}

fn infer(args: &[Arg], attrs: &Attrs) -> Result<Vec<Spec>> {
    let spec = &args[0].spec;
    let perm = shapes::int_list(attrs, "perm")?;
    let shape = match spec.shape().dims() {
        Some(dims) => {
            PartialShape::new(order(perm.as_deref(), dims.len())?.into_iter().map(|p| dims[p]).collect())
        }
        None => perm.map_or(PartialShape::UNKNOWN, |p| PartialShape::of_rank(p.len())),
    };
    Ok(vec![Spec::tensor(spec.dtype(), shape)])
}

fn kernel(_: &[Arg], attrs: &Attrs) -> Result<Box<dyn Kernel>> {
    let perm = shapes::int_list(attrs, "perm")?;
    kernel_of(move |inputs, out| {
        let t = inputs[0].tensor()?;
        let from = View::of(t.shape());
        let dims = order(perm.as_deref(), t.shape().rank())?.into_iter().map(|p| from.dims[p]).collect();
        let view = View { start: 0, dims };
        view.put(t, view.shape()?, out, 0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{attrs, eval, infer_err};
    use gristmill_plan::Attr;
    use gristmill_types::{Shape, Tensor};

    #[test]
    fn reorders() {
        let x = Tensor::from_vec(Shape::new(&[2, 1, 3]).unwrap(), &[1u8, 2, 3, 4, 5, 6]).unwrap();
        let out = eval(&OP, &[x.clone().into()], attrs(&[])).unwrap();
        let t = out[0].tensor().unwrap();
        assert_eq!((t.dims(), t.as_slice::<u8>().unwrap()), (&[3usize, 1, 2][..], &[1u8, 4, 2, 5, 3, 6][..]));
        let perm = |p: &[i64]| attrs(&[("perm", Attr::List(p.iter().map(|&p| Attr::Int(p)).collect()))]);
        assert_eq!(
            eval(&OP, &[x.clone().into()], perm(&[1, 0, 2])).unwrap()[0].tensor().unwrap().bytes(),
            x.bytes()
        );
        assert!(infer_err(&OP, &[x.into()], perm(&[0, 0, 1])).contains("each dimension once"));
    }
}
