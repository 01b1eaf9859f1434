use std::io::Write;

use clap::Args;

use crate::error::Error;
use crate::{exit, manual};

const EXAMPLES: &str = "\
Examples:
  tangor man | man -l -
  tangor man bench run | man -l -
  tangor man solve > ~/.local/share/man/man1/tangor-solve.1";

/// Write the man page, of the whole or of one command
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Man {
    /// Which command; without it the page of tangor itself
    command: Vec<String>,
}

impl Man {
    /// Writes it to standard output.
    pub fn run(self) -> Result<u8, Error> {
        let program = manual::program();
        let unknown = || Error::UnknownCommand(self.command.join(" "));
        let found = self.command.iter().try_fold(&program, |command, name| command.find_subcommand(name));
        std::io::stdout().write_all(&manual::page(found.ok_or_else(unknown)?))?;
        Ok(exit::SOLVED)
    }
}
