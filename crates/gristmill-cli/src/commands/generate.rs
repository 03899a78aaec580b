//! `gristmill completions` and `gristmill man`.

use clap_complete::Shell;
use gristmill_types::{Error, Kind, Result};

use super::Context;
use crate::args::command;
use crate::exit;

/// Prints the completions for a shell
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    gristmill completions bash > ~/.local/share/bash-completion/completions/gristmill\n  \
    gristmill completions zsh > ~/.zfunc/_gristmill\n  \
    gristmill completions fish > ~/.config/fish/completions/gristmill.fish")]
pub(crate) struct Completions {
    /// The shell
    shell: Shell,
}

impl Completions {
    pub(crate) fn run(self, cx: &mut Context<'_>) -> Result<i32> {
        let mut text = Vec::new();
        clap_complete::generate(self.shell, &mut command(), "gristmill", &mut text);
        cx.line(String::from_utf8_lossy(&text).trim_end());
        Ok(exit::OK)
    }
}

/// Prints the manual page
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    gristmill man > ~/.local/share/man/man1/gristmill.1\n  \
    gristmill man pack | man -l -")]
pub(crate) struct Man {
    /// The command to describe; gristmill as a whole if not given
    #[arg(value_name = "COMMAND")]
    command: Option<String>,
}

impl Man {
    pub(crate) fn run(self, cx: &mut Context<'_>) -> Result<i32> {
        let mut all = command();
        all.build();
        let page = match &self.command {
            None => all,
            Some(name) => match all.find_subcommand(name) {
                Some(found) => found.clone(),
                None => {
                    return Err(
                        Error::invalid(format!("no command '{name}'")).hint("gristmill --help lists them")
                    );
                }
            },
        };
        let mut text = Vec::new();
        let made = clap_mangen::Man::new(page).render(&mut text);
        made.map_err(|e| Error::new(Kind::Internal, format!("the manual page cannot be made: {e}")))?;
        cx.line(String::from_utf8_lossy(&text).trim_end());
        Ok(exit::OK)
    }
}
