//! `strings.to_number`: numbers read from strings.

use super::each;
use gristmill_plan::{ArgDef, Attrs, Class, Kernel, OpDef};
use gristmill_types::{DType, Error, Result};

pub(crate) static OP: OpDef = OpDef {
    name: "strings.to_number",
    doc: "The number that each string holds.\n\n\
          Spaces around it are allowed. Floats may be hexadecimal integers, inf and nan; too large ones are infinite. \
          An integer out of range is an error, and so is anything else.",
    inputs: &[ArgDef { name: "input", doc: "strings" }],
    attrs: &[ArgDef { name: "out_type", doc: "float32 (default), float64, int32, int64, uint32 or uint64" }],
    class: Class::Pure,
    total: false,
    elementwise: true,
    infer: |args, attrs| {
        let dtype = out_type(attrs)?;
        each::infer(args, dtype)
    },
    kernel,
};

fn out_type(attrs: &Attrs) -> Result<DType> {
    match attrs.dtype_or("out_type", DType::F32)? {
        d @ (DType::F32 | DType::F64 | DType::I32 | DType::I64 | DType::U32 | DType::U64) => Ok(d),
        d => Err(Error::invalid(format!("out_type must be a 32- or 64-bit number, found {d}"))),
    }
}

fn trimmed(s: &[u8]) -> Option<&str> {
    let space = |c: char| matches!(c, ' ' | '\t'..='\r');
    std::str::from_utf8(s).ok().map(|s| s.trim_matches(space))
}

/// Digits with an optional minus; nothing else.
fn integer(s: &[u8]) -> Option<i128> {
    let s = trimmed(s)?;
    let digits = s.strip_prefix('-').unwrap_or(s);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    s.parse().ok()
}

/// A number in decimal or hexadecimal; `parse` reads decimals.
fn float<T: std::str::FromStr>(s: &[u8], from_f64: impl Fn(f64) -> T) -> Option<T> {
    let s = trimmed(s)?;
    let (sign, rest) = match s.as_bytes().first()? {
        b'-' => (-1.0, &s[1..]),
        b'+' => (1.0, &s[1..]),
        _ => (1.0, s),
    };
    match rest.strip_prefix("0x").or_else(|| rest.strip_prefix("0X")) {
        Some(hex) if !hex.is_empty() && hex.bytes().all(|b| b.is_ascii_hexdigit()) => {
            let digit = |b: u8| f64::from((b as char).to_digit(16).unwrap_or(0));
            Some(from_f64(sign * hex.bytes().fold(0.0, |v, b| v * 16.0 + digit(b))))
        }
        Some(_) => None,
        None => s.parse().ok(),
    }
}

fn refuse(s: &[u8]) -> Error {
    Error::invalid(format!("StringToNumberOp could not correctly convert string: {}", s.escape_ascii()))
}

fn kernel(_: &[gristmill_plan::Arg], attrs: &Attrs) -> Result<Box<dyn Kernel>> {
    macro_rules! whole {
        ($t:ty) => {
            each::to_number(|s| integer(s).and_then(|v| <$t>::try_from(v).ok()).ok_or_else(|| refuse(s)))
        };
    }
    match out_type(attrs)? {
        DType::F64 => each::to_number(|s| float::<f64>(s, |v| v).ok_or_else(|| refuse(s))),
        DType::I32 => whole!(i32),
        DType::I64 => whole!(i64),
        DType::U32 => whole!(u32),
        DType::U64 => whole!(u64),
        _ => each::to_number(|s| float::<f32>(s, |v| v as f32).ok_or_else(|| refuse(s))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{attrs, eval};
    use gristmill_plan::Attr;
    use gristmill_types::Tensor;

    fn call(s: &str, dtype: DType) -> Result<Tensor> {
        eval(&OP, &[Tensor::string(s).into()], attrs(&[("out_type", Attr::DType(dtype))]))
            .map(|o| o[0].tensor().unwrap().clone())
    }

    #[test]
    fn reads_numbers() {
        for (s, v) in [
            ("1.5", 1.5),
            ("-2e3", -2000.0),
            ("  7 ", 7.0),
            ("inf", f32::INFINITY),
            (".5", 0.5),
            ("1e40", f32::INFINITY),
            ("0x1F", 31.0),
        ] {
            assert_eq!(call(s, DType::F32).unwrap(), Tensor::scalar(v), "{s}");
        }
        assert!(call("nan", DType::F32).unwrap().item::<f32>().unwrap().is_nan());
        assert_eq!(call(" -5 ", DType::I32).unwrap(), Tensor::scalar(-5i32));
        assert_eq!(call("9223372036854775807", DType::I64).unwrap(), Tensor::scalar(i64::MAX));
    }

    #[test]
    fn refuses_the_rest() {
        for (s, d) in [
            ("", DType::F32),
            ("1.5", DType::I32),
            ("abc", DType::F32),
            ("2147483648", DType::I32),
            ("+1", DType::I64),
            ("0x", DType::F64),
        ] {
            let e = call(s, d).unwrap_err().to_string();
            assert!(e.contains(&format!("could not correctly convert string: {s}")), "{e}");
        }
    }
}
