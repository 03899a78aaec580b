//! Writing record files that appear under their name only when complete.

use gristmill_record::codec::Compression;
use gristmill_record::writer::RecordWriter;
use gristmill_storage::{Sink, Stores};
use gristmill_types::{Error, Result};
use std::ffi::OsStr;
use std::io;

/// Writes a TFRecord file. It appears under its name on [`FileWriter::finish`] or on the first
/// [`FileWriter::flush`]; dropped before that, it leaves nothing behind.
pub struct FileWriter {
    writer: Option<RecordWriter<Box<dyn Sink>>>,
    path: std::ffi::OsString,
}

impl FileWriter {
    /// A file to be. `level` is the compression level, 0-9.
    ///
    /// # Errors
    /// A path that cannot be written.
    pub fn create(path: impl AsRef<OsStr>, compression: Compression, level: Option<u32>) -> Result<Self> {
        let path = path.as_ref();
        let sink = Stores::default().of(path)?.create(path)?;
        Ok(Self { writer: Some(RecordWriter::new(sink, compression, level)), path: path.to_owned() })
    }

    fn writer(&mut self) -> Result<&mut RecordWriter<Box<dyn Sink>>> {
        let path = self.path.to_string_lossy().into_owned();
        self.writer.as_mut().ok_or_else(|| {
            Error::new(gristmill_types::Kind::FailedPrecondition, "the writer is closed").in_file(path)
        })
    }

    fn place<T>(&self, result: io::Result<T>) -> Result<T> {
        result.map_err(|e| gristmill_storage::StoreError::from_io(&self.path, &e).into())
    }

    /// Appends a record.
    ///
    /// # Errors
    /// What writing reports, e.g. a full disk.
    pub fn write(&mut self, record: &[u8]) -> Result<()> {
        let written = self.writer()?.write(record);
        self.place(written)
    }

    /// Makes the records so far readable under the file's name.
    ///
    /// # Errors
    /// What writing reports.
    pub fn flush(&mut self) -> Result<()> {
        let flushed = self.writer()?.flush();
        self.place(flushed)?;
        self.writer()?.get_mut().publish().map_err(Error::from)
    }

    /// Completes the file and gives it its name.
    ///
    /// # Errors
    /// What writing reports; nothing is left behind then.
    pub fn finish(&mut self) -> Result<()> {
        let Some(writer) = self.writer.take() else { return Ok(()) };
        let sink = self.place(writer.finish())?;
        sink.commit().map_err(Error::from)
    }
}
