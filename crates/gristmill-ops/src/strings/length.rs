//! `strings.length`.

use super::each;
use gristmill_plan::{ArgDef, Class, OpDef};
use gristmill_types::DType;

pub(crate) static OP: OpDef = OpDef {
    name: "strings.length",
    doc: "The length of each string, int32.",
    inputs: &[ArgDef { name: "input", doc: "strings" }],
    attrs: &[ArgDef { name: "unit", doc: "BYTE (default) or UTF8_CHAR" }],
    class: Class::Pure,
    total: true,
    elementwise: true,
    infer: |args, attrs| {
        each::utf8_unit(&attrs.str_or("unit", "BYTE".into())?)?;
        each::infer(args, DType::I32)
    },
    kernel: |_, attrs| {
        let chars = each::utf8_unit(&attrs.str_or("unit", "BYTE".into())?)?;
        each::to_number(move |s| {
            Ok(if chars { s.iter().filter(|b| **b & 0xC0 != 0x80).count() } else { s.len() } as i32)
        })
    },
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{attrs, eval};
    use gristmill_plan::Attr;
    use gristmill_types::Tensor;

    #[test]
    fn bytes_and_characters() {
        let x = [Tensor::string_vector(vec!["hé".into(), "".into()]).into()];
        assert_eq!(eval(&OP, &x, attrs(&[])).unwrap()[0], Tensor::vector(&[3i32, 0]).into());
        let chars = attrs(&[("unit", Attr::Str("UTF8_CHAR".into()))]);
        assert_eq!(eval(&OP, &x, chars).unwrap()[0], Tensor::vector(&[2i32, 0]).into());
    }
}
