//! Exit codes, and errors on standard error.

use std::io::Write;

use gristmill_types::{Error, Kind};

/// All is well.
pub(crate) const OK: i32 = 0;
/// The data have a problem.
pub(crate) const DATA: i32 = 1;
/// The command line asks for something that cannot be.
pub(crate) const USAGE: i32 = 2;
/// A file cannot be read or written.
pub(crate) const IO: i32 = 3;
/// Stopped by Ctrl-C, as shells number it.
pub(crate) const STOPPED: i32 = 130;

/// The code that stands for an error.
pub(crate) fn code(error: &Error) -> i32 {
    match error.kind() {
        Kind::DataLoss => DATA,
        Kind::InvalidArgument
        | Kind::AlreadyExists
        | Kind::OutOfRange
        | Kind::Unimplemented
        | Kind::Type
        | Kind::Value => USAGE,
        Kind::Cancelled => STOPPED,
        _ => IO,
    }
}

/// Writes an error to standard error.
pub(crate) fn complain(text: &str) {
    // Nobody is left to tell when this cannot be written.
    let _ = writeln!(std::io::stderr().lock(), "gristmill: {text}");
}
