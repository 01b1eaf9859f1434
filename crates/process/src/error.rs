use std::fmt;
use std::process::ExitStatus;
use std::time::Duration;

use tangor_problem::{Function, MetaError, Wanted, count_of};

use crate::PROTOCOL_VERSION;
use crate::patience::Impatience;

/// Why a process cannot be had as a problem.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// The command is not one.
    #[error("the command {0:?} names no program: it is empty, or a quote in it is not closed")]
    Command(String),
    /// The program could not be run.
    #[error("the oracle `{command}` cannot be started: {cause}")]
    Start {
        /// The command.
        command: String,
        /// What the operating system says.
        cause: String,
    },
    /// The process misbehaved when it introduced itself.
    #[error(transparent)]
    Oracle(#[from] OracleError),
    /// A function is sampled where exact ones are needed.
    #[error("the oracle `{command}` gives only samples of the {function}: it is not a deterministic problem")]
    Sampled {
        /// The command.
        command: String,
        /// The function.
        function: Function,
    },
    /// There is no way to compare objectives.
    #[error("the oracle `{command}` gives no values of the objective, which a deterministic problem needs")]
    NoValues {
        /// The command.
        command: String,
    },
    /// The caller's mistake, not the process's.
    #[error("the oracle `{command}` was not asked for the {function}: {mistake}")]
    Question {
        /// The command.
        command: String,
        /// The function.
        function: Function,
        /// What is wrong with the question.
        mistake: String,
    },
}

/// What a process did wrong, how it ended, and its last words.
#[derive(Clone, Debug)]
pub struct OracleError {
    /// Its command.
    pub command: String,
    /// What it did.
    pub misdeed: Misdeed,
    /// What became of it.
    pub ending: Ending,
    /// The last lines that it wrote to its standard error.
    pub stderr: Vec<String>,
}

impl std::error::Error for OracleError {}

impl fmt::Display for OracleError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "the oracle `{}` {}{}", self.command, self.misdeed, self.ending)?;
        if !self.stderr.is_empty() {
            write!(out, "; the last that it wrote to its standard error:")?;
        }
        self.stderr.iter().try_for_each(|line| write!(out, "\n  {line}"))
    }
}

/// What became of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It waits for the next question.
    Waits,
    /// It ended by itself.
    Ended(ExitStatus),
    /// It was still running and was killed.
    Stopped,
}

impl fmt::Display for Ending {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ending::Waits => Ok(()),
            Ending::Ended(status) => write!(out, "; it ended with {status}"),
            Ending::Stopped => write!(out, "; it was still running and has been stopped"),
        }
    }
}

/// What a process was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// To introduce its problem.
    Introduction,
    /// To evaluate one function or several.
    Evaluation {
        /// The number of the request.
        id: u64,
        /// The functions.
        functions: Wanted,
    },
}

impl fmt::Display for Question {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Question::Introduction => write!(out, "the greeting"),
            Question::Evaluation { id, functions } => {
                let names: Vec<String> = functions.functions().map(|function| function.to_string()).collect();
                write!(out, "request {id} ({})", names.join(", "))
            }
        }
    }
}

/// What a process did wrong: a sentence that goes on after "the oracle".
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Misdeed {
    /// It closed its standard output.
    #[error("ended without an answer to {0}")]
    Ended(Question),
    /// It took too long.
    #[error("gave no answer to {question} within {limit:?}")]
    Late {
        /// What it was asked.
        question: Question,
        /// How long it had.
        limit: Duration,
    },
    /// Nobody waited for its answer any longer, which is not its fault.
    #[error("was busy with {question} when {reason}")]
    Abandoned {
        /// What it was asked.
        question: Question,
        /// What ended the wait.
        reason: Impatience,
    },
    /// The operating system could not read from it or write to it.
    #[error("could not be reached for {question}: {cause}")]
    Unreachable {
        /// What it was asked.
        question: Question,
        /// What the operating system says.
        cause: String,
    },
    /// Its line has no end.
    #[error("answered {question} with a line of more than {limit} bytes")]
    Endless {
        /// What it was asked.
        question: Question,
        /// How long a line may be.
        limit: usize,
    },
    /// Its line is not what the protocol wants.
    #[error("answered {question} with a line that cannot be understood ({cause}): {excerpt}")]
    Garbage {
        /// What it was asked.
        question: Question,
        /// What is wrong with the line.
        cause: String,
        /// The line around that place.
        excerpt: String,
    },
    /// It speaks another version.
    #[error("speaks version {0} of the protocol, but this program speaks version {PROTOCOL_VERSION}")]
    Version(u64),
    /// It says that it cannot start.
    #[error("cannot begin: {0}")]
    Refused(String),
    /// Its introduction contradicts itself.
    #[error("introduced a problem that cannot be: {0}")]
    Introduction(MetaError),
    /// There is nothing to draw from.
    #[error("introduced a finite population without members")]
    EmptyPopulation,
    /// It answered something else.
    #[error("answered request {answered} when it was asked {question}")]
    OtherQuestion {
        /// What it was asked.
        question: Question,
        /// What it answered.
        answered: u64,
    },
    /// Too few values, or too many.
    #[error("gave {} for {question}, where {}", count_of(*found, "value"), belongs(*expected))]
    Length {
        /// What it was asked.
        question: Question,
        /// How many values it gave.
        found: usize,
        /// How many there should be.
        expected: usize,
    },
    /// It says that it failed.
    #[error("reports an error for {question}: {cause}")]
    Failed {
        /// What it was asked.
        question: Question,
        /// What it says.
        cause: String,
    },
}

fn belongs(count: usize) -> String {
    format!("{count} {}", if count == 1 { "belongs" } else { "belong" })
}
