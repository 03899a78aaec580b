use super::*;
use crate::error::StoreErrorKind;

fn names(root: &tempfile::TempDir) -> Vec<String> {
    let entries = fs::read_dir(root.path()).unwrap();
    let mut names: Vec<_> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn appears_when_committed() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("out.tfrecord");
    fs::write(&path, b"old").unwrap();
    let mut file = AtomicFile::create(path.as_os_str()).unwrap();
    file.write_all(b"new").unwrap();
    file.flush().unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"old");
    let during = names(&root);
    assert_eq!(during.len(), 2);
    let middle = format!("out.tfrecord.{}.", std::process::id());
    assert!(during[1].starts_with(&middle) && during[1].ends_with(".tmp"), "{during:?}");
    file.commit().unwrap();
    assert_eq!((fs::read(&path).unwrap(), names(&root).len()), (b"new".to_vec(), 1));
}

#[test]
fn leaves_nothing_when_dropped() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("out");
    let mut file = AtomicFile::create(path.as_os_str()).unwrap();
    file.write_all(b"new").unwrap();
    drop(file);
    assert_eq!(names(&root), Vec::<String>::new());
}

#[test]
fn published_early_goes_on_and_stays() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("out");
    let mut file = AtomicFile::create(path.as_os_str()).unwrap();
    file.write_all(b"one").unwrap();
    file.publish().unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"one");
    file.write_all(b" two").unwrap();
    file.publish().unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"one two");
    drop(file);
    assert_eq!(names(&root), ["out"]);
}

#[test]
fn refuses_directories_and_missing_parents() {
    let root = tempfile::tempdir().unwrap();
    let error = AtomicFile::create(root.path().as_os_str()).unwrap_err();
    assert_eq!(error.kind, StoreErrorKind::IsDirectory);
    let path = root.path().join("no/out");
    let error = AtomicFile::create(path.as_os_str()).unwrap_err();
    assert_eq!(error.to_string(), format!("{}; No such file or directory", path.display()));
    let mut slash = root.path().join("new").into_os_string();
    slash.push("/");
    assert_eq!(AtomicFile::create(&slash).unwrap_err().kind, StoreErrorKind::IsDirectory);
}

#[test]
#[cfg(unix)]
fn devices_and_links() {
    let mut null = AtomicFile::create(OsStr::new("/dev/null")).unwrap();
    null.write_all(b"gone").unwrap();
    null.commit().unwrap();
    assert!(!fs::metadata("/dev/null").unwrap().is_file());

    let root = tempfile::tempdir().unwrap();
    let (real, link) = (root.path().join("real"), root.path().join("link"));
    fs::write(&real, b"old").unwrap();
    std::os::unix::fs::symlink("real", &link).unwrap();
    let mut file = AtomicFile::create(link.as_os_str()).unwrap();
    file.write_all(b"new").unwrap();
    file.commit().unwrap();
    assert_eq!(fs::read(&real).unwrap(), b"new");
    assert!(link.is_symlink());
}

#[test]
fn sweeps_what_dead_writers_left() {
    let root = tempfile::tempdir().unwrap();
    let alive = format!("a.{}.0123456789abcdef.tmp", std::process::id());
    // Above the largest process number of Linux.
    let dead = "a.tfrecord.4194999.0123456789abcdef.tmp";
    let others = ["b.tmp", "c.12.tmp", "d.x.0123456789abcdef.tmp", ".12.0123456789abcdef.tmp"];
    for name in others.into_iter().chain([alive.as_str(), dead]) {
        fs::write(root.path().join(name), b"").unwrap();
    }
    let directory = root.path().as_os_str();
    assert!(sweep(directory, Duration::from_secs(3600)).unwrap().is_empty());
    let removed = sweep(directory, Duration::ZERO).unwrap();
    if cfg!(target_os = "linux") {
        assert_eq!(removed, [dead]);
        assert!(names(&root).contains(&alive));
    }
    assert!(others.iter().all(|name| root.path().join(name).exists()));
}
