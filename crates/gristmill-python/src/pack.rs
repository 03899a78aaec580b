//! Plans as plain Python values, for pickle: what [`crate::unpack`] reads.
//!
//! A plan is a list of nodes, inputs first: `(name, numbers, positions of the inputs, passes so far)`. Nodes,
//! counters of shuffles and contents of caches that are shared are shared again.

use crate::call::PyFunction;
use crate::error::invalid;
use crate::graph::PyGraph;
use crate::spec;
use crate::value::PyValue;
use gristmill::plan::dataset::{Compression, Map, Op};
use gristmill::plan::{Attr, Graph, Node, Operand, Plan, Template, Transformation};
use gristmill_types::Structure;
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;

type Any<'py> = Bound<'py, PyAny>;

/// Anything as a Python object.
fn object<'py, T: IntoPyObjectExt<'py>>(py: Python<'py>, value: T) -> PyResult<Any<'py>> {
    value.into_bound_py_any(py)
}

struct Packer<'py> {
    py: Python<'py>,
    nodes: Vec<Any<'py>>,
    seen: Vec<Plan>,
    /// Addresses of what several nodes may share.
    shared: Vec<usize>,
}

/// The nodes of a plan.
///
/// # Errors
/// `InvalidArgument` for what has no form outside the process.
pub(crate) fn plan<'py>(py: Python<'py>, plan: &Plan) -> PyResult<Bound<'py, PyList>> {
    let mut packer = Packer { py, nodes: Vec::new(), seen: Vec::new(), shared: Vec::new() };
    packer.plan(plan)?;
    PyList::new(py, packer.nodes)
}

impl<'py> Packer<'py> {
    fn plan(&mut self, plan: &Plan) -> PyResult<usize> {
        if let Some(at) = self.seen.iter().position(|p| p.same(plan)) {
            return Ok(at);
        }
        let inputs = plan.inputs.iter().map(|p| self.plan(p)).collect::<PyResult<Vec<_>>>()?;
        let numbers = self.numbers(&plan.op)?;
        let node = (plan.op.name(), numbers, inputs, plan.iterations.load(SeqCst));
        self.nodes.push(object(self.py, node)?);
        self.seen.push(plan.clone());
        Ok(self.seen.len() - 1)
    }

    fn share<T: ?Sized>(&mut self, what: &Arc<T>) -> usize {
        let address = Arc::as_ptr(what).cast::<()>() as usize;
        let known = self.shared.iter().position(|a| *a == address);
        known.unwrap_or_else(|| {
            self.shared.push(address);
            self.shared.len() - 1
        })
    }

    fn numbers(&mut self, op: &Op) -> PyResult<Any<'py>> {
        let py = self.py;
        match op {
            Op::Range(t) => {
                let ends = (operand(py, &t.start)?, operand(py, &t.stop)?, operand(py, &t.step)?);
                object(py, (ends.0, ends.1, ends.2, t.dtype.name()))
            }
            Op::Tensors(t) => object(py, (nest(py, &t.structure)?, operands(py, &t.components)?)),
            Op::TensorSlices(t) => {
                object(py, (nest(py, &t.structure)?, operands(py, &t.components)?, t.paths))
            }
            Op::TfRecord(t) => {
                let compression = match t.compression {
                    Compression::Detect => None,
                    Compression::None => Some(""),
                    Compression::Gzip => Some("GZIP"),
                    Compression::Zlib => Some("ZLIB"),
                };
                object(py, (operand(py, &t.files)?, compression, t.verify))
            }
            Op::Map(t) => self.map(t),
            Op::Filter(t) => object(py, (graph(py, &t.graph)?, operands(py, &t.captures)?)),
            Op::FlatMap(t) => self.template(&t.template),
            Op::Interleave(t) => object(py, (self.template(&t.template)?, t.cycle, t.block, t.parallel)),
            Op::Shuffle(t) => {
                let counter = (self.share(&t.counter), t.counter.get());
                object(py, (operand(py, &t.buffer)?, t.seeds, t.unseeded, t.reshuffle, counter))
            }
            Op::Cache(t) => object(py, (self.share(&t.slot),)),
            Op::Repeat(t) => object(py, (operand(py, &t.count)?,)),
            Op::Take(t) => object(py, (operand(py, &t.count)?,)),
            Op::Skip(t) => object(py, (operand(py, &t.count)?,)),
            Op::Batch(t) => object(py, (operand(py, &t.size)?, t.drop_remainder)),
            Op::MapBatch(t) => {
                object(py, (self.map(&t.map)?, operand(py, &t.batch.size)?, t.batch.drop_remainder))
            }
            Op::Shard(t) => object(py, (t.count, t.index)),
            Op::Prefetch(t) => object(py, (t.buffer,)),
            Op::WithOptions(t) => {
                let o = &t.options;
                object(py, (o.deterministic, o.ram_budget, o.threads, o.optimize, o.fast_images))
            }
            Op::Zip(t) => object(py, (nest(py, &t.structure)?,)),
            Op::Enumerate(t) => object(py, (t.start,)),
            Op::IgnoreErrors(t) => object(py, (t.log_warning,)),
            Op::Unbatch(_) | Op::Concatenate(_) => object(py, PyTuple::empty(py)),
        }
    }

    fn map(&self, map: &Map) -> PyResult<Any<'py>> {
        let (graph, captures) = (graph(self.py, &map.graph)?, operands(self.py, &map.captures)?);
        object(self.py, (graph, captures, nest(self.py, &map.structure)?, map.parallel, map.deterministic))
    }

    fn template(&mut self, t: &Template) -> PyResult<Any<'py>> {
        let inner = self.plan(&t.plan)?;
        object(self.py, (graph(self.py, &t.graph)?, operands(self.py, &t.captures)?, inner))
    }
}

fn operand<'py>(py: Python<'py>, o: &Operand) -> PyResult<Any<'py>> {
    match o {
        Operand::Const(v) => object(py, PyValue(v.clone())),
        Operand::Param(i, spec) => object(py, (*i, spec::to_py(py, spec)?)),
    }
}

fn operands<'py>(py: Python<'py>, all: &[Operand]) -> PyResult<Bound<'py, PyList>> {
    PyList::new(py, all.iter().map(|o| operand(py, o)).collect::<PyResult<Vec<_>>>()?)
}

/// A structure as `plan::nest` takes it.
fn nest<'py>(py: Python<'py>, s: &Structure<usize>) -> PyResult<Any<'py>> {
    let items = |items: &[Structure<usize>]| items.iter().map(|s| nest(py, s)).collect::<PyResult<Vec<_>>>();
    let entries = |entries: &[(String, Structure<usize>)]| {
        entries.iter().map(|(key, s)| Ok((key.clone(), nest(py, s)?))).collect::<PyResult<Vec<_>>>()
    };
    match s {
        Structure::Leaf(i) => object(py, *i),
        Structure::None => Ok(py.None().into_bound(py)),
        Structure::Tuple(parts) => object(py, ("tuple", items(parts)?)),
        Structure::List(parts) => object(py, ("list", items(parts)?)),
        Structure::Dict(parts) => object(py, ("dict", entries(parts)?)),
        Structure::Named(name, parts) => object(py, ("named", name.clone(), entries(parts)?)),
    }
}

fn graph<'py>(py: Python<'py>, g: &Arc<Graph>) -> PyResult<Any<'py>> {
    object(py, PyGraph(Arc::clone(g)))
}

/// The parts of a graph: specs of inputs and captures, nodes, outputs.
///
/// # Errors
/// `InvalidArgument` for an attribute without a form outside the process.
pub(crate) fn graph_parts<'py>(py: Python<'py>, g: &Graph) -> PyResult<Any<'py>> {
    let specs =
        |all: &[gristmill_types::Spec]| all.iter().map(|s| spec::to_py(py, s)).collect::<PyResult<Vec<_>>>();
    let refs = |all: &[gristmill::plan::Ref]| all.iter().map(|r| (r.node, r.output)).collect::<Vec<_>>();
    let node = |n: &Node| match n {
        Node::Input(i) => object(py, ("input", *i)),
        Node::Capture(i) => object(py, ("capture", *i)),
        Node::Const(v) => object(py, PyValue(v.clone())),
        Node::Op(op) => {
            let attrs = op.attrs.iter().map(|(name, a)| Ok((name.to_string(), attr(py, a)?)));
            let attrs = attrs.collect::<PyResult<Vec<_>>>()?;
            let site = op.site.as_ref().map(ToString::to_string);
            object(py, (op.def.name, attrs, refs(&op.inputs), specs(&op.specs)?, op.op_id, site))
        }
    };
    let nodes = g.nodes.iter().map(node).collect::<PyResult<Vec<_>>>()?;
    object(py, (specs(&g.inputs)?, specs(&g.captures)?, nodes, refs(&g.outputs)))
}

fn attr<'py>(py: Python<'py>, a: &Attr) -> PyResult<Any<'py>> {
    match a {
        Attr::None => Ok(py.None().into_bound(py)),
        Attr::Bool(v) => object(py, *v),
        Attr::Int(v) => object(py, *v),
        Attr::Float(v) => object(py, *v),
        Attr::Str(v) => object(py, v.clone()),
        Attr::DType(v) => object(py, ("dtype", v.name())),
        Attr::Shape(v) => object(py, ("shape", spec::shape_to_py(py, v)?)),
        Attr::List(items) => {
            let items = items.iter().map(|a| attr(py, a)).collect::<PyResult<Vec<_>>>()?;
            object(py, ("list", items))
        }
        Attr::Dict(entries) => {
            let entries = entries.iter().map(|(k, a)| Ok((k.clone(), attr(py, a)?)));
            object(py, ("dict", entries.collect::<PyResult<Vec<_>>>()?))
        }
        Attr::Value(v) => object(py, PyValue(v.clone())),
        Attr::Graph(g) => graph(py, g),
        Attr::Foreign(f) => object(py, PyFunction(Arc::clone(f))),
        other => Err(invalid(format!("an attribute cannot be pickled: {other}"))),
    }
}
