//! Checks of the source tree: `cargo run -p xtask -- layers`, `sizes`, `notices --check`; and
//! `notices`, which writes the licences of the dependencies.

#![allow(clippy::print_stdout, clippy::print_stderr)]

mod layers;
mod notices;
mod sizes;
mod workspace;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "usage: cargo run -p xtask -- layers | sizes | notices [--check]";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let result = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["layers"] => layers::check(&root()),
        ["sizes"] => sizes::check(&root()),
        ["notices"] => notices::write(&root()),
        ["notices", "--check"] => notices::check(&root()),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match result {
        Ok(problems) if problems.is_empty() => ExitCode::SUCCESS,
        Ok(problems) => {
            for problem in problems {
                eprintln!("{problem}");
            }
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("xtask: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The top of the workspace.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("this crate lies in a folder of the workspace")
        .to_owned()
}
