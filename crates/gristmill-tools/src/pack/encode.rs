//! One record: the bytes of a `tf.train.Example` around an image, as the deterministic encoder of `gristmill-example`
//! writes them, but without building the message first.

use gristmill_example::example::wire_order;
use gristmill_example::wire::{field_len, put_head, put_varint, varint_len};

use super::listing::Listing;
use super::manifest::{CellKind, Scalars};
use super::report::FeatureInfo;

/// Where a feature's value comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    Filename,
    Height,
    Image,
    Label,
    LabelName,
    RestartIndex,
    Width,
    Column(usize),
}

/// The features of every record in the order in which they are written.
#[derive(Debug)]
pub(crate) struct Schema {
    features: Vec<(String, Origin)>,
}

/// What differs from record to record, beside the image.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fields<'a> {
    /// The file's place in the listing.
    pub(crate) row: usize,
    pub(crate) height: i64,
    pub(crate) width: i64,
    /// Bytes of the image.
    pub(crate) image_bytes: usize,
    /// Where the image's rows begin, if records have that.
    pub(crate) restart_index: &'a [u8],
}

enum Value<'a> {
    Bytes(&'a [u8]),
    Int(i64),
    Cell(Scalars<'a>),
}

/// The name of the feature with a [`Fields::restart_index`].
pub(crate) const RESTART_INDEX: &str = "restart_index";

impl Schema {
    pub(crate) fn new(listing: &Listing, restart_index: bool) -> Self {
        let own = [
            ("filename", Origin::Filename),
            ("height", Origin::Height),
            ("image", Origin::Image),
            ("label", Origin::Label),
            ("label_name", Origin::LabelName),
            ("width", Origin::Width),
        ];
        let mut features: Vec<_> = own.map(|(name, origin)| (name.to_owned(), origin)).into();
        if restart_index {
            features.push((RESTART_INDEX.to_owned(), Origin::RestartIndex));
        }
        let columns = listing.cells.columns().iter().enumerate();
        features.extend(columns.map(|(i, column)| (column.name.clone(), Origin::Column(i))));
        features.sort_by(|(a, _), (b, _)| wire_order(a, b));
        Self { features }
    }

    /// The features by name, for `dataset.json`.
    pub(crate) fn describe(&self, listing: &Listing) -> Vec<FeatureInfo> {
        let info = |(name, origin): &(String, Origin)| {
            let (kind, shape, optional) = match *origin {
                Origin::Column(i) => {
                    let column = &listing.cells.columns()[i];
                    let shape = match column.length() {
                        Some(1) => Some(Vec::new()),
                        length => length.map(|n| vec![n]),
                    };
                    (column.kind(), shape, column.optional())
                }
                Origin::Filename | Origin::Image | Origin::LabelName | Origin::RestartIndex => {
                    (CellKind::Bytes, Some(Vec::new()), false)
                }
                Origin::Height | Origin::Label | Origin::Width => (CellKind::Int, Some(Vec::new()), false),
            };
            let (kind, dtype) = match kind {
                CellKind::Int => ("int64", "int64"),
                CellKind::Float => ("float", "float32"),
                CellKind::Bytes => ("bytes", "string"),
            };
            FeatureInfo { name: name.clone(), kind: kind.into(), dtype: dtype.into(), shape, optional }
        };
        let mut features: Vec<_> = self.features.iter().map(info).collect();
        features.sort_by(|a, b| a.name.cmp(&b.name));
        features
    }

    /// Writes what comes before the image's bytes to `head` and what follows them to `tail`. Together with the image
    /// they are the whole message; its length is what is given.
    pub(crate) fn around(
        &self,
        listing: &Listing,
        fields: &Fields<'_>,
        head: &mut Vec<u8>,
        tail: &mut Vec<u8>,
    ) -> usize {
        head.clear();
        tail.clear();
        let length: usize = self
            .features
            .iter()
            .filter_map(|(key, origin)| {
                Some(field_len(entry_len(key, feature_len(listing, fields, *origin)?)))
            })
            .sum();
        put_head(head, 1, length);
        let mut out: &mut Vec<u8> = head;
        for (key, origin) in &self.features {
            let Some(feature) = feature_len(listing, fields, *origin) else { continue };
            put_head(out, 1, entry_len(key, feature));
            put_head(out, 1, key.len());
            out.extend_from_slice(key.as_bytes());
            put_head(out, 2, feature);
            if *origin == Origin::Image {
                put_head(out, 1, field_len(fields.image_bytes));
                put_head(out, 1, fields.image_bytes);
                out = tail;
            } else if let Some(value) = value(listing, fields, *origin) {
                put_feature(out, value);
            }
        }
        field_len(length)
    }
}

fn entry_len(key: &str, feature: usize) -> usize {
    field_len(key.len()) + field_len(feature)
}

/// The value of a feature other than the image; `None` where the record lacks it.
fn value<'a>(listing: &'a Listing, fields: &Fields<'a>, origin: Origin) -> Option<Value<'a>> {
    let class = || &listing.classes[listing.class(fields.row)];
    Some(match origin {
        Origin::Filename => Value::Bytes(listing.path(fields.row)),
        Origin::Height => Value::Int(fields.height),
        Origin::Width => Value::Int(fields.width),
        Origin::RestartIndex => Value::Bytes(fields.restart_index),
        Origin::Label => Value::Int(class().label),
        Origin::LabelName => Value::Bytes(&class().name),
        Origin::Column(column) => Value::Cell(listing.cells.get(fields.row, column)?),
        Origin::Image => return None,
    })
}

/// Bytes of the contents of a list, and whether it is packed (numbers) rather than fields (byte strings).
fn payload(value: &Value<'_>) -> (usize, bool) {
    match value {
        Value::Bytes(bytes) => (field_len(bytes.len()), false),
        Value::Int(int) => (varint_len(*int as u64), true),
        Value::Cell(cell) => {
            let mut cell = cell.clone();
            match cell.kind {
                CellKind::Bytes => {
                    (std::iter::from_fn(|| cell.text()).map(|t| field_len(t.len())).sum(), false)
                }
                CellKind::Float => (4 * cell.count() as usize, true),
                CellKind::Int => {
                    (std::iter::from_fn(|| cell.int()).map(|i| varint_len(i as u64)).sum(), true)
                }
            }
        }
    }
}

fn feature_len(listing: &Listing, fields: &Fields<'_>, origin: Origin) -> Option<usize> {
    if origin == Origin::Image {
        return Some(field_len(field_len(fields.image_bytes)));
    }
    Some(field_len(list_len(payload(&value(listing, fields, origin)?))))
}

fn list_len((payload, packed): (usize, bool)) -> usize {
    if packed && payload > 0 { field_len(payload) } else { payload }
}

fn put_feature(out: &mut Vec<u8>, value: Value<'_>) {
    let (payload, packed) = payload(&value);
    let kind = match &value {
        Value::Bytes(_) => CellKind::Bytes,
        Value::Int(_) => CellKind::Int,
        Value::Cell(cell) => cell.kind,
    };
    let field = match kind {
        CellKind::Bytes => 1,
        CellKind::Float => 2,
        CellKind::Int => 3,
    };
    put_head(out, field, list_len((payload, packed)));
    if packed && payload > 0 {
        put_head(out, 1, payload);
    }
    match value {
        Value::Bytes(bytes) => {
            put_head(out, 1, bytes.len());
            out.extend_from_slice(bytes);
        }
        Value::Int(int) => put_varint(out, int as u64),
        Value::Cell(mut cell) => match kind {
            CellKind::Bytes => {
                while let Some(text) = cell.text() {
                    put_head(out, 1, text.len());
                    out.extend_from_slice(text);
                }
            }
            CellKind::Float => {
                out.extend(std::iter::from_fn(|| cell.float()).flat_map(f32::to_le_bytes));
            }
            CellKind::Int => std::iter::from_fn(|| cell.int()).for_each(|i| put_varint(out, i as u64)),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::super::listing::Class;
    use super::super::manifest::{self, Format};
    use super::*;
    use gristmill_example::{Example, Feature, FeatureMap};
    use gristmill_types::Bytes;
    use std::path::Path;

    fn text(bytes: &[u8]) -> Feature {
        Feature::Bytes(vec![Bytes::copy_from(bytes)])
    }

    #[test]
    fn bytes_are_those_of_the_message() {
        let rows = "{\"path\":\"p\",\"label\":1,\"a\":[1,-2,300],\"im\":\"x\",\"f\":1.5,\"e\":[],\"label_x\":[\"u\",\"\"]}\n\
                    {\"path\":\"p\",\"label\":1,\"a\":null,\"im\":\"y\",\"f\":[],\"e\":[],\"label_x\":[\"u\",\"\"]}\n";
        let table = manifest::read(rows.as_bytes(), Format::JsonLines, &|| false).unwrap();
        let mut listing = Listing::new(Path::new(""), "jsonl");
        listing.classes = vec![Class { label: -7, name: b"\xffrose".to_vec() }];
        listing.cells = table.cells;
        listing.push(b"a/b.jpg", 0, None);
        listing.push(&[b'n'; 300], 0, None);
        let (mut head, mut tail) = (Vec::new(), Vec::new());
        for (row, image, indexed) in [(0, vec![7u8; 5], false), (0, vec![], true), (1, vec![9; 70_000], true)]
        {
            let schema = Schema::new(&listing, indexed);
            let restart_index = &image[..image.len() / 100];
            let fields =
                Fields { row, height: 480, width: 6_000_000_000, image_bytes: image.len(), restart_index };
            let length = schema.around(&listing, &fields, &mut head, &mut tail);
            let mut map: FeatureMap = FeatureMap::new();
            map.insert("image".into(), text(&image));
            map.insert("label".into(), Feature::Ints(vec![-7]));
            map.insert("label_name".into(), text(b"\xffrose"));
            map.insert("height".into(), Feature::Ints(vec![480]));
            map.insert("width".into(), Feature::Ints(vec![6_000_000_000]));
            map.insert("filename".into(), text(listing.path(row)));
            if indexed {
                map.insert("restart_index".into(), text(restart_index));
            }
            if row == 0 {
                map.insert("a".into(), Feature::Ints(vec![1, -2, 300]));
            }
            map.insert("f".into(), Feature::Floats(if row == 0 { vec![1.5] } else { vec![] }));
            map.insert("im".into(), text(if row == 0 { b"x" } else { b"y" }));
            map.insert("e".into(), Feature::Bytes(vec![]));
            map.insert("label_x".into(), Feature::Bytes(vec![Bytes::copy_from(b"u"), Bytes::EMPTY]));
            let expected = Example { features: Some(map) }.encode();
            assert_eq!([&head[..], &image, &tail].concat(), expected, "row {row}");
            assert_eq!(length, expected.len());
        }
    }
}
