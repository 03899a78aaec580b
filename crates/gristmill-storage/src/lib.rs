//! Listing, reading and atomic writing of files behind one trait.
//!
//! A [`Store`] serves the paths of some URL schemes; [`Stores`] picks the store of a path. Paths are
//! taken as the user wrote them and are bytes ([`std::ffi::OsStr`]): names that are no UTF-8 work.
//! A further scheme is one file with a [`Store`] in it and one line in [`uri`].

pub mod error;
pub mod fault;
pub mod glob;
pub mod local;
pub mod read;
pub mod store;
pub mod uri;
pub mod write;

pub use error::{Result, StoreError, StoreErrorKind};
pub use fault::FaultStore;
pub use glob::{hide_indexes, is_pattern};
pub use local::LocalStore;
pub use read::{read_file, read_file_into};
pub use store::{DirEntry, Sink, Source, Stat, Store};
pub use uri::{Stores, scheme_of};
pub use write::{AtomicFile, sweep};
