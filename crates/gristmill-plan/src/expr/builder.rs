//! Making a graph, one op call at a time.

use super::{Graph, Node, OpNode, Ref};
use crate::attrs::Attrs;
use crate::op::{Arg, OpDef};
use gristmill_types::{Error, Frame, Result, Spec, Value};
use std::sync::Arc;

/// A graph under construction. Specs are inferred at each call, so that a wrong shape or dtype is
/// an error at the user's line, before any element exists.
#[derive(Debug, Default)]
pub struct GraphBuilder {
    graph: Graph,
}

impl GraphBuilder {
    /// A graph whose element has these components.
    pub fn new(inputs: Vec<Spec>) -> Self {
        let nodes = (0..inputs.len()).map(Node::Input).collect();
        Self { graph: Graph { inputs, nodes, ..Graph::default() } }
    }

    /// Component `i` of the element.
    pub fn input(&self, i: usize) -> Ref {
        Ref { node: i, output: 0 }
    }

    /// A constant.
    pub fn constant(&mut self, value: impl Into<Value>) -> Ref {
        self.push(Node::Const(value.into()))
    }

    /// A tensor of an outer function; captures are numbered in the order of these calls.
    pub fn capture(&mut self, spec: Spec) -> Ref {
        self.graph.captures.push(spec);
        self.push(Node::Capture(self.graph.captures.len() - 1))
    }

    fn push(&mut self, node: Node) -> Ref {
        self.graph.nodes.push(node);
        Ref { node: self.graph.nodes.len() - 1, output: 0 }
    }

    /// What is known of a node's output.
    pub fn spec(&self, r: Ref) -> Spec {
        self.graph.spec(r)
    }

    /// Calls an op; gives its outputs.
    ///
    /// # Errors
    /// What the op's inference refuses, with the op and the place of the call.
    pub fn call(
        &mut self,
        def: &'static OpDef,
        inputs: &[Ref],
        attrs: Attrs,
        site: Option<Arc<str>>,
    ) -> Result<Vec<Ref>> {
        let place = |e: Error| {
            e.frame(Frame::Op { name: def.name.to_string(), site: site.as_ref().map(ToString::to_string) })
        };
        def.check_call(inputs.len(), &attrs).map_err(place)?;
        let args: Vec<Arg> = inputs
            .iter()
            .map(|&r| Arg {
                spec: self.graph.spec(r),
                value: match &self.graph.nodes[r.node] {
                    Node::Const(v) => Some(v.clone()),
                    _ => None,
                },
            })
            .collect();
        let specs = (def.infer)(&args, &attrs).map_err(place)?;
        let n = specs.len();
        let node = Node::Op(OpNode { def, attrs, inputs: inputs.to_vec(), specs, op_id: 0, site });
        let first = self.push(node);
        Ok((0..n).map(|output| Ref { node: first.node, output }).collect())
    }

    /// The finished graph.
    #[must_use]
    pub fn finish(mut self, outputs: Vec<Ref>) -> Graph {
        self.graph.outputs = outputs;
        self.graph
    }
}
