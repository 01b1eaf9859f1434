//! A point judged with given multipliers: exactly, on samples, and refused in a sentence.

use tangor_collection::{entries, find};
use tangor_problem::{Exact, FiniteSum, Meta, Noise, Noisy, Problem, SampledProblem};
use tangor_solver::{
    Candidate, Point, Report, Sampling, Settings, Silent, Solver, Verdict, beyond_doubt, judge_before, judge_point,
    judge_point_and_rows, solve,
};

fn candidate(report: &Report) -> Candidate<'_> {
    let Report { x, row_multipliers, bound_multipliers, .. } = report;
    Candidate { x, row_multipliers, bound_multipliers }
}

/// The residuals of a report are what anyone finds who computes them again.
#[test]
fn exact_verdicts_are_the_residuals_of_the_report() {
    let mut judged = 0;
    for entry in entries().iter().filter(|entry| (entry.build)().meta().n() <= 20) {
        let report = solve((entry.build)(), Settings::default()).unwrap();
        let verdict = judge_point(Exact((entry.build)()), candidate(&report), &Sampling::default()).unwrap();
        let pairs = [
            (verdict.stationarity, report.stationarity),
            (verdict.feasibility, report.feasibility),
            (verdict.complementarity, report.complementarity),
        ];
        for (found, claimed) in pairs {
            assert_eq!(found.value, found.upper, "{}: an exact residual has no noise", entry.name);
            assert!((found.value - claimed).abs() <= 1e-8 * (1.0 + claimed), "{}: {found:?}, {claimed}", entry.name);
        }
        judged += (report.point == Point::EpsKkt) as usize;
    }
    assert!(judged > 20, "only {judged} problems were solved");
}

fn verdict_of_hs71(seed: u64, samples: usize) -> Verdict {
    let report = solve((find("HS71").unwrap().build)(), Settings::default()).unwrap();
    let mut sampling = Sampling { seed, ..Sampling::default() };
    sampling.judge.samples = samples;
    let noisy = Noisy::new((find("HS71").unwrap().build)(), Noise::level(1e-2)).unwrap();
    judge_point(noisy, candidate(&report), &sampling).unwrap()
}

#[test]
fn more_samples_bring_closer_bounds() {
    let (few, many) = (verdict_of_hs71(1, 200), verdict_of_hs71(1, 20_000));
    assert!(many.stationarity.upper < 0.3 * few.stationarity.upper, "{few:?}, {many:?}");
    assert!(many.feasibility.upper < 0.3 * few.feasibility.upper, "{few:?}, {many:?}");
    assert_eq!(verdict_of_hs71(1, 200), few);
    assert_ne!(verdict_of_hs71(2, 200), few);
}

/// By how many standard errors two averages of the same samples are surrounded follows from Student's distribution alone.
#[test]
fn what_contradicts_somebody_else_is_beyond_doubt() {
    let report = solve((find("HS71").unwrap().build)(), Settings::default()).unwrap();
    let noisy = Noisy::new((find("HS71").unwrap().build)(), Noise::level(1e-2)).unwrap();
    let judged = judge_point_and_rows(noisy, candidate(&report), &Sampling::default(), None).unwrap();
    let width = |verdict: &Verdict| verdict.feasibility.upper - verdict.feasibility.value;
    assert_eq!(judged.verdict.feasibility.value, judged.beyond_doubt.feasibility.value);
    // One tail of 0.05 / one tail of 1e-4 / 7 with 19 degrees of freedom: 1.7291 and 5.6.
    let wider = width(&judged.beyond_doubt) / width(&judged.verdict);
    assert!((3.0..3.5).contains(&wider), "{wider}");
    // Both tails, and half as many batches.
    let wider = beyond_doubt(&Sampling::default().judge, 2);
    assert!((4.0..6.0).contains(&wider), "{wider}");
    assert!(beyond_doubt(&Sampling::default().judge, 1000) > wider, "more numbers are compared");
    assert_eq!(judged.rows.len(), 2);
}

/// The mean of the numbers below `members`.
fn mean(members: usize) -> impl SampledProblem {
    FiniteSum::new(Meta::new("mean", vec![0.0]), members)
        .term_objective(|i, x| 0.5 * (x[0] - i as f64).powi(2))
        .term_gradient(|i, x, g| g[0] += x[0] - i as f64)
        .sampled()
}

#[test]
fn a_population_that_fits_is_judged_as_a_whole() {
    let mut sampling = Sampling::default();
    sampling.judge.samples = 101;
    let centre = Candidate { x: &[50.0], row_multipliers: &[], bound_multipliers: &[0.0] };
    let whole = judge_point(mean(101), centre, &sampling).unwrap();
    assert_eq!((whole.stationarity.upper, whole.samples, whole.few_events), (0.0, 101, false));
    assert!(whole.objective.is_some_and(|objective| objective.error == 0.0 && objective.value > 0.0), "{whole:?}");
    sampling.judge.samples = 100;
    let part = judge_point(mean(101), centre, &sampling).unwrap();
    assert!(part.stationarity.upper > 1.0 && part.samples == 100, "{part:?}");
}

#[test]
fn what_was_taken_before_a_run_counts_within_its_limits() {
    let mut settings = Settings::default();
    (settings.limits.samples, settings.sampling.judge.samples) = (Some(2000), 40);
    let start = Candidate { x: &[0.0], row_multipliers: &[], bound_multipliers: &[0.0] };
    let (_, before) = judge_before(mean(1000), start, &settings.sampling).unwrap();
    assert_eq!((before.gradient, before.total()), (40, 40));
    assert_ne!(
        judge_before(mean(1000), start, &settings.sampling).unwrap().0,
        judge_point(mean(1000), start, &settings.sampling).unwrap(),
        "a pilot sees other samples"
    );
    let mut solver = Solver::sampled_after(mean(1000), settings, before).unwrap();
    let report = solver.run(&mut Silent);
    assert!(report.samples.gradient > 40 && report.samples.total() <= 2000, "{:?}", report.samples);
}

#[test]
fn what_does_not_fit_is_refused() {
    let report = solve((find("HS71").unwrap().build)(), Settings::default()).unwrap();
    let good = candidate(&report);
    for (wrong, expected) in [
        (Candidate { x: &[1.0], ..good }, "the point has 1 numbers, but HS71 has 4 variables"),
        (Candidate { x: &[f64::NAN; 4], ..good }, "variable x1 is NaN, outside of its bounds"),
        (Candidate { row_multipliers: &[], ..good }, "the multipliers of the constraints are 0 numbers, but HS71 has 2"),
    ] {
        let error = judge_point(Exact((find("HS71").unwrap().build)()), wrong, &Sampling::default()).unwrap_err().to_string();
        assert!(error.starts_with("the point cannot be judged: ") && error.contains(expected), "{error}");
    }
}

/// The second row of HS71 has no upper bound to push from: a multiplier of that sign counts as none, as in every other judgement.
#[test]
fn a_multiplier_at_an_absent_bound_holds_nothing() {
    let report = solve((find("HS71").unwrap().build)(), Settings::default()).unwrap();
    let meta = (find("HS71").unwrap().build)().meta().clone();
    let row = (0..2).find(|&i| meta.c_upper[i] >= 1e20).expect("a row with a lower bound alone");
    let verdict = |multiplier: f64| {
        let mut row_multipliers = report.row_multipliers.clone();
        row_multipliers[row] = multiplier;
        let changed = Candidate { row_multipliers: &row_multipliers, ..candidate(&report) };
        judge_point(Exact((find("HS71").unwrap().build)()), changed, &Sampling::default()).unwrap()
    };
    assert_eq!(verdict(3.0).stationarity, verdict(0.0).stationarity);
    assert_eq!(verdict(3.0).complementarity.value, verdict(0.0).complementarity.value);
    assert!(verdict(0.0).stationarity.value > 0.1, "without its multiplier the point is not stationary");
}
