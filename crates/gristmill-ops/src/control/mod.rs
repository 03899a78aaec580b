//! Ops that steer what runs.

mod assert;
mod cond;

use gristmill_plan::OpDef;

/// The family's ops.
pub(crate) const OPS: &[&OpDef] = &[&assert::OP, &cond::OP];
