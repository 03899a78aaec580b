//! Whole pipelines: order, state, rules, counters.

mod counters;
mod order;
mod rules;
mod state;
mod stop;
mod support;
