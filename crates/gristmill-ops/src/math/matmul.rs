//! `matmul`: products of matrices.

use super::arithmetic::same;
use super::num::{Num, with_num};
use crate::array::support::walk::Walk;
use crate::array::support::{kernel_of, shapes};
use gristmill_plan::{Arg, ArgDef, Attrs, Class, Kernel, OpDef};
use gristmill_types::{DType, Error, PartialShape, Result, Shape, Spec};

pub(crate) static OP: OpDef = OpDef {
    name: "matmul",
    doc: "The product of matrices, the last two dimensions; leading ones broadcast.",
    inputs: &[
        ArgDef { name: "a", doc: "numbers `[..., m, k]`" },
        ArgDef { name: "b", doc: "`[..., k, n]`, the dtype of a" },
    ],
    attrs: &[
        ArgDef { name: "transpose_a", doc: "whether a is given as `[..., k, m]`; default False" },
        ArgDef { name: "transpose_b", doc: "whether b is given as `[..., n, k]`; default False" },
    ],
    class: Class::Pure,
    total: false,
    elementwise: false,
    infer,
    kernel,
};

fn infer(args: &[Arg], attrs: &Attrs) -> Result<Vec<Spec>> {
    let dtype = same(args[0].dtype(), args[1].dtype(), "matmul")?;
    if matches!(dtype, DType::Bool | DType::String) {
        return Err(Error::invalid(format!("expected numbers, found {dtype}")));
    }
    let unknown = Ok(vec![Spec::tensor(dtype, PartialShape::UNKNOWN)]);
    let (Some(a), Some(b)) = (args[0].spec.shape().dims(), args[1].spec.shape().dims()) else {
        return unknown;
    };
    let ([lead_a @ .., p, q], [lead_b @ .., r, s]) = (a, b) else {
        return Err(too_flat());
    };
    let (m, k) = if attrs.bool_or("transpose_a", false)? { (q, p) } else { (p, q) };
    let (j, n) = if attrs.bool_or("transpose_b", false)? { (s, r) } else { (r, s) };
    if let (Some(k), Some(j)) = (k, j)
        && k != j
    {
        return Err(wrong(args[0].spec.shape(), args[1].spec.shape()));
    }
    let lead =
        shapes::broadcast_partial(&PartialShape::new(lead_a.to_vec()), &PartialShape::new(lead_b.to_vec()))?;
    let mut dims = lead.dims().unwrap_or(&[]).to_vec();
    dims.extend([*m, *n]);
    Ok(vec![Spec::tensor(dtype, PartialShape::new(dims))])
}

fn too_flat() -> Error {
    Error::invalid("matmul takes tensors of rank >= 2")
}

fn wrong(a: &PartialShape, b: &PartialShape) -> Error {
    Error::invalid(format!("matrix size-incompatible: a: {}, b: {}", shapes::plain(a), shapes::plain(b)))
}

/// Row and column steps of a matrix of `rows` x `columns` in memory or its transpose.
fn steps(columns: usize, transposed: bool) -> (usize, usize) {
    if transposed { (1, columns) } else { (columns, 1) }
}

fn kernel(_: &[Arg], attrs: &Attrs) -> Result<Box<dyn Kernel>> {
    let (ta, tb) = (attrs.bool_or("transpose_a", false)?, attrs.bool_or("transpose_b", false)?);
    kernel_of(move |inputs, out| {
        let (a, b) = (inputs[0].tensor()?, inputs[1].tensor()?);
        let dtype = same(a.dtype(), b.dtype(), "matmul")?;
        let ([lead_a @ .., p, q], [lead_b @ .., r, s]) = (a.dims(), b.dims()) else {
            return Err(too_flat());
        };
        let (m, k) = if ta { (*q, *p) } else { (*p, *q) };
        let (j, n) = if tb { (*s, *r) } else { (*r, *s) };
        if k != j {
            return Err(wrong(&PartialShape::from(a.shape()), &PartialShape::from(b.shape())));
        }
        let (lead_a, lead_b) = (Shape::new(lead_a)?, Shape::new(lead_b)?);
        let lead = shapes::broadcast(&lead_a, &lead_b)?;
        let mut dims = lead.dims().to_vec();
        dims.extend([m, n]);
        let shape = Shape::new(&dims)?;
        let (sa, sb) = (steps(*q, ta), steps(*s, tb));
        with_num!(dtype, T => {
            let (x, y) = (a.as_slice::<T>()?, b.as_slice::<T>()?);
            let to = out.typed::<T>(0, shape);
            Walk::new(&lead, [&lead_a, &lead_b]).each(|o, count, [i, j], [p, q]| {
                for c in 0..count {
                    let (x, y) = (&x[(i + c * p) * m * k..], &y[(j + c * q) * k * n..]);
                    product((x, sa), (y, sb), (m, k, n), &mut to[(o + c) * m * n..(o + c + 1) * m * n]);
                }
            });
            Ok(())
        }, d => Err(Error::invalid(format!("expected numbers, found {d}"))))
    })
}

/// The product of two matrices; 16-bit floats add up in float64 and round once.
fn product<T: Num>(
    (x, sx): (&[T], (usize, usize)),
    (y, sy): (&[T], (usize, usize)),
    (m, k, n): (usize, usize, usize),
    to: &mut [T],
) {
    if !T::INT && size_of::<T>() == 2 {
        for r in 0..m {
            for c in 0..n {
                let sum: f64 =
                    (0..k).map(|i| x[r * sx.0 + i * sx.1].to_f64() * y[i * sy.0 + c * sy.1].to_f64()).sum();
                to[r * n + c] = T::from_f64(sum);
            }
        }
        return;
    }
    to.fill(T::default());
    for r in 0..m {
        let row = &mut to[r * n..(r + 1) * n];
        for i in 0..k {
            let v = x[r * sx.0 + i * sx.1];
            if sy.1 == 1 {
                for (to, w) in row.iter_mut().zip(&y[i * sy.0..i * sy.0 + n]) {
                    *to = to.add(v.mul(*w));
                }
            } else {
                for (c, to) in row.iter_mut().enumerate() {
                    *to = to.add(v.mul(y[i * sy.0 + c * sy.1]));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{attrs, eval, infer_err};
    use gristmill_plan::Attr;
    use gristmill_types::Tensor;

    #[test]
    fn multiplies() {
        let a = Tensor::from_vec(Shape::new(&[2, 3]).unwrap(), &[1f32, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
        let v = |t: &[gristmill_types::Value]| t[0].tensor().unwrap().as_slice::<f32>().unwrap().to_vec();
        let t = |n: &str| attrs(&[(n, Attr::Bool(true))]);
        assert_eq!(
            v(&eval(&OP, &[a.clone().into(), a.clone().into()], t("transpose_b")).unwrap()),
            [14.0, 32.0, 32.0, 77.0]
        );
        let wide = eval(&OP, &[a.clone().into(), a.clone().into()], t("transpose_a")).unwrap();
        assert_eq!(v(&wide), [17.0, 22.0, 27.0, 22.0, 29.0, 36.0, 27.0, 36.0, 45.0]);
        assert!(
            infer_err(&OP, &[a.clone().into(), a.into()], attrs(&[]))
                .contains("matrix size-incompatible: a: [2,3], b: [2,3]")
        );
    }

    #[test]
    fn leading_dimensions_broadcast() {
        let a = Tensor::from_vec(Shape::new(&[2, 1, 1]).unwrap(), &[2i32, 3]).unwrap();
        let b = Tensor::from_vec(Shape::new(&[1, 2]).unwrap(), &[5i32, 7]).unwrap();
        let out = eval(&OP, &[a.into(), b.into()], attrs(&[])).unwrap();
        assert_eq!(out[0].tensor().unwrap().as_slice::<i32>().unwrap(), &[10, 14, 15, 21]);
    }
}
