use std::num::NonZeroUsize;

use super::{Entry, RestartIndex};
use crate::checksum::checksum;
use crate::{Decoder, Edges, Input, Options, Region};

/// A generator of numbers that look random.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

fn example() -> RestartIndex {
    let entry = |bit, previous| Entry { bit, previous };
    let entries = vec![
        entry(1001, [-1, 63, 64, 0]),
        entry(200_000, [i32::MAX, i32::MIN, 0, 0]),
        entry(799_999, [i32::MIN, i32::MAX, -64, 0]),
    ];
    RestartIndex { length: 100_000, file: 0x0123_4567_89AB_CDEF, every: 3, components: 3, entries }
}

#[test]
fn bytes_and_back() {
    for count in 0..=3 {
        let mut index = example();
        index.entries.truncate(count);
        let bytes = index.to_bytes();
        assert_eq!(RestartIndex::from_bytes(&bytes).as_ref(), Some(&index));
        assert_eq!((index.len(), index.is_empty()), (count, count == 0));
    }
    let mut small = example();
    small.entries = (1..=100).map(|i| Entry { bit: i * 16_000, previous: [i as i32 * 40; 4] }).collect();
    small.length = 300_000;
    assert_eq!(small.to_bytes().len(), 4 + 8 + 5 + 100 * (2 + 3) + 1);
}

#[test]
fn the_format_stays() {
    let bytes = example().to_bytes();
    let head = b"JRI\x01";
    assert_eq!(bytes[..4], head[..]);
    assert_eq!(bytes[12..17], [0xA0, 0x8D, 0x06, 3, 3]);
    assert_eq!(bytes[17..23], [0xE9, 0x07, 1, 126, 0x80, 0x01]);
    assert_eq!(bytes.last(), Some(&1));
}

#[test]
fn other_bytes_are_none() {
    let bytes = example().to_bytes();
    // Between two entries it is well formed, but of no file.
    for end in 0..bytes.len() {
        if let Some(index) = RestartIndex::from_bytes(&bytes[..end]) {
            assert!(index.file != example().file && index.len() < 3, "cut at {end}");
        }
    }
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut bad = bytes.clone();
            bad[at] ^= 1 << bit;
            if let Some(index) = RestartIndex::from_bytes(&bad) {
                assert_ne!(index.file, example().file, "bit {bit} of byte {at}");
            }
        }
    }
    let with = |change: &dyn Fn(&mut RestartIndex)| {
        let mut index = example();
        change(&mut index);
        RestartIndex::from_bytes(&index.to_bytes())
    };
    assert_eq!(with(&|i| i.every = 0), None);
    assert_eq!(with(&|i| i.components = 0), None);
    assert_eq!(with(&|i| i.length = 99_999), None);
    assert_eq!(with(&|i| i.length = u64::MAX), None);
    assert_eq!(with(&|i| i.entries[1] = i.entries[0]), None);
    let long = |n: u64| {
        let entries = (1..=n).map(|i| Entry { bit: i << 40, previous: [-1 << 30; 4] }).collect();
        RestartIndex { length: u64::MAX / 8, entries, ..example() }.to_bytes()
    };
    assert!(RestartIndex::from_bytes(&long(8192)).is_some());
    assert_eq!(RestartIndex::from_bytes(&long(40_000)), None);
}

#[test]
fn random_bytes() {
    let mut r = Random(7);
    let mut read = 0;
    for round in 0..200_000 {
        let mut bytes = example().to_bytes();
        bytes.truncate(4 + (r.next() % 60) as usize);
        for byte in bytes.iter_mut().skip(4) {
            // Small numbers now and then, or nearly all would be refused at once.
            let n = r.next() >> 20;
            *byte = if n.is_multiple_of(3) { n as u8 } else { (n >> 8) as u8 & 7 };
        }
        if round % 2 == 0 {
            bytes.extend((0..r.next() % 200).map(|i| (i % 90) as u8));
        }
        if let Some(index) = RestartIndex::from_bytes(&bytes) {
            read += 1;
            assert!(index.entries.capacity() * size_of::<Entry>() <= bytes.len() * 12);
            assert!(index.entries.iter().all(|e| e.bit < index.length * 8));
            assert_eq!(RestartIndex::from_bytes(&index.to_bytes()), Some(index));
        }
    }
    assert!(read > 100, "{read}");
}

/// A file with five MCU rows.
fn file() -> Vec<u8> {
    let pixels: Vec<u8> = (0..48 * 80 * 3).map(|i| (i * 31 % 251) as u8).collect();
    gristmill_image::jpeg::encode(&pixels, 80, 48, 3, &Default::default()).unwrap()
}

/// Damage is not seen where it is above or below.
#[test]
fn what_lies_above_is_not_read() {
    let file = &file();
    let index = RestartIndex::build(file, NonZeroUsize::new(2)).unwrap();
    let [_, entry] = index.entries[..] else { panic!("{index:?}") };
    let lower = Region { x: 0, y: 70, width: 48, height: 1, edges: Edges::Whole };
    let options = Options { region: Some(lower), ..Options::default() };
    let upper = Options { region: Some(Region { y: 0, ..lower }), ..options };
    let mut decoder = Decoder::new();
    let start = file.windows(2).position(|w| w == b"\xff\xda").unwrap() + 14;
    let last = (entry.bit / 8) as usize;
    assert!(last > start + 10 && last < file.len() - 10);
    for (at, there, elsewhere) in [(start + 2, upper, options), (last + 3, options, upper)] {
        let mut bad = file.to_vec();
        bad[at..at + 4].copy_from_slice(&[0xA5; 4]);
        // As if the index had been made of these bytes.
        let forged = RestartIndex { file: checksum(&bad), ..index.clone() };
        let with = Input { data: &bad, index: Some(&forged) };
        let pixels = |d: &mut Decoder, options: &Options| d.decode(file, options).unwrap();
        assert!(decoder.decode(with, &elsewhere).as_ref() == Ok(&pixels(&mut decoder, &elsewhere)));
        assert!(decoder.decode(with, &there).as_ref() != Ok(&pixels(&mut decoder, &there)));
        // Without the right checksum the change is seen.
        let stale = Input { data: &bad, index: Some(&index) };
        assert_eq!(decoder.decode(stale, &elsewhere), decoder.decode(&bad, &elsewhere));
    }
}

/// Positions and coefficients at random under the right checksum: any result will do.
#[test]
fn false_positions_are_harmless() {
    let file = &file();
    let index = RestartIndex::build(file, NonZeroUsize::new(4)).unwrap();
    let lower = Region { x: 3, y: 68, width: 4, height: 2, edges: Edges::Whole };
    let options = Options { region: Some(lower), ..Options::default() };
    let (mut fast, mut plain) = (Decoder::new(), Decoder::plain());
    let mut decoded = 0;
    for bit in (1..file.len() as u64 * 8).step_by(5) {
        let mut r = Random(bit);
        let entry = Entry { bit, previous: [r.next() as i32, r.next() as i32, i32::MAX, i32::MIN] };
        let forged = RestartIndex { entries: vec![entry], ..index.clone() };
        let with = Input { data: file, index: Some(&forged) };
        let (a, b) = (fast.decode(with, &options), plain.decode(with, &options));
        assert_eq!(a.is_ok(), b.is_ok(), "bit {bit}");
        decoded += usize::from(a.is_ok());
        assert!(a.ok() == b.ok(), "bit {bit}");
    }
    assert!(decoded > 100, "{decoded}");
}
