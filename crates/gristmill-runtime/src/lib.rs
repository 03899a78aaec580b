//! Runs gristmill plans: pull-based stages that exchange blocks, one worker pool per process, exact
//! saved positions, and counters that say where the time goes.
//!
//! Kernels reach this crate through the registry of `gristmill-plan`; it never names an op.

pub mod env;
pub mod forecast;
pub mod interrupt;
mod io;
pub mod iterator;
mod lower;
pub mod pool;
mod reduce;
pub mod stage;
pub mod state;
pub mod stats;
mod sys;

pub use iterator::DatasetIterator;
pub use reduce::Reduction;
pub use stats::StageReport;
pub use sys::entropy;
