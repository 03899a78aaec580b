//! The command line: parses arguments, runs a job of [`gristmill_tools`], prints its report and gives the exit code.
//!
//! The binary and the console command of the Python wheel call the same [`run`].

mod args;
mod bar;
mod commands;
mod exit;
mod interrupt;
mod screen;
mod show;

use std::ffi::OsString;
use std::io::Write;

use clap::error::ErrorKind;

use args::Cli;
use commands::Context;

/// Runs a command line, whose first item is the name of the program, and gives the exit code: 0 ok, 1 a problem found
/// in the data, 2 usage, 3 a file cannot be read or written, 130 stopped by Ctrl-C.
pub fn run(args: impl Iterator<Item = OsString>) -> i32 {
    let cli = match parse(args) {
        Ok(cli) => cli,
        Err(error) => return unparsed(&error),
    };
    let interrupt = interrupt::Interrupt::install();
    let mut screen = screen::Screen::new();
    let bar = bar::Bar::new(cli.quiet, interrupt.flag());
    let mut context = Context { screen: &mut screen, bar: &bar, json: cli.json };
    let result = cli.command.run(&mut context);
    bar.finish();
    let code = match result {
        Ok(code) => code,
        Err(error) => {
            exit::complain(&exit::words(&error));
            exit::code(&error)
        }
    };
    match screen.finish() {
        Ok(()) => code,
        Err(error) => {
            exit::complain(&format!("cannot write the output: {error}"));
            exit::IO
        }
    }
}

/// Parses the command line.
fn parse(args: impl Iterator<Item = OsString>) -> Result<Cli, clap::Error> {
    let mut command = args::command();
    let matches = command.try_get_matches_from_mut(args)?;
    Cli::of(matches).map_err(|error| error.format(&mut command))
}

/// Prints help and version where they were asked for, a usage error otherwise.
fn unparsed(error: &clap::Error) -> i32 {
    let text = error.render();
    // Nobody is left to tell when this cannot be written.
    let _ = match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            let mut out = std::io::stdout().lock();
            write!(out, "{text}").and_then(|()| out.flush())
        }
        _ => write!(std::io::stderr().lock(), "{text}"),
    };
    error.exit_code()
}
