//! The hand-written parsers against prost, the block parser against the single one, and its speed.

#![allow(clippy::unwrap_used, reason = "a panic is how a test reports")]

mod oracle;
mod speed;
