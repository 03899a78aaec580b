//! `scale_image_decode`: photos that are resized may be decoded smaller.

use super::carried;
use super::fuse_image_chain::DECODERS;
use crate::attrs::Attr;
use crate::dataset::{Cache, Map, Op, Plan};
use crate::expr::{Graph, Node, OpNode};
use crate::optimize::Rule;
use gristmill_types::Result;
use std::sync::Arc;

/// The attribute of `image.fused` that permits it.
pub const REDUCED: &str = "reduced";

/// Marks each `image.fused` that decodes and then resizes bilinearly. Its kernel then decodes a photo at an eighth where
/// that still has the pixels that the result needs, and resizes with antialiasing. This changes values, so the rule runs
/// only under the option `fast_images`, and a cache of such elements is another one than that of exact elements.
pub struct ScaleImageDecode;

impl Rule for ScaleImageDecode {
    fn name(&self) -> &'static str {
        "scale_image_decode"
    }

    fn apply(&self, plan: &Plan) -> Result<Option<Plan>> {
        let inputs = plan.inputs.clone();
        match &plan.op {
            Op::Map(map) => {
                let Some(graph) = Self::rewrite(&map.graph) else { return Ok(None) };
                Plan::new(Map { graph: Arc::new(graph), ..map.clone() }, inputs).map(Some)
            }
            Op::Cache(cache) if !cache.slot.is_reduced() && is_marked(plan) => {
                Plan::new(Cache { slot: cache.slot.reduced() }, inputs).map(Some)
            }
            _ => Ok(None),
        }
    }
}

impl ScaleImageDecode {
    /// A function with its first chain marked; `None` where there is none.
    pub fn rewrite(graph: &Graph) -> Option<Graph> {
        let node = graph.nodes.iter().position(|node| matches!(node, Node::Op(op) if fits(op)))?;
        let mut out = graph.clone();
        if let Node::Op(op) = &mut out.nodes[node] {
            op.attrs = std::mem::take(&mut op.attrs).with(REDUCED, Attr::Bool(true));
        }
        Some(out)
    }
}

/// Whether a function anywhere in a plan is marked.
fn is_marked(plan: &Plan) -> bool {
    let marked = |node: &Node| matches!(node, Node::Op(op) if op.attrs.get(REDUCED).is_some());
    let mut found = false;
    plan.walk(&mut |p| {
        found |= matches!(&p.op, Op::Map(map) if map.graph.nodes.iter().any(marked));
        found |= p.template().is_some_and(|template| is_marked(&template.plan));
    });
    found
}

fn fits(op: &OpNode) -> bool {
    let Some(chain) = carried(op).filter(|_| op.attrs.get(REDUCED).is_none()) else { return false };
    let whole = |op: &OpNode| op.attrs.int_or("ratio", 1).is_ok_and(|ratio| ratio == 1);
    chain.ops().next().is_some_and(|op| DECODERS.contains(&op.def.name) && whole(op))
        && chain.ops().any(|op| op.def.name == "image.resize" && is_bilinear(op))
}

fn is_bilinear(op: &OpNode) -> bool {
    op.attrs.str_or("method", "bilinear".into()).is_ok_and(|m| m == "bilinear")
}
