//! What a study shows: slopes beside the paper's exponents, as a table, as data and as a picture.

use super::measurement::Measurement;
use super::setting::{Oracle, Rules, Setting};
use super::slope::Fit;
use crate::report::{Cell, Column, Section, Table};
use crate::{Error, spreadsheet};
use tangor_figure::{SlopeFigure, SlopePanel, median};
use tangor_problem::count_of;

/// The counts of one function in one setting.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Whose rules.
    pub rules: Rules,
    /// The row of the paper's table.
    pub setting: Setting,
    /// Its column.
    pub oracle: Oracle,
    /// The paper's exponent of `eps`.
    pub exponent: f64,
    /// `eps`, falling, and the median of the counts over the seeds.
    pub points: Vec<(f64, f64)>,
    /// The line through them. None: runs are missing or did not reach their `eps`.
    pub fit: Option<Fit>,
}

impl Line {
    /// Whether the slope is no worse than the paper's exponent, up to its standard error. None: there is no slope.
    pub fn is_no_worse(&self) -> Option<bool> {
        self.fit.map(|fit| fit.is_no_worse_than(self.exponent))
    }
}

/// Everything that was measured.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Every run.
    pub measurements: Vec<Measurement>,
    /// Thirty of them: every function in every setting, by both rules.
    pub lines: Vec<Line>,
    /// Runs that are missing because of an interrupt.
    pub missing: usize,
    tau: f64,
}

impl Outcome {
    pub(super) fn new(measurements: Vec<Measurement>, wanted: usize, tau: f64) -> Self {
        let missing = wanted - measurements.len();
        let mut lines = Vec::new();
        for (rules, setting) in Rules::ALL.into_iter().flat_map(|rules| Setting::ALL.map(|setting| (rules, setting))) {
            let of = |measurement: &&Measurement| (measurement.rules, measurement.setting) == (rules, setting);
            let complete = missing == 0 && measurements.iter().filter(of).all(|measurement| measurement.reached);
            for (oracle, exponent) in Oracle::ALL.into_iter().zip(setting.exponents()) {
                let points = points(&measurements, (rules, setting), oracle);
                let fit = if complete { Fit::of(&points) } else { None };
                lines.push(Line { rules, setting, oracle, exponent, points, fit });
            }
        }
        Outcome { measurements, lines, missing, tau }
    }

    /// Slopes beside exponents.
    pub fn table(&self) -> Table {
        let eps: Vec<f64> = self.lines.first().map_or(Vec::new(), |line| line.points.iter().map(|(eps, _)| *eps).collect());
        let mut columns = vec![Column::words("rules"), Column::words("setting"), Column::words("oracle")];
        let numbers = ["the paper's exponent", "slope", "standard error"];
        columns.extend(numbers.map(Column::numbers));
        columns.push(Column::words("no worse"));
        let ends: Vec<f64> = eps.first().into_iter().chain(eps.last()).copied().collect();
        columns.extend(ends.iter().map(|eps| Column::numbers(&format!("count at eps = {eps:.2}"))));
        let digits = |value: f64| Cell { text: format!("{value:.2}"), sort: Some(value), ..Cell::default() };
        let row = |line: &Line| {
            let (slope, error) = line
                .fit
                .map_or((Cell::number(None), Cell::number(None)), |fit| (digits(fit.slope), digits(fit.standard_error)));
            let verdict = match line.is_no_worse() {
                Some(true) => Cell::words("yes").class("good"),
                Some(false) => Cell::words("no").class("bad"),
                None => Cell::words("–"),
            };
            let exponent = Cell { text: format!("{}", line.exponent), sort: Some(line.exponent), ..Cell::default() };
            let names = [line.rules.name(), line.setting.name(), line.oracle.name()].map(Cell::words);
            let mut row: Vec<Cell> = names.into_iter().chain([exponent, slope, error, verdict]).collect();
            let count = |eps: &f64| line.points.iter().find(|point| point.0 == *eps).map(|point| point.1);
            row.extend(ends.iter().map(|eps| Cell::number(count(eps))));
            row
        };
        Table {
            caption: "Slopes of ln(count) against ln(eps), and the paper's exponents".into(),
            columns,
            rows: self.lines.iter().map(row).collect(),
            filter: false,
        }
    }

    /// What the slopes of the paper's rules say, in one sentence: its theorems speak of these alone.
    pub fn verdict(&self) -> String {
        if self.missing > 0 {
            return format!("There are no slopes: {} missing.", count_of(self.missing, "run"));
        }
        let of_the_paper = |measurement: &&Measurement| measurement.rules == Rules::Paper;
        let astray = self.measurements.iter().filter(of_the_paper).filter(|measurement| !measurement.reached).count();
        if astray > 0 {
            return format!("There are no slopes: {} by the paper's rules did not reach the eps.", count_of(astray, "run"));
        }
        let lines = || self.lines.iter().filter(|line| line.rules == Rules::Paper);
        let (all, worse) = (lines().count(), lines().filter(|line| line.is_no_worse() != Some(true)).count());
        match worse {
            0 => format!("By the paper's rules all {all} slopes are no worse than its exponents, up to one standard error."),
            _ => format!(
                "By the paper's rules {worse} of {all} slopes are worse than its exponents by more than a standard error."
            ),
        }
    }

    /// A panel for each oracle, a curve for each setting.
    pub fn picture(&self) -> String {
        let panel = |oracle: Oracle| SlopePanel {
            title: oracle.name().into(),
            curves: self.lines.iter().filter(|line| line.oracle == oracle).map(|line| line.points.clone()).collect(),
        };
        let label = |(rules, setting): (Rules, Setting)| {
            let of = |line: &&Line| (line.rules, line.setting) == (rules, setting);
            let slopes = self.lines.iter().filter(of).map(|line| match (line.fit, rules) {
                (Some(fit), Rules::Paper) => format!("{:.2} ({})", fit.slope, line.exponent),
                (Some(fit), Rules::Defaults) => format!("{:.2}", fit.slope),
                (None, _) => "–".into(),
            });
            format!("{}, {}: {}", rules.name(), setting.name(), slopes.collect::<Vec<_>>().join(", "))
        };
        let both = Rules::ALL.into_iter().flat_map(|rules| Setting::ALL.map(|setting| (rules, setting)));
        SlopeFigure {
            title: "Counts until an eps-KKT point, median over seeds; slopes and in brackets the paper's exponents".into(),
            x_label: "eps".into(),
            panels: Oracle::ALL.map(panel).to_vec(),
            labels: both.map(label).collect(),
            colors: Setting::ALL.len(),
        }
        .draw()
    }

    /// The files of a study: names and contents.
    pub fn files(&self) -> Result<Vec<(String, String)>, Error> {
        Ok(vec![
            ("complexity.csv".into(), spreadsheet::of_rows(&self.measurements)?),
            ("complexity-slopes.csv".into(), self.slopes_csv()?),
            ("complexity.svg".into(), self.picture()),
        ])
    }

    fn slopes_csv(&self) -> Result<String, Error> {
        let heading = ["rules", "setting", "oracle", "exponent", "slope", "standard_error", "no_worse"].map(String::from);
        let number = |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default();
        let row = |line: &Line| {
            vec![
                line.rules.name().to_string(),
                line.setting.name().to_string(),
                line.oracle.name().to_string(),
                line.exponent.to_string(),
                number(line.fit.map(|fit| fit.slope)),
                number(line.fit.map(|fit| fit.standard_error)),
                line.is_no_worse().map(|holds| holds.to_string()).unwrap_or_default(),
            ]
        };
        spreadsheet::of_cells(&heading, self.lines.iter().map(row))
    }

    /// For a report.
    pub fn section(&self) -> Section {
        let seeds = count_of(self.measurements.iter().map(|measurement| measurement.seed + 1).max().unwrap_or(0), "seed");
        Section {
            title: "Complexity".into(),
            paragraphs: vec![
                "How many gradients and values the method needs until an iterate is an eps-KKT point by the exact functions, \
                 in the five settings of the paper's Table 1. The problem, minimise 8 (1 + t²)^(-1/4) + sin y subject to y = 1/2 sin z from \
                 (1, 1, 0), has known constants: both Lipschitz constants (4 and 1/2), and the size of the noise (0.5 on the \
                 objective's gradients, 0.125 on the constraint's gradients and values, Gaussian)."
                    .into(),
                format!(
                    "Preset paper: identity metric, given Lipschitz constants, fixed theta = 1/2, tau = {}, its batch sizes and its \
                     momentum with the accuracy eps. Two things differ. Its batch sizes divide eps by a constant that would multiply \
                     each count by a factor; and its gamma falls with eps, which adds the logarithms that its orders leave out: here \
                     gamma = 0.05 throughout. Defaults: Tangor's, which are told no constants; mini-batches have the paper's sizes, \
                     recursive momentum has one sample at two points. Medians over {seeds}. A sample that is evaluated at two points counts \
                     twice. These runs end at their eps and not at a limit.",
                    self.tau
                ),
                "Averages of many samples are drawn at once, exactly in their distribution; what is counted are the samples. A slope is no \
                 worse than an exponent when it is at least the exponent less one standard error of the fit. The paper's exponents \
                 are bounds for the worst problem; this one is not the worst. With longer steps (tau = 0.2) some slopes of recursive \
                 momentum are steeper than the exponents in this range of eps: its batches grow with the squares of the steps, whose sum is \
                 bounded, but not at its bound yet."
                    .into(),
                self.verdict(),
            ],
            figures: vec![("complexity".into(), self.picture())],
            tables: vec![self.table()],
        }
    }
}

fn points(measurements: &[Measurement], which: (Rules, Setting), oracle: Oracle) -> Vec<(f64, f64)> {
    let of = |measurement: &&Measurement| (measurement.rules, measurement.setting) == which;
    let of: Vec<&Measurement> = measurements.iter().filter(of).collect();
    let mut eps: Vec<f64> = of.iter().map(|measurement| measurement.eps).collect();
    eps.dedup();
    let count = |eps: f64| {
        let runs = of.iter().filter(|measurement| measurement.eps == eps);
        median(runs.map(|measurement| measurement.count(oracle) as f64)).map(|count| (eps, count))
    };
    eps.into_iter().filter_map(count).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts of `constant * eps^-power` for each oracle, two seeds around it.
    fn outcome(powers: [i32; 3], reached: bool) -> Outcome {
        let mut measurements = Vec::new();
        for (rules, setting) in Rules::ALL.into_iter().flat_map(|rules| Setting::ALL.map(|setting| (rules, setting))) {
            for k in 0..5 {
                for seed in 0..3 {
                    let count = |power: i32| 100 * 2u64.pow(k * power.unsigned_abs()) + seed - 1;
                    let [objective_gradients, constraint_gradients, constraint_values] = powers.map(count);
                    measurements.push(Measurement {
                        rules,
                        setting,
                        eps: 0.5f64.powi(k as i32),
                        seed,
                        reached,
                        iterations: 1,
                        objective_gradients,
                        constraint_gradients,
                        constraint_values,
                    });
                }
            }
        }
        Outcome::new(measurements, 150, 0.1)
    }

    #[test]
    fn slopes_are_those_of_the_medians_and_the_verdict_counts_the_worse_ones() {
        let outcome = outcome([4, 3, 3], true);
        let slopes: Vec<f64> = outcome.lines.iter().filter_map(|line| line.fit.map(|fit| fit.slope)).collect();
        assert_eq!(slopes.len(), 30);
        assert!(slopes.chunks(3).all(|s| (s[0] + 4.0).abs() < 1e-9 && (s[1] + 3.0).abs() < 1e-9 && (s[2] + 3.0).abs() < 1e-9));
        // Exponents -2 -2 -2; -4 -2 -2; -3 -2 -2; -4 -4 -6; -3 -3 -5: three, two, three, none and one are exceeded.
        assert_eq!(
            outcome.verdict(),
            "By the paper's rules 9 of 15 slopes are worse than its exponents by more than a standard error."
        );
        let section = outcome.section();
        assert!(section.paragraphs.contains(&outcome.verdict()) && section.paragraphs[1].contains("Medians over 3 seeds."));
        let text = outcome.table().text(None);
        assert!(text.contains("-4.00") && text.contains(" no ") && text.contains(" yes "), "{text}");
        let files = outcome.files().expect("text");
        assert_eq!(files[0].1.lines().count(), 151);
        assert_eq!(files[1].1.lines().count(), 31);
        assert!(files[1].1.contains("fully stochastic, momentum\",constraint values,-5,-3"), "{}", files[1].1);
    }

    #[test]
    fn without_all_runs_there_are_no_slopes() {
        assert_eq!(
            outcome([2, 2, 2], true).verdict(),
            "By the paper's rules all 15 slopes are no worse than its exponents, up to one standard error."
        );
        let astray = outcome([2, 2, 2], false);
        assert_eq!(astray.verdict(), "There are no slopes: 75 runs by the paper's rules did not reach the eps.");
        assert!(astray.lines.iter().all(|line| line.fit.is_none()));
        let cut = Outcome::new(outcome([2, 2, 2], true).measurements, 155, 0.1);
        assert_eq!(cut.verdict(), "There are no slopes: 5 runs missing.");
        let empty = Outcome::new(Vec::new(), 150, 0.1);
        assert!(empty.table().text(None).contains("deterministic") && empty.picture().starts_with("<svg"));
    }
}
