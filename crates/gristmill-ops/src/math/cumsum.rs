//! `cumsum`: running sums.

use super::num::{Num, with_num};
use crate::array::support::{kernel_of, shapes};
use gristmill_plan::{Arg, ArgDef, Attrs, Class, Kernel, OpDef};
use gristmill_types::{DType, Error, Result, Spec};

pub(crate) static OP: OpDef = OpDef {
    name: "math.cumsum",
    doc: "The sums of the elements up to each, along a dimension. Integers wrap.",
    inputs: &[ArgDef { name: "x", doc: "numbers, rank >= 1" }],
    attrs: &[
        ArgDef { name: "axis", doc: "the dimension; default 0" },
        ArgDef { name: "exclusive", doc: "whether each sum is without its own element; default False" },
        ArgDef { name: "reverse", doc: "whether the sums run from the end; default False" },
    ],
    class: Class::Pure,
    total: false,
    elementwise: false,
    infer,
    kernel,
};

fn infer(args: &[Arg], attrs: &Attrs) -> Result<Vec<Spec>> {
    let spec = &args[0].spec;
    if matches!(spec.dtype(), DType::Bool | DType::String) {
        return Err(Error::invalid(format!("expected numbers, found {}", spec.dtype())));
    }
    if let Some(rank) = spec.shape().rank() {
        shapes::axis(attrs.int_or("axis", 0)?, rank)?;
    }
    Ok(vec![Spec::tensor(spec.dtype(), spec.shape().clone())])
}

fn kernel(_: &[Arg], attrs: &Attrs) -> Result<Box<dyn Kernel>> {
    let axis = attrs.int_or("axis", 0)?;
    let (exclusive, reverse) = (attrs.bool_or("exclusive", false)?, attrs.bool_or("reverse", false)?);
    kernel_of(move |inputs, out| {
        let t = inputs[0].tensor()?;
        let at = shapes::axis(axis, t.shape().rank())?;
        let (n, inner) = (t.dims()[at], t.dims()[at + 1..].iter().product::<usize>());
        with_num!(t.dtype(), T => {
            let x = t.as_slice::<T>()?;
            let to = out.typed::<T>(0, *t.shape());
            for start in (0..x.len()).step_by((n * inner).max(1)) {
                for i in 0..inner {
                    let mut sum = T::default();
                    for k in 0..n {
                        let p = start + if reverse { n - 1 - k } else { k } * inner + i;
                        let next = sum.add(x[p]);
                        to[p] = if exclusive { sum } else { next };
                        sum = next;
                    }
                }
            }
            Ok(())
        }, d => Err(Error::invalid(format!("expected numbers, found {d}"))))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{attrs, eval};
    use gristmill_plan::Attr;
    use gristmill_types::{Shape, Tensor};

    #[test]
    fn sums_run() {
        let x = Tensor::from_vec(Shape::new(&[2, 3]).unwrap(), &[1i32, 2, 3, 4, 5, 6]).unwrap();
        let call = |a: &[(&str, Attr)]| {
            eval(&OP, &[x.clone().into()], attrs(a)).unwrap()[0]
                .tensor()
                .unwrap()
                .as_slice::<i32>()
                .unwrap()
                .to_vec()
        };
        assert_eq!(call(&[]), [1, 2, 3, 5, 7, 9]);
        let both = [("axis", Attr::Int(1)), ("exclusive", Attr::Bool(true)), ("reverse", Attr::Bool(true))];
        assert_eq!(call(&both), [5, 3, 0, 11, 6, 0]);
    }
}
