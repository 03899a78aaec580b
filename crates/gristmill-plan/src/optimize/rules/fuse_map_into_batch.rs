//! `fuse_map_into_batch`: a map writes straight into the batch above it.

use crate::dataset::{MapBatch, Op, Plan};
use crate::optimize::Rule;
use gristmill_types::Result;

/// `map(f).batch(n)` becomes one stage whose workers write into the slots of the batch. Functions of
/// elementwise ops only stay apart: their columns are batched without a copy anyway.
pub struct FuseMapIntoBatch;

impl Rule for FuseMapIntoBatch {
    fn name(&self) -> &'static str {
        "fuse_map_into_batch"
    }

    fn apply(&self, plan: &Plan) -> Result<Option<Plan>> {
        let Op::Batch(batch) = &plan.op else { return Ok(None) };
        let input = &plan.inputs[0];
        let Op::Map(map) = &input.op else { return Ok(None) };
        if map.graph.is_foreign() || map.graph.all_ops(&|op| op.def.elementwise) {
            return Ok(None);
        }
        let fused = MapBatch { map: map.clone(), batch: batch.clone() };
        Plan::new(fused, input.inputs.clone()).map(Some)
    }
}
