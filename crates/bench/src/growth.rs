//! How time and memory grow with the number of variables, on problems that have a size parameter.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use tangor_figure::{GrowthCurve, GrowthFigure, GrowthPanel, median, quartiles};
use tangor_problem::count_of;

use crate::Error;
use crate::compare::{Entrant, Entry};
use crate::large::SIZES;

/// The number of variables with seconds and megabytes.
type Cost = (f64, f64, Option<f64>);

/// One of them.
type Quantity = fn(&Cost) -> Option<f64>;

/// What one solver needed for one problem at the sizes that it solved.
type Course = Vec<Cost>;

/// One solver's growth.
#[derive(Clone, Debug)]
struct Solver {
    label: String,
    /// By problem, without the parameter.
    courses: BTreeMap<String, Course>,
    /// For each size: problems, solved, refused.
    counts: [[usize; 3]; SIZES.len()],
}

/// The growth of all solvers of some tables.
#[derive(Clone, Debug)]
pub struct Growth {
    solvers: Vec<Solver>,
    tolerance: f64,
}

impl Growth {
    /// Problems such as `CVXQP1:N=1000` at several sizes; those without a parameter are left out.
    pub fn new(entrants: &[Entrant], tolerance: f64) -> Result<Self, Error> {
        // A run that ended without a result does not know its size; another solver's does.
        let mut sizes: BTreeMap<&str, usize> = BTreeMap::new();
        for (problem, entry) in entrants.iter().flat_map(|entrant| &entrant.entries) {
            let n = sizes.entry(problem).or_default();
            *n = (*n).max(entry.n.unwrap_or(0));
        }
        let solvers: Vec<Solver> = entrants.iter().map(|entrant| Solver::new(entrant, &sizes, tolerance)).collect();
        if solvers.iter().all(|solver| solver.counts.iter().all(|count| count[0] == 0)) {
            return Err(Error::Empty("the tables have no problem with a size parameter, such as CVXQP1:N=1000".into()));
        }
        Ok(Growth { solvers, tolerance })
    }

    /// Counts, medians and slopes in words.
    pub fn summary(&self) -> String {
        let mut out = format!("residuals at most {:e}; medians over what all solvers solved at that size\n", self.tolerance);
        let width = self.solvers.iter().map(|solver| solver.label.chars().count()).max().unwrap_or(0).max(6);
        for (class, size) in SIZES.iter().enumerate() {
            let common = self.common(class);
            // Writing into a string cannot fail.
            let _ = writeln!(out, "\nabout {size} variables, solved by all: {}", common.len());
            let _ = writeln!(
                out,
                "  {:width$} {:>8} {:>7} {:>8} {:>10} {:>10}",
                "", "problems", "solved", "refused", "seconds", "MB"
            );
            for solver in &self.solvers {
                let [problems, solved, refused] = solver.counts[class];
                let at: Vec<_> = common.iter().filter_map(|problem| solver.at(problem, class)).collect();
                let seconds = median(at.iter().map(|point| point.1));
                let memory = median(at.iter().filter_map(|point| point.2));
                let number = |value: Option<f64>| value.map_or("-".to_string(), |value| format!("{value:.3}"));
                let _ = write!(out, "  {:width$} {problems:>8} {solved:>7} {refused:>8}", solver.label);
                let _ = writeln!(out, " {:>10} {:>10}", number(seconds), number(memory));
            }
        }
        out.push_str(
            "\nslopes d log(quantity) / d log(n), over problems solved at two sizes or more: lower quartile, median, upper\n",
        );
        for solver in &self.solvers {
            for (what, slopes) in
                [("seconds", solver.slopes(|point| Some(point.1))), ("memory", solver.slopes(|point| point.2))]
            {
                let words = match quartiles(&slopes) {
                    Some([low, median, high]) => {
                        format!("{low:6.2} {median:6.2} {high:6.2}   ({})", count_of(slopes.len(), "problem"))
                    }
                    None => "none".to_string(),
                };
                let _ = writeln!(out, "  {:width$} {what:8} {words}", solver.label);
            }
        }
        out
    }

    /// Time and memory against the number of variables.
    pub fn figure(&self) -> GrowthFigure {
        let panel = |title: &str, of: Quantity| GrowthPanel {
            title: title.to_string(),
            curves: self.solvers.iter().enumerate().flat_map(|(label, solver)| solver.curves(label, of)).collect(),
        };
        let label = |solver: &Solver| match quartiles(&solver.slopes(|point| Some(point.1))) {
            Some([_, median, _]) => format!("{}: median slope of the time {median:.2}", solver.label),
            None => solver.label.clone(),
        };
        GrowthFigure {
            title: "Growth with the number of variables: each problem thin, the median thick".into(),
            x_label: "variables".into(),
            panels: vec![panel("seconds", |point| Some(point.1)), panel("megabytes", |point| point.2)],
            labels: self.solvers.iter().map(label).collect(),
        }
    }

    fn common(&self, class: usize) -> BTreeSet<&String> {
        let solved = |solver: &'_ Solver, problem: &String| solver.at(problem, class).is_some();
        let first = self.solvers.first().map(|solver| solver.courses.keys().collect::<BTreeSet<_>>()).unwrap_or_default();
        first.into_iter().filter(|problem| self.solvers.iter().all(|solver| solved(solver, problem))).collect()
    }
}

impl Solver {
    fn new(entrant: &Entrant, sizes: &BTreeMap<&str, usize>, tolerance: f64) -> Self {
        let mut solver = Solver { label: entrant.label.clone(), courses: BTreeMap::new(), counts: Default::default() };
        for (problem, entry) in &entrant.entries {
            let n = sizes.get(problem.as_str()).copied().unwrap_or(0);
            let (Some((stem, _)), true) = (problem.split_once(':'), n > 0) else { continue };
            solver.count(n, entry, tolerance);
            let course = solver.courses.entry(stem.to_string()).or_default();
            if let (true, Some(seconds)) = (entry.is_solved(tolerance) && !entry.refused, entry.seconds) {
                course.push((n as f64, seconds.max(1e-4), entry.memory));
            }
        }
        solver.courses.values_mut().for_each(|course| course.sort_by(|a, b| a.0.total_cmp(&b.0)));
        solver
    }

    fn count(&mut self, n: usize, entry: &Entry, tolerance: f64) {
        let count = &mut self.counts[class_of(n as f64)];
        count[0] += 1;
        count[1] += usize::from(entry.is_solved(tolerance) && !entry.refused);
        count[2] += usize::from(entry.refused);
    }

    fn at(&self, problem: &str, class: usize) -> Option<&Cost> {
        self.courses.get(problem)?.iter().find(|point| class_of(point.0) == class)
    }

    /// Sorted.
    fn slopes(&self, of: Quantity) -> Vec<f64> {
        let points =
            |course: &Course| course.iter().filter_map(|point| Some((point.0.ln(), of(point)?.ln()))).collect::<Vec<_>>();
        let mut slopes: Vec<f64> = self.courses.values().filter_map(|course| slope(&points(course))).collect();
        slopes.sort_by(f64::total_cmp);
        slopes
    }

    fn curves(&self, label: usize, of: Quantity) -> Vec<GrowthCurve> {
        let points = |course: &Course| course.iter().filter_map(|point| Some((point.0, of(point)?))).collect::<Vec<_>>();
        let mut curves: Vec<GrowthCurve> =
            self.courses.values().map(|course| GrowthCurve { label, thick: false, points: points(course) }).collect();
        // The middle of those solved at every size: a curve of others would bend where problems drop out.
        let whole: Vec<Vec<(f64, f64)>> =
            curves.iter().map(|curve| curve.points.clone()).filter(|c| c.len() == SIZES.len()).collect();
        let middle_at = |k: usize| Some((f64::from(SIZES[k]), median(whole.iter().map(|course| course[k].1))?));
        curves.push(GrowthCurve { label, thick: true, points: (0..SIZES.len()).filter_map(middle_at).collect() });
        curves
    }
}

/// The size that is nearest.
fn class_of(n: f64) -> usize {
    let distance = |class: &usize| (n / f64::from(SIZES[*class])).ln().abs();
    (0..SIZES.len()).min_by(|a, b| distance(a).total_cmp(&distance(b))).unwrap_or(0)
}

// Least squares through logarithms; two points are enough.
fn slope(points: &[(f64, f64)]) -> Option<f64> {
    let count = points.len() as f64;
    let (mean_x, mean_y) = (points.iter().map(|p| p.0).sum::<f64>() / count, points.iter().map(|p| p.1).sum::<f64>() / count);
    let squares: f64 = points.iter().map(|p| (p.0 - mean_x).powi(2)).sum();
    (points.len() > 1 && squares > 0.0).then(|| points.iter().map(|p| (p.0 - mean_x) * (p.1 - mean_y)).sum::<f64>() / squares)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(n: usize, seconds: f64, residual: f64) -> Entry {
        Entry {
            residual: Some(residual),
            word: false,
            infeasible: false,
            refused: false,
            objective: None,
            n: Some(n),
            iterations: None,
            evaluations: None,
            seconds: Some(seconds),
            memory: Some(seconds * 10.0),
        }
    }

    #[test]
    fn slopes_counts_and_medians_by_hand() {
        // Time grows with n^2 on A; B is solved at the smallest size only, and refused at the largest.
        let mut entries = BTreeMap::from([
            ("A:N=1".to_string(), entry(1000, 0.01, 0.0)),
            ("A:N=2".to_string(), entry(10_000, 1.0, 0.0)),
            ("A:N=3".to_string(), entry(100_000, 100.0, 0.0)),
            ("B:N=1".to_string(), entry(900, 0.03, 0.0)),
            ("B:N=2".to_string(), entry(9000, 9.0, 1.0)),
            ("HS71".to_string(), entry(4, 9.0, 0.0)),
        ]);
        entries.insert("B:N=3".to_string(), Entry { refused: true, ..entry(90_000, 0.0, f64::INFINITY) });
        let growth = Growth::new(&[Entrant { label: "t".into(), verified: true, entries }], 1e-6).unwrap();
        assert_eq!(growth.solvers[0].counts, [[2, 2, 0], [2, 1, 0], [2, 1, 1]]);
        let slopes = growth.solvers[0].slopes(|point| Some(point.1));
        assert!(slopes.len() == 1 && (slopes[0] - 2.0).abs() < 1e-12, "{slopes:?}");
        let text = growth.summary();
        assert!(text.contains("about 1000 variables, solved by all: 2") && text.contains("0.020"), "{text}");
        assert!(growth.figure().draw().contains("median slope of the time 2.00"));
        assert!(Growth::new(&[], 1e-6).is_err());
    }
}
