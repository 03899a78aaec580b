//! `io.encode_base64` and `io.decode_base64`: the web-safe alphabet of RFC 4648.

use crate::image::common::{MadeKernel, Specs, dense, kernel_of};
use gristmill_plan::{Arg, ArgDef, Attrs, Class, OpDef};
use gristmill_types::{Bytes, DType, Error, Result, Tensor};

const INPUT: ArgDef = ArgDef { name: "input", doc: "strings of any shape" };

pub(crate) static ENCODE: OpDef = OpDef {
    name: "io.encode_base64",
    doc: "Encodes strings as web-safe base64.\n\nStrings of the input's shape; '-' and '_' stand for '+' and '/'.",
    inputs: &[INPUT],
    attrs: &[ArgDef { name: "pad", doc: "whether '=' fills up to a multiple of 4; default False" }],
    class: Class::Pure,
    total: true,
    elementwise: true,
    infer,
    kernel: kernel_encode,
};

pub(crate) static DECODE: OpDef = OpDef {
    name: "io.decode_base64",
    doc: "Decodes web-safe base64, with or without padding.\n\nStrings of the input's shape.",
    inputs: &[INPUT],
    attrs: &[],
    class: Class::Pure,
    total: false,
    elementwise: true,
    infer,
    kernel: kernel_decode,
};

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

fn infer(args: &[Arg], _: &Attrs) -> Specs {
    dense(&args[0], "input")?;
    if args[0].dtype() != DType::String {
        return Err(Error::invalid(format!("input must be strings, found {}", args[0].spec)));
    }
    Ok(vec![args[0].spec.clone()])
}

fn encode(bytes: &[u8], pad: bool) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let at = |i: usize| u32::from(group.get(i).copied().unwrap_or(0));
        let word = at(0) << 16 | at(1) << 8 | at(2);
        let digits = (0..4).map(|i| ALPHABET[(word >> (18 - 6 * i)) as usize & 63]);
        out.extend(digits.take(group.len() + 1));
        if pad {
            out.extend(std::iter::repeat_n(b'=', 3 - group.len()));
        }
    }
    out
}

fn decode(text: &[u8]) -> Result<Vec<u8>> {
    let padding = text.iter().rev().take_while(|&&b| b == b'=').count();
    let digits = &text[..text.len() - padding];
    if digits.len() % 4 == 1 || padding > 2 || (padding > 0 && !text.len().is_multiple_of(4)) {
        return Err(Error::invalid(format!("Base64 string has invalid length {}", text.len())));
    }
    let mut out = Vec::with_capacity(digits.len() * 3 / 4);
    for (g, group) in digits.chunks(4).enumerate() {
        let mut word = 0u32;
        for i in 0..4 {
            let digit = match group.get(i) {
                None => 0,
                Some(b) => ALPHABET.iter().position(|a| a == b).ok_or_else(|| {
                    Error::invalid(format!(
                        "Invalid character found in base64: {:?} at byte {}",
                        *b as char,
                        4 * g + i
                    ))
                    .hint("the alphabet is the web-safe one: '-' and '_' instead of '+' and '/'")
                })?,
            };
            word = word << 6 | digit as u32;
        }
        out.extend_from_slice(&word.to_be_bytes()[1..group.len()]);
    }
    Ok(out)
}

fn kernel_encode(_: &[Arg], attrs: &Attrs) -> MadeKernel {
    let pad = attrs.bool_or("pad", false)?;
    kernel_of(move |_, inputs, out| {
        let t = inputs[0].tensor()?;
        let items: Vec<Bytes> = t.as_strings().iter().map(|s| encode(s, pad).into()).collect();
        out.put(0, Tensor::strings(*t.shape(), items)?);
        Ok(())
    })
}

fn kernel_decode(_: &[Arg], _: &Attrs) -> MadeKernel {
    kernel_of(|_, inputs, out| {
        let t = inputs[0].tensor()?;
        let items = t.as_strings().iter().map(|s| decode(s).map(Bytes::from)).collect::<Result<Vec<_>>>()?;
        out.put(0, Tensor::strings(*t.shape(), items)?);
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{attrs, eval};
    use gristmill_plan::Attr;

    #[test]
    fn there_and_back() {
        for (plain, coded, padded) in
            [("", "", ""), ("f", "Zg", "Zg=="), ("fo", "Zm8", "Zm8="), ("foo", "Zm9v", "Zm9v")]
        {
            let x = Tensor::string(plain);
            let run = |op, x: &str, a| eval(op, &[Tensor::string(x).into()], a).unwrap();
            assert_eq!(run(&ENCODE, plain, Attrs::default()), [Tensor::string(coded).into()]);
            assert_eq!(
                run(&ENCODE, plain, attrs(&[("pad", Attr::Bool(true))])),
                [Tensor::string(padded).into()]
            );
            assert_eq!(run(&DECODE, coded, Attrs::default()), [x.clone().into()]);
            assert_eq!(run(&DECODE, padded, Attrs::default()), [x.into()]);
        }
        assert_eq!(encode(&[0xFB, 0xFF], false), b"-_8");
        assert!(decode(b"a").is_err() && decode(b"ab+=").is_err() && decode(b"=").is_err());
    }
}
