//! `scale_image_decode`: photos that are resized may be decoded smaller.

use super::carried;
use crate::attrs::Attr;
use crate::dataset::{Map, Op, Plan};
use crate::expr::{Graph, Node, OpNode};
use crate::optimize::Rule;
use gristmill_types::Result;
use std::sync::Arc;

/// The attribute of `image.fused` that permits it.
pub const REDUCED: &str = "reduced";

/// Marks each `image.fused` that decodes and then resizes bilinearly without antialiasing. Its kernel then decodes a
/// photo at an eighth where that still has the pixels that the result needs, and resizes with antialiasing. This changes values, so the rule runs only under the option `fast_images`.
pub struct ScaleImageDecode;

impl Rule for ScaleImageDecode {
    fn name(&self) -> &'static str {
        "scale_image_decode"
    }

    fn apply(&self, plan: &Plan) -> Result<Option<Plan>> {
        let Op::Map(map) = &plan.op else { return Ok(None) };
        let Some(graph) = Self::rewrite(&map.graph) else { return Ok(None) };
        Plan::new(Map { graph: Arc::new(graph), ..map.clone() }, plan.inputs.clone()).map(Some)
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

/// Ops that give an image of a JPEG, where it is not made smaller already.
const DECODERS: &[&str] = &["io.decode_jpeg", "io.decode_and_crop_jpeg", "io.decode_png", "io.decode_image"];

fn fits(op: &OpNode) -> bool {
    let Some(chain) = carried(op).filter(|_| op.attrs.get(REDUCED).is_none()) else { return false };
    let whole = |op: &OpNode| op.attrs.int_or("ratio", 1).is_ok_and(|ratio| ratio == 1);
    chain.ops().next().is_some_and(|op| DECODERS.contains(&op.def.name) && whole(op))
        && chain.ops().any(|op| op.def.name == "image.resize" && is_plain(op))
}

/// Bilinear without antialiasing.
fn is_plain(op: &OpNode) -> bool {
    let bilinear = op.attrs.str_or("method", "bilinear".into()).is_ok_and(|m| m == "bilinear");
    bilinear && op.attrs.bool_or("antialias", false).is_ok_and(|antialias| !antialias)
}
