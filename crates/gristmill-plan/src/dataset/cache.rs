//! `cache` in memory.

use super::{Cardinality, ElementSpec, Plan, Shape, Transformation, same};
use gristmill_types::Result;
use std::any::Any;
use std::sync::{Arc, Mutex};

/// What a cache holds, shared by every dataset that derives from it. The runtime decides what.
#[derive(Default)]
pub struct CacheSlot(pub Mutex<Option<Box<dyn Any + Send>>>);

impl std::fmt::Debug for CacheSlot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("CacheSlot")
    }
}

/// The elements as the first pass gave them, from memory from then on.
#[derive(Clone, Debug, Default)]
pub struct Cache {
    /// The elements, once they were read.
    pub slot: Arc<CacheSlot>,
}

impl Transformation for Cache {
    fn name(&self) -> &'static str {
        "cache"
    }
    fn spec(&self, inputs: &[&ElementSpec]) -> Result<ElementSpec> {
        Ok(inputs[0].clone())
    }
    fn cardinality(&self, inputs: &[&Plan]) -> Cardinality {
        same(inputs)
    }
    fn shape(&self) -> Shape {
        Shape::Other
    }
}
