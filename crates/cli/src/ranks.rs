//! The processes of a fit: one, or several that `mpirun` started, each with a part of the rows.

use std::ops::Range;
use std::sync::Arc;

use tangor_learn::{Processes, of_each};
use tangor_problem::{Collective, MemoryLimit};
use tangor_solver::{Agreement, Ending};

use crate::error::Error;

/// What launchers of MPI programs tell of the number of processes: Open MPI, MPICH and its relatives.
const LAUNCHERS: [&str; 2] = ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE"];

/// This process among those that fit together.
#[derive(Debug)]
pub struct Ranks {
    world: Option<mpi_world::World>,
}

impl Ranks {
    /// Joins the others, if a launcher started several.
    pub fn join() -> Result<Self, Error> {
        let launched = LAUNCHERS.iter().find_map(|name| std::env::var(name).ok()?.parse::<usize>().ok());
        Ok(Ranks { world: launched.map(mpi_world::World::join).transpose()?.flatten() })
    }

    /// Whether this process prints and writes.
    pub fn is_first(&self) -> bool {
        self.world.as_ref().is_none_or(|world| world.place().rank == 0)
    }

    /// How many processes there are.
    pub fn count(&self) -> usize {
        self.world.as_ref().map_or(1, |world| world.place().size)
    }

    /// Who shares the rows out and computes sums over them; none without a launcher.
    pub fn processes(&self) -> Option<Arc<dyn Processes>> {
        self.world.as_ref().map(|world| Arc::new(world.place()) as Arc<dyn Processes>)
    }

    /// A number of each process, if there are several.
    pub fn of_each(&self, own: usize) -> Option<Vec<usize>> {
        self.world.as_ref().filter(|_| self.count() > 1).map(|world| of_each(&world.place(), own))
    }

    /// What is given, or an equal part of what this machine has for each of its processes.
    pub fn memory(&self, given: Option<u64>) -> MemoryLimit {
        let MemoryLimit(limit) = MemoryLimit::or_of_this_machine(given);
        let neighbours = self.world.as_ref().filter(|_| given.is_none()).map_or(1, mpi_world::World::neighbours);
        MemoryLimit(limit / neighbours.max(1))
    }

    /// Who decides when to end; none without a launcher.
    pub fn agreement(&self) -> Option<Arc<dyn Agreement>> {
        self.world.as_ref().map(|world| Arc::new(world.place()) as Arc<dyn Agreement>)
    }

    /// Ends the others as well, when this process cannot go on in the middle of a run, and they would wait for it.
    pub fn leave(&self, error: &Error) {
        // Who only heard of a failure leaves it to the one that had it.
        let own = !matches!(error, Error::Elsewhere | Error::Told(_));
        if let (Some(world), true) = (&self.world, own && self.count() > 1) {
            crate::tell(error);
            world.abort(error.exit_code());
        }
    }

    /// Goes on if all processes can: the first one that cannot says why, and then all end.
    pub fn together<T>(&self, outcome: Result<T, Error>) -> Result<T, Error> {
        let Some(place) = self.world.as_ref().map(mpi_world::World::place) else { return outcome };
        let own = match &outcome {
            // Who only heard of a failure has nothing to say.
            Ok(_) | Err(Error::Elsewhere | Error::Told(_)) => 0,
            Err(error) => error.exit_code(),
        };
        let codes = of_each(&place, own.into());
        let Some(first) = codes.iter().position(|code| *code != 0) else { return outcome };
        if let (true, Err(error)) = (first == place.rank, &outcome) {
            crate::tell(error);
        }
        // Nobody ends before that was told: launchers end the others when one does.
        of_each(&place, 0);
        Err(Error::Told(codes[first] as u8))
    }
}

/// Which process this is.
#[derive(Clone, Copy, Debug)]
struct Place {
    rank: usize,
    size: usize,
}

impl Processes for Place {
    fn rank(&self) -> usize {
        self.rank
    }

    fn count(&self) -> usize {
        self.size
    }

    fn parts_of(&self, rank: usize, parts: usize) -> Range<usize> {
        rank * parts / self.size..(rank + 1) * parts / self.size
    }

    fn send(&self, to: usize, message: &[u8]) {
        mpi_world::send(to, message);
    }

    fn receive(&self, from: usize) -> Vec<u8> {
        mpi_world::receive(from)
    }
}

impl Collective for Place {
    fn fill(&self, width: usize, memory: &mut [f64], compute: &(dyn Fn(usize, &mut [f64]) + Sync)) {
        let parts = memory.len().div_ceil(width.max(1));
        let own = self.parts_of(self.rank, parts);
        let (start, end) = (own.start * width, (own.end * width).min(memory.len()));
        tangor_problem::Threads.fill(width, &mut memory[start..end], &|k, part| compute(own.start + k, part));
        let ends: Vec<usize> = (0..self.size).map(|rank| (self.parts_of(rank, parts).end * width).min(memory.len())).collect();
        mpi_world::exchange(memory, start..end, &ends);
    }

    fn own_parts(&self, parts: usize) -> Option<Range<usize>> {
        Some(self.parts_of(self.rank, parts))
    }
}

impl Agreement for Place {
    fn decide(&self, own: Ending) -> Ending {
        let [late, interrupted] = mpi_world::first_says([own.late, own.interrupted]);
        Ending { late, interrupted }
    }
}

#[cfg(feature = "mpi")]
mod mpi_world {
    use std::ops::Range;

    use mpi::Threading;
    use mpi::datatype::PartitionMut;
    use mpi::environment::Universe;
    use mpi::topology::SimpleCommunicator;
    use mpi::traits::{Communicator, CommunicatorCollectives, Destination, Root, Source};

    use super::{Error, Place};

    /// MPI, from here to the end of the fit.
    pub struct World {
        universe: Universe,
    }

    impl std::fmt::Debug for World {
        fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            self.place().fmt(out)
        }
    }

    impl World {
        pub fn join(_launched: usize) -> Result<Option<Self>, Error> {
            // Sums may be computed on a thread of their own, one at a time.
            match mpi::initialize_with_threading(Threading::Serialized) {
                Some((universe, _)) => Ok(Some(World { universe })),
                None => Err(Error::Setting("MPI could not be started".to_string())),
            }
        }

        pub fn place(&self) -> Place {
            let world = self.universe.world();
            Place { rank: world.rank() as usize, size: world.size() as usize }
        }

        /// How many processes are on this machine; all must ask.
        pub fn neighbours(&self) -> u64 {
            self.universe.world().split_shared(0).size() as u64
        }

        pub fn abort(&self, code: u8) {
            self.universe.world().abort(code.into());
        }
    }

    /// Returns when the message is on its way: who sends more than is received waits.
    pub fn send(to: usize, message: &[u8]) {
        SimpleCommunicator::world().process_at_rank(to as i32).send(message);
    }

    /// The next message from another process.
    pub fn receive(from: usize) -> Vec<u8> {
        SimpleCommunicator::world().process_at_rank(from as i32).receive_vec().0
    }

    /// All processes have all of the memory, of which each computed a part; `ends` says where those of the processes end.
    pub fn exchange(memory: &mut [f64], own: Range<usize>, ends: &[usize]) {
        let computed = memory[own].to_vec();
        let starts = || std::iter::once(&0).chain(ends);
        let places: Vec<i32> = starts().take(ends.len()).map(|start| *start as i32).collect();
        let counts: Vec<i32> = ends.iter().zip(starts()).map(|(end, start)| (end - start) as i32).collect();
        let mut all = PartitionMut::new(memory, counts, &places[..]);
        SimpleCommunicator::world().all_gather_varcount_into(&computed[..], &mut all);
    }

    /// What the first process says.
    pub fn first_says(own: [bool; 2]) -> [bool; 2] {
        let mut said = own;
        SimpleCommunicator::world().process_at_rank(0).broadcast_into(&mut said[..]);
        said
    }
}

#[cfg(not(feature = "mpi"))]
mod mpi_world {
    use std::ops::Range;

    use super::{Error, Place};

    /// Without MPI there is none.
    #[derive(Debug)]
    pub enum World {}

    impl World {
        pub fn join(launched: usize) -> Result<Option<Self>, Error> {
            match launched {
                0 | 1 => Ok(None),
                _ => Err(Error::Setting(
                    "this program was built without MPI, so several processes would all do the same: build it with --features mpi"
                        .to_string(),
                )),
            }
        }

        pub fn place(&self) -> Place {
            match *self {}
        }

        pub fn neighbours(&self) -> u64 {
            match *self {}
        }

        pub fn abort(&self, _code: u8) {}
    }

    pub fn send(_to: usize, _message: &[u8]) {}

    pub fn receive(_from: usize) -> Vec<u8> {
        Vec::new()
    }

    pub fn exchange(_memory: &mut [f64], _own: Range<usize>, _ends: &[usize]) {}

    pub fn first_says(own: [bool; 2]) -> [bool; 2] {
        own
    }
}
