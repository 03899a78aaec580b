//! Which files a job works on.

use std::ffi::{OsStr, OsString};

use gristmill_storage::{Store, Stores, hide_indexes, is_pattern};
use gristmill_types::{Error, Kind, Result};

use crate::out::local;

/// Endings of files that lie beside record files and are none.
const OTHER_ENDINGS: &[&str] = &[".idx", ".json", ".jsonl", ".csv", ".tsv", ".txt", ".md", ".tmp"];

/// The files behind what a user gave: a path stands for itself, a pattern for what it matches (without `.idx`
/// files), a directory for the files in it and below that are not hidden and do not end in `.idx`, `.json`, `.jsonl`,
/// `.csv`, `.tsv`, `.txt`, `.md` or `.tmp`. In the order given, each input's own files sorted by bytes.
///
/// # Errors
/// `NotFound` for a path that is not there, a pattern that matches nothing and a directory without such files;
/// `InvalidArgument` without inputs and for an empty name; what the store reports.
pub fn expand(inputs: &[OsString]) -> Result<Vec<OsString>> {
    if inputs.is_empty() {
        return Err(Error::invalid("expected at least one file, found none"));
    }
    let stores = Stores::default();
    let mut files = Vec::new();
    for input in inputs {
        check_name(input, "an input file")?;
        let store = &**stores.of(input)?;
        let found = expand_one(store, input)?;
        if found.is_empty() {
            let message = format!("no record file in the directory {}", input.to_string_lossy());
            return Err(Error::new(Kind::NotFound, message));
        }
        files.extend(found);
    }
    Ok(files)
}

/// Refuses a name that has no characters.
///
/// # Errors
/// `InvalidArgument`.
pub(crate) fn check_name(name: &OsStr, what: &str) -> Result<()> {
    match name.is_empty() {
        true => Err(Error::invalid(format!("the name of {what} is empty"))),
        false => Ok(()),
    }
}

/// Refuses pipes and devices, which cannot be read twice.
///
/// # Errors
/// `InvalidArgument`.
pub fn check_twice(files: &[OsString]) -> Result<()> {
    let once = |file: &&OsString| std::fs::metadata(local(file)).is_ok_and(|meta| !meta.is_file());
    match files.iter().find(once) {
        Some(file) => Err(Error::invalid("expected a file that can be read twice, found a pipe or a device")
            .in_file(shown(file))),
        None => Ok(()),
    }
}

fn expand_one(store: &dyn Store, input: &OsStr) -> Result<Vec<OsString>> {
    match store.stat(input) {
        Ok(stat) if stat.is_dir => {
            let mut files = store.walk(input)?;
            files.retain(|file| is_record_file(input, file));
            Ok(files)
        }
        Ok(_) => Ok(vec![input.to_owned()]),
        Err(_) if is_pattern(input) => {
            let mut files = store.glob(input)?;
            hide_indexes(input, &mut files);
            files.retain(|file| !store.is_dir(file));
            if files.is_empty() {
                let message = format!("no files matched pattern: {}", input.to_string_lossy());
                return Err(Error::new(Kind::NotFound, message)
                    .hint("quote the pattern if the shell should not expand it"));
            }
            Ok(files)
        }
        Err(error) => Err(error.into()),
    }
}

/// Whether a file found below a directory counts as a record file by its name.
fn is_record_file(directory: &OsStr, file: &OsStr) -> bool {
    let inner = &file.as_encoded_bytes()[directory.len().min(file.len())..];
    let hidden = inner.split(|&b| b == b'/').any(|part| part.starts_with(b"."));
    let other = OTHER_ENDINGS.iter().any(|ending| inner.ends_with(ending.as_bytes()));
    !hidden && !other
}

/// The bytes of all files together.
pub(crate) fn total_bytes(files: &[OsString]) -> Result<u64> {
    let stores = Stores::default();
    let mut total = 0u64;
    for file in files {
        total = total.saturating_add(stores.of(file)?.size(file)?);
    }
    Ok(total)
}

/// A number of bytes with its noun.
pub(crate) fn bytes(count: u64) -> String {
    format!("{count} byte{}", if count == 1 { "" } else { "s" })
}

/// A path in a report.
pub(crate) fn shown(path: &OsStr) -> String {
    path.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn paths_patterns_and_directories() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name).into_os_string();
        fs::create_dir(dir.path().join("sub")).unwrap();
        for name in
            ["b.rec", "a.rec", "a.rec.idx", "dataset.json", ".hidden", "a[1].rec", "sub/c.rec", "x.tmp"]
        {
            fs::write(at(name), b"").unwrap();
        }
        let dot = dir.path().as_os_str().to_owned();
        assert_eq!(expand(&[dot]).unwrap(), [at("a.rec"), at("a[1].rec"), at("b.rec"), at("sub/c.rec")]);
        assert_eq!(expand(&[at("*.rec*")]).unwrap(), [at("a.rec"), at("a[1].rec"), at("b.rec")]);
        assert_eq!(expand(&[at("b.rec"), at("a.rec")]).unwrap(), [at("b.rec"), at("a.rec")]);
        assert_eq!(expand(&[at("a[1].rec")]).unwrap(), [at("a[1].rec")]);
        let kind = |input: OsString| expand(&[input]).unwrap_err().kind();
        assert_eq!(kind(at("none")), Kind::NotFound);
        assert_eq!(kind(at("*.none")), Kind::NotFound);
        fs::create_dir(dir.path().join("empty")).unwrap();
        assert_eq!(kind(at("empty")), Kind::NotFound);
        assert_eq!(expand(&[]).unwrap_err().kind(), Kind::InvalidArgument);
        assert_eq!(kind(OsString::new()), Kind::InvalidArgument);
    }
}
