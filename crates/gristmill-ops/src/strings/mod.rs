//! Ops on strings.

mod as_string;
mod case;
mod each;
mod hash;
mod join;
mod length;
mod regex;
mod split;
mod substr;
mod to_number;

use gristmill_plan::OpDef;

/// The family's ops.
pub(crate) const OPS: &[&OpDef] = &[
    &as_string::OP,
    &case::LOWER,
    &case::STRIP,
    &case::UPPER,
    &hash::OP,
    &join::JOIN,
    &join::REDUCE_JOIN,
    &length::OP,
    &regex::FULL_MATCH,
    &regex::REPLACE,
    &split::BYTES_SPLIT,
    &split::SPLIT,
    &substr::OP,
    &to_number::OP,
];
