//! Rows that several processes have together, each a part of them.

use std::ops::Range;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tangor_problem::{Collective, parts_of};

use crate::Error;

/// Bytes of a message at most: its length is a number of 32 bits in MPI.
const MESSAGE: usize = 1 << 24;

/// Several processes that fit together.
pub trait Processes: Collective {
    /// Which process this is, counted from 0.
    fn rank(&self) -> usize;

    /// How many there are.
    fn count(&self) -> usize;

    /// Which of so many parts of a population a process has: those that follow on the parts of the process before.
    fn parts_of(&self, rank: usize, parts: usize) -> Range<usize>;

    /// Sends a message to another process.
    fn send(&self, to: usize, message: &[u8]);

    /// The next message that another process sends to this one.
    fn receive(&self, from: usize) -> Vec<u8>;
}

/// What this process has of rows that several have together.
#[derive(Clone, Debug)]
pub struct Share {
    /// The number of all rows.
    pub rows: usize,
    /// Which of them is the first one here; the others that are here follow it.
    pub first: usize,
    /// Numbers that one pass over all rows reads, on all processes together.
    pub numbers: usize,
    /// Bytes of memory that the rows of the process take which has most.
    pub held: usize,
    /// The processes.
    pub collective: Arc<dyn Collective>,
}

/// A number of each process, for all of them; all must ask.
pub fn of_each(processes: &dyn Processes, own: usize) -> Vec<usize> {
    let mut all = vec![0.0; processes.count()];
    processes.fill(1, &mut all, &|_, number| number[0] = own as f64);
    all.into_iter().map(|number| number as usize).collect()
}

/// Whole numbers of each process, as many of each, one process after the other; all must ask.
pub(crate) fn several_of_each(processes: &dyn Processes, own: &[u64]) -> Vec<u64> {
    let mut all = vec![0.0; processes.count() * own.len()];
    let fill = |_, numbers: &mut [f64]| numbers.iter_mut().zip(own).for_each(|(number, own)| *number = *own as f64);
    processes.fill(own.len(), &mut all, &fill);
    all.into_iter().map(|number| number as u64).collect()
}

/// An outcome if all processes have one; otherwise the first one that has none has its error, and the others know that there is one.
pub(crate) fn agreed<T>(processes: &dyn Processes, outcome: Result<T, Error>) -> Result<T, Error> {
    let own = match &outcome {
        Ok(_) => 0,
        // Who only heard of an error leaves it to the one that has it.
        Err(Error::Elsewhere) => 1,
        Err(_) => 2,
    };
    let all = of_each(processes, own);
    let failed = |how| all.iter().position(|outcome| *outcome == how);
    match failed(2).or(failed(1)) {
        Some(first) if first != processes.rank() => Err(Error::Elsewhere),
        _ => outcome,
    }
}

/// Work on a state that goes from process to process, in their order, so that it is done as by one process; then all have the last state.
/// Without processes it is just done. Work that fails ends it for all.
pub(crate) fn in_turns<S: Serialize + DeserializeOwned>(
    processes: Option<&dyn Processes>,
    state: S,
    work: impl FnOnce(S) -> Result<S, Error>,
) -> Result<S, Error> {
    let Some(processes) = processes else { return work(state) };
    let (rank, last) = (processes.rank(), processes.count() - 1);
    let state = if rank == 0 { Ok(state) } else { receive_state(processes, rank - 1) };
    let outcome = state.and_then(work);
    if rank < last {
        send_state(processes, rank + 1, &outcome);
        // The error of this process itself, if it has one, says more.
        let all = receive_state(processes, last);
        return outcome.and(all);
    }
    (0..last).for_each(|to| send_state(processes, to, &outcome));
    outcome
}

/// Sends a state in as many messages as it takes, and an empty one; nothing but that for a failure.
fn send_state<S: Serialize>(processes: &dyn Processes, to: usize, state: &Result<S, Error>) {
    // Numbers, texts and lists of them become JSON in any case.
    let message = state.as_ref().map_or_else(|_| Vec::new(), |state| serde_json::to_vec(state).unwrap_or_default());
    message.chunks(MESSAGE).for_each(|piece| processes.send(to, piece));
    processes.send(to, &[]);
}

fn receive_state<S: DeserializeOwned>(processes: &dyn Processes, from: usize) -> Result<S, Error> {
    let mut message = Vec::new();
    loop {
        match &processes.receive(from)[..] {
            [] if message.is_empty() => return Err(Error::Elsewhere),
            [] => return serde_json::from_slice(&message).map_err(|_| damaged()),
            piece => message.extend_from_slice(piece),
        }
    }
}

/// What is said of a message that cannot be understood.
pub(crate) fn damaged() -> Error {
    Error::Senseless("a message between processes is not what was sent".to_string())
}

/// A number bit by bit: JSON has neither infinities nor NaN.
pub(crate) mod bits {
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(value: &f64, out: S) -> Result<S::Ok, S::Error> {
        out.serialize_u64(value.to_bits())
    }

    pub fn deserialize<'a, D: Deserializer<'a>>(from: D) -> Result<f64, D::Error> {
        u64::deserialize(from).map(f64::from_bits)
    }
}

/// Where the rows of each process end.
pub(crate) fn ends(processes: &dyn Processes, rows: usize) -> Vec<usize> {
    let parts = parts_of(rows);
    let end = |rank| processes.parts_of(rank, parts.len()).end.checked_sub(1).map_or(0, |last| parts[last].end);
    (0..processes.count()).map(end).collect()
}
