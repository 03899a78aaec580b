//! Kernels that work on each string on its own.

use crate::array::support::flat::{OnFlat, with_dtype};
use gristmill_plan::{Arg, Kernel, OpCx, Outs};
use gristmill_types::{Bytes, DType, Element, Error, Result, Spec, Tensor, Value};

/// The spec of a result of that dtype for each string.
pub(super) fn infer(args: &[Arg], dtype: DType) -> Result<Vec<Spec>> {
    expect_strings(args[0].dtype())?;
    Ok(vec![with_dtype(&args[0].spec, dtype)])
}

pub(super) fn expect_strings(found: DType) -> Result<()> {
    if found == DType::String {
        return Ok(());
    }
    Err(Error::invalid(format!("expected strings, found {found}")).hint("strings.as_string prints numbers"))
}

/// A kernel from strings to strings.
pub(super) fn to_string(
    f: impl Fn(&Bytes) -> Result<Bytes> + Send + Sync + 'static,
) -> Result<Box<dyn Kernel>> {
    Ok(Box::new(OnFlat(move |_: &mut OpCx<'_>, inputs: &[Value], out: &mut Outs<'_>| {
        let t = inputs[0].tensor()?;
        expect_strings(t.dtype())?;
        let items = t.as_strings().iter().map(&f).collect::<Result<Vec<_>>>()?;
        out.put(0, strings(t, items)?);
        Ok(())
    })))
}

/// A tensor of the shape of `t`.
pub(super) fn strings(t: &Tensor, mut items: Vec<Bytes>) -> Result<Tensor> {
    match (t.shape().rank(), items.pop()) {
        (0, Some(one)) => Ok(Tensor::string(one)),
        (_, last) => {
            items.extend(last);
            Tensor::strings(*t.shape(), items)
        }
    }
}

/// A kernel from strings to numbers.
pub(super) fn to_number<T: Element>(
    f: impl Fn(&Bytes) -> Result<T> + Send + Sync + 'static,
) -> Result<Box<dyn Kernel>> {
    Ok(Box::new(OnFlat(move |_: &mut OpCx<'_>, inputs: &[Value], out: &mut Outs<'_>| {
        let t = inputs[0].tensor()?;
        expect_strings(t.dtype())?;
        for (to, s) in out.typed::<T>(0, *t.shape()).iter_mut().zip(t.as_strings()) {
            *to = f(s)?;
        }
        Ok(())
    })))
}

/// The length of the UTF-8 character that starts with this byte; 1 for stray bytes.
pub(super) fn char_len(first: u8) -> usize {
    match first {
        0xC0..=0xDF => 2,
        0xE0..=0xEF => 3,
        0xF0..=0xF7 => 4,
        _ => 1,
    }
}

/// Where the characters of a string start, and its end.
pub(super) fn char_starts(s: &[u8]) -> Vec<usize> {
    let (mut out, mut at) = (vec![0], 0);
    while at < s.len() {
        at = (at + char_len(s[at])).min(s.len());
        out.push(at);
    }
    out
}

/// Whether a `unit` argument means characters.
pub(super) fn utf8_unit(unit: &str) -> Result<bool> {
    match unit {
        "BYTE" => Ok(false),
        "UTF8_CHAR" => Ok(true),
        other => Err(Error::invalid(format!("unit must be BYTE or UTF8_CHAR, found {other}"))),
    }
}
