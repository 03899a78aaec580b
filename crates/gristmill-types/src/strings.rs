//! Many byte strings as positions in shared buffers: a column of records or of their byte features takes no
//! reference count and no allocation per string.

use crate::{Buffer, Bytes};
use std::sync::{Arc, OnceLock};

/// Where one byte string lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct StrSpan {
    /// Which of the buffers.
    pub buffer: u32,
    /// First byte in it.
    pub start: u32,
    /// Number of bytes.
    pub len: u32,
}

/// Byte strings in shared buffers of at most 4 GiB each.
pub struct Strings {
    buffers: Vec<Arc<Buffer>>,
    spans: Vec<StrSpan>,
    /// The strings one by one, made when somebody asks for them so.
    items: OnceLock<Vec<Bytes>>,
    /// Bytes of all strings: every stage counts what goes through it.
    bytes: u64,
    /// See [`Strings::sums`].
    before: OnceLock<Vec<u64>>,
}

/// Largest buffer that spans can point into.
const MOST: usize = u32::MAX as usize;

impl Strings {
    /// Strings at these places; `None` if one lies outside its buffer or a buffer is too large.
    pub fn new(buffers: Vec<Arc<Buffer>>, spans: Vec<StrSpan>) -> Option<Self> {
        let fits = |s: &StrSpan| {
            buffers.get(s.buffer as usize).is_some_and(|b| s.start as usize + s.len as usize <= b.len())
        };
        let fit = buffers.iter().all(|b| b.len() <= MOST) && spans.iter().all(fits);
        fit.then(|| Self::of(buffers, spans))
    }

    /// Strings at places that fit.
    fn of(buffers: Vec<Arc<Buffer>>, spans: Vec<StrSpan>) -> Self {
        let bytes = spans.iter().map(|s| u64::from(s.len)).sum();
        Self { buffers, spans, items: OnceLock::new(), bytes, before: OnceLock::new() }
    }

    /// Strings that exist one by one, sharing their memory; `None` if a buffer is too large.
    pub fn from_items(items: &[Bytes]) -> Option<Self> {
        let mut out = Builder::default();
        for item in items {
            out.push(item)?;
        }
        Some(out.finish())
    }

    /// The buffers that spans point into.
    #[inline]
    pub fn buffers(&self) -> &[Arc<Buffer>] {
        &self.buffers
    }

    /// Where the strings lie.
    #[inline]
    pub fn spans(&self) -> &[StrSpan] {
        &self.spans
    }

    /// Number of strings.
    #[inline]
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// Whether there are no strings.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// String `i`.
    ///
    /// # Panics
    /// If there are not so many.
    #[inline]
    pub fn get(&self, i: usize) -> &[u8] {
        self.slice(self.spans[i])
    }

    /// The string at one of the places.
    #[inline]
    pub(crate) fn slice(&self, s: StrSpan) -> &[u8] {
        &self.buffers[s.buffer as usize].as_slice()[s.start as usize..s.start as usize + s.len as usize]
    }

    /// String `i`, sharing its memory.
    ///
    /// # Panics
    /// If there are not so many.
    pub fn bytes(&self, i: usize) -> Bytes {
        let s = self.spans[i];
        Bytes::slice_of(&self.buffers[s.buffer as usize], s.start as usize, s.len as usize)
    }

    /// The strings one by one.
    pub fn items(&self) -> &[Bytes] {
        self.items.get_or_init(|| (0..self.len()).map(|i| self.bytes(i)).collect())
    }

    /// Bytes of strings `start..start + n`.
    ///
    /// # Panics
    /// If there are not so many.
    #[inline]
    pub fn byte_len(&self, start: usize, n: usize) -> usize {
        let bytes = if n == self.len() { self.bytes } else { self.sums()[start + n] - self.sums()[start] };
        // Strings that overlap may sum up to more than there is memory.
        usize::try_from(bytes).unwrap_or(usize::MAX)
    }

    /// Bytes of all strings before each, and of all: what [`Strings::byte_len`] needs for parts, made when it is first
    /// asked for.
    pub fn sums(&self) -> &[u64] {
        self.before.get_or_init(|| {
            let mut sum = 0;
            let ends = self.spans.iter().map(|s| {
                sum += u64::from(s.len);
                sum
            });
            std::iter::once(0).chain(ends).collect()
        })
    }

    /// Strings `start..start + n` in memory of their own, if they fill less than half of what they share.
    pub fn detached(&self, start: usize, n: usize) -> Option<Self> {
        Self::copied(&self.buffers, &self.spans[start..start + n])
    }

    /// Copies of the strings at these places in one buffer, if they fill less than half of those; `None` also if one
    /// lies outside its buffer.
    pub fn copied(buffers: &[Arc<Buffer>], spans: &[StrSpan]) -> Option<Self> {
        let bytes: usize = spans.iter().map(|s| s.len as usize).sum();
        let held: usize = buffers.iter().map(|b| b.len()).sum();
        if bytes >= held / 2 || bytes > MOST {
            return None;
        }
        let mut buffer = Buffer::recycled(bytes);
        let mut out = Vec::with_capacity(spans.len());
        let mut at = 0;
        for s in spans {
            let (start, len) = (s.start as usize, s.len as usize);
            let from = buffers.get(s.buffer as usize)?.as_slice().get(start..start + len)?;
            copy(from, &mut buffer.as_mut_slice()[at..at + len]);
            // `bytes` is at most MOST, so positions fit.
            out.push(StrSpan { buffer: 0, start: at as u32, len: s.len });
            at += len;
        }
        Some(Self::of(vec![Arc::new(buffer)], out))
    }
}

/// Copies a string to memory of its length. Short ones go in two pieces, which may overlap: a call for each would cost
/// more than the copy.
#[inline(always)]
fn copy(from: &[u8], to: &mut [u8]) {
    fn pieces<const N: usize>(from: &[u8], to: &mut [u8]) -> Option<()> {
        let (first, last) = (*from.first_chunk::<N>()?, *from.last_chunk::<N>()?);
        *to.first_chunk_mut()? = first;
        *to.last_chunk_mut()? = last;
        Some(())
    }
    let copied = match from.len() {
        8..16 => pieces::<8>(from, to),
        16..=32 => pieces::<16>(from, to),
        _ => None,
    };
    if copied.is_none() {
        to.copy_from_slice(from);
    }
}

impl std::fmt::Debug for Strings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} strings in {} buffers", self.spans.len(), self.buffers.len())
    }
}

/// Puts strings of several tensors one after the other.
#[derive(Default)]
pub struct Builder {
    buffers: Vec<Arc<Buffer>>,
    spans: Vec<StrSpan>,
}

impl Builder {
    /// Appends one string; `None` if its buffer is too large.
    pub fn push(&mut self, item: &Bytes) -> Option<()> {
        let Some((buffer, start)) = item.shared() else {
            let buffer =
                if self.buffers.is_empty() { self.buffer(&Arc::new(Buffer::recycled(0))) } else { 0 };
            self.spans.push(StrSpan { buffer, start: 0, len: 0 });
            return Some(());
        };
        if buffer.len() > MOST {
            return None;
        }
        let (start, len) = (u32::try_from(start).ok()?, u32::try_from(item.len()).ok()?);
        let buffer = self.buffer(buffer);
        self.spans.push(StrSpan { buffer, start, len });
        Some(())
    }

    /// Appends strings `start..start + n` of others.
    pub fn extend(&mut self, from: &Strings, start: usize, n: usize) {
        let spans = &from.spans[start..start + n];
        // Most of a few buffers are in use: they are taken over together.
        if from.buffers.len() <= n / 4 {
            let base = self.take_buffers(from);
            self.extend_shifted(spans, base);
            return;
        }
        // The last buffer of theirs and its number here: neighbours mostly share theirs.
        let mut known = None;
        self.spans.reserve(n);
        for s in spans {
            let buffer = match known {
                Some((theirs, ours)) if theirs == s.buffer => ours,
                _ => self.buffer(&from.buffers[s.buffer as usize]),
            };
            known = Some((s.buffer, buffer));
            self.spans.push(StrSpan { buffer, ..*s });
        }
    }

    /// Takes all buffers of others over; the number of the first one here.
    pub(crate) fn take_buffers(&mut self, from: &Strings) -> u32 {
        let n = from.buffers.len();
        let last = self.buffers.len().checked_sub(n).map(|at| &self.buffers[at..]);
        if last.is_none_or(|last| !last.iter().zip(&from.buffers).all(|(a, b)| Arc::ptr_eq(a, b))) {
            self.buffers.extend(from.buffers.iter().cloned());
        }
        // There are fewer buffers than strings in memory.
        (self.buffers.len() - n) as u32
    }

    /// Appends strings whose buffers were taken over, the first as number `base`.
    pub(crate) fn extend_shifted(&mut self, spans: &[StrSpan], base: u32) {
        self.spans.extend(spans.iter().map(|s| StrSpan { buffer: base + s.buffer, ..*s }));
    }

    /// The number of that buffer here.
    fn buffer(&mut self, buffer: &Arc<Buffer>) -> u32 {
        if self.buffers.last().is_none_or(|last| !Arc::ptr_eq(last, buffer)) {
            self.buffers.push(Arc::clone(buffer));
        }
        // There are fewer buffers than strings in memory.
        (self.buffers.len() - 1) as u32
    }

    /// All of them.
    pub fn finish(self) -> Strings {
        Strings::of(self.buffers, self.spans)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Strings {
        let buffers =
            vec![Arc::new(Buffer::from_slice(b"0123456789")), Arc::new(Buffer::from_slice(b"abcdef"))];
        let span = |buffer, start, len| StrSpan { buffer, start, len };
        Strings::new(buffers, vec![span(0, 2, 3), span(1, 0, 2), span(1, 6, 0)]).unwrap()
    }

    #[test]
    fn spans_items_and_joins_agree() {
        let s = sample();
        assert_eq!((s.get(0), s.get(1), s.get(2)), (&b"234"[..], &b"ab"[..], &b""[..]));
        assert_eq!(s.items(), ["234".into(), "ab".into(), Bytes::EMPTY]);
        let mut joined = Builder::default();
        joined.extend(&s, 1, 2);
        joined.push(&Bytes::EMPTY).unwrap();
        joined.push(&"xy".into()).unwrap();
        joined.extend(&s, 0, 2);
        let joined = joined.finish();
        let all: Vec<&[u8]> = (0..joined.len()).map(|i| joined.get(i)).collect();
        assert_eq!(all, [&b"ab"[..], b"", b"", b"xy", b"234", b"ab"]);
        assert_eq!(Strings::from_items(s.items()).unwrap().items(), s.items());
        // Many strings in a few buffers, not in their order.
        let items: Vec<Bytes> = (0..5).map(|i| Bytes::copy_from(&[i; 4])).collect();
        let mut few = Builder::default();
        let base = few.take_buffers(&Strings::from_items(&items).unwrap());
        let span = |i: u32| StrSpan { buffer: i * 3 % 5, start: 0, len: 4 };
        few.extend_shifted(&(0..40).map(span).collect::<Vec<_>>(), base);
        let mut joined = Builder::default();
        joined.extend(&s, 0, 1);
        joined.extend(&few.finish(), 1, 39);
        let joined = joined.finish();
        let all: Vec<&[u8]> = (1..40).map(|i| joined.get(i)).collect();
        assert_eq!(all, (1..40).map(|i| &items[i * 3 % 5][..]).collect::<Vec<_>>());
        assert_eq!((joined.get(0), joined.buffers().len()), (&b"234"[..], 6));
        let mut again = Builder::default();
        again.extend(&joined, 1, 30);
        again.extend(&joined, 0, 32);
        let again = again.finish();
        assert_eq!((again.get(0), again.get(30), again.buffers().len()), (joined.get(1), &b"234"[..], 6));
    }

    #[test]
    fn any_range_knows_its_bytes() {
        let items: Vec<Bytes> = [3, 0, 5, 1, 0].iter().map(|&n| Bytes::copy_from(&vec![7; n])).collect();
        let s = Strings::from_items(&items).unwrap();
        for start in 0..=5 {
            for n in 0..=5 - start {
                let sum: usize = items[start..start + n].iter().map(Bytes::len).sum();
                assert_eq!(s.byte_len(start, n), sum);
            }
        }
    }

    #[test]
    fn small_parts_get_memory_of_their_own() {
        let s = sample();
        let own = s.detached(0, 2).unwrap();
        assert_eq!((own.buffers().len(), own.get(0), own.get(1)), (1, &b"234"[..], &b"ab"[..]));
        // Of every length there is a way to copy.
        let long: Vec<u8> = (0..=255).collect();
        let buffer = Arc::new(Buffer::from_slice(&long));
        for len in 0..100 {
            let spans = [StrSpan { buffer: 0, start: 3, len }, StrSpan { buffer: 0, start: 101, len: 7 }];
            let own = Strings::copied(&[Arc::clone(&buffer)], &spans).unwrap();
            assert_eq!((own.get(0), own.get(1)), (&long[3..3 + len as usize], &long[101..108]));
        }
        let whole = Strings::from_items(&["0123456789".into()]).unwrap();
        assert!(whole.detached(0, 1).is_none());
    }

    #[test]
    fn places_outside_are_refused() {
        let buffers = vec![Arc::new(Buffer::from_slice(b"0123"))];
        for (buffer, start, len) in [(0, 3, 2), (1, 0, 1), (0, u32::MAX, 1)] {
            assert!(Strings::new(buffers.clone(), vec![StrSpan { buffer, start, len }]).is_none());
        }
    }
}
