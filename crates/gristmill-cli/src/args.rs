//! The command line as a whole; each command's own arguments stand with it.

use clap::{Arg, ArgAction, ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::commands::{bench, generate, head, index, info, merge, pack, salvage, shuffle, split, verify};

/// Pack, look into, check and reshape TFRecord files.
#[derive(Debug, Parser)]
#[command(
    name = "gristmill",
    bin_name = "gristmill",
    version,
    propagate_version = true,
    max_term_width = 110,
    after_help = "FILE may be a path, a quoted pattern ('data/*.tfrecord') or a directory.\n\n\
        Exit codes: 0 ok, 1 a problem found in the data, 2 usage, 3 a file cannot be read or written, 130 stopped."
)]
pub(crate) struct Cli {
    /// Prints what a program can read: JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
    /// No progress and no notes
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Pack(pack::Args),
    Info(info::Args),
    Head(head::Args),
    Verify(verify::Args),
    Salvage(salvage::Args),
    Index(index::Args),
    Merge(merge::Args),
    Split(split::Args),
    Shuffle(shuffle::Args),
    Bench(bench::Args),
    Completions(generate::Completions),
    Man(generate::Man),
}

/// Commands whose output has a form of its own.
const WITHOUT_JSON: [&str; 2] = ["completions", "man"];

/// The whole command line: `--json` behind every command that has a report, and numbers that may be negative, so that
/// `--seed -1` is a bad number and not an unknown option.
pub(crate) fn command() -> clap::Command {
    let numbers = |arg: Arg| {
        let takes = arg.get_action().takes_values();
        if takes { arg.allow_negative_numbers(true) } else { arg }
    };
    let mut command = Cli::command();
    let json = command.get_arguments().find(|arg| arg.get_id() == "json").cloned();
    let names: Vec<String> = command.get_subcommands().map(|c| c.get_name().to_owned()).collect();
    for name in names {
        let own = json.clone().filter(|_| !WITHOUT_JSON.contains(&name.as_str()));
        command = command.mut_subcommand(name, |c| {
            c.mut_args(numbers).args(own.map(|arg| arg.action(ArgAction::SetTrue)))
        });
    }
    command
}

impl Cli {
    /// What was parsed by [`command`].
    pub(crate) fn of(mut matches: ArgMatches) -> Result<Self, clap::Error> {
        let behind =
            matches.subcommand().and_then(|(_, own)| own.try_get_one::<bool>("json").ok().flatten().copied());
        let mut cli = Self::from_arg_matches_mut(&mut matches)?;
        cli.json |= behind.unwrap_or(false);
        Ok(cli)
    }
}
