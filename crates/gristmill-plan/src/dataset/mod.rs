//! Dataset nodes: what a pipeline says, one transformation per file.
//!
//! A transformation is a struct that implements [`Transformation`]; the list at the end of this
//! file joins them. Its stage lives in the runtime crate under the same name.

mod batch;
mod cache;
mod combine;
mod element;
mod nested;
mod operand;
mod order;
mod service;
mod source;

pub use batch::{Batch, MapBatch, Unbatch};
pub use cache::{Cache, CacheSlot};
pub use combine::{Concatenate, Enumerate, Zip};
pub use element::{Filter, Map};
pub use nested::{FlatMap, Interleave, Template};
pub use operand::Operand;
pub use order::{Repeat, Shard, Shuffle, ShuffleCounter, Skip, Take};
pub use service::{IgnoreErrors, Options, Prefetch, WithOptions};
pub use source::{Compression, Range, TensorSlices, Tensors, TfRecord};

use gristmill_types::{Result, Spec, Structure, Value};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// The nested specs of a dataset's elements.
pub type ElementSpec = Structure<Spec>;

/// How many elements a dataset has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cardinality {
    /// That many.
    Known(u64),
    /// It never ends.
    Infinite,
    /// Only running it tells.
    Unknown,
}

impl Cardinality {
    /// TensorFlow's number: the count, -1 for infinite, -2 for unknown.
    pub fn as_i64(self) -> i64 {
        match self {
            Self::Known(n) => i64::try_from(n).unwrap_or(i64::MAX),
            Self::Infinite => -1,
            Self::Unknown => -2,
        }
    }

    /// The count changed by `f`, if known.
    #[must_use]
    pub fn map(self, f: impl FnOnce(u64) -> u64) -> Self {
        match self {
            Self::Known(n) => Self::Known(f(n)),
            other => other,
        }
    }
}

/// What the order of a chain may suffer from a transformation: the walls of order push-down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Outcome `i` comes from outcome `i` of the input.
    OneToOne,
    /// Anything else.
    Other,
}

/// What every transformation says about itself.
pub trait Transformation {
    /// TensorFlow's name (`batch`).
    fn name(&self) -> &'static str;

    /// The spec of its elements; refuses inputs that it cannot work on.
    ///
    /// # Errors
    /// What is wrong with the inputs or its own numbers.
    fn spec(&self, inputs: &[&ElementSpec]) -> Result<ElementSpec>;

    /// The number of its elements.
    fn cardinality(&self, inputs: &[&Plan]) -> Cardinality;

    /// Its numbers, for `explain` (`128, drop_remainder=true`).
    fn describe(&self) -> String {
        String::new()
    }

    /// The same with parameters of its template replaced by these values.
    ///
    /// # Errors
    /// A value of a wrong kind.
    fn bind(&self, _params: &[Value]) -> Result<Self>
    where
        Self: Sized + Clone,
    {
        Ok(self.clone())
    }

    /// Whether `bind` would change anything.
    fn has_params(&self) -> bool {
        false
    }

    /// How outcomes correspond to the input's.
    fn shape(&self) -> Shape {
        Shape::Other
    }

    /// Number and name of its random and effectful ops.
    fn impure_ops(&self) -> Vec<(u64, &'static str)> {
        Vec::new()
    }

    /// Whether it calls functions outside the engine; those of its inputs do not count.
    fn is_foreign(&self) -> bool {
        false
    }
}

/// Transformations in a row: plans are walked recursively.
pub(crate) const MOST_DEEP: u64 = 800;

/// A pipeline: a node and what it reads from. Cloning shares it.
#[derive(Clone, Debug)]
pub struct Plan(Arc<PlanNode>);

/// A node of a plan.
#[derive(Debug)]
pub struct PlanNode {
    /// The transformation.
    pub op: Op,
    /// What it reads from.
    pub inputs: Vec<Plan>,
    /// The spec of its elements.
    pub spec: ElementSpec,
    /// The number of its elements.
    pub cardinality: Cardinality,
    /// Whether this node or one that it reads from calls functions outside the engine.
    pub foreign: bool,
    /// Number of nodes on the longest way to a source.
    pub depth: u64,
    /// Iterators made from this very node so far: each pass draws its random values anew.
    pub iterations: AtomicU64,
    /// What [`Plan::fingerprint`] gives, once it was asked for, as constants may be large; 0 before. No lock: a forked
    /// child would wait for a thread that it does not have.
    pub(crate) fingerprint: AtomicU64,
}

impl Plan {
    /// A node over these inputs.
    ///
    /// # Errors
    /// What the transformation refuses.
    pub fn new(op: impl Into<Op>, inputs: Vec<Self>) -> Result<Self> {
        let op = op.into();
        let specs: Vec<&ElementSpec> = inputs.iter().map(Self::spec).collect();
        let place = |e: gristmill_types::Error| {
            e.frame(gristmill_types::Frame::Stage { name: op.name().to_string() })
        };
        let spec = op.spec(&specs).map_err(place)?;
        let cardinality = op.cardinality(&inputs.iter().collect::<Vec<_>>());
        let depth = inputs.iter().map(|i| i.depth).max().unwrap_or(0) + 1;
        if depth > MOST_DEEP {
            return Err(place(gristmill_types::Error::invalid(format!(
                "a pipeline may have {MOST_DEEP} transformations in a row, this would be one more"
            ))));
        }
        let foreign = op.is_foreign() || inputs.iter().any(|i| i.foreign);
        let (iterations, fingerprint) = (AtomicU64::new(0), AtomicU64::new(0));
        let node = PlanNode { op, inputs, spec, cardinality, foreign, depth, iterations, fingerprint };
        Ok(Self(Arc::new(node)))
    }

    /// This plan with one more transformation.
    ///
    /// # Errors
    /// What the transformation refuses.
    pub fn then(&self, op: impl Into<Op>) -> Result<Self> {
        Self::new(op, vec![self.clone()])
    }

    /// The spec of the elements.
    pub fn spec(&self) -> &ElementSpec {
        &self.0.spec
    }

    /// Whether both are the very same node.
    pub fn same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// The same node over other inputs; itself if they are the same.
    ///
    /// # Errors
    /// What the transformation refuses.
    pub fn with_inputs(&self, inputs: Vec<Self>) -> Result<Self> {
        if inputs.len() == self.inputs.len() && inputs.iter().zip(&self.inputs).all(|(a, b)| a.same(b)) {
            return Ok(self.clone());
        }
        Self::new(self.op.clone(), inputs)
    }

    /// The plan with the parameters of its template replaced by these values; parts without
    /// parameters are shared.
    ///
    /// # Errors
    /// A value of a wrong kind, or what a transformation refuses.
    pub fn bind(&self, params: &[Value]) -> Result<Self> {
        let inputs = self.inputs.iter().map(|i| i.bind(params)).collect::<Result<Vec<_>>>()?;
        if self.op.has_params() {
            return Self::new(self.op.bind(params)?, inputs);
        }
        self.with_inputs(inputs)
    }

    /// Every node, inputs first, in the order of the inputs; a node that occurs twice comes twice.
    pub fn walk(&self, visit: &mut impl FnMut(&Self)) {
        for input in &self.inputs {
            input.walk(visit);
        }
        visit(self);
    }

    /// Number and name of every random and effectful op, sources first.
    pub fn impure_ops(&self) -> Vec<(u64, &'static str)> {
        let mut out = Vec::new();
        self.walk(&mut |p| out.extend(p.op.impure_ops()));
        out
    }
}

impl std::ops::Deref for Plan {
    type Target = PlanNode;
    fn deref(&self) -> &PlanNode {
        &self.0
    }
}

/// The cardinality of the only input.
fn same(inputs: &[&Plan]) -> Cardinality {
    inputs.first().map_or(Cardinality::Unknown, |p| p.cardinality)
}

/// Joins the transformations into one type that forwards to them.
macro_rules! transformations {
    ($($variant:ident),* $(,)?) => {
        /// Any transformation.
        #[derive(Clone, Debug)]
        pub enum Op {
            $(#[doc = concat!("See [`", stringify!($variant), "`].")] $variant($variant),)*
        }

        impl Transformation for Op {
            fn name(&self) -> &'static str {
                match self { $(Self::$variant(t) => t.name(),)* }
            }
            fn spec(&self, inputs: &[&ElementSpec]) -> Result<ElementSpec> {
                match self { $(Self::$variant(t) => t.spec(inputs),)* }
            }
            fn cardinality(&self, inputs: &[&Plan]) -> Cardinality {
                match self { $(Self::$variant(t) => t.cardinality(inputs),)* }
            }
            fn describe(&self) -> String {
                match self { $(Self::$variant(t) => t.describe(),)* }
            }
            fn bind(&self, params: &[Value]) -> Result<Self> {
                match self { $(Self::$variant(t) => t.bind(params).map(Self::$variant),)* }
            }
            fn has_params(&self) -> bool {
                match self { $(Self::$variant(t) => t.has_params(),)* }
            }
            fn shape(&self) -> Shape {
                match self { $(Self::$variant(t) => t.shape(),)* }
            }
            fn impure_ops(&self) -> Vec<(u64, &'static str)> {
                match self { $(Self::$variant(t) => t.impure_ops(),)* }
            }
            fn is_foreign(&self) -> bool {
                match self { $(Self::$variant(t) => t.is_foreign(),)* }
            }
        }

        $(impl From<$variant> for Op {
            fn from(t: $variant) -> Self {
                Self::$variant(t)
            }
        })*
    };
}

transformations!(
    Range,
    Tensors,
    TensorSlices,
    TfRecord,
    Map,
    Filter,
    Interleave,
    FlatMap,
    Shuffle,
    Cache,
    Repeat,
    Batch,
    MapBatch,
    Unbatch,
    Take,
    Skip,
    Shard,
    Prefetch,
    WithOptions,
    Zip,
    Enumerate,
    Concatenate,
    IgnoreErrors,
);
