//! Decoding every image of a file.

use std::collections::BTreeMap;

use gristmill_example::list::{List, ListKind, each_bytes};
use gristmill_image::Image;

use super::{Problem, ProblemKind, Problems};
use crate::picture;
use crate::view::view;

/// Places of byte strings that are no pictures, remembered per key.
const REMEMBERED: usize = 1_000;

/// What was seen under one key.
#[derive(Default)]
struct Seen {
    pictures: u64,
    others: u64,
    /// Record, offset and bytes of the first of those that are no pictures.
    places: Vec<(u64, u64, usize)>,
}

/// Decodes the images of records, and finds those that do not even begin as one.
#[derive(Default)]
pub(super) struct Pictures {
    decoded: u64,
    seen: BTreeMap<String, Seen>,
    image: Image<u8>,
}

impl Pictures {
    pub(super) fn look(&mut self, data: &[u8], record: u64, offset: u64, problems: &mut Problems) {
        let view = view(data);
        let features = view.features.iter().map(|(key, list)| (key, *list));
        let steps = view.lists.iter().flat_map(|(key, steps)| steps.iter().map(move |step| (key, *step)));
        for (key, list) in features.chain(steps) {
            let Some(list) = list.filter(|list| list.kind == ListKind::Bytes) else { continue };
            let key = String::from_utf8_lossy(&data[key.clone()]);
            self.look_at_list(data, &key, list, (record, offset), problems);
        }
    }

    fn look_at_list(
        &mut self,
        data: &[u8],
        key: &str,
        list: List,
        (record, offset): (u64, u64),
        problems: &mut Problems,
    ) {
        if !self.seen.contains_key(key) {
            self.seen.insert(key.to_owned(), Seen::default());
        }
        let seen = self.seen.get_mut(key).expect("just put there");
        // The list was found valid when the record was looked at.
        let _ = each_bytes(data, list.range(), |r| {
            let bytes = &data[r];
            if picture::recognise(bytes).is_none() {
                seen.others += 1;
                if seen.places.len() < REMEMBERED {
                    seen.places.push((record, offset, bytes.len()));
                }
                return;
            }
            seen.pictures += 1;
            match picture::check(bytes, &mut self.image) {
                Ok(()) => self.decoded += 1,
                Err(words) => problems.add(problem(key, record, offset, words)),
            }
        });
    }

    /// Names the byte strings that are no pictures under keys that mostly hold pictures; gives the number of images
    /// decoded.
    pub(super) fn finish(self, problems: &mut Problems) -> u64 {
        for (key, seen) in self.seen {
            if seen.pictures <= seen.others {
                continue;
            }
            for (record, offset, bytes) in seen.places {
                let words = match bytes {
                    0 => "the image has no bytes".to_owned(),
                    _ => format!("{bytes} bytes are no image, other records have images here"),
                };
                problems.add(problem(&key, record, offset, words));
            }
        }
        self.decoded
    }
}

fn problem(key: &str, record: u64, offset: u64, words: String) -> Problem {
    let problem = Problem::new(ProblemKind::Image, words);
    Problem { record: Some(record), offset: Some(offset), feature: Some(key.to_owned()), ..problem }
}
