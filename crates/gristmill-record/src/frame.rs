//! The layout of one record, and the scan that finds all whole records of a piece of memory.
//!
//! ```text
//! u64 length | u32 masked crc of the length | length bytes of payload | u32 masked crc of the payload
//! ```
//! All numbers are little-endian. Lengths come from the file and are never trusted before their
//! checksum and the bytes at hand agree with them.

use crate::crc;
use crate::crc::lanes::{LANES, SHORT, crc32c_of_four};
use crate::error::FrameError;

/// Bytes before the payload.
pub const HEADER_BYTES: usize = 12;
/// Bytes behind the payload.
pub const FOOTER_BYTES: usize = 4;
/// Bytes of a frame beyond its payload.
pub const OVERHEAD_BYTES: usize = HEADER_BYTES + FOOTER_BYTES;

/// One payload within a buffer; its frame starts 12 bytes before `start`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// First byte of the payload, relative to the buffer.
    pub start: usize,
    /// Bytes of payload.
    pub len: usize,
}

impl Span {
    /// The payload within the buffer it was found in.
    #[inline]
    pub fn of(self, buffer: &[u8]) -> &[u8] {
        &buffer[self.start..self.start + self.len]
    }
}

/// Why a scan ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stop {
    /// The rest holds no whole frame.
    Partial {
        /// Bytes of the whole frame that begins there, if its header is whole (the length checksum
        /// holds); saturated at `u64::MAX`.
        frame_bytes: Option<u64>,
    },
    /// As many records as asked for were found.
    Full,
    /// The next frame is damaged.
    Bad(FrameError),
}

/// The result of [`scan_frames`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scan {
    /// Bytes of the whole frames found.
    pub consumed: usize,
    /// What comes after them.
    pub stop: Stop,
}

/// Reads the length out of a header.
///
/// # Errors
/// [`FrameError::BadLengthCrc`] with `offset` when the length's checksum does not hold.
#[inline]
pub fn parse_header(header: &[u8; HEADER_BYTES], offset: u64) -> Result<u64, FrameError> {
    let length: [u8; 8] = header[..8].try_into().expect("eight bytes of twelve");
    let stored = u32::from_le_bytes(header[8..].try_into().expect("four bytes of twelve"));
    let computed = crc::mask(crc::crc32c_of_8(length));
    if computed == stored {
        Ok(u64::from_le_bytes(length))
    } else {
        Err(FrameError::BadLengthCrc { offset, stored, computed })
    }
}

/// The first place in `bytes` where a whole header of a payload below 4 GiB stands whose checksum holds. Payloads may hold
/// headers too: only one who knows where a frame begins can tell. Gives up after `runs` runs of four zeros or more, the
/// upper half of a length, that belong to no header.
pub fn find_header(bytes: &[u8], runs: usize) -> Option<usize> {
    const HALF: usize = 4;
    let finder = memchr::memmem::Finder::new(&[0; HALF]);
    let holds = |&at: &usize| bytes[at..].first_chunk().is_some_and(|header| parse_header(header, 0).is_ok());
    let mut from = 0;
    for _ in 0..runs {
        let start = from + finder.find(bytes.get(from..)?)?;
        let end = start + bytes[start..].iter().take_while(|&&b| b == 0).count();
        // The lower half is not zero and so begins before the run, or all of the length is and ends with it: the
        // checksum of zero is not zero.
        let before = start.saturating_sub(HALF)..start;
        let whole = end.checked_sub(2 * HALF).filter(|&at| at >= start);
        if let Some(at) = before.chain(whole).find(holds) {
            return Some(at);
        }
        from = end;
    }
    None
}

/// The header of a payload of `length` bytes.
#[inline]
pub fn header(length: u64) -> [u8; HEADER_BYTES] {
    let mut bytes = [0; HEADER_BYTES];
    bytes[..8].copy_from_slice(&length.to_le_bytes());
    bytes[8..].copy_from_slice(&crc::masked_crc32c_of_length(length).to_le_bytes());
    bytes
}

/// The four bytes behind a payload.
#[inline]
pub fn footer(payload: &[u8]) -> [u8; FOOTER_BYTES] {
    crc::masked_crc32c(payload).to_le_bytes()
}

/// The checksum that stands behind a payload.
#[inline]
fn stored_checksum(buffer: &[u8], span: Span) -> u32 {
    let stored = &buffer[span.start + span.len..][..FOOTER_BYTES];
    u32::from_le_bytes(stored.try_into().expect("four bytes"))
}

/// Whether a payload that a scan without checks has found agrees with its checksum.
///
/// # Panics
/// If the frame does not lie in `buffer`.
#[inline]
pub fn payload_holds(buffer: &[u8], span: Span) -> bool {
    stored_checksum(buffer, span) == crc::masked_crc32c(span.of(buffer))
}

/// The checksums of payloads: of four short ones at once.
#[inline]
fn computed_checksums(bytes: &[u8], spans: &[Span]) -> [u32; LANES] {
    let mut computed = [0; LANES];
    match *spans {
        [a, b, c, d] if d.len <= SHORT => computed = crc32c_of_four([a, b, c, d].map(|s| s.of(bytes))),
        _ => computed.iter_mut().zip(spans).for_each(|(sum, span)| *sum = crc::crc32c(span.of(bytes))),
    }
    computed.map(crc::mask)
}

/// Checks the last `unchecked` of the payloads in `bytes`, at most four. If one does not agree with its checksum, it
/// and those behind it are taken away, and this is what the scan gives.
#[inline]
fn damage(bytes: &[u8], offset: u64, spans: &mut Vec<Span>, unchecked: usize) -> Option<Scan> {
    let first = spans.len() - unchecked;
    let computed = computed_checksums(bytes, &spans[first..]);
    let agree = |(span, sum): (&Span, &u32)| stored_checksum(bytes, *span) == *sum;
    let bad = spans[first..].iter().zip(&computed).position(|pair| !agree(pair))?;
    let span = spans[first + bad];
    spans.truncate(first + bad);
    let consumed = span.start - HEADER_BYTES;
    let error = FrameError::BadPayloadCrc {
        offset: offset + consumed as u64,
        length: span.len as u64,
        stored: stored_checksum(bytes, span),
        computed: computed[bad],
    };
    Some(Scan { consumed, stop: Stop::Bad(error) })
}

/// Finds the whole frames at the beginning of `bytes`, at most `max_records`, and appends the places
/// of their payloads to `spans`.
///
/// `offset` is the position of `bytes[0]` in the stream and serves the error messages only. Length
/// checksums are always checked, payload checksums when `verify` is set. Allocates nothing but the
/// growth of `spans`.
pub fn scan_frames(
    bytes: &[u8],
    offset: u64,
    verify: bool,
    max_records: usize,
    spans: &mut Vec<Span>,
) -> Scan {
    let mut at = 0;
    let mut left = max_records;
    // Of the payloads found the last so many are still to be checked.
    let mut unchecked = 0;
    // Records often have one length: where the next one begins is guessed then before this header is there.
    let mut usual = (header(0), 0);
    let stop = loop {
        if left == 0 {
            break Stop::Full;
        }
        let Some(head) = bytes[at..].first_chunk::<HEADER_BYTES>() else {
            break Stop::Partial { frame_bytes: None };
        };
        if *head != usual.0 {
            match parse_header(head, offset + at as u64) {
                Ok(length) => usual = (*head, length),
                Err(error) => break Stop::Bad(error),
            }
        }
        let length = usual.1;
        let room = bytes.len() - at - HEADER_BYTES;
        if length.saturating_add(FOOTER_BYTES as u64) > room as u64 {
            let frame_bytes = Some(length.saturating_add(OVERHEAD_BYTES as u64));
            break Stop::Partial { frame_bytes };
        }
        // Fits: the comparison above bounds it by a slice length.
        let len = length as usize;
        spans.push(Span { start: at + HEADER_BYTES, len });
        at += OVERHEAD_BYTES + len;
        left -= 1;
        unchecked += 1;
        // All but the last of four are short, therefore.
        if unchecked == LANES || len > SHORT {
            if verify && let Some(bad) = damage(bytes, offset, spans, unchecked) {
                return bad;
            }
            unchecked = 0;
        }
    };
    if verify && let Some(bad) = damage(bytes, offset, spans, unchecked) {
        return bad;
    }
    Scan { consumed: at, stop }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANY: usize = usize::MAX;

    fn file(records: &[&[u8]]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for record in records {
            bytes.extend(header(record.len() as u64));
            bytes.extend(*record);
            bytes.extend(footer(record));
        }
        bytes
    }

    fn scan(bytes: &[u8], offset: u64, max: usize) -> (Vec<Span>, Scan) {
        let mut spans = Vec::new();
        let scan = scan_frames(bytes, offset, true, max, &mut spans);
        (spans, scan)
    }

    #[test]
    fn a_header_counts_whatever_came_before_it() {
        let whole = file(&[b"abc", b"xyz", b"", b"", b"four", b"five"]);
        let (spans, end) = scan(&whole, 0, MANY);
        assert_eq!(
            spans.iter().map(|s| s.of(&whole)).collect::<Vec<_>>(),
            [&b"abc"[..], b"xyz", b"", b"", b"four", b"five"]
        );
        assert_eq!(end.consumed, whole.len());
        for damaged in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[damaged] ^= 1;
            let end = scan(&bytes, 0, MANY).1;
            assert!(matches!(end.stop, Stop::Bad(_)) && end.consumed <= damaged, "byte {damaged}");
        }
        let zeros = scan_frames(&[0; 100], 0, false, MANY, &mut Vec::new());
        assert!(matches!(zeros.stop, Stop::Bad(FrameError::BadLengthCrc { offset: 0, .. })));
    }

    #[test]
    fn the_first_header_is_found_wherever_it_stands() {
        let mut bytes = vec![7; 100];
        assert_eq!(find_header(&bytes, MANY), None);
        bytes.extend(file(&[b"abc", b""]));
        for start in 0..=100 {
            assert_eq!(find_header(&bytes[start..], MANY), Some(100 - start));
        }
        assert_eq!(find_header(&bytes[101..], MANY), Some(OVERHEAD_BYTES + 2));
        // A cut header is none.
        assert_eq!(find_header(&bytes[..100 + HEADER_BYTES - 1], MANY), None);
        assert_eq!(find_header(&bytes[..100 + HEADER_BYTES], MANY), Some(100));
        for n in 0..1000 {
            for record in [&b"abc"[..], &[7; 300], &[]] {
                let zeros = [vec![0; n], file(&[record])].concat();
                assert_eq!(find_header(&zeros, MANY), Some(n), "{n} zeros");
            }
        }
        let runs = [[1, 0, 0, 0, 0].repeat(9), file(&[b"abc"])].concat();
        assert_eq!(find_header(&runs, 10), Some(45));
        assert_eq!(find_header(&runs, 9), None);
        assert_eq!((find_header(&[], MANY), find_header(&[0; 11], MANY)), (None, None));
    }

    proptest::proptest! {
        #[test]
        fn the_first_header_is_that_of_a_search_at_every_place(
            pieces in proptest::collection::vec((0usize..6, 0u64..3, 0usize..20), 0..12),
        ) {
            let mut bytes = Vec::new();
            for (kind, length, n) in pieces {
                match kind {
                    0 => bytes.extend(header(length << (n * 31 / 20))),
                    1 => bytes.extend(&header(length)[..n.min(HEADER_BYTES)]),
                    2 => bytes.extend(header(length << 32)),
                    3 => bytes.extend(std::iter::repeat_n(length as u8, n)),
                    _ => bytes.extend(std::iter::repeat_n(0, n)),
                }
            }
            let holds = |window: &[u8]| parse_header(window.try_into().unwrap(), 0).is_ok_and(|n| n < 1 << 32);
            let first = bytes.windows(HEADER_BYTES).position(holds);
            proptest::prop_assert_eq!(find_header(&bytes, MANY), first);
        }
    }

    #[test]
    fn bytes_of_small_files() {
        let empty = [0, 0, 0, 0, 0, 0, 0, 0, 0x29, 3, 0x98, 7, 0xd8, 0xea, 0x82, 0xa2];
        assert_eq!(file(&[b""]), empty);
        let one = [1, 0, 0, 0, 0, 0, 0, 0, 0x01, 0x75, 0xde, 0x41, 0, 0x4a, 0x34, 0xd2];
        assert_eq!(file(&[b"\0"])[..12], one[..12]);
    }

    #[test]
    fn whole_partial_and_limited() {
        let bytes = file(&[b"abc", b"", b"hello"]);
        let (spans, all) = scan(&bytes, 0, usize::MAX);
        let payloads: Vec<&[u8]> = spans.iter().map(|s| s.of(&bytes)).collect();
        assert_eq!(payloads, [&b"abc"[..], b"", b"hello"]);
        let none = Stop::Partial { frame_bytes: None };
        assert_eq!(all, Scan { consumed: 19 + 16 + 21, stop: none });
        assert_eq!(scan(&bytes, 0, 2).1, Scan { consumed: 35, stop: Stop::Full });
        let cut = scan(&bytes[..50], 0, 9);
        assert_eq!(cut.0.len(), 2);
        assert_eq!(cut.1.stop, Stop::Partial { frame_bytes: Some(21) });
    }

    #[test]
    fn damage_is_named_as_tensorflow_names_it() {
        let mut bytes = file(&[b"abc", b"hello"]);
        bytes[19 + 12] ^= 1;
        let (spans, bad) = scan(&bytes, 100, 9);
        assert_eq!((spans.len(), bad.consumed), (1, 19));
        let Stop::Bad(error) = bad.stop else { panic!("{bad:?}") };
        let text = error.to_string();
        assert!(text.starts_with("corrupted record at 131: checksum of the 5 payload bytes is 0x"), "{text}");
        bytes[8] ^= 1;
        let Stop::Bad(error) = scan(&bytes, 0, 9).1.stop else { panic!() };
        let text = error.to_string();
        assert!(
            text.starts_with(
                "corrupted record at 0 (Is this even a TFRecord file?): checksum of the length is 0x"
            ),
            "{text}"
        );
    }

    #[test]
    fn the_first_damaged_record_is_named_wherever_it_is() {
        let records: Vec<Vec<u8>> = (0..13).map(|i| vec![i as u8; [5, 300, 2000, 64][i % 4]]).collect();
        let records: Vec<&[u8]> = records.iter().map(Vec::as_slice).collect();
        let bytes = file(&records);
        let (spans, whole) = scan(&bytes, 0, 99);
        assert_eq!((spans.len(), whole.consumed), (13, bytes.len()));
        for bad in 0..13 {
            for later in bad..13 {
                let mut bytes = bytes.clone();
                bytes[spans[bad].start + 4] ^= 0x10;
                // A later one, too, or a header behind it.
                bytes[spans[later].start - later % 2 * 3] ^= u8::from(later > bad);
                let (found, Scan { consumed, stop }) = scan(&bytes, 7, 99);
                let frame = spans[bad].start - HEADER_BYTES;
                assert_eq!((found.as_slice(), consumed), (&spans[..bad], frame), "{bad} {later}");
                let Stop::Bad(FrameError::BadPayloadCrc { offset, length, .. }) = stop else {
                    panic!("{stop:?}")
                };
                assert_eq!((offset, length), (frame as u64 + 7, spans[bad].len as u64));
            }
        }
    }

    #[test]
    fn a_huge_length_is_partial_not_an_overflow() {
        let bytes = header(u64::MAX);
        let stop = scan(&bytes, 0, 1).1.stop;
        assert_eq!(stop, Stop::Partial { frame_bytes: Some(u64::MAX) });
    }
}
