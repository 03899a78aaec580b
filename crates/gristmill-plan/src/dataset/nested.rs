//! `flat_map` and `interleave`: a dataset per element.

use super::{Cardinality, ElementSpec, Op, Operand, Plan, Transformation};
use crate::expr::Graph;
use gristmill_types::{Error, Result, Value};
use std::sync::Arc;

/// Datasets that may be open at a time.
const MOST_OPEN: usize = 1 << 16;

/// A function from an element to a dataset: a plan with open parameters and the function that
/// computes them from the element.
#[derive(Clone, Debug)]
pub struct Template {
    /// Element in, parameters of `plan` out.
    pub graph: Arc<Graph>,
    /// Values of the tensors that the function captured from outer functions.
    pub captures: Vec<Operand>,
    /// The dataset, parameters open.
    pub plan: Plan,
}

impl Template {
    /// A template placed on top of `input`.
    pub fn new(graph: &Graph, captures: Vec<Operand>, plan: Plan, input: &Plan) -> Self {
        Self { graph: Arc::new(graph.numbered(input.depth)), captures, plan }
    }

    fn bind(&self, params: &[Value]) -> Result<Self> {
        Ok(Self { captures: Operand::bind_all(&self.captures, params)?, ..self.clone() })
    }

    fn has_params(&self) -> bool {
        self.captures.iter().any(Operand::is_param)
    }

    fn is_foreign(&self) -> bool {
        self.graph.is_foreign() || self.plan.foreign
    }

    fn impure_ops(&self) -> Vec<(u64, &'static str)> {
        let mut ops = self.graph.impure_ops();
        ops.extend(self.plan.impure_ops());
        ops
    }
}

impl Plan {
    /// What makes the datasets of a `flat_map` or an `interleave`; `None` for any other node.
    pub fn template(&self) -> Option<&Template> {
        match &self.op {
            Op::FlatMap(op) => Some(&op.template),
            Op::Interleave(op) => Some(&op.template),
            _ => None,
        }
    }

    /// The same node with another template; itself where it has none.
    ///
    /// # Errors
    /// What the transformation refuses.
    pub fn with_template(&self, template: Template) -> Result<Self> {
        let inputs = self.inputs.clone();
        match &self.op {
            Op::FlatMap(_) => Self::new(FlatMap { template }, inputs),
            Op::Interleave(op) => Self::new(Interleave { template, ..op.clone() }, inputs),
            _ => Ok(self.clone()),
        }
    }
}

/// The elements of one dataset per element, one dataset after the other.
#[derive(Clone, Debug)]
pub struct FlatMap {
    /// The function.
    pub template: Template,
}

impl Transformation for FlatMap {
    fn name(&self) -> &'static str {
        "flat_map"
    }
    fn spec(&self, _: &[&ElementSpec]) -> Result<ElementSpec> {
        Ok(self.template.plan.spec().clone())
    }
    fn cardinality(&self, _: &[&Plan]) -> Cardinality {
        Cardinality::Unknown
    }
    fn has_params(&self) -> bool {
        self.template.has_params()
    }
    fn bind(&self, params: &[Value]) -> Result<Self> {
        Ok(Self { template: self.template.bind(params)? })
    }
    fn impure_ops(&self) -> Vec<(u64, &'static str)> {
        self.template.impure_ops()
    }
    fn is_foreign(&self) -> bool {
        self.template.is_foreign()
    }
}

/// The elements of one dataset per element, several datasets in turn.
#[derive(Clone, Debug)]
pub struct Interleave {
    /// The function.
    pub template: Template,
    /// Datasets open at a time.
    pub cycle: usize,
    /// Elements from one dataset before the next one's turn.
    pub block: usize,
    /// Datasets read at a time, as the user asked; `None` leaves it to the engine.
    pub parallel: Option<u64>,
}

impl Transformation for Interleave {
    fn name(&self) -> &'static str {
        "interleave"
    }
    fn spec(&self, _: &[&ElementSpec]) -> Result<ElementSpec> {
        if self.cycle == 0 {
            return Err(Error::invalid("cycle_length must be greater than zero, found 0"));
        }
        if self.cycle > MOST_OPEN {
            return Err(Error::invalid(format!(
                "cycle_length must be at most {MOST_OPEN}, found {}",
                self.cycle
            )));
        }
        if self.block == 0 {
            return Err(Error::invalid("block_length must be greater than zero, found 0"));
        }
        if let Some(n) = self.parallel
            && n > self.cycle as u64
        {
            return Err(Error::invalid(format!(
                "If `cycle_length` is set to a fixed value, `num_parallel_calls` must be either `tf.data.AUTOTUNE` or a value \
                 less than or equal to `cycle_length`. However, `num_parallel_calls` is {n} and `cycle_length` is {}",
                self.cycle
            )));
        }
        Ok(self.template.plan.spec().clone())
    }
    fn cardinality(&self, _: &[&Plan]) -> Cardinality {
        Cardinality::Unknown
    }
    fn describe(&self) -> String {
        format!("cycle_length={}, block_length={}", self.cycle, self.block)
    }
    fn has_params(&self) -> bool {
        self.template.has_params()
    }
    fn bind(&self, params: &[Value]) -> Result<Self> {
        Ok(Self { template: self.template.bind(params)?, ..self.clone() })
    }
    fn impure_ops(&self) -> Vec<(u64, &'static str)> {
        self.template.impure_ops()
    }
    fn is_foreign(&self) -> bool {
        self.template.is_foreign()
    }
}
