//! Ops that draw random numbers.

mod distributions;
mod draw;
mod shuffle;

use gristmill_plan::OpDef;

/// The family's ops.
pub(crate) const OPS: &[&OpDef] = &[
    &distributions::NORMAL,
    &distributions::STATELESS_NORMAL,
    &distributions::STATELESS_UNIFORM,
    &distributions::UNIFORM,
    &shuffle::OP,
];
