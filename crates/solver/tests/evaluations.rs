//! The limit on evaluations holds before every evaluation, as a problem that counts its calls sees it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tangor_collection::find;
use tangor_problem::{Accesses, Draw, Evaluation, Meta, Noise, Noisy, Problem, SampledProblem};
use tangor_solver::{Point, Settings, Silent, Solver, Stop, solve, solve_sampled};

/// A problem, and how often a function of it was called.
struct Calls<P>(P, Arc<AtomicU64>);

impl<P> Calls<P> {
    fn new(problem: P) -> (Self, Arc<AtomicU64>) {
        let calls = Arc::new(AtomicU64::new(0));
        (Calls(problem, Arc::clone(&calls)), calls)
    }

    fn count(&self) {
        self.1.fetch_add(1, Ordering::Relaxed);
    }
}

impl<P: Problem> Problem for Calls<P> {
    fn meta(&self) -> &Meta {
        self.0.meta()
    }
    fn objective(&mut self, x: &[f64]) -> Evaluation<f64> {
        self.count();
        self.0.objective(x)
    }
    fn gradient(&mut self, x: &[f64], g: &mut [f64]) -> Evaluation {
        self.count();
        self.0.gradient(x, g)
    }
    fn constraints(&mut self, x: &[f64], c: &mut [f64]) -> Evaluation {
        self.count();
        self.0.constraints(x, c)
    }
    fn jacobian(&mut self, x: &[f64], values: &mut [f64]) -> Evaluation {
        self.count();
        self.0.jacobian(x, values)
    }
}

impl<P: SampledProblem> SampledProblem for Calls<P> {
    fn meta(&self) -> &Meta {
        self.0.meta()
    }
    fn accesses(&self) -> Accesses {
        self.0.accesses()
    }
    fn gradient(&mut self, x: &[f64], draws: &[Draw], g: &mut [f64]) -> Evaluation {
        self.count();
        self.0.gradient(x, draws, g)
    }
    fn constraints(&mut self, x: &[f64], draws: &[Draw], c: &mut [f64]) -> Evaluation {
        self.count();
        self.0.constraints(x, draws, c)
    }
    fn jacobian(&mut self, x: &[f64], draws: &[Draw], values: &mut [f64]) -> Evaluation {
        self.count();
        self.0.jacobian(x, draws, values)
    }
    fn objective(&mut self, x: &[f64], draws: &[Draw]) -> Option<Evaluation<f64>> {
        let value = self.0.objective(x, draws)?;
        self.count();
        Some(value)
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
            let (problem, calls) = Calls::new((entry.build)());
            let report = solve(problem, limited(most)).unwrap();
            let calls = calls.load(Ordering::Relaxed);
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
        let (problem, calls) = Calls::new(Noisy::new(problem("HS71"), Noise::level(1e-3)).unwrap());
        let report = solve_sampled(problem, limited(most)).unwrap();
        let calls = calls.load(Ordering::Relaxed);
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
