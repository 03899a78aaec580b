//! `strings.substr`: parts of strings by position.

use super::each::{char_starts, expect_strings, utf8_unit};
use crate::array::support::walk::Walk;
use crate::array::support::{kernel_of, shapes};
use gristmill_plan::{Arg, ArgDef, Attrs, Class, Kernel, OpDef};
use gristmill_types::{Bytes, Error, Result, Spec, Tensor};

pub(crate) static OP: OpDef = OpDef {
    name: "strings.substr",
    doc: "The part of each string from a position on.\n\n\
          A negative position counts from the end; one outside the string is an error, a length over the end is cut.",
    inputs: &[
        ArgDef { name: "input", doc: "strings" },
        ArgDef { name: "pos", doc: "integers that broadcast with input" },
        ArgDef { name: "len", doc: "integers of the shape of pos" },
    ],
    attrs: &[ArgDef { name: "unit", doc: "BYTE (default) or UTF8_CHAR" }],
    class: Class::Pure,
    total: false,
    elementwise: true,
    infer,
    kernel,
};

fn infer(args: &[Arg], attrs: &Attrs) -> Result<Vec<Spec>> {
    expect_strings(args[0].dtype())?;
    shapes::expect_ints(&args[1], "pos")?;
    shapes::expect_ints(&args[2], "len")?;
    utf8_unit(&attrs.str_or("unit", "BYTE".into())?)?;
    let at = shapes::broadcast_partial(args[1].spec.shape(), args[2].spec.shape())?;
    Ok(vec![Spec::tensor(args[0].dtype(), shapes::broadcast_partial(args[0].spec.shape(), &at)?)])
}

fn part(s: &Bytes, pos: i64, len: i64, chars: bool, index: usize) -> Result<Bytes> {
    let starts = if chars { char_starts(s) } else { Vec::new() };
    let n = if chars { starts.len() - 1 } else { s.len() } as i64;
    if pos > n || pos < -n {
        return Err(Error::invalid(format!("pos {pos} out of range for string {s:?} at index {index}")));
    }
    let from = if pos < 0 { pos + n } else { pos };
    let to = from + len.clamp(0, n - from);
    let at = |i: i64| {
        if chars { starts[i as usize] } else { i as usize }
    };
    Ok(s.slice(at(from), at(to) - at(from)))
}

fn kernel(_: &[Arg], attrs: &Attrs) -> Result<Box<dyn Kernel>> {
    let chars = utf8_unit(&attrs.str_or("unit", "BYTE".into())?)?;
    kernel_of(move |inputs, out| {
        let [t, pos, len] = [inputs[0].tensor()?, inputs[1].tensor()?, inputs[2].tensor()?];
        expect_strings(t.dtype())?;
        let shape = shapes::broadcast(t.shape(), &shapes::broadcast(pos.shape(), len.shape())?)?;
        let (s, p, l) = (t.as_strings(), pos.to_i64s()?, len.to_i64s()?);
        let mut items = Vec::with_capacity(shape.count());
        let mut failed = None;
        Walk::new(&shape, [t.shape(), pos.shape(), len.shape()]).each(|_, n, [a, b, c], [sa, sb, sc]| {
            for k in 0..n {
                match part(&s[a + k * sa], p[b + k * sb], l[c + k * sc], chars, items.len()) {
                    Ok(part) => items.push(part),
                    Err(e) => {
                        failed.get_or_insert(e);
                    }
                }
            }
        });
        match failed {
            Some(e) => Err(e),
            None => {
                out.put(0, Tensor::strings(shape, items)?);
                Ok(())
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{attrs, eval};
    use gristmill_plan::Attr;

    #[test]
    fn parts() {
        let call = |s: &str, p: i32, l: i32, unit: &str| {
            let inputs = [Tensor::string(s).into(), Tensor::scalar(p).into(), Tensor::scalar(l).into()];
            eval(&OP, &inputs, attrs(&[("unit", Attr::Str(unit.into()))]))
                .map(|o| o[0].tensor().unwrap().as_strings()[0].to_vec())
        };
        assert_eq!(call("hello", 1, 3, "BYTE").unwrap(), b"ell");
        assert_eq!(call("hello", -3, 99, "BYTE").unwrap(), b"llo");
        assert_eq!(call("héllo", 1, 2, "UTF8_CHAR").unwrap(), "él".as_bytes());
        assert_eq!(call("abc", 3, 1, "BYTE").unwrap(), b"");
        let e = call("abc", 4, 1, "BYTE").unwrap_err().to_string();
        assert!(e.contains("pos 4 out of range for string b\"abc\" at index 0"), "{e}");
    }
}
