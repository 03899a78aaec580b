//! Symbolic order: which elements come, and in which sequence, apart from their values.

use crate::dataset::{Op, Plan, Transformation};
use crate::expr::Graph;
use crate::optimize::rules::carried;
use std::sync::Arc;

/// What is known of a plan's order without running it. Rules must leave it equal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// A source; the number is its place among the sources.
    Source(usize),
    /// A shuffle, by the identity of its counter and its buffer.
    Permute(usize, String, Box<Self>),
    /// Something that drops or counts elements, by name, numbers and the functions below it that
    /// may fail: an error is an outcome that take, skip and ignore_errors treat apart.
    Drop(String, Vec<u64>, Box<Self>),
    /// Groups or splits elements.
    Group(String, Box<Self>),
    /// Several inputs.
    Join(String, Vec<Self>),
}

/// The order of a plan.
pub fn order(plan: &Plan) -> Order {
    walk(plan, &mut 0)
}

fn walk(plan: &Plan, sources: &mut usize) -> Order {
    if plan.inputs.is_empty() {
        *sources += 1;
        return Order::Source(*sources);
    }
    let label = || format!("{}({})", plan.op.name(), plan.op.describe());
    if plan.inputs.len() > 1 {
        return Order::Join(label(), plan.inputs.iter().map(|p| walk(p, sources)).collect());
    }
    let inner = Box::new(walk(&plan.inputs[0], sources));
    match &plan.op {
        Op::Map(_) | Op::Prefetch(_) | Op::WithOptions(_) | Op::Enumerate(_) => *inner,
        Op::MapBatch(op) => Order::Group(format!("batch({})", op.batch.describe()), inner),
        Op::Shuffle(s) => Order::Permute(Arc::as_ptr(&s.counter) as usize, s.buffer.to_string(), inner),
        Op::Filter(f) => Order::Drop("filter".into(), f.graph.ops().map(|op| op.op_id).collect(), inner),
        Op::Take(t) if matches!(t.count.known_int(), Ok(Some(n)) if n < 0) => *inner,
        Op::Skip(s) if matches!(s.count.known_int(), Ok(Some(0))) => *inner,
        Op::Shard(s) if s.count == 1 => *inner,
        Op::Take(_) | Op::Skip(_) | Op::IgnoreErrors(_) | Op::Shard(_) => {
            Order::Drop(label(), fallible(&plan.inputs[0]), inner)
        }
        _ => Order::Group(label(), inner),
    }
}

/// Numbers of the ops below, in the same chain, that may fail, sorted: which of several ops of one function stands
/// first does not matter to an element.
fn fallible(plan: &Plan) -> Vec<u64> {
    let mut out = Vec::new();
    let mut at = plan;
    loop {
        match &at.op {
            Op::Map(m) => fallible_ops(&m.graph, &mut out),
            Op::MapBatch(m) => fallible_ops(&m.map.graph, &mut out),
            Op::Filter(f) => fallible_ops(&f.graph, &mut out),
            _ => {}
        }
        match at.inputs.as_slice() {
            [input] => at = input,
            _ => break,
        }
    }
    out.sort_unstable();
    out.dedup();
    out
}

fn fallible_ops(graph: &Graph, out: &mut Vec<u64>) {
    for op in graph.ops().filter(|op| !op.def.total) {
        match carried(op) {
            Some(ops) => fallible_ops(ops, out),
            None => out.push(op.op_id),
        }
    }
}
