//! What every store must do, whatever it serves. A new store is one test at the end of this file.

#![allow(clippy::unwrap_used, reason = "a test that unwraps an error fails, which is what it should do")]

use gristmill_storage::{FaultStore, LocalStore, Source, Store, StoreErrorKind, read_file};
use std::ffi::{OsStr, OsString};
use std::io::{Read, Seek, SeekFrom, Write};
use std::sync::Arc;

/// A store and an empty directory of it.
struct Place<'a> {
    store: &'a dyn Store,
    root: &'a OsStr,
}

impl Place<'_> {
    fn at(&self, name: &str) -> OsString {
        let mut path = self.root.to_owned();
        path.push("/");
        path.push(name);
        path
    }

    fn put(&self, name: &str, bytes: &[u8]) {
        let mut sink = self.store.create(&self.at(name)).unwrap();
        sink.write_all(bytes).unwrap();
        sink.commit().unwrap();
    }

    fn get(&self, name: &str) -> Vec<u8> {
        read_file(self.store, &self.at(name)).unwrap()
    }

    fn names(&self, directory: &str) -> Vec<(String, bool)> {
        let entries = self.store.list_dir(&self.at(directory)).unwrap();
        entries.into_iter().map(|e| (e.name.into_string().unwrap(), e.is_dir)).collect()
    }

    fn glob(&self, pattern: &str) -> Vec<OsString> {
        self.store.glob(&self.at(pattern)).unwrap()
    }
}

/// Asserts that something fails in one way and names the path as it was given.
fn refuses<T>(result: gristmill_storage::Result<T>, kind: StoreErrorKind, path: &OsStr) {
    let error = result.map(drop).unwrap_err();
    assert_eq!((error.kind, error.path.as_os_str()), (kind, path), "{error}");
}

/// The whole suite over an empty directory of a store.
fn conformance(store: &dyn Store, root: &OsStr) {
    let place = Place { store, root };
    files_come_back(&place);
    ranges_are_read(&place);
    directories_are_listed(&place);
    patterns_are_found(&place);
    what_is_not_there_is_said(&place);
    writing_is_atomic(&place);
    renaming_replaces(&place);
    removing_removes(&place);
}

fn files_come_back(p: &Place<'_>) {
    let bytes: Vec<u8> = (0..100_000u32).flat_map(u32::to_le_bytes).collect();
    for (name, bytes) in [("empty", &[][..]), ("one", b"x"), ("large", &bytes), ("späce & ünicode", b"u")] {
        p.put(name, bytes);
        assert_eq!(p.get(name), bytes, "{name}");
        let stat = p.store.stat(&p.at(name)).unwrap();
        assert_eq!((stat.bytes, stat.is_dir), (bytes.len() as u64, false), "{name}");
        assert_eq!(p.store.size(&p.at(name)).unwrap(), bytes.len() as u64);
        assert!(p.store.exists(&p.at(name)) && !p.store.is_dir(&p.at(name)));
    }
    p.put("one", b"another");
    assert_eq!(p.get("one"), b"another", "a file is replaced as a whole");
    assert_eq!(p.store.copy(&p.at("one"), &p.at("copy")).unwrap(), 7);
    assert_eq!((p.get("copy"), p.get("one")), (b"another".to_vec(), b"another".to_vec()));
    match p.store.append(&p.at("copy")) {
        Ok(mut end) => {
            end.write_all(b"+").unwrap();
            end.flush().unwrap();
            drop(end);
            assert_eq!(p.get("copy"), b"another+");
        }
        Err(error) => assert_eq!(error.kind, StoreErrorKind::Unsupported),
    }
}

/// Bytes from `offset` on until `into` is full or the file ends.
fn read_range(source: &dyn Source, offset: u64, into: &mut [u8]) -> usize {
    let mut got = 0;
    while got < into.len() {
        match source.read_at(offset + got as u64, &mut into[got..]).unwrap() {
            0 => break,
            n => got += n,
        }
    }
    got
}

fn ranges_are_read(p: &Place<'_>) {
    p.put("ranges", b"0123456789");
    let mut source = p.store.open(&p.at("ranges")).unwrap();
    assert_eq!(source.size(), 10);
    let mut four = [0; 4];
    assert_eq!((read_range(&*source, 3, &mut four), &four), (4, b"3456"));
    assert_eq!((read_range(&*source, 8, &mut four), &four[..2]), (2, &b"89"[..]), "the end cuts a range");
    assert_eq!(read_range(&*source, 10, &mut four), 0);
    assert_eq!(read_range(&*source, 1 << 40, &mut four), 0, "behind the end there is nothing");
    assert_eq!(read_range(&*source, 0, &mut []), 0);

    // The stream has a position of its own.
    source.read_exact(&mut four).unwrap();
    assert_eq!(&four, b"0123");
    assert_eq!(read_range(&*source, 0, &mut four), 4);
    source.read_exact(&mut four).unwrap();
    assert_eq!(&four, b"4567");
    assert_eq!(source.seek(SeekFrom::End(-1)).unwrap(), 9);
    let mut rest = String::new();
    source.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "9");
    assert_eq!(source.seek(SeekFrom::Start(2)).unwrap(), 2);
    source.read_exact(&mut four).unwrap();
    assert_eq!(&four, b"2345");

    // Several readers at once.
    std::thread::scope(|s| {
        for offset in 0..4u8 {
            let source = &source;
            s.spawn(move || {
                let mut two = [0; 2];
                for _ in 0..50 {
                    assert_eq!(read_range(&**source, u64::from(offset), &mut two), 2);
                    assert_eq!(two, [b'0' + offset, b'1' + offset]);
                }
            });
        }
    });
}

fn directories_are_listed(p: &Place<'_>) {
    p.store.create_dir_all(&p.at("list/b/deep")).unwrap();
    p.store.create_dir_all(&p.at("list/b/deep")).unwrap();
    for name in ["list/b10", "list/b2", "list/.hidden", "list/B", "list/b/inner", "list/b/deep/er"] {
        p.put(name, name.as_bytes());
    }
    let expect = [(".hidden", false), ("B", false), ("b", true), ("b10", false), ("b2", false)];
    assert_eq!(p.names("list"), expect.map(|(n, d)| (n.to_string(), d)), "sorted by bytes, hidden ones too");
    assert!(p.store.is_dir(&p.at("list/b")) && p.store.exists(&p.at("list/b")));
    let stat = p.store.stat(&p.at("list/b")).unwrap();
    assert_eq!((stat.bytes, stat.is_dir), (0, true));
    let files = ["list/.hidden", "list/B", "list/b/deep/er", "list/b/inner", "list/b10", "list/b2"];
    assert_eq!(p.store.walk(&p.at("list")).unwrap(), files.map(|n| p.at(n)));
}

fn patterns_are_found(p: &Place<'_>) {
    assert_eq!(p.glob("list/b?"), [p.at("list/b2")]);
    assert_eq!(p.glob("list/b*"), ["list/b", "list/b10", "list/b2"].map(|n| p.at(n)));
    assert_eq!(p.glob("*/b/[hi]*"), [p.at("list/b/inner")]);
    assert_eq!(p.glob("list/b/deep/er"), [p.at("list/b/deep/er")]);
    assert_eq!(p.glob("list/none*"), Vec::<OsString>::new());
    assert_eq!(p.glob("nowhere/*"), Vec::<OsString>::new());
}

fn what_is_not_there_is_said(p: &Place<'_>) {
    let (no, dir, file) = (p.at("no"), p.at("list/b"), p.at("list/b2"));
    refuses(p.store.open(&no), StoreErrorKind::NotFound, &no);
    refuses(p.store.stat(&no), StoreErrorKind::NotFound, &no);
    refuses(p.store.size(&no), StoreErrorKind::NotFound, &no);
    refuses(p.store.list_dir(&no), StoreErrorKind::NotFound, &no);
    refuses(p.store.walk(&no), StoreErrorKind::NotFound, &no);
    refuses(p.store.remove(&no), StoreErrorKind::NotFound, &no);
    refuses(p.store.remove_dir_all(&no), StoreErrorKind::NotFound, &no);
    refuses(p.store.rename(&no, &p.at("to")), StoreErrorKind::NotFound, &no);
    assert!(!p.store.exists(&no) && !p.store.is_dir(&no) && !p.store.exists(&p.at("to")));
    refuses(p.store.open(&dir), StoreErrorKind::IsDirectory, &dir);
    refuses(p.store.size(&dir), StoreErrorKind::IsDirectory, &dir);
    refuses(p.store.create(&dir), StoreErrorKind::IsDirectory, &dir);
    refuses(p.store.remove(&dir), StoreErrorKind::IsDirectory, &dir);
    refuses(p.store.list_dir(&file), StoreErrorKind::NotDirectory, &file);
}

fn writing_is_atomic(p: &Place<'_>) {
    p.store.create_dir_all(&p.at("atomic")).unwrap();
    let name = p.at("atomic/file");

    // Given up: nothing was ever there.
    let mut sink = p.store.create(&name).unwrap();
    sink.write_all(b"half").unwrap();
    assert!(!p.store.exists(&name), "a file appears when it is whole");
    drop(sink);
    assert!(p.names("atomic").is_empty());

    // Given up over an older file: that stays.
    p.put("atomic/file", b"old");
    let mut sink = p.store.create(&name).unwrap();
    sink.write_all(b"half").unwrap();
    assert_eq!(p.get("atomic/file"), b"old");
    drop(sink);
    assert_eq!(p.get("atomic/file"), b"old");

    // Published: what was written so far, and more later.
    let mut sink = p.store.create(&name).unwrap();
    sink.write_all(b"first").unwrap();
    sink.flush().unwrap();
    sink.publish().unwrap();
    assert_eq!(p.get("atomic/file"), b"first");
    sink.write_all(b" second").unwrap();
    sink.commit().unwrap();
    assert_eq!(p.get("atomic/file"), b"first second");
    assert_eq!(p.names("atomic"), [("file".to_string(), false)], "no other file is left");

    // A reader that opened the older file reads it to its end.
    let mut open = p.store.open(&name).unwrap();
    p.put("atomic/file", b"replaced");
    let mut text = String::new();
    open.read_to_string(&mut text).unwrap();
    assert_eq!((text.as_str(), p.get("atomic/file").as_slice()), ("first second", &b"replaced"[..]));
}

fn renaming_replaces(p: &Place<'_>) {
    p.store.create_dir_all(&p.at("rename/d")).unwrap();
    p.put("rename/a", b"a");
    p.put("rename/b", b"bb");
    p.put("rename/d/f", b"f");
    p.store.rename(&p.at("rename/a"), &p.at("rename/b")).unwrap();
    assert_eq!(p.get("rename/b"), b"a");
    p.store.rename(&p.at("rename/d"), &p.at("rename/e")).unwrap();
    assert_eq!(p.names("rename"), [("b".to_string(), false), ("e".to_string(), true)]);
    assert_eq!(p.get("rename/e/f"), b"f");
}

fn removing_removes(p: &Place<'_>) {
    p.store.remove(&p.at("rename/b")).unwrap();
    assert!(!p.store.exists(&p.at("rename/b")));
    p.store.remove_dir_all(&p.at("rename")).unwrap();
    assert!(!p.store.exists(&p.at("rename/e/f")) && !p.store.exists(&p.at("rename")));
    p.put("again", b"1");
    p.store.remove(&p.at("again")).unwrap();
    p.put("again", b"2");
    assert_eq!(p.get("again"), b"2");
}

#[test]
fn local_files() {
    let root = tempfile::tempdir().unwrap();
    conformance(&LocalStore, root.path().as_os_str());
}

#[test]
fn local_files_by_url() {
    let root = tempfile::tempdir().unwrap();
    let mut url = OsString::from("file://");
    url.push(root.path());
    conformance(&LocalStore, &url);
}

#[test]
fn a_store_that_does_not_fail_yet() {
    let root = tempfile::tempdir().unwrap();
    conformance(&FaultStore::new(Arc::new(LocalStore)), root.path().as_os_str());
}
