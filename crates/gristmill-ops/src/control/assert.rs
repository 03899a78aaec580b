//! `assert`: a condition that must hold.

use crate::array::support::kernel_of;
use gristmill_plan::{Arg, ArgDef, Attrs, Class, Kernel, OpDef};
use gristmill_types::{DType, Error, Result, Spec};

pub(crate) static OP: OpDef = OpDef {
    name: "assert",
    doc: "An error unless every element of the condition is true. Gives no value.",
    inputs: &[ArgDef { name: "condition", doc: "bool" }],
    attrs: &[ArgDef { name: "message", doc: "what the error says; default nothing" }],
    class: Class::Effect,
    total: false,
    elementwise: false,
    infer,
    kernel,
};

fn infer(args: &[Arg], _: &Attrs) -> Result<Vec<Spec>> {
    match args[0].dtype() {
        DType::Bool => Ok(Vec::new()),
        d => Err(Error::invalid(format!("condition must be bool, found {d}"))),
    }
}

fn kernel(_: &[Arg], attrs: &Attrs) -> Result<Box<dyn Kernel>> {
    let message = attrs.str_or("message", String::new())?;
    kernel_of(move |inputs, _| {
        if inputs[0].tensor()?.bytes().contains(&0) {
            return Err(Error::invalid(if message.is_empty() {
                "assertion failed".to_string()
            } else {
                format!("assertion failed: {message}")
            }));
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{attrs, eval};
    use gristmill_plan::Attr;
    use gristmill_types::Tensor;

    #[test]
    fn fails_with_its_message() {
        let a = || attrs(&[("message", Attr::Str("x is negative".into()))]);
        assert!(eval(&OP, &[Tensor::bool(true).into()], a()).unwrap().is_empty());
        let e = eval(&OP, &[Tensor::bool(false).into()], a()).unwrap_err().to_string();
        assert!(e.contains("assertion failed: x is negative"), "{e}");
    }
}
