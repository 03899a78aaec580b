use std::io::{Read, Seek, SeekFrom, Write};

use super::*;
use crate::error::StoreErrorKind;
use crate::store::join;

fn at(root: &tempfile::TempDir, name: &str) -> OsString {
    join(root.path().as_os_str(), OsStr::new(name))
}

fn put(path: &OsStr, bytes: &[u8]) {
    let mut sink = LocalStore.create(path).unwrap();
    sink.write_all(bytes).unwrap();
    sink.commit().unwrap();
}

#[test]
fn streams_and_reads_at_places() {
    let root = tempfile::tempdir().unwrap();
    let path = at(&root, "a");
    put(&path, b"0123456789");
    let mut source = LocalStore.open(&path).unwrap();
    let mut four = [0; 4];
    assert_eq!((source.size(), source.read_at(3, &mut four).unwrap(), &four), (10, 4, b"3456"));
    source.seek(SeekFrom::Start(8)).unwrap();
    assert_eq!((source.read(&mut four).unwrap(), &four[..2]), (2, &b"89"[..]));
    assert_eq!(source.read_at(10, &mut four).unwrap(), 0);
    // How much of a file is in memory is the system's affair; what comes is the same.
    let mut bytes = [b'-'; 6];
    let cached = source.read_cached(5, &mut bytes);
    assert!(
        cached <= 5 && bytes[..cached] == b"56789"[..cached] && bytes[cached..].iter().all(|&b| b == b'-')
    );
    assert_eq!(source.read_cached(10, &mut bytes), 0);
    assert_eq!(LocalStore.size(&path).unwrap(), 10);
    let mut url = OsString::from("file://");
    url.push(&path);
    assert_eq!(LocalStore.size(&url).unwrap(), 10);
}

#[test]
fn directories() {
    let root = tempfile::tempdir().unwrap();
    let deep = at(&root, "x/y");
    LocalStore.create_dir_all(&deep).unwrap();
    LocalStore.create_dir_all(&deep).unwrap();
    for name in ["b10", "b2", ".h", "x/q", "x/y/z"] {
        put(&at(&root, name), b"12");
    }
    let names: Vec<_> = LocalStore.list_dir(root.path().as_os_str()).unwrap();
    let names: Vec<_> = names.iter().map(|e| (e.name.to_str().unwrap(), e.is_dir)).collect();
    assert_eq!(names, [(".h", false), ("b10", false), ("b2", false), ("x", true)]);
    let files = LocalStore.walk(root.path().as_os_str()).unwrap();
    assert_eq!(files, [".h", "b10", "b2", "x/q", "x/y/z"].map(|name| at(&root, name)));
    let mut url = OsString::from("file://");
    url.push(root.path());
    assert!(LocalStore.walk(&url).unwrap()[0].to_str().unwrap().starts_with("file:///"));
    assert!(LocalStore.is_dir(&deep) && LocalStore.exists(&deep) && !LocalStore.is_dir(&at(&root, "b2")));
    assert_eq!(LocalStore.stat(&deep).unwrap().bytes, 0);

    let kind = |error: StoreError| error.kind;
    assert_eq!(LocalStore.open(&deep).map(drop).map_err(kind), Err(StoreErrorKind::IsDirectory));
    assert_eq!(LocalStore.create(&deep).map(drop).map_err(kind), Err(StoreErrorKind::IsDirectory));
    assert_eq!(LocalStore.size(&deep).map_err(kind), Err(StoreErrorKind::IsDirectory));
    assert_eq!(LocalStore.remove(&deep).map_err(kind), Err(StoreErrorKind::IsDirectory));
    assert_eq!(LocalStore.remove(&at(&root, "no")).map_err(kind), Err(StoreErrorKind::NotFound));
    assert_eq!(LocalStore.create(&at(&root, "no/f")).map(drop).map_err(kind), Err(StoreErrorKind::NotFound));
    let file = at(&root, "b2");
    assert_eq!(LocalStore.walk(&file).unwrap_err().message, "Not a directory");

    LocalStore.remove_dir_all(&at(&root, "x")).unwrap();
    assert!(!LocalStore.exists(&deep));
}

#[test]
#[cfg(unix)]
fn links_are_followed_but_not_in_circles() {
    let root = tempfile::tempdir().unwrap();
    LocalStore.create_dir_all(&at(&root, "d")).unwrap();
    put(&at(&root, "d/f"), b"");
    std::os::unix::fs::symlink(root.path(), root.path().join("d/loop")).unwrap();
    std::os::unix::fs::symlink("nowhere", root.path().join("dangling")).unwrap();
    std::os::unix::fs::symlink("d", root.path().join("e")).unwrap();
    let files = LocalStore.walk(root.path().as_os_str()).unwrap();
    assert_eq!(files, [at(&root, "d/f"), at(&root, "e/f")]);
    let entries = LocalStore.list_dir(root.path().as_os_str()).unwrap();
    let dirs: Vec<_> = entries.iter().map(|e| e.is_dir).collect();
    assert_eq!(dirs, [true, false, true]);
}

#[test]
fn rename_copy_append() {
    let root = tempfile::tempdir().unwrap();
    let (a, b, c) = (at(&root, "a"), at(&root, "b"), at(&root, "c"));
    put(&a, b"aa");
    put(&b, b"bbb");
    LocalStore.rename(&a, &b).unwrap();
    assert!(!LocalStore.exists(&a));
    assert_eq!(LocalStore.copy(&b, &c).unwrap(), 2);
    LocalStore.append(&c).unwrap().write_all(b"+").unwrap();
    assert_eq!(crate::read::read_file(&LocalStore, &c).unwrap(), b"aa+");
    let error = LocalStore.rename(&a, &c).unwrap_err();
    assert_eq!((error.kind, error.path), (StoreErrorKind::NotFound, a));
}
