use std::ops::Range;
use std::sync::Arc;

use tangor_problem::{Draw, MemoryLimit, Stream, own_members};

use crate::distribution::together;
use crate::features::Collector;
use crate::regression::probability;
use crate::{Column, DataSet, Encoding, Error, Grouping, Kind, Labels, Processes, Scale};

/// Data made up on the spot: normal features `x1, x2, ...`, labels that follow a logistic model, and two groups `a` and `b` in a column
/// `group`, of which `b` has higher values of `x1` and more positive labels. The same seed gives the same data.
pub fn generate(rows: usize, columns: usize, seed: u64) -> Result<DataSet, Error> {
    generate_shared(rows, columns, seed, None, MemoryLimit::of_this_machine())
}

/// The same within so much memory, and for several processes if there are any: each makes up its own rows.
pub fn generate_shared(
    rows: usize,
    columns: usize,
    seed: u64,
    processes: Option<Arc<dyn Processes>>,
    memory: MemoryLimit,
) -> Result<DataSet, Error> {
    let Some(processes) = processes else { return made_up((rows, 0..rows), columns, seed, memory) };
    let own = own_members(&*processes, rows);
    together(made_up((rows, own), columns, seed, memory), processes)
}

/// Some rows of all.
fn made_up((rows, own): (usize, Range<usize>), columns: usize, seed: u64, memory: MemoryLimit) -> Result<DataSet, Error> {
    if rows < 2 || columns == 0 {
        return Err(Error::Senseless(format!("data of {rows} rows and {columns} columns cannot be fitted")));
    }
    // Four bytes for each feature, and eight for the label and the group of a row.
    let needed = own.len() as u128 * (4 * columns as u128 + 8);
    memory.check(needed, || format!("data of {} rows and {columns} columns", own.len()))?;
    let weights: Vec<f64> = (0..columns).map(|j| (1.0 + j as f64).cos() / (1.0 + j as f64).sqrt()).collect();
    let mut features = Collector::new(columns, None);
    let (mut positive, mut members) = (Vec::with_capacity(own.len()), Vec::with_capacity(own.len()));
    let mut row = vec![0.0; columns];
    for i in own {
        let mut stream = Stream::new(Draw(i as u64), seed);
        let in_b = stream.uniform() < 0.4;
        row.iter_mut().for_each(|value| *value = stream.normal() as f32);
        row[0] += if in_b { 1.0 } else { 0.0 };
        let margin: f64 = weights.iter().zip(&row).map(|(w, a)| w * f64::from(*a)).sum();
        positive.push(stream.uniform() < probability(margin - 0.5 + if in_b { 0.8 } else { 0.0 }));
        members.push(Some(u16::from(in_b)));
        features.push(&row, [])?;
    }
    let (features, _) = features.finish(columns)?;
    let column = |j: usize| Column { name: format!("x{}", j + 1), kind: Kind::Number(Scale::NONE) };
    Ok(DataSet {
        name: "generated".to_string(),
        encoding: Encoding::Columns((0..columns).map(column).collect()),
        labels: Labels { column: "label".to_string(), negative: "0".to_string(), positive: "1".to_string() },
        features,
        positive,
        groupings: vec![Grouping { column: "group".to_string(), values: vec!["a".to_string(), "b".to_string()], members }],
        weights: None,
        remarks: Vec::new(),
        shared: None,
    })
}
