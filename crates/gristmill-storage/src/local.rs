//! Files of this machine: plain paths and `file://`.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use crate::error::{At, Result, StoreError};
use crate::store::{DirEntry, Sink, Source, Stat, Store, sort_by_bytes};
use crate::write::AtomicFile;

/// The file system.
#[derive(Debug, Clone, Copy, Default)]
pub struct LocalStore;

/// The path that the operating system knows, without `file://`.
pub(crate) fn os_path(path: &OsStr) -> &Path {
    let is_url = crate::uri::scheme_of(path).is_some_and(|s| s.eq_ignore_ascii_case("file"));
    // Names that are no UTF-8 have no cheap split; as URLs they are not valid either and stay as they are.
    match path.to_str() {
        Some(text) if is_url => Path::new(&text["file://".len()..]),
        _ => Path::new(path),
    }
}

struct LocalFile {
    file: File,
    size: u64,
}

impl Read for LocalFile {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.file.read(into)
    }
}

impl Seek for LocalFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

impl Source for LocalFile {
    fn size(&self) -> u64 {
        self.size
    }

    #[cfg(unix)]
    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        std::os::unix::fs::FileExt::read_at(&self.file, into, offset)
    }

    #[cfg(windows)]
    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        std::os::windows::fs::FileExt::seek_read(&self.file, into, offset)
    }

    #[cfg(target_os = "linux")]
    fn read_cached(&self, offset: u64, into: &mut [u8]) -> usize {
        let mut into = [io::IoSliceMut::new(into)];
        rustix::io::preadv2(&self.file, &mut into, offset, rustix::io::ReadWriteFlags::NOWAIT).unwrap_or(0)
    }
}

impl Store for LocalStore {
    fn schemes(&self) -> &'static [&'static str] {
        &["file"]
    }

    fn open(&self, path: &OsStr) -> Result<Box<dyn Source>> {
        let file = File::open(os_path(path)).at(path)?;
        let meta = file.metadata().at(path)?;
        if meta.is_dir() {
            return Err(StoreError::is_directory(path));
        }
        let size = meta.len();
        Ok(Box::new(LocalFile { file, size }))
    }

    fn stat(&self, path: &OsStr) -> Result<Stat> {
        let meta = fs::metadata(os_path(path)).at(path)?;
        let is_dir = meta.is_dir();
        Ok(Stat { bytes: if is_dir { 0 } else { meta.len() }, is_dir, modified: meta.modified().ok() })
    }

    fn list_dir(&self, path: &OsStr) -> Result<Vec<DirEntry>> {
        let mut entries = Vec::new();
        for entry in fs::read_dir(os_path(path)).at(path)? {
            let entry = entry.at(path)?;
            let mut kind = entry.file_type().at(path)?;
            if kind.is_symlink()
                && let Ok(target) = fs::metadata(entry.path())
            {
                kind = target.file_type();
            }
            entries.push(DirEntry { name: entry.file_name(), is_dir: kind.is_dir() });
        }
        entries.sort_unstable_by(|a, b| a.name.as_encoded_bytes().cmp(b.name.as_encoded_bytes()));
        Ok(entries)
    }

    fn create(&self, path: &OsStr) -> Result<Box<dyn Sink>> {
        Ok(Box::new(AtomicFile::create(path)?))
    }

    fn append(&self, path: &OsStr) -> Result<Box<dyn Write + Send>> {
        let file = OpenOptions::new().append(true).create(true).open(os_path(path));
        Ok(Box::new(file.at(path)?))
    }

    fn create_dir_all(&self, path: &OsStr) -> Result<()> {
        fs::create_dir_all(os_path(path)).at(path)
    }

    fn remove(&self, path: &OsStr) -> Result<()> {
        match fs::remove_file(os_path(path)) {
            // Linux says "is a directory", other systems "not permitted".
            Err(_) if self.is_real_dir(path) => Err(StoreError::is_directory(path)),
            other => other.at(path),
        }
    }

    fn remove_dir_all(&self, path: &OsStr) -> Result<()> {
        fs::remove_dir_all(os_path(path)).at(path)
    }

    fn rename(&self, from: &OsStr, to: &OsStr) -> Result<()> {
        let blamed = if self.exists(from) { to } else { from };
        fs::rename(os_path(from), os_path(to)).at(blamed)
    }

    fn walk(&self, path: &OsStr) -> Result<Vec<OsString>> {
        // Walked as the user wrote it, so that the paths come back with the same beginning.
        let root = os_path(path);
        let scheme = &path.as_encoded_bytes()[..path.len() - root.as_os_str().len()];
        let scheme = std::str::from_utf8(scheme).expect("nothing or file://");
        let as_given = |found: &Path| {
            let mut given = OsString::from(scheme);
            given.push(found);
            given
        };
        let mut files = Vec::new();
        for entry in walkdir::WalkDir::new(root).follow_links(true) {
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) if error.loop_ancestor().is_some() => continue,
                Err(error) if is_dangling_link(&error) => continue,
                Err(error) => {
                    let at = as_given(error.path().unwrap_or(root));
                    let error = error.into_io_error().unwrap_or(io::ErrorKind::Other.into());
                    return Err(StoreError::from_io(&at, &error));
                }
            };
            if entry.depth() == 0 && !entry.file_type().is_dir() {
                return Err(StoreError::from_io(path, &io::ErrorKind::NotADirectory.into()));
            }
            if !entry.file_type().is_dir() {
                files.push(as_given(entry.path()));
            }
        }
        sort_by_bytes(&mut files);
        Ok(files)
    }
}

impl LocalStore {
    /// Whether there is a directory that is no link.
    fn is_real_dir(&self, path: &OsStr) -> bool {
        fs::symlink_metadata(os_path(path)).is_ok_and(|meta| meta.is_dir())
    }
}

fn is_dangling_link(error: &walkdir::Error) -> bool {
    error.depth() > 0 && error.path().is_some_and(Path::is_symlink)
}

#[cfg(test)]
mod tests;
