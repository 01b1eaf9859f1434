use std::io::Write;

use clap::{Args, CommandFactory};

use super::Arguments;
use crate::error::Error;
use crate::exit;

const EXAMPLES: &str = "\
Examples:
  tangor man | man -l -
  tangor man solve > ~/.local/share/man/man1/tangor-solve.1";

/// Write the man page, of the whole or of one command
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Man {
    /// Which command; without it the page of tangor itself
    command: Option<String>,
}

impl Man {
    /// Writes it to standard output.
    pub fn run(self) -> Result<u8, Error> {
        let mut whole = Arguments::command();
        whole.build();
        let command = match self.command {
            Some(name) => whole.find_subcommand(&name).cloned().ok_or(Error::UnknownCommand(name))?,
            None => whole,
        };
        let mut page = Vec::new();
        clap_mangen::Man::new(command).render(&mut page)?;
        std::io::stdout().write_all(&page)?;
        Ok(exit::SOLVED)
    }
}
