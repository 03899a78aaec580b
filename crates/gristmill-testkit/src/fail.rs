//! `test.fail_if_multiple`: an op that fails for some integers, and counts its runs.

use gristmill_plan::{Arg, ArgDef, Attrs, Class, Kernel, OpCx, OpDef, Outs};
use gristmill_types::{DType, Error, PartialShape, Result, Spec, Tensor, Value};

/// Passes an int64 scalar on, and fails where it is a multiple of `of` (0 never fails).
pub static OP: OpDef = OpDef {
    name: "test.fail_if_multiple",
    doc: "Passes int64 scalars on and fails where one is a multiple of `of`.",
    inputs: &[ArgDef { name: "x", doc: "int64 scalar" }],
    attrs: &[ArgDef { name: "of", doc: "the number whose multiples fail" }],
    class: Class::Pure,
    total: false,
    elementwise: false,
    infer,
    kernel,
};

fn infer(_: &[Arg], _: &Attrs) -> Result<Vec<Spec>> {
    Ok(vec![Spec::tensor(DType::I64, PartialShape::scalar())])
}

fn kernel(_: &[Arg], attrs: &Attrs) -> Result<Box<dyn Kernel>> {
    let of = attrs.int("of")?;
    Ok(Box::new(move |_: &mut OpCx<'_>, inputs: &[Value], out: &mut Outs<'_>| {
        let x = inputs[0].tensor()?.item::<i64>()?;
        if of != 0 && x % of == 0 {
            return Err(Error::invalid(format!("{x} is a multiple of {of}")));
        }
        out.put(0, Tensor::scalar(x));
        Ok(())
    }))
}

/// Makes the op known.
pub fn register() {
    gristmill_plan::registry::register(&[&OP]);
}
