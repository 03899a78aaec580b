//! Running a graph over blocks of elements.

use super::column::{Target, fill, lifted, one, own_rows, run_lifted, strings_or_varied};
use super::{Graph, Node, OpNode, Ref};
use crate::op::{Arg, BlockOut, Draw, Kernel, Lane, OpCx, Scratch, run_one};
use gristmill_types::batch::RowsMut;
use gristmill_types::{Buffer, Column, Error, Frame, Ids, Result, Tensor, Value};
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
                    let v =
                        captures.get(*k).ok_or_else(|| Error::internal("a captured tensor has no value"))?;
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
                        let mut cx =
                            OpCx { scratch: &mut scratch, draw: Draw::Eager { entropy: 0 }, op_id: 0 };
                        // A constant part that fails does so when an element asks for it.
                        constants[i] = run_one(&*kernel, &mut cx, &values, op.specs.len()).ok();
                    }
                    if constants[i].is_none() {
                        steps.push(Step {
                            node: i,
                            kernel,
                            drops: Vec::new(),
                            serves: vec![None; op.specs.len()],
                        });
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
    pub fn run(
        &self,
        run: &mut Run<'_>,
        inputs: &[Column],
        n: usize,
        ids: &Ids,
        rows: &mut [Option<RowsMut<'_>>],
    ) -> Result<BlockOut> {
        // What ops make; a function without ops gives what it was given and needs no memory for it.
        let ops = if self.steps.is_empty() { 0 } else { self.graph.nodes.len() };
        let mut lanes: Vec<Option<Vec<Lane>>> = (0..ops).map(|_| None).collect();
        let (mut done, mut failed) = (n, None);
        let mut written = vec![false; rows.len()];
        for step in &self.steps {
            let op = self.op(step);
            let args: Vec<Lane> =
                op.inputs.iter().map(|r| self.lane(&lanes, inputs, *r, done)).collect::<Result<_>>()?;
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
            if written.get(k).is_some_and(|w| *w) {
                columns.push(None);
                continue;
            }
            let column = match self.lane(&lanes, inputs, r, done)? {
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

    /// The lane of a node's output, cut to the elements that are still alive.
    fn lane(&self, lanes: &[Option<Vec<Lane>>], inputs: &[Column], r: Ref, n: usize) -> Result<Lane> {
        let cut = |c: &Column| Lane::Column(if c.len() > n { c.slice(0, n) } else { c.clone() });
        if let Node::Input(k) = &self.graph.nodes[r.node] {
            return Ok(cut(&inputs[*k]));
        }
        if let Some(values) = &self.constants[r.node] {
            return Ok(Lane::Const(values[r.output].clone()));
        }
        match lanes[r.node].as_ref().and_then(|v| v.get(r.output)) {
            Some(Lane::Column(c)) => Ok(cut(c)),
            Some(Lane::Const(v)) => Ok(Lane::Const(v.clone())),
            None => Err(Error::internal("a value was read after it was dropped")),
        }
    }

    fn step(
        &self,
        run: &mut Run<'_>,
        step: &Step,
        op: &OpNode,
        args: &[Lane],
        n: usize,
        ids: &Ids,
        given: &mut [Option<RowsMut<'_>>],
    ) -> Result<BlockOut> {
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
}

fn ids_key(ids: &Ids, i: usize, n: usize) -> gristmill_types::Key {
    if n == 0 { gristmill_types::Key::default() } else { ids.key(i) }
}

pub(super) fn placed(e: Error, op: &OpNode) -> Error {
    // An op that the optimiser made of several has no place in the user's program; that of the failing one is known.
    if op.site.is_none() && e.context().iter().any(|f| matches!(f, Frame::Op { .. })) {
        return e;
    }
    e.frame(Frame::Op { name: op.def.name.to_string(), site: op.site.as_ref().map(ToString::to_string) })
}
