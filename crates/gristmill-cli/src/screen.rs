//! Standard output: buffered, and quiet once nobody reads any more.

use std::ffi::OsStr;
use std::io::{self, BufWriter, ErrorKind, Write};

/// Where results go.
pub(crate) struct Screen {
    out: BufWriter<Box<dyn Write>>,
    /// The reader went away, as `head` does when it has enough: not an error.
    closed: bool,
    failed: Option<io::Error>,
}

impl Screen {
    pub(crate) fn new() -> Self {
        Self { out: BufWriter::new(Box::new(io::stdout())), closed: false, failed: None }
    }

    /// Results go to standard error if one of these files is standard output: the records go there.
    pub(crate) fn make_way<'a>(&mut self, written: impl IntoIterator<Item = &'a OsStr>) {
        if written.into_iter().any(is_standard_output) {
            self.out = BufWriter::new(Box::new(io::stderr()));
        }
    }

    /// Writes a line; failures show in [`Screen::is_done`] and [`Screen::finish`].
    pub(crate) fn line(&mut self, text: impl AsRef<str>) {
        if self.is_done() {
            return;
        }
        let result = self.out.write_all(text.as_ref().as_bytes()).and_then(|()| self.out.write_all(b"\n"));
        self.note(result);
    }

    /// Shows what was written so far.
    pub(crate) fn flush(&mut self) {
        if !self.is_done() {
            let result = self.out.flush();
            self.note(result);
        }
    }

    fn note(&mut self, result: io::Result<()>) {
        match result {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::BrokenPipe => self.closed = true,
            Err(error) => self.failed = Some(error),
        }
    }

    /// Whether writing more is of no use.
    pub(crate) fn is_done(&self) -> bool {
        self.closed || self.failed.is_some()
    }

    /// Writes what is left.
    ///
    /// # Errors
    /// The first that writing met, unless the reader just went away.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.flush();
        // What could not be written is not tried again.
        let _ = self.out.into_parts();
        self.failed.map_or(Ok(()), Err)
    }
}

/// Whether a name such as `/dev/stdout` leads to where standard output goes.
#[cfg(unix)]
fn is_standard_output(path: &OsStr) -> bool {
    use std::os::fd::AsFd;
    use std::os::unix::fs::MetadataExt;
    let own = io::stdout().as_fd().try_clone_to_owned().map(std::fs::File::from);
    match (own.and_then(|file| file.metadata()), std::fs::metadata(path)) {
        (Ok(own), Ok(other)) => (own.dev(), own.ino()) == (other.dev(), other.ino()),
        _ => false,
    }
}

/// Whether a name leads to where standard output goes; there is none here.
#[cfg(not(unix))]
fn is_standard_output(_: &OsStr) -> bool {
    false
}
