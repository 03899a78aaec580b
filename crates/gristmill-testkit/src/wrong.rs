//! A rule that breaks its promise, to see that the driver notices.

use gristmill_plan::Plan;
use gristmill_plan::dataset::Op;
use gristmill_plan::optimize::Rule;
use gristmill_types::Result;

/// Moves a shuffle or a take below whatever drops elements: another order, other elements.
pub struct PushBelowDrops;

impl Rule for PushBelowDrops {
    fn name(&self) -> &'static str {
        "push_below_drops"
    }

    fn apply(&self, plan: &Plan) -> Result<Option<Plan>> {
        let moves = match &plan.op {
            Op::Shuffle(_) => true,
            Op::Take(t) => t.count.known_int()?.is_some_and(|n| n >= 0),
            _ => false,
        };
        if !moves || !matches!(plan.inputs[0].op, Op::Filter(_) | Op::IgnoreErrors(_)) {
            return Ok(None);
        }
        let input = &plan.inputs[0];
        let below = Plan::new(plan.op.clone(), input.inputs.clone())?;
        Plan::new(input.op.clone(), vec![below]).map(Some)
    }
}

/// Takes one element less than it was told to.
pub struct TakeFewer;

impl Rule for TakeFewer {
    fn name(&self) -> &'static str {
        "take_fewer"
    }

    fn apply(&self, plan: &Plan) -> Result<Option<Plan>> {
        let Op::Take(take) = &plan.op else { return Ok(None) };
        let Some(n) = take.count.known_int()?.filter(|&n| n > 0) else { return Ok(None) };
        let fewer = gristmill_plan::dataset::Take { count: gristmill_plan::Operand::int(n - 1) };
        Plan::new(fewer, plan.inputs.clone()).map(Some)
    }
}
