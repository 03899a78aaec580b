//! Ops on the layout of tensors, whatever their values.

mod boolean_mask;
mod broadcast_to;
mod concat;
mod expand_dims;
mod fill;
mod gather;
mod identity;
mod one_hot;
mod pad;
mod range;
mod repeat;
mod reshape;
mod reverse;
mod shape;
pub(crate) mod slice;
mod sort;
mod split;
mod squeeze;
mod stack;
pub(crate) mod strided_slice;
pub(crate) mod support;
mod tile;
mod transpose;
mod unstack;
mod where_;

use gristmill_plan::OpDef;

/// The family's ops.
pub(crate) const OPS: &[&OpDef] = &[
    &boolean_mask::OP,
    &broadcast_to::OP,
    &concat::OP,
    &expand_dims::OP,
    &fill::FILL,
    &fill::ONES_LIKE,
    &fill::ZEROS_LIKE,
    &gather::GATHER,
    &gather::GATHER_ND,
    &identity::ENSURE_SHAPE,
    &identity::IDENTITY,
    &identity::SET_SHAPE,
    &one_hot::OP,
    &pad::OP,
    &range::LINSPACE,
    &range::RANGE,
    &repeat::OP,
    &reshape::OP,
    &reverse::OP,
    &shape::RANK,
    &shape::SHAPE,
    &shape::SIZE,
    &slice::OP,
    &sort::ARGSORT,
    &sort::SORT,
    &split::OP,
    &squeeze::OP,
    &stack::OP,
    &strided_slice::OP,
    &tile::OP,
    &transpose::OP,
    &unstack::OP,
    &where_::WHERE,
    &where_::WHERE_INDICES,
];
