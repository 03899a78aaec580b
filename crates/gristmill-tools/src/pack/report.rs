//! What a pack tells: the report, and `dataset.json`.

use std::collections::BTreeMap;

use gristmill_types::{Error, Kind};
use serde::{Deserialize, Serialize};

use super::options::Recorded;

/// How many files a list names; the others are only counted.
const MAX_NAMED: usize = 1000;

/// A file and what is to be said about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedFile {
    /// The path, relative to the source.
    pub path: String,
    /// What is said.
    pub reason: String,
}

/// Files of one sort: their number, and the first thousand by name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Named {
    /// Number of files.
    pub total: u64,
    /// The files in the order of the shards.
    pub files: Vec<NamedFile>,
}

impl Named {
    pub(crate) fn add(&mut self, path: String, reason: impl Into<String>) {
        self.total += 1;
        if self.files.len() < MAX_NAMED {
            self.files.push(NamedFile { path, reason: reason.into() });
        }
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.total += other.total;
        let room = MAX_NAMED - self.files.len();
        self.files.extend(other.files.iter().take(room).cloned());
    }

    /// The files in at most `lines` indented lines, the rest as a number.
    pub fn lines(&self, lines: usize) -> String {
        let mut text = String::new();
        for file in self.files.iter().take(lines) {
            text += &format!("\n  {}: {}", file.path, file.reason);
        }
        let left = self.total - self.files.len().min(lines) as u64;
        if left > 0 {
            text += &format!("\n  and {left} more");
        }
        text
    }
}

/// Records of one class.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClassCount {
    /// `label_name`; bytes that are no UTF-8 are replaced.
    pub name: String,
    /// `label`.
    pub label: i64,
    /// Records of it.
    pub records: u64,
    /// Records of it in each split, in the order of the splits.
    pub by_split: Vec<u64>,
}

/// A feature of every record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FeatureInfo {
    /// The key.
    pub name: String,
    /// The list that holds it: `bytes`, `int64` or `float`.
    pub kind: String,
    /// The dtype to parse it as: `string`, `int64` or `float32`.
    pub dtype: String,
    /// Its shape; `null` when the number of values varies.
    pub shape: Option<Vec<u64>>,
    /// Whether some records lack it.
    pub optional: bool,
}

/// One record file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShardInfo {
    /// Its name in the folder.
    pub file: String,
    /// Records in it.
    pub records: u64,
    /// Its size in bytes.
    pub bytes: u64,
    /// CRC32C of the whole file, eight hexadecimal digits.
    pub crc32c: String,
}

/// One split; a data set without splits has one of its own name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SplitInfo {
    /// The name.
    pub name: String,
    /// The share asked for.
    pub share: f64,
    /// Records in it.
    pub records: u64,
    /// Bytes of its files.
    pub bytes: u64,
    /// Its files.
    pub shards: Vec<ShardInfo>,
}

/// Images whose Exif orientation is not upright.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExifCounts {
    /// Number of images.
    pub oriented: u64,
    /// By the orientation's number, 2 to 8.
    pub by_orientation: BTreeMap<u8, u64>,
    /// Whether they were turned upright.
    pub applied: bool,
}

/// What was read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceInfo {
    /// `folder`, `csv`, `tsv` or `jsonl`.
    pub kind: String,
    /// Files listed (for a manifest: its rows).
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Records by the format that the files had.
    pub formats: BTreeMap<String, u64>,
    /// Images left out because they cannot be read.
    pub skipped: Named,
    /// Images packed although their names tell of another format.
    pub misnamed: Named,
    /// Files that are no images, and were not packed.
    pub not_images: Named,
    /// Images that lie on their side.
    pub exif: ExifCounts,
    /// Records whose file equals an earlier one (same size and CRC32C).
    pub identical: u64,
    /// Those of them whose twin is in another split: the splits leak into each other.
    pub identical_across_splits: u64,
}

/// `dataset.json`: what a reader has to know. It holds no times and no absolute paths: equal sources give equal bytes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DatasetInfo {
    /// Always `gristmill-dataset`.
    pub format: String,
    /// Version of this description: 1.
    pub version: u32,
    /// What the file names begin with where there are no splits.
    pub name: String,
    /// Records in all.
    pub records: u64,
    /// Bytes of all shards.
    pub bytes: u64,
    /// TensorFlow's name of the compression: `""`, `"GZIP"` or `"ZLIB"`.
    pub compression: String,
    /// Names in the order of their labels; empty for integer labels without names.
    pub class_names: Vec<String>,
    /// Records of each class.
    pub classes: Vec<ClassCount>,
    /// Features of the records, by name.
    pub features: Vec<FeatureInfo>,
    /// The splits and their shards.
    pub splits: Vec<SplitInfo>,
    /// The options that decided what was written.
    pub options: Recorded,
    /// What was read.
    pub source: SourceInfo,
    /// A hash of the paths, labels, sizes and columns that were packed.
    pub listing: String,
}

/// What [`pack`](super::pack) did.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PackReport {
    /// The folder written to.
    pub out: String,
    /// What `dataset.json` says.
    #[serde(flatten)]
    pub dataset: DatasetInfo,
    /// Shards that an earlier, interrupted run had finished.
    pub resumed_shards: u64,
    /// Whether everything had been there before, so that nothing was written.
    pub complete_before: bool,
    /// Wall time in seconds.
    pub seconds: f64,
}

impl PackReport {
    /// A summary for people, several lines without a final line end: counts, then every file that needs a look, at
    /// most `names` of each sort.
    pub fn summary(&self, names: usize) -> String {
        let d = &self.dataset;
        let shards: usize = d.splits.iter().map(|s| s.shards.len()).sum();
        let mut text = format!(
            "{} of {} in {}, {} bytes",
            count(d.records, "record", "records"),
            count(d.classes.len() as u64, "class", "classes"),
            count(shards as u64, "shard", "shards"),
            d.bytes
        );
        if d.splits.len() > 1 {
            for split in &d.splits {
                let shards = count(split.shards.len() as u64, "shard", "shards");
                text +=
                    &format!("\n{}: {} in {shards}", split.name, count(split.records, "record", "records"));
            }
        }
        if self.complete_before {
            text += "\nnothing to do: the same data set was there already";
        } else if self.resumed_shards > 0 {
            let kept = count(self.resumed_shards, "shard was", "shards were");
            text += &format!("\n{kept} kept from an interrupted run");
        }
        for note in self.dataset.source.notes(names) {
            text += "\n";
            text += &note;
        }
        text
    }
}

impl SourceInfo {
    /// What the user should know about the source, one text of one or more lines each.
    pub fn notes(&self, names: usize) -> Vec<String> {
        let mut notes = Vec::new();
        let mut list = |named: &Named, one: &str, many: &str| {
            if named.total > 0 {
                notes.push(format!("{}{}", count(named.total, one, many), named.lines(names)));
            }
        };
        list(&self.skipped, "unreadable image was skipped", "unreadable images were skipped");
        list(
            &self.misnamed,
            "image is of another format than its name says (packed as it is)",
            "images are of another format than their names say (packed as they are)",
        );
        list(
            &self.not_images,
            "file is no image and was not packed",
            "files are no images and were not packed",
        );
        let oriented = self.exif.oriented;
        if oriented > 0 && self.exif.applied {
            let images = "with an Exif orientation";
            notes.push(format!(
                "{} turned upright and encoded as JPEG",
                count(oriented, &format!("image {images} was"), &format!("images {images} were"))
            ));
        } else if oriented > 0 {
            notes.push(format!(
                "{} an Exif orientation, which decoders ignore: exif='apply' turns {} upright",
                count(oriented, "image has", "images have"),
                if oriented == 1 { "it" } else { "them" }
            ));
        }
        if self.identical > 0 {
            let mut note =
                format!("{} equal to another one", count(self.identical, "image is", "images are"));
            if self.identical_across_splits > 0 {
                note += &format!(", {} of them to one in another split", self.identical_across_splits);
            }
            notes.push(note);
        }
        notes
    }
}

/// A number with its noun.
pub(crate) fn count(n: u64, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

/// A path for people: in one line, invalid UTF-8 replaced.
pub(crate) fn shown(path: &[u8]) -> String {
    let text = String::from_utf8_lossy(path);
    if text.contains(char::is_control) { text.escape_debug().to_string() } else { text.into_owned() }
}

/// The error after the caller asked to stop.
pub(crate) fn cancelled() -> Error {
    Error::new(Kind::Cancelled, "packing was stopped")
}
