//! `zip`, `enumerate`, `concatenate`.

use super::{Cardinality, ElementSpec, Plan, Shape, Transformation, same};
use gristmill_types::{DType, Error, Kind, Result, Spec, Structure};

/// Elements of several datasets side by side; ends with the shortest.
#[derive(Clone, Debug)]
pub struct Zip {
    /// How the datasets nest; leaves number the inputs in flattening order.
    pub structure: Structure<usize>,
}

impl Transformation for Zip {
    fn name(&self) -> &'static str {
        "zip"
    }
    fn spec(&self, inputs: &[&ElementSpec]) -> Result<ElementSpec> {
        Ok(graft(&self.structure, inputs))
    }
    fn cardinality(&self, inputs: &[&Plan]) -> Cardinality {
        let all = inputs.iter().map(|p| p.cardinality);
        if all.clone().any(|c| c == Cardinality::Unknown) {
            return Cardinality::Unknown;
        }
        all.fold(Cardinality::Infinite, |a, b| match (a, b) {
            (Cardinality::Known(x), Cardinality::Known(y)) => Cardinality::Known(x.min(y)),
            (Cardinality::Infinite, c) | (c, _) => c,
        })
    }
}

/// Puts the inputs' structures in place of the leaves.
fn graft(structure: &Structure<usize>, inputs: &[&ElementSpec]) -> ElementSpec {
    let pairs = |items: &[(String, Structure<usize>)]| {
        items.iter().map(|(k, v)| (k.clone(), graft(v, inputs))).collect::<Vec<_>>()
    };
    match structure {
        Structure::Leaf(i) => inputs[*i].clone(),
        Structure::Tuple(items) => Structure::Tuple(items.iter().map(|s| graft(s, inputs)).collect()),
        Structure::List(items) => Structure::List(items.iter().map(|s| graft(s, inputs)).collect()),
        Structure::Dict(items) => Structure::Dict(pairs(items)),
        Structure::Named(name, items) => Structure::Named(name.clone(), pairs(items)),
        Structure::None => Structure::None,
    }
}

/// Each element with its position in front.
#[derive(Clone, Debug)]
pub struct Enumerate {
    /// Position of the first element.
    pub start: i64,
}

impl Transformation for Enumerate {
    fn name(&self) -> &'static str {
        "enumerate"
    }
    fn spec(&self, inputs: &[&ElementSpec]) -> Result<ElementSpec> {
        Ok(Structure::Tuple(vec![Structure::Leaf(Spec::scalar(DType::I64)), inputs[0].clone()]))
    }
    fn cardinality(&self, inputs: &[&Plan]) -> Cardinality {
        same(inputs)
    }
    fn describe(&self) -> String {
        self.start.to_string()
    }
    fn shape(&self) -> Shape {
        Shape::Other
    }
}

/// One dataset, then another.
#[derive(Clone, Debug)]
pub struct Concatenate;

impl Transformation for Concatenate {
    fn name(&self) -> &'static str {
        "concatenate"
    }
    fn spec(&self, inputs: &[&ElementSpec]) -> Result<ElementSpec> {
        let (a, b) = (inputs[0], inputs[1]);
        let fail = || Error::new(Kind::Type, format!("Incompatible dataset elements: {a} vs. {b}"));
        if !a.same_nesting(b) {
            return Err(fail());
        }
        let mut others = b.leaves().into_iter();
        a.try_map(&mut |s| others.next().and_then(|o| s.relax(o)).ok_or_else(fail))
    }
    fn cardinality(&self, inputs: &[&Plan]) -> Cardinality {
        match (inputs[0].cardinality, inputs[1].cardinality) {
            (Cardinality::Known(a), Cardinality::Known(b)) => Cardinality::Known(a.saturating_add(b)),
            (Cardinality::Infinite, _) | (_, Cardinality::Infinite) => Cardinality::Infinite,
            _ => Cardinality::Unknown,
        }
    }
}
