use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Args, CommandFactory};
use clap_complete::{Shell, generate};

use super::Arguments;
use crate::error::Error;
use crate::screen::Color;
use crate::{exit, files, manual};

const EXAMPLES: &str = "\
Examples:
  tangor install                           into ~/.local/share, where most shells and `man` look
  tangor install --prefix /usr/local       for everybody; may need more rights";

/// Install man pages and shell completions
///
/// Writes the pages of all commands to PREFIX/share/man/man1 and completions for bash, zsh and fish to the folders below PREFIX/share that are
/// theirs; zsh has to be told of its folder, and the last line says how.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Install {
    /// Below which folder [default: ~/.local]
    #[arg(long, value_name = "FOLDER")]
    prefix: Option<PathBuf>,
}

impl Install {
    /// Writes them and says where.
    pub fn run(self) -> Result<u8, Error> {
        let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".local"));
        let nowhere = || Error::Setting("there is no home folder to install to: name one with --prefix".to_string());
        let share = self.prefix.or_else(home).ok_or_else(nowhere)?.join("share");
        let mut written = Vec::new();
        let mut command = Arguments::command();
        for (shell, place) in [
            (Shell::Bash, "bash-completion/completions/tangor"),
            (Shell::Zsh, "zsh/site-functions/_tangor"),
            (Shell::Fish, "fish/vendor_completions.d/tangor.fish"),
        ] {
            let mut script = Vec::new();
            generate(shell, &mut command, "tangor", &mut script);
            written.push(put(&share, place, &script)?);
        }
        for (name, page) in manual::pages("tangor", &manual::program()) {
            written.push(put(&share, &format!("man/man1/{name}.1"), &page)?);
        }
        let mut out = Color::Never.screen();
        written.iter().try_for_each(|path| writeln!(out, "{}", path.display()))?;
        // Nobody else has to be told; zsh has no folder of its own below a home.
        let folder = share.join("zsh/site-functions");
        writeln!(out, "zsh finds its completions with fpath+=({}) before compinit in ~/.zshrc", folder.display())?;
        Ok(exit::SOLVED)
    }
}

fn put(share: &Path, place: &str, bytes: &[u8]) -> Result<PathBuf, Error> {
    let path = share.join(place);
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(|cause| Error::Unwritable { path: folder.to_owned(), cause })?;
    }
    files::write(&path, bytes)?;
    Ok(path)
}
