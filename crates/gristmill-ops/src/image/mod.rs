//! Ops of the image family.

mod adjust;
mod adjust_gamma;
mod bounding_box;
mod central_crop;
pub(crate) mod common;
mod convert_image_dtype;
mod crop_and_resize;
mod distorted_box;
mod flip;
mod fused;
mod gray;
mod hsv;
mod jpeg_quality;
mod place;
mod random_adjust;
mod random_crop;
mod resize;
mod resize_with_crop_or_pad;
mod statistics;
mod turn;

use gristmill_plan::OpDef;

/// The family's ops.
pub(crate) const OPS: &[&OpDef] = &[
    &adjust::BRIGHTNESS,
    &adjust::CONTRAST,
    &adjust::HUE,
    &adjust::SATURATION,
    &adjust_gamma::OP,
    &bounding_box::CROP,
    &bounding_box::PAD,
    &central_crop::OP,
    &convert_image_dtype::OP,
    &crop_and_resize::OP,
    &distorted_box::OP,
    &distorted_box::STATELESS,
    &fused::OP,
    &flip::LEFT_RIGHT,
    &flip::RANDOM_LEFT_RIGHT,
    &flip::STATELESS_LEFT_RIGHT,
    &flip::UP_DOWN,
    &flip::RANDOM_UP_DOWN,
    &flip::STATELESS_UP_DOWN,
    &gray::TO_GRAY,
    &gray::TO_RGB,
    &hsv::TO_HSV,
    &hsv::TO_RGB,
    &jpeg_quality::ADJUST,
    &jpeg_quality::RANDOM,
    &jpeg_quality::STATELESS,
    &random_adjust::BRIGHTNESS,
    &random_adjust::CONTRAST,
    &random_adjust::HUE,
    &random_adjust::SATURATION,
    &random_adjust::STATELESS_BRIGHTNESS,
    &random_adjust::STATELESS_CONTRAST,
    &random_adjust::STATELESS_HUE,
    &random_adjust::STATELESS_SATURATION,
    &random_crop::OP,
    &random_crop::STATELESS,
    &resize::OP,
    &resize_with_crop_or_pad::CROP_OR_PAD,
    &resize_with_crop_or_pad::PAD,
    &statistics::STANDARDIZATION,
    &statistics::TOTAL_VARIATION,
    &turn::ROT90,
    &turn::TRANSPOSE,
];
