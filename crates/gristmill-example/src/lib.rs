//! `tf.train.Example` and `SequenceExample` without a protobuf library: messages by protobuf's
//! full rules with a deterministic encoder, and a parser by feature spec that follows
//! TensorFlow's fast parser and writes dense features straight into columns.

pub mod example;
pub mod feature_spec;
pub mod infer;
pub mod list;
pub mod parse;
pub mod sequence;
pub mod wire;

pub use example::{Example, Feature, FeatureMap};
pub use feature_spec::{FeatureKind, FeatureSpec, Partition};
pub use infer::{Inferred, infer_spec};
pub use parse::{ColumnDest, Parser, Records, SequenceBatch, SequenceParser, StringColumn};
pub use sequence::SequenceExample;
