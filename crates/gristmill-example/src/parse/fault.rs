//! What can be wrong with a record, and the words for it: TensorFlow's, then what was found and
//! expected.

use crate::list::ListKind;
use crate::parse::locate::{Keys, keys_present};
use crate::wire::Malformed;
use gristmill_types::{DType, Error, Frame, Shape};

/// A feature that cannot be parsed as declared. Boxed, so that results in the hot path are small.
pub(crate) type Fault = Box<FaultIn>;

/// See [`Fault`].
#[derive(Debug)]
pub(crate) struct FaultIn {
    pub(crate) slot: usize,
    /// The declared dtype.
    pub(crate) dtype: DType,
    pub(crate) what: What,
}

/// What is wrong with a feature.
#[derive(Debug)]
pub(crate) enum What {
    /// Required, but the key is absent or holds no list.
    Missing,
    /// A list of another kind. Dense features have another sentence than the rest.
    Kind { found: ListKind, dense: bool },
    /// Not a valid list.
    Broken(Malformed),
    /// Another number of values than the shape has.
    Count { found: usize, shape: Shape },
    /// A number of values that is no multiple of the row's.
    Multiple { found: usize, row: Shape },
    /// Composed features: keys that do not fit each other.
    Composed(String),
}

impl FaultIn {
    #[cold]
    pub(crate) fn boxed(slot: usize, dtype: DType, what: What) -> Fault {
        Box::new(Self { slot, dtype, what })
    }
}

/// Where a record stands in the call.
#[derive(Clone, Copy)]
pub(crate) enum Place<'a> {
    /// The only record, or one of a block: TensorFlow's words for `parse_single_example`.
    Single,
    /// One of a batch: its index and, if the caller gave them, its name.
    Batch { index: usize, name: Option<&'a [u8]> },
}

impl Place<'_> {
    /// `"Name: n, "` in a batch.
    pub(crate) fn prefix(self) -> String {
        match self {
            Self::Single => String::new(),
            Self::Batch { name, .. } => {
                let name =
                    name.map_or_else(|| "<unknown>".into(), |n| String::from_utf8_lossy(n).into_owned());
                format!("Name: {name}, ")
            }
        }
    }

    fn key(self, key: &str) -> String {
        match self {
            Self::Single => format!("Key: {key}.  "),
            Self::Batch { index, .. } => format!("{}Key: {key}, Index: {index}.  ", self.prefix()),
        }
    }
}

/// The error for bytes that are not an Example.
#[cold]
pub(crate) fn unparsable(m: Malformed, data: &[u8], place: Place<'_>) -> Error {
    /// Bytes of the record that are shown.
    const SHOWN: usize = 24;
    let shown = data[..data.len().min(SHOWN)].escape_ascii();
    let more = if data.len() > SHOWN { "…" } else { "" };
    let at = match place {
        Place::Single => String::new(),
        Place::Batch { index, .. } => format!(", example {index} of the batch"),
    };
    Error::invalid(format!(
        "Could not parse example input, value: '{shown}{more}': {} at byte {} of {}{at}",
        m.what,
        m.at,
        data.len()
    ))
    .hint("is the record really a serialized tf.train.Example?")
}

/// The error for a feature.
#[cold]
pub(crate) fn explain(fault: &FaultIn, keys: &Keys, data: &[u8], place: Place<'_>) -> Error {
    let FaultIn { slot, dtype, what } = fault;
    let dtype = *dtype;
    let key = keys.name(*slot);
    let head = place.key(key);
    let error = match what {
        What::Missing => missing(key, dtype, &keys_present(data), &place.prefix()),
        What::Kind { found, dense } => wrong_kind(&head, key, dtype, *found, *dense),
        What::Broken(m) => Error::invalid(format!(
            "{head}Can't parse serialized Example: {} at byte {} of {}",
            m.what,
            m.at,
            data.len()
        )),
        What::Count { found, shape } => {
            let expected = format!(
                "feature '{key}': declared shape {shape} needs {} values, found {found}",
                shape.count()
            );
            let words = match (place, ListKind::of(dtype)) {
                (Place::Batch { .. }, _) => format!(
                    "Number of {} values != expected.  values size: {found} but output shape: {shape}",
                    dtype.kernel_name()
                ),
                (Place::Single, Some(ListKind::Bytes)) => {
                    "Can't parse serialized Example: Parsing bytes_list failed.".to_owned()
                }
                (Place::Single, kind) => format!(
                    "Can't parse serialized Example: Some {} slice was not parsed.",
                    kind.map_or("list", ListKind::name)
                ),
            };
            Error::invalid(format!("{head}{words} {expected}")).hint(
                "declare VarLenFeature or FixedLenSequenceFeature where lengths differ from record to record",
            )
        }
        What::Multiple { found, row } => Error::invalid(match place {
            Place::Single => format!(
                "Error while parsing feature with key {key}: number of elements should be divisible by {}, found {found} \
                 instead",
                row.count()
            ),
            Place::Batch { .. } => format!(
                "{head}Number of {} values is not a multiple of stride length. Saw {found} values but output shape is: \
                 {row}: the number of elements should be divisible by {}",
                dtype.kernel_name(),
                row.count()
            ),
        }),
        What::Composed(text) => Error::invalid(format!("{head}{text}")),
    };
    error.frame(Frame::Feature { key: key.to_owned() })
}

/// The error for a required key: what the record has instead.
fn missing(key: &str, dtype: DType, present: &[String], prefix: &str) -> Error {
    /// Keys that are listed.
    const LISTED: usize = 30;
    let mut text = format!(
        "{prefix}Feature: {key} (data type: {}) is required but could not be found.",
        dtype.kernel_name()
    );
    if present.iter().any(|p| p == key) {
        text.push_str("  The record has this key, but no list under it");
    } else if present.is_empty() {
        text.push_str("  The record has no features");
    } else {
        let names: Vec<String> = present.iter().take(LISTED).map(|n| format!("'{n}'")).collect();
        let more = present.len().saturating_sub(LISTED);
        text.push_str(&format!("  The record has the features {}", names.join(", ")));
        if more > 0 {
            text.push_str(&format!(" and {more} more"));
        }
    }
    match nearest(key, present) {
        Some(name) => Error::invalid(text).hint(format!("did you mean '{name}'?")),
        None => Error::invalid(text).hint("give a default_value if records may lack the feature"),
    }
}

fn wrong_kind(head: &str, key: &str, dtype: DType, found: ListKind, dense: bool) -> Error {
    let (stored, declared) = (found.dtype().kernel_name(), dtype.kernel_name());
    let words = if dense {
        format!("Data type: {stored} but expected type: {declared}")
    } else {
        format!("Expected type: {declared}, Actual type: {stored}")
    };
    Error::invalid(format!(
        "{head}Data types don't match. {words}: feature '{key}' is stored as {}, declared {dtype}",
        found.name()
    ))
    .hint(match found {
        ListKind::Ints => "declare int64 and cast",
        ListKind::Floats => "declare float32 and cast",
        ListKind::Bytes => "declare string and decode it (io.decode_raw, strings.to_number)",
    })
}

/// The name that is most like `key`, if any is alike enough to be a slip of the pen.
fn nearest<'n>(key: &str, names: &'n [String]) -> Option<&'n str> {
    let most = (key.chars().count() / 3).max(1);
    let candidates = names.iter().filter(|n| n.as_str() != key);
    let (distance, name) = candidates.map(|n| (edits(key, n, most), n.as_str())).min_by_key(|(d, _)| *d)?;
    (distance <= most).then_some(name)
}

/// Insertions, deletions, replacements and swaps of neighbours that turn one word into the other;
/// more than `most` if that many do not suffice.
fn edits(a: &str, b: &str, most: usize) -> usize {
    let (a, b): (Vec<char>, Vec<char>) =
        (a.to_lowercase().chars().collect(), b.to_lowercase().chars().collect());
    if a.len().abs_diff(b.len()) > most {
        return most + 1;
    }
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let mut best =
                (last[j] + 1).min(row[j - 1] + 1).min(last[j - 1] + usize::from(a[i - 1] != b[j - 1]));
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(before[j - 2] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_found() {
        let names: Vec<String> = ["label", "image", "size"].map(String::from).into();
        assert_eq!(nearest("lable", &names), Some("label"));
        assert_eq!(nearest("Image", &names), Some("image"));
        assert_eq!(nearest("weight", &names), None);
        assert_eq!(nearest("label", &["label".to_owned()]), None);
    }
}
