use std::io::Write;

use clap::{Args, CommandFactory};
use clap_complete::{Shell, generate};

use super::Arguments;
use crate::error::Error;
use crate::exit;

const EXAMPLES: &str = "\
Examples:
  tangor completions bash > ~/.local/share/bash-completion/completions/tangor
  tangor completions zsh > ~/.zfunc/_tangor
  tangor completions fish > ~/.config/fish/completions/tangor.fish";

/// Write completions for a shell
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Completions {
    /// Which shell
    shell: Shell,
}

impl Completions {
    /// Writes them to standard output.
    pub fn run(self) -> Result<u8, Error> {
        let mut script = Vec::new();
        generate(self.shell, &mut Arguments::command(), "tangor", &mut script);
        std::io::stdout().write_all(&script)?;
        Ok(exit::SOLVED)
    }
}
