//! Jobs on record files: what the command line and the Python front both offer. Every job takes options, reports
//! its progress through [`progress::Progress`], writes files under temporary names that are renamed when complete,
//! and returns a report that can be serialised.

mod files;
pub mod head;
pub mod index;
pub mod info;
mod out;
pub mod pack;
mod parallel;
mod picture;
pub mod progress;
mod read;
pub mod reshape;
pub mod salvage;
pub mod shuffle;
pub mod verify;
mod view;
#[cfg(unix)]
mod waiting;

pub use files::{check_twice, expand};
pub use gristmill_record::Compression;
pub use out::{OutFile, OutOptions};
pub use view::RecordKind;
