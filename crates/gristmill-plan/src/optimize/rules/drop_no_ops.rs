//! `drop_no_ops`: transformations that change nothing go.

use crate::dataset::{Op, Plan};
use crate::optimize::Rule;
use gristmill_types::Result;

/// Removes `take(-1)`, `skip(0)`, `shard(1, 0)`, options (they were read before) and a prefetch right
/// above another one.
pub struct DropNoOps;

impl Rule for DropNoOps {
    fn name(&self) -> &'static str {
        "drop_no_ops"
    }

    fn apply(&self, plan: &Plan) -> Result<Option<Plan>> {
        let idle = match &plan.op {
            Op::Take(t) => t.count.known_int()?.is_some_and(|n| n < 0),
            Op::Skip(s) => s.count.known_int()? == Some(0),
            Op::Shard(s) => s.count == 1,
            Op::WithOptions(_) => true,
            Op::Prefetch(_) => matches!(plan.inputs[0].op, Op::Prefetch(_)),
            _ => false,
        };
        Ok(idle.then(|| plan.inputs[0].clone()))
    }
}
