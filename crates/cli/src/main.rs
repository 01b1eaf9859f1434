//! The command line of Tangor: each command is a file of `commands`, problems are opened in `problem_source`, and the other
//! files print.

mod activity;
mod advice;
mod ampl;
mod commands;
mod draw_source;
mod duration;
mod error;
mod exit;
mod files;
mod fitting;
mod interrupt;
mod noise_source;
mod number;
mod plain;
mod plot;
mod point_source;
mod problem_source;
mod progress;
mod ranks;
mod recheck;
mod record;
mod sampling_source;
mod screen;
mod settings_source;
mod settings_tree;
mod size;
mod solution;
mod source;
mod start;
mod starts;
mod style;
mod summary;
mod table;
mod trace;
mod verdict;
mod version;
mod watch;
mod width;

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;

use commands::Arguments;
use error::Error;

fn main() -> ExitCode {
    let words: Vec<_> = std::env::args_os().skip(1).collect();
    if let Some(call) = ampl::Call::recognise(&words) {
        return conclude(call.run());
    }
    if version::is_asked_for(&words) {
        // If nobody reads it, there is nobody to tell.
        let _ = writeln!(std::io::stdout(), "{}", version::in_detail());
        return exit::SOLVED.into();
    }
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(message) => {
            // Help and version come this way too. If nobody reads them, there is nobody to tell.
            let _ = message.print();
            return if message.use_stderr() { exit::INPUT.into() } else { exit::SOLVED.into() };
        }
    };
    conclude(arguments.run())
}

fn conclude(outcome: Result<u8, Error>) -> ExitCode {
    match outcome {
        Ok(code) => code.into(),
        // `tangor list | head`: the reader has seen enough.
        Err(Error::Screen(cause)) if cause.kind() == std::io::ErrorKind::BrokenPipe => exit::SOLVED.into(),
        Err(error) => {
            // Another process tells why.
            if !matches!(error, Error::Elsewhere) {
                tell(&error);
            }
            error.exit_code().into()
        }
    }
}

fn tell(error: &Error) {
    let message = error.to_string();
    let _ = writeln!(anstream::stderr(), "{}error:{:#} {}", style::BAD, style::BAD, plain::lines(&message));
}
