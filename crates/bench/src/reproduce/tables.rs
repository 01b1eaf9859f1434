//! Figure 3 and the two tables, each row beside the paper's.

use tangor_solver::{Point, Settings};

use super::{
    COMPLEMENTARITY, Experiment, FEASIBILITY, Laboratory, Outcome, Quantity, Runs, STATIONARITY, figure, solved_within, verdict,
};
use crate::Error;
use crate::contender::Contender;
use crate::figure::{BoxPanel, LabelledBox};
use crate::paper::{self, PaperRow};
use crate::record::Record;
use crate::report::{Cell, Column, Section, Table, trace_key};

impl Laboratory<'_> {
    /// Both sets with the defaults; the two experiments share these runs.
    fn both_sets(&self) -> Result<Runs, Error> {
        let contender = Contender::tangor("tangor", Settings::default());
        self.run(Experiment::Tables, self.members("paper")?, vec![contender], 1)
    }

    pub(super) fn inequality(&self) -> Result<Outcome, Error> {
        let runs = self.both_sets()?;
        let sets = [("equality", paper::equality(), 2), ("inequality", paper::inequality(), 3)];
        let mut figures = Vec::new();
        for (name, rows, quantities) in sets {
            let records = of_table(&runs.records, rows);
            let quantities = &[STATIONARITY, FEASIBILITY, COMPLEMENTARITY][..quantities];
            let panels = quantities.iter().map(|quantity| beside(*quantity, &records, rows)).collect();
            let title = format!("Figure 3: {} problems with {name} constraints", rows.len());
            figures.push((name.to_string(), figure(&title, panels)));
        }
        let section = Section {
            title: "Inequality".into(),
            paragraphs: vec![
                "Residuals after at most the given number of iterations, beside those that the paper's tables report. The paper's \
                 runs had noisy functions, and it does not say of which level; ours are exact here, and stop at 1e-6."
                    .into(),
            ],
            figures,
            tables: Vec::new(),
        };
        Ok((vec![section], runs.records, runs.missing))
    }

    pub(super) fn tables(&self) -> Result<Outcome, Error> {
        let runs = self.both_sets()?;
        let seconds: f64 = runs.records.iter().map(|record| record.seconds).sum();
        let counts = Section {
            title: "Tables".into(),
            paragraphs: vec![
                format!("The solver worked for {seconds:.1} s on all {} problems together.", runs.records.len()),
                "A problem counts as solved when stationarity, feasibility and complementarity are all within the tolerance. \
                 Infeasible: the constraints are violated and the projected gradient of the violation is at most 1e-6 times \
                 the violation (if that is below 1), recomputed."
                    .into(),
            ],
            figures: Vec::new(),
            tables: vec![thresholds(&runs.records)],
        };
        let equality = table("Table of problems with equality constraints", paper::equality(), &runs.records);
        let inequality = table("Table of problems with inequality constraints", paper::inequality(), &runs.records);
        let of = |title: &str, table| Section { title: title.into(), tables: vec![table], ..Section::default() };
        let sections = vec![counts, of("Equality constraints", equality), of("Inequality constraints", inequality)];
        Ok((sections, runs.records, runs.missing))
    }
}

fn of_table<'a>(records: &'a [Record], rows: &[PaperRow]) -> Vec<&'a Record> {
    records.iter().filter(|record| rows.iter().any(|row| row.problem == record.problem)).collect()
}

/// The paper's box and ours.
fn beside(quantity: Quantity, records: &[&Record], rows: &[PaperRow]) -> BoxPanel {
    let published = |row: &PaperRow| match quantity.title {
        title if title == STATIONARITY.title => Some(row.stationarity),
        title if title == FEASIBILITY.title => Some(row.feasibility),
        _ => row.complementarity,
    };
    let ours = records.iter().map(|record| (quantity.value)(record).unwrap_or(f64::INFINITY));
    BoxPanel {
        title: quantity.title.into(),
        boxes: vec![
            LabelledBox { label: "the paper".into(), color: 5, values: rows.iter().filter_map(published).collect() },
            LabelledBox { label: "Tangor".into(), color: 0, values: ours.collect() },
        ],
    }
}

fn thresholds(records: &[Record]) -> Table {
    let sets = [paper::equality(), paper::inequality()].map(|rows| (rows, of_table(records, rows)));
    let mut table =
        Table { caption: "Problems with all residuals at most".into(), columns: vec![Column::words("")], ..Table::default() };
    for (name, (rows, _)) in ["equality", "inequality"].into_iter().zip(&sets) {
        table.columns.push(Column::numbers(&format!("{name}: the paper, of {}", rows.len())));
        table.columns.push(Column::numbers(&format!("{name}: Tangor")));
    }
    for eps in [1e-3, 1e-4, 1e-6] {
        let mut row = vec![Cell::words(format!("{eps:e}"))];
        for (rows, records) in &sets {
            row.push(Cell::count(rows.iter().filter(|row| row.worst() <= eps).count() as u64));
            row.push(Cell::count(solved_within(records, eps) as u64));
        }
        table.rows.push(row);
    }
    let mut row = vec![Cell::words("infeasible stationary, verified")];
    for (_, records) in &sets {
        let infeasible = records.iter().filter(|record| record.point == Point::EpsInfeasibleStationary).count();
        row.extend([Cell::words("–"), Cell::count(infeasible as u64)]);
    }
    table.rows.push(row);
    table
}

fn table(caption: &str, rows: &[PaperRow], records: &[Record]) -> Table {
    let mut columns = vec![Column::words("problem")];
    let numbers =
        ["dim.", "constraints", "stationarity: paper", "ours", "feasibility: paper", "ours", "complementarity: paper", "ours"];
    columns.extend(numbers.map(Column::numbers));
    columns.push(Column::words("verdict"));
    columns.extend(["objective", "iterations", "evaluations", "seconds"].map(Column::numbers));
    let line = |row: &PaperRow| {
        let record = records.iter().find(|record| record.problem == row.problem)?;
        let class = if matches!(record.point, Point::EpsKkt | Point::EpsInfeasibleStationary) { "good" } else { "bad" };
        Some(vec![
            Cell::words(&row.problem).opening(trace_key(record)),
            Cell::count(row.dim as u64),
            Cell::count(row.constraints as u64),
            Cell::residual(Some(row.stationarity)),
            Cell::residual(record.stationarity),
            Cell::residual(Some(row.feasibility)),
            Cell::residual(record.feasibility),
            Cell::number(row.complementarity),
            Cell::residual(record.complementarity),
            Cell::words(verdict(record)).class(class),
            Cell::number(record.objective),
            Cell::count(record.iterations),
            Cell::count(record.evaluations()),
            Cell { text: format!("{:.3}", record.seconds), sort: Some(record.seconds), ..Cell::default() },
        ])
    };
    Table { caption: caption.into(), columns, rows: rows.iter().filter_map(line).collect(), filter: true }
}
