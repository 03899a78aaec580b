//! What a gristmill pipeline says: dataset nodes, expression graphs of traced functions, op
//! descriptors and their registry, and the optimiser with its rules.
//!
//! Plans are data: nothing here reads files, starts threads or asks the clock.

pub mod attrs;
pub mod dataset;
mod explain;
pub mod expr;
pub mod foreign;
pub mod op;
pub mod optimize;
pub mod registry;

pub use attrs::{Attr, Attrs};
pub use dataset::{Cardinality, ElementSpec, Op, Operand, Options, Plan, Template, Transformation};
pub use expr::{Graph, GraphBuilder, Nested, Node, OpNode, Program, Ref, Run};
pub use foreign::Foreign;
pub use op::{
    Arg, ArgDef, BlockKernel, BlockOut, Class, Draw, Kernel, Lane, OpCx, OpDef, Out, Outs, Scratch,
};
