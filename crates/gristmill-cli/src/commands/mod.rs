//! The commands: what each one's arguments are, which job it runs, and how its report is shown.

pub(crate) mod bench;
pub(crate) mod generate;
pub(crate) mod head;
pub(crate) mod index;
pub(crate) mod info;
pub(crate) mod merge;
mod output;
pub(crate) mod pack;
pub(crate) mod salvage;
pub(crate) mod shuffle;
pub(crate) mod split;
pub(crate) mod verify;

use gristmill_types::Result;
use serde::Serialize;

use crate::args::Command;
use crate::bar::Bar;
use crate::screen::Screen;

/// What a command works with.
pub(crate) struct Context<'a> {
    pub(crate) screen: &'a mut Screen,
    pub(crate) bar: &'a Bar,
    pub(crate) json: bool,
}

impl Context<'_> {
    /// Prints a report as JSON if that is asked for; says whether it was.
    fn as_json(&mut self, report: &impl Serialize) -> Result<bool> {
        if self.json {
            self.screen.line(to_json(report, true)?);
        }
        Ok(self.json)
    }

    /// Prints a line.
    fn line(&mut self, text: impl AsRef<str>) {
        self.screen.line(text);
    }
}

fn to_json(report: &impl Serialize, pretty: bool) -> Result<String> {
    let text = if pretty { serde_json::to_string_pretty(report) } else { serde_json::to_string(report) };
    text.map_err(|e| gristmill_types::Error::internal(format!("a report is no JSON: {e}")))
}

impl Command {
    /// Runs the command; gives the exit code.
    pub(crate) fn run(self, cx: &mut Context<'_>) -> Result<i32> {
        match self {
            Self::Pack(args) => args.run(cx),
            Self::Info(args) => args.run(cx),
            Self::Head(args) => args.run(cx),
            Self::Verify(args) => args.run(cx),
            Self::Salvage(args) => args.run(cx),
            Self::Index(args) => args.run(cx),
            Self::Merge(args) => args.run(cx),
            Self::Split(args) => args.run(cx),
            Self::Shuffle(args) => args.run(cx),
            Self::Bench(args) => args.run(cx),
            Self::Completions(args) => args.run(cx),
            Self::Man(args) => args.run(cx),
        }
    }
}
