//! `split_foreign`: what a map does before and after it calls functions outside the engine gets maps of its own.

use crate::dataset::{Map, Op, Plan};
use crate::expr::graph::nested;
use crate::expr::{Graph, Node, OpNode, Ref};
use crate::op::Class;
use crate::optimize::Rule;
use gristmill_types::{Result, Structure};
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
        let mut known = graph.leaves();
        let mut out = plan.inputs[0].clone();
        let cuts = [before.then_some(first), after.then_some(last + 1), Some(graph.nodes.len())];
        let mut start = 0;
        for end in cuts.into_iter().flatten() {
            let whole = end == graph.nodes.len();
            let passed = graph.crossing(|i| i >= end && !matches!(graph.nodes[i], Node::Input(_)));
            let wanted: Vec<Ref> =
                if whole { graph.outputs.clone() } else { passed.iter().map(|(r, _)| *r).collect() };
            let part = graph.part(|i| (start..end).contains(&i), &known, wanted);
            let structure = if whole {
                map.structure.clone()
            } else {
                Structure::Tuple((0..passed.len()).map(Structure::Leaf).collect())
            };
            out = out.then(Map { graph: Arc::new(part), structure, ..map.clone() })?;
            (known, start) = (passed, end);
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
