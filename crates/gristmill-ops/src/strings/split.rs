//! `strings.split` and `strings.bytes_split`: strings in parts.

use super::each::expect_strings;
use crate::array::support::kernel_of;
use gristmill_plan::{Arg, ArgDef, Attrs, Class, Kernel, OpDef, Outs};
use gristmill_types::{Bytes, DType, PartialShape, Ragged, Result, Spec, Tensor, Value};

const INPUTS: &[ArgDef] = &[ArgDef { name: "input", doc: "strings, dense or ragged" }];

pub(crate) static SPLIT: OpDef = OpDef {
    name: "strings.split",
    doc: "The parts of each string between separators, as a ragged tensor of one rank more.\n\n\
          Without a separator runs of white space separate, and there are no empty parts. A scalar gives a vector.",
    inputs: INPUTS,
    attrs: &[
        ArgDef { name: "sep", doc: "the separator; None or empty (default) is white space" },
        ArgDef { name: "maxsplit", doc: "most cuts per string; -1 (default) is no limit" },
    ],
    class: Class::Pure,
    total: true,
    elementwise: false,
    infer,
    kernel: |_, attrs| {
        let (sep, most) = (attrs.str_or("sep", String::new())?, attrs.int_or("maxsplit", -1)?);
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        kernel(move |s, parts| {
            if sep.is_empty() {
                by_space(s, most, parts)
            } else {
                by_separator(s, sep.as_bytes(), most, parts)
            }
        })
    },
};

pub(crate) static BYTES_SPLIT: OpDef = OpDef {
    name: "strings.bytes_split",
    doc: "The bytes of each string as strings, as a ragged tensor of one rank more. A scalar gives a vector.",
    inputs: INPUTS,
    attrs: &[],
    class: Class::Pure,
    total: true,
    elementwise: false,
    infer,
    kernel: |_, _| kernel(|s, parts| parts.extend((0..s.len()).map(|i| s.slice(i, 1)))),
};

fn infer(args: &[Arg], _: &Attrs) -> Result<Vec<Spec>> {
    expect_strings(args[0].dtype())?;
    let dtype = DType::String;
    Ok(vec![match &args[0].spec {
        Spec::Ragged { shape, ragged_rank, .. } => {
            let shape = match shape.dims() {
                Some(d) => PartialShape::new([d, &[None]].concat()),
                None => PartialShape::UNKNOWN,
            };
            Spec::Ragged { dtype, shape, ragged_rank: ragged_rank + 1 }
        }
        other => match other.shape().dims() {
            Some([]) => Spec::tensor(dtype, PartialShape::of_rank(1)),
            Some(dims) => Spec::Ragged {
                dtype,
                shape: PartialShape::new([dims, &[None]].concat()),
                ragged_rank: dims.len(),
            },
            None => {
                return Err(gristmill_types::Error::invalid("cannot split strings of unknown rank")
                    .hint("state the shape with ensure_shape"));
            }
        },
    }])
}

fn is_space(b: u8) -> bool {
    matches!(b, b' ' | 9..=13)
}

fn by_space(s: &Bytes, most: usize, parts: &mut Vec<Bytes>) {
    let mut at = 0;
    for cuts in 0.. {
        while at < s.len() && is_space(s[at]) {
            at += 1;
        }
        if at == s.len() {
            return;
        }
        let end =
            if cuts == most { s.len() } else { (at..s.len()).find(|&i| is_space(s[i])).unwrap_or(s.len()) };
        parts.push(s.slice(at, end - at));
        at = end;
    }
}

fn by_separator(s: &Bytes, sep: &[u8], most: usize, parts: &mut Vec<Bytes>) {
    let mut start = 0;
    let mut at = 0;
    let mut cuts = 0;
    while cuts < most && at + sep.len() <= s.len() {
        if s[at..].starts_with(sep) {
            parts.push(s.slice(start, at - start));
            at += sep.len();
            start = at;
            cuts += 1;
        } else {
            at += 1;
        }
    }
    parts.push(s.slice(start, s.len() - start));
}

fn kernel(split: impl Fn(&Bytes, &mut Vec<Bytes>) + Send + Sync + 'static) -> Result<Box<dyn Kernel>> {
    kernel_of(move |inputs, out| run(&inputs[0], out, &split))
}

fn run(input: &Value, out: &mut Outs<'_>, split: &dyn Fn(&Bytes, &mut Vec<Bytes>)) -> Result<()> {
    let (t, mut row_splits) = match input {
        Value::Ragged(r) => (&r.flat_values, r.row_splits.clone()),
        other => (other.tensor()?, Vec::new()),
    };
    expect_strings(t.dtype())?;
    let mut parts = Vec::new();
    let mut ends = vec![0i64];
    for s in t.as_strings() {
        split(s, &mut parts);
        ends.push(parts.len() as i64);
    }
    if row_splits.is_empty() && t.shape().rank() == 0 {
        out.put(0, Tensor::string_vector(parts));
        return Ok(());
    }
    // The uniform inner dimensions become ragged ones, as ragged values need.
    let mut rows = t.dims().first().copied().unwrap_or(1);
    for &d in t.dims().iter().skip(1) {
        row_splits.push(Tensor::vector(&(0..=rows).map(|i| (i * d) as i64).collect::<Vec<_>>()));
        rows *= d;
    }
    row_splits.push(Tensor::vector(&ends));
    out.put(0, Ragged { flat_values: Tensor::string_vector(parts), row_splits });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{attrs, eval};
    use gristmill_plan::Attr;
    use gristmill_types::Shape;

    fn parts(s: &str, sep: &str, most: i64) -> Vec<String> {
        let a = attrs(&[("sep", Attr::Str(sep.into())), ("maxsplit", Attr::Int(most))]);
        let out = eval(&SPLIT, &[Tensor::string(s).into()], a).unwrap();
        out[0].tensor().unwrap().as_strings().iter().map(|b| String::from_utf8(b.to_vec()).unwrap()).collect()
    }

    #[test]
    fn separators_and_white_space() {
        assert_eq!(parts("gs://b/x.jpg", "/", -1), ["gs:", "", "b", "x.jpg"]);
        assert_eq!(parts("a<>b<><>c", "<>", -1), ["a", "b", "", "c"]);
        assert_eq!(parts("a,b,c,d", ",", 2), ["a", "b", "c,d"]);
        assert_eq!(parts("", ",", -1), [""]);
        assert_eq!(parts(" a  b\tc\n", "", -1), ["a", "b", "c"]);
        assert_eq!(parts(" a  b c ", "", 1), ["a", "b c "]);
        assert_eq!(parts("  ", "", -1), [""; 0]);
    }

    #[test]
    fn tensors_become_ragged() {
        let t = Tensor::strings(Shape::new(&[1, 2]).unwrap(), vec!["a b".into(), "".into()]).unwrap();
        let out = eval(&SPLIT, &[t.into()], attrs(&[])).unwrap();
        let r = out[0].ragged().unwrap();
        assert_eq!(r.row_splits, vec![Tensor::vector(&[0i64, 2]), Tensor::vector(&[0i64, 2, 2])]);
        let out = eval(&BYTES_SPLIT, &[out[0].clone()], attrs(&[])).unwrap();
        assert_eq!(out[0].ragged().unwrap().row_splits.len(), 3);
    }
}
