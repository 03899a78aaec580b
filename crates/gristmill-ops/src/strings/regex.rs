//! `strings.regex_replace` and `strings.regex_full_match`: RE2's expressions.

use super::each;
use crate::array::support::flat::{OnFlat, with_dtype};
use gristmill_plan::{Arg, ArgDef, Attrs, Class, Kernel, OpCx, OpDef, Outs};
use gristmill_types::{Bytes, DType, Error, Result, Value};
use regex::bytes::{Captures, Regex};

const INPUTS: &[ArgDef] = &[ArgDef { name: "input", doc: "strings" }];
const PATTERN: ArgDef = ArgDef { name: "pattern", doc: "a regular expression in RE2's syntax" };

pub(crate) static REPLACE: OpDef = OpDef {
    name: "strings.regex_replace",
    doc: "Each string with the matches of a pattern replaced.",
    inputs: INPUTS,
    attrs: &[
        PATTERN,
        ArgDef { name: "rewrite", doc: "the replacement; \\1 to \\9 are groups, \\0 is the whole match" },
        ArgDef {
            name: "replace_global",
            doc: "whether all matches are replaced (default) or only the first",
        },
    ],
    class: Class::Pure,
    total: true,
    elementwise: true,
    infer: |args, attrs| {
        let regex = compile(&attrs.str("pattern")?, false)?;
        rewrite(&attrs.str("rewrite")?, regex.captures_len())?;
        each::infer(args, DType::String)
    },
    kernel: |_, attrs| {
        let regex = compile(&attrs.str("pattern")?, false)?;
        let rewrite = rewrite(&attrs.str("rewrite")?, regex.captures_len())?;
        let most = if attrs.bool_or("replace_global", true)? { 0 } else { 1 };
        each::to_string(move |s| {
            let with = |c: &Captures<'_>| {
                let mut out = Vec::new();
                for part in &rewrite {
                    match part {
                        Part::Text(t) => out.extend_from_slice(t),
                        Part::Group(g) => out.extend_from_slice(c.get(*g).map_or(&[], |m| m.as_bytes())),
                    }
                }
                out
            };
            Ok(match regex.replacen(s, most, with) {
                std::borrow::Cow::Borrowed(_) => s.clone(),
                std::borrow::Cow::Owned(v) => Bytes::from(v),
            })
        })
    },
};

pub(crate) static FULL_MATCH: OpDef = OpDef {
    name: "strings.regex_full_match",
    doc: "Whether a pattern matches the whole of each string.",
    inputs: INPUTS,
    attrs: &[PATTERN],
    class: Class::Pure,
    total: true,
    elementwise: true,
    infer: |args: &[Arg], attrs: &Attrs| {
        compile(&attrs.str("pattern")?, true)?;
        each::expect_strings(args[0].dtype())?;
        Ok(vec![with_dtype(&args[0].spec, DType::Bool)])
    },
    kernel: kernel_match,
};

fn kernel_match(_: &[Arg], attrs: &Attrs) -> Result<Box<dyn Kernel>> {
    let regex = compile(&attrs.str("pattern")?, true)?;
    Ok(Box::new(OnFlat(move |_: &mut OpCx<'_>, inputs: &[Value], out: &mut Outs<'_>| {
        let t = inputs[0].tensor()?;
        each::expect_strings(t.dtype())?;
        for (to, s) in out.plain(0, DType::Bool, *t.shape()).iter_mut().zip(t.as_strings()) {
            *to = u8::from(regex.is_match(s));
        }
        Ok(())
    })))
}

enum Part {
    Text(Vec<u8>),
    Group(usize),
}

/// The replacement taken apart.
fn rewrite(text: &str, groups: usize) -> Result<Vec<Part>> {
    let mut parts = Vec::new();
    let mut plain = Vec::new();
    let mut bytes = text.bytes();
    while let Some(b) = bytes.next() {
        match (b, if b == b'\\' { bytes.next() } else { None }) {
            (b'\\', Some(d @ b'0'..=b'9')) if usize::from(d - b'0') < groups => {
                parts.push(Part::Text(std::mem::take(&mut plain)));
                parts.push(Part::Group(usize::from(d - b'0')));
            }
            (b'\\', Some(b'\\')) => plain.push(b'\\'),
            (b'\\', _) => {
                return Err(Error::invalid(format!("invalid rewrite string: {text}")).hint(format!(
                    "after a backslash stands a backslash or a group from 0 to {}",
                    groups - 1
                )));
            }
            (b, _) => plain.push(b),
        }
    }
    parts.push(Part::Text(plain));
    Ok(parts)
}

fn compile(pattern: &str, whole: bool) -> Result<Regex> {
    let ours = translated(pattern);
    // Compiled alone first, so that an unbalanced group is not balanced by what is put around it.
    let alone = Regex::new(&ours);
    let made = alone.and_then(|r| if whole { Regex::new(&format!(r"\A(?:{ours})\z")) } else { Ok(r) });
    made.map_err(|e| {
        let text = e.to_string();
        let last = text.lines().last().unwrap_or_default().trim_start_matches("error: ").to_string();
        Error::invalid(format!("invalid pattern: {pattern}, error: {last}"))
    })
}

/// RE2's pattern as the regex crate reads it: RE2's \d, \w, \s and \b know ASCII only, and inside
/// brackets `[`, `&` and `~` mean themselves.
fn translated(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len());
    let mut chars = pattern.chars().peekable();
    let mut depth = false;
    let mut fresh = false;
    while let Some(c) = chars.next() {
        let first = std::mem::take(&mut fresh);
        match c {
            '\\' => {
                let Some(e) = chars.next() else {
                    out.push('\\');
                    break;
                };
                let class = match e.to_ascii_lowercase() {
                    'd' => "0-9",
                    'w' => "0-9A-Za-z_",
                    's' => r"\t\n\f\r ",
                    'b' if !depth => {
                        out.push_str(&format!(r"(?-u:\{e})"));
                        continue;
                    }
                    _ => {
                        out.extend(['\\', e]);
                        continue;
                    }
                };
                match (depth, e.is_ascii_uppercase()) {
                    (true, false) => out.push_str(class),
                    (_, true) => out.push_str(&format!("[^{class}]")),
                    (false, false) => out.push_str(&format!("[{class}]")),
                }
            }
            '[' if !depth => {
                depth = true;
                fresh = true;
                out.push('[');
                if chars.next_if_eq(&'^').is_some() {
                    out.push('^');
                }
            }
            '[' if chars.peek() == Some(&':') => {
                out.push('[');
                for c in chars.by_ref() {
                    out.push(c);
                    if c == ']' {
                        break;
                    }
                }
            }
            '[' | '&' | '~' if depth => out.extend(['\\', c]),
            ']' if depth && first => out.push_str(r"\]"),
            ']' if depth => {
                depth = false;
                out.push(']');
            }
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{attrs, eval, infer_err};
    use gristmill_plan::Attr;
    use gristmill_types::Tensor;

    fn replace(s: &str, pattern: &str, rewrite: &str, global: bool) -> String {
        let a = [
            ("pattern", Attr::Str(pattern.into())),
            ("rewrite", Attr::Str(rewrite.into())),
            ("replace_global", Attr::Bool(global)),
        ];
        let out = eval(&REPLACE, &[Tensor::string(s).into()], attrs(&a)).unwrap();
        String::from_utf8(out[0].tensor().unwrap().as_strings()[0].to_vec()).unwrap()
    }

    fn full(s: &str, pattern: &str) -> bool {
        eval(&FULL_MATCH, &[Tensor::string(s).into()], attrs(&[("pattern", Attr::Str(pattern.into()))]))
            .unwrap()[0]
            .tensor()
            .unwrap()
            .bytes()
            == [1]
    }

    #[test]
    fn replaces() {
        assert_eq!(replace("img_0012.JPG", r"_(\d+)\.(JPG|jpg)", r"-\2-\1", true), "img-JPG-0012");
        assert_eq!(replace("banana", "a", r"<\0>", false), "b<a>nana");
        assert_eq!(replace("a1b22", "[[:digit:]]+", "#", true), "a#b#");
        assert_eq!(replace("abc", "", "-", true), "-a-b-c-");
        assert_eq!(replace("$1", r"\$(\d)", r"\\\1", true), r"\1");
    }

    #[test]
    fn matches_the_whole() {
        assert!(full("abc", "a.c") && !full("abcd", "a.c") && !full("", "a.c"));
        assert!(full("ab", "a|ab") && full("é", ".") && !full("٣", r"\d"));
        assert!(full("[&", r"[[&]+") && full("]", "[]]") && full("x1", r"[\w]+"));
    }

    #[test]
    fn bad_patterns_are_refused() {
        for p in ["(", "a(?=b)", "a)(b"] {
            let e = infer_err(
                &FULL_MATCH,
                &[Tensor::string("a").into()],
                attrs(&[("pattern", Attr::Str(p.into()))]),
            );
            assert!(e.contains(&format!("invalid pattern: {p}, error: ")), "{e}");
        }
    }
}
