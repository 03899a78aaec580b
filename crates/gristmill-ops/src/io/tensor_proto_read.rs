//! Reading `tensorflow.TensorProto` (`tensorflow/core/framework/tensor.proto`).

use gristmill_example::wire::{Cursor, FIXED32, FIXED64, LEN, Malformed, VARINT};
use gristmill_types::{Buffer, Bytes, DType, Error, Result, Shape, Tensor, with_element};
use half::{bf16, f16};
use std::ops::Range;

/// Numbers of `tensorflow.DataType`.
const NUMBERS: [(DType, u64); 14] = [
    (DType::F32, 1),
    (DType::F64, 2),
    (DType::I32, 3),
    (DType::U8, 4),
    (DType::I16, 5),
    (DType::I8, 6),
    (DType::String, 7),
    (DType::I64, 9),
    (DType::Bool, 10),
    (DType::BF16, 14),
    (DType::U16, 17),
    (DType::F16, 19),
    (DType::U32, 22),
    (DType::U64, 23),
];

/// Elements that a tensor may have whose values the message does not all contain: it repeats the
/// last one, and a few bytes must not become gigabytes.
const MOST_REPEATED: usize = 1 << 24;

/// The number of a dtype.
pub(crate) fn number_of(dtype: DType) -> u64 {
    NUMBERS.iter().find(|(d, _)| *d == dtype).map_or(0, |(_, n)| *n)
}

/// What a message holds, before its values are made a tensor.
#[derive(Default)]
struct Parts {
    dtype: u64,
    dims: Vec<usize>,
    content: Option<Range<usize>>,
    /// Floats, doubles and integers as bits, from whatever field they came.
    numbers: Vec<u64>,
    /// Field of the numbers.
    field: u32,
    strings: Vec<Range<usize>>,
}

enum Refused {
    Malformed,
    Shape(Error),
}

impl From<Malformed> for Refused {
    fn from(_: Malformed) -> Self {
        Self::Malformed
    }
}

/// Reads a tensor.
///
/// # Errors
/// `InvalidArgument` in TensorFlow's words for bytes that are no `TensorProto` or one of another
/// dtype.
pub(crate) fn parse(bytes: &Bytes, wanted: DType) -> Result<Tensor> {
    let broken = |why: &str| {
        Error::invalid(format!("Could not parse `serialized` as TensorProto, {} bytes: {why}", bytes.len()))
    };
    let parts = read(bytes).map_err(|e| match e {
        Refused::Malformed => broken("the bytes are no such message"),
        Refused::Shape(e) => broken(e.message()),
    })?;
    let found = NUMBERS.iter().find(|(_, n)| *n == parts.dtype).map(|(d, _)| *d);
    let Some(found) = found else {
        return Err(broken(&format!("data type number {} is not supported", parts.dtype)));
    };
    if found != wanted {
        return Err(Error::invalid(format!(
            "Type mismatch between parsed tensor ({}) and dtype ({})",
            found.kernel_name(),
            wanted.kernel_name()
        )));
    }
    let shape = Shape::new(&parts.dims)?;
    tensor(bytes, parts, found, shape).map_err(|why| broken(&why))
}

fn read(data: &[u8]) -> Result<Parts, Refused> {
    let mut parts = Parts::default();
    let mut c = Cursor::new(data);
    while !c.at_end() {
        let tag = c.tag()?;
        match (tag >> 3, tag & 7) {
            (1, VARINT) => parts.dtype = c.varint()?,
            (2, LEN) => shape(data, c.delimited()?, &mut parts.dims)?,
            (4, LEN) => parts.content = Some(c.delimited()?),
            (8, LEN) => parts.strings.push(c.delimited()?),
            (field @ (5 | 6 | 7 | 10 | 11 | 13 | 16 | 17), wire) => {
                values(data, &mut c, field, wire, tag, &mut parts)?
            }
            _ => c.skip(tag)?,
        }
    }
    Ok(parts)
}

/// One field of numbers, packed or not.
fn values(
    data: &[u8],
    c: &mut Cursor<'_>,
    field: u32,
    wire: u32,
    tag: u32,
    parts: &mut Parts,
) -> Result<(), Malformed> {
    let own = match field {
        5 => FIXED32,
        6 => FIXED64,
        _ => VARINT,
    };
    parts.field = field;
    if wire == own {
        parts.numbers.push(one(data, c, own)?);
    } else if wire == LEN {
        let mut packed = Cursor::within(data, c.delimited()?);
        while !packed.at_end() {
            parts.numbers.push(one(data, &mut packed, own)?);
        }
    } else {
        c.skip(tag)?;
    }
    Ok(())
}

fn one(data: &[u8], c: &mut Cursor<'_>, wire: u32) -> Result<u64, Malformed> {
    Ok(match wire {
        VARINT => c.varint()?,
        _ => {
            let n = if wire == FIXED32 { 4 } else { 8 };
            data[c.fixed(n)?].iter().rev().fold(0, |v, &b| v << 8 | u64::from(b))
        }
    })
}

/// The dimensions of a `TensorShapeProto`.
fn shape(data: &[u8], range: Range<usize>, dims: &mut Vec<usize>) -> Result<(), Refused> {
    let mut c = Cursor::within(data, range);
    while !c.at_end() {
        let tag = c.tag()?;
        match (tag >> 3, tag & 7) {
            (2, LEN) => {
                let mut size = 0;
                let mut d = Cursor::within(data, c.delimited()?);
                while !d.at_end() {
                    let tag = d.tag()?;
                    match (tag >> 3, tag & 7) {
                        (1, VARINT) => size = d.varint()?,
                        _ => d.skip(tag)?,
                    }
                }
                let size = usize::try_from(size as i64).map_err(|_| {
                    Refused::Shape(Error::invalid(format!("dimension {} is negative", size as i64)))
                })?;
                dims.push(size);
                if dims.len() > gristmill_types::shape::MAX_RANK {
                    return Err(Refused::Shape(Error::invalid("the shape has too many dimensions")));
                }
            }
            _ => c.skip(tag)?,
        }
    }
    Ok(())
}

fn tensor(bytes: &Bytes, parts: Parts, dtype: DType, shape: Shape) -> Result<Tensor, String> {
    let count = shape.count();
    if dtype == DType::String {
        return strings(bytes, &parts, shape);
    }
    if let Some(content) = parts.content.filter(|c| !c.is_empty()) {
        let need = count * dtype.size();
        if content.len() != need {
            return Err(format!("{} bytes of content, shape {shape} takes {need}", content.len()));
        }
        let mut raw = bytes[content].to_vec();
        if cfg!(target_endian = "big") {
            raw.chunks_exact_mut(dtype.size()).for_each(<[u8]>::reverse);
        }
        if dtype == DType::Bool {
            raw.iter_mut().for_each(|b| *b = u8::from(*b != 0));
        }
        return Tensor::from_bytes(dtype, shape, &raw).map_err(|e| e.message().to_owned());
    }
    let fits = match parts.field {
        0 => true,
        5 => dtype == DType::F32,
        6 => dtype == DType::F64,
        10 => dtype == DType::I64,
        11 => dtype == DType::Bool,
        13 => matches!(dtype, DType::F16 | DType::BF16),
        16 => dtype == DType::U32,
        17 => dtype == DType::U64,
        _ => matches!(dtype, DType::I32 | DType::I16 | DType::I8 | DType::U8 | DType::U16),
    };
    check_count(parts.numbers.len(), count, fits)?;
    let mut buffer = Buffer::zeroed(count * dtype.size());
    let numbers = (0..count).map(|i| parts.numbers.get(i).or(parts.numbers.last()).copied().unwrap_or(0));
    with_element!(dtype, T => {
        let dst = gristmill_types::elements::cast_slice_mut::<T>(buffer.as_mut_slice()).expect("buffers are aligned");
        dst.iter_mut().zip(numbers).for_each(|(d, bits)| *d = T::of(bits));
        if dtype == DType::Bool {
            buffer.as_mut_slice().iter_mut().for_each(|b| *b = u8::from(*b != 0));
        }
    }, _ => {});
    Tensor::from_buffer(dtype, shape, buffer).map_err(|e| e.message().to_owned())
}

fn check_count(given: usize, count: usize, fits: bool) -> Result<(), String> {
    if !fits || given > count {
        return Err(format!("{given} values of another kind or number than its {count} elements"));
    }
    if given < count && count > MOST_REPEATED {
        return Err(format!("{given} values for {count} elements"));
    }
    Ok(())
}

fn strings(bytes: &Bytes, parts: &Parts, shape: Shape) -> Result<Tensor, String> {
    check_count(parts.strings.len(), shape.count(), parts.numbers.is_empty())?;
    if parts.strings.len() < shape.count() && shape.count() > MOST_REPEATED / 32 {
        return Err(format!("{} strings for shape {shape}", parts.strings.len()));
    }
    let item = |r: &Range<usize>| bytes.slice(r.start, r.len());
    let items =
        (0..shape.count()).map(|i| parts.strings.get(i).or(parts.strings.last()).map_or(Bytes::EMPTY, item));
    Tensor::strings(shape, items.collect()).map_err(|e| e.message().to_owned())
}

/// A number from the bits of a field of the message.
trait OfBits {
    fn of(bits: u64) -> Self;
}

macro_rules! of_bits {
    ($($t:ty => $of:expr),*) => { $(impl OfBits for $t {
        fn of(bits: u64) -> Self {
            let of: fn(u64) -> Self = $of;
            of(bits)
        }
    })* };
}

of_bits!(u8 => |b| b as u8, u16 => |b| b as u16, u32 => |b| b as u32, u64 => |b| b, i8 => |b| b as i8, i16 => |b| b as i16,
         i32 => |b| b as i32, i64 => |b| b as i64, f16 => |b| f16::from_bits(b as u16), bf16 => |b| bf16::from_bits(b as u16),
         f32 => |b| f32::from_bits(b as u32), f64 => f64::from_bits);

#[cfg(test)]
mod tests {
    use super::*;

    fn read_as(bytes: &[u8], dtype: DType) -> Result<Tensor> {
        parse(&Bytes::copy_from(bytes), dtype)
    }

    #[test]
    fn values_in_fields_repeat_the_last() {
        // int32 [3], int_val: 5, 7 (packed).
        let t = read_as(&[8, 3, 0x12, 4, 0x12, 2, 8, 3, 0x3A, 2, 5, 7], DType::I32).unwrap();
        assert_eq!(t, Tensor::vector(&[5i32, 7, 7]));
        // float scalar, float_val 1.0 unpacked.
        let t = read_as(&[8, 1, 0x12, 0, 0x2D, 0, 0, 0x80, 0x3F], DType::F32).unwrap();
        assert_eq!(t, Tensor::scalar(1f32));
        assert_eq!(read_as(&[8, 7, 0x42, 1, b'x'], DType::String).unwrap(), Tensor::string("x"));
    }

    #[test]
    fn hostile_messages() {
        let fail = |b: &[u8], d| read_as(b, d).unwrap_err().message().to_owned();
        assert!(fail(&[7, 7], DType::I32).contains("Could not parse `serialized` as TensorProto"));
        assert!(
            fail(&[8, 1, 0x12, 0], DType::I32)
                .contains("Type mismatch between parsed tensor (float) and dtype (int32)")
        );
        // A huge shape without values.
        let huge = [8, 3, 0x12, 8, 0x12, 6, 8, 0x80, 0x80, 0x80, 0x80, 0x7F];
        assert!(fail(&huge, DType::I32).contains("elements"));
        // A negative dimension.
        let negative = [8, 3, 0x12, 13, 0x12, 11, 8, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1];
        assert!(fail(&negative, DType::I32).contains("dimension -1 is negative"));
        assert!(fail(&[8, 3, 0x22, 1, 0], DType::I32).contains("1 bytes of content"));
    }
}
