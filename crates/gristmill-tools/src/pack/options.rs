//! What the caller may choose.

use gristmill_record::Compression;
use gristmill_types::{Error, Result};
use serde::{Deserialize, Serialize};

use super::transform::BYTES_PER_NEW_PIXEL;
use super::work::PIXEL_BYTES;

/// What happens to an image that cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnError {
    /// It is left out and named in the report.
    Skip,
    /// All others are still looked at, then one error names every bad image, and nothing is published.
    #[default]
    Fail,
}

/// What happens to an image whose Exif orientation says that it lies on its side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Exif {
    /// It is counted and reported; the pixels stay as TensorFlow's decoders see them.
    #[default]
    Ignore,
    /// It is decoded, turned upright and encoded anew as JPEG without its Exif data.
    Apply,
}

/// How an image gets the size asked for by [`PackOptions::resize`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Fit {
    /// As `tf.image.resize`: both sides are scaled on their own, so the aspect ratio may change.
    #[default]
    Stretch,
    /// Scaled until it covers the size (each side rounded up), then the centre is cut out as
    /// `tf.image.resize_with_crop_or_pad` does.
    Crop,
}

/// How [`pack`](super::pack) works.
#[derive(Debug, Clone, PartialEq)]
pub struct PackOptions {
    /// Number of shards in all, shared out over the splits by their records (at least one each). `None`: as many as
    /// [`shard_size_mb`](Self::shard_size_mb) asks for.
    pub shards: Option<u32>,
    /// Megabytes (10^6 bytes) that a shard should have; an estimate where images are encoded anew.
    pub shard_size_mb: u64,
    /// Width and height in pixels that every image gets, by decoding (three channels), bilinear resizing and JPEG
    /// encoding. `None`: the bytes of the files go in as they are.
    pub resize: Option<(u32, u32)>,
    /// How images get that size.
    pub fit: Fit,
    /// JPEG quality of what is encoded, 0 to 100; 95 is `tf.io.encode_jpeg`'s default.
    pub quality: u8,
    /// Names and shares of the splits; the shares add up to 1. Empty: no splits.
    pub splits: Vec<(String, f64)>,
    /// Decides order and splits.
    pub seed: u64,
    /// Whether records come in an order mixed by the seed instead of class after class.
    pub shuffle: bool,
    /// How the shards are compressed as a whole.
    pub compression: Compression,
    /// What happens to an image that cannot be read.
    pub on_error: OnError,
    /// What happens to an image that lies on its side.
    pub exif: Exif,
    /// Whether records get the feature `restart_index`: for JPEG images without restart markers what
    /// `tf.io.jpeg_restart_index` gives, so that a part of them is decoded faster; for others, and for files too large
    /// for the memory that packing takes, no bytes.
    pub restart_index: bool,
    /// Whether every image is decoded in full instead of having its header and its end looked at.
    pub check: bool,
    /// Number of threads; `None`: one per core available. It never changes the result.
    pub threads: Option<usize>,
    /// Whether another data set in the folder is replaced.
    pub overwrite: bool,
    /// Whether shards are forced to the disk before they get their names (slow; guards against power cuts, while a
    /// killed process never harms).
    pub durable: bool,
    /// What file names without splits begin with; `None`: the name of the source.
    pub name: Option<String>,
}

impl Default for PackOptions {
    fn default() -> Self {
        Self {
            shards: None,
            shard_size_mb: 150,
            resize: None,
            fit: Fit::default(),
            quality: 95,
            splits: Vec::new(),
            seed: 0,
            shuffle: true,
            compression: Compression::None,
            on_error: OnError::default(),
            exif: Exif::default(),
            restart_index: false,
            check: false,
            threads: None,
            overwrite: false,
            durable: false,
            name: None,
        }
    }
}

/// The largest number that five digits of a shard's name hold.
const MAX_SHARDS: u32 = 99_999;
/// The longest side that may be asked for.
const MAX_SIDE: u32 = 16_384;

impl PackOptions {
    /// Checks what does not depend on the source.
    pub(crate) fn validate(&self) -> Result<()> {
        if let Some(shards) = self.shards
            && !(1..=MAX_SHARDS).contains(&shards)
        {
            return Err(Error::invalid(format!(
                "the number of shards must be 1 to {MAX_SHARDS}, got {shards}"
            )));
        }
        if self.shards.is_none() && self.shard_size_mb == 0 {
            return Err(Error::invalid("the shard size must be at least 1 MB, got 0"));
        }
        if let Some((width, height)) = self.resize
            && !((1..=MAX_SIDE).contains(&width) && (1..=MAX_SIDE).contains(&height))
        {
            return Err(Error::invalid(format!(
                "width and height must be 1 to {MAX_SIDE} pixels, got {width}x{height}"
            )));
        }
        if let Some((width, height)) = self.resize {
            let bytes = u64::from(width) * u64::from(height) * (BYTES_PER_NEW_PIXEL + 3);
            if bytes > PIXEL_BYTES {
                return Err(Error::invalid(format!(
                    "an image of {width}x{height} pixels takes {} MB of memory while it is made, expected at most {} MB",
                    bytes / 1_000_000,
                    PIXEL_BYTES / 1_000_000
                ))
                .hint(format!("width times height may be {} pixels", PIXEL_BYTES / (BYTES_PER_NEW_PIXEL + 3))));
            }
        }
        if self.quality > 100 {
            return Err(Error::invalid(format!("the JPEG quality must be 0 to 100, got {}", self.quality)));
        }
        if self.threads == Some(0) {
            return Err(Error::invalid("the number of threads must be at least 1, got 0"));
        }
        if let Some(name) = &self.name {
            check_name("the name of the data set", name)?;
        }
        check_splits(&self.splits)
    }

    /// What decides the bytes written, as text for comparison and for `dataset.json`.
    pub(crate) fn recorded(&self) -> Recorded {
        Recorded {
            shards: self.shards,
            shard_size_mb: self.shards.is_none().then_some(self.shard_size_mb),
            resize: self.resize.map(|(width, height)| format!("{width}x{height}")),
            fit: self.resize.map(|_| self.fit),
            quality: (self.resize.is_some() || self.exif == Exif::Apply).then_some(self.quality),
            split: self.splits.iter().map(|(name, share)| format!("{name}={share}")).collect(),
            seed: self.seed,
            shuffle: self.shuffle,
            compression: self.compression.name().to_owned(),
            on_error: self.on_error,
            exif: self.exif,
            restart_index: self.restart_index,
            check: self.check,
        }
    }
}

/// The options that decide what is written, as `dataset.json` keeps them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Recorded {
    /// Number of shards asked for.
    pub shards: Option<u32>,
    /// Shard size asked for in megabytes.
    pub shard_size_mb: Option<u64>,
    /// `WIDTHxHEIGHT`.
    pub resize: Option<String>,
    /// How images got that size.
    pub fit: Option<Fit>,
    /// JPEG quality.
    pub quality: Option<u8>,
    /// `NAME=SHARE` of each split.
    pub split: Vec<String>,
    /// The seed of order and splits.
    pub seed: u64,
    /// Whether the order is mixed.
    pub shuffle: bool,
    /// TensorFlow's name of the compression: `""`, `"GZIP"` or `"ZLIB"`.
    pub compression: String,
    /// What happened to unreadable images.
    pub on_error: OnError,
    /// What happened to images that lie on their side.
    pub exif: Exif,
    /// Whether records have an index of where a JPEG's rows begin.
    #[serde(default)]
    pub restart_index: bool,
    /// Whether every image was decoded.
    pub check: bool,
}

impl Recorded {
    /// The options that differ, each as `seed is 2, was 1`.
    pub(crate) fn differences(&self, earlier: &Self) -> Vec<String> {
        let fields = |o: &Self| match serde_json::to_value(o) {
            Ok(serde_json::Value::Object(fields)) => fields,
            _ => serde_json::Map::new(),
        };
        let (now, then) = (fields(self), fields(earlier));
        let differs = now.iter().filter(|(key, value)| then.get(*key) != Some(value));
        differs
            .map(|(key, value)| {
                let before = then.get(key).map_or_else(|| "not there".to_owned(), ToString::to_string);
                format!("{key} is {value}, was {before}")
            })
            .collect()
    }
}

/// Bytes that a name may have: it becomes part of file names, which have room for 255 as a rule.
const NAME_BYTES: usize = 100;

/// A name that becomes part of a file's name.
fn check_name(what: &str, name: &str) -> Result<()> {
    let fits = |c: char| c.is_alphanumeric() || "_-. ".contains(c);
    let got = || name.escape_debug();
    let message = if name.is_empty() {
        format!("{what} is empty")
    } else if name.len() > NAME_BYTES {
        format!("{what} must have at most {NAME_BYTES} bytes, got {}", name.len())
    } else if name.starts_with('.') {
        format!("{what} must not begin with '.', which hides files, got '{}'", got())
    } else if !name.chars().all(fits) {
        format!("{what} must consist of letters, digits, spaces, '_', '-' and '.', got '{}'", got())
    } else {
        return Ok(());
    };
    Err(Error::invalid(message))
}

fn check_splits(splits: &[(String, f64)]) -> Result<()> {
    let mut sum = 0.0;
    for (i, (name, share)) in splits.iter().enumerate() {
        check_name("the name of a split", name)?;
        if splits[..i].iter().any(|(other, _)| other == name) {
            return Err(Error::invalid(format!("the split '{name}' is given twice")));
        }
        if !(*share > 0.0 && *share <= 1.0) {
            return Err(Error::invalid(format!(
                "the share of the split '{name}' must be above 0 and at most 1, got {share}"
            )));
        }
        sum += share;
    }
    if !splits.is_empty() && (sum - 1.0).abs() > 1e-6 {
        return Err(Error::invalid(format!("the shares of the splits must add up to 1, got {sum}"))
            .hint("for example train=0.8,validation=0.2"));
    }
    Ok(())
}

/// Reads `train=0.8,validation=0.2`.
///
/// # Errors
/// `InvalidArgument` when a part is not `NAME=SHARE`, a name occurs twice or does not suit a file name, or the shares do
/// not add up to 1.
pub fn parse_splits(text: &str) -> Result<Vec<(String, f64)>> {
    let mut splits = Vec::new();
    for part in text.split(',') {
        let parsed = part
            .split_once('=')
            .and_then(|(name, share)| Some((name.trim().to_owned(), share.trim().parse::<f64>().ok()?)));
        splits.push(parsed.ok_or_else(|| {
            Error::invalid(format!("expected NAME=SHARE, got '{}'", part.escape_debug()))
                .hint("for example train=0.8,validation=0.2")
        })?);
    }
    check_splits(&splits)?;
    Ok(splits)
}

/// Reads `192x128`: width and height in pixels.
///
/// # Errors
/// `InvalidArgument` for anything else.
pub fn parse_size(text: &str) -> Result<(u32, u32)> {
    let sides =
        text.split_once(['x', 'X']).and_then(|(w, h)| Some((w.trim().parse().ok()?, h.trim().parse().ok()?)));
    sides.filter(|&(w, h)| w > 0 && h > 0).ok_or_else(|| {
        Error::invalid(format!("expected WIDTHxHEIGHT in pixels, got '{}'", text.escape_debug()))
            .hint("for example 192x192")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_read() {
        let splits = parse_splits("train=0.8, validation=0.2").unwrap();
        assert_eq!(splits, [("train".to_owned(), 0.8), ("validation".to_owned(), 0.2)]);
        assert_eq!(parse_size("192x128").unwrap(), (192, 128));
        for bad in
            ["", "train", "train=x", "train=0.8", "a=0.5,a=0.5", "a/b=1", "train=-1,b=2", "a=NaN", ".a=1"]
        {
            assert!(parse_splits(bad).is_err(), "{bad}");
        }
        for bad in ["", "192", "0x3", "-1x3", "axb", "1x2x3"] {
            assert!(parse_size(bad).is_err(), "{bad}");
        }
        let words = parse_splits("train=0.8,test=0.1").unwrap_err().to_string();
        assert!(words.contains("must add up to 1, got 0.9"), "{words}");
    }

    #[test]
    fn bad_options_are_named() {
        let words = |options: PackOptions| options.validate().unwrap_err().to_string();
        let base = PackOptions::default;
        assert!(words(PackOptions { shards: Some(0), ..base() }).contains("1 to 99999, got 0"));
        assert!(words(PackOptions { shard_size_mb: 0, ..base() }).contains("at least 1 MB"));
        assert!(words(PackOptions { resize: Some((0, 4)), ..base() }).contains("got 0x4"));
        let large = words(PackOptions { resize: Some((16_384, 16_384)), ..base() });
        assert!(
            large.contains("takes 4831 MB of memory while it is made, expected at most 201 MB"),
            "{large}"
        );
        assert!(words(PackOptions { resize: Some((16_385, 1)), ..base() }).contains("1 to 16384 pixels"));
        PackOptions { resize: Some((3840, 2160)), ..base() }.validate().unwrap();
        assert!(words(PackOptions { quality: 101, ..base() }).contains("0 to 100, got 101"));
        assert!(words(PackOptions { threads: Some(0), ..base() }).contains("at least 1, got 0"));
        let named = |name: &str| words(PackOptions { name: Some(name.into()), ..base() });
        assert!(named("a/b").contains("spaces, '_', '-' and '.', got 'a/b'"));
        assert!(named("").ends_with("is empty"));
        assert!(named("..").contains("must not begin with '.'"));
        assert!(named(&"x".repeat(101)).ends_with("at most 100 bytes, got 101"));
        base().validate().unwrap();
    }

    #[test]
    fn differences_are_named() {
        let one = PackOptions::default().recorded();
        let two = PackOptions { seed: 3, resize: Some((4, 5)), ..Default::default() }.recorded();
        let words = two.differences(&one);
        assert_eq!(
            words,
            [
                "fit is \"stretch\", was null",
                "quality is 95, was null",
                "resize is \"4x5\", was null",
                "seed is 3, was 0"
            ]
        );
        assert!(one.differences(&one).is_empty());
    }
}
