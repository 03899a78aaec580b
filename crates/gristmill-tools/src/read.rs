//! Reading the records of one file, with its place in every error and its progress told.

use std::ffi::OsStr;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::ControlFlow;

use gristmill_record::codec::Detected;
use gristmill_record::{EndInfo, ReadError, ReaderOptions, RecordReader, Span};
use gristmill_storage::{Source, StoreError, Stores};
use gristmill_types::{Error, Frame, Kind, Result};

use crate::files::bytes;
use crate::progress::Progress;

/// Records looked at between two questions whether to stop.
const RECORDS_AT_ONCE: usize = 4096;

/// One record where it lies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecordAt<'a> {
    /// Position in the file, from 0.
    pub(crate) index: u64,
    /// Where the frame begins, in bytes of the (decompressed) stream.
    pub(crate) offset: u64,
    /// The payload.
    pub(crate) payload: &'a [u8],
}

/// A file whose reads advance a progress; its steps are the bytes of the file.
pub(crate) struct Tracked<'p> {
    inner: Box<dyn Source + 'p>,
    progress: &'p dyn Progress,
}

impl Read for Tracked<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.progress.cancelled() {
            // Jobs ask for themselves too; this ends a search through bytes that hold no record.
            return Err(io::Error::other("stopped before the end"));
        }
        let n = self.inner.read(into)?;
        self.progress.advance(n as u64, n as u64);
        Ok(n)
    }
}

impl Seek for Tracked<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.inner.seek(to)
    }
}

/// A reader over a file.
pub(crate) type Reader<'p> = RecordReader<Tracked<'p>>;

/// What a file is taken for that is no record file, and what to do about it; `None` for other errors.
pub(crate) fn no_records(error: &ReadError) -> Option<(String, &'static str)> {
    let ReadError::WrongFormat { detected, .. } = error else { return None };
    let hint = match detected {
        Detected::Png | Detected::Jpeg => PACK_HINT,
        _ => "convert it to record files first",
    };
    Some((format!("no record file: it looks like {detected}"), hint))
}

/// What to do about pictures.
pub(crate) const PACK_HINT: &str = "gm.pack makes record files of a folder of pictures";

/// What is wrong, in words.
pub(crate) fn words(error: &ReadError) -> String {
    no_records(error).map_or_else(|| error.to_string(), |(words, _)| words)
}

/// The error with the file's name.
pub(crate) fn in_file(error: ReadError, path: &OsStr) -> Error {
    match no_records(&error) {
        Some((words, hint)) => Error::new(Kind::DataLoss, words).in_file(path.to_string_lossy()).hint(hint),
        None => Error::from(error).in_file(path.to_string_lossy()),
    }
}

/// The error for a job that was asked to stop.
pub(crate) fn stopped() -> Error {
    Error::new(Kind::Cancelled, "stopped before the end")
}

/// An error of kind `Cancelled` once the caller wants the job to stop.
pub(crate) fn go_on(progress: &dyn Progress) -> Result<()> {
    if progress.cancelled() { Err(stopped()) } else { Ok(()) }
}

/// Opens a file as it is, and says how many bytes it has.
pub(crate) fn open_raw<'p>(path: &OsStr, progress: &'p dyn Progress) -> Result<(Tracked<'p>, u64)> {
    let stores = Stores::default();
    let store = stores.of(path)?;
    #[cfg(unix)]
    if let Some(inner) =
        crate::waiting::Waiting::open(path, progress).map_err(|e| StoreError::from_io(path, &e))?
    {
        return Ok((Tracked { inner: Box::new(inner), progress }, 0));
    }
    let inner = store.open(path)?;
    let size = inner.size();
    Ok((Tracked { inner, progress }, size))
}

/// How a file of that size is read. Devices and pipes have none.
pub(crate) fn options_for(size: u64) -> ReaderOptions {
    ReaderOptions { size: Some(size).filter(|&s| s > 0), ..ReaderOptions::default() }
}

/// Opens a record file; its compression is found from its bytes.
pub(crate) fn open<'p>(path: &OsStr, progress: &'p dyn Progress) -> Result<(Reader<'p>, u64)> {
    let (source, size) = open_raw(path, progress)?;
    let reader = RecordReader::open(source, &options_for(size))
        .map_err(|e| if progress.cancelled() { stopped() } else { in_file(e, path) })?;
    Ok((reader, size))
}

/// Gives every record of a reader to `f` until it breaks or the file ends; `None` after a break.
///
/// # Errors
/// `Ok(Err(..))` in the data's own error; `Cancelled`; what `f` returns.
pub(crate) fn each_of(
    reader: &mut Reader<'_>,
    progress: &dyn Progress,
    mut f: impl FnMut(RecordAt<'_>) -> Result<ControlFlow<()>>,
) -> Result<Result<Option<EndInfo>, ReadError>> {
    let (mut buffer, mut spans) = (Vec::new(), Vec::<Span>::new());
    loop {
        go_on(progress)?;
        let chunk = match reader.next_chunk(&mut buffer, RECORDS_AT_ONCE, &mut spans) {
            Ok(Some(chunk)) => chunk,
            Ok(None) => return Ok(Ok(reader.end())),
            Err(error) => {
                go_on(progress)?;
                return Ok(Err(error));
            }
        };
        for (index, span) in (chunk.first_index..).zip(&spans) {
            let record = RecordAt { index, offset: chunk.frame_offset(*span), payload: span.of(&buffer) };
            if f(record)?.is_break() {
                return Ok(Ok(None));
            }
        }
    }
}

/// Gives every record of a file to `f`; the first damage ends it with an error that names file and record. So does an
/// end that readers pass over in silence: what is written must not lack records that nobody misses.
pub(crate) fn each_record(
    path: &OsStr,
    progress: &dyn Progress,
    f: impl FnMut(RecordAt<'_>) -> Result<()>,
) -> Result<()> {
    each_record_of(&mut open(path, progress)?.0, path, progress, f)
}

/// As [`each_record`], of a file that has been opened.
pub(crate) fn each_record_of(
    reader: &mut Reader<'_>,
    path: &OsStr,
    progress: &dyn Progress,
    mut f: impl FnMut(RecordAt<'_>) -> Result<()>,
) -> Result<()> {
    match each_of(reader, progress, |record| f(record).map(ControlFlow::Continue))? {
        Ok(end) => end.map_or(Ok(()), |end| whole_end(path, end)),
        Err(error) => Err(at_record(error, reader, path)),
    }
}

/// The error that stopped a reader, with the record and the file.
pub(crate) fn at_record(error: ReadError, reader: &Reader<'_>, path: &OsStr) -> Error {
    if !matches!(error, ReadError::Frame(_) | ReadError::Codec(_)) {
        return in_file(error, path);
    }
    // The reader's own hint speaks of pipelines.
    let error = Error::from(error);
    Error::new(error.kind(), error.message())
        .frame(Frame::Record { index: reader.index(), offset: reader.offset() })
        .hint("'gristmill salvage IN OUT' keeps the intact records")
        .in_file(path.to_string_lossy())
}

/// What is said of compressed data that end inside a member.
pub(crate) const CUT_SHORT: &str = "the compressed data end before their trailer";

/// Refuses a file that ends inside a header or inside its compressed data.
fn whole_end(path: &OsStr, end: EndInfo) -> Result<()> {
    let message = match (end.cut_short, end.tail_bytes) {
        (true, _) => format!("{CUT_SHORT}: records may be missing after the first {}", end.records),
        (false, 0) => return Ok(()),
        (false, tail) => format!("{} behind the last record are no record", bytes(tail as u64)),
    };
    Err(Error::new(Kind::DataLoss, message)
        .in_file(path.to_string_lossy())
        .hint("'gristmill salvage IN OUT' keeps the intact records"))
}
