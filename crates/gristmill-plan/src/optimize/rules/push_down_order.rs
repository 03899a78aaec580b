//! `push_down_order`: shuffles, takes and skips move below maps, where elements are cheap to hold.

use crate::dataset::{Op, Plan};
use crate::optimize::Rule;
use gristmill_types::Result;

/// `map(f).shuffle(n)` becomes `shuffle(n).map(f)`: an error takes a place in the buffer like any
/// element, so the order is the same even where `f` fails. `take` and `skip` count elements and not
/// errors: they pass only a function that cannot fail. Nothing passes what drops elements.
pub struct PushDownOrder;

impl Rule for PushDownOrder {
    fn name(&self) -> &'static str {
        "push_down_order"
    }

    fn apply(&self, plan: &Plan) -> Result<Option<Plan>> {
        let [input] = plan.inputs.as_slice() else { return Ok(None) };
        let Op::Map(map) = &input.op else { return Ok(None) };
        let passes = match &plan.op {
            // Not below a function outside the engine: it is called in the order of its input.
            Op::Shuffle(_) => !map.graph.is_foreign(),
            Op::Take(_) | Op::Skip(_) => map.graph.is_total(),
            _ => false,
        };
        if !passes {
            return Ok(None);
        }
        let below = Plan::new(plan.op.clone(), input.inputs.clone())?;
        Plan::new(input.op.clone(), vec![below]).map(Some)
    }
}
