//! `pad`: more elements around a tensor.

use super::support::{kernel_of, shapes, writer};
use crate::math::convert::fill_value;
use gristmill_plan::{Arg, ArgDef, Attr, Attrs, Class, Kernel, OpDef};
use gristmill_types::{Error, PartialShape, Result, Shape, Spec};

pub(crate) static OP: OpDef = OpDef {
    name: "pad",
    doc: "Adds elements before and after each dimension.\n\n\
          CONSTANT adds one value, REFLECT mirrors without the edge, SYMMETRIC mirrors with it.",
    inputs: &[
        ArgDef { name: "tensor", doc: "any dtype and shape" },
        ArgDef { name: "paddings", doc: "integers [rank, 2]: how many before and after each dimension" },
    ],
    attrs: &[
        ArgDef { name: "mode", doc: "CONSTANT (default), REFLECT or SYMMETRIC, in any case" },
        ArgDef {
            name: "constant_values",
            doc: "the value that CONSTANT adds; default 0 or the empty string",
        },
    ],
    class: Class::Pure,
    total: false,
    elementwise: false,
    infer,
    kernel,
};

#[derive(Clone, Copy, PartialEq)]
enum Mode {
    Constant,
    Reflect,
    Symmetric,
}

fn mode(attrs: &Attrs) -> Result<Mode> {
    let name = attrs.str_or("mode", "CONSTANT".into())?;
    match name.to_ascii_uppercase().as_str() {
        "CONSTANT" => Ok(Mode::Constant),
        "REFLECT" => Ok(Mode::Reflect),
        "SYMMETRIC" => Ok(Mode::Symmetric),
        _ => Err(Error::invalid(format!("unknown padding mode: {name}"))
            .hint("modes are CONSTANT, REFLECT, SYMMETRIC")),
    }
}

fn infer(args: &[Arg], attrs: &Attrs) -> Result<Vec<Spec>> {
    shapes::expect_ints(&args[1], "paddings")?;
    let mode = mode(attrs)?;
    let spec = &args[0].spec;
    let rank = spec.shape().rank().or_else(|| args[1].spec.shape().dim(0));
    let shape = match (spec.shape().dims(), shapes::constant_ints(&args[1])) {
        (Some(dims), Some(p)) => {
            check(&p, dims.len())?;
            let dims = dims.iter().enumerate().map(|(i, d)| match d {
                Some(d) => padded(i, *d, p[2 * i], p[2 * i + 1], mode).map(Some),
                None => Ok(None),
            });
            PartialShape::new(dims.collect::<Result<_>>()?)
        }
        _ => rank.map_or(PartialShape::UNKNOWN, PartialShape::of_rank),
    };
    Ok(vec![Spec::tensor(spec.dtype(), shape)])
}

fn check(paddings: &[i64], rank: usize) -> Result<()> {
    if paddings.len() != 2 * rank {
        return Err(Error::invalid(format!(
            "the first dimension of paddings must be the rank of inputs: [{rank},2], found {} numbers",
            paddings.len()
        )));
    }
    Ok(())
}

/// The size of a padded dimension.
fn padded(i: usize, n: usize, before: i64, after: i64, mode: Mode) -> Result<usize> {
    let edge = i64::from(mode == Mode::Reflect);
    let most = n as i64 - edge;
    if before < 0 || after < 0 || (mode != Mode::Constant && (before > most || after > most)) {
        let limit = if mode == Mode::Constant { "not negative".into() } else { format!("0 to {most}") };
        return Err(Error::invalid(format!(
            "paddings of dimension {i} must be {limit}, found {before} and {after}"
        )));
    }
    let total = (n as u64).saturating_add(before as u64).saturating_add(after as u64);
    Ok(Shape::new(&[usize::try_from(total).unwrap_or(usize::MAX)])?.count())
}

/// Where the elements of a dimension come from; `None` is the constant.
fn positions(n: usize, before: i64, after: i64, mode: Mode) -> Vec<Option<usize>> {
    let edge = i64::from(mode == Mode::Reflect);
    let n = n as i64;
    let at = |k: i64| match mode {
        _ if (0..n).contains(&k) => Some(k as usize),
        Mode::Constant => None,
        _ if k < 0 => Some((-k - 1 + edge) as usize),
        _ => Some((2 * n - 1 - k - edge) as usize),
    };
    (-before..n + after).map(at).collect()
}

fn kernel(args: &[Arg], attrs: &Attrs) -> Result<Box<dyn Kernel>> {
    let mode = mode(attrs)?;
    let fill = fill_value(attrs.get("constant_values").unwrap_or(&Attr::None), args[0].dtype())?;
    kernel_of(move |inputs, out| {
        let (t, p) = (inputs[0].tensor()?, inputs[1].tensor()?.to_i64s()?);
        check(&p, t.shape().rank())?;
        let size = |(i, &d): (usize, &usize)| padded(i, d, p[2 * i], p[2 * i + 1], mode);
        let dims = t.dims().iter().enumerate().map(size).collect::<Result<Vec<_>>>()?;
        let shape = Shape::new(&dims)?;
        let at: Vec<_> =
            t.dims().iter().enumerate().map(|(i, &d)| positions(d, p[2 * i], p[2 * i + 1], mode)).collect();
        writer::write(out, 0, t.dtype(), shape, |w| {
            w.take(t, &at, &fill);
            Ok(())
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{attrs, eval, infer_err};
    use gristmill_types::{Tensor, Value};

    fn pad(mode: &str, p: [i32; 2]) -> [Value; 1] {
        let p = Tensor::from_vec(Shape::new(&[1, 2]).unwrap(), &p).unwrap();
        let out = eval(
            &OP,
            &[Tensor::vector(&[1i32, 2, 3]).into(), p.into()],
            attrs(&[("mode", Attr::Str(mode.into()))]),
        );
        [out.unwrap().remove(0)]
    }

    #[test]
    fn three_modes() {
        assert_eq!(pad("CONSTANT", [1, 2]), [Tensor::vector(&[0i32, 1, 2, 3, 0, 0]).into()]);
        assert_eq!(pad("reflect", [2, 1]), [Tensor::vector(&[3i32, 2, 1, 2, 3, 2]).into()]);
        assert_eq!(pad("SYMMETRIC", [2, 1]), [Tensor::vector(&[2i32, 1, 1, 2, 3, 3]).into()]);
        let p = Tensor::from_vec(Shape::new(&[1, 2]).unwrap(), &[3i32, 0]).unwrap();
        let e = infer_err(
            &OP,
            &[Tensor::vector(&[1i32, 2]).into(), p.into()],
            attrs(&[("mode", Attr::Str("REFLECT".into()))]),
        );
        assert!(e.contains("must be 0 to 1, found 3 and 0"), "{e}");
    }

    #[test]
    fn strings_and_values() {
        let p = Tensor::from_vec(Shape::new(&[1, 2]).unwrap(), &[0i64, 1]).unwrap();
        let x = Tensor::string_vector(vec!["a".into()]);
        let out =
            eval(&OP, &[x.into(), p.into()], attrs(&[("constant_values", Attr::Str("-".into()))])).unwrap();
        assert_eq!(out[0], Tensor::string_vector(vec!["a".into(), "-".into()]).into());
    }
}
