//! The command line of Tangor: each command is a file of `commands`, problems are opened in `problem_source`, and the other
//! files print.

mod activity;
mod commands;
mod data_source;
mod duration;
mod error;
mod exit;
mod files;
mod fitted;
mod interrupt;
mod noise_source;
mod number;
mod plot;
mod point_source;
mod problem_source;
mod progress;
mod recheck;
mod record;
mod sampling_source;
mod screen;
mod settings_source;
mod settings_tree;
mod source;
mod style;
mod summary;
mod table;
mod trace;
mod verdict;
mod watch;

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;

use commands::Arguments;
use error::Error;

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(message) => {
            // Help and version come this way too. If nobody reads them, there is nobody to tell.
            let _ = message.print();
            return if message.use_stderr() { exit::INPUT.into() } else { exit::SOLVED.into() };
        }
    };
    match arguments.run() {
        Ok(code) => code.into(),
        // `tangor list | head`: the reader has seen enough.
        Err(Error::Screen(cause)) if cause.kind() == std::io::ErrorKind::BrokenPipe => exit::SOLVED.into(),
        Err(error) => {
            let mut stderr = anstream::stderr();
            let _ = writeln!(stderr, "{}error:{:#} {error}", style::BAD, style::BAD);
            exit::INPUT.into()
        }
    }
}
