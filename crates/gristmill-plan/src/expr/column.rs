//! Writing a program's values into the places of a column or batch.

use crate::op::{BlockOut, Kernel, Lane, OpCx, Out, Outs};
use gristmill_types::batch::RowsMut;
use gristmill_types::{Buffer, Column, DType, Error, Result, Shape, Spec, Tensor, Value};

/// One output of a step while it is computed element by element.
pub(super) enum Target<'a, 'b> {
    Given(&'a mut RowsMut<'b>),
    Own { dtype: DType, row: Shape, row_bytes: usize, buffer: Buffer },
    Values(Vec<Value>),
}

/// Dtype and row shape of an output that can be laid out before it exists.
pub(super) fn own_rows(spec: &Spec) -> Option<(DType, Shape)> {
    match spec {
        Spec::Tensor { dtype, shape } if dtype.is_plain() => Some((*dtype, shape.full()?)),
        _ => None,
    }
}

pub(super) fn strings_or_varied(values: Vec<Value>) -> Column {
    let scalar_strings = values.iter().all(|v| match v {
        Value::Tensor(t) => t.dtype() == DType::String && t.shape().rank() == 0,
        _ => false,
    });
    if !scalar_strings || values.is_empty() {
        return Column::Varied(values);
    }
    let items = values.iter().filter_map(|v| v.tensor().ok()?.as_strings().first().cloned()).collect();
    Column::Uniform(Tensor::string_vector(items))
}

/// The inputs as whole columns, if the op can take them so: all columns dense and of one rank,
/// constants of no higher rank, since broadcasting aligns the last dimensions.
pub(super) fn lifted(args: &[Lane]) -> Option<Vec<Value>> {
    let mut rank = None;
    for a in args {
        if let Lane::Column(c) = a {
            let Column::Uniform(t) = c else { return None };
            if rank.is_some_and(|r| r != t.shape().rank()) {
                return None;
            }
            rank = Some(t.shape().rank());
        }
    }
    let rank = rank? - 1;
    args.iter()
        .map(|a| match a {
            Lane::Column(Column::Uniform(t)) => Some(Value::Tensor(t.clone())),
            Lane::Const(Value::Tensor(t)) if t.shape().rank() <= rank => Some(Value::Tensor(t.clone())),
            _ => None,
        })
        .collect()
}

/// One call for the whole column; `None` if it failed and the elements must be tried one by one.
pub(super) fn run_lifted(
    kernel: &dyn Kernel,
    cx: &mut OpCx<'_>,
    values: &[Value],
    n: usize,
    given: &mut [Option<RowsMut<'_>>],
) -> Result<Option<BlockOut>> {
    let outs = given
        .iter_mut()
        .map(|g| {
            Ok(Out::new(match g {
                Some(rows) => Some((rows.dtype(), rows.row_shape().prepend(n)?, rows.bytes())),
                None => None,
            }))
        })
        .collect::<Result<Vec<_>>>()?;
    let mut outs = Outs::new(outs);
    if kernel.run(cx, values, &mut outs).is_err() {
        return Ok(None);
    }
    let columns = outs
        .finish()?
        .into_iter()
        .map(|v| match v {
            None => Ok(None),
            Some(Value::Tensor(t)) if t.dims().first() == Some(&n) => Ok(Some(Column::Uniform(t))),
            Some(other) => {
                Err(Error::internal(format!("an elementwise op made {} of a column", other.spec())))
            }
        })
        .collect::<Result<Vec<_>>>()?;
    Ok(Some(BlockOut { columns, done: n, failed: None }))
}

pub(super) fn one(
    kernel: &dyn Kernel,
    cx: &mut OpCx<'_>,
    inputs: &[Value],
    targets: &mut [Target<'_, '_>],
    i: usize,
    copied: &mut u64,
) -> Result<()> {
    let outs = targets
        .iter_mut()
        .map(|t| {
            Out::new(match t {
                Target::Given(rows) => Some((rows.dtype(), *rows.row_shape(), rows.row(i))),
                Target::Own { dtype, row, row_bytes, buffer } => {
                    Some((*dtype, *row, &mut buffer.as_mut_slice()[i * *row_bytes..(i + 1) * *row_bytes]))
                }
                Target::Values(_) => None,
            })
        })
        .collect();
    let mut outs = Outs::new(outs);
    kernel.run(cx, inputs, &mut outs)?;
    let made = outs.finish()?;
    for (target, value) in targets.iter_mut().zip(made) {
        let Some(value) = value else { continue };
        match target {
            Target::Values(v) => v.push(value),
            Target::Given(rows) => {
                let (dtype, row) = (rows.dtype(), *rows.row_shape());
                *copied += place(&value, dtype, &row, rows.row(i))?;
            }
            Target::Own { dtype, row, row_bytes, buffer } => {
                *copied += place(
                    &value,
                    *dtype,
                    row,
                    &mut buffer.as_mut_slice()[i * *row_bytes..(i + 1) * *row_bytes],
                )?;
            }
        }
    }
    Ok(())
}

/// Copies a value into its row; gives the bytes copied.
fn place(value: &Value, dtype: DType, row: &Shape, to: &mut [u8]) -> Result<u64> {
    let t = value.tensor()?;
    if t.dtype() != dtype || t.shape() != row {
        return Err(Error::invalid(format!(
            "cannot add tensor to the batch: number of elements does not match. Shapes are: [tensor]: {}, [batch]: {row}",
            t.shape()
        ))
        .hint("resize or pad the elements to one shape before batch"));
    }
    to.copy_from_slice(t.bytes());
    Ok(to.len() as u64)
}

/// Copies a finished column into the rows given for it; gives the first element that does not fit.
pub(super) fn fill(
    column: &Column,
    rows: &mut RowsMut<'_>,
    n: usize,
    copied: &mut u64,
) -> Option<(usize, Error)> {
    if let Column::Uniform(t) = column
        && t.dtype() == rows.dtype()
        && t.shape().row() == *rows.row_shape()
    {
        let bytes = t.bytes();
        rows.bytes()[..bytes.len()].copy_from_slice(bytes);
        *copied += bytes.len() as u64;
        return None;
    }
    for i in 0..n {
        let (dtype, row) = (rows.dtype(), *rows.row_shape());
        match place(&column.get(i), dtype, &row, rows.row(i)) {
            Ok(bytes) => *copied += bytes,
            Err(e) => return Some((i, e)),
        }
    }
    None
}
