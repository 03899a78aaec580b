//! Which store serves a path.

use std::ffi::OsStr;
use std::sync::Arc;

use crate::error::{Result, StoreError, StoreErrorKind};
use crate::local::LocalStore;
use crate::store::Store;

/// All stores of this build: a further scheme adds a line here.
fn builtin() -> Vec<Arc<dyn Store>> {
    vec![
        // Plain paths and file://.
        Arc::new(LocalStore),
    ]
}

/// The scheme of a URL (`gs` of `gs://bucket/key`); `None` for a plain path.
pub fn scheme_of(path: &OsStr) -> Option<&str> {
    let bytes = path.as_encoded_bytes();
    let end = bytes.windows(3).position(|w| w == b"://")?;
    let scheme = std::str::from_utf8(&bytes[..end]).ok()?;
    let mut letters = scheme.chars();
    let starts = letters.next()?.is_ascii_alphabetic();
    let goes_on = letters.all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '.' | '-'));
    (starts && goes_on).then_some(scheme)
}

/// The stores to choose from.
#[derive(Clone)]
pub struct Stores {
    stores: Vec<Arc<dyn Store>>,
}

impl Default for Stores {
    fn default() -> Self {
        Self { stores: builtin() }
    }
}

impl Stores {
    /// Adds a store, which is asked before those that are there.
    pub fn with(mut self, store: Arc<dyn Store>) -> Self {
        self.stores.insert(0, store);
        self
    }

    /// The schemes that some store serves, sorted.
    pub fn schemes(&self) -> Vec<&'static str> {
        let mut schemes: Vec<_> = self.stores.iter().flat_map(|s| s.schemes()).copied().collect();
        schemes.sort_unstable();
        schemes.dedup();
        schemes
    }

    /// The store that serves a path; plain paths are `file`.
    ///
    /// # Errors
    /// `Unsupported`, naming the schemes there are.
    pub fn of(&self, path: &OsStr) -> Result<&Arc<dyn Store>> {
        let scheme = scheme_of(path).unwrap_or("file");
        let serves = |store: &&Arc<dyn Store>| store.schemes().iter().any(|s| s.eq_ignore_ascii_case(scheme));
        self.stores.iter().find(serves).ok_or_else(|| {
            let schemes: Vec<_> = self.schemes().iter().map(|s| format!("{s}://")).collect();
            let message = format!(
                "scheme {scheme:?} is not supported, this build reads plain paths and {}",
                schemes.join(", ")
            );
            StoreError::new(StoreErrorKind::Unsupported, path, message)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemes() {
        let scheme = |path: &'static str| scheme_of(OsStr::new(path));
        assert_eq!(scheme("gs://bucket/key"), Some("gs"));
        assert_eq!(scheme("file:///a"), Some("file"));
        assert_eq!(scheme("/a/b"), None);
        assert_eq!(scheme("a/b://c"), None);
        assert_eq!(scheme("://c"), None);
    }

    #[test]
    fn picks_by_scheme_and_names_what_there_is() {
        let stores = Stores::default();
        for path in ["/a", "a", "file:///a", "FILE:///a"] {
            assert_eq!(stores.of(OsStr::new(path)).unwrap().schemes(), ["file"]);
        }
        let error = stores.of(OsStr::new("gs://b/k")).err().unwrap();
        assert_eq!(error.kind, StoreErrorKind::Unsupported);
        assert_eq!(
            error.to_string(),
            "gs://b/k; scheme \"gs\" is not supported, this build reads plain paths and file://"
        );
    }
}
