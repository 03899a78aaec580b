//! Ops that read files and turn bytes into tensors and back.

mod base64;
mod csv;
mod csv_fields;
pub(crate) mod decode_image;
pub(crate) mod decode_jpeg;
mod decode_raw;
pub(crate) mod decoding;
mod encode_jpeg;
mod encode_png;
mod jpeg_header;
mod read_file;
mod tensor_proto;
mod tensor_proto_read;

pub(crate) use decoding::Slot;
use gristmill_plan::OpDef;

/// The family's ops.
pub(crate) const OPS: &[&OpDef] = &[
    &base64::DECODE,
    &base64::ENCODE,
    &csv::OP,
    &decode_image::BMP,
    &decode_image::GIF,
    &decode_image::IMAGE,
    &decode_image::PNG,
    &decode_jpeg::CROP,
    &decode_jpeg::OP,
    &decode_raw::OP,
    &encode_jpeg::OP,
    &encode_png::OP,
    &jpeg_header::IS_JPEG,
    &jpeg_header::RESTART_INDEX,
    &jpeg_header::SHAPE,
    &read_file::OP,
    &tensor_proto::PARSE,
    &tensor_proto::SERIALIZE,
];
