//! `prefetch`, `with_options`, `ignore_errors`: what changes how, not what.

use super::{Cardinality, ElementSpec, Op, Plan, Transformation, same};
use gristmill_types::Result;

/// Elements made ahead of the reader.
#[derive(Clone, Debug)]
pub struct Prefetch {
    /// Elements held ready; `None` leaves it to the engine.
    pub buffer: Option<u64>,
}

impl Transformation for Prefetch {
    fn name(&self) -> &'static str {
        "prefetch"
    }
    fn spec(&self, inputs: &[&ElementSpec]) -> Result<ElementSpec> {
        Ok(inputs[0].clone())
    }
    fn cardinality(&self, inputs: &[&Plan]) -> Cardinality {
        same(inputs)
    }
    fn describe(&self) -> String {
        self.buffer.map_or_else(|| "AUTOTUNE".to_string(), |n| n.to_string())
    }
}

/// How the engine may run the plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// `false` permits another order; the engine keeps the order all the same.
    pub deterministic: Option<bool>,
    /// Bytes that may be made ahead; `None` takes a quarter of the memory limit.
    pub ram_budget: Option<u64>,
    /// Worker threads; `None` takes what the machine allows.
    pub threads: Option<u64>,
    /// Whether rules may rewrite the plan.
    pub optimize: Option<bool>,
    /// Whether photos that are resized may be decoded smaller, which changes values.
    pub fast_images: Option<bool>,
}

impl Options {
    /// These options where given, `outer`'s otherwise.
    #[must_use]
    pub fn over(&self, outer: &Self) -> Self {
        Self {
            deterministic: self.deterministic.or(outer.deterministic),
            ram_budget: self.ram_budget.or(outer.ram_budget),
            threads: self.threads.or(outer.threads),
            optimize: self.optimize.or(outer.optimize),
            fast_images: self.fast_images.or(outer.fast_images),
        }
    }
}

/// Options for the whole plan; see [`Plan::options`].
#[derive(Clone, Debug)]
pub struct WithOptions {
    /// The options.
    pub options: Options,
}

impl Transformation for WithOptions {
    fn name(&self) -> &'static str {
        "with_options"
    }
    fn spec(&self, inputs: &[&ElementSpec]) -> Result<ElementSpec> {
        Ok(inputs[0].clone())
    }
    fn cardinality(&self, inputs: &[&Plan]) -> Cardinality {
        same(inputs)
    }
}

impl Plan {
    /// The options that hold for the whole plan, as in TensorFlow: later ones win over earlier ones, and where a
    /// transformation has several inputs, those of a later input over those of an earlier one.
    pub fn options(&self) -> Options {
        let mut all = Options::default();
        self.walk(&mut |p| {
            if let Op::WithOptions(w) = &p.op {
                all = w.options.over(&all);
            }
        });
        all
    }
}

/// Errors from above this place are dropped.
#[derive(Clone, Debug)]
pub struct IgnoreErrors {
    /// Whether each dropped error is logged.
    pub log_warning: bool,
}

impl Transformation for IgnoreErrors {
    fn name(&self) -> &'static str {
        "ignore_errors"
    }
    fn spec(&self, inputs: &[&ElementSpec]) -> Result<ElementSpec> {
        Ok(inputs[0].clone())
    }
    fn cardinality(&self, inputs: &[&Plan]) -> Cardinality {
        match same(inputs) {
            Cardinality::Infinite => Cardinality::Infinite,
            Cardinality::Known(0) => Cardinality::Known(0),
            _ => Cardinality::Unknown,
        }
    }
}
