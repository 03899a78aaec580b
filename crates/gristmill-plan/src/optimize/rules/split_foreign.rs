//! `split_foreign`: what a map does before and after it calls functions outside the engine gets maps of its own.

use crate::dataset::{Map, Op, Plan};
use crate::expr::graph::nested;
use crate::expr::{Graph, Node, OpNode, Ref};
use crate::op::Class;
use crate::optimize::Rule;
use gristmill_types::{Result, Structure};
use std::collections::HashMap;
use std::sync::Arc;

/// A map whose function calls one outside the engine works under an interpreter's lock, an element at a time.
/// The ops before its first call and those after its last one need not: as maps of their own they run in the
/// engine's threads, over whole blocks, and other rules find them there. The order of the ops stays, so that
/// nothing is called for an element that failed before.
pub struct SplitForeign;

impl Rule for SplitForeign {
    fn name(&self) -> &'static str {
        "split_foreign"
    }

    fn grows(&self) -> u64 {
        2
    }

    fn apply(&self, plan: &Plan) -> Result<Option<Plan>> {
        let Op::Map(map) = &plan.op else { return Ok(None) };
        let graph = &map.graph;
        let calls: Vec<usize> = ops(graph).filter(|(_, op)| is_foreign(op)).map(|(i, _)| i).collect();
        let (Some(&first), Some(&last)) = (calls.first(), calls.last()) else { return Ok(None) };
        let before = ops(graph).any(|(i, _)| i < first);
        let after = ops(graph).any(|(i, _)| i > last);
        if !before && !after {
            return Ok(None);
        }
        let mut known: Vec<Ref> = leaves(graph);
        let mut out = plan.inputs[0].clone();
        let cuts = [before.then_some(first), after.then_some(last + 1), Some(graph.nodes.len())];
        let mut start = 0;
        for end in cuts.into_iter().flatten() {
            let whole = end == graph.nodes.len();
            let wanted = if whole { graph.outputs.clone() } else { crossing(graph, end) };
            let part = part(graph, start..end, &known, &wanted);
            let structure = if whole {
                map.structure.clone()
            } else {
                Structure::Tuple((0..wanted.len()).map(Structure::Leaf).collect())
            };
            out = out.then(Map { graph: Arc::new(part), structure, ..map.clone() })?;
            (known, start) = (wanted, end);
        }
        Ok(Some(out))
    }
}

fn ops(graph: &Graph) -> impl Iterator<Item = (usize, &OpNode)> {
    graph.nodes.iter().enumerate().filter_map(|(i, node)| match node {
        Node::Op(op) => Some((i, op)),
        _ => None,
    })
}

fn is_foreign(op: &OpNode) -> bool {
    op.def.class == Class::Foreign || nested(op).any(|g| g.is_foreign())
}

/// The components of the element, in their order.
fn leaves(graph: &Graph) -> Vec<Ref> {
    let place = |k: usize| graph.nodes.iter().position(|n| matches!(n, Node::Input(i) if *i == k));
    // A component that the function never names has no node; nobody refers to it either.
    (0..graph.inputs.len()).map(|k| Ref { node: place(k).unwrap_or(usize::MAX), output: 0 }).collect()
}

/// The values made before a node that it or a later one reads: those of ops, and components of the element.
fn crossing(graph: &Graph, at: usize) -> Vec<Ref> {
    let later = ops(graph).filter(|(i, _)| *i >= at).flat_map(|(_, op)| op.inputs.iter());
    let mut found: Vec<Ref> = later
        .chain(&graph.outputs)
        .filter(|r| match &graph.nodes[r.node] {
            Node::Input(_) => true,
            Node::Op(_) => r.node < at,
            Node::Const(_) | Node::Capture(_) => false,
        })
        .copied()
        .collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// The ops of a range of nodes as a function of the values `known`, giving those `wanted`.
fn part(graph: &Graph, range: std::ops::Range<usize>, known: &[Ref], wanted: &[Ref]) -> Graph {
    let spec = |k: usize, r: &Ref| {
        graph.nodes.get(r.node).map_or_else(|| graph.inputs[k].clone(), |_| graph.spec(*r))
    };
    let mut out = Graph {
        inputs: known.iter().enumerate().map(|(k, r)| spec(k, r)).collect(),
        captures: graph.captures.clone(),
        nodes: (0..known.len()).map(Node::Input).collect(),
        outputs: Vec::new(),
    };
    let mut place: HashMap<Ref, Ref> =
        known.iter().enumerate().map(|(k, r)| (*r, Ref { node: k, output: 0 })).collect();
    for (i, node) in graph.nodes.iter().enumerate() {
        let made = match node {
            // Constants and captures are cheap to have in each part.
            Node::Const(_) | Node::Capture(_) => node.clone(),
            Node::Op(op) if range.contains(&i) => {
                let inputs = op.inputs.iter().map(|r| place[r]).collect();
                Node::Op(OpNode { inputs, ..op.clone() })
            }
            Node::Op(_) | Node::Input(_) => continue,
        };
        let outputs = match &made {
            Node::Op(op) => op.specs.len(),
            _ => 1,
        };
        for output in 0..outputs {
            place.insert(Ref { node: i, output }, Ref { node: out.nodes.len(), output });
        }
        out.nodes.push(made);
    }
    out.outputs = wanted.iter().map(|r| place[r]).collect();
    out
}
