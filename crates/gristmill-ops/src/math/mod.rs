//! Ops on numbers, bits and truth values.

mod arg_extreme;
mod arithmetic;
mod bitcast;
mod bitwise;
mod broadcast;
mod cast;
mod clip;
mod compare;
pub(crate) mod convert;
mod cumsum;
mod logical;
mod matmul;
pub(crate) mod num;
mod reduce;
mod saturate_cast;
mod unary;

use gristmill_plan::OpDef;

/// The family's ops.
pub(crate) const OPS: &[&OpDef] = &[
    &arg_extreme::ARGMAX,
    &arg_extreme::ARGMIN,
    &arithmetic::ADD,
    &arithmetic::FLOORDIV,
    &arithmetic::FLOORMOD,
    &arithmetic::MAXIMUM,
    &arithmetic::MINIMUM,
    &arithmetic::MULTIPLY,
    &arithmetic::POW,
    &arithmetic::SUBTRACT,
    &arithmetic::TRUEDIV,
    &bitcast::OP,
    &bitwise::AND,
    &bitwise::INVERT,
    &bitwise::LEFT_SHIFT,
    &bitwise::OR,
    &bitwise::RIGHT_SHIFT,
    &bitwise::XOR,
    &cast::OP,
    &clip::OP,
    &compare::EQUAL,
    &compare::GREATER,
    &compare::GREATER_EQUAL,
    &compare::LESS,
    &compare::LESS_EQUAL,
    &compare::NOT_EQUAL,
    &cumsum::OP,
    &logical::AND,
    &logical::NOT,
    &logical::OR,
    &logical::XOR,
    &matmul::OP,
    &reduce::ALL,
    &reduce::ANY,
    &reduce::MAX,
    &reduce::MEAN,
    &reduce::MIN,
    &reduce::PROD,
    &reduce::SUM,
    &saturate_cast::OP,
    &unary::ABS,
    &unary::CEIL,
    &unary::COS,
    &unary::EXP,
    &unary::FLOOR,
    &unary::IS_FINITE,
    &unary::IS_NAN,
    &unary::LOG,
    &unary::LOG1P,
    &unary::NEGATIVE,
    &unary::ROUND,
    &unary::RSQRT,
    &unary::SIGMOID,
    &unary::SIGN,
    &unary::SIN,
    &unary::SQRT,
    &unary::SQUARE,
    &unary::TAN,
    &unary::TANH,
];
