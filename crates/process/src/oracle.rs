use std::io::Write;
use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

use tangor_problem::{Access, Draw, Evaluation, Failure, Function, FunctionFailure, Meta, Outputs, Wanted};

use crate::child::Worker;
use crate::error::{Ending, Error, Misdeed, OracleError, Question};
use crate::introduction::{Introduction, LONGEST_INTRODUCTION, greeting, introduction_in};
use crate::message::{Payload, Reply, decode, reply};
use crate::pipes::{Blockage, Pipes, Wait};
use crate::settings::ProcessSettings;

/// How long a process may take to end when its standard input is closed: an interpreter has to be taken down.
const FAREWELL: Duration = Duration::from_secs(2);

/// What a process may print before it introduces itself, in bytes.
const MOST_PRINTED: usize = 1 << 20;

/// How long after a lie a process may end by itself, so that its exit status can be told.
const AFTER_A_LIE: Duration = Duration::from_millis(500);

/// A process that answers questions, and what it said of itself.
pub struct Oracle {
    pub command: String,
    pub introduction: Introduction,
    worker: Worker,
    /// The failure that closed the conversation comes back from every later question.
    pipes: Result<Pipes, Failure>,
    time_limit: Duration,
    last_id: u64,
}

impl Oracle {
    /// Starts a process and lets it introduce its problem.
    pub fn start(command: &str, settings: &ProcessSettings) -> Result<Oracle, Error> {
        let (mut worker, mut pipes) = Worker::start(command, settings)?;
        match introduce(&mut pipes, &mut worker, settings) {
            Ok(introduction) => {
                let (command, time_limit) = (command.to_string(), settings.time_limit);
                Ok(Oracle { command, introduction, worker, pipes: Ok(pipes), time_limit, last_id: 0 })
            }
            Err(misdeed) => Err(condemn(&mut worker, command, misdeed).into()),
        }
    }

    /// How a function can be had.
    pub fn access(&self, function: Function) -> Access {
        let accesses = &self.introduction.accesses;
        match function {
            Function::Constraints => accesses.constraints,
            Function::Jacobian => accesses.jacobian,
            Function::Objective | Function::Gradient | Function::Hessian => accesses.gradient,
        }
    }

    /// Asks for the average of a function over draws.
    pub fn evaluate(&mut self, function: Function, x: &[f64], draws: &[Draw], values: &mut [f64]) -> Evaluation {
        // What is exact needs no draws, and they need not travel.
        let draws = if self.access(function).is_sampled() { draws } else { &[] };
        self.average(only(function), x, draws, values).map_err(|failed| failed.failure)
    }

    /// Asks for the average of the objective over draws.
    pub fn objective(&mut self, x: &[f64], draws: &[Draw]) -> Evaluation<f64> {
        let mut value = [0.0];
        self.evaluate(Function::Objective, x, draws, &mut value)?;
        Ok(value[0])
    }

    /// Whether one question can be asked for these functions: the process takes it, and no draws are in the way.
    pub fn answers_together(&self, functions: Wanted, draws: &[Draw]) -> bool {
        let fits = self.introduction.most_draws.is_none_or(|most| draws.len() <= most.get());
        let all_sampled = functions.functions().all(|function| self.access(function).is_sampled());
        // Averaging over several questions would round what is exact.
        self.introduction.several && functions.count() > 1 && (fits || all_sampled)
    }

    /// Asks one question for several functions. Those that are exact do not look at the draws.
    pub fn evaluate_together(
        &mut self,
        functions: Wanted,
        x: &[f64],
        draws: &[Draw],
        out: &mut Outputs<'_>,
    ) -> Result<(), FunctionFailure> {
        let sampled = functions.functions().any(|function| self.access(function).is_sampled());
        let meta = &self.introduction.meta;
        let mut values = vec![0.0; functions.functions().map(|function| expected_values(meta, function)).sum()];
        self.average(functions, x, if sampled { draws } else { &[] }, &mut values)?;
        let mut rest = values.as_slice();
        for function in functions.functions() {
            let (own, others) = rest.split_at(expected_values(&self.introduction.meta, function));
            rest = others;
            match function {
                Function::Gradient => out.gradient.copy_from_slice(own),
                Function::Constraints => out.constraints.copy_from_slice(own),
                Function::Jacobian => out.jacobian.copy_from_slice(own),
                Function::Objective | Function::Hessian => out.objective = own.first().copied(),
            }
        }
        Ok(())
    }

    /// Asks once, or, where the process takes no more than some draws at a time, as often as it needs.
    fn average(&mut self, functions: Wanted, x: &[f64], draws: &[Draw], values: &mut [f64]) -> Result<(), FunctionFailure> {
        let most = self.introduction.most_draws.map_or(usize::MAX, NonZeroUsize::get);
        if draws.len() <= most {
            return self.ask(functions, x, draws, values);
        }
        let mut part = vec![0.0; values.len()];
        values.fill(0.0);
        for some in draws.chunks(most) {
            self.ask(functions, x, some, &mut part)?;
            let share = some.len() as f64 / draws.len() as f64;
            values.iter_mut().zip(&part).for_each(|(value, part)| *value += share * part);
        }
        Ok(())
    }

    /// One question.
    fn ask(&mut self, functions: Wanted, x: &[f64], draws: &[Draw], values: &mut [f64]) -> Result<(), FunctionFailure> {
        self.check_question(functions, x, draws, values.len())?;
        let first = FunctionFailure::of(functions.first().unwrap_or(Function::Objective));
        let pipes = self.pipes.as_mut().map_err(|failure| first(failure.clone()))?;
        self.last_id += 1;
        let worker = &mut self.worker;
        let question = Question::Evaluation { id: self.last_id, functions };
        let exchange = Exchange { pipes, worker, id: self.last_id, functions, question, time_limit: self.time_limit };
        let Introduction { payload, meta, .. } = &self.introduction;
        match exchange.ask(*payload, x, draws, values) {
            Ok(Reply::Values(())) => match values.iter().position(|value| !value.is_finite()) {
                None => Ok(()),
                Some(k) => {
                    let (function, place) = place(meta, functions, k);
                    Err(FunctionFailure { function, failure: Failure::undefined(format!("it is {} at {place}", values[k])) })
                }
            },
            Ok(Reply::Undefined(reason)) => Err(first(Failure::undefined(reason))),
            Ok(Reply::Error(cause)) => {
                let misdeed = Misdeed::Failed { question, cause };
                // It said what is wrong; what it wrote to its standard error need not be the cause.
                let ending = Ending::Waits;
                let error = OracleError { command: self.command.clone(), misdeed, ending, stderr: Vec::new() };
                Err(first(Failure::broken(error)))
            }
            Err(misdeed) => {
                let failure = Failure::broken(condemn(&mut self.worker, &self.command, misdeed));
                self.pipes = Err(failure.clone());
                Err(first(failure))
            }
        }
    }

    /// Looks for mistakes of the caller, for which the process must not be blamed.
    fn check_question(&self, functions: Wanted, x: &[f64], draws: &[Draw], values: usize) -> Result<(), FunctionFailure> {
        let meta = &self.introduction.meta;
        let expected: usize = functions.functions().map(|function| expected_values(meta, function)).sum();
        for function in functions.functions() {
            let access = self.access(function);
            let failed = FunctionFailure::of(function);
            let mistake = if x.len() != meta.n() {
                format!("the point has {} variables, but the problem has {}", x.len(), meta.n())
            } else if values != expected {
                format!("there is room for {values} values, but the answer has {expected}")
            } else if access.is_sampled() && draws.is_empty() {
                "it is sampled, and no draws were given".to_string()
            } else if let (Access::Finite(size), Some(draw)) = (access, draws.iter().max())
                && draw.0 >= size
            {
                format!("draw {} is not in a population of {size}", draw.0)
            } else if let Some(i) = x.iter().position(|value| !value.is_finite()) {
                return Err(failed(Failure::undefined(format!("variable {} is {}", meta.variable_name(i), x[i]))));
            } else {
                continue;
            };
            return Err(failed(Failure::broken(Error::Question { command: self.command.clone(), function, mistake })));
        }
        Ok(())
    }
}

impl Drop for Oracle {
    fn drop(&mut self) {
        // The end of its standard input asks the process to end.
        self.pipes = Err(Failure::undefined("the conversation is over"));
        self.worker.end(FAREWELL);
    }
}

/// One question and its answer.
struct Exchange<'a> {
    pipes: &'a mut Pipes,
    worker: &'a mut Worker,
    id: u64,
    functions: Wanted,
    question: Question,
    time_limit: Duration,
}

impl Exchange<'_> {
    fn ask(self, payload: Payload, x: &[f64], draws: &[Draw], values: &mut [f64]) -> Result<Reply<()>, Misdeed> {
        let (id, question) = (self.id, self.question);
        let deadline = deadline(self.time_limit);
        let blocked = |blockage| misdeed(blockage, question, self.time_limit);
        let mut message = self.pipes.buffer();
        payload.request(id, self.functions, draws, x, &mut message).map_err(|error| unwritten(question, &error))?;
        let has_ended = &mut || self.worker.has_ended();
        let wait = Wait { deadline, has_ended };
        let line = self.pipes.line(message, payload.line_limit(values.len()), wait).map_err(blocked)?;
        let expected = values.len();
        let length = |found| if found == expected { Ok(()) } else { Err(Misdeed::Length { question, found, expected }) };
        match payload {
            Payload::Text => reply::<Vec<Option<f64>>>(line, question, id)?.store(|found| {
                length(found.len())?;
                // JSON has no NaN; `null` is what its writers put in its place.
                values.iter_mut().zip(found).for_each(|(value, found)| *value = found.unwrap_or(f64::NAN));
                Ok(())
            }),
            Payload::Binary => reply::<usize>(line, question, id)?.store(|found| {
                length(found)?;
                let wait = Wait { deadline, has_ended };
                decode(self.pipes.bytes(8 * found, wait).map_err(blocked)?, values);
                Ok(())
            }),
        }
    }
}

/// Greets, and passes over what a process prints before it introduces itself: a library that says hello does no harm.
fn introduce(pipes: &mut Pipes, worker: &mut Worker, settings: &ProcessSettings) -> Result<Introduction, Misdeed> {
    let (question, deadline) = (Question::Introduction, deadline(settings.time_limit));
    let mut message = pipes.buffer();
    greeting(&mut message).map_err(|error| unwritten(question, &error))?;
    let (mut printed, mut last) = (0, None);
    loop {
        let wait = Wait { deadline, has_ended: &mut || worker.has_ended() };
        match pipes.line(std::mem::take(&mut message), LONGEST_INTRODUCTION, wait) {
            Ok(line) => match introduction_in(line) {
                Some(introduction) => return Introduction::read(introduction),
                None => {
                    if settings.pass_stderr {
                        // Without a standard error of one's own there is nothing to be done.
                        let _ = std::io::stderr().write_all(line);
                    }
                    printed += line.len();
                    last = Some(line.to_vec());
                }
            },
            Err(blockage) if last.is_none() || matches!(blockage, Blockage::Abandoned(_)) => {
                return Err(misdeed(blockage, question, settings.time_limit));
            }
            // What it printed was meant to be the introduction.
            Err(_) => printed = usize::MAX,
        }
        if printed > MOST_PRINTED {
            return Introduction::read(&last.unwrap_or_default());
        }
    }
}

/// How many values an answer has.
fn expected_values(meta: &Meta, function: Function) -> usize {
    match function {
        Function::Objective | Function::Hessian => 1,
        Function::Gradient => meta.n(),
        Function::Constraints => meta.m(),
        Function::Jacobian => meta.jacobian_len(),
    }
}

/// The function that value `k` of an answer belongs to, and its place there in words.
fn place(meta: &Meta, functions: Wanted, mut k: usize) -> (Function, String) {
    for function in functions.functions() {
        let count = expected_values(meta, function);
        if k >= count {
            k -= count;
            continue;
        }
        let place = match function {
            Function::Objective | Function::Hessian => "its only value".to_string(),
            Function::Gradient => format!("variable {}", meta.variable_name(k)),
            Function::Constraints => format!("constraint {}", meta.row_name(k)),
            Function::Jacobian => {
                let (row, column) = meta.jacobian.place(k, meta.n());
                format!("constraint {}, variable {}", meta.row_name(row), meta.variable_name(column))
            }
        };
        return (function, place);
    }
    (Function::Objective, "an unknown place".to_string())
}

/// One function alone.
fn only(function: Function) -> Wanted {
    match function {
        Function::Objective | Function::Hessian => Wanted { objective: true, ..Wanted::NOTHING },
        Function::Gradient => Wanted { gradient: true, ..Wanted::NOTHING },
        Function::Constraints => Wanted { constraints: true, ..Wanted::NOTHING },
        Function::Jacobian => Wanted { jacobian: true, ..Wanted::NOTHING },
    }
}

/// When the time is over; never, if the clock does not reach that far.
fn deadline(time_limit: Duration) -> Option<Instant> {
    Instant::now().checked_add(time_limit)
}

fn misdeed(blockage: Blockage, question: Question, limit: Duration) -> Misdeed {
    match blockage {
        Blockage::Late => Misdeed::Late { question, limit },
        Blockage::Abandoned(reason) => Misdeed::Abandoned { question, reason },
        Blockage::Ended => Misdeed::Ended(question),
        Blockage::Endless(limit) => Misdeed::Endless { question, limit },
        Blockage::Unreachable(cause) => Misdeed::Unreachable { question, cause },
    }
}

fn unwritten(question: Question, error: &serde_json::Error) -> Misdeed {
    Misdeed::Unreachable { question, cause: error.to_string() }
}

/// Ends a process that misbehaved, and says so.
fn condemn(worker: &mut Worker, command: &str, misdeed: Misdeed) -> OracleError {
    let grace = match misdeed {
        Misdeed::Late { .. } | Misdeed::Abandoned { .. } => Duration::ZERO,
        Misdeed::Ended(_) | Misdeed::Refused(_) => FAREWELL,
        _ => AFTER_A_LIE,
    };
    let ending = worker.end(grace);
    OracleError { command: command.to_string(), misdeed, ending, stderr: worker.last_lines() }
}
