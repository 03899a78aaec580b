//! Ops that steer what runs.

mod assert;
mod cond;
mod foreign;

use gristmill_plan::OpDef;

/// The family's ops.
pub(crate) const OPS: &[&OpDef] = &[&assert::OP, &cond::OP, &foreign::PY_FUNCTION, &foreign::NUMPY_FUNCTION];
