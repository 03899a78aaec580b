//! Files that appear only when they are whole.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::error::{At, Result, StoreError};
use crate::local::os_path;
use crate::store::Sink;

/// A file written beside its target as `NAME.PID.RANDOM.tmp` and renamed when it is done.
///
/// A target that is no regular file (a device, a pipe) is written directly; behind a link the file
/// that it points to is replaced. Writes are not buffered.
#[derive(Debug)]
pub struct AtomicFile {
    /// As the user wrote it.
    path: OsString,
    target: PathBuf,
    /// `None` once renamed, or when the target is written directly.
    temporary: Option<PathBuf>,
    file: File,
}

impl AtomicFile {
    /// Begins a file; `path` may begin with `file://`.
    ///
    /// # Errors
    /// `NotFound` (no such directory), `IsDirectory`, `PermissionDenied`, `NoSpace`, `Other`.
    pub fn create(path: &OsStr) -> Result<Self> {
        let given = os_path(path);
        let target = fs::canonicalize(given).unwrap_or_else(|_| given.to_owned());
        let direct = match fs::metadata(&target) {
            Ok(meta) if meta.is_dir() => return Err(StoreError::is_directory(path)),
            Ok(meta) => !meta.is_file(),
            Err(_) => false,
        };
        let Some(name) = target.file_name().filter(|_| !ends_with_slash(given)) else {
            return Err(StoreError::is_directory(path));
        };
        let mut options = OpenOptions::new();
        options.write(true);
        let (temporary, file) = if direct {
            (None, options.open(&target).at(path)?)
        } else {
            loop {
                let temporary = target.with_file_name(temporary_name(name));
                match options.create_new(true).open(&temporary) {
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                    other => break (Some(temporary), other.at(path)?),
                }
            }
        };
        Ok(Self { path: path.to_owned(), target, temporary, file })
    }

    /// Makes what has been written appear under the file's name; writing may go on, and the file stays
    /// when it is dropped without [`AtomicFile::commit`].
    ///
    /// # Errors
    /// [`StoreError`] with the file's path.
    pub fn publish(&mut self) -> Result<()> {
        if let Some(temporary) = &self.temporary {
            fs::rename(temporary, &self.target).at(&self.path)?;
            self.temporary = None;
        }
        Ok(())
    }

    /// Ends the file: its bytes are on the disk, then it has its name.
    ///
    /// # Errors
    /// [`StoreError`] with the file's path; the temporary file is removed then.
    pub fn commit(mut self) -> Result<()> {
        match self.file.sync_all() {
            // Pipes and some network file systems cannot.
            Err(error)
                if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => {}
            other => other.at(&self.path)?,
        }
        self.publish()?;
        sync_directory(&self.target);
        Ok(())
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Sink for AtomicFile {
    fn publish(&mut self) -> Result<()> {
        Self::publish(self)
    }

    fn commit(self: Box<Self>) -> Result<()> {
        Self::commit(*self)
    }
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        if let Some(temporary) = &self.temporary {
            // Nothing more can be done here; `sweep` finds what stays.
            let _ = fs::remove_file(temporary);
        }
    }
}

fn ends_with_slash(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().ends_with(b"/")
}

/// Makes the rename itself durable, where the system lets directories be synced.
fn sync_directory(target: &Path) {
    let parent = target.parent().filter(|p| !p.as_os_str().is_empty());
    if let Ok(directory) = File::open(parent.unwrap_or(Path::new("."))) {
        // The file is in place either way.
        let _ = directory.sync_all();
    }
}

fn temporary_name(name: &OsStr) -> OsString {
    // Every RandomState has keys of its own.
    let random = RandomState::new().hash_one(name);
    let mut temporary = name.to_owned();
    temporary.push(format!(".{}.{random:016x}.tmp", std::process::id()));
    temporary
}

/// The process that a temporary file's name tells of; `None` for any other name.
fn owner(name: &OsStr) -> Option<u32> {
    let name = name.as_encoded_bytes().strip_suffix(b".tmp")?;
    let mut parts = name.rsplitn(3, |&byte| byte == b'.');
    let random = parts.next()?;
    let process = std::str::from_utf8(parts.next()?).ok()?;
    parts.next().filter(|target| !target.is_empty())?;
    let is_random = random.len() == 16 && random.iter().all(u8::is_ascii_hexdigit);
    process.parse().ok().filter(|_| is_random)
}

/// Removes temporary files that writers which died left in a directory: those not written to for
/// `min_age` whose process is gone (where the system cannot tell, age alone decides). Gives the names.
///
/// On a directory shared between machines a process number of another machine looks gone: choose
/// `min_age` longer than a writer there may pause.
///
/// # Errors
/// [`StoreError`] when the directory cannot be read; files that cannot be removed are passed over.
pub fn sweep(directory: &OsStr, min_age: Duration) -> Result<Vec<OsString>> {
    let mut removed = Vec::new();
    for entry in fs::read_dir(os_path(directory)).at(directory)? {
        let entry = entry.at(directory)?;
        let name = entry.file_name();
        let Some(process) = owner(&name) else {
            continue;
        };
        let modified = entry.metadata().and_then(|meta| meta.modified());
        let age = modified.ok().and_then(|time| time.elapsed().ok());
        let old = age.is_some_and(|age| age >= min_age);
        if old && !is_running(process) && fs::remove_file(entry.path()).is_ok() {
            removed.push(name);
        }
    }
    crate::store::sort_by_bytes(&mut removed);
    Ok(removed)
}

fn is_running(process: u32) -> bool {
    Path::new("/proc/self").exists() && Path::new("/proc").join(process.to_string()).exists()
}

#[cfg(test)]
mod tests;
