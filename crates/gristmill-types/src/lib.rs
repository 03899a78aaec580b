//! The values that gristmill's crates exchange: dtypes, shapes, shared aligned buffers, tensors,
//! sparse and ragged values, specs, nested structures, blocks of elements, batches under
//! construction, element keys, counter-based random numbers and the one error type.
//!
//! This crate imports no sibling and does no IO.

pub mod batch;
pub mod block;
pub mod buffer;
pub mod bytes;
pub mod dtype;
pub mod elements;
pub mod error;
pub mod hash;
pub mod key;
mod pages;
pub mod process;
pub mod rng;
pub mod shape;
pub mod spec;
pub mod strings;
pub mod structure;
pub mod tensor;
pub mod value;
pub mod weave;

pub use batch::BatchBuilder;
pub use block::{Block, Column, Id, Ids, Origin};
pub use buffer::Buffer;
pub use bytes::Bytes;
pub use dtype::{DType, Element};
pub use error::{Error, Frame, Kind, Result};
pub use key::Key;
pub use shape::Shape;
pub use spec::{PartialShape, Spec};
pub use strings::{StrSpan, Strings};
pub use structure::Structure;
pub use tensor::Tensor;
pub use value::{Ragged, Sparse, Value};
pub use weave::Pick;
