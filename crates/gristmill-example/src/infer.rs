//! Guessing a parse spec from records.

use crate::feature_spec::{FeatureKind, FeatureSpec};
use crate::list::{List, ListKind};
use crate::parse::each_feature;
use gristmill_types::{DType, Error, Frame, PartialShape, Result};
use std::collections::BTreeMap;

/// What records hold under one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inferred {
    /// The key.
    pub name: String,
    /// Dtype of its lists; `None` if no record has a list under it.
    pub dtype: Option<DType>,
    /// Records that have a list under it.
    pub present: u64,
    /// Records that were looked at.
    pub records: u64,
    /// Fewest values of a list.
    pub shortest: usize,
    /// Most values of a list.
    pub longest: usize,
}

impl Inferred {
    /// Whether every record has a list, all of one length.
    pub fn is_fixed(&self) -> bool {
        self.present == self.records && self.shortest == self.longest
    }

    /// `FixedLenFeature` for lists of one length in every record (a scalar for length 1),
    /// otherwise `VarLenFeature`; `None` if no record has a list.
    pub fn spec(&self) -> Option<FeatureSpec> {
        let dtype = self.dtype?;
        let kind = if self.is_fixed() {
            let shape =
                if self.longest == 1 { PartialShape::scalar() } else { PartialShape::known(&[self.longest]) };
            FeatureKind::FixedLen { dtype, shape, default: None }
        } else {
            FeatureKind::VarLen { dtype }
        };
        Some(FeatureSpec { name: self.name.clone(), kind })
    }
}

/// Looks at the features of these records. Keys come in ascending order; keys that are not UTF-8
/// are shown with replacement characters.
///
/// # Errors
/// `InvalidArgument` for a record that is no Example, and for a key under which records hold
/// lists of different kinds.
pub fn infer_spec<'a>(records: impl IntoIterator<Item = &'a [u8]>) -> Result<Vec<Inferred>> {
    let mut seen: BTreeMap<String, (Inferred, Option<ListKind>)> = BTreeMap::new();
    let mut n = 0u64;
    for data in records {
        let refused = |what: &str, at: usize| {
            Error::invalid(format!("Could not parse example input: {what} at byte {at} of {}", data.len()))
                .frame(Frame::Element { index: n })
        };
        let mut own: BTreeMap<&[u8], Option<List>> = BTreeMap::new();
        each_feature(data, |key, list| {
            let held = own.entry(key).or_default();
            *held = list.or(*held);
        })
        .map_err(|m| refused(m.what, m.at))?;
        for (key, list) in own {
            let name = String::from_utf8_lossy(key).into_owned();
            let (all, kind) = seen.entry(name.clone()).or_insert_with(|| {
                let fresh =
                    Inferred { name, dtype: None, present: 0, records: 0, shortest: usize::MAX, longest: 0 };
                (fresh, None)
            });
            let Some(list) = list else { continue };
            if let Some(before) = kind.filter(|&k| k != list.kind) {
                return Err(Error::invalid(format!(
                    "feature '{}' is stored as {} here, as {} in earlier records",
                    all.name,
                    list.kind.name(),
                    before.name()
                ))
                .frame(Frame::Element { index: n }));
            }
            let count = list.count(data).map_err(|m| refused(m.what, m.at))?;
            *kind = Some(list.kind);
            all.dtype = Some(list.kind.dtype());
            all.present += 1;
            all.shortest = all.shortest.min(count);
            all.longest = all.longest.max(count);
        }
        n += 1;
    }
    Ok(seen
        .into_values()
        .map(|(all, _)| Inferred { records: n, shortest: all.shortest.min(all.longest), ..all })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Example, Feature};

    fn record(features: &[(&str, Feature)]) -> Vec<u8> {
        let map = features.iter().map(|(k, f)| ((*k).to_owned(), f.clone())).collect();
        Example { features: Some(map) }.encode()
    }

    #[test]
    fn lengths_and_kinds_are_seen() {
        let a = record(&[
            ("id", Feature::Ints(vec![1])),
            ("v", Feature::Floats(vec![1.0, 2.0])),
            ("w", Feature::Unset),
        ]);
        let b = record(&[("id", Feature::Ints(vec![2])), ("v", Feature::Floats(vec![]))]);
        let all = infer_spec([a.as_slice(), b.as_slice()]).unwrap();
        let specs: Vec<_> = all.iter().map(Inferred::spec).collect();
        assert_eq!(
            specs,
            [
                Some(FeatureSpec::fixed("id", DType::I64, &[])),
                Some(FeatureSpec::var_len("v", DType::F32)),
                None
            ]
        );
        assert_eq!((all[1].shortest, all[1].longest, all[1].present, all[2].present), (0, 2, 2, 0));
        let c = record(&[("id", Feature::Floats(vec![2.0]))]);
        let e = infer_spec([a.as_slice(), c.as_slice()]).unwrap_err();
        assert!(
            e.message().contains("'id' is stored as float_list here, as int64_list in earlier records"),
            "{e}"
        );
        assert!(infer_spec([&b"\x07"[..]]).is_err());
    }
}
