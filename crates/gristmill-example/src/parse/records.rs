//! Records as a parser takes them, and the string columns that share their memory.

use gristmill_types::{Buffer, Bytes, Error, Result, Shape, StrSpan, Strings, Tensor};
use std::ops::Range;
use std::sync::Arc;

/// Serialized Examples, held as positions in shared buffers.
#[derive(Clone)]
pub struct Records {
    store: Arc<Strings>,
    start: usize,
    len: usize,
}

impl Records {
    /// The elements of a string tensor.
    ///
    /// # Errors
    /// `InvalidArgument` for an element of more than 4 GiB: protobuf allows 2.
    pub fn of(t: &Tensor) -> Result<Self> {
        let len = t.string_slices().len();
        if let Some((store, start)) = t.spans() {
            return Ok(Self { store, start, len });
        }
        // A buffer is too large for positions in it: each record in memory of its own may not be.
        let own: Vec<Bytes> = t.string_slices().map(Bytes::copy_from).collect();
        let store = Strings::from_items(&own).ok_or_else(|| {
            Error::invalid(
                "Could not parse example input: a record of more than 4 GiB; an Example has at most 2",
            )
        })?;
        Ok(Self { store: Arc::new(store), start: 0, len })
    }

    /// The first `n` of them.
    #[must_use]
    pub fn first(mut self, n: usize) -> Self {
        self.len = self.len.min(n);
        self
    }

    /// Number of records.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no records.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The bytes of record `i`.
    ///
    /// # Panics
    /// If there are not so many.
    #[inline]
    pub fn get(&self, i: usize) -> &[u8] {
        self.store.get(self.start + i)
    }

    /// Record `i`, sharing its memory.
    pub(crate) fn bytes(&self, i: usize) -> Bytes {
        self.store.bytes(self.start + i)
    }

    /// Where record `i` lies.
    #[inline]
    pub(crate) fn span(&self, i: usize) -> StrSpan {
        self.store.spans()[self.start + i]
    }
}

/// The strings of one feature over many records, in row-major order.
#[derive(Debug, Default)]
pub struct StringColumn {
    spans: Vec<StrSpan>,
    /// Where the default lies, which of the strings there it is, and the number that its first buffer has here.
    default: Option<(Arc<Strings>, Range<usize>, u32)>,
}

impl StringColumn {
    pub(crate) fn new(strings: usize, records: &Records, default: Option<&Tensor>) -> Self {
        let default = default.and_then(|t| {
            let (store, start) = t.spans()?;
            Some((store, start..start + t.count(), records.store.buffers().len() as u32))
        });
        Self { spans: Vec::with_capacity(strings), default }
    }

    pub(crate) fn truncate(&mut self, len: usize) {
        self.spans.truncate(len);
    }

    /// Appends the bytes `start..start + len` of the record at `record`.
    #[inline]
    pub(crate) fn push(&mut self, record: StrSpan, start: usize, len: usize) {
        self.extend(std::iter::once((record, start, len)));
    }

    /// The same for many.
    #[inline]
    pub(crate) fn extend(&mut self, strings: impl Iterator<Item = (StrSpan, usize, usize)>) {
        self.spans.extend(strings.map(|(record, start, len)| StrSpan {
            buffer: record.buffer,
            // Both lie inside the record, whose place fits.
            start: record.start + start as u32,
            len: len as u32,
        }));
    }

    pub(crate) fn push_default(&mut self) {
        if let Some((default, part, first)) = &self.default {
            let spans = &default.spans()[part.clone()];
            self.spans.extend(spans.iter().map(|s| StrSpan { buffer: s.buffer + first, ..*s }));
        }
    }

    /// The strings of `records`, which were parsed into this, under a shape.
    ///
    /// # Errors
    /// `InvalidArgument` if there are not as many as the shape has.
    pub fn finish(self, shape: Shape, records: &Records) -> Result<Tensor> {
        let mut buffers: Vec<Arc<Buffer>> = records.store.buffers().to_vec();
        if let Some((default, ..)) = &self.default {
            buffers.extend_from_slice(default.buffers());
        }
        /// Strings up to this mean length are copied out of their records: that is cheaper than the cache miss
        /// which each would cost the next reader, and it lets the records' memory go.
        const SHORT: usize = 256;
        let n = self.spans.len();
        let bytes: usize = self.spans.iter().map(|s| s.len as usize).sum();
        let own = if bytes <= SHORT * n { Strings::copied(&buffers, &self.spans) } else { None };
        let store = own
            .or_else(|| Strings::new(buffers, self.spans))
            .ok_or_else(|| Error::internal("a string lies outside its record"))?;
        Tensor::from_spans(shape, Arc::new(store))
    }
}
