//! `cache` in memory.

use super::{Cardinality, ElementSpec, Plan, Shape, Transformation, same};
use gristmill_types::Result;
use std::any::Any;
use std::sync::{Arc, Mutex, OnceLock};

/// What a cache holds, shared by every dataset that derives from it. The runtime decides what.
#[derive(Default)]
pub struct CacheSlot {
    /// The contents; `None` before the first pass.
    pub held: Mutex<Option<Box<dyn Any + Send>>>,
    /// The slot for the same elements made of photos that were decoded smaller, which have other values.
    reduced: OnceLock<Arc<CacheSlot>>,
    is_reduced: bool,
}

impl CacheSlot {
    /// Whether this is a slot for elements made of photos that were decoded smaller.
    pub fn is_reduced(&self) -> bool {
        self.is_reduced
    }

    /// The slot for such elements that belongs to this one: always the same.
    pub fn reduced(&self) -> Arc<Self> {
        Arc::clone(self.reduced.get_or_init(|| Arc::new(Self { is_reduced: true, ..Self::default() })))
    }
}

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
