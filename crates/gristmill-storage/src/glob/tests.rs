use super::*;
use crate::local::LocalStore;

#[test]
fn one_part() {
    let yes: &[(&str, &str)] = &[
        ("*", "a"),
        ("*", ".hidden"),
        ("**", "ab"),
        ("a*c", "abbc"),
        ("a*b*c", "a-b-b-c"),
        ("?", "é"),
        ("?.txt", "日.txt"),
        ("[abc]", "b"),
        ("[a-c]x", "cx"),
        ("[!a]", "b"),
        ("[^a]", "b"),
        ("[]]", "]"),
        ("[a-]", "-"),
        ("[à-ü]", "é"),
        ("\\*", "*"),
        ("a\\[b", "a[b"),
        ("[", "["),
        ("[a", "[a"),
        ("{a,b}", "{a,b}"),
        ("*.tfrecord*", "x.tfrecord-00000-of-00002"),
        ("", ""),
        ("\\", "\\"),
        ("[\\]]", "]"),
        ("*é", "aéé"),
    ];
    for (pattern, name) in yes {
        assert!(matches(pattern.as_bytes(), name.as_bytes()), "{pattern} {name}");
    }
    let no: &[(&str, &str)] = &[
        ("a", "b"),
        ("?", ""),
        ("?", "ab"),
        ("[abc]", "d"),
        ("[!a]", "a"),
        ("{a,b}", "a"),
        ("\\*", "a"),
        ("a*c", "ab"),
        ("[]", "]"),
        ("*.jpg", "a.jpeg"),
        ("", "a"),
        ("a", ""),
    ];
    for (pattern, name) in no {
        assert!(!matches(pattern.as_bytes(), name.as_bytes()), "{pattern} {name}");
    }
    // No exponential search.
    assert!(!matches("*a".repeat(40).as_bytes(), &[b'a'; 39]));
    assert!(matches(b"?[!x]", &[0xff, 0xfe]));
    assert!(!matches(b"?", &[0xc3, 0x28]));
}

fn tree(files: &[&str]) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    for file in files {
        let path = root.path().join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, b"").unwrap();
    }
    root
}

fn find(root: &tempfile::TempDir, pattern: &str) -> Vec<String> {
    let prefix = format!("{}/", root.path().display());
    let pattern = format!("{prefix}{pattern}");
    let found = LocalStore.glob(OsStr::new(&pattern)).unwrap();
    let shorten = |path: OsString| path.to_str().unwrap().strip_prefix(&prefix).unwrap().to_owned();
    found.into_iter().map(shorten).collect()
}

#[test]
fn trees() {
    let root = tree(&[
        "x/b1.jpg",
        "x/b10.jpg",
        "x/b2.jpg",
        "y/b1.jpg",
        "y/.b.jpg",
        "z.jpg",
        "x/deep/b3.jpg",
        "{a,b}.txt",
        "a.txt",
        ".h/b1.jpg",
    ]);
    assert_eq!(find(&root, "*/b*.jpg"), [".h/b1.jpg", "x/b1.jpg", "x/b10.jpg", "x/b2.jpg", "y/b1.jpg"]);
    assert_eq!(find(&root, "y/*"), ["y/.b.jpg", "y/b1.jpg"]);
    assert_eq!(find(&root, "**/b3.jpg"), Vec::<String>::new());
    assert_eq!(find(&root, "x/**/b3.jpg"), ["x/deep/b3.jpg"]);
    assert_eq!(find(&root, "{a,b}.*"), ["{a,b}.txt"]);
    assert_eq!(find(&root, "[xy]/b1.jpg"), ["x/b1.jpg", "y/b1.jpg"]);
    assert_eq!(find(&root, "*/deep"), ["x/deep"]);
    assert_eq!(find(&root, "x/*/"), ["x/deep"]);
    assert_eq!(find(&root, "z.jpg/*"), Vec::<String>::new());
    assert_eq!(find(&root, "*/z/*"), Vec::<String>::new());
    assert_eq!(find(&root, "a.txt"), ["a.txt"]);
    assert_eq!(find(&root, "nothing"), Vec::<String>::new());
    assert_eq!(find(&root, "none/*"), Vec::<String>::new());
    assert_eq!(find(&root, "\\{a,b\\}.txt"), ["{a,b}.txt"]);
    let everything = LocalStore.glob(root.path().as_os_str()).unwrap();
    assert_eq!(everything, [root.path().as_os_str()]);
    let url = format!("file://{}/z*", root.path().display());
    let found = LocalStore.glob(OsStr::new(&url)).unwrap();
    assert_eq!(found, [OsString::from(format!("file://{}/z.jpg", root.path().display()))]);
}

#[test]
fn relative_patterns_begin_with_a_dot() {
    let found = LocalStore.glob(OsStr::new("Cargo.tom[l]")).unwrap();
    assert_eq!(found, [OsString::from("./Cargo.toml")]);
    assert_eq!(LocalStore.glob(OsStr::new("src/lib*.rs")).unwrap(), [OsString::from("src/lib.rs")]);
    assert!(LocalStore.glob(OsStr::new("")).unwrap().is_empty());
}

#[test]
#[cfg(unix)]
fn names_that_are_no_utf8() {
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    let root = tempfile::tempdir().unwrap();
    let name = OsStr::from_bytes(b"caf\xe9.jpg");
    if std::fs::write(root.path().join(name), b"x").is_err() {
        return;
    }
    let pattern = join(root.path().as_os_str(), OsStr::new("caf?.jpg"));
    let found = LocalStore.glob(&pattern).unwrap();
    assert_eq!(found, [join(root.path().as_os_str(), name)]);
    assert_eq!(crate::read::read_file(&LocalStore, &found[0]).unwrap(), b"x");
    let missing = OsString::from_vec(b"/no/\xff".to_vec());
    assert!(LocalStore.open(&missing).err().unwrap().to_string().ends_with("; No such file or directory"));
}

#[test]
fn patterns_and_indexes() {
    assert!(
        is_pattern(OsStr::new("/a/*.jpg"))
            && is_pattern(OsStr::new("a?"))
            && !is_pattern(OsStr::new("/a/b.jpg"))
    );
    let all = || ["a.tfrecord", "a.tfrecord.idx", "b.idx"].map(OsString::from).to_vec();
    let mut paths = all();
    hide_indexes(OsStr::new("*"), &mut paths);
    assert_eq!(paths, ["a.tfrecord"]);
    let mut paths = all();
    hide_indexes(OsStr::new("*.idx"), &mut paths);
    assert_eq!(paths, all());
}
