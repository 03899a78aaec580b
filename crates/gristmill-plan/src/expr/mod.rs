//! Expression graphs: what a traced function computes.

mod builder;
mod column;
pub(crate) mod graph;
mod nested;
mod program;
mod split;

pub use builder::GraphBuilder;
pub use graph::{Graph, Node, OpNode, Ref};
pub use nested::Nested;
pub use program::{Program, Run};
