//! What the runs show: medians and worst seeds beside tuned methods, as a table, as data and as pictures.

use tangor_figure::{Line, LineFigure, LinePanel, Scale, median};
use tangor_learn::tasks::{Measure, Task};
use tangor_problem::count_of;

use super::{MARKS, Run, Spent};
use crate::report::{Cell, Column, Table};
use crate::{Error, spreadsheet};

/// What a method reached whose settings were tuned for the task, with the same number of samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Peer {
    /// The task.
    pub task: Task,
    /// The method.
    pub name: &'static str,
    /// Loss, violation and KKT residual: medians over its seeds.
    pub figures: [f64; 3],
}

/// Figures that others measured, by the same measure.
pub const PEERS: [Peer; 5] = [
    Peer { task: Task::Logistic, name: "best tuned", figures: [0.25172, 2.4e-5, 4.4e-3] },
    Peer { task: Task::Fair, name: "best tuned", figures: [0.3980, 1e-2, 9.1e-3] },
    Peer { task: Task::FairNetwork, name: "best tuned", figures: [0.369, 0.0, 1.5e-2] },
    Peer { task: Task::Heat, name: "best tuned", figures: [4.5e-4, 3.7e-3, 3.0e-3] },
    Peer { task: Task::Heat, name: "stochastic SQP, tuned", figures: [9.7e-4, 1e-10, 1.6e-3] },
];

/// A name, and how the figure is read off a measurement.
type Figure = (&'static str, fn(&Measure) -> f64);

/// What is measured, in this order.
const FIGURES: [Figure; 3] = [("loss", |at| at.loss), ("violation", |at| at.violation), ("KKT residual", Measure::kkt)];

/// Everything that was run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Which tasks were asked for.
    pub tasks: Vec<Task>,
    /// Every run.
    pub runs: Vec<Run>,
    /// Runs that are missing because of an interrupt.
    pub missing: usize,
    pub(super) share: f64,
    pub(super) batch: usize,
}

/// The middle one of some values and the largest; NaN counts as the largest.
fn middle_and_most(values: Vec<f64>) -> Option<(f64, f64)> {
    let most = values.iter().copied().max_by(f64::total_cmp)?;
    Some((median(values)?, most))
}

impl Run {
    /// Its row in the file of all runs.
    fn cells(&self) -> Vec<String> {
        let Run { task, seed, stop, end, iterations, samples, spent, seconds, .. } = self;
        let Spent { passes, joined, last, repeated } = spent;
        let stop = serde_json::to_value(stop).unwrap_or_default();
        let (name, stop) = (task.name().to_string(), stop.as_str().unwrap_or("?").to_string());
        let residuals =
            [end.violation, end.stationarity, end.complementarity, end.kkt()].map(|residual| format!("{residual:e}"));
        let counts = [*iterations, *samples].map(|count| count.to_string());
        let draws = [passes, joined, last, repeated].map(|draws| draws.to_string());
        let outcome = [name, seed.to_string(), stop, end.loss.to_string()].into_iter().chain(residuals);
        outcome.chain(counts).chain([format!("{seconds:.3}")]).chain(draws).collect()
    }
}

impl Outcome {
    fn of(&self, task: Task) -> impl Iterator<Item = &Run> {
        self.runs.iter().filter(move |run| run.task == task)
    }

    /// Medians and worst seeds of a task: loss, violation and KKT residual. None: it was not run.
    pub fn figures(&self, task: Task) -> Option<[(f64, f64); 3]> {
        let all = FIGURES.map(|(_, figure)| middle_and_most(self.of(task).map(|run| figure(&run.end)).collect()));
        let [loss, violation, kkt] = all;
        Some([loss?, violation?, kkt?])
    }

    /// Medians and worst seeds beside the tuned methods.
    pub fn table(&self) -> Table {
        let mut columns = vec![Column::words("task"), Column::words("method")];
        columns.extend(FIGURES.map(|(name, _)| Column::numbers(name)));
        let effort = ["iterations", "samples", "passes", "joined", "last", "repeated", "seconds"];
        columns.extend(effort.map(Column::numbers));
        let mut rows = Vec::new();
        for &task in &self.tasks {
            let figures = |name: &str, values: [f64; 3], effort: [Cell; 7]| {
                let loss = Cell { text: format!("{:.5}", values[0]), sort: Some(values[0]), ..Cell::default() };
                let mut row = vec![Cell::words(task.name()), Cell::words(name), loss];
                row.extend([Cell::number(Some(values[1])), Cell::number(Some(values[2]))]);
                row.extend(effort);
                row
            };
            let blank = || [(); 7].map(|()| Cell::words(""));
            if let Some(found) = self.figures(task) {
                let median = |of: fn(&Run) -> f64| middle_and_most(self.of(task).map(of).collect()).map_or(0.0, |both| both.0);
                let share = |of: fn(&Run) -> u64| {
                    let shares = self.of(task).map(|run| of(run) as f64 / run.samples.max(1) as f64).collect();
                    let share = middle_and_most(shares).map_or(0.0, |both| both.0);
                    Cell { text: format!("{:.1} %", 100.0 * share), sort: Some(share), ..Cell::default() }
                };
                let effort = [
                    Cell::count(median(|run| run.iterations as f64) as u64),
                    Cell::count(median(|run| run.samples as f64) as u64),
                    share(|run| run.spent.passes),
                    share(|run| run.spent.joined),
                    share(|run| run.spent.last),
                    share(|run| run.spent.repeated),
                    Cell::seconds(median(|run| run.seconds)),
                ];
                let seeds = self.of(task).count();
                rows.push(figures(&format!("Tangor, median of {seeds}"), found.map(|both| both.0), effort));
                rows.push(figures("Tangor, worst", found.map(|both| both.1), blank()));
            }
            let peers = PEERS.iter().filter(|peer| peer.task == task);
            rows.extend(peers.map(|peer| figures(peer.name, peer.figures, blank())));
        }
        let share = if self.share == 1.0 { String::new() } else { format!(", {} of the samples", self.share) };
        let caption = format!("Learning tasks, default settings, batches of {}{share}", self.batch);
        Table { caption, columns, rows, filter: false }
    }

    /// Every run, and a picture for each task: file names and contents.
    pub fn files(&self) -> Result<Vec<(String, String)>, Error> {
        let heading = ["task", "seed", "stop", "loss", "violation", "stationarity", "complementarity", "kkt"];
        let effort = ["iterations", "samples", "seconds", "passes", "joined", "last", "repeated"];
        let heading: Vec<String> = heading.into_iter().chain(effort).map(String::from).collect();
        let mut files = vec![("learning.csv".to_string(), spreadsheet::of_cells(&heading, self.runs.iter().map(Run::cells))?)];
        let pictures = self.tasks.iter().filter(|task| self.of(**task).next().is_some());
        files.extend(pictures.map(|&task| (format!("learning-{}.svg", task.name()), self.picture(task))));
        Ok(files)
    }

    /// Loss, violation and KKT residual of the iterates against samples.
    fn picture(&self, task: Task) -> String {
        let most = self.share * task.samples() as f64;
        let marks = 0..=MARKS as usize;
        let panels = FIGURES.iter().enumerate().map(|(k, (name, figure))| {
            let at = |mark: usize| middle_and_most(self.of(task).map(|run| figure(&run.course[mark])).collect());
            let values: Vec<(f64, f64)> = marks.clone().map(|mark| at(mark).unwrap_or((f64::NAN, f64::NAN))).collect();
            let mut lines = vec![
                Line { label: "median".into(), color: 0, values: values.iter().map(|both| both.0).collect() },
                Line { label: "worst seed".into(), color: 1, values: values.iter().map(|both| both.1).collect() },
            ];
            let peers = PEERS.iter().filter(|peer| peer.task == task).enumerate();
            lines.extend(peers.map(|(i, peer)| Line {
                label: peer.name.into(),
                color: 2 + i,
                values: vec![peer.figures[k]; MARKS as usize + 1],
            }));
            LinePanel {
                title: (*name).into(),
                height: 220.0,
                scale: Scale::Logarithmic,
                lines,
                dots: Vec::new(),
                dots_label: String::new(),
                tolerances: Vec::new(),
            }
        });
        LineFigure {
            title: format!("{}: loss, violation and KKT residual", task.name()),
            subtitle: format!(
                "on all the data, {}, default settings; methods tuned by others as lines",
                count_of(self.of(task).count(), "seed")
            ),
            axis: "samples".into(),
            iterations: marks.clone().map(|mark| (most * mark as f64 / MARKS as f64) as u64).collect(),
            panels: panels.collect(),
        }
        .draw()
    }
}
