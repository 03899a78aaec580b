//! The command line as a whole; each command's own arguments stand with it.

use clap::{Parser, Subcommand};

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
    #[arg(long, global = true)]
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
