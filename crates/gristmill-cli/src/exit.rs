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

/// The words of an error, its hint in the form of this command line.
pub(crate) fn words(error: &Error) -> String {
    let text = error.to_string();
    match error.advice().and_then(|advice| Some((text.strip_suffix(advice)?, advice))) {
        Some((before, advice)) => format!("{before}{}", for_shell(advice)),
        None => text,
    }
}

/// Options as they are given here: the jobs speak of them as Python does.
pub(crate) fn for_shell(text: &str) -> String {
    const OPTIONS: [(&str, &str); 4] = [
        ("gm.pack", "'gristmill pack'"),
        ("overwrite=True", "--overwrite"),
        ("on_error='skip'", "--on-error skip"),
        ("exif='apply'", "--exif apply"),
    ];
    OPTIONS.iter().fold(text.to_owned(), |text, (python, shell)| text.replace(python, shell))
}

/// Writes an error to standard error.
pub(crate) fn complain(text: &str) {
    // Nobody is left to tell when this cannot be written.
    let _ = writeln!(std::io::stderr().lock(), "gristmill: {text}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_speak_of_the_options_of_the_shell() {
        let error =
            Error::new(Kind::AlreadyExists, "overwrite=True is a file's name").in_file("exif='apply'");
        let error = error.hint("overwrite=True replaces it");
        let expected = "already exists: overwrite=True is a file's name\n  in exif='apply'\n  hint: --overwrite replaces it";
        assert_eq!(words(&error), expected);
        assert_eq!(words(&Error::invalid("no hint")), "invalid argument: no hint");
        assert_eq!(for_shell("on_error='skip' or exif='apply'"), "--on-error skip or --exif apply");
    }
}
