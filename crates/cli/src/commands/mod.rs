//! The commands, one file each.

mod bench;
mod check;
mod compare;
mod completions;
mod complexity;
mod eval;
mod fit;
mod growth;
mod info;
mod install;
mod learning;
mod list;
mod man;
mod options;
mod predict;
mod reproduce;
mod solve;
mod subproblems;
mod verify;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::error::Error;
use crate::exit;

const EXAMPLES: &str = "\
Examples:
  tangor list                              the embedded problems
  tangor solve HS71                        solve one of them
  tangor solve HS71 --plot hs71.svg        and draw how it went
  tangor solve HS71 --json > hs71.json     the whole result for a program
  tangor fit people.csv --norm 1           logistic regression under constraints
  tangor verify hs71.json                  judge that result again
  tangor solve HS71 --noise 1e-2 --tolerance 1e-2    with functions that can only be sampled
  tangor options merit                     the settings around the merit parameter";

/// Minimises f(x) subject to cl <= c(x) <= cu and xl <= x <= xu, where f and c may be nonconvex.
#[derive(Debug, Parser)]
#[command(name = "tangor", version, after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n\n{}", exit::HELP))]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Solve(Box<solve::Solve>),
    Verify(verify::Verify),
    List(list::List),
    Info(info::Info),
    Eval(eval::Eval),
    Check(check::Check),
    Fit(Box<fit::Fit>),
    Predict(predict::Predict),
    Options(options::Options),
    Bench(bench::Bench),
    Reproduce(reproduce::Reproduce),
    Completions(completions::Completions),
    Man(man::Man),
    Install(install::Install),
}

impl Arguments {
    /// Those of this call. A negative number is a value, if mostly a wrong one, and no unknown flag: the message is on the number.
    pub fn understood() -> Result<Self, clap::Error> {
        Arguments::from_arg_matches(&taking_numbers(Arguments::command()).try_get_matches()?)
    }

    /// Carries out the command and gives the exit code.
    pub fn run(self) -> Result<u8, Error> {
        match self.command {
            Command::Solve(command) => command.run(),
            Command::Verify(command) => command.run(),
            Command::List(command) => command.run(),
            Command::Info(command) => command.run(),
            Command::Eval(command) => command.run(),
            Command::Check(command) => command.run(),
            Command::Fit(command) => command.run(),
            Command::Predict(command) => command.run(),
            Command::Options(command) => command.run(),
            Command::Bench(command) => command.run(),
            Command::Reproduce(command) => command.run(),
            Command::Completions(command) => command.run(),
            Command::Man(command) => command.run(),
            Command::Install(command) => command.run(),
        }
    }
}

fn taking_numbers(command: clap::Command) -> clap::Command {
    let takes = |argument: &clap::Arg| !argument.is_positional() && argument.get_action().takes_values();
    let command = command.mut_args(|argument| match takes(&argument) && !argument.is_allow_hyphen_values_set() {
        true => argument.allow_negative_numbers(true),
        false => argument,
    });
    command.mut_subcommands(taking_numbers)
}
