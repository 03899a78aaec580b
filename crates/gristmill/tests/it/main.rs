//! Whole pipelines: order, state, rules, counters.

#![allow(clippy::unwrap_used, reason = "a test that unwraps an error fails, which is what it should do")]

mod ahead;
mod counters;
mod errors;
mod examples;
mod foreign;
mod order;
mod reduce;
mod rules;
mod short_batches;
mod state;
mod stop;
mod support;
mod unbatch;
