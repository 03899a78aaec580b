//! Which split a file belongs to.
//!
//! Within its class every file has a rank: its place when the files are ordered by the hash of seed and relative path.
//! The first `share` of the ranks belong to the first split and so on, so each class is divided exactly (each split gets
//! its share of every class, rounded up or down; what a class rounds to is drawn from the seed and the class's name, so
//! that many small classes do not all round the same way).
//!
//! The hash knows nothing but seed and path. Neither the order of records, nor shards, threads, sizes or other classes
//! move a file; renaming a class only moves files of that class. Adding or removing a file moves the borders of its own
//! class by at most one rank each, so at most one other file a border changes its split, and most often none. Rows of a
//! manifest that name the same file always share its split, whatever their labels.

use super::hash;
use super::listing::Listing;

/// The split of every file, as an index into `shares` (which add up to 1).
pub(crate) fn assign(listing: &Listing, shares: &[f64], seed: u64) -> Vec<u16> {
    let mut splits = vec![0u16; listing.len()];
    if shares.len() < 2 {
        return splits;
    }
    // Rows of the same path stand together, the first row first.
    let mut rows: Vec<u32> = (0..listing.len() as u32).collect();
    let path = |row: u32| listing.path(row as usize);
    rows.sort_unstable_by(|&a, &b| path(a).cmp(path(b)).then(a.cmp(&b)));
    // (class, hash, place in `rows`) of each distinct path.
    let mut units: Vec<(u32, u64, u32)> = Vec::with_capacity(rows.len());
    for (at, &row) in rows.iter().enumerate() {
        if at == 0 || path(rows[at - 1]) != path(row) {
            units.push((listing.class(row as usize) as u32, hash::of(seed, "split", path(row)), at as u32));
        }
    }
    units.sort_unstable();
    for class in units.chunk_by(|a, b| a.0 == b.0) {
        let name = &listing.classes[class[0].0 as usize].name;
        let rounding = hash::of(seed, "rounding", name) as f64 / 2f64.powi(64);
        let borders = borders(class.len(), shares, rounding);
        let mut split = 0;
        for (rank, &(_, _, at)) in class.iter().enumerate() {
            while split + 1 < shares.len() && rank >= borders[split] {
                split += 1;
            }
            let first = rows[at as usize];
            let same = rows[at as usize..].iter().take_while(|&&row| path(row) == path(first));
            same.for_each(|&row| splits[row as usize] = split as u16);
        }
    }
    splits
}

/// The first rank behind each split for a class of `n` files.
fn borders(n: usize, shares: &[f64], rounding: f64) -> Vec<usize> {
    let mut sum = 0.0;
    let last = shares.len() - 1;
    let border = |(i, share): (usize, &f64)| {
        sum += share;
        if i == last {
            return n;
        }
        let exact = n as f64 * sum;
        // Sums such as 0.7 + 0.2 fall short of what is meant by less than this.
        let whole = (exact - exact.round()).abs() < 1e-6;
        let border = if whole { exact.round() } else { (exact + rounding).floor() };
        (border as usize).min(n)
    };
    shares.iter().enumerate().map(border).collect()
}

#[cfg(test)]
mod tests {
    use super::super::listing::Class;
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;
    use std::path::Path;

    fn listing(files: &[(String, u32)]) -> Listing {
        let mut listing = Listing::new(Path::new(""), "folder");
        let classes = files.iter().map(|f| f.1 + 1).max().unwrap_or(0);
        listing.classes =
            (0..classes).map(|c| Class { label: c.into(), name: format!("c{c}").into_bytes() }).collect();
        for (path, class) in files {
            listing.push(path.as_bytes(), *class, None);
        }
        listing
    }

    fn by_path(files: &[(String, u32)], shares: &[f64], seed: u64) -> BTreeMap<String, u16> {
        let splits = assign(&listing(files), shares, seed);
        files.iter().map(|f| f.0.clone()).zip(splits).collect()
    }

    #[test]
    fn sums_that_fall_short_count_as_meant() {
        assert_eq!(borders(10, &[0.7, 0.2, 0.1], 0.0), [7, 9, 10]);
        assert_eq!(borders(10, &[0.7, 0.2, 0.1], 0.999), [7, 9, 10]);
        assert_eq!(borders(3, &[0.8, 0.2], 0.5), [2, 3]);
        assert_eq!(borders(3, &[0.8, 0.2], 0.7), [3, 3]);
        assert_eq!(borders(0, &[0.8, 0.2], 0.7), [0, 0]);
    }

    #[test]
    fn many_small_classes_do_not_round_alike() {
        let files: Vec<_> = (0..1000).map(|c| (format!("c{c}/x.jpg"), c)).collect();
        let first = assign(&listing(&files), &[0.8, 0.2], 0).iter().filter(|&&s| s == 0).count();
        assert!((750..850).contains(&first), "{first}");
    }

    #[test]
    fn rows_of_one_file_stay_together() {
        let mut files: Vec<_> = (0..50).map(|i| (format!("{i}.jpg"), i % 3)).collect();
        files.extend((0..50).map(|i| (format!("{i}.jpg"), (i + 1) % 3)));
        let splits = assign(&listing(&files), &[0.5, 0.5], 4);
        assert_eq!(splits[..50], splits[50..]);
    }

    fn files() -> impl Strategy<Value = Vec<(String, u32)>> {
        prop::collection::btree_map("[a-f]{1,4}", 0u32..4, 1..200)
            .prop_map(|m| m.into_iter().map(|(path, class)| (format!("{path}.jpg"), class)).collect())
    }

    proptest! {
        #[test]
        fn every_class_is_divided_exactly(files in files(), share in 0.05f64..0.9, seed in any::<u64>()) {
            let shares = [share, (1.0 - share) / 2.0, (1.0 - share) / 2.0];
            let splits = assign(&listing(&files), &shares, seed);
            for class in 0..4 {
                let of = |split| files.iter().zip(&splits).filter(|(f, s)| f.1 == class && **s == split).count();
                let n = files.iter().filter(|f| f.1 == class).count();
                for (split, share) in shares.iter().enumerate() {
                    prop_assert!((of(split as u16) as f64 - n as f64 * share).abs() < 1.0 + 1e-9);
                }
            }
        }

        #[test]
        fn a_new_file_moves_at_most_one_other(files in files(), new in "[g-k]{1,4}", class in 0u32..4, seed in any::<u64>()) {
            let before = by_path(&files, &[0.8, 0.2], seed);
            let mut more = files.clone();
            more.insert(files.len() / 2, (new, class));
            let after = by_path(&more, &[0.8, 0.2], seed);
            let moved: Vec<_> = files.iter().filter(|f| before[&f.0] != after[&f.0]).collect();
            prop_assert!(moved.len() <= 1);
            prop_assert!(moved.iter().all(|f| f.1 == class));
        }

        #[test]
        fn the_order_of_the_source_does_not_matter(files in files(), seed in any::<u64>()) {
            let mut turned = files.clone();
            turned.reverse();
            prop_assert_eq!(by_path(&files, &[0.6, 0.4], seed), by_path(&turned, &[0.6, 0.4], seed));
        }
    }
}
