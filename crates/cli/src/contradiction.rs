//! Where the numbers of a result contradict each other, or what was found again.

use tangor_problem::{KktPoint, KktResiduals, Meta, count_of};
use tangor_solver::{
    Averaged, Event, MOST_COUNTED, MOST_SECONDS, Names, Point, REPORT_VERSION, Report, Stop, Verdict, rarest_told, work_of,
};

use crate::number::scientific;
use crate::{plain, verdict};

/// How far a number in a result may be from the one computed again, relative to its size: rounding, not more.
pub const ROUNDING: f64 = 1e-9;

/// What sums of numbers in the result itself may differ by, relative to their terms.
const LAST_DIGITS: f64 = 1e-13;

/// Whether a number is the same up to an allowance; false for NaN, too.
pub fn near(claimed: f64, value: f64, allowance: f64) -> bool {
    (claimed - value).abs() <= allowance
}

/// The words for an average that fresh samples contradict.
pub fn disagrees(name: &str, claimed: f64, fresh: Averaged) -> String {
    let (claimed, value) = (scientific(claimed, 6), scientific(fresh.value, 6));
    format!("the result says that its {name} is {claimed}, but fresh samples say {value} +- {}", scientific(fresh.error, 1))
}

/// The words for a number that is another one.
pub fn differs(name: &str, claimed: f64, value: f64) -> String {
    format!("the result says that its {name} is {}, but it is {}", scientific(claimed, 6), scientific(value, 6))
}

/// Where what a result says contradicts what follows from its other fields. Its message is told by this program; that of another version may
/// have other words.
pub fn inconsistencies(report: &Report, meta: &Meta, is_noisy: bool) -> Vec<String> {
    let mut found = Vec::new();
    let sentence = report.sentence(meta, is_noisy);
    if report.tangor == env!("CARGO_PKG_VERSION") && report.message != sentence {
        found.push(format!("its message is not what its other fields say: {}", plain::name(sentence.trim_end_matches('.'))));
    }
    if report.version != REPORT_VERSION {
        found.push(format!("its form has the version {}, but this program writes and reads {REPORT_VERSION}", report.version));
    }
    let names = Names::all(meta);
    if report.names != Names::default() && report.names != names {
        found.push("its names of variables or constraints are not those of the problem, in this order".to_string());
    }
    if let Err(wrong) = report.settings.validate() {
        found.push(format!("no run has its settings: {wrong}"));
    }
    let sizes =
        [report.stationarity, report.feasibility, report.complementarity, report.infeasible_stationarity, report.seconds];
    if sizes.iter().any(|size| *size < 0.0) {
        found.push("a residual or its time is negative".to_string());
    }
    if report.unusual.iter().any(|(_, count)| !(1..=report.iterations + 1).contains(count)) {
        found.push("an event happened in no iteration, or in more than there were".to_string());
    }
    if !is_noisy && report.samples.total() > 0 {
        found.push("it has samples, but its functions are exact".to_string());
    }
    if report.confirmed == Some(false) && report.point == Point::EpsKkt {
        found.push("it says that its values could not be repeated, and calls its point a KKT point".to_string());
    }
    if is_noisy && report.confirmed.is_some() {
        found.push("it says whether its values could be repeated, which a run with noise does not ask".to_string());
    }
    if report.followed.is_some() && report.point != Point::Unbounded {
        found.push("it says how far the objective was followed, but not that it improves without bound".to_string());
    }
    found.extend(impossible_counts(report, meta, is_noisy));
    found.extend(wrong_limit(report));
    if !(report.rho > 0.0 && report.rho.is_finite()) {
        found.push("its merit parameter rho is no positive number".to_string());
    }
    if !report.evaluated && report.point != Point::Nothing {
        found.push("it says that its functions were never evaluated, and calls its point more than nothing".to_string());
    }
    if report.average.is_some() && report.settings.sampling.average == 0 {
        found.push("it has an average of iterates, which its settings do not ask for".to_string());
    }
    if report.point == Point::EpsKkt && !report.worst_rows.is_empty() {
        found.push("it says that its point is a KKT point, and lists violated constraints".to_string());
    }
    if is_noisy && report.verdict.is_none() {
        found.push("the result has no verdict on its point".to_string());
    }
    let verdict = report.verdict.filter(|_| is_noisy);
    found.extend(verdict.into_iter().flat_map(|verdict| contradictions_of_verdict(report, &verdict)));
    found
}

/// Where a residual is not what the constraints and multipliers of the result itself make of it.
pub fn own_residuals(report: &Report, meta: &Meta) -> Vec<String> {
    let (gradient, jacobian) = (vec![0.0; meta.n()], vec![0.0; meta.jacobian_len()]);
    let at = KktPoint {
        x: &report.x,
        gradient: &gradient,
        constraints: &report.constraints,
        jacobian: &jacobian,
        row_multipliers: &report.row_multipliers,
        bound_multipliers: &report.bound_multipliers,
    };
    let Ok(own) = KktResiduals::new(meta, at) else { return Vec::new() };
    let most = |values: &[f64]| values.iter().fold(1.0, |most: f64, value| most.max(value.abs()));
    let sum = |values: &[f64]| values.iter().map(|value| value.abs()).sum::<f64>();
    let size = most(&report.constraints).max(most(&report.x));
    let weights = 1.0 + sum(&report.row_multipliers) + sum(&report.bound_multipliers);
    let residuals = [
        ("feasibility", report.feasibility, own.feasibility, 1.0),
        ("complementarity", report.complementarity, own.complementarity, weights),
    ];
    let wrong = residuals.into_iter().filter(|(_, claimed, own, weight)| {
        claimed.is_finite() && !near(*claimed, *own, ROUNDING * own.abs() + LAST_DIGITS * weight * size)
    });
    let told = |(name, claimed, own, _): (&str, f64, f64, f64)| {
        let [claimed, own] = [claimed, own].map(|value| scientific(value, 6));
        format!("the result says that its {name} is {claimed}, but its own constraints and multipliers make it {own}")
    };
    wrong.map(told).collect()
}

/// Where a run did not reach the limit that it says ended it, or ended by its tolerances beyond one: nothing is evaluated beyond a limit. Who goes on with a
/// smaller one may be beyond it, and ends there.
fn wrong_limit(report: &Report) -> Option<String> {
    let (limits, samples) = (&report.settings.limits, &report.samples);
    let of_samples = [
        (limits.samples, samples.total()),
        (limits.gradient_samples, samples.gradient),
        (limits.constraint_samples, samples.constraints),
        (limits.jacobian_samples, samples.jacobian),
    ];
    let is_there = match report.stop {
        Stop::Iterations => report.iterations >= limits.iterations,
        Stop::Samples => of_samples.iter().any(|(limit, _)| limit.is_some()),
        Stop::Evaluations => limits.evaluations.is_some(),
        Stop::WallTime => limits.seconds.is_some(),
        _ => true,
    };
    if !is_there {
        return Some(format!("it says that {}, but its settings have no such limit", report.stop));
    }
    let is_beyond = |(limit, count): &(Option<u64>, u64)| limit.is_some_and(|limit| *count > limit);
    let evaluations = (limits.evaluations, report.evaluations.total());
    let (_, count) = of_samples.into_iter().chain([evaluations]).find(is_beyond).filter(|_| report.stop == Stop::Tolerance)?;
    Some(format!("it ended because {}, after {count} samples or evaluations, which is beyond its limit", report.stop))
}

/// Where counts contradict each other: what was evaluated was evaluated at the start at least, and no iteration but one that forgets or judges what it
/// knows goes without an evaluation.
fn impossible_counts(report: &Report, meta: &Meta, is_noisy: bool) -> Option<String> {
    let (counts, samples) = (&report.evaluations, &report.samples);
    let exact = [
        ("objective", meta.has_objective, counts.objective),
        ("gradient", meta.has_objective, counts.gradient),
        ("constraints", meta.m() > 0, counts.constraints),
        ("Jacobian", meta.m() > 0, counts.jacobian),
    ];
    let all = [counts.objective, counts.gradient, counts.constraints, counts.jacobian, counts.hessian, report.iterations];
    let mut all = all.into_iter().chain([samples.gradient, samples.constraints, samples.jacobian]).chain(report.memory);
    if let Some(count) = all.find(|count| *count > MOST_COUNTED) {
        return Some(format!("no run counts to {count}"));
    }
    if report.seconds.is_nan() || report.seconds > MOST_SECONDS {
        return Some(format!("no run takes {} s", scientific(report.seconds, 1)));
    }
    // A noisy run need not look at the objective.
    let is_due = |name: &str| report.evaluated && !(is_noisy && name == "objective");
    let missing = exact.iter().find(|(name, is_there, count)| is_due(name) && *is_there && *count == 0);
    if let Some((name, ..)) = missing {
        return Some(format!("it says that its {name} was never evaluated, and what it was"));
    }
    let forgotten: u64 = report.unusual.iter().filter(|(event, _)| *event == Event::Forgotten).map(|(_, count)| *count).sum();
    let all = work_of(counts, samples, forgotten);
    (report.iterations > all).then(|| {
        format!("it has {}, but fewer evaluations, samples and the like: {all}", count_of(report.iterations, "iteration"))
    })
}

/// Where a verdict contradicts itself, or the run that it is of.
fn contradictions_of_verdict(report: &Report, verdict: &Verdict) -> Vec<String> {
    let mut found = Vec::new();
    let judge = &report.settings.sampling.judge;
    if report.point == Point::EpsKkt && !verdict.holds(&report.settings.tolerance, judge.rarest) {
        found.push("its verdict does not say that its point is a KKT point".to_string());
    }
    let bounds = [verdict.stationarity, verdict.feasibility, verdict.complementarity, verdict.infeasible];
    if bounds.iter().any(|one| !(0.0 <= one.lower && one.lower <= one.value && one.value <= one.upper)) {
        found.push("a residual of its verdict is not between its own bounds".to_string());
    }
    if !(verdict.relative_infeasible >= 0.0 && verdict.relative_infeasible.is_finite()) {
        found.push("its verdict has a relative slope of the violation that is no number from 0 on".to_string());
    }
    let again = verdict.summed_up(judge.rarest);
    let follows = |verdict: &Verdict| (verdict.certified, verdict.noise, verdict.bounds_unknown);
    if follows(verdict) != follows(&again) {
        found.push("what its verdict certifies does not follow from its bounds".to_string());
    }
    if verdict.confidence != judge.confidence {
        let [claimed, set] = [verdict.confidence, judge.confidence].map(verdict::short_percent);
        found.push(format!("its verdict claims a confidence of {claimed}%, but its settings ask for {set}%"));
    }
    if verdict.samples > report.samples.total() || verdict.iteration > report.iterations {
        found.push("its verdict has more samples or iterations than the whole run".to_string());
    }
    if report.stop == Stop::Tolerance && verdict.iteration != report.iterations {
        found.push("it ended with its verdict, which is on a point of another iteration than the last".to_string());
    }
    // No look has more than half of the risk for what is missing.
    let told = rarest_told(0.5 * (1.0 - judge.confidence), usize::try_from(verdict.samples).unwrap_or(usize::MAX));
    if verdict.rarest.is_some_and(|rarest| rarest < told * (1.0 - ROUNDING)) {
        found.push(format!(
            "its verdict claims that no event rarer than 1 in {:.0} samples is missing, but its {} tell of none rarer than 1 in {:.0}",
            1.0 / verdict.rarest.unwrap_or(1.0),
            count_of(verdict.samples, "sample"),
            1.0 / told
        ));
    }
    found
}

/// A noisy result whose numbers are compared with those of fresh samples. Both have noise, and many numbers are compared: what is called wrong is so
/// beyond doubt, by bounds of both sides that hold for all of them at once.
pub struct Doubted<'a> {
    pub report: &'a Report,
    pub claimed: &'a Verdict,
    /// How many times farther than the bounds of the result the truth may lie.
    pub wider: f64,
}

impl Doubted<'_> {
    /// Where the numbers of the result contradict each other, or the fresh samples.
    pub fn contradictions(&self, sure: &Verdict) -> Vec<String> {
        let (report, claimed) = (self.report, self.claimed);
        let residuals = [
            ("stationarity", report.stationarity, claimed.stationarity, sure.stationarity),
            ("feasibility", report.feasibility, claimed.feasibility, sure.feasibility),
            ("complementarity", report.complementarity, claimed.complementarity, sure.complementarity),
            ("slope of the violation", report.infeasible_stationarity, claimed.infeasible, sure.infeasible),
        ];
        let mut found = Vec::new();
        for (name, residual, claimed, sure) in residuals {
            if residual != claimed.value {
                let (one, other) = (scientific(residual, 6), scientific(claimed.value, 6));
                found.push(format!("the result says that its {name} is {one}, but its verdict says {other}"));
            }
            let least = sure.lower;
            let agrees = claimed.value + self.wider * (claimed.upper - claimed.value) + ROUNDING >= least;
            if !agrees {
                let (claim, least) = (scientific(claimed.upper, 2), scientific(least, 2));
                found.push(format!(
                    "the result says that its {name} is at most {claim}, but fresh samples say at least {least}"
                ));
            }
        }
        found
    }

    /// Where the error bar of the objective is not what the spread of fresh samples, so many in so many batches, makes of any number of samples
    /// that the verdict may have taken: one in each batch at least, and no more than all of them.
    pub fn wrong_error_bar(&self, fresh: &Verdict, (size, batches): (u64, usize)) -> Option<String> {
        let (own, new) = (self.claimed.objective?, fresh.objective?.error);
        let expected = |samples: f64| new * (size as f64 / samples).sqrt();
        let (least, most) = (expected(self.claimed.samples as f64) / SPREADS, expected(batches as f64) * SPREADS);
        let is_credible = least <= own.error && own.error <= most + ROUNDING * (1.0 + own.value.abs());
        (!is_credible).then(|| {
            let [own, least, most] = [own.error, least, most].map(|error| scientific(error, 1));
            format!(
                "the result says that its objective is off by at most {own}; by fresh samples that is between {least} and {most}"
            )
        })
    }

    /// Where the objective contradicts the verdict, or the fresh samples by more than the noise of both.
    pub fn wrong_objective(&self, sure: &Verdict) -> Option<String> {
        let (claimed, sure) = (self.claimed.objective?, sure.objective?);
        if self.report.objective != claimed.value {
            let (one, other) = (scientific(self.report.objective, 6), scientific(claimed.value, 6));
            return Some(format!("the result says that its objective is {one}, but its verdict says {other}"));
        }
        let allowance = self.wider * claimed.error + sure.error + ROUNDING * (1.0 + sure.value.abs());
        (!near(claimed.value, sure.value, allowance)).then(|| disagrees("objective", claimed.value, sure))
    }

    /// The first constraint that differs from the fresh samples by more than the noise of both, and what they say. That of the result is in the
    /// bound on its violation, from one tail and for all rows together: twice that covers a row on both sides.
    pub fn wrong_row(&self, rows: &[Averaged]) -> Option<(usize, Averaged)> {
        let own = 2.0 * self.wider * (self.claimed.feasibility.upper - self.claimed.feasibility.value);
        let differs = |(i, row): (usize, &Averaged)| {
            let allowance = own + row.error + ROUNDING * (1.0 + row.value.abs());
            (!near(self.report.constraints[i], row.value, allowance)).then_some((i, *row))
        };
        rows.iter().enumerate().find_map(differs)
    }
}

/// Where a result says of its own samples that no event can be missing among them, though they are samples of functions with noise.
pub fn hidden_events(report: &Report, claimed: &Verdict, fresh: &Verdict) -> Option<String> {
    let is_silent = claimed.rarest.is_none() && fresh.rarest.is_some() && report.settings.sampling.judge.range.is_none();
    is_silent.then(|| "its verdict does not say which events may be missing, but its functions are sampled".to_string())
}

/// Two spreads of batches of the same samples differ by no more than this factor, the quantiles of both judgements included.
const SPREADS: f64 = 10.0;

#[cfg(test)]
mod tests {
    use tangor_problem::{ClosureProblem, Meta};
    use tangor_solver::{Bounded, Settings, solve};

    use super::*;

    /// A result with one constraint of the value 3 and the objective 2.
    fn report() -> Report {
        let meta = Meta::new("line", vec![0.0]).at_most(&[4.0]);
        let line = ClosureProblem::builder(meta).objective(|x| x[0]).gradient(|_, g| g[0] = 1.0);
        let line = line.constraints(|x, c| c[0] = x[0]).jacobian(|_, v| v[0] = 1.0).build().expect("whole");
        let mut report = solve(line, Settings::default()).expect("valid");
        (report.objective, report.constraints) = (2.0, vec![3.0]);
        report
    }

    #[test]
    fn an_objective_may_differ_by_the_noise_of_both_sides() {
        let verdict = |value, error| Verdict { objective: Some(Averaged { value, error }), samples: 100, ..Verdict::default() };
        let (report, wider) = (report(), 1.0);
        let wrong = |claimed: &Verdict, fresh: &Verdict| {
            let doubted = Doubted { report: &report, claimed, wider };
            doubted.wrong_objective(fresh).or_else(|| doubted.wrong_error_bar(fresh, (100, 20))).is_some()
        };
        assert!(!wrong(&verdict(2.0, 0.25), &verdict(2.5, 0.25)));
        assert!(wrong(&verdict(2.0, 0.25), &verdict(2.5, 0.24)));
        assert!(wrong(&verdict(2.1, 9.0), &verdict(2.0, 9.0)), "the report says 2");
        assert!(!wrong(&verdict(2.1, 9.0), &Verdict::default()), "nothing to compare with");
        // One sample in each of 20 batches has an error bar of root 5 of that of 100 samples; ten times that is chance, more is not.
        assert!(!wrong(&verdict(2.0, 2.2), &verdict(2.0, 0.1)) && wrong(&verdict(2.0, 2.3), &verdict(2.0, 0.1)));
        assert!(!wrong(&verdict(2.0, 0.011), &verdict(2.0, 0.1)) && wrong(&verdict(2.0, 0.009), &verdict(2.0, 0.1)));
        assert!(wrong(&verdict(2.0, f64::NAN), &verdict(2.0, 0.1)));
        assert!(wrong(&verdict(2.0, 0.1), &verdict(2.0, 0.0)) && !wrong(&verdict(2.0, 0.0), &verdict(2.0, 0.0)));
        // Twice as wide, the noise of the result counts twice.
        let wider = |fresh: f64| {
            Doubted { report: &report, claimed: &verdict(2.0, 0.25), wider: 2.0 }
                .wrong_objective(&verdict(fresh, 0.25))
                .is_some()
        };
        assert!(!wider(2.75) && wider(2.76));
    }

    #[test]
    fn counts_are_possible() {
        let meta = Meta::new("line", vec![0.0]).at_most(&[4.0]);
        let wrong = |change: &dyn Fn(&mut Report)| {
            let mut forged = report();
            change(&mut forged);
            impossible_counts(&forged, &meta, false)
        };
        assert_eq!(wrong(&|_| {}), None);
        assert!(wrong(&|report| report.evaluations.objective = 0).is_some_and(|text| text.contains("its objective was never")));
        assert!(wrong(&|report| report.evaluations.jacobian = 0).is_some_and(|text| text.contains("its Jacobian was never")));
        assert!(wrong(&|report| report.iterations = 1_000_000_000).is_some_and(|text| text.contains("1000000000 iterations")));
        assert_eq!(wrong(&|report| report.evaluations.objective = 1_000_000), None, "how many there were nobody knows");
        assert!(wrong(&|report| report.evaluations.objective = u64::MAX).is_some_and(|text| text.contains("no run counts to")));
        assert!(wrong(&|report| report.memory = Some(u64::MAX)).is_some_and(|text| text.contains("no run counts to")));
        assert!(wrong(&|report| report.seconds = 1e18).is_some_and(|text| text.contains("no run takes")));
    }

    #[test]
    fn who_samples_constraints_says_which_events_may_be_missing() {
        let told = |rarest| Verdict { rarest, ..Verdict::default() };
        let hides = |claimed, fresh| hidden_events(&report(), &told(claimed), &told(fresh)).is_some();
        assert!(hides(None, Some(1e-4)));
        assert!(!hides(Some(1e-3), Some(1e-4)) && !hides(None, None));
    }

    #[test]
    fn a_constraint_may_differ_by_its_noise_and_twice_that_of_the_violation() {
        let claimed = Verdict { feasibility: Bounded { value: 0.1, lower: 0.0, upper: 0.2 }, ..Verdict::default() };
        let report = report();
        let found =
            |value, error| Doubted { report: &report, claimed: &claimed, wider: 1.0 }.wrong_row(&[Averaged { value, error }]);
        assert_eq!(found(3.29, 0.1), None);
        assert_eq!(found(3.31, 0.1), Some((0, Averaged { value: 3.31, error: 0.1 })));
        assert_eq!(found(f64::NAN, 0.1).map(|(i, _)| i), Some(0));
    }
}
