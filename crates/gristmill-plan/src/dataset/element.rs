//! `map` and `filter`: a traced function per element.

use super::{Cardinality, ElementSpec, Operand, Plan, Shape, Transformation, same};
use crate::expr::{Graph, OpNode};
use crate::optimize::rules::REDUCED;
use gristmill_types::{DType, Error, Kind, Result, Structure, Value};
use std::sync::Arc;

/// Each element goes through a function.
#[derive(Clone, Debug)]
pub struct Map {
    /// The function, its ops numbered for this place.
    pub graph: Arc<Graph>,
    /// Values of the tensors that it captured from outer functions.
    pub captures: Vec<Operand>,
    /// How its outputs nest; leaves number the outputs in flattening order.
    pub structure: Structure<usize>,
    /// Elements computed at a time, as the user asked; `None` leaves it to the engine.
    pub parallel: Option<u64>,
    /// `false` permits another order; the engine keeps the order all the same.
    pub deterministic: Option<bool>,
}

impl Map {
    /// A map placed on top of `input`.
    pub fn new(graph: &Graph, captures: Vec<Operand>, structure: Structure<usize>, input: &Plan) -> Self {
        Self {
            graph: Arc::new(graph.numbered(input.depth)),
            captures,
            structure,
            parallel: None,
            deterministic: None,
        }
    }
}

impl Transformation for Map {
    fn name(&self) -> &'static str {
        "map"
    }
    fn spec(&self, _: &[&ElementSpec]) -> Result<ElementSpec> {
        let specs = self.graph.output_specs();
        Ok(self.structure.map(|&i| specs[i].clone()))
    }
    fn cardinality(&self, inputs: &[&Plan]) -> Cardinality {
        same(inputs)
    }
    fn describe(&self) -> String {
        let mut names: Vec<String> = self.graph.ops().map(described).collect();
        if names.len() > 6 {
            let more = names.len() - 5;
            names.truncate(5);
            return format!("{} → {more} more", names.join(" → "));
        }
        names.join(" → ")
    }
    fn has_params(&self) -> bool {
        self.captures.iter().any(Operand::is_param)
    }
    fn bind(&self, params: &[Value]) -> Result<Self> {
        Ok(Self { captures: Operand::bind_all(&self.captures, params)?, ..self.clone() })
    }
    fn shape(&self) -> Shape {
        Shape::OneToOne
    }
    fn impure_ops(&self) -> Vec<(u64, &'static str)> {
        self.graph.impure_ops()
    }
    fn is_foreign(&self) -> bool {
        self.graph.is_foreign()
    }
}

/// An op's name, and the names of the ops that it stands for.
fn described(op: &OpNode) -> String {
    match op.attrs.graph("graph") {
        Ok(inner) => {
            let names: Vec<String> = inner.ops().map(described).collect();
            let reduced = if op.attrs.get(REDUCED).is_some() { " reduced" } else { "" };
            format!("{}{reduced}[{}]", op.def.name, names.join(" + "))
        }
        Err(_) => match op.attrs.foreign("func") {
            Ok(function) => format!("{}[{}]", op.def.name, function.name()),
            Err(_) => op.def.name.to_string(),
        },
    }
}

/// Only the elements for which a function says true.
#[derive(Clone, Debug)]
pub struct Filter {
    /// The function, its ops numbered for this place.
    pub graph: Arc<Graph>,
    /// Values of the tensors that it captured from outer functions.
    pub captures: Vec<Operand>,
}

impl Filter {
    /// A filter placed on top of `input`.
    ///
    /// # Errors
    /// `Value` if the function does not return one bool scalar.
    pub fn new(graph: &Graph, captures: Vec<Operand>, input: &Plan) -> Result<Self> {
        let specs = graph.output_specs();
        let fits =
            matches!(specs.as_slice(), [s] if s.dtype() == DType::Bool && s.shape().rank().unwrap_or(0) == 0);
        if !fits {
            let found = specs
                .iter()
                .map(|s| format!("TensorSpec(shape={}, dtype=tf.{})", s.shape(), s.dtype()))
                .collect::<Vec<_>>()
                .join(", ");
            return Err(Error::new(
                Kind::Value,
                format!(
                    "Invalid `predicate`. `predicate` must return a `tf.bool` scalar tensor, but its return type is {found}"
                ),
            ));
        }
        Ok(Self { graph: Arc::new(graph.numbered(input.depth)), captures })
    }
}

impl Transformation for Filter {
    fn name(&self) -> &'static str {
        "filter"
    }
    fn spec(&self, inputs: &[&ElementSpec]) -> Result<ElementSpec> {
        Ok(inputs[0].clone())
    }
    fn cardinality(&self, inputs: &[&Plan]) -> Cardinality {
        match same(inputs) {
            Cardinality::Known(0) => Cardinality::Known(0),
            _ => Cardinality::Unknown,
        }
    }
    fn has_params(&self) -> bool {
        self.captures.iter().any(Operand::is_param)
    }
    fn bind(&self, params: &[Value]) -> Result<Self> {
        Ok(Self { captures: Operand::bind_all(&self.captures, params)?, ..self.clone() })
    }
    fn impure_ops(&self) -> Vec<(u64, &'static str)> {
        self.graph.impure_ops()
    }
    fn is_foreign(&self) -> bool {
        self.graph.is_foreign()
    }
}
