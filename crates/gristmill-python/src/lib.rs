//! The native half of gristmill's Python package, `gristmill._native`: values, eager ops, graphs
//! of traced functions, plans and their iterators, messages of `gristmill.train`, files.
//!
//! What a user sees is written in Python over these; names and arguments here are not public.

mod array_struct;
mod attr;
mod call;
mod dlpack;
mod error;
mod example;
mod files;
mod forecast;
mod graph;
mod iterator;
mod memory;
mod op;
mod pack;
mod plan;
mod spec;
mod string_view;
mod tools;
mod unpack;
mod value;

use pyo3::prelude::*;

/// The module `gristmill._native`.
#[pymodule]
fn _native(m: &Bound<'_, PyModule>) -> PyResult<()> {
    gristmill::init();
    // From here on a forked child is known as one.
    gristmill_types::process::id();
    m.add("__version__", env!("CARGO_PKG_VERSION"))?;
    m.add_class::<value::PyValue>()?;
    m.add_class::<array_struct::ReadOnly>()?;
    m.add_class::<graph::PyGraph>()?;
    m.add_class::<graph::PyGraphBuilder>()?;
    m.add_class::<files::RecordWriter>()?;
    m.add_class::<plan::PyPlan>()?;
    m.add_class::<iterator::PyIterator>()?;
    m.add_class::<forecast::PyForecast>()?;
    m.add_function(wrap_pyfunction!(graph::widened, m)?)?;
    call::add(m)?;
    op::add(m)?;
    example::add(m)?;
    files::add(m)?;
    tools::add(m)
}
