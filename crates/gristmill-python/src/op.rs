//! Ops called with values.

use crate::attr;
use crate::error::guarded;
use crate::value::PyValue;
use gristmill::plan::op::run_one;
use gristmill::plan::{Arg, Class, Draw, OpCx, Scratch, registry};
use gristmill_types::{Error, Frame, Value};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::cell::RefCell;

/// Inputs of at least this many bytes in all are worth giving up the interpreter lock for.
const DETACH_BYTES: usize = 4096;

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

/// Runs an op on values; gives its outputs. `entropy` seeds random ops without a seed of their own.
#[pyfunction]
pub(crate) fn run_op(
    py: Python<'_>,
    name: &str,
    inputs: Vec<PyRef<'_, PyValue>>,
    attrs: &Bound<'_, PyDict>,
    entropy: u64,
) -> PyResult<Vec<PyValue>> {
    let values: Vec<Value> = inputs.iter().map(|v| v.0.clone()).collect();
    drop(inputs);
    let attrs = attr::attrs(attrs)?;
    let work = || -> gristmill_types::Result<Vec<Value>> {
        let def = registry::lookup(name)?;
        let place = |e: Error| e.frame(Frame::Op { name: name.to_string(), site: None });
        def.check_call(values.len(), &attrs).map_err(place)?;
        let args: Vec<Arg> = values.iter().map(Arg::from).collect();
        let specs = (def.infer)(&args, &attrs).map_err(place)?;
        let kernel = (def.kernel)(&args, &attrs).map_err(place)?;
        SCRATCH.with_borrow_mut(|scratch| {
            let mut cx = OpCx { scratch, draw: Draw::Eager { entropy }, op_id: entropy };
            run_one(&*kernel, &mut cx, &values, specs.len()).map_err(place)
        })
    };
    let effect = registry::lookup(name).is_ok_and(|d| matches!(d.class, Class::Effect | Class::Foreign));
    let large = values.iter().map(Value::byte_len).sum::<usize>() >= DETACH_BYTES;
    let out = if effect || large { py.detach(|| guarded(work)) } else { guarded(work) }?;
    Ok(out.into_iter().map(PyValue).collect())
}

/// `"pure"`, `"random"`, `"effect"` or `"foreign"`.
#[pyfunction]
fn op_class(name: &str) -> PyResult<&'static str> {
    guarded(|| {
        Ok(match registry::lookup(name)?.class {
            Class::Pure => "pure",
            Class::Random => "random",
            Class::Effect => "effect",
            Class::Foreign => "foreign",
        })
    })
}

/// Every op: name, documentation, inputs, attributes, class.
#[pyfunction]
fn op_table() -> Vec<(&'static str, &'static str, Vec<&'static str>, Vec<&'static str>)> {
    registry::all()
        .into_iter()
        .map(|d| {
            let names = |args: &'static [gristmill::plan::ArgDef]| args.iter().map(|a| a.name).collect();
            (d.name, d.doc, names(d.inputs), names(d.attrs))
        })
        .collect()
}

/// Adds the functions to the module.
pub(crate) fn add(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(run_op, m)?)?;
    m.add_function(wrap_pyfunction!(op_class, m)?)?;
    m.add_function(wrap_pyfunction!(op_table, m)?)
}
