//! `io.parse_single_example` over whole columns of records: dense features go straight into the
//! rows of a batch, strings share the records' memory.

use super::features::record;
use super::single::ParseSingle;
use gristmill_example::{ColumnDest, Records, StringColumn};
use gristmill_plan::{BlockKernel, BlockOut, Lane, OpCx};
use gristmill_types::batch::RowsMut;
use gristmill_types::{Buffer, Column, DType, Result, Shape, Spec, Tensor, Value};

/// Where one output goes.
enum Room {
    /// Rows of the caller's.
    Given,
    /// Numbers in memory of their own.
    Own { dtype: DType, row: Shape, buffer: Buffer },
    /// Strings of a fixed shape.
    Strings { row: Shape, column: StringColumn },
    /// Anything else.
    Values(Vec<Value>),
}

impl Room {
    fn new(
        spec: &Spec,
        row_bytes: Option<usize>,
        strings: Option<StringColumn>,
        n: usize,
        rows: Option<&RowsMut<'_>>,
    ) -> Self {
        let row = spec.shape().full();
        match (row_bytes, row) {
            (Some(_), Some(row))
                if rows.is_some_and(|r| r.dtype() == spec.dtype() && *r.row_shape() == row) =>
            {
                Self::Given
            }
            (Some(bytes), Some(row)) => {
                Self::Own { dtype: spec.dtype(), row, buffer: Buffer::recycled(bytes * n) }
            }
            (None, Some(row)) => match strings {
                Some(column) => Self::Strings { row, column },
                None => Self::Values(Vec::with_capacity(n)),
            },
            _ => Self::Values(Vec::with_capacity(n)),
        }
    }

    /// The column of the first `done` elements; `None` if it lies in the caller's rows.
    fn column(self, done: usize, records: &Records) -> Result<Option<Column>> {
        Ok(match self {
            Self::Given => None,
            Self::Own { dtype, row, mut buffer } => {
                let shape = row.prepend(done)?;
                buffer.truncate(shape.count() * dtype.size());
                Some(Column::Uniform(Tensor::from_buffer(dtype, shape, buffer)?))
            }
            Self::Strings { row, column } => {
                Some(Column::Uniform(column.finish(row.prepend(done)?, records)?))
            }
            Self::Values(values) => Some(Column::Varied(values)),
        })
    }
}

impl BlockKernel for ParseSingle {
    fn run(
        &self,
        _: &mut OpCx<'_>,
        inputs: &[Lane],
        n: usize,
        rows: &mut [Option<RowsMut<'_>>],
    ) -> Result<BlockOut> {
        let records = match &inputs[0] {
            Lane::Column(Column::Uniform(t)) if t.shape().rank() == 1 && t.dtype() == DType::String => {
                Records::of(t)?.first(n)
            }
            other => {
                let owned = (0..n).map(|i| record(&other.get(i)).cloned()).collect::<Result<Vec<_>>>()?;
                Records::of(&Tensor::string_vector(owned))?
            }
        };
        let row_bytes = self.parser.row_bytes();
        // By result of the parser: the output that it is.
        let mut output = vec![0; self.order.len()];
        for (k, &i) in self.order.iter().enumerate() {
            output[i] = k;
        }
        let mut rooms: Vec<Room> = (0..self.order.len())
            .map(|i| {
                Room::new(
                    &self.specs[i],
                    row_bytes[i],
                    self.parser.string_column(i, &records),
                    n,
                    rows.get(output[i]).and_then(Option::as_ref),
                )
            })
            .collect();
        let mut given: Vec<Option<&mut RowsMut<'_>>> = rows.iter_mut().map(Option::as_mut).collect();
        let mut dest: Vec<ColumnDest<'_>> = rooms
            .iter_mut()
            .enumerate()
            .map(|(i, room)| match room {
                Room::Given => ColumnDest::Plain(given[output[i]].take().expect("seen above").bytes()),
                Room::Own { buffer, .. } => ColumnDest::Plain(buffer.as_mut_slice()),
                Room::Strings { column, .. } => ColumnDest::Strings(column),
                Room::Values(values) => ColumnDest::Values(values),
            })
            .collect();
        let (done, failed) = self.parser.parse_block(&records, &mut dest);
        drop(dest);
        let mut columns = vec![None; self.order.len()];
        for (i, room) in rooms.into_iter().enumerate() {
            columns[output[i]] = room.column(done, &records)?;
        }
        Ok(BlockOut { columns, done, failed })
    }
}

#[cfg(test)]
mod tests {
    use super::super::single::OP;
    use super::*;
    use crate::testing::{attrs, eval};
    use gristmill_example::{Example, Feature};
    use gristmill_plan::{Arg, Attr, Draw, Scratch};
    use gristmill_types::Bytes;

    fn example(label: i64, name: &str, more: &[f32]) -> Bytes {
        let features = [
            ("label".to_owned(), Feature::Ints(vec![label])),
            ("name".to_owned(), Feature::Bytes(vec![name.into()])),
            ("more".to_owned(), Feature::Floats(more.to_vec())),
        ];
        Example { features: Some(features.into_iter().collect()) }.encode().into()
    }

    fn features() -> gristmill_plan::Attrs {
        let feature = |kind: &str, dtype| {
            Attr::Dict(vec![
                ("kind".into(), Attr::Str(kind.into())),
                ("dtype".into(), Attr::DType(dtype)),
                ("shape".into(), Attr::List(Vec::new())),
            ])
        };
        let dict = vec![
            ("name".into(), feature("FixedLenFeature", DType::String)),
            ("label".into(), feature("FixedLenFeature", DType::I64)),
            ("more".into(), feature("VarLenFeature", DType::F32)),
        ];
        attrs(&[("features", Attr::Dict(dict))])
    }

    #[test]
    fn one_record() {
        let out = eval(&OP, &[Tensor::string(example(7, "x", &[0.5, 1.5])).into()], features()).unwrap();
        assert_eq!(out[0].sparse().unwrap().values, Tensor::vector(&[0.5f32, 1.5]));
        assert_eq!(out[1..], [Tensor::scalar(7i64).into(), Tensor::string("x").into()]);
        let two: Value = Tensor::string_vector(vec!["".into(), "".into()]).into();
        assert!(
            crate::testing::infer_err(&OP, &[two], features()).contains("Input serialized must be a scalar")
        );
    }

    #[test]
    fn a_block_fills_the_rows_up_to_the_first_fault() {
        let records =
            vec![example(1, "a", &[]), example(2, "b", &[9.0]), "junk".into(), example(3, "c", &[])];
        let column = Tensor::string_vector(records);
        let kernel = (OP.kernel)(&[Arg::from(&Value::from(column.row(0)))], &features()).unwrap();
        let mut scratch = Scratch::default();
        let mut cx = OpCx { scratch: &mut scratch, draw: Draw::Eager { entropy: 0 }, op_id: 0 };
        let mut memory = [0u8; 32];
        let mut rows = [None, Some(RowsMut::new(DType::I64, Shape::SCALAR, &mut memory)), None];
        let lanes = [Lane::Column(Column::Uniform(column))];
        let out = kernel.block().unwrap().run(&mut cx, &lanes, 4, &mut rows).unwrap();
        assert_eq!(out.done, 2);
        assert!(out.failed.unwrap().message().contains("Could not parse example input"));
        assert!(out.columns[1].is_none());
        assert_eq!(memory[..16], [1i64.to_ne_bytes(), 2i64.to_ne_bytes()].concat());
        assert_eq!(
            out.columns[2],
            Some(Column::Uniform(Tensor::string_vector(vec!["a".into(), "b".into()])))
        );
        let Some(Column::Varied(sparse)) = &out.columns[0] else { panic!("sparse values vary") };
        assert_eq!(sparse[1].sparse().unwrap().values, Tensor::vector(&[9f32]));
    }
}
