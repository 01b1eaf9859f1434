//! The command line of Tangor: each command is a file of `commands`, problems are opened in `problem_source`, and the other
//! files print.

mod activity;
mod advice;
mod ampl;
mod answer;
mod commands;
mod contradiction;
mod draw_source;
mod duration;
mod error;
mod exit;
mod files;
mod headline;
mod idle;
mod interrupt;
mod manual;
mod noise_source;
mod number;
mod plain;
mod plot;
mod point_source;
mod problem_source;
mod progress;
mod provenance;
mod ranks;
mod record;
mod regression;
mod sampling_source;
mod screen;
mod settings_source;
mod settings_tree;
mod size;
mod solution;
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

use commands::Arguments;
use error::Error;

fn main() -> ExitCode {
    interrupt::survive_large_files();
    let words: Vec<_> = std::env::args_os().skip(1).collect();
    if let Some(call) = ampl::Call::recognise(&words) {
        return conclude(call.run());
    }
    if version::is_asked_for(&words) {
        // If nobody reads it, there is nobody to tell.
        let _ = writeln!(std::io::stdout(), "{}", version::in_detail());
        return exit::SOLVED.into();
    }
    let arguments = match Arguments::understood() {
        Ok(arguments) => arguments,
        Err(message) => {
            // Help and version come this way too. If nobody reads them, there is nobody to tell.
            if !message.use_stderr() {
                let _ = message.print();
                return exit::SOLVED.into();
            }
            let _ = write!(anstream::stderr(), "{}", explained(&message));
            return exit::INPUT.into();
        }
    };
    conclude(arguments.run())
}

/// What is wrong with the arguments, where the parser of numbers speaks of digits and literals in words for people.
fn explained(message: &clap::Error) -> String {
    let words = [
        ("invalid digit found in string", "a whole number is expected, as in 100, and no negative one"),
        ("cannot parse integer from empty string", "a whole number is expected, as in 100"),
        (" is not in ", " is not from "),
        ("..=", " to "),
        ("number too large to fit in target type", "the number is too large"),
        ("invalid float literal", "a number is expected, as in 0.01 or 1e-2"),
        ("cannot parse float from empty string", "a number is expected, as in 0.01 or 1e-2"),
    ];
    words.iter().fold(message.render().ansi().to_string(), |text, (from, to)| text.replace(from, to))
}

fn conclude(outcome: Result<u8, Error>) -> ExitCode {
    match outcome {
        Ok(code) => code.into(),
        // `tangor list | head`: the reader has seen enough.
        Err(Error::Screen(cause)) if cause.kind() == std::io::ErrorKind::BrokenPipe => exit::SOLVED.into(),
        Err(error) => {
            // Another process tells why, or this one has.
            if !matches!(error, Error::Elsewhere | Error::Told(_)) {
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
