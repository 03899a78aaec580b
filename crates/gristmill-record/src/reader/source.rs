//! Where a reader's bytes come from: the caller's `Read`, its first bytes looked at, maybe inflated.

use std::io::{self, Read, Seek, SeekFrom};

use crate::codec::{Compression, Inflater, SNIFF_BYTES, read_retrying};
use crate::error::ReadError;

/// A source whose first bytes were read ahead.
pub(super) struct Prefixed<R> {
    head: Vec<u8>,
    given: usize,
    inner: R,
}

impl<R: Read> Prefixed<R> {
    /// Reads up to [`SNIFF_BYTES`] ahead.
    pub(super) fn open(mut inner: R) -> io::Result<Self> {
        let mut head = vec![0; SNIFF_BYTES];
        let mut filled = 0;
        while filled < head.len() {
            match read_retrying(&mut inner, &mut head[filled..])? {
                0 => break,
                n => filled += n,
            }
        }
        head.truncate(filled);
        let given = 0;
        Ok(Self { head, given, inner })
    }

    /// A source that nothing is read ahead of.
    pub(super) fn bare(inner: R) -> Self {
        let head = Vec::new();
        let given = 0;
        Self { head, given, inner }
    }

    pub(super) fn head(&self) -> &[u8] {
        &self.head
    }
}

impl<R: Read> Read for Prefixed<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let rest = &self.head[self.given..];
        if rest.is_empty() {
            return read_retrying(&mut self.inner, out);
        }
        let n = rest.len().min(out.len());
        out[..n].copy_from_slice(&rest[..n]);
        self.given += n;
        Ok(n)
    }
}

pub(super) enum Source<R> {
    Plain(Prefixed<R>),
    Inflate(Box<Inflater<Prefixed<R>>>),
}

impl<R: Read> Source<R> {
    pub(super) fn new(prefixed: Prefixed<R>, compression: Compression) -> Self {
        match compression {
            Compression::None => Self::Plain(prefixed),
            Compression::Gzip | Compression::Zlib => {
                Self::Inflate(Box::new(Inflater::new(prefixed, compression)))
            }
        }
    }

    pub(super) fn read(&mut self, out: &mut [u8]) -> Result<usize, ReadError> {
        match self {
            Self::Plain(source) => Ok(source.read(out)?),
            Self::Inflate(source) => source.read_some(out),
        }
    }

    pub(super) fn cut_short(&self) -> bool {
        match self {
            Self::Plain(_) => false,
            Self::Inflate(source) => source.cut_short(),
        }
    }
}

impl<R: Read + Seek> Source<R> {
    /// The size of the file, when plain. Leaves the position where it is.
    pub(super) fn size(&mut self) -> io::Result<Option<u64>> {
        let Self::Plain(source) = self else {
            return Ok(None);
        };
        let here = source.inner.stream_position()?;
        let size = source.inner.seek(SeekFrom::End(0))?;
        source.inner.seek(SeekFrom::Start(here))?;
        Ok(Some(size))
    }

    /// Moves `bytes` ahead by seeking; false (and no move) when that is not possible.
    pub(super) fn seek_ahead(&mut self, bytes: u64) -> io::Result<bool> {
        let Self::Plain(source) = self else {
            return Ok(false);
        };
        let from_head = bytes.min((source.head.len() - source.given) as u64);
        let Ok(rest) = i64::try_from(bytes - from_head) else {
            return Ok(false);
        };
        source.inner.seek_relative(rest)?;
        source.given += from_head as usize;
        Ok(true)
    }
}
