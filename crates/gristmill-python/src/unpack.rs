//! Plans from the plain Python values that [`crate::pack`] makes.

use crate::call::PyFunction;
use crate::error::{guarded, invalid};
use crate::graph::PyGraph;
use crate::plan::{In, Nest, compression, operands};
use crate::spec;
use crate::value::PyValue;
use gristmill::plan::dataset as node;
use gristmill::plan::{Attr, Attrs, Graph, Node, Op, OpNode, Options, Plan, Ref, Template, registry};
use gristmill_types::{Error, Spec};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt, PyList, PyString, PyTuple};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;

type Any<'py> = Bound<'py, PyAny>;
type Captures = Vec<In>;
/// What a map has: function, captures, structure, `parallel`, `deterministic`.
type MapParts<'a, 'py> = (PyRef<'py, PyGraph>, Captures, Nest, Option<u64>, Option<bool>);

#[derive(Default)]
struct Unpacker {
    plans: Vec<Plan>,
    counters: HashMap<usize, Arc<node::ShuffleCounter>>,
    slots: HashMap<usize, Arc<node::CacheSlot>>,
}

/// The plan of these nodes.
///
/// # Errors
/// `InvalidArgument`, or Python's conversion errors, for values that another version made.
pub(crate) fn plan(nodes: &Bound<'_, PyList>) -> PyResult<Plan> {
    let mut unpacker = Unpacker::default();
    for part in nodes.iter() {
        let (name, numbers, inputs, passes): (String, Any<'_>, Vec<usize>, u64) = part.extract()?;
        let inputs = inputs.into_iter().map(|i| unpacker.at(i)).collect::<PyResult<Vec<_>>>()?;
        let op = unpacker.op(&name, &numbers)?;
        let plan = guarded(|| Plan::new(op, inputs))?;
        plan.iterations.store(passes, SeqCst);
        unpacker.plans.push(plan);
    }
    unpacker.plans.pop().ok_or_else(broken)
}

fn broken() -> PyErr {
    invalid("the pickled dataset is damaged or was made by another version")
}

fn map(parts: MapParts<'_, '_>) -> node::Map {
    let (graph, captures, structure, parallel, deterministic) = parts;
    node::Map {
        graph: Arc::clone(&graph.0),
        captures: operands(captures),
        structure: structure.0,
        parallel,
        deterministic,
    }
}

impl Unpacker {
    fn at(&self, i: usize) -> PyResult<Plan> {
        self.plans.get(i).cloned().ok_or_else(broken)
    }

    fn template(&self, parts: &Any<'_>) -> PyResult<Template> {
        let (graph, captures, plan): (PyRef<'_, PyGraph>, Captures, usize) = parts.extract()?;
        Ok(Template { graph: Arc::clone(&graph.0), captures: operands(captures), plan: self.at(plan)? })
    }

    fn op(&mut self, name: &str, numbers: &Any<'_>) -> PyResult<Op> {
        Ok(match name {
            "range" => {
                let (start, stop, step, dtype): (In, In, In, String) = numbers.extract()?;
                let dtype = spec::dtype(&dtype)?;
                node::Range { start: start.0, stop: stop.0, step: step.0, dtype }.into()
            }
            "from_tensors" => {
                let (structure, components): (Nest, Captures) = numbers.extract()?;
                node::Tensors { structure: structure.0, components: operands(components) }.into()
            }
            "from_tensor_slices" | "list_files" => {
                let (structure, components, paths): (Nest, Captures, bool) = numbers.extract()?;
                node::TensorSlices { structure: structure.0, components: operands(components), paths }.into()
            }
            "TFRecordDataset" => {
                let (files, kind, verify): (In, Option<String>, bool) = numbers.extract()?;
                node::TfRecord { files: files.0, compression: compression(kind.as_deref()), verify }.into()
            }
            "map" => map(numbers.extract()?).into(),
            "filter" => {
                let (graph, captures): (PyRef<'_, PyGraph>, Captures) = numbers.extract()?;
                node::Filter { graph: Arc::clone(&graph.0), captures: operands(captures) }.into()
            }
            "flat_map" => node::FlatMap { template: self.template(numbers)? }.into(),
            "interleave" => {
                let (template, cycle, block, parallel): (Any<'_>, usize, usize, Option<u64>) =
                    numbers.extract()?;
                node::Interleave { template: self.template(&template)?, cycle, block, parallel }.into()
            }
            "shuffle" => {
                type Numbers = (In, (u64, u64), bool, bool, (usize, u64));
                let (buffer, seeds, unseeded, reshuffle, (name, epoch)): Numbers = numbers.extract()?;
                let counter = Arc::clone(self.counters.entry(name).or_default());
                counter.set(epoch);
                node::Shuffle { buffer: buffer.0, seeds, unseeded, reshuffle, counter }.into()
            }
            "cache" => {
                let (name,): (usize,) = numbers.extract()?;
                node::Cache { slot: Arc::clone(self.slots.entry(name).or_default()) }.into()
            }
            "repeat" => node::Repeat { count: numbers.extract::<(In,)>()?.0.0 }.into(),
            "take" => node::Take { count: numbers.extract::<(In,)>()?.0.0 }.into(),
            "skip" => node::Skip { count: numbers.extract::<(In,)>()?.0.0 }.into(),
            "batch" => {
                let (size, drop_remainder): (In, bool) = numbers.extract()?;
                node::Batch { size: size.0, drop_remainder }.into()
            }
            "map+batch" => {
                let (parts, size, drop_remainder): (Any<'_>, In, bool) = numbers.extract()?;
                let batch = node::Batch { size: size.0, drop_remainder };
                node::MapBatch { map: map(parts.extract()?), batch }.into()
            }
            "shard" => {
                let (count, index) = numbers.extract()?;
                node::Shard { count, index }.into()
            }
            "prefetch" => node::Prefetch { buffer: numbers.extract::<(Option<u64>,)>()?.0 }.into(),
            "with_options" | "options" => {
                let (deterministic, ram_budget, threads, optimize, fast_images) = numbers.extract()?;
                let options = Options { deterministic, ram_budget, threads, optimize, fast_images };
                node::WithOptions { options }.into()
            }
            "zip" => node::Zip { structure: numbers.extract::<(Nest,)>()?.0.0 }.into(),
            "enumerate" => node::Enumerate { start: numbers.extract::<(i64,)>()?.0 }.into(),
            "ignore_errors" => node::IgnoreErrors { log_warning: numbers.extract::<(bool,)>()?.0 }.into(),
            "unbatch" => node::Unbatch.into(),
            "concatenate" => node::Concatenate.into(),
            _ => return Err(broken()),
        })
    }
}

/// The graph of these parts.
///
/// # Errors
/// As [`plan`].
pub(crate) fn graph(parts: &Any<'_>) -> PyResult<Graph> {
    type Parts<'py> = (Vec<Any<'py>>, Vec<Any<'py>>, Vec<Any<'py>>, Vec<(usize, usize)>);
    let (inputs, captures, parts, outputs): Parts<'_> = parts.extract()?;
    let mut graph = Graph {
        inputs: specs(&inputs)?,
        captures: specs(&captures)?,
        nodes: Vec::new(),
        outputs: Vec::new(),
    };
    for part in &parts {
        let node = graph_node(&graph, part)?;
        graph.nodes.push(node);
    }
    graph.outputs = refs(&graph, outputs)?;
    Ok(graph)
}

fn specs(all: &[Any<'_>]) -> PyResult<Vec<Spec>> {
    all.iter().map(spec::from_py).collect()
}

/// References to nodes that are there.
fn refs(graph: &Graph, all: Vec<(usize, usize)>) -> PyResult<Vec<Ref>> {
    let made = all.into_iter().map(|(node, output)| {
        let outputs = match graph.nodes.get(node) {
            Some(Node::Op(op)) => op.specs.len(),
            Some(_) => 1,
            None => 0,
        };
        if output < outputs { Ok(Ref { node, output }) } else { Err(broken()) }
    });
    made.collect()
}

fn graph_node(graph: &Graph, part: &Any<'_>) -> PyResult<Node> {
    if let Ok(v) = part.cast::<PyValue>() {
        return Ok(Node::Const(v.get().0.clone()));
    }
    let parts = part.cast::<PyTuple>()?;
    let name: String = parts.get_item(0)?.extract()?;
    if parts.len() == 2 {
        let i: usize = parts.get_item(1)?.extract()?;
        return match name.as_str() {
            "input" if i < graph.inputs.len() => Ok(Node::Input(i)),
            "capture" if i < graph.captures.len() => Ok(Node::Capture(i)),
            _ => Err(broken()),
        };
    }
    type Parts<'py> =
        (String, Vec<(String, Any<'py>)>, Vec<(usize, usize)>, Vec<Any<'py>>, u64, Option<String>);
    let (name, attrs, inputs, outputs, op_id, site): Parts<'_> = part.extract()?;
    let attrs = attrs.iter().map(|(name, a)| Ok((name.clone(), attr(a)?))).collect::<PyResult<Vec<_>>>()?;
    Ok(Node::Op(OpNode {
        def: guarded(|| registry::lookup(&name))?,
        attrs: Attrs::new(attrs),
        inputs: refs(graph, inputs)?,
        specs: specs(&outputs)?,
        op_id,
        site: site.map(Arc::from),
    }))
}

fn attr(a: &Any<'_>) -> PyResult<Attr> {
    if a.is_none() {
        return Ok(Attr::None);
    }
    if let Ok(v) = a.cast::<PyBool>() {
        return Ok(Attr::Bool(v.is_true()));
    }
    if a.is_instance_of::<PyInt>() {
        return Ok(Attr::Int(a.extract()?));
    }
    if a.is_instance_of::<PyFloat>() {
        return Ok(Attr::Float(a.extract()?));
    }
    if a.is_instance_of::<PyString>() {
        return Ok(Attr::Str(a.extract()?));
    }
    if let Ok(v) = a.cast::<PyValue>() {
        return Ok(Attr::Value(v.get().0.clone()));
    }
    if let Ok(g) = a.cast::<PyGraph>() {
        return Ok(Attr::Graph(Arc::clone(&g.get().0)));
    }
    if let Ok(f) = a.cast::<PyFunction>() {
        return Ok(Attr::Foreign(Arc::clone(&f.get().0)));
    }
    let (kind, what): (String, Any<'_>) = a.extract()?;
    Ok(match kind.as_str() {
        "dtype" => Attr::DType(spec::dtype(&what.extract::<String>()?)?),
        "shape" => Attr::Shape(spec::shape(&what)?),
        "list" => Attr::List(what.cast::<PyList>()?.iter().map(|a| attr(&a)).collect::<PyResult<_>>()?),
        "dict" => {
            let entries: Vec<(String, Any<'_>)> = what.extract()?;
            Attr::Dict(entries.iter().map(|(k, a)| Ok((k.clone(), attr(a)?))).collect::<PyResult<_>>()?)
        }
        _ => {
            return Err(crate::error::to_py(&Error::invalid("the pickled dataset has an unknown attribute")));
        }
    })
}
