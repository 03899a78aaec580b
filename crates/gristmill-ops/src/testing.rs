//! Helpers of the ops' unit tests.

use gristmill_plan::op::run_one;
use gristmill_plan::{Arg, Attr, Attrs, Draw, OpCx, OpDef, Scratch};
use gristmill_types::{Result, Value};

/// Attributes from pairs.
pub(crate) fn attrs(entries: &[(&str, Attr)]) -> Attrs {
    Attrs::new(entries.iter().map(|(n, a)| ((*n).to_string(), a.clone())).collect())
}

/// Infers and runs an op eagerly; the result's specs must be as inferred.
pub(crate) fn eval(op: &OpDef, inputs: &[Value], attrs: Attrs) -> Result<Vec<Value>> {
    op.check_call(inputs.len(), &attrs)?;
    let args: Vec<Arg> = inputs.iter().map(Arg::from).collect();
    let specs = (op.infer)(&args, &attrs)?;
    let kernel = (op.kernel)(&args, &attrs)?;
    let mut scratch = Scratch::default();
    let mut cx = OpCx { scratch: &mut scratch, draw: Draw::Eager { entropy: 1 }, op_id: 1 };
    let out = run_one(&*kernel, &mut cx, inputs, specs.len())?;
    for (spec, value) in specs.iter().zip(&out) {
        assert_eq!(spec.dtype(), value.dtype(), "{} inferred another dtype", op.name);
        assert!(spec.shape().compatible(value.spec().shape()), "{}: {spec} vs {}", op.name, value.spec());
    }
    Ok(out)
}

/// The message with which inference refuses the call.
pub(crate) fn infer_err(op: &OpDef, inputs: &[Value], attrs: Attrs) -> String {
    let args: Vec<Arg> = inputs.iter().map(Arg::from).collect();
    match op.check_call(inputs.len(), &attrs).and_then(|()| (op.infer)(&args, &attrs)) {
        Ok(specs) => panic!("{} accepted it: {specs:?}", op.name),
        Err(e) => e.to_string(),
    }
}
