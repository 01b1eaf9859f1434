//! The limit on evaluations holds before every evaluation, and what is needed at one point is asked for in one pass, as a problem that counts its calls
//! sees it.

#[path = "support/watched.rs"]
mod watched;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tangor_collection::find;
use tangor_problem::{Draw, FiniteSum, Meta, Noise, Noisy, Problem, SampledSum, Wanted};
use tangor_solver::{Candidate, Point, Sampling, Settings, Silent, Solver, Stop, judge_point, solve, solve_sampled};
use watched::{Watched, Watcher};

/// How often a function was evaluated, and in how many passes.
#[derive(Clone, Default)]
struct Count(Arc<[AtomicU64; 2]>);

impl Count {
    fn functions(&self) -> u64 {
        self.0[0].load(Ordering::Relaxed)
    }

    fn passes(&self) -> u64 {
        self.0[1].load(Ordering::Relaxed)
    }
}

impl Watcher for Count {
    fn watch<T>(&mut self, wanted: Wanted, _: &[Draw], evaluate: impl FnOnce() -> T) -> T {
        self.0[0].fetch_add(wanted.count() as u64, Ordering::Relaxed);
        self.0[1].fetch_add(1, Ordering::Relaxed);
        evaluate()
    }
}

fn problem(name: &str) -> Box<dyn Problem> {
    (find(name).expect("it is embedded").build)()
}

fn limited(most: u64) -> Settings {
    let mut settings = Settings::default();
    settings.limits.evaluations = Some(most);
    settings
}

#[test]
fn an_exact_run_never_takes_more() {
    // Full steps, shortened ones, corrections, other starts around an infeasible point: each may fall on the limit.
    for name in ["HS71", "HS39", "HS8", "MARATOS", "HS13", "CIRCLELINE", "ISOLATED"] {
        let entry = find(name).expect("it is embedded");
        let whole = solve((entry.build)(), Settings::default()).unwrap();
        let (mut cut, mut done) = (0, 0);
        let total = whole.evaluations.total();
        for most in (0..total).step_by((total as usize / 40).max(1)).chain(total..total + 12) {
            let count = Count::default();
            let report = solve(Watched((entry.build)(), count.clone()), limited(most)).unwrap();
            let calls = count.functions();
            assert!(calls <= most && report.evaluations.total() <= most, "{name}: {calls} of {most}, {:?}", report.evaluations);
            match report.stop {
                Stop::Evaluations => cut += 1,
                stop => {
                    done += 1;
                    assert_eq!((stop, report.point), (whole.stop, whole.point), "{name} with {most}");
                    assert_eq!(report.x, whole.x, "{name}: a limit that is not reached changes nothing");
                }
            }
        }
        assert!(cut > 0 && done > 0, "{name}: {cut} runs ended at the limit, {done} before");
    }
}

#[test]
fn a_noisy_run_never_takes_more_and_keeps_enough_for_the_last_judgement() {
    // A judgement of HS71 has 20 batches of gradient with objective, constraints and Jacobian: 80 evaluations.
    let mut judged = 0;
    for most in (0..40).chain((150..260).step_by(3)).chain([1000, 2003]) {
        let (count, noisy) = (Count::default(), Noisy::new(problem("HS71"), Noise::level(1e-3)).unwrap());
        let report = solve_sampled(Watched(noisy, count.clone()), limited(most)).unwrap();
        let calls = count.functions();
        assert!(calls <= most && report.evaluations.total() <= most, "{calls} of {most}, {:?}", report.evaluations);
        if most < 160 {
            assert_eq!(report.stop, Stop::Evaluations, "{most}");
            assert!(report.verdict.is_none(), "a limit of {most} leaves nothing to judge with");
        } else {
            assert!(report.verdict.is_some(), "{most}: {}", report.message);
            judged += 1;
        }
    }
    assert!(judged > 30);
}

#[test]
fn a_run_that_was_cut_goes_on_as_if_it_had_not_been() {
    for most in [9, 14, 23] {
        let whole = solve(problem("HS71"), Settings::default()).unwrap();
        let mut first = Solver::new(problem("HS71"), limited(most)).unwrap();
        assert_eq!(first.run(&mut Silent).stop, Stop::Evaluations);
        let mut saved = first.checkpoint();
        saved.settings.limits.evaluations = None;
        let report = Solver::resume(problem("HS71"), saved).unwrap().run(&mut Silent);
        assert_eq!((report.point, &report.x, report.evaluations), (Point::EpsKkt, &whole.x, whole.evaluations), "{most}");
    }
    // And a noisy one: no draw was taken in vain.
    let noisy = || Noisy::new(problem("HS71"), Noise::level(1e-3)).unwrap();
    let mut settings = Settings::default();
    settings.limits.iterations = 60;
    let whole = solve_sampled(noisy(), settings.clone()).unwrap();
    for most in [165, 210, 260] {
        settings.limits.evaluations = Some(most);
        let mut first = Solver::sampled(noisy(), settings.clone()).unwrap();
        assert_eq!(first.run(&mut Silent).stop, Stop::Evaluations);
        let mut saved = first.checkpoint();
        saved.settings.limits.evaluations = None;
        let report = Solver::resume_sampled(noisy(), saved).unwrap().run(&mut Silent);
        assert_eq!((&report.x, report.evaluations, report.samples), (&whole.x, whole.evaluations, whole.samples), "{most}");
    }
}

#[test]
fn an_exact_run_asks_for_values_and_derivatives_in_one_pass_each_and_confirms_in_one() {
    let count = Count::default();
    let mut settings = Settings::default();
    settings.stepsize.correction = false;
    settings.scaling = tangor_solver::Scaling::None;
    let report = solve(Watched(problem("HS71"), count.clone()), settings).unwrap();
    assert_eq!(report.point, Point::EpsKkt);
    let counts = report.evaluations;
    assert_eq!(counts.objective, counts.constraints, "values come together");
    assert_eq!(counts.gradient, counts.jacobian, "and derivatives do");
    assert_eq!(count.passes(), counts.objective + counts.gradient + 1);
    assert_eq!(count.functions(), counts.total() + 4, "all four once more at the end, which nobody counts");
}

/// `min mean (x - i)^2 / 2` over the numbers below 10 with `mean i x >= 4.5`.
fn population() -> SampledSum {
    FiniteSum::new(Meta::new("population", vec![0.0]).at_least(&[4.5]), 10)
        .term_objective(|i, x| 0.5 * (x[0] - i as f64).powi(2))
        .term_gradient(|i, x, g| g[0] += x[0] - i as f64)
        .term_constraints(|i, x, c| c[0] += i as f64 * x[0])
        .term_jacobian(|i, _, j| j[0] += i as f64)
        .sampled()
}

#[test]
fn a_whole_population_is_judged_in_one_pass() {
    let count = Count::default();
    let candidate = Candidate { x: &[4.5], row_multipliers: &[0.0], bound_multipliers: &[0.0] };
    let verdict = judge_point(Watched(population(), count.clone()), candidate, &Sampling::default()).unwrap();
    assert_eq!(verdict.objective.expect("known").value, 4.125);
    assert_eq!((count.passes(), count.functions()), (1, 4));
    // A run that ends where it begins: first batches of all functions, and the judgement.
    let count = Count::default();
    let mut settings = Settings::default();
    settings.limits.iterations = 0;
    let report = solve_sampled(Watched(population(), count.clone()), settings).unwrap();
    assert_eq!(report.verdict.expect("judged").stationarity.value, 4.5 - report.row_multipliers[0].abs() * 4.5);
    assert_eq!((count.passes(), count.functions()), (2, 7));
}
