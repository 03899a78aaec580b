//! Helpers of gristmill's tests: ops that fail on purpose, generated plans, a rule that is wrong.
//!
//! It adds an op and a rule without touching any other crate: if that stops compiling, the seams
//! broke.

pub mod fail;
pub mod generate;
pub mod wrong;
