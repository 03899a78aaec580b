//! `io.parse_example`: the features of a batch of serialized Examples.

use super::features::{FEATURES, SERIALIZED, check_serialized, order, records, serialized, specs};
use crate::image::common::{MadeKernel, Specs, kernel_of};
use gristmill_example::{Parser, Records};
use gristmill_plan::{Arg, ArgDef, Attrs, Class, OpDef};
use gristmill_types::{Error, Result};

pub(crate) static OP: OpDef = OpDef {
    name: "io.parse_example",
    doc: "Parses a batch of serialized Examples.\n\nOne output per feature: sparse, then ragged, then dense ones, each sorted by \
          name and with the batch as first dimension; sequences are padded to the longest.",
    inputs: &[
        ArgDef { doc: "string [n]: the records", ..SERIALIZED },
        ArgDef { name: "example_names*", doc: "string [n], at most one: names for messages" },
    ],
    attrs: &[FEATURES],
    class: Class::Pure,
    total: false,
    elementwise: false,
    infer,
    kernel,
};

fn parser(attrs: &Attrs) -> Result<(Parser, Vec<usize>)> {
    let features = specs(attrs, "features")?;
    let parser = Parser::new(&features)?;
    let order = order(&features, parser.names());
    Ok((parser, order))
}

fn infer(args: &[Arg], attrs: &Attrs) -> Specs {
    check_serialized(&args[0], 1)?;
    if args.len() > 2 {
        return Err(Error::invalid(format!("io.parse_example takes 1 or 2 inputs, found {}", args.len())));
    }
    let (parser, order) = parser(attrs)?;
    let specs = parser.batch_specs(args[0].spec.shape().dim(0));
    Ok(order.iter().map(|&i| specs[i].clone()).collect())
}

fn kernel(_: &[Arg], attrs: &Attrs) -> MadeKernel {
    let (parser, order) = parser(attrs)?;
    kernel_of(move |_, inputs, out| {
        let names = inputs.get(1).map(records).transpose()?.filter(|n| !n.is_empty());
        let values = parser.parse_batch(&Records::of(serialized(&inputs[0])?)?, names)?;
        for (k, &i) in order.iter().enumerate() {
            out.put(k, values[i].clone());
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{attrs, eval};
    use gristmill_example::{Example, Feature};
    use gristmill_plan::Attr;
    use gristmill_types::{Bytes, DType, Tensor, Value};

    fn example(label: i64) -> Bytes {
        let features = [("label".to_owned(), Feature::Ints(vec![label]))];
        Example { features: Some(features.into_iter().collect()) }.encode().into()
    }

    #[test]
    fn rows_and_names() {
        let feature = Attr::Dict(vec![
            ("kind".into(), Attr::Str("FixedLenFeature".into())),
            ("dtype".into(), Attr::DType(DType::I64)),
            ("shape".into(), Attr::List(Vec::new())),
        ]);
        let features = attrs(&[("features", Attr::Dict(vec![("label".into(), feature)]))]);
        let x: Value = Tensor::string_vector(vec![example(4), example(5)]).into();
        assert_eq!(eval(&OP, &[x], features.clone()).unwrap(), [Tensor::vector(&[4i64, 5]).into()]);
        let bad: Value = Tensor::string_vector(vec![example(4), "".into()]).into();
        let names: Value = Tensor::string_vector(vec!["a".into(), "b".into()]).into();
        let e = eval(&OP, &[bad, names], features).unwrap_err();
        assert!(
            e.message().contains("Name: b") && e.message().contains("required but could not be found"),
            "{e}"
        );
    }
}
