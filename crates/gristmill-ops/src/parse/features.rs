//! The `features` attribute as feature specs, and the order of an op's outputs.

use gristmill_example::{FeatureKind, FeatureSpec, Partition};
use gristmill_plan::{Arg, ArgDef, Attr, Attrs};
use gristmill_types::{Bytes, DType, Error, Kind, PartialShape, Result, Tensor, Value};

/// The `features` attribute.
pub(crate) const FEATURES: ArgDef = ArgDef {
    name: "features",
    doc: "name -> {kind: the feature class, dtype, shape, default, allow_missing, value_key, index_key, size, \
          already_sorted, partitions, row_splits_dtype}, as the class has them",
};

/// The serialized records.
pub(crate) const SERIALIZED: ArgDef = ArgDef { name: "serialized", doc: "string scalar: the record" };

/// The feature specs under an attribute name.
///
/// # Errors
/// `Type` or `Value` naming the feature.
pub(crate) fn specs(attrs: &Attrs, name: &str) -> Result<Vec<FeatureSpec>> {
    match attrs.get(name) {
        Some(Attr::Dict(entries)) => entries.iter().map(|(key, a)| spec(key, a)).collect(),
        None | Some(Attr::None) => Ok(Vec::new()),
        Some(other) => Err(Error::new(
            Kind::Type,
            format!("argument '{name}' must be a dict of features, found {other}"),
        )),
    }
}

fn spec(name: &str, attr: &Attr) -> Result<FeatureSpec> {
    let Attr::Dict(entries) = attr else {
        return Err(Error::new(
            Kind::Type,
            format!("feature '{name}' must be a feature class of io, found {attr}"),
        ));
    };
    let given = Attrs::new(entries.clone());
    let in_feature = |e: Error| Error::new(e.kind(), format!("feature '{name}': {}", e.message()));
    kind(&given).map(|kind| FeatureSpec { name: name.to_owned(), kind }).map_err(in_feature)
}

fn kind(given: &Attrs) -> Result<FeatureKind> {
    let dtype = given.dtype("dtype")?;
    Ok(match given.str("kind")?.as_str() {
        "FixedLenFeature" => FeatureKind::FixedLen { dtype, shape: shape(given)?, default: default(given)? },
        "VarLenFeature" => FeatureKind::VarLen { dtype },
        "FixedLenSequenceFeature" => FeatureKind::FixedLenSequence {
            dtype,
            shape: shape(given)?,
            allow_missing: given.bool_or("allow_missing", false)?,
            default: default(given)?,
        },
        "RaggedFeature" => FeatureKind::Ragged {
            dtype,
            value_key: key(given, "value_key")?,
            partitions: given
                .list_or("partitions", Vec::new())?
                .iter()
                .map(partition)
                .collect::<Result<_>>()?,
            row_splits_dtype: given.dtype_or("row_splits_dtype", DType::I32)?,
        },
        "SparseFeature" => FeatureKind::Sparse {
            index_keys: keys(given, "index_key")?,
            value_key: given.str("value_key")?,
            dtype,
            size: match given.get("size") {
                Some(Attr::Int(n)) => vec![*n],
                _ => given.ints("size")?,
            },
            already_sorted: given.bool_or("already_sorted", false)?,
        },
        other => {
            return Err(Error::new(Kind::Type, format!("unknown kind of feature {other}")));
        }
    })
}

/// A shape, or a list of dimensions.
fn shape(given: &Attrs) -> Result<PartialShape> {
    let Some(Attr::List(dims)) = given.get("shape") else {
        return given.shape("shape");
    };
    let dim = |a: &Attr| match a {
        Attr::None => Ok(None),
        Attr::Int(n) => usize::try_from(*n)
            .map(Some)
            .map_err(|_| Error::new(Kind::Value, format!("dimension {n} is negative"))),
        other => {
            Err(Error::new(Kind::Type, format!("a dimension must be an integer or None, found {other}")))
        }
    };
    dims.iter().map(dim).collect::<Result<_>>().map(PartialShape::new)
}

fn default(given: &Attrs) -> Result<Option<Tensor>> {
    match given.get("default") {
        None | Some(Attr::None) => Ok(None),
        Some(Attr::Value(Value::Tensor(t))) => Ok(Some(t.clone())),
        Some(other) => {
            Err(Error::new(Kind::Type, format!("the default must be a dense tensor, found {other}")))
        }
    }
}

fn key(given: &Attrs, name: &str) -> Result<Option<String>> {
    match given.get(name) {
        None | Some(Attr::None) => Ok(None),
        _ => given.str(name).map(Some),
    }
}

fn keys(given: &Attrs, name: &str) -> Result<Vec<String>> {
    match given.get(name) {
        Some(Attr::List(items)) => items
            .iter()
            .map(|a| match a {
                Attr::Str(s) => Ok(s.clone()),
                other => Err(Error::new(Kind::Type, format!("{name} must be keys, found {other}"))),
            })
            .collect(),
        _ => Ok(vec![given.str(name)?]),
    }
}

fn partition(attr: &Attr) -> Result<Partition> {
    let Attr::Dict(entries) = attr else {
        return Err(Error::new(
            Kind::Type,
            format!("a partition must be one of the classes of io.RaggedFeature, found {attr}"),
        ));
    };
    let given = Attrs::new(entries.clone());
    let key = || given.str("key");
    Ok(match given.str("kind")?.as_str() {
        "RowSplits" => Partition::RowSplits(key()?),
        "RowLengths" => Partition::RowLengths(key()?),
        "RowStarts" => Partition::RowStarts(key()?),
        "RowLimits" => Partition::RowLimits(key()?),
        "ValueRowIds" => Partition::ValueRowIds(key()?),
        "UniformRowLength" => {
            let n = given.int("length")?;
            let n = usize::try_from(n).ok().filter(|n| *n > 0);
            Partition::UniformRowLength(
                n.ok_or_else(|| Error::new(Kind::Value, "a uniform row length must be at least 1"))?,
            )
        }
        other => return Err(Error::new(Kind::Type, format!("unknown partition {other}"))),
    })
}

/// For each output of an op the position of its value among those that the parser names: sparse,
/// then ragged, then dense features, each sorted by name.
pub(crate) fn order<'a>(specs: &[FeatureSpec], names: impl Iterator<Item = &'a str>) -> Vec<usize> {
    let names: Vec<&str> = names.collect();
    let mut wanted: Vec<(u8, &str)> = specs.iter().map(|f| (group(&f.kind), f.name.as_str())).collect();
    wanted.sort_unstable();
    wanted
        .iter()
        .map(|(_, name)| names.iter().position(|n| n == name).expect("a parser names every feature once"))
        .collect()
}

fn group(kind: &FeatureKind) -> u8 {
    match kind {
        FeatureKind::VarLen { .. } | FeatureKind::Sparse { .. } => 0,
        FeatureKind::Ragged { .. } => 1,
        _ => 2,
    }
}

/// Refuses records that are no strings of that rank.
pub(crate) fn check_serialized(arg: &Arg, rank: usize) -> Result<()> {
    let spec = &arg.spec;
    if spec.dtype() != DType::String || !spec.is_dense() {
        return Err(Error::invalid(format!("serialized must be a string tensor, found {spec}")));
    }
    match (spec.shape().rank(), rank) {
        (Some(r), 0) if r != 0 => Err(Error::new(
            Kind::Value,
            format!("Input serialized must be a scalar, found shape {}", spec.shape()),
        )
        .hint("io.parse_example takes a batch of records")),
        (Some(r), 1) if r != 1 => Err(Error::new(
            Kind::Value,
            format!("Input serialized must be a vector, found shape {}", spec.shape()),
        )
        .hint("io.parse_single_example takes one record")),
        _ => Ok(()),
    }
}

/// The record of a string scalar.
pub(crate) fn record(v: &Value) -> Result<&Bytes> {
    let t = v.tensor()?;
    match (t.as_strings(), t.shape().rank()) {
        ([one], 0) => Ok(one),
        _ => Err(Error::invalid(format!(
            "Input serialized must be a scalar, found {} of shape {}",
            t.dtype(),
            t.shape()
        ))),
    }
}

/// A string vector of records.
pub(crate) fn serialized(v: &Value) -> Result<&Tensor> {
    let t = v.tensor()?;
    if t.dtype() != DType::String || t.shape().rank() != 1 {
        return Err(Error::invalid(format!(
            "Input serialized must be a vector, found {} of shape {}",
            t.dtype(),
            t.shape()
        )));
    }
    Ok(t)
}

/// The records of a string vector, one by one.
pub(crate) fn records(v: &Value) -> Result<&[Bytes]> {
    serialized(v).map(Tensor::as_strings)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::attrs;

    fn feature(kind: &str, more: &[(&str, Attr)]) -> Attr {
        let mut entries =
            vec![("kind".to_owned(), Attr::Str(kind.into())), ("dtype".to_owned(), Attr::DType(DType::I64))];
        entries.extend(more.iter().map(|(n, a)| ((*n).to_owned(), a.clone())));
        Attr::Dict(entries)
    }

    #[test]
    fn every_kind_is_read() {
        let rows = Attr::Dict(vec![
            ("kind".into(), Attr::Str("RowLengths".into())),
            ("key".into(), Attr::Str("r".into())),
        ]);
        let dict = Attr::Dict(vec![
            ("d".into(), feature("FixedLenFeature", &[("shape", Attr::List(vec![Attr::Int(2)]))])),
            ("r".into(), feature("RaggedFeature", &[("partitions", Attr::List(vec![rows]))])),
            ("v".into(), feature("VarLenFeature", &[])),
            (
                "s".into(),
                feature(
                    "SparseFeature",
                    &[
                        ("index_key", Attr::Str("i".into())),
                        ("value_key", Attr::Str("w".into())),
                        ("size", Attr::Int(9)),
                    ],
                ),
            ),
            (
                "b".into(),
                feature("FixedLenSequenceFeature", &[("shape", Attr::Shape(PartialShape::scalar()))]),
            ),
        ]);
        let specs = specs(&attrs(&[("features", dict)]), "features").unwrap();
        assert_eq!(
            specs[0].kind,
            FeatureKind::FixedLen { dtype: DType::I64, shape: PartialShape::known(&[2]), default: None }
        );
        assert!(
            matches!(&specs[1].kind, FeatureKind::Ragged { partitions, .. } if partitions == &[Partition::RowLengths("r".into())])
        );
        assert!(
            matches!(&specs[3].kind, FeatureKind::Sparse { index_keys, size, .. } if index_keys == &["i"] && size == &[9])
        );
        // Sparse s and v, ragged r, dense b and d.
        assert_eq!(order(&specs, ["b", "d", "r", "s", "v"].into_iter()), [3, 4, 2, 0, 1]);
    }

    #[test]
    fn faults_name_the_feature() {
        let dict = Attr::Dict(vec![("x".into(), feature("Nothing", &[]))]);
        let e = specs(&attrs(&[("features", dict)]), "features").unwrap_err();
        assert!(e.message().contains("feature 'x': unknown kind of feature Nothing"), "{e}");
    }
}
