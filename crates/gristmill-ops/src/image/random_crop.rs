//! `random.random_crop` and `random.stateless_random_crop`: a window of fixed size at a random place.

use super::common::{MadeKernel, SEED, SEED_ATTR, Specs, check_seed, dense, kernel_of, seed_of};
use gristmill_plan::{Arg, ArgDef, Attrs, Class, OpDef, Outs};
use gristmill_types::rng::Philox;
use gristmill_types::{DType, Error, PartialShape, Result, Shape, Tensor};

const VALUE: ArgDef = ArgDef { name: "value", doc: "tensor of numbers of any rank" };
const SIZE: ArgDef = ArgDef { name: "size", doc: "int32 or int64 [rank]: shape of the result" };

pub(crate) static OP: OpDef = OpDef {
    name: "random.random_crop",
    doc: "Cuts a window of the given shape out of a tensor, at a place drawn anew for each element.\n\nThe dtype stays.",
    inputs: &[VALUE, SIZE],
    attrs: &[SEED_ATTR],
    class: Class::Random,
    total: false,
    elementwise: false,
    infer,
    kernel,
};

pub(crate) static STATELESS: OpDef = OpDef {
    name: "random.stateless_random_crop",
    doc: "Cuts a window of the given shape out of a tensor, at a place that the seed alone decides.\n\nThe dtype stays.",
    inputs: &[VALUE, SIZE, SEED],
    attrs: &[],
    class: Class::Pure,
    total: false,
    elementwise: false,
    infer: infer_stateless,
    kernel: kernel_stateless,
};

fn sizes(t: &Tensor, rank: usize) -> Result<Vec<usize>> {
    let size: Option<Vec<usize>> = t.to_i64s()?.iter().map(|&n| usize::try_from(n).ok()).collect();
    match size {
        Some(s) if s.len() == rank && t.shape().rank() == 1 => Ok(s),
        Some(_) => Err(Error::invalid(format!(
            "size must have shape [{rank}], one number per dimension, not {}",
            t.shape()
        ))),
        None => Err(Error::invalid(format!("size must not be negative, found {t:?}"))),
    }
}

fn need(shape: &dyn std::fmt::Display, size: &[usize]) -> Error {
    Error::invalid(format!("Need value.shape >= size, got {shape} and size {size:?}"))
}

fn infer(args: &[Arg], _: &Attrs) -> Specs {
    dense(&args[0], "value")?;
    if args[0].dtype() == DType::String {
        return Err(Error::invalid("'value' must hold numbers, found string"));
    }
    if !matches!(args[1].dtype(), DType::I32 | DType::I64) {
        return Err(Error::invalid(format!("size must be int32 or int64, found {}", args[1].dtype())));
    }
    let shape = args[0].spec.shape();
    let known = match (args[1].constant(), shape.dims()) {
        (Some(size), Some(dims)) => {
            let size = sizes(size, dims.len())?;
            if dims.iter().zip(&size).any(|(d, s)| d.is_some_and(|d| d < *s)) {
                return Err(need(shape, &size));
            }
            PartialShape::known(&size)
        }
        (Some(size), None) => PartialShape::known(&sizes(size, size.count())?),
        (None, _) => shape.rank().map_or(PartialShape::UNKNOWN, PartialShape::of_rank),
    };
    Ok(vec![args[0].spec.with_shape(known)])
}

fn infer_stateless(args: &[Arg], attrs: &Attrs) -> Specs {
    check_seed(&args[2])?;
    infer(args, attrs)
}

fn kernel(_: &[Arg], attrs: &Attrs) -> MadeKernel {
    let seed = attrs.seed()?;
    kernel_of(move |cx, inputs, out| crop(inputs[0].tensor()?, inputs[1].tensor()?, cx.philox(seed), out))
}

fn kernel_stateless(_: &[Arg], _: &Attrs) -> MadeKernel {
    kernel_of(|_, inputs, out| {
        let (a, b) = seed_of(&inputs[2])?;
        crop(inputs[0].tensor()?, inputs[1].tensor()?, Philox::stateless(a, b), out)
    })
}

/// A number below the largest of the size's dtype, as TensorFlow draws it.
fn draw(philox: &mut Philox, dtype: DType) -> u64 {
    if dtype == DType::I64 {
        let (low, high) = (u64::from(philox.next_u32()), u64::from(philox.next_u32()));
        (high << 32 | low) % i64::MAX as u64
    } else {
        u64::from(philox.next_u32()) % i32::MAX as u64
    }
}

/// Start and size along every dimension, drawn for a tensor of that shape.
pub(crate) fn parts(shape: &Shape, size: &Tensor, mut philox: Philox) -> Result<(Vec<usize>, Vec<usize>)> {
    let dims = shape.dims();
    let to = sizes(size, dims.len())?;
    if dims.iter().zip(&to).any(|(d, s)| d < s) {
        return Err(need(shape, &to));
    }
    let at = dims
        .iter()
        .zip(&to)
        .map(|(d, s)| (draw(&mut philox, size.dtype()) % (d - s + 1) as u64) as usize)
        .collect();
    Ok((at, to))
}

fn crop(t: &Tensor, size: &Tensor, philox: Philox, out: &mut Outs<'_>) -> Result<()> {
    let dims = t.dims();
    let (at, to) = parts(t.shape(), size, philox)?;
    let dst = out.plain(0, t.dtype(), Shape::new(&to)?);
    copy_window(t.bytes(), dims, &at, &to, dst);
    Ok(())
}

/// Copies the window at `at` of shape `to` of a tensor's bytes.
fn copy_window(src: &[u8], dims: &[usize], at: &[usize], to: &[usize], dst: &mut [u8]) {
    let Some((&d, inner)) = dims.split_first() else {
        dst.copy_from_slice(src);
        return;
    };
    let (from, into) = (src.len() / d.max(1), dst.len() / to[0].max(1));
    if dst.is_empty() {
        return;
    }
    if inner == &to[1..] {
        dst.copy_from_slice(&src[at[0] * from..(at[0] + to[0]) * from]);
        return;
    }
    for i in 0..to[0] {
        let row = &src[(at[0] + i) * from..(at[0] + i + 1) * from];
        copy_window(row, inner, &at[1..], &to[1..], &mut dst[i * into..(i + 1) * into]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{attrs, eval, infer_err};
    use gristmill_plan::Attr;
    use gristmill_types::Value;

    fn matrix() -> Value {
        Tensor::from_vec(Shape::new(&[4, 5]).unwrap(), &(0..20i32).collect::<Vec<_>>()).unwrap().into()
    }

    #[test]
    fn the_window_is_where_the_draws_say() {
        let size: Value = Tensor::vector(&[2i32, 3]).into();
        let seed = attrs(&[("seed", Attr::List(vec![Attr::Int(7), Attr::Int(8)]))]);
        let out = eval(&OP, &[matrix(), size], seed).unwrap();
        let mut philox = Philox::seeded(7, 8);
        let y = (philox.next_u32() % 0x7FFF_FFFF % 3) as i32;
        let x = (philox.next_u32() % 0x7FFF_FFFF % 3) as i32;
        let first = y * 5 + x;
        let expect = [first, first + 1, first + 2, first + 5, first + 6, first + 7];
        assert_eq!(out[0].tensor().unwrap().as_slice::<i32>().unwrap(), expect);
    }

    #[test]
    fn sizes_are_checked() {
        let seed: Value = Tensor::vector(&[1i32, 2]).into();
        let wrong = |size: &[i32]| {
            infer_err(&STATELESS, &[matrix(), Tensor::vector(size).into(), seed.clone()], Attrs::default())
        };
        assert!(wrong(&[5, 1]).contains("Need value.shape >= size"));
        assert!(wrong(&[5]).contains("size must have shape [2]"));
        assert!(wrong(&[-1, 1]).contains("negative"));
    }
}
