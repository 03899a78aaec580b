//! Running a graph over blocks of elements.

use super::{Graph, Node, OpNode, Ref};
use crate::op::{Arg, BlockOut, Draw, Kernel, Lane, OpCx, Out, Outs, Scratch, run_one};
use gristmill_types::batch::RowsMut;
use gristmill_types::{Buffer, Column, DType, Error, Frame, Ids, Result, Shape, Spec, Tensor, Value};
use std::sync::Arc;

/// What running a program needs and counts.
pub struct Run<'a> {
    /// Working memory of the thread.
    pub scratch: &'a mut Scratch,
    /// Seed of the run for random ops without one of their own.
    pub entropy: u64,
    /// Bytes copied because a value could not be written straight into its place.
    pub copied: u64,
}

struct Step {
    node: usize,
    kernel: Box<dyn Kernel>,
    /// Nodes that nobody reads after this step.
    drops: Vec<usize>,
    /// Per output: the graph output that it alone serves and that nobody reads besides.
    serves: Vec<Option<usize>>,
}

/// A graph made ready to run: kernels prepared, constant parts computed.
pub struct Program {
    graph: Arc<Graph>,
    steps: Vec<Step>,
    constants: Vec<Option<Vec<Value>>>,
}

/// One output of a step while it is computed element by element.
enum Target<'a, 'b> {
    Given(&'a mut RowsMut<'b>),
    Own { dtype: DType, row: Shape, row_bytes: usize, buffer: Buffer },
    Values(Vec<Value>),
}

impl Program {
    /// Prepares a graph whose captured tensors have these values.
    ///
    /// # Errors
    /// What a kernel's preparation refuses, with op and place.
    pub fn new(graph: Arc<Graph>, captures: &[Value]) -> Result<Self> {
        let mut constants: Vec<Option<Vec<Value>>> = vec![None; graph.nodes.len()];
        let mut steps = Vec::new();
        let mut scratch = Scratch::default();
        for (i, node) in graph.nodes.iter().enumerate() {
            match node {
                Node::Input(_) => {}
                Node::Capture(k) => {
                    let v = captures.get(*k).ok_or_else(|| Error::internal("a captured tensor has no value"))?;
                    constants[i] = Some(vec![v.clone()]);
                }
                Node::Const(v) => constants[i] = Some(vec![v.clone()]),
                Node::Op(op) => {
                    let known = |r: &Ref| constants[r.node].as_ref().map(|v| v[r.output].clone());
                    let args: Vec<Arg> =
                        op.inputs.iter().map(|r| Arg { value: known(r), spec: graph.spec(*r) }).collect();
                    let kernel = (op.def.kernel)(&args, &op.attrs).map_err(|e| placed(e, op))?;
                    let values: Option<Vec<Value>> = args.into_iter().map(|a| a.value).collect();
                    if let Some(values) = values.filter(|_| op.is_pure()) {
                        let mut cx = OpCx { scratch: &mut scratch, draw: Draw::Eager { entropy: 0 }, op_id: 0 };
                        // A constant part that fails does so when an element asks for it.
                        constants[i] = run_one(&*kernel, &mut cx, &values, op.specs.len()).ok();
                    }
                    if constants[i].is_none() {
                        steps.push(Step { node: i, kernel, drops: Vec::new(), serves: vec![None; op.specs.len()] });
                    }
                }
            }
        }
        let mut program = Self { graph, steps, constants };
        program.plan_memory();
        Ok(program)
    }

    /// Finds out when values die and which go straight into the caller's rows.
    fn plan_memory(&mut self) {
        let graph = &self.graph;
        let mut last = vec![None; graph.nodes.len()];
        let mut readers = vec![0usize; graph.nodes.len()];
        for (s, step) in self.steps.iter().enumerate() {
            if let Node::Op(op) = &graph.nodes[step.node] {
                for r in &op.inputs {
                    last[r.node] = Some(s);
                    readers[r.node] += 1;
                }
            }
        }
        let is_output = |node: usize| graph.outputs.iter().any(|r| r.node == node);
        for (node, at) in last.iter().enumerate() {
            if let Some(s) = at
                && !is_output(node)
            {
                self.steps[*s].drops.push(node);
            }
        }
        for step in &mut self.steps {
            for (output, serves) in step.serves.iter_mut().enumerate() {
                let r = Ref { node: step.node, output };
                let mut users = graph.outputs.iter().enumerate().filter(|(_, o)| **o == r).map(|(k, _)| k);
                if let (Some(k), None, 0) = (users.next(), users.next(), readers[step.node]) {
                    *serves = Some(k);
                }
            }
        }
    }

    /// The graph that this runs.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    fn op(&self, step: &Step) -> &OpNode {
        match &self.graph.nodes[step.node] {
            Node::Op(op) => op,
            _ => unreachable!("steps are made of op nodes"),
        }
    }

    /// Runs elements `0..n`, up to the first that fails. Where `rows` gives memory for an output,
    /// the values go there (and `None` is returned for it); a value of another shape is then that
    /// element's error.
    ///
    /// # Errors
    /// Faults that belong to no single element.
    pub fn run(&self, run: &mut Run<'_>, inputs: &[Column], n: usize, ids: &Ids, rows: &mut [Option<RowsMut<'_>>]) -> Result<BlockOut> {
        let mut lanes: Vec<Option<Vec<Lane>>> = self
            .graph
            .nodes
            .iter()
            .enumerate()
            .map(|(i, node)| match (node, &self.constants[i]) {
                (Node::Input(k), _) => Some(vec![Lane::Column(inputs[*k].clone())]),
                (_, Some(values)) => Some(values.iter().cloned().map(Lane::Const).collect()),
                _ => None,
            })
            .collect();
        let (mut done, mut failed) = (n, None);
        let mut written = vec![false; self.graph.outputs.len()];
        for step in &self.steps {
            let op = self.op(step);
            let args: Vec<Lane> = op.inputs.iter().map(|r| lane(&lanes, *r, done)).collect::<Result<_>>()?;
            let mut taken: Vec<_> =
                step.serves.iter().map(|k| k.and_then(|k| rows.get_mut(k).and_then(Option::take))).collect();
            let mut given: Vec<_> = taken.iter_mut().map(|t| t.as_mut().map(|r| r.first(done))).collect();
            let out = self.step(run, step, op, &args, done, ids, &mut given)?;
            for (k, t) in step.serves.iter().zip(taken) {
                if let (Some(k), Some(t)) = (k, t) {
                    rows[*k] = Some(t);
                }
            }
            drop(args);
            if let Some(e) = out.failed {
                done = out.done;
                failed = Some(placed(e, op));
            }
            let made = out.columns.into_iter().enumerate().map(|(o, c)| match c {
                Some(c) => Lane::Column(c),
                None => {
                    if let Some(k) = step.serves[o] {
                        written[k] = true;
                    }
                    Lane::Column(Column::Varied(Vec::new()))
                }
            });
            lanes[step.node] = Some(made.collect());
            for &node in &step.drops {
                lanes[node] = None;
            }
        }
        let mut columns = Vec::with_capacity(self.graph.outputs.len());
        for (k, &r) in self.graph.outputs.iter().enumerate() {
            if written[k] {
                columns.push(None);
                continue;
            }
            let column = match lane(&lanes, r, done)? {
                Lane::Column(c) => c,
                Lane::Const(v) => Column::from_values(vec![v; done]),
            };
            match rows.get_mut(k).and_then(Option::as_mut) {
                None => columns.push(Some(column)),
                Some(place) => {
                    if let Some((i, e)) = fill(&column, place, done, &mut run.copied) {
                        done = i;
                        failed = Some(e);
                    }
                    columns.push(None);
                }
            }
        }
        for column in columns.iter_mut().flatten() {
            if column.len() > done {
                *column = column.slice(0, done);
            }
        }
        Ok(BlockOut { columns, done, failed })
    }

    fn step(&self, run: &mut Run<'_>, step: &Step, op: &OpNode, args: &[Lane], n: usize, ids: &Ids, given: &mut [Option<RowsMut<'_>>]) -> Result<BlockOut> {
        let entropy = run.entropy;
        let mut cx = OpCx {
            scratch: &mut *run.scratch,
            draw: Draw::Element { entropy, key: ids_key(ids, 0, n) },
            op_id: op.op_id,
        };
        if op.def.elementwise
            && n > 1
            && let Some(values) = lifted(args)
            && let Some(out) = run_lifted(&*step.kernel, &mut cx, &values, n, given)?
        {
            return Ok(out);
        }
        if let Some(block) = step.kernel.block() {
            return block.run(&mut cx, args, n, given);
        }
        let mut targets: Vec<Target<'_, '_>> = given
            .iter_mut()
            .zip(&op.specs)
            .map(|(g, spec)| match (g, own_rows(spec)) {
                (Some(rows), _) => Target::Given(rows),
                (None, Some((dtype, row))) => {
                    let row_bytes = row.count() * dtype.size();
                    Target::Own { dtype, row, row_bytes, buffer: Buffer::recycled(row_bytes * n) }
                }
                (None, None) => Target::Values(Vec::with_capacity(n)),
            })
            .collect();
        let (mut done, mut failed) = (0, None);
        let mut inputs = Vec::with_capacity(args.len());
        while done < n {
            inputs.clear();
            inputs.extend(args.iter().map(|a| a.get(done)));
            cx.draw = Draw::Element { entropy, key: ids_key(ids, done, n) };
            match one(&*step.kernel, &mut cx, &inputs, &mut targets, done, &mut run.copied) {
                Ok(()) => done += 1,
                Err(e) => {
                    failed = Some(e);
                    break;
                }
            }
        }
        let columns = targets
            .into_iter()
            .map(|t| {
                Ok(match t {
                    Target::Given(_) => None,
                    Target::Own { dtype, row, row_bytes, mut buffer } => {
                        buffer.truncate(row_bytes * done);
                        Some(Column::Uniform(Tensor::from_buffer(dtype, row.prepend(done)?, buffer)?))
                    }
                    Target::Values(mut v) => {
                        v.truncate(done);
                        Some(strings_or_varied(v))
                    }
                })
            })
            .collect::<Result<_>>()?;
        Ok(BlockOut { columns, done, failed })
    }

    /// Runs one element of a nested function whose captured tensors are `captures`.
    ///
    /// # Errors
    /// The failing op's, with its place.
    pub fn eval_one(graph: &Graph, cx: &mut OpCx<'_>, captures: &[Value]) -> Result<Vec<Value>> {
        Self::eval_nested(graph, cx, captures, captures)
    }

    /// Runs one element of a function without preparing it: for functions that run rarely.
    ///
    /// # Errors
    /// The failing op's, with its place.
    pub fn eval_nested(graph: &Graph, cx: &mut OpCx<'_>, inputs: &[Value], captures: &[Value]) -> Result<Vec<Value>> {
        let mut values: Vec<Vec<Value>> = Vec::with_capacity(graph.nodes.len());
        for node in &graph.nodes {
            values.push(match node {
                Node::Input(i) => {
                    vec![inputs.get(*i).cloned().ok_or_else(|| Error::internal("a component has no value"))?]
                }
                Node::Capture(i) => {
                    vec![captures.get(*i).cloned().ok_or_else(|| Error::internal("a captured tensor has no value"))?]
                }
                Node::Const(v) => vec![v.clone()],
                Node::Op(op) => {
                    let given: Vec<Value> = op.inputs.iter().map(|r| values[r.node][r.output].clone()).collect();
                    let args: Vec<Arg> = given.iter().map(Arg::from).collect();
                    let kernel = (op.def.kernel)(&args, &op.attrs).map_err(|e| placed(e, op))?;
                    let mut cx = OpCx { scratch: &mut *cx.scratch, draw: cx.draw, op_id: op.op_id };
                    run_one(&*kernel, &mut cx, &given, op.specs.len()).map_err(|e| placed(e, op))?
                }
            });
        }
        Ok(graph.outputs.iter().map(|r| values[r.node][r.output].clone()).collect())
    }
}

fn ids_key(ids: &Ids, i: usize, n: usize) -> gristmill_types::Key {
    if n == 0 { gristmill_types::Key::default() } else { ids.key(i) }
}

fn placed(e: Error, op: &OpNode) -> Error {
    e.frame(Frame::Op { name: op.def.name.to_string(), site: op.site.as_ref().map(ToString::to_string) })
}

/// The lane of a node's output, cut to the elements that are still alive.
fn lane(lanes: &[Option<Vec<Lane>>], r: Ref, n: usize) -> Result<Lane> {
    let lane = lanes[r.node].as_ref().and_then(|v| v.get(r.output)).ok_or_else(|| {
        Error::internal("a value was read after it was dropped")
    })?;
    Ok(match lane {
        Lane::Column(c) if c.len() > n => Lane::Column(c.slice(0, n)),
        other => other.clone(),
    })
}

/// Dtype and row shape of an output that can be laid out before it exists.
fn own_rows(spec: &Spec) -> Option<(DType, Shape)> {
    match spec {
        Spec::Tensor { dtype, shape } if dtype.is_plain() => Some((*dtype, shape.full()?)),
        _ => None,
    }
}

fn strings_or_varied(values: Vec<Value>) -> Column {
    let scalar_strings = values.iter().all(|v| match v {
        Value::Tensor(t) => t.dtype() == DType::String && t.shape().rank() == 0,
        _ => false,
    });
    if !scalar_strings || values.is_empty() {
        return Column::Varied(values);
    }
    let items = values.iter().filter_map(|v| v.tensor().ok()?.as_strings().first().cloned()).collect();
    Column::Uniform(Tensor::string_vector(items))
}

/// The inputs as whole columns, if the op can take them so: all columns dense and of one rank,
/// constants of no higher rank, since broadcasting aligns the last dimensions.
fn lifted(args: &[Lane]) -> Option<Vec<Value>> {
    let mut rank = None;
    for a in args {
        if let Lane::Column(c) = a {
            let Column::Uniform(t) = c else { return None };
            if rank.is_some_and(|r| r != t.shape().rank()) {
                return None;
            }
            rank = Some(t.shape().rank());
        }
    }
    let rank = rank? - 1;
    args.iter()
        .map(|a| match a {
            Lane::Column(Column::Uniform(t)) => Some(Value::Tensor(t.clone())),
            Lane::Const(Value::Tensor(t)) if t.shape().rank() <= rank => Some(Value::Tensor(t.clone())),
            _ => None,
        })
        .collect()
}

/// One call for the whole column; `None` if it failed and the elements must be tried one by one.
fn run_lifted(kernel: &dyn Kernel, cx: &mut OpCx<'_>, values: &[Value], n: usize, given: &mut [Option<RowsMut<'_>>]) -> Result<Option<BlockOut>> {
    let outs = given
        .iter_mut()
        .map(|g| {
            Ok(Out::new(match g {
                Some(rows) => Some((rows.dtype(), rows.row_shape().prepend(n)?, rows.bytes())),
                None => None,
            }))
        })
        .collect::<Result<Vec<_>>>()?;
    let mut outs = Outs::new(outs);
    if kernel.run(cx, values, &mut outs).is_err() {
        return Ok(None);
    }
    let columns = outs
        .finish()?
        .into_iter()
        .map(|v| match v {
            None => Ok(None),
            Some(Value::Tensor(t)) if t.dims().first() == Some(&n) => Ok(Some(Column::Uniform(t))),
            Some(other) => Err(Error::internal(format!("an elementwise op made {} of a column", other.spec()))),
        })
        .collect::<Result<Vec<_>>>()?;
    Ok(Some(BlockOut { columns, done: n, failed: None }))
}

fn one(kernel: &dyn Kernel, cx: &mut OpCx<'_>, inputs: &[Value], targets: &mut [Target<'_, '_>], i: usize, copied: &mut u64) -> Result<()> {
    let outs = targets
        .iter_mut()
        .map(|t| {
            Out::new(match t {
                Target::Given(rows) => Some((rows.dtype(), *rows.row_shape(), rows.row(i))),
                Target::Own { dtype, row, row_bytes, buffer } => {
                    Some((*dtype, *row, &mut buffer.as_mut_slice()[i * *row_bytes..(i + 1) * *row_bytes]))
                }
                Target::Values(_) => None,
            })
        })
        .collect();
    let mut outs = Outs::new(outs);
    kernel.run(cx, inputs, &mut outs)?;
    let made = outs.finish()?;
    for (target, value) in targets.iter_mut().zip(made) {
        let Some(value) = value else { continue };
        match target {
            Target::Values(v) => v.push(value),
            Target::Given(rows) => {
                let (dtype, row) = (rows.dtype(), *rows.row_shape());
                *copied += place(&value, dtype, &row, rows.row(i))?;
            }
            Target::Own { dtype, row, row_bytes, buffer } => {
                *copied += place(&value, *dtype, row, &mut buffer.as_mut_slice()[i * *row_bytes..(i + 1) * *row_bytes])?;
            }
        }
    }
    Ok(())
}

/// Copies a value into its row; gives the bytes copied.
fn place(value: &Value, dtype: DType, row: &Shape, to: &mut [u8]) -> Result<u64> {
    let t = value.tensor()?;
    if t.dtype() != dtype || t.shape() != row {
        return Err(Error::invalid(format!(
            "cannot add tensor to the batch: number of elements does not match. Shapes are: [tensor]: {}, [batch]: {row}",
            t.shape()
        ))
        .hint("resize or pad the elements to one shape before batch, or use padded_batch"));
    }
    to.copy_from_slice(t.bytes());
    Ok(to.len() as u64)
}

/// Copies a finished column into the rows given for it; gives the first element that does not fit.
fn fill(column: &Column, rows: &mut RowsMut<'_>, n: usize, copied: &mut u64) -> Option<(usize, Error)> {
    if let Column::Uniform(t) = column
        && t.dtype() == rows.dtype()
        && t.shape().row() == *rows.row_shape()
    {
        let bytes = t.bytes();
        rows.bytes()[..bytes.len()].copy_from_slice(bytes);
        *copied += bytes.len() as u64;
        return None;
    }
    for i in 0..n {
        let (dtype, row) = (rows.dtype(), *rows.row_shape());
        match place(&column.get(i), dtype, &row, rows.row(i)) {
            Ok(bytes) => *copied += bytes,
            Err(e) => return Some((i, e)),
        }
    }
    None
}
