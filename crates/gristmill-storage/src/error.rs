//! What can go wrong with a file.

use std::ffi::{OsStr, OsString};
use std::io;

/// The kinds of failure that callers tell apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StoreErrorKind {
    /// There is no such file or directory.
    NotFound,
    /// The file may not be read or written.
    PermissionDenied,
    /// A directory where a file is expected.
    IsDirectory,
    /// A file where a directory is expected.
    NotDirectory,
    /// No room left to write.
    NoSpace,
    /// No memory left for what was read.
    NoMemory,
    /// A name that no file can have.
    InvalidName,
    /// A scheme or an operation that no store here offers.
    Unsupported,
    /// Anything else.
    Other,
}

impl StoreErrorKind {
    /// The kind of an operating system's error.
    pub fn of(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => Self::NotFound,
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => Self::PermissionDenied,
            io::ErrorKind::IsADirectory => Self::IsDirectory,
            io::ErrorKind::NotADirectory => Self::NotDirectory,
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::NoSpace,
            io::ErrorKind::OutOfMemory => Self::NoMemory,
            io::ErrorKind::InvalidInput | io::ErrorKind::InvalidFilename => Self::InvalidName,
            io::ErrorKind::Unsupported => Self::Unsupported,
            _ => Self::Other,
        }
    }
}

/// A failure, with the path as the user wrote it. Reads `PATH; what is wrong`, as TensorFlow's do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}; {message}", shown(path))]
pub struct StoreError {
    /// What kind of failure.
    pub kind: StoreErrorKind,
    /// The path or URL.
    pub path: OsString,
    /// What is wrong, in the words of POSIX where it has some.
    pub message: String,
}

/// A result with a [`StoreError`].
pub type Result<T> = std::result::Result<T, StoreError>;

impl StoreError {
    /// An error in our own words.
    pub fn new(kind: StoreErrorKind, path: impl Into<OsString>, message: impl Into<String>) -> Self {
        Self { kind, path: path.into(), message: message.into() }
    }

    /// An error of the operating system about `path`.
    pub fn from_io(path: &OsStr, error: &io::Error) -> Self {
        let kind = StoreErrorKind::of(error);
        let message = match kind {
            StoreErrorKind::NotFound => "No such file or directory".to_owned(),
            StoreErrorKind::PermissionDenied => "Permission denied".to_owned(),
            StoreErrorKind::IsDirectory => "Is a directory".to_owned(),
            StoreErrorKind::NotDirectory => "Not a directory".to_owned(),
            StoreErrorKind::NoSpace => "No space left on device".to_owned(),
            StoreErrorKind::NoMemory
            | StoreErrorKind::InvalidName
            | StoreErrorKind::Unsupported
            | StoreErrorKind::Other => error.to_string(),
        };
        Self::new(kind, path, message)
    }

    /// The error for a directory where a file is expected.
    pub fn is_directory(path: &OsStr) -> Self {
        Self::from_io(path, &io::ErrorKind::IsADirectory.into())
    }
}

/// A path as messages show it: in one line, and visible even where it is empty.
fn shown(path: &OsStr) -> String {
    let text = path.to_string_lossy();
    match text.as_ref() {
        "" => "''".to_owned(),
        _ if text.contains(char::is_control) => text.escape_debug().to_string(),
        _ => text.into_owned(),
    }
}

/// Turns an `io::Result` into ours, naming the path.
pub(crate) trait At<T> {
    fn at(self, path: &OsStr) -> Result<T>;
}

impl<T> At<T> for io::Result<T> {
    fn at(self, path: &OsStr) -> Result<T> {
        self.map_err(|error| StoreError::from_io(path, &error))
    }
}

impl From<StoreError> for gristmill_types::Error {
    fn from(e: StoreError) -> Self {
        use gristmill_types::Kind;
        let kind = match e.kind {
            StoreErrorKind::NotFound => Kind::NotFound,
            StoreErrorKind::PermissionDenied => Kind::PermissionDenied,
            StoreErrorKind::IsDirectory | StoreErrorKind::NotDirectory => Kind::FailedPrecondition,
            StoreErrorKind::NoSpace | StoreErrorKind::NoMemory => Kind::ResourceExhausted,
            StoreErrorKind::InvalidName => Kind::InvalidArgument,
            StoreErrorKind::Unsupported => Kind::Unimplemented,
            StoreErrorKind::Other => Kind::Unknown,
        };
        let message = e.to_string();
        Self::new(kind, message).in_file(shown(&e.path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_posix() {
        let text = |kind: io::ErrorKind| {
            let error = StoreError::from_io(OsStr::new("/a/b"), &kind.into());
            (error.kind, error.to_string())
        };
        let cases = [
            (io::ErrorKind::NotFound, StoreErrorKind::NotFound, "No such file or directory"),
            (io::ErrorKind::PermissionDenied, StoreErrorKind::PermissionDenied, "Permission denied"),
            (io::ErrorKind::IsADirectory, StoreErrorKind::IsDirectory, "Is a directory"),
            (io::ErrorKind::StorageFull, StoreErrorKind::NoSpace, "No space left on device"),
            (io::ErrorKind::TimedOut, StoreErrorKind::Other, "timed out"),
        ];
        for (io, kind, words) in cases {
            assert_eq!(text(io), (kind, format!("/a/b; {words}")));
        }
    }

    #[test]
    fn odd_paths_are_visible() {
        let text = |path: &str| StoreError::new(StoreErrorKind::Other, path, "x").to_string();
        assert_eq!(text(""), "''; x");
        assert_eq!(text("a\0b\n"), "a\\0b\\n; x");
    }
}
