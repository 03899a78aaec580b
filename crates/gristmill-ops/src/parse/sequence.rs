//! `io.parse_single_sequence_example` and `io.parse_sequence_example`.

use super::features::{FEATURES, SERIALIZED, check_serialized, order, record, records, specs};
use crate::image::common::{MadeKernel, Specs, kernel_of};
use gristmill_example::{FeatureKind, FeatureSpec, SequenceParser};
use gristmill_plan::{Arg, ArgDef, Attrs, Class, OpDef};
use gristmill_types::{DType, Error, PartialShape, Result, Spec};

const ATTRS: &[ArgDef] =
    &[ArgDef { name: "context_features", ..FEATURES }, ArgDef { name: "sequence_features", ..FEATURES }];

pub(crate) static SINGLE: OpDef = OpDef {
    name: "io.parse_single_sequence_example",
    doc: "Parses a serialized SequenceExample.\n\nOne output per feature of the context, then per feature of the steps; each part \
          sparse, then ragged, then dense, sorted by name. Features over steps have the steps as first dimension.",
    inputs: &[SERIALIZED],
    attrs: ATTRS,
    class: Class::Pure,
    total: false,
    elementwise: false,
    infer,
    kernel,
};

pub(crate) static BATCH: OpDef = OpDef {
    name: "io.parse_sequence_example",
    doc: "Parses a batch of serialized SequenceExamples.\n\nOne output per feature of the context, then per feature of the steps, \
          then the lengths (int64 [n]) of each dense feature over steps; each part sparse, then ragged, then dense, sorted by \
          name.",
    inputs: &[
        ArgDef { doc: "string [n]: the records", ..SERIALIZED },
        ArgDef { name: "example_names*", doc: "string [n], at most one: names for messages" },
    ],
    attrs: ATTRS,
    class: Class::Pure,
    total: false,
    elementwise: false,
    infer: infer_batch,
    kernel: kernel_batch,
};

struct Made {
    parser: SequenceParser,
    context: Vec<usize>,
    sequence: Vec<usize>,
    /// Names of the features that come with lengths, sorted.
    padded: Vec<String>,
}

fn made(attrs: &Attrs) -> Result<Made> {
    let (context, sequence) = (specs(attrs, "context_features")?, specs(attrs, "sequence_features")?);
    let parser = SequenceParser::new(&context, &sequence)?;
    let is_padded = |f: &&FeatureSpec| matches!(f.kind, FeatureKind::FixedLenSequence { .. });
    let mut padded: Vec<String> = sequence.iter().filter(is_padded).map(|f| f.name.clone()).collect();
    padded.sort_unstable();
    Ok(Made {
        context: order(&context, parser.context().names()),
        sequence: order(&sequence, parser.names()),
        padded,
        parser,
    })
}

fn infer(args: &[Arg], attrs: &Attrs) -> Specs {
    check_serialized(&args[0], 0)?;
    let m = made(attrs)?;
    let (context, sequence) = (m.parser.context().specs(), m.parser.specs());
    let context = m.context.iter().map(|&i| context[i].clone());
    Ok(context.chain(m.sequence.iter().map(|&i| sequence[i].clone())).collect())
}

fn infer_batch(args: &[Arg], attrs: &Attrs) -> Specs {
    check_serialized(&args[0], 1)?;
    if args.len() > 2 {
        return Err(Error::invalid(format!(
            "io.parse_sequence_example takes 1 or 2 inputs, found {}",
            args.len()
        )));
    }
    let m = made(attrs)?;
    let n = args[0].spec.shape().dim(0);
    let (context, sequence) = (m.parser.context().batch_specs(n), m.parser.batch_specs(n));
    let context = m.context.iter().map(|&i| context[i].clone());
    let values = context.chain(m.sequence.iter().map(|&i| sequence[i].clone()));
    let lengths = m.padded.iter().map(|_| Spec::tensor(DType::I64, PartialShape::new(vec![n])));
    Ok(values.chain(lengths).collect())
}

fn kernel(_: &[Arg], attrs: &Attrs) -> MadeKernel {
    let m = made(attrs)?;
    kernel_of(move |_, inputs, out| {
        let (context, sequence) = m.parser.parse_single(record(&inputs[0])?)?;
        let values = m.context.iter().map(|&i| &context[i]).chain(m.sequence.iter().map(|&i| &sequence[i]));
        values.enumerate().for_each(|(k, v)| out.put(k, v.clone()));
        Ok(())
    })
}

fn kernel_batch(_: &[Arg], attrs: &Attrs) -> MadeKernel {
    let m = made(attrs)?;
    kernel_of(move |_, inputs, out| {
        let names = inputs.get(1).map(records).transpose()?.filter(|n| !n.is_empty());
        let all = m.parser.parse_batch(records(&inputs[0])?, names)?;
        let values =
            m.context.iter().map(|&i| &all.context[i]).chain(m.sequence.iter().map(|&i| &all.sequence[i]));
        values.enumerate().for_each(|(k, v)| out.put(k, v.clone()));
        for (k, name) in m.padded.iter().enumerate() {
            let lengths = all.lengths.iter().find(|(n, _)| n == name);
            let (_, t) =
                lengths.ok_or_else(|| Error::internal(format!("feature '{name}' has no lengths")))?;
            out.put(m.context.len() + m.sequence.len() + k, t.clone());
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{attrs, eval};
    use gristmill_example::{Feature, SequenceExample};
    use gristmill_plan::Attr;
    use gristmill_types::{Bytes, Shape, Tensor, Value};

    fn example(steps: &[i64]) -> Bytes {
        let mut x = SequenceExample { context: Some(Default::default()), ..Default::default() };
        if let Some(context) = &mut x.context {
            context.insert("id".into(), Feature::Ints(vec![steps.len() as i64]));
        }
        let lists = steps.iter().map(|&s| Feature::Ints(vec![s])).collect();
        x.feature_lists.get_or_insert_default().insert("tok".into(), lists);
        x.encode().into()
    }

    fn features() -> Attrs {
        let feature = |kind: &str| {
            Attr::Dict(vec![
                ("kind".into(), Attr::Str(kind.into())),
                ("dtype".into(), Attr::DType(DType::I64)),
                ("shape".into(), Attr::List(Vec::new())),
            ])
        };
        attrs(&[
            ("context_features", Attr::Dict(vec![("id".into(), feature("FixedLenFeature"))])),
            ("sequence_features", Attr::Dict(vec![("tok".into(), feature("FixedLenSequenceFeature"))])),
        ])
    }

    #[test]
    fn one_and_many() {
        let out = eval(&SINGLE, &[Tensor::string(example(&[5, 6])).into()], features()).unwrap();
        assert_eq!(out, [Tensor::scalar(2i64).into(), Tensor::vector(&[5i64, 6]).into()]);
        let x: Value = Tensor::string_vector(vec![example(&[5, 6]), example(&[7])]).into();
        let out = eval(&BATCH, &[x], features()).unwrap();
        let padded = Tensor::from_vec(Shape::new(&[2, 2]).unwrap(), &[5i64, 6, 7, 0]).unwrap();
        assert_eq!(
            out,
            [Tensor::vector(&[2i64, 1]).into(), padded.into(), Tensor::vector(&[2i64, 1]).into()]
        );
    }
}
