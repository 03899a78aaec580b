//! The parts of sparse and ragged tensors.

use crate::array::support::kernel_of;
use gristmill_plan::{ArgDef, Attrs, Class, OpDef};
use gristmill_types::{DType, Error, PartialShape, Ragged, Result, Spec, Tensor};

const SPARSE: &[ArgDef] = &[ArgDef { name: "sp_input", doc: "a sparse tensor" }];
const RAGGED: &[ArgDef] = &[ArgDef { name: "rt_input", doc: "a ragged tensor" }];

macro_rules! parts {
    ($($id:ident $name:literal $doc:literal $inputs:ident $attrs:expr, $infer:expr, $get:expr;)*) => { $(
        pub(crate) static $id: OpDef = OpDef {
            name: $name,
            doc: $doc,
            inputs: $inputs,
            attrs: $attrs,
            class: Class::Pure,
            total: true,
            elementwise: false,
            infer: |args, attrs| {
                let f: fn(&Spec, &Attrs) -> Result<Spec> = $infer;
                Ok(vec![f(&args[0].spec, attrs)?])
            },
            kernel: |_, attrs| {
                let attrs = attrs.clone();
                kernel_of(move |inputs, out| {
                    let f: fn(&gristmill_types::Value, &Attrs) -> Result<gristmill_types::Value> = $get;
                    out.put(0, f(&inputs[0], &attrs)?);
                    Ok(())
                })
            },
        };
    )* };
}

const AXIS: &[ArgDef] = &[ArgDef { name: "axis", doc: "which splits; 0 (default) is the outermost" }];

parts! {
    VALUES "sparse.values" "The values of a sparse tensor, `[n]`." SPARSE &[],
        |s, _| sparse(s).map(|(d, _)| Spec::tensor(d, PartialShape::of_rank(1))),
        |v, _| Ok(v.sparse()?.values.clone().into());
    INDICES "sparse.indices" "The positions of a sparse tensor's values, int64 `[n, rank]`." SPARSE &[],
        |s, _| sparse(s).map(|(_, r)| Spec::tensor(DType::I64, PartialShape::new(vec![None, r]))),
        |v, _| Ok(v.sparse()?.indices.clone().into());
    DENSE_SHAPE "sparse.dense_shape" "The shape of a sparse tensor, int64 `[rank]`." SPARSE &[],
        |s, _| sparse(s).map(|(_, r)| Spec::tensor(DType::I64, PartialShape::new(vec![r]))),
        |v, _| Ok(v.sparse()?.dense_shape.clone().into());
    FLAT_VALUES "ragged.flat_values" "The innermost values of a ragged tensor." RAGGED &[],
        |s, _| ragged(s).map(|(d, shape, rank)| Spec::tensor(d, inner(shape, rank))),
        |v, _| Ok(v.ragged()?.flat_values.clone().into());
    RAGGED_VALUES "ragged.values" "The values of a ragged tensor under its outermost splits." RAGGED &[],
        |s, _| ragged(s).map(|(dtype, shape, rank)| match rank {
            1 => Spec::tensor(dtype, inner(shape, 1)),
            _ => Spec::Ragged { dtype, shape: inner(shape, 1), ragged_rank: rank - 1 },
        }),
        |v, _| {
            let r = v.ragged()?;
            Ok(match r.row_splits.get(1..) {
                None | Some([]) => r.flat_values.clone().into(),
                Some(rest) => Ragged { flat_values: r.flat_values.clone(), row_splits: rest.to_vec() }.into(),
            })
        };
    ROW_SPLITS "ragged.row_splits" "Where each row begins and ends, int64 `[rows + 1]`." RAGGED AXIS,
        |s, attrs| {
            let (_, shape, rank) = ragged(s)?;
            let at = level(attrs, rank)?;
            let rows = if at == 0 { shape.dim(0).map(|n| n + 1) } else { None };
            Ok(Spec::tensor(DType::I64, PartialShape::new(vec![rows])))
        },
        |v, attrs| {
            let r = v.ragged()?;
            Ok(r.row_splits[level(attrs, r.row_splits.len())?].clone().into())
        };
    ROW_LENGTHS "ragged.row_lengths" "The length of each row, int64 `[rows]`." RAGGED AXIS,
        |s, attrs| {
            let (_, shape, rank) = ragged(s)?;
            let at = level(attrs, rank)?;
            Ok(Spec::tensor(DType::I64, PartialShape::new(vec![if at == 0 { shape.dim(0) } else { None }])))
        },
        |v, attrs| {
            let r = v.ragged()?;
            let splits = r.row_splits[level(attrs, r.row_splits.len())?].as_slice::<i64>()?;
            Ok(Tensor::vector(&splits.windows(2).map(|w| w[1] - w[0]).collect::<Vec<_>>()).into())
        };
}

fn level(attrs: &Attrs, rank: usize) -> Result<usize> {
    let at = attrs.int_or("axis", 0)?;
    usize::try_from(at).ok().filter(|&a| a < rank).ok_or_else(|| {
        Error::invalid(format!("axis {at} is out of range for a ragged tensor with {rank} splits"))
    })
}

/// The shape without its first `cut` dimensions, whose rows are joined.
fn inner(shape: &PartialShape, cut: usize) -> PartialShape {
    match shape.dims() {
        Some(dims) => PartialShape::new([&[None], dims.get(cut + 1..).unwrap_or(&[])].concat()),
        None => PartialShape::UNKNOWN,
    }
}

/// Dtype and rank of a sparse spec.
fn sparse(spec: &Spec) -> Result<(DType, Option<usize>)> {
    match spec {
        Spec::Sparse { dtype, shape } => Ok((*dtype, shape.rank())),
        other => Err(Error::invalid(format!("expected a sparse tensor, found {other}"))),
    }
}

/// Dtype, shape and number of splits of a ragged spec.
pub(super) fn ragged(spec: &Spec) -> Result<(DType, &PartialShape, usize)> {
    match spec {
        Spec::Ragged { dtype, shape, ragged_rank } => Ok((*dtype, shape, *ragged_rank)),
        other => Err(Error::invalid(format!("expected a ragged tensor, found {other}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{attrs, eval, infer_err};
    use gristmill_plan::Attr;
    use gristmill_types::{Shape, Sparse, Value};

    #[test]
    fn parts_of_sparse() {
        let indices = Tensor::from_vec(Shape::new(&[1, 2]).unwrap(), &[0i64, 1]).unwrap();
        let s: Value = Sparse {
            indices: indices.clone(),
            values: Tensor::vector(&[5f32]),
            dense_shape: Tensor::vector(&[2i64, 2]),
        }
        .into();
        let get = |op: &OpDef| eval(op, std::slice::from_ref(&s), attrs(&[])).unwrap().remove(0);
        assert_eq!(get(&VALUES), Tensor::vector(&[5f32]).into());
        assert_eq!(get(&INDICES), indices.into());
        assert_eq!(get(&DENSE_SHAPE), Tensor::vector(&[2i64, 2]).into());
        assert!(
            infer_err(&VALUES, &[Tensor::scalar(1i32).into()], attrs(&[]))
                .contains("expected a sparse tensor")
        );
    }

    #[test]
    fn parts_of_ragged() {
        let (outer, innermost) = (Tensor::vector(&[0i64, 1, 2]), Tensor::vector(&[0i64, 2, 3]));
        let r: Value = Ragged {
            flat_values: Tensor::vector(&[1i32, 2, 3]),
            row_splits: vec![outer.clone(), innermost.clone()],
        }
        .into();
        let get = |op: &OpDef| {
            let a = if op.attrs.is_empty() { attrs(&[]) } else { attrs(&[("axis", Attr::Int(1))]) };
            eval(op, std::slice::from_ref(&r), a).unwrap().remove(0)
        };
        assert_eq!(get(&FLAT_VALUES), Tensor::vector(&[1i32, 2, 3]).into());
        assert_eq!(get(&ROW_SPLITS), innermost.clone().into());
        assert_eq!(get(&ROW_LENGTHS), Tensor::vector(&[2i64, 1]).into());
        let v = get(&RAGGED_VALUES);
        assert_eq!(v.ragged().unwrap().row_splits, vec![innermost]);
        assert_eq!(eval(&RAGGED_VALUES, &[v], attrs(&[])).unwrap()[0], Tensor::vector(&[1i32, 2, 3]).into());
    }
}
