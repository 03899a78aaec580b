//! Numbers and tensors of a transformation that a template may leave open.

use gristmill_types::{Error, Result, Spec, Value};

/// A value, or the template parameter that will give it.
#[derive(Clone, Debug)]
pub enum Operand {
    /// Known.
    Const(Value),
    /// Parameter `0` of the template around.
    Param(usize, Spec),
}

impl Operand {
    /// The known integer.
    pub fn int(v: i64) -> Self {
        Self::Const(gristmill_types::Tensor::scalar(v).into())
    }

    /// What is known of it.
    pub fn spec(&self) -> Spec {
        match self {
            Self::Const(v) => v.spec(),
            Self::Param(_, spec) => spec.clone(),
        }
    }

    /// The value.
    ///
    /// # Errors
    /// `Internal` while it is a parameter.
    pub fn value(&self) -> Result<&Value> {
        match self {
            Self::Const(v) => Ok(v),
            Self::Param(i, _) => Err(Error::internal(format!("template parameter {i} was not bound"))),
        }
    }

    /// The integer, if known.
    ///
    /// # Errors
    /// `InvalidArgument` if the value is not one integer.
    pub fn known_int(&self) -> Result<Option<i64>> {
        match self {
            Self::Const(v) => v.tensor()?.item_i64().map(Some),
            Self::Param(..) => Ok(None),
        }
    }

    /// The integer.
    ///
    /// # Errors
    /// As [`Operand::value`]; `InvalidArgument` if it is not one integer.
    pub fn as_int(&self) -> Result<i64> {
        self.value()?.tensor()?.item_i64()
    }

    /// Replaces a parameter by its value.
    ///
    /// # Errors
    /// `Internal` if there is no such parameter.
    pub fn bind(&self, params: &[Value]) -> Result<Self> {
        match self {
            Self::Const(_) => Ok(self.clone()),
            Self::Param(i, _) => params
                .get(*i)
                .cloned()
                .map(Self::Const)
                .ok_or_else(|| Error::internal(format!("template parameter {i} is missing"))),
        }
    }

    /// Whether this is a parameter.
    pub fn is_param(&self) -> bool {
        matches!(self, Self::Param(..))
    }

    /// Binds each.
    ///
    /// # Errors
    /// As [`Operand::bind`].
    pub fn bind_all(all: &[Self], params: &[Value]) -> Result<Vec<Self>> {
        all.iter().map(|o| o.bind(params)).collect()
    }
}

impl std::fmt::Display for Operand {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Const(v) => match v.tensor().and_then(|t| t.item_i64()) {
                Ok(i) => write!(f, "{i}"),
                Err(_) => write!(f, "{}", v.spec()),
            },
            Self::Param(i, _) => write!(f, "param {i}"),
        }
    }
}
