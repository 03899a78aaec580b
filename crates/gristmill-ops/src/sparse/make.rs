//! `sparse.make` and `ragged.make`: from their parts.

use crate::array::support::{kernel_of, shapes};
use crate::math::convert::cast_tensor;
use gristmill_plan::{Arg, ArgDef, Attrs, Class, Kernel, OpDef};
use gristmill_types::{DType, Error, PartialShape, Ragged, Result, Shape, Sparse, Spec, Tensor};

pub(crate) static SPARSE: OpDef = OpDef {
    name: "sparse.make",
    doc: "A sparse tensor from its parts.",
    inputs: &[
        ArgDef { name: "indices", doc: "integers `[n, rank]`" },
        ArgDef { name: "values", doc: "any dtype, `[n]`" },
        ArgDef { name: "dense_shape", doc: "integers `[rank]`" },
    ],
    attrs: &[],
    class: Class::Pure,
    total: false,
    elementwise: false,
    infer: infer_sparse,
    kernel: kernel_sparse,
};

pub(crate) static RAGGED: OpDef = OpDef {
    name: "ragged.make",
    doc: "A ragged tensor from its flat values and nested row splits, outermost first.",
    inputs: &[
        ArgDef { name: "flat_values", doc: "any dtype, `[total, ...]`" },
        ArgDef { name: "nested_row_splits*", doc: "integers `[rows + 1]` each, rising from 0" },
    ],
    attrs: &[],
    class: Class::Pure,
    total: false,
    elementwise: false,
    infer: infer_ragged,
    kernel: kernel_ragged,
};

fn infer_sparse(args: &[Arg], _: &Attrs) -> Result<Vec<Spec>> {
    shapes::expect_ints(&args[0], "indices")?;
    shapes::expect_ints(&args[2], "dense_shape")?;
    let rank = args[2].spec.shape().dim(0).or_else(|| args[0].spec.shape().dim(1));
    let shape = match shapes::constant_ints(&args[2]) {
        Some(dims) => PartialShape::from(&shapes::shape_of(&dims)?),
        None => rank.map_or(PartialShape::UNKNOWN, PartialShape::of_rank),
    };
    Ok(vec![Spec::Sparse { dtype: args[1].dtype(), shape }])
}

fn kernel_sparse(_: &[Arg], _: &Attrs) -> Result<Box<dyn Kernel>> {
    kernel_of(|inputs, out| {
        let (indices, values) = (cast_tensor(inputs[0].tensor()?, DType::I64)?, inputs[1].tensor()?.clone());
        let dense_shape = cast_tensor(inputs[2].tensor()?, DType::I64)?;
        let (n, rank) = (values.count(), dense_shape.count());
        if indices.dims() != [n, rank]
            || *values.shape() != Shape::vector(n)
            || dense_shape.shape().rank() != 1
        {
            return Err(Error::invalid(format!(
                "indices {}, values {} and dense_shape {} do not fit: expected [n,rank], [n] and [rank]",
                indices.shape(),
                values.shape(),
                dense_shape.shape()
            )));
        }
        shapes::shape_from(&dense_shape)?;
        out.put(0, Sparse { indices, values, dense_shape });
        Ok(())
    })
}

fn infer_ragged(args: &[Arg], _: &Attrs) -> Result<Vec<Spec>> {
    let ragged_rank = args.len() - 1;
    if ragged_rank == 0 {
        return Err(Error::invalid("a ragged tensor takes at least one vector of row splits"));
    }
    for a in &args[1..] {
        shapes::expect_ints(a, "row splits")?;
    }
    let shape = match args[0].spec.shape().dims() {
        Some([_, inner @ ..]) => {
            let mut dims = vec![args[1].spec.shape().dim(0).and_then(|n| n.checked_sub(1))];
            dims.extend(std::iter::repeat_n(None, ragged_rank));
            dims.extend_from_slice(inner);
            PartialShape::new(dims)
        }
        Some([]) => return Err(Error::invalid("flat_values must not be a scalar")),
        None => PartialShape::UNKNOWN,
    };
    Ok(vec![Spec::Ragged { dtype: args[0].dtype(), shape, ragged_rank }])
}

fn kernel_ragged(_: &[Arg], _: &Attrs) -> Result<Box<dyn Kernel>> {
    kernel_of(|inputs, out| {
        let flat_values = inputs[0].tensor()?.clone();
        let row_splits = inputs[1..]
            .iter()
            .map(|v| cast_tensor(v.tensor()?, DType::I64))
            .collect::<Result<Vec<Tensor>>>()?;
        for (level, splits) in row_splits.iter().enumerate() {
            let rows = match row_splits.get(level + 1) {
                Some(next) => next.count().saturating_sub(1),
                None => *flat_values
                    .dims()
                    .first()
                    .ok_or_else(|| Error::invalid("flat_values must not be a scalar"))?,
            };
            let s = splits.as_slice::<i64>()?;
            if s.first() != Some(&0) || s.windows(2).any(|w| w[0] > w[1]) || s.last() != Some(&(rows as i64))
            {
                return Err(Error::invalid(format!(
                    "row splits {level} must rise from 0 to {rows}, found {splits:?}"
                )));
            }
        }
        out.put(0, Ragged { flat_values, row_splits });
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{attrs, eval};

    #[test]
    fn makes_and_checks() {
        let splits = |v: &[i32]| [Tensor::vector(&[1f32, 2.0]).into(), Tensor::vector(v).into()];
        let r = eval(&RAGGED, &splits(&[0, 0, 2]), attrs(&[])).unwrap();
        assert_eq!(r[0].ragged().unwrap().row_splits[0], Tensor::vector(&[0i64, 0, 2]));
        for bad in [&[0, 3][..], &[1, 2], &[0, 2, 1, 2], &[]] {
            assert!(eval(&RAGGED, &splits(bad), attrs(&[])).is_err());
        }
        let indices = Tensor::from_vec(Shape::new(&[1, 1]).unwrap(), &[1i32]).unwrap();
        let s = eval(
            &SPARSE,
            &[
                indices.clone().into(),
                Tensor::string_vector(vec!["x".into()]).into(),
                Tensor::vector(&[3i64]).into(),
            ],
            attrs(&[]),
        )
        .unwrap();
        assert_eq!(s[0].sparse().unwrap().indices.as_slice::<i64>().unwrap(), &[1]);
        assert!(
            eval(
                &SPARSE,
                &[indices.into(), Tensor::vector(&[1i32, 2]).into(), Tensor::vector(&[3i64]).into()],
                attrs(&[])
            )
            .is_err()
        );
    }
}
