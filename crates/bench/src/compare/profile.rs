//! Performance profiles (Dolan and Moré) and data profiles (Moré and Wild).

use super::{Comparison, Entry};
use tangor_figure::{Curve, StepFigure};

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Wall time.
    Seconds,
    /// Evaluations.
    Evaluations,
    /// Iterations.
    Iterations,
}

impl Measure {
    /// All of them.
    pub const ALL: [Measure; 3] = [Measure::Seconds, Measure::Evaluations, Measure::Iterations];

    /// Its value in an entry.
    pub fn of(self, entry: &Entry) -> Option<f64> {
        match self {
            Measure::Seconds => entry.seconds,
            Measure::Evaluations => entry.evaluations,
            Measure::Iterations => entry.iterations,
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Measure::Seconds => "seconds",
            Measure::Evaluations => "evaluations",
            Measure::Iterations => "iterations",
        }
    }

    /// What is less than this is a tie: a clock has no finer meaning, and zero has no ratio.
    fn least(self) -> f64 {
        if self == Measure::Seconds { 1e-3 } else { 1.0 }
    }
}

impl Comparison {
    /// For each solver the share of problems (of those that nobody refused) that it solves at no more than a multiple of the cost of the best. `None` when a
    /// table does not have this measure.
    pub fn performance_profile(&self, measure: Measure) -> Option<StepFigure> {
        let costs: Vec<Vec<f64>> = (0..self.entrants.len()).map(|k| self.costs(k, measure)).collect::<Option<_>>()?;
        let best = |p: usize| costs.iter().map(|costs| costs[p]).fold(f64::INFINITY, f64::min);
        let ratios = |k: usize| (0..costs[k].len()).map(|p| costs[k][p] / best(p)).map(not_nan).collect();
        Some(self.figure(
            format!("Performance profile: {}", measure.name()),
            format!("{} at most this multiple of the best solver's", measure.name()),
            1.0,
            (0..self.entrants.len()).map(ratios).collect(),
        ))
    }

    /// For each solver the share of problems that it solves within a budget of evaluations, counted in `n + 1`.
    pub fn data_profile(&self) -> Option<StepFigure> {
        let size = |problem: &String| (0..self.entrants.len()).find_map(|k| self.entry(k, problem)?.n);
        let sizes: Vec<f64> = self.accepted().into_iter().map(|p| Some(size(p)? as f64 + 1.0)).collect::<Option<_>>()?;
        let budgets = |k: usize| {
            let costs = self.costs(k, Measure::Evaluations)?;
            Some(costs.iter().zip(&sizes).map(|(cost, size)| cost / size).collect())
        };
        Some(self.figure(
            "Data profile: evaluations".to_string(),
            "evaluations, in units of n + 1".to_string(),
            0.25,
            (0..self.entrants.len()).map(budgets).collect::<Option<_>>()?,
        ))
    }

    /// What each problem cost, infinite when it was not solved.
    fn costs(&self, entrant: usize, measure: Measure) -> Option<Vec<f64>> {
        let cost = |problem: &String| {
            let value = measure.of(self.entry(entrant, problem)?)?;
            Some(if self.is_solved(entrant, problem) { value.max(measure.least()) } else { f64::INFINITY })
        };
        self.accepted().into_iter().map(cost).collect()
    }

    fn figure(&self, title: String, x_label: String, x_first: f64, rises: Vec<Vec<f64>>) -> StepFigure {
        const LONGEST: f64 = 16384.0;
        let greatest = rises.iter().flatten().copied().filter(|rise| rise.is_finite()).fold(x_first, f64::max);
        let x_last = 2f64.powf(greatest.log2().ceil()).clamp(x_first * 4.0, x_first * LONGEST);
        let problems = self.accepted().len();
        let curves = self.entrants.iter().zip(rises);
        let curves = curves.map(|(entrant, rises)| Curve { label: entrant.label.clone(), rises, problems }).collect();
        StepFigure { title, x_label, x_first, x_last, curves }
    }
}

/// Unsolved by all: the ratio of two infinities is none.
fn not_nan(ratio: f64) -> f64 {
    if ratio.is_nan() { f64::INFINITY } else { ratio }
}
