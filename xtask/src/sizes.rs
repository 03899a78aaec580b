//! No source file grows beyond one concern: a limit in lines, tests and tables of data apart.

use std::fs;
use std::io;
use std::path::Path;

/// The most lines a source file may have.
const LIMIT: usize = 420;

/// Folders below the root that hold sources.
const FOLDERS: &[&str] = &["crates", "xtask", "python", "tools", "bench", "examples", "fuzz"];

const EXTENSIONS: &[&str] = &["rs", "py", "c", "h", "sh"];

/// Folders that are never looked into.
const SKIPPED: &[&str] = &["target", "__pycache__", "corpus"];

/// Says which files below `root` have too many lines.
///
/// # Errors
///
/// When a folder or a file cannot be read, or `root` has no crates.
pub(crate) fn check(root: &Path) -> Result<Vec<String>, String> {
    if !root.join("crates").is_dir() {
        return Err(format!("{}: there are no crates here", root.display()));
    }
    let mut problems = Vec::new();
    for folder in FOLDERS {
        let path = root.join(folder);
        if path.is_dir() {
            walk(root, &path, &mut problems).map_err(|error| format!("{}: {error}", path.display()))?;
        }
    }
    problems.sort();
    Ok(problems)
}

fn walk(root: &Path, folder: &Path, problems: &mut Vec<String>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.starts_with('.') || SKIPPED.contains(&name.as_str()) {
            continue;
        }
        if path.is_dir() {
            walk(root, &path, problems)?;
            continue;
        }
        let short = path.strip_prefix(root).unwrap_or(&path);
        if !is_limited(short) {
            continue;
        }
        let lines = fs::read(&path)?.iter().filter(|byte| **byte == b'\n').count();
        if lines > LIMIT {
            problems.push(format!("{}: {lines} lines, the limit is {LIMIT}", short.display()));
        }
    }
    Ok(())
}

/// Whether the limit holds for a file, given its path from the root: sources, except tests and tables of data.
fn is_limited(path: &Path) -> bool {
    let extension = path.extension().unwrap_or_default().to_string_lossy();
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let in_tests = path.components().any(|part| part.as_os_str() == "tests");
    EXTENSIONS.contains(&extension.as_ref())
        && !in_tests
        && stem != "tests"
        && stem != "tables"
        && !stem.ends_with("_tables")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_limited_and_tests_and_tables_are_not() {
        for path in
            ["crates/a/src/lib.rs", "crates/a/csrc/shim.c", "python/gristmill/data.py", "tools/demo.py"]
        {
            assert!(is_limited(Path::new(path)), "{path}");
        }
        for path in [
            "crates/a/src/frame/tests.rs",
            "crates/a/tests/all.rs",
            "tests/python/test_x.py",
            "crates/a/src/tables.rs",
            "crates/a/src/crc_tables.rs",
            "crates/a/src/data.json",
        ] {
            assert!(!is_limited(Path::new(path)), "{path}");
        }
    }

    #[test]
    fn a_long_file_is_named_with_its_lines() {
        let root = std::env::temp_dir().join(format!("xtask-sizes-{}", std::process::id()));
        let folder = root.join("crates/a/src");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("long.rs"), "\n".repeat(LIMIT + 1)).unwrap();
        fs::write(folder.join("short.rs"), "\n".repeat(LIMIT)).unwrap();
        let found = check(&root).unwrap();
        fs::remove_dir_all(&root).unwrap();
        assert!(check(&root).is_err(), "nothing to look at");
        assert_eq!(found, ["crates/a/src/long.rs: 421 lines, the limit is 420"]);
    }
}
