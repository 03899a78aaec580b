//! A store that fails on demand, for tests of what happens then.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use crate::error::{Result, StoreError};
use crate::store::{DirEntry, Sink, Source, Stat, Store};

/// Which call fails, and how.
#[derive(Debug, Default)]
struct Plan {
    reads: AtomicU64,
    writes: AtomicU64,
    /// Number of the call (from 1) and its error.
    fail_read: Mutex<Option<(u64, io::ErrorKind)>>,
    fail_write: Mutex<Option<(u64, io::ErrorKind)>>,
}

impl Plan {
    fn count(calls: &AtomicU64, fail: &Mutex<Option<(u64, io::ErrorKind)>>) -> io::Result<()> {
        let call = calls.fetch_add(1, Ordering::Relaxed) + 1;
        match *fail.lock().expect("no panic while the lock is held") {
            Some((at, kind)) if at == call => Err(kind.into()),
            _ => Ok(()),
        }
    }

    fn read(&self) -> io::Result<()> {
        Self::count(&self.reads, &self.fail_read)
    }

    fn write(&self) -> io::Result<()> {
        Self::count(&self.writes, &self.fail_write)
    }
}

/// Hands everything on to another store, but lets one read or write fail. Reads and writes are counted
/// over all files opened through it.
#[derive(Clone)]
pub struct FaultStore {
    inner: Arc<dyn Store>,
    plan: Arc<Plan>,
}

impl FaultStore {
    /// A store that does not fail yet.
    pub fn new(inner: Arc<dyn Store>) -> Self {
        let plan = Arc::default();
        Self { inner, plan }
    }

    /// Lets the `nth` read (from 1; of streams and at places alike) fail once.
    pub fn fail_read(self, nth: u64, kind: io::ErrorKind) -> Self {
        *self.plan.fail_read.lock().expect("no panic while the lock is held") = Some((nth, kind));
        self
    }

    /// Lets the `nth` write (from 1) fail once.
    pub fn fail_write(self, nth: u64, kind: io::ErrorKind) -> Self {
        *self.plan.fail_write.lock().expect("no panic while the lock is held") = Some((nth, kind));
        self
    }

    /// Reads so far.
    pub fn reads(&self) -> u64 {
        self.plan.reads.load(Ordering::Relaxed)
    }

    /// Writes so far.
    pub fn writes(&self) -> u64 {
        self.plan.writes.load(Ordering::Relaxed)
    }
}

struct Faulty<T: ?Sized> {
    plan: Arc<Plan>,
    inner: Box<T>,
}

impl Read for Faulty<dyn Source> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.plan.read()?;
        self.inner.read(into)
    }
}

impl Seek for Faulty<dyn Source> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.inner.seek(to)
    }
}

impl Source for Faulty<dyn Source> {
    fn size(&self) -> u64 {
        self.inner.size()
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        self.plan.read()?;
        self.inner.read_at(offset, into)
    }
}

impl Write for Faulty<dyn Sink> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.plan.write()?;
        self.inner.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl Sink for Faulty<dyn Sink> {
    fn publish(&mut self) -> Result<()> {
        self.inner.publish()
    }

    fn commit(self: Box<Self>) -> Result<()> {
        self.inner.commit()
    }
}

impl Store for FaultStore {
    fn schemes(&self) -> &'static [&'static str] {
        self.inner.schemes()
    }

    fn open(&self, path: &OsStr) -> Result<Box<dyn Source>> {
        let (plan, inner) = (self.plan.clone(), self.inner.open(path)?);
        Ok(Box::new(Faulty { plan, inner }))
    }

    fn stat(&self, path: &OsStr) -> Result<Stat> {
        self.inner.stat(path)
    }

    fn list_dir(&self, path: &OsStr) -> Result<Vec<DirEntry>> {
        self.inner.list_dir(path)
    }

    fn create(&self, path: &OsStr) -> Result<Box<dyn Sink>> {
        let (plan, inner) = (self.plan.clone(), self.inner.create(path)?);
        Ok(Box::new(Faulty { plan, inner }))
    }

    fn append(&self, path: &OsStr) -> Result<Box<dyn Write + Send>> {
        Err(StoreError::unsupported(path, "the fault store does not append"))
    }

    fn create_dir_all(&self, path: &OsStr) -> Result<()> {
        self.inner.create_dir_all(path)
    }

    fn remove(&self, path: &OsStr) -> Result<()> {
        self.inner.remove(path)
    }

    fn remove_dir_all(&self, path: &OsStr) -> Result<()> {
        self.inner.remove_dir_all(path)
    }

    fn rename(&self, from: &OsStr, to: &OsStr) -> Result<()> {
        self.inner.rename(from, to)
    }

    fn walk(&self, path: &OsStr) -> Result<Vec<OsString>> {
        self.inner.walk(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::StoreErrorKind;
    use crate::local::LocalStore;
    use crate::read::read_file;

    #[test]
    fn a_read_fails_once() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("a");
        std::fs::write(&path, b"abc").unwrap();
        let store = FaultStore::new(Arc::new(LocalStore)).fail_read(2, io::ErrorKind::TimedOut);
        let error = read_file(&store, path.as_os_str()).unwrap_err();
        assert_eq!(error.to_string(), format!("{}; timed out", path.display()));
        assert_eq!(read_file(&store, path.as_os_str()).unwrap(), b"abc");
        assert!(store.reads() >= 4);
    }

    #[test]
    fn a_full_disk_leaves_nothing_behind() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("out");
        let store = FaultStore::new(Arc::new(LocalStore)).fail_write(2, io::ErrorKind::StorageFull);
        let mut sink = store.create(path.as_os_str()).unwrap();
        sink.write_all(b"first").unwrap();
        let error = sink.write_all(b"second").unwrap_err();
        assert_eq!(StoreErrorKind::of(&error), StoreErrorKind::NoSpace);
        drop(sink);
        assert_eq!(store.writes(), 2);
        assert_eq!(std::fs::read_dir(root.path()).unwrap().count(), 0);
    }
}
