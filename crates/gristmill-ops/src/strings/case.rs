//! `strings.lower`, `strings.upper` and `strings.strip`.

use super::each;
use gristmill_plan::{ArgDef, Attrs, Class, Kernel, OpDef};
use gristmill_types::{Bytes, DType, Error, Result};

const INPUTS: &[ArgDef] = &[ArgDef { name: "input", doc: "strings" }];
const ENCODING: &[ArgDef] =
    &[ArgDef { name: "encoding", doc: "empty (default): ASCII letters only; utf-8: all letters" }];

pub(crate) static LOWER: OpDef = OpDef {
    name: "strings.lower",
    doc: "Each string in lower case.",
    inputs: INPUTS,
    attrs: ENCODING,
    class: Class::Pure,
    total: false,
    elementwise: true,
    infer: |args, _| each::infer(args, DType::String),
    kernel: |_, attrs| kernel(attrs, <[u8]>::to_ascii_lowercase, str::to_lowercase),
};

pub(crate) static UPPER: OpDef = OpDef {
    name: "strings.upper",
    doc: "Each string in upper case.",
    inputs: INPUTS,
    attrs: ENCODING,
    class: Class::Pure,
    total: false,
    elementwise: true,
    infer: |args, _| each::infer(args, DType::String),
    kernel: |_, attrs| kernel(attrs, <[u8]>::to_ascii_uppercase, str::to_uppercase),
};

pub(crate) static STRIP: OpDef = OpDef {
    name: "strings.strip",
    doc: "Each string without white space at both ends.",
    inputs: INPUTS,
    attrs: &[],
    class: Class::Pure,
    total: true,
    elementwise: true,
    infer: |args, _| each::infer(args, DType::String),
    kernel: |_, _| {
        each::to_string(|s| {
            let space = |b: &&u8| matches!(**b, b' ' | 9..=13);
            let start = s.iter().take_while(space).count();
            let end = s.len() - s[start..].iter().rev().take_while(space).count();
            Ok(s.slice(start, end - start))
        })
    },
};

fn kernel(attrs: &Attrs, ascii: fn(&[u8]) -> Vec<u8>, all: fn(&str) -> String) -> Result<Box<dyn Kernel>> {
    match attrs.str_or("encoding", String::new())?.as_str() {
        "" => each::to_string(move |s| Ok(Bytes::from(ascii(s)))),
        "utf-8" => each::to_string(move |s| {
            let text = std::str::from_utf8(s)
                .map_err(|_| Error::invalid(format!("input is not valid UTF-8: {s:?}")))?;
            Ok(Bytes::from(all(text).as_str()))
        }),
        other => Err(Error::invalid(format!("encoding must be empty or utf-8, found {other}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{attrs, eval};
    use gristmill_plan::Attr;
    use gristmill_types::Tensor;

    #[test]
    fn changes_letters() {
        let call = |op: &OpDef, s: &str, a: Attrs| {
            eval(op, &[Tensor::string(s).into()], a).unwrap()[0].tensor().unwrap().as_strings()[0].to_vec()
        };
        assert_eq!(call(&LOWER, "ABC É", attrs(&[])), "abc É".as_bytes());
        assert_eq!(call(&UPPER, "abé", attrs(&[("encoding", Attr::Str("utf-8".into()))])), "ABÉ".as_bytes());
        assert_eq!(call(&STRIP, "  a b \n", attrs(&[])), b"a b");
        assert_eq!(call(&STRIP, "\t", attrs(&[])), b"");
    }
}
