//! `ragged.to_tensor` and `ragged.get`.

use super::access::ragged;
use super::pad_value;
use crate::array::support::writer::Writer;
use crate::array::support::{kernel_of, writer};
use gristmill_plan::{Arg, ArgDef, Attrs, Class, Kernel, OpDef};
use gristmill_types::{Error, PartialShape, Ragged, Result, Shape, Spec, Tensor};

pub(crate) static TO_TENSOR: OpDef = OpDef {
    name: "ragged.to_tensor",
    doc: "The dense form of a ragged tensor: rows are filled up to the longest, or cut to a given shape.",
    inputs: &[
        ArgDef { name: "rt_input", doc: "a ragged tensor" },
        ArgDef { name: "default_value*", doc: "a scalar of its dtype; default 0 or the empty string" },
    ],
    attrs: &[ArgDef {
        name: "shape",
        doc: "sizes of the result; unknown ones are those of the longest rows",
    }],
    class: Class::Pure,
    total: false,
    elementwise: false,
    infer: infer_dense,
    kernel: kernel_dense,
};

pub(crate) static GET: OpDef = OpDef {
    name: "ragged.get",
    doc: "One row of a ragged tensor; a negative index counts from the end.",
    inputs: &[
        ArgDef { name: "rt_input", doc: "a ragged tensor" },
        ArgDef { name: "index", doc: "an integer scalar" },
    ],
    attrs: &[],
    class: Class::Pure,
    total: false,
    elementwise: false,
    infer: |args, _| {
        ragged(&args[0].spec)?;
        crate::array::support::shapes::expect_ints(&args[1], "index")?;
        Ok(vec![args[0].spec.unbatched()])
    },
    kernel: |_, _| {
        kernel_of(|inputs, out| {
            inputs[0].ragged()?;
            let (rows, given) = (inputs[0].outer_len().unwrap_or(0) as i64, inputs[1].tensor()?.item_i64()?);
            let at = if given < 0 { given.saturating_add(rows) } else { given };
            if !(0..rows).contains(&at) {
                return Err(Error::invalid(format!("slice index {given} of dimension 0 out of bounds"))
                    .hint(format!("the ragged tensor has {rows} rows")));
            }
            out.put(0, inputs[0].unstack(at as usize)?);
            Ok(())
        })
    },
};

fn wanted(attrs: &Attrs, rank: usize) -> Result<Vec<Option<usize>>> {
    let shape = attrs.shape_or("shape", PartialShape::UNKNOWN)?;
    match shape.dims() {
        None => Ok(vec![None; rank]),
        Some(dims) if dims.len() == rank => Ok(dims.to_vec()),
        Some(dims) => {
            Err(Error::invalid(format!("shape has {} dimensions, the ragged tensor {rank}", dims.len())))
        }
    }
}

fn infer_dense(args: &[Arg], attrs: &Attrs) -> Result<Vec<Spec>> {
    let (dtype, shape, _) = ragged(&args[0].spec)?;
    super::check_pad(args, dtype)?;
    let shape = match shape.dims() {
        Some(dims) => PartialShape::new(
            wanted(attrs, dims.len())?.into_iter().zip(dims).map(|(w, d)| w.or(*d)).collect(),
        ),
        None => attrs.shape_or("shape", PartialShape::UNKNOWN)?,
    };
    Ok(vec![Spec::tensor(dtype, shape)])
}

fn kernel_dense(_: &[Arg], attrs: &Attrs) -> Result<Box<dyn Kernel>> {
    let attrs = attrs.clone();
    kernel_of(move |inputs, out| {
        let r = inputs[0].ragged()?;
        let fill = pad_value(&inputs[1..], r.flat_values.dtype())?;
        let splits = r.row_splits.iter().map(|s| s.as_slice::<i64>()).collect::<Result<Vec<_>>>()?;
        let mut dims = vec![splits.first().map_or(0, |s| s.len().saturating_sub(1))];
        dims.extend(
            splits.iter().map(|s| s.windows(2).map(|w| (w[1] - w[0]).max(0) as usize).max().unwrap_or(0)),
        );
        let inner = &r.flat_values.dims()[1..];
        dims.extend_from_slice(inner);
        for (i, (d, w)) in dims.iter_mut().zip(wanted(&attrs, splits.len() + 1 + inner.len())?).enumerate() {
            if i > splits.len() && w.is_some_and(|w| w != *d) {
                return Err(Error::invalid(format!(
                    "dimension {i} is {d} in every row, the shape says {w:?}"
                )));
            }
            *d = w.unwrap_or(*d);
        }
        let shape = Shape::new(&dims)?;
        let row = inner.iter().product();
        writer::write(out, 0, r.flat_values.dtype(), shape, |w| {
            let rows = splits.first().map_or(0, |s| s.len().saturating_sub(1));
            Fill { r, splits: &splits, dims: &dims, row, fill: &fill }.rows(w, 0, 0, rows);
            Ok(())
        })
    })
}

struct Fill<'a> {
    r: &'a Ragged,
    splits: &'a [&'a [i64]],
    dims: &'a [usize],
    row: usize,
    fill: &'a Tensor,
}

impl Fill<'_> {
    /// Rows `start..end` of a level, filled up or cut to its size.
    fn rows(&self, w: &mut Writer<'_>, level: usize, start: usize, end: usize) {
        let size = self.dims[level];
        let n = size.min(end.saturating_sub(start));
        match self.splits.get(level) {
            None => w.run(&self.r.flat_values, start * self.row, n * self.row),
            Some(s) => {
                (start..start + n).for_each(|i| self.rows(w, level + 1, s[i] as usize, s[i + 1] as usize))
            }
        }
        w.repeat(self.fill, 0, (size - n) * self.dims[level + 1..].iter().product::<usize>());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{attrs, eval};
    use gristmill_plan::Attr;
    use gristmill_types::Value;

    fn r() -> Value {
        let splits = vec![Tensor::vector(&[0i64, 2, 2]), Tensor::vector(&[0i64, 1, 3])];
        Ragged { flat_values: Tensor::vector(&[1i32, 2, 3]), row_splits: splits }.into()
    }

    #[test]
    fn fills_and_cuts() {
        let out = eval(&TO_TENSOR, &[r(), Tensor::scalar(-1i32).into()], attrs(&[])).unwrap();
        let t = out[0].tensor().unwrap();
        assert_eq!(
            (t.dims(), t.as_slice::<i32>().unwrap()),
            (&[2usize, 2, 2][..], &[1, -1, 2, 3, -1, -1, -1, -1][..])
        );
        let shape = Attr::Shape(PartialShape::new(vec![None, Some(1), Some(3)]));
        let out = eval(&TO_TENSOR, &[r()], attrs(&[("shape", shape)])).unwrap();
        assert_eq!(out[0].tensor().unwrap().as_slice::<i32>().unwrap(), &[1, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn rows() {
        let row = eval(&GET, &[r(), Tensor::scalar(-2i32).into()], attrs(&[])).unwrap();
        assert_eq!(row[0].ragged().unwrap().row_splits[0], Tensor::vector(&[0i64, 1, 3]));
        let values = eval(&GET, &[row[0].clone(), Tensor::scalar(1i32).into()], attrs(&[])).unwrap();
        assert_eq!(values[0], Tensor::vector(&[2i32, 3]).into());
        assert!(
            eval(&GET, &[r(), Tensor::scalar(2i32).into()], attrs(&[]))
                .unwrap_err()
                .to_string()
                .contains("out of bounds")
        );
    }
}
