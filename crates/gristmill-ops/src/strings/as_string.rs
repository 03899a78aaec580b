//! `strings.as_string`: numbers printed.

use crate::array::support::flat::{OnFlat, with_dtype};
use gristmill_plan::{ArgDef, Attrs, Class, Kernel, OpCx, OpDef, Outs};
use gristmill_types::{Bytes, DType, Error, Result, Tensor, Value};

pub(crate) static OP: OpDef = OpDef {
    name: "strings.as_string",
    doc: "Each number printed as C's printf does; floats get 6 decimals unless told otherwise.",
    inputs: &[ArgDef { name: "input", doc: "numbers, bools or strings" }],
    attrs: &[
        ArgDef { name: "precision", doc: "digits after the point; -1 (default) is 6. Floats only" },
        ArgDef { name: "scientific", doc: "whether floats are printed as 1.5e+00; default False" },
        ArgDef { name: "shortest", doc: "whether the shorter of both forms is printed; default False" },
        ArgDef { name: "width", doc: "least number of characters; -1 (default) is no limit" },
        ArgDef {
            name: "fill",
            doc: "what fills up to width: empty or space (default), 0, or - to fill at the end",
        },
    ],
    class: Class::Pure,
    total: true,
    elementwise: true,
    infer: |args, attrs| {
        Format::of(attrs, args[0].dtype())?;
        Ok(vec![with_dtype(&args[0].spec, DType::String)])
    },
    kernel,
};

#[derive(Clone, Copy, PartialEq)]
enum Style {
    Fixed,
    Scientific,
    Shortest,
}

#[derive(Clone)]
struct Format {
    style: Style,
    precision: usize,
    width: usize,
    fill: String,
}

impl Format {
    fn of(attrs: &Attrs, dtype: DType) -> Result<Self> {
        let (scientific, shortest) = (attrs.bool_or("scientific", false)?, attrs.bool_or("shortest", false)?);
        let (precision, width) = (attrs.int_or("precision", -1)?, attrs.int_or("width", -1)?);
        let fill = attrs.str_or("fill", String::new())?;
        if scientific && shortest {
            return Err(Error::invalid("cannot select both scientific and shortest notation"));
        }
        if !dtype.is_float() && (scientific || shortest || precision >= 0) {
            return Err(Error::invalid(format!(
                "scientific, shortest and precision are for floats, found {dtype}"
            )));
        }
        if !matches!(fill.as_str(), "" | " " | "0" | "-") {
            return Err(Error::invalid(format!("fill must be empty, a space, 0 or -, found {fill:?}")));
        }
        if precision > 1000 || width > 1000 {
            return Err(Error::invalid("precision and width must be at most 1000"));
        }
        let style = if scientific {
            Style::Scientific
        } else if shortest {
            Style::Shortest
        } else {
            Style::Fixed
        };
        Ok(Self {
            style,
            precision: usize::try_from(precision).unwrap_or(6),
            width: usize::try_from(width).unwrap_or(0),
            fill,
        })
    }

    fn float(&self, v: f64) -> String {
        if v.is_nan() {
            return "nan".into();
        }
        if v.is_infinite() {
            return if v > 0.0 { "inf" } else { "-inf" }.into();
        }
        match self.style {
            Style::Fixed => format!("{v:.*}", self.precision),
            Style::Scientific => scientific(v, self.precision),
            Style::Shortest => shortest(v, self.precision.max(1)),
        }
    }

    fn padded(&self, s: String) -> Bytes {
        let missing = self.width.saturating_sub(s.len());
        let text = match self.fill.as_str() {
            _ if missing == 0 => s,
            "-" => s + &" ".repeat(missing),
            "0" => {
                let (sign, digits) = s.split_at(usize::from(s.starts_with('-')));
                format!("{sign}{}{digits}", "0".repeat(missing))
            }
            _ => " ".repeat(missing) + &s,
        };
        Bytes::from(text.as_str())
    }
}

/// C's `%e`: an exponent with sign and at least two digits.
fn scientific(v: f64, precision: usize) -> String {
    let s = format!("{v:.precision$e}");
    let (mantissa, exponent) = s.split_once('e').unwrap_or((&s, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    format!("{mantissa}e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs())
}

/// C's `%g`.
fn shortest(v: f64, precision: usize) -> String {
    let e = scientific(v, precision - 1);
    let exponent: i32 = e.split_once('e').and_then(|(_, x)| x.parse().ok()).unwrap_or(0);
    let trim = |s: &str| {
        if s.contains('.') {
            s.trim_end_matches('0').trim_end_matches('.').to_string()
        } else {
            s.to_string()
        }
    };
    if exponent < -4 || exponent >= precision as i32 {
        let (mantissa, x) = e.split_once('e').unwrap_or((&e, "+00"));
        return format!("{}e{x}", trim(mantissa));
    }
    trim(&format!("{v:.*}", (precision as i32 - 1 - exponent).max(0) as usize))
}

fn kernel(args: &[gristmill_plan::Arg], attrs: &Attrs) -> Result<Box<dyn Kernel>> {
    let format = Format::of(attrs, args[0].dtype())?;
    Ok(Box::new(OnFlat(move |_: &mut OpCx<'_>, inputs: &[Value], out: &mut Outs<'_>| {
        let t = inputs[0].tensor()?;
        let items = print(t, &format)?;
        out.put(0, super::each::strings(t, items)?);
        Ok(())
    })))
}

fn print(t: &Tensor, f: &Format) -> Result<Vec<Bytes>> {
    macro_rules! whole {
        ($t:ty) => {
            t.as_slice::<$t>()?.iter().map(|v| f.padded(v.to_string())).collect()
        };
    }
    macro_rules! real {
        ($t:ty, $wide:expr) => {
            t.as_slice::<$t>()?.iter().map(|v| f.padded(f.float($wide(*v)))).collect()
        };
    }
    Ok(match t.dtype() {
        DType::String => t.as_strings().to_vec(),
        DType::Bool => t.bytes().iter().map(|v| f.padded((*v != 0).to_string())).collect(),
        DType::U8 => whole!(u8),
        DType::U16 => whole!(u16),
        DType::U32 => whole!(u32),
        DType::U64 => whole!(u64),
        DType::I8 => whole!(i8),
        DType::I16 => whole!(i16),
        DType::I32 => whole!(i32),
        DType::I64 => whole!(i64),
        DType::F16 => real!(half::f16, half::f16::to_f64),
        DType::BF16 => real!(half::bf16, half::bf16::to_f64),
        DType::F32 => real!(f32, f64::from),
        DType::F64 => real!(f64, f64::from),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{attrs, eval};
    use gristmill_plan::Attr;

    fn call(t: Tensor, a: &[(&str, Attr)]) -> String {
        let out = eval(&OP, &[t.into()], attrs(a)).unwrap();
        String::from_utf8(out[0].tensor().unwrap().as_strings()[0].to_vec()).unwrap()
    }

    #[test]
    fn prints_as_printf() {
        assert_eq!(call(Tensor::scalar(-0.0f32), &[]), "-0.000000");
        assert_eq!(call(Tensor::scalar(1e10f32), &[]), "10000000000.000000");
        assert_eq!(call(Tensor::scalar(2.345f32), &[("precision", Attr::Int(2))]), "2.35");
        assert_eq!(call(Tensor::scalar(1500.0f64), &[("scientific", Attr::Bool(true))]), "1.500000e+03");
        for (v, text) in [
            (0.0001, "0.0001"),
            (1e-5, "1e-05"),
            (123456.0, "123456"),
            (1234567.0, "1.23457e+06"),
            (0.5, "0.5"),
            (0.0, "0"),
        ] {
            assert_eq!(call(Tensor::scalar(v), &[("shortest", Attr::Bool(true))]), text);
        }
        let wide = [("width", Attr::Int(4)), ("fill", Attr::Str("0".into()))];
        assert_eq!(call(Tensor::scalar(-7i32), &wide), "-007");
        assert_eq!(call(Tensor::scalar(7i64), &[]), "7");
        assert_eq!(call(Tensor::bool(true), &[]), "true");
        assert_eq!(call(Tensor::scalar(f32::NEG_INFINITY), &[]), "-inf");
    }
}
