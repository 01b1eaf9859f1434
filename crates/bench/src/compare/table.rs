//! Result tables of several forms: Tangor's rows (CSV, JSON lines), the paper's two tables, and a plain list of statuses such as
//! `problem,table,status,objective,iterations,objective_evaluations`.

use std::collections::BTreeMap;
use std::path::Path;

use csv::StringRecord;
use tangor_problem::MemoryLimit;
use tangor_solver::Point;

use crate::Error;
use crate::record::{Ending, Record};

/// What is known of one run on one problem.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The largest of the KKT residuals; absent when the table has none.
    pub residual: Option<f64>,
    /// Without residuals: the solver's word that the problem is solved.
    pub word: bool,
    /// An infeasible stationary point was found; verified if there are residuals, otherwise the solver's word.
    pub infeasible: bool,
    /// The solver did not take the problem, or does not know its kind: neither solved nor lost.
    pub refused: bool,
    /// The objective.
    pub objective: Option<f64>,
    /// Variables.
    pub n: Option<usize>,
    /// Iterations.
    pub iterations: Option<f64>,
    /// Evaluations: of values and first derivatives in Tangor's rows, of the objective in a list of statuses.
    pub evaluations: Option<f64>,
    /// Seconds.
    pub seconds: Option<f64>,
    /// Megabytes that the run needed at most.
    pub memory: Option<f64>,
}

impl Entry {
    /// Whether all residuals are within `eps`, or, without residuals, the solver says so.
    pub fn is_solved(&self, eps: f64) -> bool {
        self.residual.map_or(self.word, |residual| residual <= eps)
    }
}

/// A solver and its results by problem.
#[derive(Clone, Debug)]
pub struct Entrant {
    /// What it is called.
    pub label: String,
    /// Whether there are residuals, so that "solved" was verified.
    pub verified: bool,
    /// The results. Of several seeds the one with the median residual.
    pub entries: BTreeMap<String, Entry>,
}

/// Reads all solvers of a file. A label that is taken already gets the name of the file.
pub fn read(path: &Path) -> Result<Vec<Entrant>, Error> {
    let text = MemoryLimit::of_this_machine().read_text(path).map_err(|cause| Error::unreadable(path, cause))?;
    let file = path.file_stem().map_or_else(|| "table".to_string(), |stem| stem.to_string_lossy().into_owned());
    if text.trim_start().starts_with('{') {
        let rows = text.lines().filter(|line| !line.trim().is_empty()).map(serde_json::from_str::<Record>);
        let rows: Result<Vec<Record>, _> = rows.collect();
        return Ok(of_records(&rows.map_err(|cause| Error::table(path, cause))?));
    }
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let header = reader.headers().map_err(|cause| Error::table(path, cause))?.clone();
    let has = |names: &[&str]| names.iter().all(|name| header.iter().any(|column| column == *name));
    if has(&["problem", "solver", "seed", "stop", "point"]) {
        let rows: Result<Vec<Record>, _> = reader.deserialize().collect();
        return Ok(of_records(&rows.map_err(|cause| Error::table(path, cause))?));
    }
    let entry: fn(&Columns) -> Entry = if has(&["problem", "stationarity", "feasibility"]) {
        published
    } else if has(&["problem", "status"]) {
        by_word
    } else {
        let reason = "it needs the columns problem and status, or problem, stationarity and feasibility, or all of Tangor's";
        return Err(Error::table(path, reason));
    };
    let mut entries = BTreeMap::new();
    for row in reader.records() {
        let row = row.map_err(|cause| Error::table(path, cause))?;
        let columns = Columns { header: &header, row: &row };
        entries.insert(columns.text("problem").to_string(), entry(&columns));
    }
    Ok(vec![Entrant { label: file, verified: !has(&["status"]), entries }])
}

struct Columns<'a> {
    header: &'a StringRecord,
    row: &'a StringRecord,
}

impl Columns<'_> {
    fn text(&self, name: &str) -> &str {
        let place = self.header.iter().position(|column| column == name);
        place.and_then(|place| self.row.get(place)).unwrap_or_default().trim()
    }

    fn number(&self, name: &str) -> Option<f64> {
        self.text(name).parse().ok()
    }
}

fn published(row: &Columns) -> Entry {
    let residuals = ["stationarity", "feasibility", "complementarity"].map(|name| row.number(name));
    // The first two must be there; a table of equality-constrained problems has no complementarity.
    let known = residuals[0].is_some() && residuals[1].is_some();
    let worst = residuals.into_iter().flatten().fold(0.0, f64::max);
    Entry { residual: Some(if known { worst } else { f64::INFINITY }), ..by_word(row) }
}

fn by_word(row: &Columns) -> Entry {
    let status = row.text("status");
    Entry {
        residual: None,
        word: status == "solved",
        infeasible: status == "infeasible",
        refused: status == "refused",
        objective: row.number("objective"),
        n: row.number("dim").map(|dim| dim as usize),
        iterations: row.number("iterations"),
        evaluations: row.number("objective_evaluations"),
        seconds: row.number("seconds"),
        memory: row.number("memory"),
    }
}

/// The solvers among rows, in the order in which they come.
pub fn of_records(records: &[Record]) -> Vec<Entrant> {
    let mut labels: Vec<&str> = Vec::new();
    records.iter().for_each(|row| {
        if !labels.contains(&row.solver.as_str()) {
            labels.push(&row.solver)
        }
    });
    let entrant = |label: &str| {
        let mut runs: BTreeMap<String, Vec<Entry>> = BTreeMap::new();
        for row in records.iter().filter(|row| row.solver == label) {
            runs.entry(row.problem.clone()).or_default().push(of_record(row));
        }
        let entries = runs.into_iter().filter_map(|(problem, entries)| Some((problem, middle(entries)?))).collect();
        Entrant { label: label.to_string(), verified: true, entries }
    };
    labels.into_iter().map(entrant).collect()
}

fn of_record(row: &Record) -> Entry {
    Entry {
        residual: Some(row.residuals().map_or(f64::INFINITY, |residuals| residuals.worst())),
        word: false,
        infeasible: row.point == Point::EpsInfeasibleStationary,
        refused: row.stop == Ending::Refused,
        objective: row.objective,
        n: Some(row.n).filter(|n| *n > 0),
        iterations: Some(row.iterations as f64),
        evaluations: Some(row.evaluations() as f64),
        seconds: Some(row.seconds),
        memory: row.memory,
    }
}

/// The middle one by its residual.
fn middle(mut entries: Vec<Entry>) -> Option<Entry> {
    entries.sort_by(|a, b| a.residual.unwrap_or(0.0).total_cmp(&b.residual.unwrap_or(0.0)));
    let middle = entries.len().checked_sub(1)?.div_ceil(2);
    Some(entries.swap_remove(middle))
}
