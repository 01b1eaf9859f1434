//! Rows on their way from a file to where they stay: in this process, or in the one that is to have them.
//!
//! Each process reads its own part of a file that all of them see. Where a part cannot be read alone, the first process reads, sends each of
//! the others its rows in parcels, and in the end what is known of all rows, or that they cannot be had.

use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tangor_problem::MemoryLimit;

use crate::cache::Room;
use crate::cut::{Rule, cut, own_rows};
use crate::data::OF_A_ROW;
use crate::features::{Collector, Entry};
use crate::sharing::{agreed, damaged, ends, of_each};
use crate::{DataSet, Encoding, Error, Grouping, Input, Labels, Processes, Share};

/// Rows are sent when they are so many bytes or a few more.
const PARCEL: usize = 1 << 20;

/// A row that is in no group.
const NONE: u16 = u16::MAX;

/// A row as it is kept.
#[derive(Clone, Copy)]
pub(crate) struct Row<'a> {
    pub dense: &'a [f32],
    pub sparse: &'a [Entry],
    pub positive: bool,
    /// Its group of every grouping.
    pub groups: &'a [Option<u16>],
    /// How much it counts, if rows have weights.
    pub weight: Option<f64>,
}

/// What all rows of a file have in common, known before they are read.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Shape {
    /// Dense features.
    pub dense: usize,
    /// Groupings.
    pub groups: usize,
    /// Whether rows have weights.
    pub weighted: bool,
}

/// What is known of a file when all of its rows were read.
#[derive(Serialize, Deserialize)]
pub(crate) struct Facts {
    pub name: String,
    pub encoding: Encoding,
    pub labels: Labels,
    /// Whether the labels turned out to be the other way round.
    pub turned: bool,
    /// Columns of groups and their values.
    pub groups: Vec<(String, Vec<String>)>,
    #[serde(skip)]
    pub remarks: Vec<String>,
}

/// Where rows of a file may be kept: in how much memory, and where what is beyond it goes.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub file: PathBuf,
    pub memory: MemoryLimit,
    pub room: Room,
}

/// Who has the rows of a file, and how they get there.
#[derive(Clone, Copy)]
pub(crate) enum Sharing<'a> {
    /// This process has all.
    Alone,
    /// The first process reads all of them, and sends the others theirs.
    Sent(&'a dyn Processes),
    /// Each process reads its own, of so many.
    Parts { processes: &'a dyn Processes, rows: usize },
}

impl<'a> Sharing<'a> {
    /// The processes that read a part each.
    pub fn parts(self) -> Option<&'a dyn Processes> {
        if let Sharing::Parts { processes, .. } = self { Some(processes) } else { None }
    }

    /// Whether this process tells people what they should know.
    pub fn tells(self) -> bool {
        self.parts().is_none_or(|processes| processes.rank() == 0)
    }

    /// How many rows the file has of which so many are here.
    pub fn all_of(self, here: usize) -> usize {
        if let Sharing::Parts { rows, .. } = self { rows } else { here }
    }

    /// How many rows the file has, where that must be known before they are read; who sends them counts them.
    pub fn rows(self, count: impl FnOnce() -> Result<usize, Error>) -> Result<Option<usize>, Error> {
        match self {
            Sharing::Alone => Ok(None),
            Sharing::Sent(_) => count().map(Some),
            Sharing::Parts { rows, .. } => Ok(Some(rows)),
        }
    }
}

/// The rows of this process.
struct Kept {
    shape: Shape,
    features: Collector,
    positive: Vec<bool>,
    members: Vec<Vec<Option<u16>>>,
    weights: Vec<f64>,
}

impl Kept {
    /// No rows yet; there will be so many if that is known.
    fn new(shape: Shape, rows: Option<usize>, place: &Place) -> Result<Self, Error> {
        let rows = rows.unwrap_or(0);
        let what = || format!("labels, groups and weights of the {rows} rows of {}", place.file.display());
        place.memory.check((OF_A_ROW * rows) as u128, what)?;
        Ok(Kept {
            shape,
            features: Collector::new(shape.dense, Some(place.room.clone())),
            positive: Vec::with_capacity(rows),
            members: vec![Vec::with_capacity(rows); shape.groups],
            weights: Vec::new(),
        })
    }

    fn push(&mut self, row: Row) -> Result<(), Error> {
        self.features.push(row.dense, row.sparse.iter().copied())?;
        self.positive.push(row.positive);
        self.members.iter_mut().zip(row.groups).for_each(|(members, group)| members.push(*group));
        self.weights.extend(row.weight);
        Ok(())
    }

    /// The rows of a parcel.
    fn unpack(&mut self, parcel: &[u8]) -> Result<(), Error> {
        let Shape { dense, groups, weighted } = self.shape;
        let (mut values, mut entries, mut places) = (vec![0.0; dense], Vec::new(), vec![None; groups]);
        let mut rest = Unpacked(parcel);
        while !rest.0.is_empty() {
            let row = (|| {
                let ([positive], count) = (rest.take::<1>()?, u32::from_le_bytes(rest.take()?));
                for group in &mut places {
                    *group = Some(u16::from_le_bytes(rest.take()?)).filter(|group| *group != NONE);
                }
                let weight = if weighted { Some(f64::from_le_bytes(rest.take()?)) } else { None };
                for value in &mut values {
                    *value = f32::from_le_bytes(rest.take()?);
                }
                entries.clear();
                for _ in 0..count {
                    let (column, value) = (u32::from_le_bytes(rest.take()?), f32::from_le_bytes(rest.take()?));
                    entries.push(Entry { column, value });
                }
                Some((positive != 0, weight))
            })();
            let (positive, weight) = row.ok_or_else(damaged)?;
            self.push(Row { dense: &values, sparse: &entries, positive, groups: &places, weight })?;
        }
        Ok(())
    }

    /// All rows, whose weights are as they were read.
    fn finish(mut self, facts: Facts) -> Result<DataSet, Error> {
        let (features, remark) = self.features.finish(facts.encoding.features())?;
        self.positive.iter_mut().for_each(|positive| *positive ^= facts.turned);
        let groups = facts.groups.into_iter().zip(self.members);
        Ok(DataSet {
            name: facts.name,
            encoding: facts.encoding,
            labels: facts.labels,
            features,
            positive: self.positive,
            groupings: groups.map(|((column, values), members)| Grouping { column, values, members }).collect(),
            weights: self.shape.weighted.then_some(self.weights),
            remarks: facts.remarks.into_iter().chain(remark).collect(),
            shared: None,
        })
    }
}

/// The bytes of a parcel that are still to be understood.
struct Unpacked<'a>(&'a [u8]);

impl Unpacked<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*first)
    }
}

fn pack(row: Row, parcel: &mut Vec<u8>) {
    parcel.push(u8::from(row.positive));
    parcel.extend((row.sparse.len() as u32).to_le_bytes());
    row.groups.iter().for_each(|group| parcel.extend(group.unwrap_or(NONE).to_le_bytes()));
    row.weight.iter().for_each(|weight| parcel.extend(weight.to_le_bytes()));
    row.dense.iter().for_each(|value| parcel.extend(value.to_le_bytes()));
    for entry in row.sparse {
        parcel.extend(entry.column.to_le_bytes());
        parcel.extend(entry.value.to_le_bytes());
    }
}

/// What the first byte of a message says of the others.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Rows of this shape follow, of so many.
    Begin = 1,
    Rows = 2,
    /// The facts, and no more rows.
    End = 3,
    /// There will be no data.
    Failed = 4,
}

impl Kind {
    fn with(self, what: &impl Serialize) -> Vec<u8> {
        // Numbers, texts and lists of them become JSON in any case.
        [vec![self as u8], serde_json::to_vec(what).unwrap_or_default()].concat()
    }
}

/// Takes the rows that are read, in their order.
pub(crate) struct Distribution<'a> {
    kept: Kept,
    others: Option<Others<'a>>,
    /// How many rows came.
    pub rows: usize,
    /// How many there were before, if they were counted.
    expected: Option<usize>,
}

/// The other processes, seen from the first one.
struct Others<'a> {
    processes: &'a dyn Processes,
    ends: Vec<usize>,
    /// Whose rows these are.
    to: usize,
    parcel: Vec<u8>,
}

impl<'a> Distribution<'a> {
    /// Before the first row. Several processes must know how many there will be.
    pub fn new(shape: Shape, rows: Option<usize>, place: &Place, sharing: Sharing<'a>) -> Result<Self, Error> {
        let (processes, rows) = match (sharing, rows) {
            (Sharing::Sent(processes), Some(rows)) => (processes, rows),
            (Sharing::Parts { processes, rows }, _) => {
                let own = Some(own_rows(processes, rows).len());
                return Ok(Distribution { kept: Kept::new(shape, own, place)?, others: None, rows: 0, expected: own });
            }
            _ => return Ok(Distribution { kept: Kept::new(shape, rows, place)?, others: None, rows: 0, expected: rows }),
        };
        let ends = ends(processes, rows);
        let kept = Kept::new(shape, Some(ends[0]), place)?;
        for to in 1..ends.len() {
            processes.send(to, &Kind::Begin.with(&(shape, ends[to] - ends[to - 1])));
        }
        let others = Others { processes, ends, to: 0, parcel: vec![Kind::Rows as u8] };
        Ok(Distribution { kept, others: Some(others), rows: 0, expected: Some(rows) })
    }

    pub fn push(&mut self, row: Row) -> Result<(), Error> {
        self.rows += 1;
        let Some(others) = &mut self.others else { return self.kept.push(row) };
        if others.has_reached(self.rows - 1) == 0 {
            return self.kept.push(row);
        }
        pack(row, &mut others.parcel);
        if others.parcel.len() >= PARCEL {
            others.send();
        }
        Ok(())
    }

    /// All rows came; those of this process.
    pub fn finish(mut self, facts: Facts) -> Result<DataSet, Error> {
        // A file that changes while it is read has other rows than it had.
        if self.expected.is_some_and(|expected| expected != self.rows) {
            return Err(Error::Senseless(format!("{} has changed while it was read", facts.name)));
        }
        let Some(others) = &mut self.others else { return self.kept.finish(facts) };
        others.send();
        let (processes, message) = (others.processes, Kind::End.with(&facts));
        let data = self.kept.finish(facts)?;
        (1..processes.count()).for_each(|to| processes.send(to, &message));
        Ok(data)
    }
}

impl Others<'_> {
    /// The process that has a row; what was packed for the ones before is sent.
    fn has_reached(&mut self, row: usize) -> usize {
        while self.to + 1 < self.ends.len() && row >= self.ends[self.to] {
            self.send();
            self.to += 1;
        }
        self.to
    }

    fn send(&mut self) {
        if self.parcel.len() > 1 {
            self.processes.send(self.to, &self.parcel);
            self.parcel.truncate(1);
        }
    }
}

/// Has every process read and keep its own rows, or the first one read all where that cannot be; without several processes all rows.
/// `rule` says how the file is cut into rows if it is a text.
///
/// If one of them cannot, none has data, and the first of those that could not says why.
pub(crate) fn distributed(
    processes: Option<&Arc<dyn Processes>>,
    (input, place): (&Input, &Place),
    rule: impl FnOnce() -> Result<Rule, Error>,
    read: impl FnOnce(&Input, Sharing) -> Result<DataSet, Error>,
) -> Result<DataSet, Error> {
    let Some(processes) = processes else { return read(input, Sharing::Alone)?.with_mean_weight_one() };
    let outcome = match cut(input, rule, &**processes)? {
        Some(cut) => read(&input.part(cut.part), Sharing::Parts { processes: &**processes, rows: cut.rows }),
        None if processes.rank() == 0 => {
            let read = read(input, Sharing::Sent(&**processes)).inspect_err(|_| {
                (1..processes.count()).for_each(|to| processes.send(to, &[Kind::Failed as u8]));
            });
            Ok(read?)
        }
        None => receive(&**processes, place).ok_or(Error::Elsewhere)?,
    };
    together(outcome, Arc::clone(processes))?.with_mean_weight_one()
}

/// The data of this process as a part of those of all, if all have theirs.
pub(crate) fn together(outcome: Result<DataSet, Error>, processes: Arc<dyn Processes>) -> Result<DataSet, Error> {
    let data = agreed(&*processes, outcome)?;
    let rows = of_each(&*processes, data.positive.len());
    let numbers = of_each(&*processes, data.features.entries()).iter().sum();
    let first = rows[..processes.rank()].iter().sum();
    let held = of_each(&*processes, data.held()).into_iter().fold(0, usize::max);
    let share = Share { rows: rows.iter().sum(), first, numbers, held, collective: processes };
    Ok(DataSet { shared: Some(share), ..data })
}

/// What the first process sends; none if it has nothing to send. Rows that cannot be kept are taken all the same: it would wait.
fn receive(processes: &dyn Processes, place: &Place) -> Option<Result<DataSet, Error>> {
    let mut kept = Err(Error::Elsewhere);
    loop {
        let message = processes.receive(0);
        let (kind, message) = message.split_first()?;
        match *kind {
            kind if kind == Kind::Begin as u8 => {
                let shape = serde_json::from_slice::<(Shape, usize)>(message).map_err(|_| damaged());
                kept = shape.and_then(|(shape, rows)| Kept::new(shape, Some(rows), place));
            }
            kind if kind == Kind::Rows as u8 => {
                kept = kept.and_then(|mut kept: Kept| kept.unpack(message).map(|()| kept));
            }
            kind if kind == Kind::End as u8 => {
                let facts = serde_json::from_slice::<Facts>(message).map_err(|_| damaged());
                return Some(kept.and_then(|kept| kept.finish(facts?)));
            }
            _ => return None,
        }
    }
}
