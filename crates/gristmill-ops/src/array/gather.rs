//! `gather` and `gather_nd`: rows by their indices.

use super::support::{kernel_of, shapes, writer};
use gristmill_plan::{Arg, ArgDef, Attrs, Class, Kernel, OpDef};
use gristmill_types::{Error, PartialShape, Result, Shape, Spec};

const INPUTS: &[ArgDef] = &[
    ArgDef { name: "params", doc: "what is taken from; any dtype, rank >= 1" },
    ArgDef { name: "indices", doc: "int32 or int64" },
];

pub(crate) static GATHER: OpDef = OpDef {
    name: "gather",
    doc: "The slices of `params` along `axis` at these indices.\n\n\
          Shape `params.shape[:axis] + indices.shape[batch_dims:] + params.shape[axis+1:]`. An index outside is an error.",
    inputs: INPUTS,
    attrs: &[
        ArgDef { name: "axis", doc: "the dimension; default batch_dims" },
        ArgDef { name: "batch_dims", doc: "leading dimensions that params and indices share; default 0" },
    ],
    class: Class::Pure,
    total: false,
    elementwise: false,
    infer: infer_gather,
    kernel: kernel_gather,
};

pub(crate) static GATHER_ND: OpDef = OpDef {
    name: "gather_nd",
    doc: "The slices of `params` at index vectors.\n\nThe last dimension of `indices` holds one index for each leading dimension of `params`.",
    inputs: INPUTS,
    attrs: &[],
    class: Class::Pure,
    total: false,
    elementwise: false,
    infer: infer_nd,
    kernel: kernel_nd,
};

/// Number of batch dimensions and axis.
fn place(attrs: &Attrs, params: usize, indices: usize) -> Result<(usize, usize)> {
    if params == 0 {
        return Err(Error::invalid("params must be at least 1-dimensional, found a scalar"));
    }
    let batch = match attrs.int_or("batch_dims", 0)? {
        0 => 0,
        b => shapes::axis(b, indices.max(1))?,
    };
    let axis = shapes::axis(attrs.int_or("axis", batch as i64)?, params)?;
    if batch > axis {
        return Err(Error::invalid(format!(
            "batch_dims ({batch}) must be less than or equal to axis ({axis})"
        )));
    }
    Ok((batch, axis))
}

fn infer_gather(args: &[Arg], attrs: &Attrs) -> Result<Vec<Spec>> {
    shapes::expect_ints(&args[1], "indices")?;
    let (p, i) = (args[0].spec.shape(), args[1].spec.shape());
    let shape = match (p.dims(), i.dims()) {
        (Some(p), Some(i)) => {
            let (batch, axis) = place(attrs, p.len(), i.len())?;
            PartialShape::new(p[..axis].iter().chain(&i[batch..]).chain(&p[axis + 1..]).copied().collect())
        }
        _ => PartialShape::UNKNOWN,
    };
    Ok(vec![Spec::tensor(args[0].dtype(), shape)])
}

/// Position `at` of a tensor as TensorFlow prints it: `1,2`.
fn coordinates(mut at: usize, shape: &Shape) -> String {
    let mut out: Vec<String> = Vec::new();
    for &d in shape.dims().iter().rev() {
        out.push((at % d.max(1)).to_string());
        at /= d.max(1);
    }
    out.reverse();
    out.join(",")
}

fn kernel_gather(_: &[Arg], attrs: &Attrs) -> Result<Box<dyn Kernel>> {
    let attrs = attrs.clone();
    kernel_of(move |inputs, out| {
        let (t, i) = (inputs[0].tensor()?, inputs[1].tensor()?);
        let (p, at) = (t.dims(), i.to_i64s()?);
        let (batch, axis) = place(&attrs, p.len(), i.dims().len())?;
        if p[..batch] != i.dims()[..batch] {
            return Err(Error::invalid(format!(
                "params {} and indices {} differ in their batch dimensions",
                t.shape(),
                i.shape()
            )));
        }
        let n = p[axis] as i64;
        if let Some(k) = at.iter().position(|v| !(0..n).contains(v)) {
            return Err(Error::invalid(format!(
                "indices[{}] = {} is not in [0, {n})",
                coordinates(k, i.shape()),
                at[k]
            )));
        }
        let dims: Vec<usize> =
            p[..axis].iter().chain(&i.dims()[batch..]).chain(&p[axis + 1..]).copied().collect();
        let inner: usize = p[axis + 1..].iter().product();
        let middle: usize = p[batch..axis].iter().product();
        let per_batch: usize = i.dims()[batch..].iter().product();
        writer::write(out, 0, t.dtype(), Shape::new(&dims)?, |w| {
            for b in 0..p[..batch].iter().product() {
                for m in 0..middle {
                    let base = (b * middle + m) * p[axis];
                    for &v in &at[b * per_batch..(b + 1) * per_batch] {
                        w.run(t, (base + v as usize) * inner, inner);
                    }
                }
            }
            Ok(())
        })
    })
}

fn infer_nd(args: &[Arg], _: &Attrs) -> Result<Vec<Spec>> {
    shapes::expect_ints(&args[1], "indices")?;
    let shape = match (args[0].spec.shape().dims(), args[1].spec.shape().dims()) {
        (_, Some([])) => return Err(Error::invalid("indices must be at least a vector")),
        (Some(p), Some([lead @ .., Some(depth)])) => {
            if *depth > p.len() {
                return Err(too_deep(*depth, p.len()));
            }
            PartialShape::new(lead.iter().chain(&p[*depth..]).copied().collect())
        }
        _ => PartialShape::UNKNOWN,
    };
    Ok(vec![Spec::tensor(args[0].dtype(), shape)])
}

fn too_deep(depth: usize, rank: usize) -> Error {
    Error::invalid(format!(
        "index innermost dimension length must be <= params rank; saw: {depth} vs. {rank}"
    ))
}

fn kernel_nd(_: &[Arg], _: &Attrs) -> Result<Box<dyn Kernel>> {
    kernel_of(|inputs, out| {
        let (t, i) = (inputs[0].tensor()?, inputs[1].tensor()?);
        let at = i.to_i64s()?;
        let [lead @ .., depth] = i.dims() else {
            return Err(Error::invalid("indices must be at least a vector"));
        };
        if *depth > t.dims().len() {
            return Err(too_deep(*depth, t.dims().len()));
        }
        let (outer, rest) = t.dims().split_at(*depth);
        let dims: Vec<usize> = lead.iter().chain(rest).copied().collect();
        let inner: usize = rest.iter().product();
        writer::write(out, 0, t.dtype(), Shape::new(&dims)?, |w| {
            for k in 0..lead.iter().product() {
                let index = &at[k * depth..(k + 1) * depth];
                let mut start = 0;
                for (&v, &d) in index.iter().zip(outer) {
                    if !(0..d as i64).contains(&v) {
                        let lead = Shape::new(lead)?;
                        return Err(Error::invalid(format!(
                            "indices[{}] = {index:?} does not index into param shape {}",
                            coordinates(k, &lead),
                            t.shape()
                        )));
                    }
                    start = start * d + v as usize;
                }
                w.run(t, start * inner, inner);
            }
            Ok(())
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{attrs, eval};
    use gristmill_plan::Attr;
    use gristmill_types::{Tensor, Value};

    fn t(dims: &[usize], v: &[i32]) -> Value {
        Tensor::from_vec(Shape::new(dims).unwrap(), v).unwrap().into()
    }

    #[test]
    fn takes_rows_and_columns() {
        let x = t(&[2, 3], &[1, 2, 3, 4, 5, 6]);
        assert_eq!(
            eval(&GATHER, &[x.clone(), t(&[2], &[1, 1])], attrs(&[])).unwrap()[0],
            t(&[2, 3], &[4, 5, 6, 4, 5, 6])
        );
        let columns =
            eval(&GATHER, &[x.clone(), t(&[2], &[2, 0])], attrs(&[("axis", Attr::Int(1))])).unwrap();
        assert_eq!(columns[0], t(&[2, 2], &[3, 1, 6, 4]));
        let batched =
            eval(&GATHER, &[x.clone(), t(&[2, 1], &[2, 0])], attrs(&[("batch_dims", Attr::Int(1))])).unwrap();
        assert_eq!(batched[0], t(&[2, 1], &[3, 4]));
        let e = eval(&GATHER, &[x, t(&[1, 2], &[0, 2])], attrs(&[])).unwrap_err().to_string();
        assert!(e.contains("indices[0,1] = 2 is not in [0, 2)"), "{e}");
    }

    #[test]
    fn takes_by_vectors() {
        let x = t(&[2, 3], &[1, 2, 3, 4, 5, 6]);
        assert_eq!(
            eval(&GATHER_ND, &[x.clone(), t(&[2, 2], &[0, 1, 1, 2])], attrs(&[])).unwrap()[0],
            t(&[2], &[2, 6])
        );
        assert_eq!(
            eval(&GATHER_ND, &[x.clone(), t(&[1, 1], &[1])], attrs(&[])).unwrap()[0],
            t(&[1, 3], &[4, 5, 6])
        );
        let e = eval(&GATHER_ND, &[x, t(&[1, 2], &[0, 3])], attrs(&[])).unwrap_err().to_string();
        assert!(e.contains("indices[0] = [0, 3] does not index into param shape [2,3]"), "{e}");
    }
}
