//! Figure 3 and the two tables, each row beside the paper's.

use tangor_problem::count_of;
use tangor_solver::{Point, Settings};

use super::{
    COMPLEMENTARITY, Experiment, FEASIBILITY, Laboratory, Outcome, Quantity, Runs, STATIONARITY, figure, is_late,
    solved_within, verdict,
};
use crate::Error;
use crate::contender::{Contender, PEERS};
use crate::paper::{self, PaperRow};
use crate::record::{Ending, Record};
use crate::report::{Cell, Column, Section, Table};
use tangor_figure::{BoxPanel, LabelledBox};

/// What rows call Tangor.
const TANGOR: &str = "tangor";
/// What rows call the paper's rules as they are written.
const PRESET: &str = "preset paper";

impl Laboratory<'_> {
    /// Both sets with the defaults, and the preset and the peers beside, also those that an earlier call ran; with what rows call them.
    /// The two experiments share these runs.
    fn both_sets(&self) -> Result<(Runs, Vec<String>), Error> {
        let ours = [Contender::tangor(TANGOR, Settings::default()), Contender::tangor(PRESET, Settings::paper())];
        let contenders: Vec<Contender> = ours.into_iter().chain(self.peers.iter().cloned()).collect();
        let mut solvers: Vec<String> = contenders.iter().map(|contender| contender.label.clone()).collect();
        let members = self.members("paper")?;
        let mut runs = self.run(Experiment::Tables, members.clone(), contenders)?;
        for peer in PEERS.iter().filter_map(|(name, _)| Contender::peer(name)).filter(|peer| !self.peers.contains(peer)) {
            let label = peer.label.clone();
            let rows = self.earlier(Experiment::Tables, &members, peer)?;
            solvers.extend((!rows.is_empty()).then_some(label));
            runs.records.extend(rows);
        }
        Ok((runs, solvers))
    }

    pub(super) fn inequality(&self) -> Result<Outcome, Error> {
        let (runs, solvers) = self.both_sets()?;
        let sets = [("equality", paper::equality(), 2), ("inequality", paper::inequality(), 3)];
        let mut figures = Vec::new();
        for (name, rows, quantities) in sets {
            let records = of_table(&runs.records, rows, TANGOR);
            let quantities = &[STATIONARITY, FEASIBILITY, COMPLEMENTARITY][..quantities];
            let solvers: Vec<(&str, Vec<&Record>)> =
                solvers.iter().map(|solver| (solver.as_str(), of_table(&runs.records, rows, solver))).collect();
            let panels = quantities.iter().map(|quantity| beside(*quantity, &solvers, rows)).collect();
            let title = format!("Figure 3: {} with {name} constraints", count_of(records.len(), "problem"));
            figures.push((name.to_string(), figure(&title, panels)));
        }
        let section = Section {
            title: "Figure 3: both sets".into(),
            paragraphs: vec![
                "Residuals after at most the given number of iterations, beside those that the paper's tables report. The paper's \
                 runs had noisy functions, and it does not say of which level; ours are exact here, and stop at 1e-6. Residuals of \
                 other solvers are recomputed in the same way."
                    .into(),
            ],
            figures,
            tables: Vec::new(),
        };
        Ok((vec![section], runs.records, runs.missing))
    }

    pub(super) fn tables(&self) -> Result<Outcome, Error> {
        let (runs, solvers) = self.both_sets()?;
        let solvers: Vec<&str> = solvers.iter().map(String::as_str).collect();
        let effort = |solver: &&str| {
            let records: Vec<&Record> = runs.records.iter().filter(|record| record.solver == *solver).collect();
            let seconds: f64 = records.iter().map(|record| record.seconds).sum();
            let late = records.iter().filter(|record| is_late(record)).count();
            let late = if late == 0 { "none".to_string() } else { late.to_string() };
            format!(
                "{} {seconds:.1} s on {}, {late} of them ended by the limit",
                shown(solver),
                count_of(records.len(), "problem")
            )
        };
        let effort: Vec<String> = solvers.iter().map(effort).collect();
        let counts = Section {
            title: "How many are solved".into(),
            paragraphs: vec![
                format!("At most {} s for each run; the work of all: {}.", self.time_limit, effort.join("; ")),
                "A problem counts as solved when stationarity, feasibility and complementarity are all within the tolerance. \
                 Infeasible: the constraints are violated and the projected gradient of the violation is at most 1e-6 times \
                 the violation (if that is below 1), recomputed. The paper's table of equality constraints has no complementarity, \
                 and its dimensions count a slack for each inequality."
                    .into(),
            ],
            figures: Vec::new(),
            tables: vec![thresholds(&runs.records, &solvers)],
        };
        let equality = table("Table of problems with equality constraints", paper::equality(), &runs.records, &solvers);
        let inequality = table("Table of problems with inequality constraints", paper::inequality(), &runs.records, &solvers);
        let of = |title: &str, table| Section { title: title.into(), tables: vec![table], ..Section::default() };
        let sections =
            vec![counts, of("Table: equality constraints", equality), of("Table: inequality constraints", inequality)];
        Ok((sections, runs.records, runs.missing))
    }
}

fn of_table<'a>(records: &'a [Record], rows: &[PaperRow], solver: &str) -> Vec<&'a Record> {
    let listed = |record: &&Record| record.solver == solver && rows.iter().any(|row| row.problem == record.problem);
    records.iter().filter(listed).collect()
}

/// The paper's box, ours and those of the peers.
fn beside(quantity: Quantity, solvers: &[(&str, Vec<&Record>)], rows: &[PaperRow]) -> BoxPanel {
    let published = |row: &PaperRow| match quantity.title {
        title if title == STATIONARITY.title => Some(row.stationarity),
        title if title == FEASIBILITY.title => Some(row.feasibility),
        _ => row.complementarity,
    };
    let paper = LabelledBox { label: "the paper".into(), color: 5, values: rows.iter().filter_map(published).collect() };
    // What a solver refused, it has not lost.
    let tried = |records: &[&Record]| -> Vec<f64> {
        let tried = records.iter().filter(|record| record.stop != Ending::Refused);
        tried.map(|record| (quantity.value)(record).unwrap_or(f64::INFINITY)).collect()
    };
    let found = solvers.iter().enumerate().map(|(k, (solver, records))| LabelledBox {
        label: shown(solver).into(),
        color: k,
        values: tried(records),
    });
    BoxPanel { title: quantity.title.into(), boxes: std::iter::once(paper).chain(found).collect() }
}

/// What pictures and headings call a solver.
fn shown(solver: &str) -> &str {
    match solver {
        TANGOR => "Tangor",
        "ipopt" => "Ipopt",
        "ipopt-exact" => "Ipopt (exact)",
        other => other,
    }
}

fn thresholds(records: &[Record], solvers: &[&str]) -> Table {
    let mut columns = vec![Column::words("")];
    let mut sets = Vec::new();
    for (name, rows) in [("equality", paper::equality()), ("inequality", paper::inequality())] {
        columns.push(Column::numbers(&format!("the paper, of {}", rows.len())).of(name));
        for solver in solvers {
            let records = of_table(records, rows, solver);
            columns.push(Column::numbers(&format!("{}, of {}", shown(solver), records.len())).of(name));
            sets.push((rows, records));
        }
    }
    let mut table = Table { caption: "Problems with all residuals at most".into(), columns, ..Table::default() };
    let counts = |published: &dyn Fn(&[PaperRow]) -> Cell, found: &dyn Fn(&[&Record]) -> usize| {
        let mut cells = Vec::new();
        for (k, (rows, records)) in sets.iter().enumerate() {
            if k % solvers.len().max(1) == 0 {
                cells.push(published(rows));
            }
            cells.push(Cell::count(found(records) as u64));
        }
        cells
    };
    for eps in [1e-3, 1e-4, 1e-6] {
        let published = |rows: &[PaperRow]| Cell::count(rows.iter().filter(|row| row.worst() <= eps).count() as u64);
        let mut row = vec![Cell::words(format!("{eps:e}"))];
        row.extend(counts(&published, &|records| solved_within(records, eps)));
        table.rows.push(row);
    }
    let infeasible = |records: &[&Record]| records.iter().filter(|r| r.point == Point::EpsInfeasibleStationary).count();
    let mut row = vec![Cell::words("infeasible stationary, verified (not counted above)")];
    row.extend(counts(&|_| Cell::words("–"), &infeasible));
    table.rows.push(row);
    let refused = |records: &[&Record]| records.iter().filter(|record| record.stop == Ending::Refused).count();
    if sets.iter().any(|(_, records)| refused(records) > 0) {
        let mut row = vec![Cell::words("refused: neither solved nor lost")];
        row.extend(counts(&|_| Cell::words("–"), &refused));
        table.rows.push(row);
    }
    table
}

fn table(caption: &str, rows: &[PaperRow], records: &[Record], solvers: &[&str]) -> Table {
    let mut columns = vec![Column::words("problem")];
    columns.extend(["dim.", "constraints"].map(Column::numbers));
    for residual in ["stationarity", "feasibility", "complementarity"] {
        columns.extend(["the paper", shown(TANGOR)].map(|who| Column::numbers(who).of(residual)));
    }
    columns.push(Column::words("verdict").of(shown(TANGOR)));
    columns.extend(["objective", "iterations", "evaluations", "seconds"].map(|title| Column::numbers(title).of(shown(TANGOR))));
    let peers: Vec<&str> = solvers.iter().copied().filter(|solver| *solver != TANGOR).collect();
    for peer in &peers {
        columns.push(Column::words("verdict").of(shown(peer)));
        columns.extend(["largest residual", "objective", "seconds"].map(|title| Column::numbers(title).of(shown(peer))));
    }
    let line = |row: &PaperRow| {
        let of = |solver: &str| records.iter().find(|record| record.problem == row.problem && record.solver == solver);
        let record = of(TANGOR)?;
        let mut cells = vec![
            Cell::words(&row.problem).opening(solvers.iter().filter_map(|solver| of(solver))),
            Cell::count(row.dim as u64),
            Cell::count(row.constraints as u64),
            Cell::residual(Some(row.stationarity)),
            Cell::residual(record.stationarity),
            Cell::residual(Some(row.feasibility)),
            Cell::residual(record.feasibility),
            row.complementarity.map_or(Cell::number(None), |residual| Cell::residual(Some(residual))),
            Cell::residual(record.complementarity),
            verdict_cell(record),
            Cell::number(record.objective),
            Cell::count(record.iterations),
            Cell::count(record.evaluations()),
            Cell::seconds(record.seconds),
        ];
        for peer in &peers {
            let Some(record) = of(peer) else {
                cells.extend([Cell::words("–"), Cell::number(None), Cell::number(None), Cell::number(None)]);
                continue;
            };
            cells.push(verdict_cell(record));
            cells.push(Cell::residual(record.residuals().map(|residuals| residuals.worst())));
            cells.push(Cell::number(record.objective));
            cells.push(Cell::seconds(record.seconds));
        }
        Some(cells)
    };
    Table { caption: caption.into(), columns, rows: rows.iter().filter_map(line).collect(), filter: true }
}

fn verdict_cell(record: &Record) -> Cell {
    let cell = Cell::words(verdict(record));
    match record.point {
        _ if record.stop == Ending::Refused => cell,
        Point::EpsKkt | Point::EpsInfeasibleStationary => cell.class("good"),
        _ => cell.class("bad"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_peer_refused_it_has_not_lost() {
        let rows = paper::equality();
        let solved = |solver: &str| Record {
            stationarity: Some(1e-9),
            feasibility: Some(1e-9),
            complementarity: Some(0.0),
            stop: Ending::Acceptable,
            point: Point::EpsKkt,
            ..Record::failed(&rows[0].problem, solver, 0, "", Ending::Hung, String::new())
        };
        let refused = Record::failed(&rows[1].problem, "ipopt", 0, "", Ending::Refused, String::new());
        assert_eq!(verdict(&refused), "refused");
        let records = [solved(TANGOR), solved("ipopt"), refused];
        let of_ipopt = of_table(&records, rows, "ipopt");
        let panel = beside(STATIONARITY, &[("ipopt", of_ipopt)], rows);
        assert_eq!((panel.boxes[1].label.as_str(), &panel.boxes[1].values), ("Ipopt", &vec![1e-9]), "no infinite residual");
        let counts = thresholds(&records, &[TANGOR, "ipopt"]);
        let last: Vec<String> =
            counts.rows.last().map(|row| row.iter().map(|cell| cell.text.clone()).collect()).unwrap_or_default();
        assert_eq!(last[..4], ["refused: neither solved nor lost", "–", "0", "1"]);
        let without = thresholds(&records[..2], &[TANGOR, "ipopt"]);
        assert_eq!(without.rows.len() + 1, counts.rows.len(), "nothing is said where nobody refused");
    }
}
