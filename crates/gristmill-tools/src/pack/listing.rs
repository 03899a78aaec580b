//! The files to be packed, in memory that a million of them fits into, and the walk over a tree of class folders.

use std::ffi::{OsStr, OsString};
use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};

use gristmill_types::hash::Fnv;
use gristmill_types::{Error, Kind, Result};

use super::manifest::Cells;
use super::report::{Named, count, shown};
use crate::progress::Progress;

/// A class: what is stored as `label` and as `label_name`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Class {
    pub(crate) label: i64,
    pub(crate) name: Vec<u8>,
}

/// All files, in the order of the source: columns instead of one allocation a file.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    /// What relative paths are relative to.
    pub(crate) root: PathBuf,
    /// `folder`, `csv`, `tsv` or `jsonl`.
    pub(crate) kind: &'static str,
    /// Whether `label_name` comes from the source (else it is the label in digits).
    pub(crate) named: bool,
    pub(crate) classes: Vec<Class>,
    /// Files beside the images: not packed, named in the report.
    pub(crate) not_images: Named,
    /// Further columns of a manifest.
    pub(crate) cells: Cells,
    paths: Vec<u8>,
    ends: Vec<u64>,
    class: Vec<u32>,
    sizes: Vec<u64>,
    /// The latest time at which a file or its entry changed, in nanoseconds of the epoch.
    pub(crate) newest: i128,
    times: Fnv,
}

impl Listing {
    /// An empty listing.
    pub(crate) fn new(root: &Path, kind: &'static str) -> Self {
        Self { root: root.to_owned(), kind, ..Self::default() }
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The path as the source has it.
    pub(crate) fn path(&self, i: usize) -> &[u8] {
        let start = if i == 0 { 0 } else { self.ends[i - 1] as usize };
        &self.paths[start..self.ends[i] as usize]
    }

    /// The path to open.
    pub(crate) fn full_path(&self, i: usize) -> PathBuf {
        self.root.join(os(self.path(i)))
    }

    pub(crate) fn class(&self, i: usize) -> usize {
        self.class[i] as usize
    }

    /// Bytes of the file when it was listed; 0 where there was none.
    pub(crate) fn size(&self, i: usize) -> u64 {
        self.sizes[i]
    }

    /// Bytes of all files.
    pub(crate) fn bytes(&self) -> u64 {
        self.sizes.iter().fold(0, |sum, &n| sum.saturating_add(n))
    }

    /// Adds a file; `meta` is `None` where it cannot be looked at.
    pub(crate) fn push(&mut self, path: &[u8], class: u32, meta: Option<&Metadata>) {
        self.paths.extend_from_slice(path);
        self.ends.push(self.paths.len() as u64);
        self.class.push(class);
        self.sizes.push(meta.map_or(0, Metadata::len));
        let (modified, changed) = meta.map_or((0, 0), times);
        self.newest = self.newest.max(modified).max(changed);
        self.times.bytes(&(modified as u64).to_le_bytes());
    }

    /// Bytes of memory that the files take, about.
    pub(crate) fn memory(&self) -> u64 {
        let columns = size_of::<u64>() * 2 + size_of::<u32>();
        (self.paths.len() + self.len() * columns + self.cells.raw().len()) as u64
    }

    /// Replaces the classes' numbers, for sources whose classes are known only at the end.
    pub(crate) fn renumber(&mut self, new: &[u32]) {
        self.class.iter_mut().for_each(|class| *class = new[*class as usize]);
    }

    /// What is packed: paths, labels, sizes and cells, but neither times nor places, so that a copied source is the
    /// same.
    pub(crate) fn identity(&self) -> String {
        let mut hash = Fnv::default();
        for class in &self.classes {
            hash.bytes(&class.label.to_le_bytes());
            hash.field(&class.name);
        }
        for i in 0..self.len() {
            hash.field(self.path(i));
            hash.bytes(&self.class[i].to_le_bytes());
            hash.bytes(&self.sizes[i].to_le_bytes());
        }
        self.cells.hash_into(&mut hash);
        format!("{:016x}", hash.value())
    }

    /// A hash of all modification times.
    pub(crate) fn times(&self) -> String {
        format!("{:016x}", self.times.value())
    }
}

/// Times of modification and of the last change of the entry, in nanoseconds of the epoch.
#[cfg(unix)]
pub(crate) fn times(meta: &Metadata) -> (i128, i128) {
    use std::os::unix::fs::MetadataExt;
    let nanos = |seconds: i64, nanos: i64| i128::from(seconds) * 1_000_000_000 + i128::from(nanos);
    (nanos(meta.mtime(), meta.mtime_nsec()), nanos(meta.ctime(), meta.ctime_nsec()))
}

#[cfg(not(unix))]
pub(crate) fn times(meta: &Metadata) -> (i128, i128) {
    let modified = meta.modified().ok().and_then(|t| t.duration_since(std::time::UNIX_EPOCH).ok());
    let nanos = modified.map_or(0, |t| t.as_nanos() as i128);
    (nanos, nanos)
}

/// Bytes of a name, with `/` between its parts.
pub(crate) fn name_bytes(name: &OsStr) -> &[u8] {
    name.as_encoded_bytes()
}

/// A path out of its bytes.
#[cfg(unix)]
pub(crate) fn os(bytes: &[u8]) -> &OsStr {
    std::os::unix::ffi::OsStrExt::from_bytes(bytes)
}

/// A path out of its bytes.
#[cfg(not(unix))]
pub(crate) fn os(bytes: &[u8]) -> PathBuf {
    PathBuf::from(String::from_utf8_lossy(bytes).into_owned())
}

/// An error of the system about a path of the source.
pub(crate) fn io_error(path: &Path, error: &std::io::Error) -> Error {
    gristmill_storage::StoreError::from_io(path.as_os_str(), error).into()
}

/// Whether a name ends as image files do.
pub(crate) fn has_image_name(name: &[u8]) -> bool {
    super::inspect::format_of_name(name).is_some()
}

/// The names in a folder in order, without hidden ones.
fn names(folder: &Path) -> Result<Vec<OsString>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(|e| io_error(folder, &e))? {
        let name = entry.map_err(|e| io_error(folder, &e))?.file_name();
        if !name.as_encoded_bytes().starts_with(b".") {
            names.push(name);
        }
    }
    names.sort_unstable_by(|a, b| a.as_encoded_bytes().cmp(b.as_encoded_bytes()));
    Ok(names)
}

/// Lists a tree `SOURCE/CLASS/…/IMAGE`: the sorted names of the folders directly under the source are the classes, and
/// their places are the labels; images may lie in folders within; hidden files and folders are passed over.
pub(crate) fn tree(source: &Path, progress: &dyn Progress) -> Result<Listing> {
    progress.phase("listing", None);
    let mut listing = Listing { named: true, ..Listing::new(source, "folder") };
    let mut folders = Vec::new();
    for name in names(source)? {
        let path = source.join(&name);
        match fs::metadata(&path) {
            Ok(meta) if meta.is_dir() => folders.push(name),
            _ => listing.not_images.add(shown(name.as_encoded_bytes()), "it lies in no class folder"),
        }
    }
    if folders.is_empty() {
        let found = match listing.not_images.total {
            0 => "it is empty".to_owned(),
            n => format!("it holds {}", count(n, "file", "files")),
        };
        return Err(Error::new(Kind::InvalidArgument, format!("the folder has no class folders: {found}"))
            .in_file(shown(name_bytes(source.as_os_str())))
            .hint("put the images of each class into a folder of its own, or give a CSV or JSONL manifest"));
    }
    for (label, name) in folders.iter().enumerate() {
        listing.classes.push(Class { label: label as i64, name: name.as_encoded_bytes().to_vec() });
        let mut walk = Walk { listing: &mut listing, class: label as u32, progress, above: Vec::new() };
        walk.folder(&source.join(name), name.as_encoded_bytes())?;
    }
    if listing.len() == 0 {
        return Err(Error::new(
            Kind::InvalidArgument,
            format!(
                "{} no image: {} in none of .jpg, .png, .gif, .bmp, .webp",
                match folders.len() {
                    1 => "the class folder holds".to_owned(),
                    n => format!("the {n} class folders hold"),
                },
                count(listing.not_images.total, "file ends", "files end")
            ),
        )
        .in_file(shown(name_bytes(source.as_os_str())))
        .hint("check that this is the folder meant"));
    }
    Ok(listing)
}

struct Walk<'a> {
    listing: &'a mut Listing,
    class: u32,
    progress: &'a dyn Progress,
    /// The folders on the way down, to notice links that lead back up.
    above: Vec<PathBuf>,
}

impl Walk<'_> {
    fn folder(&mut self, folder: &Path, relative: &[u8]) -> Result<()> {
        if self.progress.cancelled() {
            return Err(super::report::cancelled());
        }
        let real = fs::canonicalize(folder).map_err(|e| io_error(folder, &e))?;
        if self.above.contains(&real) {
            self.listing.not_images.add(shown(relative), "a link to a folder above it");
            return Ok(());
        }
        self.above.push(real);
        for name in names(folder)? {
            let path = folder.join(&name);
            let bytes = [relative, b"/", name.as_encoded_bytes()].concat();
            match fs::metadata(&path) {
                Ok(meta) if meta.is_dir() => self.folder(&path, &bytes)?,
                Ok(meta) if !meta.is_file() => {
                    self.listing.not_images.add(shown(&bytes), "neither a file nor a folder");
                }
                _ if !has_image_name(&bytes) => {
                    self.listing.not_images.add(shown(&bytes), "its name is not that of an image");
                }
                // A link to nothing is found to be unreadable later, with the others.
                meta => self.listing.push(&bytes, self.class, meta.ok().as_ref()),
            }
        }
        self.above.pop();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::Silent;

    fn make(files: &[&str]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for file in files {
            let path = root.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, file.as_bytes()).unwrap();
        }
        root
    }

    #[test]
    fn classes_are_sorted_folders() {
        let root =
            make(&["b/2.jpg", "b/sub/3.PNG", "a/1.jpeg", "a/.x.jpg", ".h/1.jpg", "b/notes.txt", "top.jpg"]);
        let listing = tree(root.path(), &Silent).unwrap();
        let names: Vec<_> = listing.classes.iter().map(|c| (c.label, c.name.as_slice())).collect();
        assert_eq!(names, [(0, &b"a"[..]), (1, b"b")]);
        let found: Vec<_> = (0..listing.len())
            .map(|i| {
                (String::from_utf8_lossy(listing.path(i)).into_owned(), listing.class(i), listing.size(i))
            })
            .collect();
        let expected = [("a/1.jpeg", 0, 8), ("b/2.jpg", 1, 7), ("b/sub/3.PNG", 1, 11)];
        assert_eq!(found, expected.map(|(p, c, s)| (p.to_owned(), c, s)));
        let others: Vec<_> = listing.not_images.files.iter().map(|f| f.path.as_str()).collect();
        assert_eq!(others, ["top.jpg", "b/notes.txt"]);
        assert_eq!(listing.identity(), tree(root.path(), &Silent).unwrap().identity());
    }

    #[test]
    fn folders_without_images_are_refused() {
        let words = |root: &tempfile::TempDir| tree(root.path(), &Silent).unwrap_err().to_string();
        assert!(words(&make(&[])).contains("no class folders: it is empty"));
        assert!(words(&make(&["a.jpg"])).contains("no class folders: it holds 1 file"));
        assert!(
            words(&make(&["a/x.txt"])).contains("the class folder holds no image: 1 file ends in none of")
        );
    }

    #[test]
    #[cfg(unix)]
    fn links_that_lead_up_end() {
        let root = make(&["a/1.jpg"]);
        std::os::unix::fs::symlink("..", root.path().join("a/up")).unwrap();
        std::os::unix::fs::symlink("nothing", root.path().join("a/2.jpg")).unwrap();
        let listing = tree(root.path(), &Silent).unwrap();
        // `a/up` is the source itself, `a/up/a` the folder that the walk is in.
        assert_eq!((listing.len(), listing.size(1)), (2, 0));
        assert_eq!(listing.not_images.files[0].path, "a/up/a");
    }
}
