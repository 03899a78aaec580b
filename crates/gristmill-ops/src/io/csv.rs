//! `io.decode_csv`: the columns of CSV records.

use super::csv_fields::{Format, fields};
use crate::image::common::{MadeKernel, Specs, dense, kernel_of};
use gristmill_plan::{Arg, ArgDef, Attrs, Class, OpDef, Outs};
use gristmill_types::{Bytes, DType, Error, Result, Shape, Tensor, Value};

pub(crate) static OP: OpDef = OpDef {
    name: "io.decode_csv",
    doc: "Splits CSV records into columns.\n\nOne output per default, of its dtype and the shape of the records. A default without \
          an element makes its field required.",
    inputs: &[
        ArgDef { name: "records", doc: "strings of any shape, one record each" },
        ArgDef {
            name: "record_defaults*",
            doc: "one per column: float32, float64, int32, int64 or string, 0 or 1 element",
        },
    ],
    attrs: &[
        ArgDef { name: "field_delim", doc: "one byte between fields; default ','" },
        ArgDef { name: "use_quote_delim", doc: "whether '\"' encloses fields; default True" },
        ArgDef { name: "na_value", doc: "field that counts as empty, besides the empty one; default ''" },
        ArgDef {
            name: "select_cols",
            doc: "ascending positions of the columns that are wanted; default all",
        },
    ],
    class: Class::Pure,
    total: false,
    elementwise: false,
    infer,
    kernel,
};

struct Csv {
    format: Format,
    na: Vec<u8>,
    select: Option<Vec<usize>>,
}

fn csv(args: &[Arg], attrs: &Attrs) -> Result<Csv> {
    let delimiter = attrs.str_or("field_delim", ",".into())?;
    let &[delimiter] = delimiter.as_bytes() else {
        return Err(Error::invalid(format!("field_delim should be only 1 char, found '{delimiter}'")));
    };
    let select = match attrs.list_or("select_cols", Vec::new())?.is_empty() {
        true => None,
        false => {
            let columns: Option<Vec<usize>> =
                attrs.ints("select_cols")?.iter().map(|&c| usize::try_from(c).ok()).collect();
            Some(
                columns
                    .filter(|c| c.windows(2).all(|w| w[0] < w[1]))
                    .ok_or_else(|| Error::invalid("select_cols should be strictly increasing indices"))?,
            )
        }
    };
    if let Some(s) = &select
        && s.len() != args.len() - 1
    {
        return Err(Error::invalid(format!(
            "select_cols should match output size: {} columns selected, {} defaults given",
            s.len(),
            args.len() - 1
        )));
    }
    Ok(Csv {
        format: Format { delimiter, quotes: attrs.bool_or("use_quote_delim", true)? },
        na: attrs.str_or("na_value", String::new())?.into_bytes(),
        select,
    })
}

fn infer(args: &[Arg], attrs: &Attrs) -> Specs {
    dense(&args[0], "records")?;
    csv(args, attrs)?;
    if args[0].dtype() != DType::String {
        return Err(Error::invalid(format!("records must be strings, found {}", args[0].spec)));
    }
    if args.len() == 1 {
        return Err(Error::invalid("record_defaults must not be empty: one per column"));
    }
    let shape = args[0].spec.shape();
    args[1..]
        .iter()
        .enumerate()
        .map(|(i, a)| match (a.dtype(), a.constant()) {
            (DType::F32 | DType::F64 | DType::I32 | DType::I64 | DType::String, Some(t)) if t.count() > 1 => {
                Err(Error::invalid(format!(
                    "There should only be 1 default per field but field {i} has {}",
                    t.count()
                )))
            }
            (d @ (DType::F32 | DType::F64 | DType::I32 | DType::I64 | DType::String), _) => {
                Ok(gristmill_types::Spec::tensor(d, shape.clone()))
            }
            (d, _) => Err(Error::invalid(format!("csv: data type {d} not supported in field {i}"))
                .hint("float32, float64, int32, int64 and string are; cast the column afterwards")),
        })
        .collect()
}

fn kernel(args: &[Arg], attrs: &Attrs) -> MadeKernel {
    let csv = csv(args, attrs)?;
    kernel_of(move |_, inputs, out| csv.run(inputs, out))
}

impl Csv {
    fn run(&self, inputs: &[Value], out: &mut Outs<'_>) -> Result<()> {
        let records = inputs[0].tensor()?;
        let columns = inputs.len() - 1;
        // By column: the field of every record.
        let mut all: Vec<Vec<Bytes>> = vec![Vec::with_capacity(records.count()); columns];
        for (i, record) in records.as_strings().iter().enumerate() {
            let mut found = 0;
            fields(record, &self.format, |number, field| {
                let column = match &self.select {
                    None => Some(number),
                    Some(s) => s.binary_search(&number).ok(),
                };
                if let Some(column) = column {
                    found += 1;
                    if let Some(c) = all.get_mut(column) {
                        c.push(Bytes::copy_from(field));
                    }
                }
            })
            .map_err(|e| Error::new(e.kind(), format!("{} in record {i}", e.message())))?;
            if found != columns {
                return Err(Error::invalid(format!(
                    "Expect {columns} fields but have {found} in record {i}"
                )));
            }
        }
        for (k, (fields, default)) in all.into_iter().zip(&inputs[1..]).enumerate() {
            self.column(k, fields, default.tensor()?, *records.shape(), out)?;
        }
        Ok(())
    }

    fn column(
        &self,
        k: usize,
        items: Vec<Bytes>,
        default: &Tensor,
        shape: Shape,
        out: &mut Outs<'_>,
    ) -> Result<()> {
        let absent = |field: &Bytes| field.is_empty() || field.as_slice() == self.na;
        if default.count() != 1
            && let Some(i) = items.iter().position(absent)
        {
            return Err(Error::invalid(format!("Field {k} is required but missing in record {i}!")));
        }
        macro_rules! numbers {
            ($t:ty, $name:literal) => {{
                let default = default.as_slice::<$t>()?.first().copied().unwrap_or_default();
                let dst = out.typed::<$t>(k, shape);
                for (i, (field, d)) in items.iter().zip(dst).enumerate() {
                    *d = if absent(field) { default } else { number::<$t>(field, k, i, $name)? };
                }
            }};
        }
        match default.dtype() {
            DType::F32 => numbers!(f32, "float"),
            DType::F64 => numbers!(f64, "double"),
            DType::I32 => numbers!(i32, "int32"),
            DType::I64 => numbers!(i64, "int64"),
            _ => {
                let fill = default.as_strings().first();
                let items = items.into_iter().map(|f| match fill {
                    Some(d) if absent(&f) => d.clone(),
                    _ => f,
                });
                out.put(k, Tensor::strings(shape, items.collect())?);
            }
        }
        Ok(())
    }
}

/// A number with spaces around it allowed.
fn number<T: std::str::FromStr>(field: &Bytes, k: usize, i: usize, name: &str) -> Result<T> {
    let text = String::from_utf8_lossy(field);
    let digits = text.trim_matches(|c: char| c.is_ascii_whitespace());
    digits
        .parse()
        .map_err(|_| Error::invalid(format!("Field {k} in record {i} is not a valid {name}: {text}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{attrs, eval, infer_err};
    use gristmill_plan::Attr;

    fn inputs(records: &[&str], defaults: &[Tensor]) -> Vec<Value> {
        let records = Tensor::string_vector(records.iter().map(|&r| r.into()).collect());
        std::iter::once(records).chain(defaults.iter().cloned()).map(Value::from).collect()
    }

    #[test]
    fn columns() {
        let defaults = [Tensor::vector(&[9i32]), Tensor::vector(&[-1.5f32]), Tensor::string("d")];
        let out = eval(&OP, &inputs(&["1, 2.5 ,x", ",,"], &defaults), Attrs::default()).unwrap();
        assert_eq!(out[0], Tensor::vector(&[1i32, 9]).into());
        assert_eq!(out[1], Tensor::vector(&[2.5f32, -1.5]).into());
        assert_eq!(out[2], Tensor::string_vector(vec!["x".into(), "d".into()]).into());
        let select = attrs(&[("select_cols", Attr::List(vec![Attr::Int(0), Attr::Int(2)]))]);
        let two = [Tensor::vector(&[0i64]), Tensor::vector(&[0i64])];
        let out = eval(&OP, &inputs(&["1,2,3"], &two), select).unwrap();
        assert_eq!(out, [Tensor::vector(&[1i64]).into(), Tensor::vector(&[3i64]).into()]);
    }

    #[test]
    fn faults() {
        let required = [Tensor::zeros(DType::I32, Shape::vector(0)), Tensor::vector(&[0i32])];
        let fail =
            |r: &str| eval(&OP, &inputs(&[r], &required), Attrs::default()).unwrap_err().message().to_owned();
        assert_eq!(fail(",1"), "Field 0 is required but missing in record 0!");
        assert_eq!(fail("1,2,3"), "Expect 2 fields but have 3 in record 0");
        assert_eq!(fail("x,1"), "Field 0 in record 0 is not a valid int32: x");
        let bad = [Tensor::vector(&[0u8])];
        assert!(infer_err(&OP, &inputs(&["1"], &bad), Attrs::default()).contains("uint8 not supported"));
    }
}
