use std::time::{Duration, Instant};

use tangor_problem::{Access, Draw, Evaluation, Failure, Function, Meta};

use crate::child::Worker;
use crate::error::{Ending, Error, Misdeed, OracleError, Question};
use crate::introduction::{Introduction, LONGEST_INTRODUCTION, greeting};
use crate::message::{Payload, Reply, decode, reply};
use crate::pipes::{Blockage, Pipes, Wait};
use crate::settings::ProcessSettings;

/// How long a process may take to end when its standard input is closed: an interpreter has to be taken down.
const FAREWELL: Duration = Duration::from_secs(2);

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
        match introduce(&mut pipes, &mut worker, settings.time_limit) {
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
        self.check_question(function, x, draws, values.len())?;
        let pipes = self.pipes.as_mut().map_err(|failure| failure.clone())?;
        self.last_id += 1;
        let worker = &mut self.worker;
        let exchange = Exchange { pipes, worker, id: self.last_id, function, time_limit: self.time_limit };
        let Introduction { payload, meta, .. } = &self.introduction;
        match exchange.ask(*payload, meta, x, draws, values) {
            Ok(Reply::Values(())) => Ok(()),
            Ok(Reply::Undefined(reason)) => Err(Failure::undefined(reason)),
            Ok(Reply::Error(cause)) => {
                let misdeed = Misdeed::Failed { question: Question::Evaluation { id: self.last_id, function }, cause };
                // It said what is wrong; what it wrote to its standard error need not be the cause.
                let ending = Ending::Waits;
                Err(Failure::broken(OracleError { command: self.command.clone(), misdeed, ending, stderr: Vec::new() }))
            }
            Err(misdeed) => {
                let failure = Failure::broken(condemn(&mut self.worker, &self.command, misdeed));
                self.pipes = Err(failure.clone());
                Err(failure)
            }
        }
    }

    /// Asks for the average of the objective over draws.
    pub fn objective(&mut self, x: &[f64], draws: &[Draw]) -> Evaluation<f64> {
        let mut value = [0.0];
        self.evaluate(Function::Objective, x, draws, &mut value)?;
        Ok(value[0])
    }

    /// Looks for mistakes of the caller, for which the process must not be blamed.
    fn check_question(&self, function: Function, x: &[f64], draws: &[Draw], values: usize) -> Evaluation {
        let meta = &self.introduction.meta;
        let expected = expected_values(meta, function);
        let access = self.access(function);
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
            return Err(Failure::undefined(format!("variable {} is {}", meta.variable_name(i), x[i])));
        } else {
            return Ok(());
        };
        Err(Failure::broken(Error::Question { command: self.command.clone(), function, mistake }))
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
    function: Function,
    time_limit: Duration,
}

impl Exchange<'_> {
    fn ask(self, payload: Payload, meta: &Meta, x: &[f64], draws: &[Draw], values: &mut [f64]) -> Result<Reply<()>, Misdeed> {
        let (id, function) = (self.id, self.function);
        let question = Question::Evaluation { id, function };
        let deadline = deadline(self.time_limit);
        let blocked = |blockage| misdeed(blockage, question, self.time_limit);
        let mut message = self.pipes.buffer();
        payload.request(id, function, draws, x, &mut message).map_err(|error| unwritten(question, &error))?;
        let has_ended = &mut || self.worker.has_ended();
        let wait = Wait { deadline, has_ended };
        let line = self.pipes.line(message, payload.line_limit(values.len()), wait).map_err(blocked)?;
        let expected = values.len();
        let length = |found| if found == expected { Ok(()) } else { Err(Misdeed::Length { question, found, expected }) };
        let reply = match payload {
            Payload::Text => reply::<Vec<f64>>(line, question, id)?.store(|found| {
                length(found.len())?;
                values.copy_from_slice(&found);
                Ok(())
            }),
            Payload::Binary => reply::<usize>(line, question, id)?.store(|found| {
                length(found)?;
                let wait = Wait { deadline, has_ended };
                decode(self.pipes.bytes(8 * found, wait).map_err(blocked)?, values);
                Ok(())
            }),
        }?;
        match values.iter().position(|value| !value.is_finite()) {
            Some(k) if reply == Reply::Values(()) => {
                Err(Misdeed::NotFinite { question, value: values[k], place: place(meta, function, k) })
            }
            _ => Ok(reply),
        }
    }
}

fn introduce(pipes: &mut Pipes, worker: &mut Worker, time_limit: Duration) -> Result<Introduction, Misdeed> {
    let question = Question::Introduction;
    let mut message = pipes.buffer();
    greeting(&mut message).map_err(|error| unwritten(question, &error))?;
    let wait = Wait { deadline: deadline(time_limit), has_ended: &mut || worker.has_ended() };
    let line = pipes.line(message, LONGEST_INTRODUCTION, wait);
    Introduction::read(line.map_err(|blockage| misdeed(blockage, question, time_limit))?)
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

/// The place of value `k`, in words.
fn place(meta: &Meta, function: Function, k: usize) -> String {
    match function {
        Function::Objective | Function::Hessian => "its only value".to_string(),
        Function::Gradient => format!("variable {}", meta.variable_name(k)),
        Function::Constraints => format!("constraint {}", meta.row_name(k)),
        Function::Jacobian => {
            let (row, column) = meta.jacobian.place(k, meta.n());
            format!("constraint {}, variable {}", meta.row_name(row), meta.variable_name(column))
        }
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
