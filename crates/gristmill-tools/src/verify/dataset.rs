//! Completeness of the files of a packed dataset, by the `dataset.json` beside them.

use std::collections::BTreeMap;
use std::path::Path;

use gristmill_storage::{Stores, read_file};
use gristmill_types::Result;
use serde::Serialize;
use serde_json::Value;

use super::FileCheck;

/// What a `dataset.json` says that the files do not keep.
#[derive(Clone, Debug, Serialize)]
pub struct DatasetCheck {
    /// The `dataset.json`.
    pub path: String,
    /// Shards it names.
    pub shards: u64,
    /// What is wrong, in words.
    pub problems: Vec<String>,
}

/// The file's name.
const NAME: &str = "dataset.json";

/// Compares the files of a folder with its `dataset.json`; nothing where there is none.
///
/// # Errors
/// What the store reports.
pub(super) fn check(folder: &Path, files: &[&FileCheck]) -> Result<Option<DatasetCheck>> {
    let path = folder.join(NAME);
    let stores = Stores::default();
    let store = &**stores.of(path.as_os_str())?;
    if !store.exists(path.as_os_str()) {
        return Ok(None);
    }
    let mut check =
        DatasetCheck { path: path.to_string_lossy().into_owned(), shards: 0, problems: Vec::new() };
    let text = read_file(store, path.as_os_str())?;
    let Ok(json) = serde_json::from_slice::<Value>(&text) else {
        check.problems.push("it is no JSON".to_owned());
        return Ok(Some(check));
    };
    if json["format"] != "gristmill-dataset" {
        return Ok(None);
    }
    let shards = shards_in(&json);
    check.shards = shards.len() as u64;
    let by_name: BTreeMap<_, _> =
        files.iter().filter_map(|file| Some((Path::new(&file.path).file_name()?.to_str()?, *file))).collect();
    for shard in shards {
        let at = folder.join(&shard.file);
        let name = &shard.file;
        let Ok(bytes) = store.size(at.as_os_str()) else {
            check.problems.push(format!("shard {name} is missing"));
            continue;
        };
        if let Some(expected) = shard.bytes.filter(|&expected| expected != bytes) {
            check.problems.push(format!("shard {name} has {bytes} bytes, expected {expected}"));
        }
        let Some(seen) = by_name.get(name.as_str()) else { continue };
        if let Some(expected) = shard.records.filter(|&expected| expected != seen.records) {
            check
                .problems
                .push(format!("shard {name} has {} intact records, expected {expected}", seen.records));
        }
        if let (Some(expected), Some(found)) = (&shard.crc32c, &seen.crc32c)
            && expected != found
        {
            check.problems.push(format!("shard {name} has the CRC32C {found}, expected {expected}"));
        }
    }
    Ok(Some(check))
}

/// What is said of one shard.
struct Shard {
    file: String,
    records: Option<u64>,
    bytes: Option<u64>,
    crc32c: Option<String>,
}

/// The shards of all splits.
fn shards_in(json: &Value) -> Vec<Shard> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    list(&json["splits"]).iter().flat_map(|split| list(&split["shards"])).filter_map(|s| shard(&s)).collect()
}

fn shard(value: &Value) -> Option<Shard> {
    let text = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    let number = |key: &str| value.get(key).and_then(Value::as_u64);
    Some(Shard {
        file: text("file")?,
        records: number("records"),
        bytes: number("bytes"),
        crc32c: text("crc32c"),
    })
}
