//! `tile`: a tensor several times along its dimensions.

use super::support::writer::{View, write};
use super::support::{kernel_of, shapes};
use gristmill_plan::{Arg, ArgDef, Attrs, Class, Kernel, OpDef};
use gristmill_types::{Error, PartialShape, Result, Shape, Spec};

pub(crate) static OP: OpDef = OpDef {
    name: "tile",
    doc: "The tensor `multiples[i]` times along dimension `i`.",
    inputs: &[
        ArgDef { name: "input", doc: "any dtype and shape" },
        ArgDef { name: "multiples", doc: "integer vector, one number >= 0 per dimension" },
    ],
    attrs: &[],
    class: Class::Pure,
    total: false,
    elementwise: false,
    infer,
    kernel,
};

fn check(multiples: &Shape, given: usize, rank: usize) -> Result<()> {
    if given == rank {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "expected multiples argument to be a vector of length {rank} but got {multiples}"
    )))
}

fn infer(args: &[Arg], _: &Attrs) -> Result<Vec<Spec>> {
    shapes::expect_ints(&args[1], "multiples")?;
    let times = shapes::known_shape(&args[1])?;
    let dtype = args[0].dtype();
    let (Some(dims), Some(times)) = (args[0].spec.shape().dims(), times.dims()) else {
        let rank = args[0].spec.shape().rank().or(times.rank());
        return Ok(vec![Spec::tensor(dtype, rank.map_or(PartialShape::UNKNOWN, PartialShape::of_rank))]);
    };
    check(&Shape::vector(times.len()), times.len(), dims.len())?;
    let dims = dims.iter().zip(times).map(|(d, m)| d.zip(*m).and_then(|(d, m)| d.checked_mul(m))).collect();
    Ok(vec![Spec::tensor(dtype, PartialShape::new(dims))])
}

fn kernel(_: &[Arg], _: &Attrs) -> Result<Box<dyn Kernel>> {
    kernel_of(|inputs, out| {
        let (t, m) = (inputs[0].tensor()?, inputs[1].tensor()?);
        check(m.shape(), m.count(), t.shape().rank())?;
        let times = shapes::shape_of(&m.to_i64s()?)?;
        let dims = t
            .dims()
            .iter()
            .zip(times.dims())
            .map(|(d, m)| d.checked_mul(*m).ok_or_else(|| Error::invalid("the result has too many elements")))
            .collect::<Result<Vec<_>>>()?;
        let shape = Shape::new(&dims)?;
        let mut view = View { start: 0, dims: Vec::with_capacity(2 * dims.len()) };
        for (d, &m) in View::of(t.shape()).dims.into_iter().zip(times.dims()) {
            view.dims.extend([(m, 0), d]);
        }
        if shape.count() == 0 {
            view.dims.clear();
            return write(out, 0, t.dtype(), shape, |_| Ok(()));
        }
        write(out, 0, t.dtype(), shape, |w| w.view(t, &view))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{attrs, eval, infer_err};
    use gristmill_types::Tensor;

    #[test]
    fn repeats_whole_tensors() {
        let x = Tensor::from_vec(Shape::new(&[2, 2]).unwrap(), &[1i32, 2, 3, 4]).unwrap();
        let out = eval(&OP, &[x.clone().into(), Tensor::vector(&[2i32, 2]).into()], attrs(&[])).unwrap();
        let t = out[0].tensor().unwrap();
        assert_eq!(t.as_slice::<i32>().unwrap(), &[1, 2, 1, 2, 3, 4, 3, 4, 1, 2, 1, 2, 3, 4, 3, 4]);
        let none = eval(&OP, &[x.clone().into(), Tensor::vector(&[0i32, 2]).into()], attrs(&[])).unwrap();
        assert_eq!(none[0].tensor().unwrap().dims(), &[0, 4]);
        assert!(
            infer_err(&OP, &[x.into(), Tensor::vector(&[2i32]).into()], attrs(&[]))
                .contains("vector of length 2")
        );
    }
}
