//! `sparse.to_dense`.

use super::pad_value;
use crate::array::support::{kernel_of, shapes, writer};
use gristmill_plan::{Arg, ArgDef, Attrs, Class, Kernel, OpDef, Outs};
use gristmill_types::{Error, Result, Shape, Sparse, Spec, Tensor};

pub(crate) static OP: OpDef = OpDef {
    name: "sparse.to_dense",
    doc: "The dense form of a sparse tensor.\n\n\
          Positions without a value get the default. Indices that are out of bounds, out of order or repeated are an error.",
    inputs: &[
        ArgDef { name: "sp_input", doc: "a sparse tensor" },
        ArgDef { name: "default_value*", doc: "a scalar of its dtype; default 0 or the empty string" },
    ],
    attrs: &[ArgDef { name: "validate_indices", doc: "whether order and repeats are checked; default True" }],
    class: Class::Pure,
    total: false,
    elementwise: false,
    infer,
    kernel,
};

fn infer(args: &[Arg], _: &Attrs) -> Result<Vec<Spec>> {
    match &args[0].spec {
        Spec::Sparse { dtype, shape } => {
            super::check_pad(args, *dtype)?;
            Ok(vec![Spec::tensor(*dtype, shape.clone())])
        }
        other => Err(Error::invalid(format!("expected a sparse tensor, found {other}"))),
    }
}

fn kernel(_: &[Arg], attrs: &Attrs) -> Result<Box<dyn Kernel>> {
    let validate = attrs.bool_or("validate_indices", true)?;
    kernel_of(move |inputs, out| {
        let s = inputs[0].sparse()?;
        to_dense(s, &pad_value(&inputs[1..], s.values.dtype())?, validate, out)
    })
}

fn to_dense(s: &Sparse, fill: &Tensor, validate: bool, out: &mut Outs<'_>) -> Result<()> {
    let shape = shapes::shape_from(&s.dense_shape)?;
    let (rank, n) = (shape.rank(), s.values.count());
    let indices = s.indices.as_slice::<i64>()?;
    if indices.len() != n * rank || *s.values.shape() != Shape::vector(n) {
        return Err(Error::invalid(format!(
            "indices of shape {} do not fit values of shape {} and rank {rank}",
            s.indices.shape(),
            s.values.shape()
        )));
    }
    let mut places = Vec::with_capacity(n);
    let mut last: Option<&[i64]> = None;
    for k in 0..n {
        let index = &indices[k * rank..(k + 1) * rank];
        let mut at = 0;
        for (&i, &d) in index.iter().zip(shape.dims()) {
            if !(0..d as i64).contains(&i) {
                return Err(Error::invalid(format!(
                    "indices[{k}] = {index:?} is out of bounds: need 0 <= index < {shape}"
                )));
            }
            at = at * d + i as usize;
        }
        if validate && last.is_some_and(|l| l >= index) {
            return Err(if last == Some(index) {
                Error::invalid(format!("indices[{k}] = {index:?} is repeated"))
            } else {
                Error::invalid(format!(
                    "indices[{k}] = {index:?} is out of order: many sparse ops require sorted indices"
                ))
                .hint("sort the indices, last dimension fastest")
            });
        }
        last = Some(index);
        places.push((at, k));
    }
    if !validate {
        // A later value at the same place wins.
        places.sort_by_key(|p| p.0);
        places.reverse();
        places.dedup_by_key(|p| p.0);
        places.reverse();
    }
    writer::write(out, 0, s.values.dtype(), shape, |w| {
        let mut at = 0;
        for (place, k) in places {
            w.repeat(fill, 0, place - at);
            w.run(&s.values, k, 1);
            at = place + 1;
        }
        w.repeat(fill, 0, shape.count() - at);
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{attrs, eval};
    use gristmill_plan::Attr;
    use gristmill_types::Value;

    fn sparse(indices: &[i64], shape: &[i64], values: &[i64]) -> Value {
        let indices = Tensor::from_vec(Shape::new(&[values.len(), shape.len()]).unwrap(), indices).unwrap();
        Sparse { indices, values: Tensor::vector(values), dense_shape: Tensor::vector(shape) }.into()
    }

    #[test]
    fn fills_between_values() {
        let out =
            eval(&OP, &[sparse(&[0, 1, 1, 0], &[2, 3], &[5, 6]), Tensor::scalar(-1i64).into()], attrs(&[]))
                .unwrap();
        assert_eq!(out[0].tensor().unwrap().as_slice::<i64>().unwrap(), &[-1, 5, -1, 6, -1, -1]);
        let none = eval(&OP, &[sparse(&[], &[2], &[])], attrs(&[])).unwrap();
        assert_eq!(none[0], Tensor::vector(&[0i64, 0]).into());
        let a = attrs(&[("validate_indices", Attr::Bool(false))]);
        assert_eq!(
            eval(&OP, &[sparse(&[1, 0, 1], &[2], &[1, 2, 3])], a).unwrap()[0],
            Tensor::vector(&[2i64, 3]).into()
        );
    }

    #[test]
    fn indices_are_checked() {
        let e =
            |i: &[i64]| eval(&OP, &[sparse(i, &[3], &vec![1; i.len()])], attrs(&[])).unwrap_err().to_string();
        assert!(e(&[1, 0]).contains("indices[1] = [0] is out of order"));
        assert!(e(&[1, 1]).contains("indices[1] = [1] is repeated"));
        assert!(e(&[5]).contains("indices[0] = [5] is out of bounds: need 0 <= index < [3]"));
        assert!(e(&[-1]).contains("out of bounds"));
    }
}
