//! Whole files.

use std::ffi::OsStr;
use std::io::Read;

use crate::error::{At, Result, StoreError, StoreErrorKind};
use crate::store::Store;

/// Reads a whole file.
///
/// # Errors
/// `NotFound`, `IsDirectory`, `PermissionDenied`, `Other` (also when memory does not hold the file).
pub fn read_file(store: &dyn Store, path: &OsStr) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    read_file_into(store, path, &mut bytes)?;
    Ok(bytes)
}

/// Reads a whole file into a vector whose memory is used again; gives the bytes read.
///
/// # Errors
/// As [`read_file`].
pub fn read_file_into(store: &dyn Store, path: &OsStr, into: &mut Vec<u8>) -> Result<usize> {
    into.clear();
    let mut source = store.open(path)?;
    let size = usize::try_from(source.size()).unwrap_or(usize::MAX);
    // One byte more than the file has, so that the read that finds the end needs no further room. The
    // size is only a guess: some files (of /proc, pipes) say 0, others grow.
    if into.try_reserve_exact(size.saturating_add(1)).is_err() {
        let message = format!("the file's {size} bytes do not fit into memory");
        return Err(StoreError::new(StoreErrorKind::Other, path, message));
    }
    source.read_to_end(into).at(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::local::LocalStore;

    #[test]
    fn files_directories_and_nothing() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("a.bin");
        std::fs::write(&path, [7; 5000]).unwrap();
        let mut bytes = vec![1; 3];
        assert_eq!(read_file_into(&LocalStore, path.as_os_str(), &mut bytes).unwrap(), 5000);
        assert_eq!(bytes, [7; 5000]);
        std::fs::write(&path, b"").unwrap();
        assert_eq!(read_file(&LocalStore, path.as_os_str()).unwrap(), b"");

        let error = read_file(&LocalStore, root.path().as_os_str()).unwrap_err();
        assert_eq!(error.kind, StoreErrorKind::IsDirectory);
        assert_eq!(error.to_string(), format!("{}; Is a directory", root.path().display()));
        let error = read_file(&LocalStore, OsStr::new("/no/such.jpg")).unwrap_err();
        assert_eq!(error.kind, StoreErrorKind::NotFound);
        assert_eq!(error.to_string(), "/no/such.jpg; No such file or directory");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn files_that_do_not_know_their_size() {
        assert!(!read_file(&LocalStore, OsStr::new("/proc/self/status")).unwrap().is_empty());
    }
}
