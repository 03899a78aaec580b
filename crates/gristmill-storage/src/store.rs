//! What a store offers.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read, Seek, Write};
use std::time::SystemTime;

use crate::error::{At, Result, StoreError, StoreErrorKind};

/// What is known about a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat {
    /// Bytes of the file; 0 for a directory.
    pub bytes: u64,
    /// Whether it is a directory.
    pub is_dir: bool,
    /// When it was last written, where the store knows.
    pub modified: Option<SystemTime>,
}

/// One name in a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirEntry {
    /// The name, without the directory.
    pub name: OsString,
    /// Whether it is a directory (or a link to one).
    pub is_dir: bool,
}

/// An open file: a stream, and reads at any place that leave the stream's position alone.
pub trait Source: Read + Seek + Send + Sync {
    /// Bytes of the file when it was opened.
    fn size(&self) -> u64;

    /// Reads up to `into.len()` bytes from byte `offset` on; 0 only at the end of the file.
    ///
    /// # Errors
    /// What the operating system or the service reports.
    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize>;

    /// Reads as much of the same as is in memory already, without waiting for a drive or a network: 0 bytes also where
    /// that cannot be told.
    fn read_cached(&self, _offset: u64, _into: &mut [u8]) -> usize {
        0
    }
}

/// A file being written. It appears under its name when published or committed; dropped before, it
/// leaves nothing behind.
pub trait Sink: Write + Send {
    /// Makes what has been written appear under the file's name; writing may go on.
    ///
    /// # Errors
    /// [`StoreError`] with the file's path.
    fn publish(&mut self) -> Result<()>;

    /// Ends the file durably under its name.
    ///
    /// # Errors
    /// [`StoreError`] with the file's path.
    fn commit(self: Box<Self>) -> Result<()>;
}

/// Serves the files of some schemes. Paths come as the user wrote them, scheme included, and errors
/// carry them so.
pub trait Store: Send + Sync {
    /// The schemes served, without `://`.
    fn schemes(&self) -> &'static [&'static str];

    /// Opens a file for reading.
    ///
    /// # Errors
    /// `NotFound`, `IsDirectory`, `PermissionDenied`, `Other`.
    fn open(&self, path: &OsStr) -> Result<Box<dyn Source>>;

    /// Looks a path up.
    ///
    /// # Errors
    /// `NotFound`, `PermissionDenied`, `Other`.
    fn stat(&self, path: &OsStr) -> Result<Stat>;

    /// The names in a directory, sorted by their bytes, hidden ones included.
    ///
    /// # Errors
    /// `NotFound`, `PermissionDenied`, `NotDirectory`, `Other`.
    fn list_dir(&self, path: &OsStr) -> Result<Vec<DirEntry>>;

    /// Makes a file to be written as a whole.
    ///
    /// # Errors
    /// `NotFound` (no such directory), `IsDirectory`, `PermissionDenied`, `NoSpace`, `Other`.
    fn create(&self, path: &OsStr) -> Result<Box<dyn Sink>>;

    /// Opens a file for writing at its end, making it if needed. Not atomic.
    ///
    /// # Errors
    /// As [`Store::create`]; `Unsupported` where a store cannot append.
    fn append(&self, path: &OsStr) -> Result<Box<dyn Write + Send>>;

    /// Makes a directory and those above it; nothing happens when it is there.
    ///
    /// # Errors
    /// `PermissionDenied`, `NoSpace`, `NotDirectory`, `Other`.
    fn create_dir_all(&self, path: &OsStr) -> Result<()>;

    /// Removes a file.
    ///
    /// # Errors
    /// `NotFound`, `IsDirectory`, `PermissionDenied`, `Other`.
    fn remove(&self, path: &OsStr) -> Result<()>;

    /// Removes a directory with all that is in it.
    ///
    /// # Errors
    /// `NotFound`, `PermissionDenied`, `NotDirectory`, `Other`.
    fn remove_dir_all(&self, path: &OsStr) -> Result<()>;

    /// Gives a file or directory another name in the same store; replaces a file there.
    ///
    /// # Errors
    /// `NotFound`, `IsDirectory`, `PermissionDenied`, `Other`.
    fn rename(&self, from: &OsStr, to: &OsStr) -> Result<()>;

    /// Bytes of a file.
    ///
    /// # Errors
    /// As [`Store::stat`], and `IsDirectory`.
    fn size(&self, path: &OsStr) -> Result<u64> {
        match self.stat(path)? {
            stat if stat.is_dir => Err(StoreError::is_directory(path)),
            stat => Ok(stat.bytes),
        }
    }

    /// Whether there is a file or directory. A path that cannot be looked up counts as absent.
    fn exists(&self, path: &OsStr) -> bool {
        self.stat(path).is_ok()
    }

    /// Whether there is a directory.
    fn is_dir(&self, path: &OsStr) -> bool {
        self.stat(path).is_ok_and(|stat| stat.is_dir)
    }

    /// All paths that match a pattern, sorted by their bytes; see [`crate::glob`] for the rules.
    ///
    /// # Errors
    /// As [`Store::list_dir`], but for `NotFound`: what is not there does not match.
    fn glob(&self, pattern: &OsStr) -> Result<Vec<OsString>> {
        crate::glob::glob(self, pattern)
    }

    /// All files below a directory at any depth, sorted by the bytes of their paths. Links to
    /// directories are followed, but not in circles.
    ///
    /// # Errors
    /// As [`Store::list_dir`].
    fn walk(&self, path: &OsStr) -> Result<Vec<OsString>> {
        let mut files = Vec::new();
        let mut open = vec![path.to_owned()];
        while let Some(directory) = open.pop() {
            for entry in self.list_dir(&directory)? {
                let path = join(&directory, &entry.name);
                if entry.is_dir { &mut open } else { &mut files }.push(path);
            }
        }
        sort_by_bytes(&mut files);
        Ok(files)
    }

    /// Copies a file within the store, replacing `to` atomically; gives the bytes copied.
    ///
    /// # Errors
    /// As [`Store::open`] and [`Store::create`].
    fn copy(&self, from: &OsStr, to: &OsStr) -> Result<u64> {
        let mut source = self.open(from)?;
        let mut sink = self.create(to)?;
        let bytes = io::copy(&mut source, &mut sink).at(to)?;
        sink.commit()?;
        Ok(bytes)
    }
}

impl StoreError {
    /// The error of a store that lacks an operation.
    pub fn unsupported(path: &OsStr, what: &str) -> Self {
        Self::new(StoreErrorKind::Unsupported, path, what)
    }
}

/// `directory/name`; just `name` when the directory is empty.
pub(crate) fn join(directory: &OsStr, name: &OsStr) -> OsString {
    let mut path = OsString::with_capacity(directory.len() + 1 + name.len());
    path.push(directory);
    if !directory.is_empty() && !directory.as_encoded_bytes().ends_with(b"/") {
        path.push("/");
    }
    path.push(name);
    path
}

/// Byte order, the same on every platform.
pub(crate) fn sort_by_bytes(paths: &mut [OsString]) {
    paths.sort_unstable_by(|a, b| a.as_encoded_bytes().cmp(b.as_encoded_bytes()));
}

/// A path of bytes that came out of a path.
#[cfg(unix)]
pub(crate) fn from_bytes(bytes: &[u8]) -> OsString {
    std::os::unix::ffi::OsStringExt::from_vec(bytes.to_vec())
}

/// A path of bytes that came out of a path, cut at an ASCII character.
#[cfg(not(unix))]
pub(crate) fn from_bytes(bytes: &[u8]) -> OsString {
    String::from_utf8_lossy(bytes).into_owned().into()
}
