//! `cond`: one of two functions.

use gristmill_plan::{Arg, ArgDef, Attrs, Class, Kernel, Nested, OpCx, OpDef, Outs};
use gristmill_types::{DType, Error, Result, Spec, Tensor, Value, with_element};

pub(crate) static OP: OpDef = OpDef {
    name: "cond",
    doc: "Runs one function where the predicate is true, another where it is false.\n\n\
          Only the function taken runs. Both give values of the same number, kinds and dtypes.",
    inputs: &[
        ArgDef { name: "pred", doc: "a bool (or number) scalar" },
        ArgDef { name: "captures*", doc: "the tensors that the functions use" },
    ],
    attrs: &[
        ArgDef { name: "true_fn", doc: "function of the captures" },
        ArgDef { name: "false_fn", doc: "function of the captures" },
    ],
    class: Class::Pure,
    total: false,
    elementwise: false,
    infer,
    kernel,
};

fn infer(args: &[Arg], attrs: &Attrs) -> Result<Vec<Spec>> {
    let pred = &args[0].spec;
    if pred.dtype() == DType::String || pred.shape().rank().is_some_and(|r| r != 0) {
        return Err(Error::invalid(format!("pred must be a bool scalar, found {pred}")));
    }
    let (a, b) = (attrs.graph("true_fn")?.output_specs(), attrs.graph("false_fn")?.output_specs());
    if a.len() != b.len() {
        return Err(Error::invalid(format!(
            "true_fn and false_fn must return as many values, found {} and {}",
            a.len(),
            b.len()
        )));
    }
    let both = |(a, b): (&Spec, &Spec)| {
        a.relax(b).ok_or_else(|| {
            Error::invalid(format!("true_fn and false_fn must return the same dtypes, found {a} and {b}"))
                .hint("cast one of them")
        })
    };
    a.iter().zip(&b).map(both).collect()
}

fn is_true(t: &Tensor) -> Result<bool> {
    with_element!(t.dtype(), T => Ok(t.item::<T>().map_err(|_| scalar(t))? != T::default()), _ => Err(scalar(t)))
}

fn scalar(t: &Tensor) -> Error {
    Error::invalid(format!("pred must be a bool scalar, found {} of shape {}", t.dtype(), t.shape()))
}

fn kernel(args: &[Arg], attrs: &Attrs) -> Result<Box<dyn Kernel>> {
    let known: Vec<Option<Value>> = args.iter().skip(1).map(|a| a.value.clone()).collect();
    let branch = |name| -> Result<Nested> { Ok(Nested::new(attrs.graph(name)?, known.clone())) };
    let (yes, no) = (branch("true_fn")?, branch("false_fn")?);
    Ok(Box::new(move |cx: &mut OpCx<'_>, inputs: &[Value], out: &mut Outs<'_>| {
        let pred = inputs[0].tensor()?;
        // Bools are read through u8, whose zero is false.
        let taken = if pred.dtype() == DType::Bool && pred.count() == 1 {
            pred.bytes() == [1]
        } else {
            is_true(pred)?
        };
        let function = if taken { &yes } else { &no };
        for (k, v) in function.eval(cx, &inputs[1..], &inputs[1..])?.into_iter().enumerate() {
            out.put(k, v);
        }
        Ok(())
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{attrs, eval, infer_err};
    use gristmill_plan::{Attr, GraphBuilder};
    use std::sync::Arc;

    fn branch(value: Option<Tensor>) -> Attr {
        let mut b = GraphBuilder::new(vec![Spec::scalar(DType::I32)]);
        let out = match value {
            Some(v) => b.constant(v),
            None => b.input(0),
        };
        Attr::Graph(Arc::new(b.finish(vec![out])))
    }

    #[test]
    fn runs_the_branch_taken() {
        let a = || attrs(&[("true_fn", branch(None)), ("false_fn", branch(Some(Tensor::vector(&[0i32]))))]);
        let call = |p: bool| {
            eval(&OP, &[Tensor::bool(p).into(), Tensor::scalar(7i32).into()], a()).unwrap().remove(0)
        };
        assert_eq!((call(true), call(false)), (Tensor::scalar(7i32).into(), Tensor::vector(&[0i32]).into()));
        let wrong = attrs(&[("true_fn", branch(None)), ("false_fn", branch(Some(Tensor::scalar(0f32))))]);
        assert!(infer_err(&OP, &[Tensor::bool(true).into()], wrong).contains("must return the same dtypes"));
        assert!(infer_err(&OP, &[Tensor::vector(&[1u8]).into()], a()).contains("pred must be a bool scalar"));
    }
}
