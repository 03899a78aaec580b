//! Graphs of traced functions, built call by call.

use crate::error::{guarded, invalid};
use crate::value::PyValue;
use crate::{attr, pack, spec, unpack};
use gristmill::plan::{Graph, GraphBuilder, Ref, registry};
use gristmill::runtime::Reduction;
use gristmill_types::Error;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::Arc;

/// A traced function.
#[pyclass(frozen, module = "gristmill._native", name = "Graph")]
pub(crate) struct PyGraph(pub(crate) Arc<Graph>);

#[pymethods]
impl PyGraph {
    /// Specs of what it gives.
    #[getter]
    fn output_specs<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        self.0.output_specs().iter().map(|s| spec::to_py(py, s)).collect()
    }

    /// Number of tensors that it takes from outer functions.
    #[getter]
    fn captures(&self) -> usize {
        self.0.captures.len()
    }

    /// Number of ops, nested functions' included.
    #[getter]
    fn op_count(&self) -> usize {
        self.0.op_count()
    }

    /// The graph that was pickled as these parts.
    #[staticmethod]
    fn unpacked(parts: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(Self(Arc::new(unpack::graph(parts)?)))
    }

    /// Pickled as its nodes.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyAny>,))> {
        Ok((slf.get_type().getattr("unpacked")?, (pack::graph_parts(slf.py(), &slf.get().0)?,)))
    }

    fn __repr__(&self) -> String {
        format!("<graph of {} ops>", self.0.op_count())
    }
}

/// A graph under construction.
#[pyclass(module = "gristmill._native", name = "GraphBuilder")]
pub(crate) struct PyGraphBuilder(Option<GraphBuilder>);

impl PyGraphBuilder {
    fn builder(&mut self) -> PyResult<&mut GraphBuilder> {
        self.0
            .as_mut()
            .ok_or_else(|| invalid("the function was traced already: its tensors cannot be used any more"))
    }
}

/// Node, output and spec of a tensor.
type Out<'py> = (usize, usize, Bound<'py, PyAny>);

#[pymethods]
impl PyGraphBuilder {
    /// A graph whose element has components with these specs: nodes `0..n`.
    #[new]
    fn new(inputs: Vec<Bound<'_, PyAny>>) -> PyResult<Self> {
        let specs = inputs.iter().map(spec::from_py).collect::<PyResult<_>>()?;
        Ok(Self(Some(GraphBuilder::new(specs))))
    }

    /// A constant; gives its node and spec.
    fn constant<'py>(&mut self, py: Python<'py>, value: &PyValue) -> PyResult<Out<'py>> {
        let builder = self.builder()?;
        let r = builder.constant(value.0.clone());
        Ok((r.node, r.output, spec::to_py(py, &builder.spec(r))?))
    }

    /// A tensor of an outer function; gives its node.
    fn capture(&mut self, spec: &Bound<'_, PyAny>) -> PyResult<usize> {
        let spec = spec::from_py(spec)?;
        Ok(self.builder()?.capture(spec).node)
    }

    /// Calls an op; gives node, output and spec of each of its outputs.
    fn call<'py>(
        &mut self,
        py: Python<'py>,
        name: &str,
        inputs: Vec<(usize, usize)>,
        attrs: &Bound<'_, PyDict>,
        site: Option<String>,
    ) -> PyResult<Vec<Out<'py>>> {
        let attrs = attr::attrs(attrs)?;
        let builder = self.builder()?;
        let refs: Vec<Ref> = inputs.into_iter().map(|(node, output)| Ref { node, output }).collect();
        let out = guarded(|| {
            let def = registry::lookup(name)?;
            builder.call(def, &refs, attrs, site.map(Arc::from))
        })?;
        out.into_iter().map(|r| Ok((r.node, r.output, spec::to_py(py, &builder.spec(r))?))).collect()
    }

    /// The finished graph with these outputs.
    fn finish(&mut self, outputs: Vec<(usize, usize)>) -> PyResult<PyGraph> {
        let builder = self
            .0
            .take()
            .ok_or_else(|| crate::error::to_py(&Error::internal("a graph was finished twice")))?;
        let refs = outputs.into_iter().map(|(node, output)| Ref { node, output }).collect();
        Ok(PyGraph(Arc::new(builder.finish(refs))))
    }
}

/// What a state with these specs must be taken for when a step makes one with the others of it.
#[pyfunction]
pub(crate) fn widened<'py>(
    py: Python<'py>,
    state: Vec<Bound<'py, PyAny>>,
    next: Vec<Bound<'py, PyAny>>,
) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let specs = |all: Vec<Bound<'py, PyAny>>| all.iter().map(spec::from_py).collect::<PyResult<Vec<_>>>();
    let (state, next) = (specs(state)?, specs(next)?);
    guarded(|| Reduction::widened(&state, &next))?.iter().map(|s| spec::to_py(py, s)).collect()
}
