//! `fuse_maps`: neighbouring maps become one, so that an element goes through both at once.

use crate::dataset::{Map, Op, Operand, Plan};
use crate::optimize::Rule;
use gristmill_types::Result;
use std::sync::Arc;

/// `map(f).map(g)` becomes `map(g ∘ f)`.
pub struct FuseMaps;

impl Rule for FuseMaps {
    fn name(&self) -> &'static str {
        "fuse_maps"
    }

    fn apply(&self, plan: &Plan) -> Result<Option<Plan>> {
        let Op::Map(outer) = &plan.op else { return Ok(None) };
        let input = &plan.inputs[0];
        let Op::Map(inner) = &input.op else { return Ok(None) };
        if inner.graph.is_foreign() || outer.graph.is_foreign() {
            return Ok(None);
        }
        // The inner map's leaves, in flattening order, are the outer graph's inputs.
        let mut first = (*inner.graph).clone();
        first.outputs = inner.structure.leaves().into_iter().map(|&i| inner.graph.outputs[i]).collect();
        let captures: Vec<Operand> = inner.captures.iter().chain(&outer.captures).cloned().collect();
        let fused = Map {
            graph: Arc::new(first.then(&outer.graph)),
            captures,
            structure: outer.structure.clone(),
            parallel: match (inner.parallel, outer.parallel) {
                (Some(a), Some(b)) => Some(a.max(b)),
                _ => None,
            },
            deterministic: outer.deterministic.or(inner.deterministic),
        };
        Plan::new(fused, input.inputs.clone()).map(Some)
    }
}
