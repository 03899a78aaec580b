//! Pipes and other files that may keep a reader waiting: the wait ends when the job is to stop.
#![allow(unsafe_code)]

use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, FileTypeExt, OpenOptionsExt};

use gristmill_storage::Source;

use crate::out::local;
use crate::progress::Progress;

/// How long one wait lasts before the job is asked again, in milliseconds.
const WAIT_MS: i32 = 100;

/// A pipe, socket or device, read as its bytes come.
pub(crate) struct Waiting<'p> {
    file: File,
    progress: &'p dyn Progress,
}

impl<'p> Waiting<'p> {
    /// Opens the file if it is one that may keep a reader waiting, without waiting for a writer.
    pub(crate) fn open(path: &OsStr, progress: &'p dyn Progress) -> io::Result<Option<Self>> {
        let path = local(path);
        let kind = match std::fs::metadata(path) {
            Ok(meta) => meta.file_type(),
            // Told by who opens it in the usual way.
            Err(_) => return Ok(None),
        };
        if !kind.is_fifo() && !kind.is_char_device() {
            return Ok(None);
        }
        let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
        Ok(Some(Self { file, progress }))
    }

    /// Whether there is something to read, or the end, by now.
    fn is_ready(&self) -> io::Result<bool> {
        let mut wanted = libc::pollfd { fd: self.file.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: `wanted` is one valid entry for the length of the call, and the file is open.
        match unsafe { libc::poll(&raw mut wanted, 1, WAIT_MS) } {
            0 => Ok(false),
            n if n > 0 => Ok(true),
            _ => match io::Error::last_os_error() {
                error if error.kind() == io::ErrorKind::Interrupted => Ok(false),
                error => Err(error),
            },
        }
    }
}

impl Read for Waiting<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            if self.progress.cancelled() {
                return Err(io::Error::other("stopped before the end"));
            }
            if self.is_ready()? {
                match self.file.read(into) {
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                    other => return other,
                }
            }
        }
    }
}

impl Seek for Waiting<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

impl Source for Waiting<'_> {
    fn size(&self) -> u64 {
        0
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        self.file.read_at(into, offset)
    }
}
