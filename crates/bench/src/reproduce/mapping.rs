//! Figure 1: what the mapping `A(x)` of the closed form does.

use tangor_problem::count_of;
use tangor_solver::{Mapping, MetricKind, NormalVariant, Settings};

use super::{Experiment, FEASIBILITY, Laboratory, Outcome, RULES, STATIONARITY, figure, panel, solved_within};
use crate::Error;
use crate::contender::Contender;
use crate::record::Record;
use crate::report::{Cell, Column, Section, Table};
use crate::sets::Member;

const MAPPINGS: [(&str, Mapping); 3] = [
    ("linearised ALM", Mapping::AugmentedLagrangian { alpha: 1.0 }),
    ("SQP", Mapping::Sqp { alpha: 1.0 }),
    ("regularised", Mapping::Regularised),
];

impl Laboratory<'_> {
    pub(super) fn mapping(&self) -> Result<Outcome, Error> {
        let all = self.members("paper-equality")?;
        let count = all.len();
        let mut members = Vec::new();
        for member in all {
            if only_equalities(&member)? {
                members.push(member);
            }
        }
        let used = members.len();
        let contenders = shown().map(|(label, _, settings)| Contender::tangor(label, settings));
        let runs = self.run(Experiment::Mapping, members, contenders.collect())?;
        let of = |solver: &str| runs.records.iter().filter(|record| record.solver == solver).collect();
        let groups: Vec<(String, usize, Vec<&Record>)> =
            shown().map(|(label, color, _)| (label.clone(), color, of(&label))).collect();
        let picture = figure(
            "Figure 1: the mapping A(x), exact functions",
            vec![panel(STATIONARITY, &groups), panel(FEASIBILITY, &groups)],
        );
        let section = Section {
            title: "Figure 1: the mapping".into(),
            paragraphs: vec![
                format!(
                    "The closed form takes equality constraints without bounds. Of {} of the paper, {} \
                     neither bounds nor inequalities, and nothing else is run here; the paper ignored the bounds of the others. The metric \
                     is the identity and alpha is 1 for every problem; the paper tuned alpha for each. At most {} s for each run.",
                    count_of(count, "problem"),
                    if used == 1 { "1 has".to_string() } else { format!("{used} have") },
                    self.time_limit
                ),
                "Preset paper: the paper's merit parameter and stepsize, and nothing scaled; the others have Tangor's.".into(),
                "Linearised ALM: A = I. SQP: A = (J Jᵀ)⁻¹. Regularised: A = (J Jᵀ + δ I)⁻¹ with δ = L_c |h|.".into(),
            ],
            figures: vec![("mapping".into(), picture)],
            tables: vec![summary(&groups), problems(&runs.records)],
        };
        Ok((vec![section], runs.records, runs.missing))
    }
}

/// Each mapping with our rules and with the paper's: the name, the colour of its box, the settings.
fn shown() -> impl Iterator<Item = (String, usize, Settings)> {
    MAPPINGS.into_iter().enumerate().flat_map(|(color, (name, mapping))| {
        RULES.map(|(whose, rules)| {
            let mut settings = rules();
            settings.normal.variant = NormalVariant::Mapping;
            settings.normal.mapping = mapping;
            settings.metric.kind = MetricKind::Identity;
            (format!("{name}{whose}"), color, settings)
        })
    })
}

/// Neither bounds nor inequalities; fixed variables are no bounds, since they are left out.
fn only_equalities(member: &Member) -> Result<bool, Error> {
    let problem = member.source.problem()?;
    let meta = tangor_problem::Problem::meta(&problem);
    let infinite = |bound: f64| bound.abs() >= tangor_problem::INFINITE;
    let bounds = meta.x_lower.iter().zip(&meta.x_upper);
    let free = bounds.filter(|(lower, upper)| lower != upper).all(|(lower, upper)| infinite(*lower) && infinite(*upper));
    Ok(free && meta.c_lower == meta.c_upper)
}

fn summary(groups: &[(String, usize, Vec<&Record>)]) -> Table {
    let columns = ["1e-3", "1e-4", "1e-6"].map(|eps| Column::numbers(eps).of("all residuals at most"));
    let row = |(label, _, records): &(String, usize, Vec<&Record>)| {
        let counts = [1e-3, 1e-4, 1e-6].map(|eps| Cell::count(solved_within(records, eps) as u64));
        [Cell::words(label)].into_iter().chain(counts).collect()
    };
    Table {
        caption: "Problems solved by each mapping".into(),
        columns: [Column::words("mapping")].into_iter().chain(columns).collect(),
        rows: groups.iter().map(row).collect(),
        filter: false,
    }
}

/// The mappings side by side.
fn problems(records: &[Record]) -> Table {
    let mut columns = vec![Column::words("problem"), Column::numbers("n"), Column::numbers("m")];
    for (label, ..) in shown() {
        columns.extend(["stationarity", "feasibility", "iterations"].map(|title| Column::numbers(title).of(&label)));
    }
    let mut rows = Vec::new();
    for first in records.iter().filter(|record| record.solver == MAPPINGS[0].0) {
        let all = records.iter().filter(|record| record.problem == first.problem);
        let mut row = vec![Cell::words(&first.problem).opening(all), Cell::count(first.n as u64), Cell::count(first.m as u64)];
        for (label, ..) in shown() {
            let Some(record) = records.iter().find(|record| record.problem == first.problem && record.solver == label) else {
                row.extend([Cell::number(None), Cell::number(None), Cell::number(None)]);
                continue;
            };
            row.push(Cell::residual(record.stationarity));
            row.push(Cell::residual(record.feasibility));
            row.push(Cell::count(record.iterations));
        }
        rows.push(row);
    }
    Table { caption: "Each problem with each mapping".into(), columns, rows, filter: true }
}
