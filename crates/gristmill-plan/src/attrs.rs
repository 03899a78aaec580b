//! Attributes: what an op or transformation is told besides its tensors.

use crate::expr::Graph;
use crate::foreign::Foreign;
use gristmill_types::{DType, Error, Kind, PartialShape, Result, Value};
use std::sync::Arc;

/// One attribute value.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Attr {
    /// Not given.
    None,
    /// A truth value.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A number.
    Float(f64),
    /// Text.
    Str(String),
    /// A dtype.
    DType(DType),
    /// A shape, perhaps partly known.
    Shape(PartialShape),
    /// Several values.
    List(Vec<Attr>),
    /// Named values in order.
    Dict(Vec<(String, Attr)>),
    /// A constant.
    Value(Value),
    /// A traced function.
    Graph(Arc<Graph>),
    /// A function that lives outside the engine.
    Foreign(Arc<dyn Foreign>),
}

/// Named attributes.
#[derive(Clone, Debug, Default)]
pub struct Attrs(Vec<(String, Attr)>);

macro_rules! getters {
    ($($(#[$doc:meta])* $get:ident $or:ident $variant:ident $t:ty, $what:literal;)*) => { $(
        $(#[$doc])*
        ///
        /// # Errors
        /// `Type` if it is missing or of another kind.
        pub fn $get(&self, name: &str) -> Result<$t> {
            match self.get(name) {
                Some(Attr::$variant(v)) => Ok(v.clone()),
                other => Err(wrong(name, $what, other)),
            }
        }

        #[doc = concat!("As `", stringify!($get), "`, with a default where it is not given.")]
        ///
        /// # Errors
        /// `Type` if it is of another kind.
        pub fn $or(&self, name: &str, default: $t) -> Result<$t> {
            match self.get(name) {
                None | Some(Attr::None) => Ok(default),
                _ => self.$get(name),
            }
        }
    )* };
}

fn wrong(name: &str, expected: &str, found: Option<&Attr>) -> Error {
    let found = found.map_or_else(|| "nothing".to_string(), |a| format!("{a:?}"));
    Error::new(Kind::Type, format!("argument '{name}' must be {expected}, found {found}"))
}

impl Attrs {
    /// These attributes.
    pub fn new(entries: Vec<(String, Attr)>) -> Self {
        Self(entries)
    }

    /// The attributes with one more.
    #[must_use]
    pub fn with(mut self, name: &str, value: Attr) -> Self {
        self.0.push((name.to_string(), value));
        self
    }

    /// The attribute of that name.
    pub fn get(&self, name: &str) -> Option<&Attr> {
        self.0.iter().find(|(n, _)| n == name).map(|(_, a)| a)
    }

    /// The names, as given.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(n, _)| n.as_str())
    }

    /// Name and value of each, as given.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Attr)> {
        self.0.iter().map(|(n, a)| (n.as_str(), a))
    }

    getters! {
        /// A truth value.
        bool bool_or Bool bool, "a bool";
        /// Text.
        str str_or Str String, "a string";
        /// A dtype.
        dtype dtype_or DType DType, "a dtype";
        /// A shape.
        shape shape_or Shape PartialShape, "a shape";
        /// A list.
        list list_or List Vec<Attr>, "a list";
        /// A traced function.
        graph graph_or Graph Arc<Graph>, "a function";
        /// A function outside the engine.
        foreign foreign_or Foreign Arc<dyn Foreign>, "a function";
    }

    /// An integer.
    ///
    /// # Errors
    /// `Type` if it is missing or of another kind.
    pub fn int(&self, name: &str) -> Result<i64> {
        match self.get(name) {
            Some(Attr::Int(v)) => Ok(*v),
            Some(Attr::Bool(v)) => Ok(i64::from(*v)),
            other => Err(wrong(name, "an integer", other)),
        }
    }

    /// As `int`, with a default where it is not given.
    ///
    /// # Errors
    /// `Type` if it is of another kind.
    pub fn int_or(&self, name: &str, default: i64) -> Result<i64> {
        match self.get(name) {
            None | Some(Attr::None) => Ok(default),
            _ => self.int(name),
        }
    }

    /// A number.
    ///
    /// # Errors
    /// `Type` if it is missing or of another kind.
    pub fn float(&self, name: &str) -> Result<f64> {
        match self.get(name) {
            Some(Attr::Float(v)) => Ok(*v),
            Some(Attr::Int(v)) => Ok(*v as f64),
            other => Err(wrong(name, "a number", other)),
        }
    }

    /// As `float`, with a default where it is not given.
    ///
    /// # Errors
    /// `Type` if it is of another kind.
    pub fn float_or(&self, name: &str, default: f64) -> Result<f64> {
        match self.get(name) {
            None | Some(Attr::None) => Ok(default),
            _ => self.float(name),
        }
    }

    /// A list of integers.
    ///
    /// # Errors
    /// `Type` if it is missing or of another kind.
    pub fn ints(&self, name: &str) -> Result<Vec<i64>> {
        match self.get(name) {
            Some(Attr::List(items)) => items
                .iter()
                .map(|a| match a {
                    Attr::Int(v) => Ok(*v),
                    other => Err(wrong(name, "a list of integers", Some(other))),
                })
                .collect(),
            other => Err(wrong(name, "a list of integers", other)),
        }
    }

    /// The pair (graph seed, op seed) under the name `seed`, if the op was given one.
    ///
    /// # Errors
    /// `Type` if it is not a pair of integers.
    pub fn seed(&self) -> Result<Option<(u64, u64)>> {
        match self.get("seed") {
            None | Some(Attr::None) => Ok(None),
            _ => match self.ints("seed")?.as_slice() {
                [a, b] => Ok(Some((*a as u64, *b as u64))),
                other => {
                    Err(Error::new(Kind::Type, format!("seed must be a pair, found {} numbers", other.len())))
                }
            },
        }
    }
}

impl std::fmt::Display for Attr {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::None => f.write_str("None"),
            Self::Bool(v) => write!(f, "{v}"),
            Self::Int(v) => write!(f, "{v}"),
            Self::Float(v) => write!(f, "{v}"),
            Self::Str(v) => write!(f, "'{v}'"),
            Self::DType(v) => write!(f, "{v}"),
            Self::Shape(v) => write!(f, "{v}"),
            Self::List(v) => {
                f.write_str("[")?;
                for (i, a) in v.iter().enumerate() {
                    write!(f, "{}{a}", if i > 0 { ", " } else { "" })?;
                }
                f.write_str("]")
            }
            Self::Dict(v) => {
                f.write_str("{")?;
                for (i, (k, a)) in v.iter().enumerate() {
                    write!(f, "{}{k}: {a}", if i > 0 { ", " } else { "" })?;
                }
                f.write_str("}")
            }
            Self::Value(v) => write!(f, "{}", v.spec()),
            Self::Graph(g) => write!(f, "function of {} ops", g.op_count()),
            Self::Foreign(function) => f.write_str(function.name()),
        }
    }
}
