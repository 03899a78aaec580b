//! The graph itself: nodes in topological order.

use crate::attrs::{Attr, Attrs};
use crate::foreign::Foreign;
use crate::op::{Class, OpDef};
use gristmill_types::{Spec, Value};
use std::sync::Arc;

/// An output of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ref {
    /// Position of the node.
    pub node: usize,
    /// Which of its outputs.
    pub output: usize,
}

/// An op in a graph.
#[derive(Clone, Debug)]
pub struct OpNode {
    /// The op.
    pub def: &'static OpDef,
    /// What it was told.
    pub attrs: Attrs,
    /// Its tensors.
    pub inputs: Vec<Ref>,
    /// What it gives.
    pub specs: Vec<Spec>,
    /// Number in the plan as the user wrote it; set when the graph enters a plan.
    pub op_id: u64,
    /// `file.py:41`, where the user called it.
    pub site: Option<Arc<str>>,
}

impl OpNode {
    /// Whether neither the op nor a function that it carries draws or acts.
    pub fn is_pure(&self) -> bool {
        self.def.class == Class::Pure && nested(self).all(|g| g.is_pure())
    }

    /// Whether neither the op nor a function that it carries can fail.
    pub fn is_total(&self) -> bool {
        self.def.total && nested(self).all(|g| g.is_total())
    }
}

/// A node of a graph.
#[derive(Clone, Debug)]
pub enum Node {
    /// Component `i` of the element.
    Input(usize),
    /// Captured tensor `i` of an outer function.
    Capture(usize),
    /// A constant.
    Const(Value),
    /// An op.
    Op(OpNode),
}

/// A traced function: components of an element in, components of another out.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// What the element's components are.
    pub inputs: Vec<Spec>,
    /// What tensors captured from outer functions are.
    pub captures: Vec<Spec>,
    /// Nodes; every node refers to earlier ones only.
    pub nodes: Vec<Node>,
    /// What is returned.
    pub outputs: Vec<Ref>,
}

impl Graph {
    /// What is known of a node's output.
    pub fn spec(&self, r: Ref) -> Spec {
        match &self.nodes[r.node] {
            Node::Input(i) => self.inputs[*i].clone(),
            Node::Capture(i) => self.captures[*i].clone(),
            Node::Const(v) => v.spec(),
            Node::Op(op) => op.specs[r.output].clone(),
        }
    }

    /// What is known of the outputs.
    pub fn output_specs(&self) -> Vec<Spec> {
        self.outputs.iter().map(|&r| self.spec(r)).collect()
    }

    /// The ops, nested functions' not included.
    pub fn ops(&self) -> impl Iterator<Item = &OpNode> {
        self.nodes.iter().filter_map(|n| match n {
            Node::Op(op) => Some(op),
            _ => None,
        })
    }

    /// Number of ops, nested functions' included.
    pub fn op_count(&self) -> usize {
        self.ops().map(|op| 1 + nested(op).map(|g| g.op_count()).sum::<usize>()).sum()
    }

    /// Whether every op is of that kind, nested functions included.
    pub fn all_ops(&self, test: &impl Fn(&OpNode) -> bool) -> bool {
        self.ops().all(|op| test(op) && nested(op).all(|g| g.all_ops(test)))
    }

    /// Whether no element can fail.
    pub fn is_total(&self) -> bool {
        self.all_ops(&|op| op.def.total)
    }

    /// Whether no op draws or acts.
    pub fn is_pure(&self) -> bool {
        self.ops().all(OpNode::is_pure)
    }

    /// Name of the first op that calls a function outside the engine, and that function; nested functions
    /// included.
    pub fn foreign(&self) -> Option<(&'static str, &Arc<dyn Foreign>)> {
        self.ops().find_map(|op| {
            let own = op.attrs.iter().find_map(|(_, a)| match a {
                Attr::Foreign(function) => Some((op.def.name, function)),
                _ => None,
            });
            own.or_else(|| nested(op).find_map(|g| g.foreign()))
        })
    }

    /// Whether an op calls a function outside the engine.
    pub fn is_foreign(&self) -> bool {
        self.foreign().is_some()
    }

    /// Number and class of every op that draws or acts, nested functions included, in order.
    pub fn impure_ops(&self) -> Vec<(u64, &'static str)> {
        let mut out = Vec::new();
        for op in self.ops() {
            if op.def.class != Class::Pure {
                out.push((op.op_id, op.def.name));
            }
            for g in nested(op) {
                out.extend(g.impure_ops());
            }
        }
        out
    }

    /// The graph with numbered ops: `base` tells this graph's place in the plan apart.
    #[must_use]
    pub fn numbered(&self, base: u64) -> Self {
        let mut out = self.clone();
        for (i, node) in out.nodes.iter_mut().enumerate() {
            if let Node::Op(op) = node {
                op.op_id = base.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(i as u64 + 1);
                let id = op.op_id;
                let entries = op.attrs.iter().map(|(name, attr)| {
                    let attr = match attr {
                        Attr::Graph(g) => Attr::Graph(Arc::new(g.numbered(id))),
                        other => other.clone(),
                    };
                    (name.to_string(), attr)
                });
                op.attrs = Attrs::new(entries.collect());
            }
        }
        out
    }

    /// One graph that runs `self`, then `next` on its outputs. Captures of both are kept, `self`'s
    /// first. Op numbers stay.
    #[must_use]
    pub fn then(&self, next: &Self) -> Self {
        let mut out = self.clone();
        out.captures.extend(next.captures.iter().cloned());
        let mut place: Vec<Option<usize>> = Vec::with_capacity(next.nodes.len());
        let at = |place: &[Option<usize>], r: Ref, next: &Self, first: &Self| match &next.nodes[r.node] {
            Node::Input(i) => first.outputs[*i],
            _ => Ref { node: place[r.node].expect("nodes refer to earlier ones"), output: r.output },
        };
        for node in &next.nodes {
            let made = match node {
                Node::Input(_) => None,
                Node::Capture(i) => Some(Node::Capture(self.captures.len() + i)),
                Node::Const(v) => Some(Node::Const(v.clone())),
                Node::Op(op) => {
                    let inputs = op.inputs.iter().map(|&r| at(&place, r, next, self)).collect();
                    Some(Node::Op(OpNode { inputs, ..op.clone() }))
                }
            };
            place.push(made.is_some().then_some(out.nodes.len()));
            out.nodes.extend(made);
        }
        out.outputs = next.outputs.iter().map(|&r| at(&place, r, next, self)).collect();
        out
    }
}

/// The functions that an op carries (`cond`).
pub(crate) fn nested(op: &OpNode) -> impl Iterator<Item = &Arc<Graph>> {
    op.attrs.iter().filter_map(|(_, a)| match a {
        Attr::Graph(g) => Some(g),
        _ => None,
    })
}
