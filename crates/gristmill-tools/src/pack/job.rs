//! What is to be written, decided before the first image is read: splits, shards, order.

use std::ops::Range;
use std::path::Path;

use gristmill_types::{Error, Result};

use super::encode::{RESTART_INDEX, Schema};
use super::hash;
use super::listing::Listing;
use super::options::{PackOptions, Recorded};
use super::split;

/// A split and its files.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Split {
    pub(crate) name: String,
    pub(crate) share: f64,
}

/// One record file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Shard {
    pub(crate) file: String,
    pub(crate) split: usize,
    /// Its part of [`Job::order`].
    pub(crate) part: Range<usize>,
}

/// The whole job.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) name: String,
    pub(crate) options: PackOptions,
    pub(crate) recorded: Recorded,
    pub(crate) listing: Listing,
    pub(crate) identity: String,
    pub(crate) schema: Schema,
    pub(crate) splits: Vec<Split>,
    pub(crate) shards: Vec<Shard>,
    /// The files in the order of the records: all of the first shard, then all of the second, ...
    pub(crate) order: Vec<u32>,
}

impl Job {
    pub(crate) fn new(source: &Path, listing: Listing, options: &PackOptions) -> Result<Self> {
        let name = match &options.name {
            Some(name) => name.clone(),
            None => default_name(source),
        };
        let mut splits: Vec<_> =
            options.splits.iter().map(|(name, share)| Split { name: name.clone(), share: *share }).collect();
        if splits.is_empty() {
            splits.push(Split { name: name.clone(), share: 1.0 });
        }
        if listing.len() > u32::MAX as usize || splits.len() > usize::from(u16::MAX) {
            return Err(Error::invalid(format!(
                "{} files are more than can be packed at once",
                listing.len()
            )));
        }
        let mut columns = listing.cells.columns().iter();
        if options.restart_index && columns.any(|column| column.name == RESTART_INDEX) {
            let words =
                format!("the column '{RESTART_INDEX}' has the name of a feature that pack makes itself");
            return Err(Error::invalid(words).hint("rename the column, or pack without restart indexes"));
        }
        let shares: Vec<f64> = splits.iter().map(|s| s.share).collect();
        let split_of = split::assign(&listing, &shares, options.seed);
        let order = order(&listing, &split_of, options);
        let shards = shards(&listing, &splits, &split_of, &order, options)?;
        Ok(Self {
            name,
            recorded: options.recorded(),
            options: options.clone(),
            identity: listing.identity(),
            schema: Schema::new(&listing, options.restart_index),
            splits,
            shards,
            order,
            listing,
        })
    }
}

impl Job {
    /// Bytes of memory that listing and order take, about.
    pub(crate) fn memory(&self) -> u64 {
        self.listing.memory() + (self.order.len() * size_of::<u32>()) as u64
    }
}

/// The name of the folder, or that of the manifest without its ending; characters that do not suit a file name become
/// `_`.
fn default_name(source: &Path) -> String {
    let real = std::fs::canonicalize(source).unwrap_or_else(|_| source.to_owned());
    let stem = if real.is_dir() { real.file_name() } else { real.file_stem() };
    let fits = |c: char| if c.is_alphanumeric() || "_-.".contains(c) { c } else { '_' };
    let name: String =
        stem.map(|s| s.to_string_lossy().chars().map(fits).take(80).collect()).unwrap_or_default();
    let name = name.trim_start_matches('.');
    if name.is_empty() { "data".to_owned() } else { name.to_owned() }
}

/// Split after split; within one mixed by a hash of seed and path, or in the order of the source.
fn order(listing: &Listing, split_of: &[u16], options: &PackOptions) -> Vec<u32> {
    let rows = 0..listing.len() as u32;
    if !options.shuffle {
        let mut order: Vec<u32> = rows.collect();
        order.sort_by_key(|&row| split_of[row as usize]);
        return order;
    }
    let key =
        |row: u32| (split_of[row as usize], hash::of(options.seed, "order", listing.path(row as usize)), row);
    let mut keys: Vec<_> = rows.map(key).collect();
    keys.sort_unstable();
    keys.into_iter().map(|(_, _, row)| row).collect()
}

/// Bytes that a file takes in a shard; for those encoded anew an estimate of three quarters of a byte a pixel.
fn packed_bytes(listing: &Listing, row: usize, options: &PackOptions) -> u64 {
    let image = match options.resize {
        Some((width, height)) => u64::from(width) * u64::from(height) * 3 / 4,
        None => listing.size(row),
    };
    image.saturating_add(150)
}

fn shards(
    listing: &Listing,
    splits: &[Split],
    split_of: &[u16],
    order: &[u32],
    options: &PackOptions,
) -> Result<Vec<Shard>> {
    let mut records = vec![0u64; splits.len()];
    let mut bytes = vec![0u64; splits.len()];
    for (row, &split) in split_of.iter().enumerate() {
        records[usize::from(split)] += 1;
        bytes[usize::from(split)] += packed_bytes(listing, row, options);
    }
    let counts = match options.shards {
        Some(shards) => share_out(u64::from(shards), &records)?,
        None => {
            let size = options.shard_size_mb.saturating_mul(1_000_000);
            let most = records.iter().map(|&n| n.clamp(1, 99_999));
            bytes
                .iter()
                .zip(most)
                .map(|(&b, most)| b.saturating_add(size / 2).div_euclid(size).clamp(1, most))
                .collect()
        }
    };
    let mut shards = Vec::new();
    let mut start = 0usize;
    for (split, (&count, &n)) in counts.iter().zip(&records).enumerate() {
        for i in 0..count {
            let at = |i: u64| start + (u128::from(i) * u128::from(n) / u128::from(count)) as usize;
            let file = format!("{}-{i:05}-of-{count:05}.tfrecord", splits[split].name);
            shards.push(Shard { file, split, part: at(i)..at(i + 1) });
        }
        start += n as usize;
    }
    debug_assert_eq!(start, order.len());
    Ok(shards)
}

/// Divides a number of shards in proportion to the records, at least one each (largest remainders).
fn share_out(shards: u64, records: &[u64]) -> Result<Vec<u64>> {
    let splits = records.len() as u64;
    if shards < splits {
        return Err(Error::invalid(format!("{shards} shards are fewer than the {splits} splits"))
            .hint("each split needs at least one shard"));
    }
    let total: u64 = records.iter().sum::<u64>().max(1);
    let exact = |i: usize| u128::from(shards) * u128::from(records[i]);
    let whole = |i: usize| (exact(i) / u128::from(total)) as u64;
    let mut counts: Vec<u64> = (0..records.len()).map(whole).collect();
    let mut by_rest: Vec<usize> = (0..records.len()).collect();
    by_rest.sort_by_key(|&i| std::cmp::Reverse(exact(i) % u128::from(total)));
    let left = shards - counts.iter().sum::<u64>();
    by_rest.iter().cycle().take(left as usize).for_each(|&i| counts[i] += 1);
    while let Some(none) = counts.iter().position(|&n| n == 0) {
        let most = (0..counts.len()).max_by_key(|&i| counts[i]).unwrap_or(none);
        counts[most] -= 1;
        counts[none] += 1;
    }
    Ok(counts)
}

#[cfg(test)]
mod tests {
    use super::super::listing::Class;
    use super::*;
    use std::collections::BTreeSet;

    fn listing(n: usize) -> Listing {
        let mut listing = Listing::new(Path::new(""), "folder");
        listing.classes =
            vec![Class { label: 0, name: b"a".to_vec() }, Class { label: 1, name: b"b".to_vec() }];
        for i in 0..n {
            listing.push(
                format!("{}/{i:04}.jpg", ["a", "b"][i * 2 / n]).as_bytes(),
                (i * 2 / n) as u32,
                None,
            );
        }
        listing
    }

    fn job(n: usize, options: &PackOptions) -> Job {
        Job::new(Path::new("/nowhere/my photos"), listing(n), options).unwrap()
    }

    #[test]
    fn shards_are_balanced_and_named() {
        let job = job(103, &PackOptions { shards: Some(16), ..Default::default() });
        assert_eq!(job.shards.len(), 16);
        assert_eq!(job.shards[3].file, "my_photos-00003-of-00016.tfrecord");
        assert!(job.shards.iter().all(|s| (6..=7).contains(&s.part.len())));
        assert!(job.shards.windows(2).all(|w| w[0].part.end == w[1].part.start));
        assert_eq!((job.shards[0].part.start, job.shards[15].part.end), (0, 103));
        assert_eq!(job.order.iter().collect::<BTreeSet<_>>().len(), 103);
        // Mixed: every shard but the rarest has both classes.
        let mixed = |s: &Shard| {
            job.order[s.part.clone()]
                .iter()
                .map(|&r| job.listing.class(r as usize))
                .collect::<BTreeSet<_>>()
                .len()
        };
        assert!(job.shards.iter().filter(|s| mixed(s) == 2).count() >= 13);
    }

    #[test]
    fn splits_get_their_shards() {
        let splits = vec![("train".to_owned(), 0.8), ("validation".to_owned(), 0.2)];
        let job = job(100, &PackOptions { shards: Some(10), splits, ..Default::default() });
        let names: Vec<_> = job.shards.iter().map(|s| s.file.as_str()).collect();
        assert_eq!((names[0], names[7]), ("train-00000-of-00008.tfrecord", "train-00007-of-00008.tfrecord"));
        assert_eq!(names[8..], ["validation-00000-of-00002.tfrecord", "validation-00001-of-00002.tfrecord"]);
        let split_of = split::assign(&job.listing, &[0.8, 0.2], 0);
        for shard in &job.shards {
            assert_eq!(shard.part.len(), 10);
            assert!(
                job.order[shard.part.clone()]
                    .iter()
                    .all(|&r| usize::from(split_of[r as usize]) == shard.split)
            );
        }
    }

    #[test]
    fn shard_counts() {
        assert_eq!(share_out(10, &[80, 20]).unwrap(), [8, 2]);
        assert_eq!(share_out(3, &[98, 1, 1]).unwrap(), [1, 1, 1]);
        assert_eq!(share_out(2, &[100, 0]).unwrap(), [1, 1]);
        assert_eq!(share_out(5, &[0, 0]).unwrap().iter().sum::<u64>(), 5);
        assert!(share_out(1, &[3, 3]).is_err());
        let size = |mb| {
            job(50, &PackOptions { shard_size_mb: mb, resize: Some((1000, 1000)), ..Default::default() })
                .shards
                .len()
        };
        assert_eq!([size(10), size(1), size(1000)], [4, 38, 1]);
    }

    #[test]
    fn order_without_mixing_is_that_of_the_source() {
        let job = job(20, &PackOptions { shuffle: false, ..Default::default() });
        assert!(job.order.iter().copied().eq(0..20));
    }

    #[test]
    fn names_suit_files() {
        assert_eq!(default_name(Path::new("/x/table.csv")), "table");
        assert_eq!(default_name(Path::new("/")), "data");
    }
}
