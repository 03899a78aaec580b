//! `fuse_image_chain`: decode, crop, resize, mirror, arithmetic and cast of an image become one op.

use crate::attrs::{Attr, Attrs};
use crate::dataset::{Map, Op, Plan};
use crate::expr::{Graph, Node, OpNode, Ref};
use crate::op::{Class, OpDef};
use crate::optimize::Rule;
use crate::registry;
use gristmill_types::{DType, Result};
use std::sync::Arc;

/// A run of image ops, each read by the next alone, becomes `image.fused`, which carries them as its function. So only
/// the part of a photo that is read is decoded, and no image between two ops is ever written. Shapes of the decoded
/// image are taken from the header.
pub struct FuseImageChain;

impl Rule for FuseImageChain {
    fn name(&self) -> &'static str {
        "fuse_image_chain"
    }

    fn apply(&self, plan: &Plan) -> Result<Option<Plan>> {
        let Op::Map(map) = &plan.op else { return Ok(None) };
        if map.graph.is_foreign() {
            return Ok(None);
        }
        let Some(graph) = Self::rewrite(&map.graph) else { return Ok(None) };
        Plan::new(Map { graph: Arc::new(graph), ..map.clone() }, plan.inputs.clone()).map(Some)
    }
}

impl FuseImageChain {
    /// A function with its first chain fused; `None` where there is none.
    pub fn rewrite(graph: &Graph) -> Option<Graph> {
        let def = registry::lookup(FUSED).ok()?;
        let chains = (0..graph.nodes.len()).filter_map(|node| Chain::from(graph, node));
        // Where another op that draws stands between the ops of a chain, its place would change.
        chains.map(|chain| chain.fused(graph, def)).find(|fused| fused.impure_ops() == graph.impure_ops())
    }
}

/// The op that carries a chain.
const FUSED: &str = "image.fused";
/// The ops that a fused op stands for; `None` for any other op.
pub fn carried(op: &OpNode) -> Option<&Graph> {
    match op.attrs.get("graph") {
        Some(Attr::Graph(graph)) if op.def.name == FUSED => Some(graph),
        _ => None,
    }
}

/// Ops that give an image of encoded bytes.
pub(super) const DECODERS: &[&str] =
    &["io.decode_jpeg", "io.decode_and_crop_jpeg", "io.decode_png", "io.decode_image"];
/// Ops that keep a window of their first input.
const WINDOWS: &[&str] = &[
    "slice",
    "strided_slice",
    "image.crop_to_bounding_box",
    "image.central_crop",
    "image.resize_with_crop_or_pad",
    "random.random_crop",
    "random.stateless_random_crop",
];
const FLIPS: &[&str] = &[
    "image.flip_left_right",
    "image.flip_up_down",
    "image.random_flip_left_right",
    "image.random_flip_up_down",
    "image.stateless_random_flip_left_right",
    "image.stateless_random_flip_up_down",
];
const ARITHMETIC: &[&str] = &["math.add", "math.subtract", "math.multiply", "math.truediv"];
const RESIZE: &str = "image.resize";

/// How far a chain has come.
#[derive(Clone, Copy, Default)]
struct Progress {
    resized: bool,
    /// Mirrored since the resize, or since the start: then no window may follow.
    mirrored: bool,
    /// Floats were cut to uint8: then only moving may follow.
    cut: bool,
}

/// Nodes that follow each other.
struct Chain {
    nodes: Vec<usize>,
    /// `shape` ops that read the decoded image.
    shapes: Vec<usize>,
}

fn op_at(graph: &Graph, node: usize) -> Option<&OpNode> {
    match &graph.nodes[node] {
        Node::Op(op) => Some(op),
        _ => None,
    }
}

impl Chain {
    /// The longest chain that begins with that node, if it is worth it.
    fn from(graph: &Graph, head: usize) -> Option<Self> {
        let op = op_at(graph, head)?;
        let decodes = DECODERS.contains(&op.def.name);
        let mut progress = Progress::default();
        if !decodes {
            let fits =
                op.def.name == RESIZE && matches!(graph.spec(op.inputs[0]).dtype(), DType::U8 | DType::F32);
            if !fits || !progress.add(graph, op, op.inputs[0]) {
                return None;
            }
        }
        if op.specs[0].dtype() != DType::U8 && decodes {
            return None;
        }
        let mut chain = Self { nodes: vec![head], shapes: Vec::new() };
        loop {
            let last = chain.nodes[chain.nodes.len() - 1];
            let Some(next) = chain.next(graph, last, decodes) else { break };
            let op = op_at(graph, next)?;
            if !progress.add(graph, op, Ref { node: last, output: 0 }) {
                break;
            }
            chain.nodes.push(next);
        }
        let last = chain.nodes[chain.nodes.len() - 1];
        let acts = |node: usize| op_at(graph, node).is_some_and(|op| op.def.class == Class::Effect);
        (chain.nodes.len() > 1 && !(head..last).any(acts)).then_some(chain)
    }

    /// The one op that reads node `last`, besides `shape` ops on a decoded image, which are kept apart.
    fn next(&mut self, graph: &Graph, last: usize, decodes: bool) -> Option<usize> {
        if graph.outputs.iter().any(|r| r.node == last) {
            return None;
        }
        let mut readers = Vec::new();
        for (node, op) in graph.nodes.iter().enumerate().filter_map(|(i, _)| Some((i, op_at(graph, i)?))) {
            let reads = op.inputs.iter().filter(|r| r.node == last).count();
            if reads == 0 {
                continue;
            }
            if decodes && self.nodes.len() == 1 && op.def.name == "shape" {
                self.shapes.push(node);
            } else {
                readers.extend(std::iter::repeat_n(node, reads));
            }
        }
        match readers.as_slice() {
            [one] => Some(*one),
            _ => None,
        }
    }

    /// The graph with the chain as one op in the place of its last.
    fn fused(&self, graph: &Graph, def: &'static OpDef) -> Graph {
        let (head, last) = (self.nodes[0], self.nodes[self.nodes.len() - 1]);
        let mut out = Graph { nodes: Vec::new(), ..graph.clone() };
        let mut place = vec![usize::MAX; graph.nodes.len()];
        for (node, old) in graph.nodes.iter().enumerate() {
            let chain: &[usize] = if node == last {
                &self.nodes
            } else if self.shapes.contains(&node) {
                &[head, node]
            } else if self.nodes.contains(&node) {
                continue;
            } else {
                &[]
            };
            let mut made = if chain.is_empty() { old.clone() } else { Node::Op(carrier(graph, chain, def)) };
            if let Node::Op(op) = &mut made {
                op.inputs.iter_mut().for_each(|r| r.node = place[r.node]);
            }
            place[node] = out.nodes.len();
            out.nodes.push(made);
        }
        out.outputs = graph.outputs.iter().map(|r| Ref { node: place[r.node], output: r.output }).collect();
        out
    }
}

/// The op that carries these nodes; its inputs are nodes of the graph as it was.
fn carrier(graph: &Graph, chain: &[usize], def: &'static OpDef) -> OpNode {
    let mut inner = Graph::default();
    let mut known: Vec<(Ref, Ref)> = Vec::new();
    let mut inputs = Vec::new();
    let links = || chain.iter().filter_map(|&node| op_at(graph, node));
    // What is read from outside first, so that the nodes of the function are in order.
    for r in links().flat_map(|op| &op.inputs) {
        if chain.contains(&r.node) || known.iter().any(|(from, _)| from == r) {
            continue;
        }
        let node = match &graph.nodes[r.node] {
            Node::Const(v) => Node::Const(v.clone()),
            _ => {
                inputs.push(*r);
                inner.captures.push(graph.spec(*r));
                Node::Capture(inputs.len() - 1)
            }
        };
        known.push((*r, Ref { node: inner.nodes.len(), output: 0 }));
        inner.nodes.push(node);
    }
    let mut specs = Vec::new();
    for (&node, op) in chain.iter().zip(links()) {
        let at = |r: &Ref| known.iter().find(|(from, _)| from == r).map_or(*r, |(_, to)| *to);
        let op = OpNode { inputs: op.inputs.iter().map(at).collect(), ..op.clone() };
        specs.clone_from(&op.specs);
        known.push((Ref { node, output: 0 }, Ref { node: inner.nodes.len(), output: 0 }));
        inner.outputs = vec![Ref { node: inner.nodes.len(), output: 0 }];
        inner.nodes.push(Node::Op(op));
    }
    let attrs = Attrs::default().with("graph", Attr::Graph(Arc::new(inner)));
    OpNode { def, attrs, inputs, specs, op_id: 0, site: None }
}

impl Progress {
    /// Takes an op that works on `image` into the chain; false where it does not fit.
    fn add(&mut self, graph: &Graph, op: &OpNode, image: Ref) -> bool {
        let name = op.def.name;
        let (spec, first) = (graph.spec(image), op.inputs.first() == Some(&image));
        let dtype = spec.dtype();
        if !spec.is_dense() || spec.shape().rank().is_some_and(|rank| rank != 3) || op.specs.len() != 1 {
            return false;
        }
        if name == RESIZE {
            let nearest = op.attrs.str_or("method", String::new()).is_ok_and(|m| m == "nearest");
            let fits = first && !self.resized && !self.cut && !nearest;
            (self.resized, self.mirrored) = (true, false);
            return fits && matches!(dtype, DType::U8 | DType::F32 | DType::F16 | DType::BF16);
        }
        if WINDOWS.contains(&name) {
            let rank = op.specs[0].shape().rank();
            return first && !self.mirrored && rank.is_none_or(|rank| rank == 3);
        }
        if FLIPS.contains(&name) {
            self.mirrored = true;
            return first;
        }
        if ARITHMETIC.contains(&name) {
            let other = op.inputs[usize::from(first)];
            return dtype.is_float() && dtype != DType::F64 && keeps_shape(graph, other);
        }
        if name == "cast" || name == "image.convert_image_dtype" {
            let to = op.specs[0].dtype();
            let cuts = dtype != DType::U8 && to == DType::U8;
            let fits = to == DType::U8 || matches!(to, DType::F32 | DType::F16 | DType::BF16);
            let fits = fits && !self.cut && !(cuts && name != "cast");
            self.cut |= cuts;
            return fits;
        }
        false
    }
}

/// Whether an operand is one number, or one a channel.
fn keeps_shape(graph: &Graph, operand: Ref) -> bool {
    let spec = graph.spec(operand);
    match spec.shape().dims() {
        None => false,
        Some(dims) => match dims.split_last() {
            None => true,
            Some((last, leading)) => {
                leading.len() < 3 && leading.iter().all(|d| *d == Some(1)) && last.is_some_and(|n| n <= 4)
            }
        },
    }
}
