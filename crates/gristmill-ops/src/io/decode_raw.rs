//! `io.decode_raw`: bytes as numbers.

use crate::image::common::{MadeKernel, Specs, dense, kernel_of};
use gristmill_plan::{Arg, ArgDef, Attrs, Class, OpDef, Outs};
use gristmill_types::{Bytes, DType, Error, Result, Shape, Spec, Tensor};

pub(crate) static OP: OpDef = OpDef {
    name: "io.decode_raw",
    doc: "Reads the bytes of strings as numbers.\n\nThe input's shape and one more dimension; all strings must be equally long, \
          unless `fixed_length` pads and cuts them.",
    inputs: &[ArgDef { name: "input_bytes", doc: "strings of any shape" }],
    attrs: &[
        ArgDef { name: "out_type", doc: "dtype of the numbers" },
        ArgDef { name: "little_endian", doc: "byte order of the data; default True" },
        ArgDef {
            name: "fixed_length",
            doc: "bytes that are taken of each string, filled up with 0; default all",
        },
    ],
    class: Class::Pure,
    total: false,
    elementwise: false,
    infer,
    kernel,
};

#[derive(Clone, Copy)]
struct How {
    dtype: DType,
    swap: bool,
    fixed: Option<usize>,
}

fn how(attrs: &Attrs) -> Result<How> {
    let dtype = attrs.dtype("out_type")?;
    if !dtype.is_plain() {
        return Err(Error::invalid("out_type must be a number type, found string"));
    }
    let fixed = match attrs.int_or("fixed_length", -1)? {
        -1 => None,
        n => Some(usize::try_from(n).ok().filter(|n| *n > 0 && n.is_multiple_of(dtype.size())).ok_or_else(
            || {
                Error::invalid(format!(
                    "fixed_length must be a positive multiple of {}, the size of {dtype}, found {n}",
                    dtype.size()
                ))
            },
        )?),
    };
    let little = attrs.bool_or("little_endian", true)?;
    Ok(How { dtype, swap: little != cfg!(target_endian = "little"), fixed })
}

fn infer(args: &[Arg], attrs: &Attrs) -> Specs {
    dense(&args[0], "input_bytes")?;
    let how = how(attrs)?;
    if args[0].dtype() != DType::String {
        return Err(Error::invalid(format!("input_bytes must be strings, found {}", args[0].spec)));
    }
    let last = how.fixed.map(|n| n / how.dtype.size());
    let shape = args[0].spec.shape().dims().map_or(gristmill_types::PartialShape::UNKNOWN, |d| {
        gristmill_types::PartialShape::new(d.iter().copied().chain([last]).collect())
    });
    Ok(vec![Spec::tensor(how.dtype, shape)])
}

fn kernel(_: &[Arg], attrs: &Attrs) -> MadeKernel {
    let how = how(attrs)?;
    kernel_of(move |_, inputs, out| run(how, inputs[0].tensor()?, out))
}

fn run(how: How, t: &Tensor, out: &mut Outs<'_>) -> Result<()> {
    let (items, size) = (t.as_strings(), how.dtype.size());
    let len = how.fixed.unwrap_or_else(|| items.first().map_or(0, Bytes::len));
    if how.fixed.is_none() {
        if let Some((i, odd)) = items.iter().enumerate().find(|(_, s)| s.len() != len) {
            return Err(Error::invalid(format!(
                "DecodeRaw requires input strings to all be the same size, but element {i} has size {} != {len}",
                odd.len()
            )));
        }
        if !len.is_multiple_of(size) {
            return Err(Error::invalid(format!(
                "Input to DecodeRaw has length {len} that is not a multiple of {size}, the size of {}",
                how.dtype.kernel_name()
            )));
        }
    }
    let shape = Shape::new(&[t.dims(), &[len / size]].concat())?;
    let dst = out.plain(0, how.dtype, shape);
    for (item, row) in items.iter().zip(dst.chunks_exact_mut(len.max(1))) {
        let n = item.len().min(len);
        row[..n].copy_from_slice(&item[..n]);
        row[n..].fill(0);
    }
    if how.swap {
        dst.chunks_exact_mut(size).for_each(<[u8]>::reverse);
    }
    if how.dtype == DType::Bool {
        dst.iter_mut().for_each(|b| *b = u8::from(*b != 0));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{attrs, eval};
    use gristmill_plan::Attr;

    #[test]
    fn byte_orders_and_lengths() {
        let x = |s: &[u8]| Tensor::string(s).into();
        let i16 = attrs(&[("out_type", Attr::DType(DType::I16))]);
        assert_eq!(
            eval(&OP, &[x(&[1, 0, 0, 1])], i16.clone()).unwrap(),
            [Tensor::vector(&[1i16, 256]).into()]
        );
        let big = i16.clone().with("little_endian", Attr::Bool(false));
        assert_eq!(eval(&OP, &[x(&[1, 0, 0, 1])], big).unwrap(), [Tensor::vector(&[256i16, 1]).into()]);
        let fixed = i16.clone().with("fixed_length", Attr::Int(4));
        assert_eq!(eval(&OP, &[x(&[7, 0, 9])], fixed).unwrap(), [Tensor::vector(&[7i16, 9]).into()]);
        let e = eval(&OP, &[x(&[1, 2, 3])], i16.clone()).unwrap_err();
        assert!(e.message().contains("length 3 that is not a multiple of 2, the size of int16"), "{e}");
        let two = Tensor::string_vector(vec!["ab".into(), "abcd".into()]).into();
        assert!(eval(&OP, &[two], i16).unwrap_err().message().contains("all be the same size"));
    }
}
