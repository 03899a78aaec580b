//! What the image decoders share: the slot that they write into, and words for bytes that are no
//! image.

use crate::image::common::image_error;
use gristmill_image::Output;
use gristmill_image::decode_any::{DecodeOptions, Target, decode};
use gristmill_plan::{Arg, ArgDef, Outs};
use gristmill_types::{Bytes, DType, Element, Error, Frame, PartialShape, Result, Shape, Value};

/// The usual input.
pub(crate) const CONTENTS: ArgDef = ArgDef { name: "contents", doc: "string scalar: the encoded bytes" };

/// Output 0 of an op as the place of a decoded image.
pub(crate) struct Slot<'s, 'o> {
    out: &'s mut Outs<'o>,
}

impl<'s, 'o> Slot<'s, 'o> {
    /// Output 0.
    pub(crate) fn new(out: &'s mut Outs<'o>) -> Self {
        Self { out }
    }
}

impl<T: Element> Output<T> for Slot<'_, '_> {
    fn slot(&mut self, shape: &[usize]) -> gristmill_image::Result<&mut [T]> {
        let shape = Shape::new(shape).map_err(|e| gristmill_image::Error::Output(e.message().to_owned()))?;
        Ok(self.out.typed(0, shape))
    }
}

/// Refuses a contents input that is no string scalar.
pub(crate) fn check_contents(arg: &Arg, name: &str) -> Result<()> {
    if arg.dtype() != DType::String || !arg.spec.is_dense() {
        return Err(Error::invalid(format!("{name} must be a string tensor, found {}", arg.spec)));
    }
    match arg.spec.shape().rank() {
        None | Some(0) => Ok(()),
        Some(_) => Err(Error::invalid(format!("{name} must be scalar, found shape {}", arg.spec.shape()))
            .hint("decode before batch, or map over the elements")),
    }
}

/// The bytes of a string scalar.
pub(crate) fn contents<'a>(v: &'a Value, name: &str) -> Result<&'a Bytes> {
    let t = v.tensor()?;
    match (t.as_strings(), t.shape().rank()) {
        ([one], 0) => Ok(one),
        _ => Err(Error::invalid(format!(
            "{name} must be a string scalar, found {} of shape {}",
            t.dtype(),
            t.shape()
        ))),
    }
}

/// `[None, None, channels]`, the last unknown for 0 channels.
pub(crate) fn image_shape(channels: u32) -> PartialShape {
    PartialShape::new(vec![None, None, (channels > 0).then_some(channels as usize)])
}

/// Decodes into output 0 with samples of that dtype.
pub(crate) fn decode_into(
    bytes: &[u8],
    options: &DecodeOptions<'_>,
    dtype: DType,
    out: &mut Outs<'_>,
) -> Result<()> {
    let mut slot = Slot::new(out);
    let target = match dtype {
        DType::U8 => Target::U8(&mut slot),
        DType::U16 => Target::U16(&mut slot),
        _ => Target::F32(&mut slot),
    };
    decode(bytes, options, target).map_err(|e| explain(image_error(e), bytes))
}

/// The error of a decoder, with what the bytes look like.
pub(crate) fn explain(e: Error, bytes: &[u8]) -> Error {
    let mut told =
        Error::new(e.kind(), format!("{}; the {} bytes {}", e.message(), bytes.len(), looks_like(bytes)));
    for frame in e.context() {
        told = told.frame(Frame::clone(frame));
    }
    match e.advice() {
        Some(hint) => told.hint(hint),
        None => told,
    }
}

/// What bytes look like, for messages.
pub(crate) fn looks_like(bytes: &[u8]) -> String {
    const SHOWN: usize = 24;
    if bytes.is_empty() {
        return "are none".into();
    }
    if let Some(format) = gristmill_image::sniff(bytes) {
        return format!("begin like {}", format.name());
    }
    let start = &bytes[..bytes.len().min(SHOWN)];
    let printable = |b: &u8| (b' '..=b'~').contains(b) || matches!(b, b'\n' | b'\r' | b'\t');
    if start.iter().all(printable) {
        return format!("look like text: {:?}", String::from_utf8_lossy(start));
    }
    if bytes.starts_with(&[0x1F, 0x8B]) {
        return "begin like gzip".into();
    }
    let hex: Vec<String> = start.iter().take(8).map(|b| format!("{b:02x}")).collect();
    format!("begin {}", hex.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_named() {
        assert_eq!(looks_like(b""), "are none");
        assert_eq!(looks_like(b"<html>\n"), r#"look like text: "<html>\n""#);
        assert_eq!(looks_like(b"GIF89a"), "begin like GIF");
        assert_eq!(looks_like(&[0x1F, 0x8B, 8]), "begin like gzip");
        assert_eq!(looks_like(&[0, 255, 16]), "begin 00 ff 10");
    }
}
