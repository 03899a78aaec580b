use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::*;
use crate::frame::{footer, header};

fn frame(payload: &[u8]) -> Vec<u8> {
    [&header(payload.len() as u64)[..], payload, &footer(payload)].concat()
}

fn salvage<R: Read>(mut salvager: Salvager<R>) -> (Vec<(u64, Vec<u8>)>, Vec<(u64, u64)>) {
    let (mut records, mut lost) = (Vec::new(), Vec::new());
    while let Some(event) = salvager.next_event() {
        match event {
            Event::Record { offset, payload } => records.push((offset, payload.to_vec())),
            Event::Lost(Lost { start, end }) => lost.push((start, end)),
        }
    }
    (records, lost)
}

/// One byte at a time.
struct Slow<'a>(&'a [u8]);
impl Read for Slow<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let n = out.len().min(1);
        self.0.read(&mut out[..n])
    }
}

#[test]
fn intact_damaged_and_cut() {
    let bytes = [frame(b"abc"), frame(b"hello"), frame(b"")].concat();
    let all = salvage(Salvager::of_bytes(&bytes));
    assert_eq!(all.0, [(0, b"abc".to_vec()), (19, b"hello".to_vec()), (40, vec![])]);
    assert_eq!(all.1, []);
    let mut bad = bytes.clone();
    bad[19 + 13] ^= 1;
    let (records, lost) = salvage(Salvager::of_bytes(&bad));
    assert_eq!((records.len(), lost), (2, vec![(19, 40)]));
    let (records, lost) = salvage(Salvager::of_bytes(&bytes[..50]));
    assert_eq!((records.len(), lost), (2, vec![(40, 50)]));
    assert_eq!(salvage(Salvager::of_bytes(b"")), (vec![], vec![]));
    assert_eq!(salvage(Salvager::of_bytes(b"junk")), (vec![], vec![(0, 4)]));
}

#[test]
fn records_inside_a_broken_frame_are_found() {
    let inner = [frame(&[1; 100]), frame(&[2; 70])].concat();
    let mut outer = frame(&inner);
    let last = outer.len() - 1;
    outer[last] ^= 1;
    let bytes = [frame(b"first"), outer, frame(b"last")].concat();
    let (records, lost) = salvage(Salvager::new(Slow(&bytes)));
    let payloads: Vec<usize> = records.iter().map(|r| r.1.len()).collect();
    assert_eq!(payloads, [5, 100, 70, 4]);
    assert_eq!(lost, [(21, 33), (33 + 116 + 86, 33 + 116 + 86 + 4)]);
}

#[test]
fn hostile_headers_cost_linear_time() {
    // Valid headers back to back, each claiming the whole rest, none with a valid payload; and the same
    // with intact records in between, which end the search each time.
    let n = 1 << 20;
    for between in [vec![], frame(b"")] {
        let mut bytes = Vec::with_capacity(n + 64);
        let mut intact = 0;
        while bytes.len() < n {
            // Never 8: a header is itself an intact payload of eight bytes with its footer.
            bytes.extend(header((n - bytes.len()) as u64 / 2 + 64));
            bytes.extend(&between);
            intact += usize::from(!between.is_empty());
        }
        let started = Instant::now();
        let (records, _) = salvage(Salvager::of_bytes(&bytes));
        assert_eq!(records.len(), intact);
        assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
    }
}

#[test]
fn a_failing_source_ends_the_stream() {
    struct Failing<'a>(&'a [u8]);
    impl Read for Failing<'_> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            match self.0.read(out)? {
                0 => Err(io::ErrorKind::InvalidData.into()),
                n => Ok(n),
            }
        }
    }
    let bytes = [frame(b"abc"), frame(b"hello")].concat();
    let mut salvager = Salvager::new(Failing(&bytes[..30]));
    let Some(Event::Record { offset: 0, payload: b"abc" }) = salvager.next_event() else { panic!() };
    assert_eq!(salvager.next_event(), Some(Event::Lost(Lost { start: 19, end: 30 })));
    assert_eq!(salvager.next_event(), None);
    assert_eq!(salvager.source_error().unwrap().kind(), io::ErrorKind::InvalidData);
}

proptest! {
    #[test]
    fn all_intact_records_are_recovered(
        records in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 1..20),
        flips in prop::collection::vec((any::<prop::sample::Index>(), 0u8..8), 0..6),
    ) {
        let mut bytes = Vec::new();
        let mut starts = Vec::new();
        for record in &records {
            starts.push(bytes.len());
            bytes.extend(frame(record));
        }
        let clean = bytes.clone();
        for (at, bit) in flips {
            let at = at.index(bytes.len());
            bytes[at] ^= 1 << bit;
        }
        let intact: Vec<(u64, Vec<u8>)> = (0..records.len()).filter(|&i| {
            let range = starts[i]..starts[i] + records[i].len() + 16;
            bytes[range.clone()] == clean[range]
        }).map(|i| (starts[i] as u64, records[i].clone())).collect();
        let (got, lost) = salvage(Salvager::new(&bytes[..]));
        let kept: u64 = got.iter().map(|r| r.1.len() as u64 + 16).sum();
        prop_assert_eq!(&got, &intact);
        prop_assert_eq!(kept + lost.iter().map(|l| l.1 - l.0).sum::<u64>(), bytes.len() as u64);
        prop_assert_eq!((got, lost), salvage(Salvager::new(Slow(&bytes))));
    }
}
