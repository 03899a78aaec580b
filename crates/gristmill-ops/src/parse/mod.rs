//! Ops that parse serialized Examples and SequenceExamples.

mod batch;
mod features;
mod sequence;
mod single;
mod single_block;

use gristmill_plan::OpDef;

/// The family's ops.
pub(crate) const OPS: &[&OpDef] = &[&batch::OP, &sequence::BATCH, &sequence::SINGLE, &single::OP];
