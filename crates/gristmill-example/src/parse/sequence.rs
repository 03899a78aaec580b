//! Parsing SequenceExamples, as `parse_single_sequence_example` and `parse_sequence_example` do.

use crate::feature_spec::{FeatureKind, FeatureSpec, output_order};
use crate::parse::Parser;
use crate::parse::compose::Form;
use crate::parse::fault::{Place, unparsable};
use crate::parse::locate::{Keys, Scratch, locate};
use crate::parse::outputs::{Composed, Make, Output};
use crate::parse::ragged::{Level, ragged_feature};
use crate::parse::steps::{
    StepFault, dense_steps, explain_step, gather_steps, locate_lists, located, missing_list, sparse_steps,
    under_records,
};
use gristmill_types::{Bytes, DType, Error, Kind, PartialShape, Result, Spec, Tensor, Value};
use std::ops::Range;

/// Parses serialized SequenceExamples by two specs: of the context, and of the steps.
#[derive(Clone, Debug)]
pub struct SequenceParser {
    context: Parser,
    keys: Keys,
    outputs: Vec<StepOutput>,
}

/// A result over steps: the rule is that of one step, `required` whether the key must exist.
#[derive(Clone, Debug)]
struct StepOutput {
    name: String,
    rule: Composed,
    required: bool,
}

/// What a batch of SequenceExamples parses to.
#[derive(Clone, Debug, PartialEq)]
pub struct SequenceBatch {
    /// Results of the context, in the order of its parser's names.
    pub context: Vec<Value>,
    /// Results over steps, in the order of [`SequenceParser::names`].
    pub sequence: Vec<Value>,
    /// For each padded result its name and the number of steps of every record, int64 `[n]`.
    pub lengths: Vec<(String, Tensor)>,
}

impl SequenceParser {
    /// A parser for these features; the context may be empty, and so may the steps, not both.
    ///
    /// # Errors
    /// As [`Parser::new`]; `Value` for a feature over steps that is no `FixedLenSequenceFeature`,
    /// `VarLenFeature` or `RaggedFeature`.
    pub fn new(context: &[FeatureSpec], sequence: &[FeatureSpec]) -> Result<Self> {
        if context.is_empty() && sequence.is_empty() {
            return Err(Error::new(Kind::Value, "context and sequence features cannot both be empty"));
        }
        let mut keys = Keys::default();
        let outputs = output_order(sequence)?
            .into_iter()
            .map(|f| {
                let mut feature = f.clone();
                let required = match &mut feature.kind {
                    FeatureKind::FixedLenSequence { allow_missing, .. } => {
                        !std::mem::replace(allow_missing, true)
                    }
                    _ => false,
                };
                match Output::new(&feature, &mut keys)?.make {
                    Make::Lists(rule) if !matches!(rule, Composed::Sparse { .. }) => {
                        Ok(StepOutput { name: feature.name, rule, required })
                    }
                    _ => Err(Error::new(
                        Kind::Value,
                        format!("Unsupported kind of sequence feature '{}'", f.name),
                    )
                    .hint("use FixedLenSequenceFeature, VarLenFeature or RaggedFeature")),
                }
            })
            .collect::<Result<Vec<_>>>()?;
        Ok(Self { context: Parser::of_any(context)?, keys, outputs })
    }

    /// The parser of the context: names and specs of its results.
    pub fn context(&self) -> &Parser {
        &self.context
    }

    /// Names of the results over steps, in their order.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.outputs.iter().map(|o| o.name.as_str())
    }

    /// Specs of the results over the steps of one record.
    pub fn specs(&self) -> Vec<Spec> {
        self.outputs
            .iter()
            .map(|o| {
                let output = Output { name: o.name.clone(), make: Make::Lists(o.rule.clone()) };
                match &o.rule {
                    Composed::Sequence { .. } => output.spec(),
                    Composed::VarLen { dtype, .. } => {
                        Spec::Sparse { dtype: *dtype, shape: PartialShape::of_rank(2) }
                    }
                    _ => output.batch_spec(None),
                }
            })
            .collect()
    }

    /// Specs of the results over the steps of `n` records.
    pub fn batch_specs(&self, n: Option<usize>) -> Vec<Spec> {
        self.specs().iter().map(|s| s.batched(n)).collect()
    }

    /// Parses one record: results of the context, and over the steps (dense `[steps, ...]`, sparse
    /// `[steps, longest]`, ragged `[steps, None]`).
    ///
    /// # Errors
    /// `InvalidArgument` in TensorFlow's words.
    pub fn parse_single(&self, record: &Bytes) -> Result<(Vec<Value>, Vec<Value>)> {
        let mut scratch = Scratch::new(&self.context.keys);
        let refused = |m| unparsable(m, record, Place::Single);
        locate(&self.context.keys, record, &mut scratch).map_err(refused)?;
        let context = self.context.values(record, &scratch.found)?;
        let lists = locate_lists(&self.keys, record).map_err(refused)?;
        let records = std::slice::from_ref(record);
        let sequence = self
            .outputs
            .iter()
            .map(|o| self.make(o, records, &lists, Form::Single, None).map(|(value, _)| value))
            .collect::<Result<_>>()?;
        Ok((context, sequence))
    }

    /// Parses a batch: dense results are padded to the most steps, with their lengths.
    ///
    /// # Errors
    /// `InvalidArgument` in TensorFlow's words, naming record, feature and step.
    pub fn parse_batch(&self, records: &[Bytes], names: Option<&[Bytes]>) -> Result<SequenceBatch> {
        let context = self.context.batch_of(records, names)?;
        let mut lists = Vec::new();
        for (index, record) in records.iter().enumerate() {
            let place = Place::Batch { index, name: names.map(|n| n[index].as_slice()) };
            lists.extend(locate_lists(&self.keys, record).map_err(|m| unparsable(m, record, place))?);
        }
        let (mut sequence, mut lengths) = (Vec::new(), Vec::new());
        for o in &self.outputs {
            let (value, steps) = self.make(o, records, &lists, Form::Batch, names)?;
            sequence.push(value);
            if matches!(o.rule, Composed::Sequence { .. }) {
                let steps: Vec<i64> = steps.iter().map(|&n| n as i64).collect();
                lengths.push((o.name.clone(), Tensor::vector(&steps)));
            }
        }
        Ok(SequenceBatch { context, sequence, lengths })
    }

    /// One result, and the number of steps of each record.
    fn make(
        &self,
        output: &StepOutput,
        records: &[Bytes],
        lists: &[Option<Range<usize>>],
        form: Form,
        names: Option<&[Bytes]>,
    ) -> Result<(Value, Vec<usize>)> {
        let steps = |slot, dtype, dense| gather_steps(&self.keys, records, lists, slot, dtype, dense);
        let explained = |e: StepFault| {
            let name = names.map(|n| n[e.record].as_slice());
            explain_step(e, &self.keys, records, name)
        };
        let place = |index| Place::Batch { index, name: names.map(|n| n[index].as_slice()) };
        match &output.rule {
            Composed::Sequence { slot, dtype, row, default } => {
                let absent = |i: &usize| lists[i * self.keys.len() + slot].is_none();
                if let Some(i) = (0..records.len()).find(absent).filter(|_| output.required) {
                    return Err(missing_list(&output.name, place(i)));
                }
                let steps = steps(*slot, *dtype, true).map_err(explained)?;
                let value = dense_steps(&steps, *slot, row, default.as_ref(), form).map_err(explained)??;
                Ok((value, steps.per_record))
            }
            Composed::VarLen { slot, dtype } => {
                let steps = steps(*slot, *dtype, false).map_err(explained)?;
                Ok((sparse_steps(&steps, form)?, steps.per_record))
            }
            Composed::Ragged { value, dtype, levels, splits } => {
                let values = steps(*value, *dtype, false).map_err(explained)?;
                let mut parts = Vec::new();
                for level in levels {
                    if let Level::Key { slot, .. } = level {
                        let part = steps(*slot, DType::I64, false).map_err(explained)?;
                        if part.per_record != values.per_record {
                            return Err(Error::invalid(format!(
                                "ragged feature '{}' and its partition '{}' differ in their numbers of steps",
                                output.name,
                                self.keys.name(*slot)
                            )));
                        }
                        parts.push(part.lists);
                    }
                }
                let per_record = values.per_record;
                let made = ragged_feature(values.lists, *value, levels, &parts, *splits, Form::Batch)
                    .map_err(|(step, fault)| explained(located(&per_record, step, fault)))??;
                let value =
                    if form == Form::Batch { under_records(made, &per_record, *splits)? } else { made };
                Ok((value, per_record))
            }
            Composed::Sparse { .. } => {
                Err(Error::internal("sparse sequence features are refused at construction"))
            }
        }
    }
}
