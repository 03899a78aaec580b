//! Plans, transformation by transformation.

use crate::call::linger;
use crate::error::{guarded, invalid, to_py, unpanicked};
use crate::graph::PyGraph;
use crate::iterator::{LOOK, PyIterator};
use crate::value::PyValue;
use crate::{pack, spec, unpack};
use gristmill::plan::dataset as node;
use gristmill::plan::{Op, Operand, Options, Plan, Template};
use gristmill::runtime::{DatasetIterator, Reduction};
use gristmill_types::{Error, Structure};
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyList, PyString, PyTuple};

/// A pipeline.
#[pyclass(frozen, module = "gristmill._native", name = "Plan")]
pub(crate) struct PyPlan(pub(crate) Plan);

/// A number, a value, or `(k, spec)` for parameter `k` of the template around.
pub(crate) struct In(pub(crate) Operand);

impl<'a, 'py> FromPyObject<'a, 'py> for In {
    type Error = PyErr;
    fn extract(obj: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        if obj.is_instance_of::<PyInt>() {
            return Ok(Self(Operand::int(obj.extract()?)));
        }
        if let Ok(v) = obj.cast::<PyValue>() {
            return Ok(Self(Operand::Const(v.get().0.clone())));
        }
        let pair = obj.cast::<PyTuple>()?;
        Ok(Self(Operand::Param(pair.get_item(0)?.extract()?, spec::from_py(&pair.get_item(1)?)?)))
    }
}

/// A structure whose leaves are numbers: an int, `None`, `("tuple" | "list", [...])`,
/// `("dict", [(key, ...)])` or `("named", name, [(field, ...)])`.
pub(crate) struct Nest(pub(crate) Structure<usize>);

fn nest(obj: &Bound<'_, PyAny>) -> PyResult<Structure<usize>> {
    if obj.is_none() {
        return Ok(Structure::None);
    }
    if obj.is_instance_of::<PyInt>() {
        return Ok(Structure::Leaf(obj.extract()?));
    }
    let parts = obj.cast::<PyTuple>()?;
    let items = |i: usize| -> PyResult<Vec<Structure<usize>>> {
        parts.get_item(i)?.cast::<PyList>()?.iter().map(|s| nest(&s)).collect()
    };
    let entries = |i: usize| -> PyResult<Vec<(String, Structure<usize>)>> {
        let pair = |e: Bound<'_, PyAny>| {
            let e = e.cast_into::<PyTuple>()?;
            Ok((e.get_item(0)?.extract()?, nest(&e.get_item(1)?)?))
        };
        parts.get_item(i)?.cast::<PyList>()?.iter().map(pair).collect()
    };
    match parts.get_item(0)?.cast::<PyString>()?.to_cow()?.as_ref() {
        "tuple" => Ok(Structure::Tuple(items(1)?)),
        "list" => Ok(Structure::List(items(1)?)),
        "dict" => Ok(Structure::Dict(entries(1)?)),
        "named" => Ok(Structure::Named(parts.get_item(1)?.extract()?, entries(2)?)),
        other => Err(invalid(format!("there is no kind of structure '{other}'"))),
    }
}

impl<'a, 'py> FromPyObject<'a, 'py> for Nest {
    type Error = PyErr;
    fn extract(obj: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        nest(&obj).map(Self)
    }
}

pub(crate) fn operands(items: Vec<In>) -> Vec<Operand> {
    items.into_iter().map(|i| i.0).collect()
}

/// `None` to detect it, `""`, `"GZIP"` or `"ZLIB"`.
pub(crate) fn compression(name: Option<&str>) -> node::Compression {
    match name {
        None => node::Compression::Detect,
        Some("GZIP") => node::Compression::Gzip,
        Some("ZLIB") => node::Compression::Zlib,
        Some(_) => node::Compression::None,
    }
}

fn source(op: impl Into<Op>) -> PyResult<PyPlan> {
    guarded(|| Plan::new(op, Vec::new())).map(PyPlan)
}

impl PyPlan {
    fn then(&self, op: impl Into<Op>) -> PyResult<Self> {
        guarded(|| self.0.then(op)).map(Self)
    }
}

#[pymethods]
impl PyPlan {
    /// Numbers from `start` up to `stop`.
    #[staticmethod]
    fn range(start: In, stop: In, step: In, dtype: &str) -> PyResult<Self> {
        source(node::Range { start: start.0, stop: stop.0, step: step.0, dtype: spec::dtype(dtype)? })
    }

    /// One element.
    #[staticmethod]
    fn tensors(structure: Nest, components: Vec<In>) -> PyResult<Self> {
        source(node::Tensors { structure: structure.0, components: operands(components) })
    }

    /// An element per row.
    #[staticmethod]
    fn tensor_slices(structure: Nest, components: Vec<In>, paths: bool) -> PyResult<Self> {
        source(node::TensorSlices { structure: structure.0, components: operands(components), paths })
    }

    /// The records of files. `compression` is `None` to detect it, `""`, `"GZIP"` or `"ZLIB"`.
    #[staticmethod]
    fn tf_record(files: In, compression: Option<&str>, verify: bool) -> PyResult<Self> {
        let compression = self::compression(compression);
        source(node::TfRecord { files: files.0, compression, verify })
    }

    /// Each element through a function.
    fn map(
        &self,
        graph: &PyGraph,
        captures: Vec<In>,
        structure: Nest,
        parallel: Option<u64>,
        deterministic: Option<bool>,
    ) -> PyResult<Self> {
        let mut map = node::Map::new(&graph.0, operands(captures), structure.0, &self.0);
        map.parallel = parallel;
        map.deterministic = deterministic;
        self.then(map)
    }

    /// The elements for which a function says true.
    fn filter(&self, graph: &PyGraph, captures: Vec<In>) -> PyResult<Self> {
        self.then(guarded(|| node::Filter::new(&graph.0, operands(captures), &self.0))?)
    }

    /// The elements of a dataset per element.
    fn flat_map(&self, graph: &PyGraph, captures: Vec<In>, plan: &Self) -> PyResult<Self> {
        let template = Template::new(&graph.0, operands(captures), plan.0.clone(), &self.0);
        self.then(node::FlatMap { template })
    }

    /// The elements of a dataset per element, in turn.
    fn interleave(
        &self,
        graph: &PyGraph,
        captures: Vec<In>,
        plan: &Self,
        cycle: usize,
        block: usize,
        parallel: Option<u64>,
    ) -> PyResult<Self> {
        let template = Template::new(&graph.0, operands(captures), plan.0.clone(), &self.0);
        self.then(node::Interleave { template, cycle, block, parallel })
    }

    /// Random order from a buffer.
    fn shuffle(&self, buffer: In, seeds: (u64, u64), unseeded: bool, reshuffle: bool) -> PyResult<Self> {
        self.then(node::Shuffle {
            buffer: buffer.0,
            seeds,
            unseeded,
            reshuffle,
            counter: std::sync::Arc::default(),
        })
    }

    /// Values kept in memory.
    fn cache(&self) -> PyResult<Self> {
        self.then(node::Cache::default())
    }

    /// Several passes; negative means without end.
    fn repeat(&self, count: In) -> PyResult<Self> {
        self.then(node::Repeat { count: count.0 })
    }

    /// The first elements; negative means all.
    fn take(&self, count: In) -> PyResult<Self> {
        self.then(node::Take { count: count.0 })
    }

    /// All but the first elements; negative means none.
    fn skip(&self, count: In) -> PyResult<Self> {
        self.then(node::Skip { count: count.0 })
    }

    /// Every `count`-th element from the `index`-th.
    fn shard(&self, count: i64, index: i64) -> PyResult<Self> {
        self.then(node::Shard { count, index })
    }

    /// Elements joined.
    fn batch(&self, size: In, drop_remainder: bool) -> PyResult<Self> {
        self.then(node::Batch { size: size.0, drop_remainder })
    }

    /// Elements taken apart.
    fn unbatch(&self) -> PyResult<Self> {
        self.then(node::Unbatch)
    }

    /// Elements made ahead.
    fn prefetch(&self, buffer: Option<u64>) -> PyResult<Self> {
        self.then(node::Prefetch { buffer })
    }

    /// Options for the whole plan.
    fn with_options(
        &self,
        deterministic: Option<bool>,
        ram_budget: Option<u64>,
        threads: Option<u64>,
        optimize: Option<bool>,
        fast_images: Option<bool>,
    ) -> PyResult<Self> {
        let options = Options { deterministic, ram_budget, threads, optimize, fast_images };
        self.then(node::WithOptions { options })
    }

    /// Datasets side by side.
    #[staticmethod]
    fn zip(structure: Nest, inputs: Vec<PyRef<'_, Self>>) -> PyResult<Self> {
        let inputs = inputs.iter().map(|p| p.0.clone()).collect();
        guarded(|| Plan::new(node::Zip { structure: structure.0 }, inputs)).map(Self)
    }

    /// Elements with their position.
    fn enumerate(&self, start: i64) -> PyResult<Self> {
        self.then(node::Enumerate { start })
    }

    /// This dataset, then another.
    fn concatenate(&self, other: &Self) -> PyResult<Self> {
        guarded(|| Plan::new(node::Concatenate, vec![self.0.clone(), other.0.clone()])).map(Self)
    }

    /// Errors from above dropped.
    fn ignore_errors(&self, log_warning: bool) -> PyResult<Self> {
        self.then(node::IgnoreErrors { log_warning })
    }

    /// Specs of the components in flattening order.
    #[getter]
    fn leaf_specs<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        self.0.spec().leaves().into_iter().map(|s| spec::to_py(py, s)).collect()
    }

    /// Number of elements; -1 infinite, -2 unknown.
    #[getter]
    fn cardinality(&self) -> i64 {
        self.0.cardinality.as_i64()
    }

    /// The plan as written, the rules that fired, the plan that runs.
    fn explain(&self) -> PyResult<String> {
        guarded(|| self.0.explain())
    }

    /// The plan as an indented tree.
    fn tree(&self) -> String {
        self.0.tree()
    }

    /// The plan that was pickled as these nodes.
    #[staticmethod]
    fn unpacked(nodes: &Bound<'_, PyList>) -> PyResult<Self> {
        unpack::plan(nodes).map(Self)
    }

    /// Pickled as a list of its nodes; what caches hold stays here.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyList>,))> {
        Ok((slf.get_type().getattr("unpacked")?, (pack::plan(slf.py(), &slf.get().0)?,)))
    }

    /// Takes the place of a state among the passes, for a pass that goes on in another process.
    fn take_up(&self, py: Python<'_>, state: &[u8]) -> PyResult<()> {
        py.detach(|| unpanicked(|| DatasetIterator::take_up(&self.0, state))).map_err(|e| to_py(&e))
    }

    /// A new pass, from a state if one is given.
    fn iterate(&self, py: Python<'_>, state: Option<&[u8]>) -> PyResult<PyIterator> {
        PyIterator::start(py, &self.0, state).map_err(|e| to_py(&e))
    }

    /// All elements folded into one state by a function of state and element, and the warnings of the pass. Signals
    /// interrupt it.
    fn reduce(
        &self,
        py: Python<'_>,
        graph: &PyGraph,
        state: Vec<PyRef<'_, PyValue>>,
    ) -> PyResult<(Vec<PyValue>, Vec<String>)> {
        let state = state.iter().map(|v| v.0.clone()).collect();
        let raise = |e: Error| {
            Python::attach(|py| linger(py, &e));
            to_py(&e)
        };
        // The pass ends in here: its threads are waited for without the interpreter lock.
        py.detach(|| {
            let mut fold = unpanicked(|| Reduction::new(&self.0, &graph.0, state)).map_err(raise)?;
            while !unpanicked(|| fold.advance(LOOK)).map_err(raise)? {
                Python::attach(|py| py.check_signals())?;
            }
            let warnings = fold.take_warnings();
            Ok((fold.into_state().into_iter().map(PyValue).collect(), warnings))
        })
    }
}
