//! Rows without noise beside noisy ones: samples cannot tell them from rows with a rare event, so that somebody must, or very many samples.

use std::ops::ControlFlow;

use tangor_problem::{Access, Accesses, Draw, Evaluation, Meta, SampledProblem, Stream};
use tangor_solver::{Batch, Point, Report, Row, Settings, Solver, Tolerance, solve_sampled};

fn quiet(_: &Row, _: &[f64]) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// `min E |x - (2, 2) - xi|^2 / 2` subject to `E[x_0 + zeta] <= 1` and `x_1 <= 1`, a row without noise beside one with it, where nobody says
/// which is which unless `exact` does.
struct Beside {
    meta: Meta,
    exact: [bool; 2],
}

impl Beside {
    fn new(exact: [bool; 2]) -> Self {
        Beside { meta: Meta::new("beside", vec![0.0, 0.0]).at_most(&[1.0, 1.0]).name_rows(["noisy", "budget"]), exact }
    }
}

/// The average over draws of a number between -1/2 and 1/2.
fn noise(draws: &[Draw], stream: u64) -> f64 {
    draws.iter().map(|draw| Stream::new(*draw, stream).uniform() - 0.5).sum::<f64>() / draws.len() as f64
}

impl SampledProblem for Beside {
    fn meta(&self) -> &Meta {
        &self.meta
    }
    fn accesses(&self) -> Accesses {
        Accesses { jacobian: Access::Exact, ..Accesses::all(Access::Endless) }
    }
    fn exact_rows(&self) -> &[bool] {
        &self.exact
    }
    fn gradient(&mut self, x: &[f64], draws: &[Draw], g: &mut [f64]) -> Evaluation {
        g.copy_from_slice(&[x[0] - 2.0 + noise(draws, 1), x[1] - 2.0 + noise(draws, 2)]);
        Ok(())
    }
    fn constraints(&mut self, x: &[f64], draws: &[Draw], c: &mut [f64]) -> Evaluation {
        c.copy_from_slice(&[x[0] + noise(draws, 3), x[1]]);
        Ok(())
    }
    fn jacobian(&mut self, _: &[f64], _: &[Draw], values: &mut [f64]) -> Evaluation {
        values.copy_from_slice(&[1.0, 0.0, 0.0, 1.0]);
        Ok(())
    }
}

fn beside(exact: [bool; 2], samples: Option<u64>) -> Report {
    beside_with(exact, samples, Settings::default())
}

fn beside_with(exact: [bool; 2], samples: Option<u64>, mut settings: Settings) -> Report {
    settings.limits.samples = samples;
    for estimation in [&mut settings.sampling.gradient, &mut settings.sampling.constraints] {
        estimation.batch = Batch::Constant { size: 16 };
    }
    settings.limits.iterations = 5000;
    for tolerance in ["stationarity", "feasibility", "complementarity"] {
        settings.set(&format!("tolerance.{tolerance}"), "0.1").expect("a setting");
    }
    solve_sampled(Beside::new(exact), settings).expect("valid")
}

/// Settings of who knows that no event rarer than one in a hundred matters.
fn nothing_rare() -> Settings {
    let mut settings = Settings::default();
    settings.sampling.judge.rarest = 1e-2;
    settings
}

#[test]
fn a_row_that_is_declared_exact_needs_no_more_samples_than_the_others() {
    let report = beside_with([false, true], Some(20_000), nothing_rare());
    assert_eq!(report.point, Point::EpsKkt, "{}", report.message);
    assert!(report.samples.total() <= 20_000);
}

#[test]
fn on_samples_that_may_miss_an_event_nothing_is_claimed() {
    let report = beside([false, true], Some(20_000));
    let verdict = report.verdict.expect("judged");
    assert_eq!((report.point, verdict.certified), (Point::Nothing, None), "{}", report.message);
    for part in ["cannot be told", "may be missing among the fresh ones", "24593 in one judgement", "sampling.judge.rarest"] {
        assert!(report.message.contains(part), "{part}: {}", report.message);
    }
    // With as many as tell laid by for the last judgement, the same is certified.
    let report = beside([false, true], Some(100_000));
    assert_eq!(report.point, Point::EpsKkt, "{}", report.message);
    assert!(report.samples.total() <= 100_000 && report.verdict.expect("judged").rarest.expect("noisy") <= 1.5e-4);
}

/// An event once in 5000 samples that adds 1 on the average, beside noise: to the constraint of `max x` where `x <= 2`, so that `x <= 1` is true and
/// `x <= 2` is what most samples say, or to the gradient of `(x - 1)^2 / 2`, so that `x = 0` is true and most samples say 1.
struct Rarely {
    meta: Meta,
    of_gradient: bool,
}

impl Rarely {
    fn new(of_gradient: bool) -> Self {
        Rarely { meta: Meta::new("rarely", vec![0.5]).bounds(&[-10.0], &[10.0]).at_most(&[2.0]), of_gradient }
    }

    fn event(draws: &[Draw]) -> f64 {
        let events = draws.iter().filter(|draw| Stream::new(**draw, 4).uniform() < 2e-4).count();
        noise(draws, 3) + 5000.0 * events as f64 / draws.len() as f64
    }

    fn run(self, samples: Option<u64>, seed: u64) -> Report {
        let mut settings = Settings::default();
        (settings.limits.samples, settings.sampling.seed) = (samples, seed);
        for tolerance in ["stationarity", "feasibility", "complementarity"] {
            settings.set(&format!("tolerance.{tolerance}"), "0.1").expect("a setting");
        }
        solve_sampled(self, settings).expect("valid")
    }

    /// Whether a run with at most so many samples claims a KKT point where there is none.
    fn misleads(self, samples: Option<u64>, seed: u64) -> (bool, bool) {
        let truth = if self.of_gradient { 0.0 } else { 1.0 };
        let report = self.run(samples, seed);
        let claims = report.point == Point::EpsKkt;
        (claims, claims && (report.x[0] - truth).abs() > 0.1)
    }
}

impl SampledProblem for Rarely {
    fn meta(&self) -> &Meta {
        &self.meta
    }
    fn accesses(&self) -> Accesses {
        let exact = Accesses::all(Access::Exact);
        match self.of_gradient {
            true => Accesses { gradient: Access::Endless, ..exact },
            false => Accesses { constraints: Access::Endless, ..exact },
        }
    }
    fn gradient(&mut self, x: &[f64], draws: &[Draw], g: &mut [f64]) -> Evaluation {
        g[0] = if self.of_gradient { x[0] - 1.0 + Rarely::event(draws) } else { -1.0 };
        Ok(())
    }
    fn constraints(&mut self, x: &[f64], draws: &[Draw], c: &mut [f64]) -> Evaluation {
        c[0] = if self.of_gradient { x[0] } else { x[0] + Rarely::event(draws) };
        Ok(())
    }
    fn jacobian(&mut self, _: &[f64], _: &[Draw], values: &mut [f64]) -> Evaluation {
        values.fill(1.0);
        Ok(())
    }
}

#[test]
fn a_rare_event_beside_noise_makes_no_false_claim_under_a_limit_on_samples() {
    for (limit, of_gradient) in [(8000, false), (20_000, false), (8000, true)] {
        let claims = (0..15).filter(|&seed| Rarely::new(of_gradient).misleads(Some(limit), seed).0).count();
        assert_eq!(claims, 0, "with {limit} samples, of the gradient: {of_gradient}");
    }
}

/// What the spread of batches makes of a bound that an event exceeds, which is not among them, is no bound, and the verdict says so.
#[test]
fn a_bound_that_a_rare_event_may_exceed_is_not_given() {
    let (mut given, mut exceeded, mut unknown) = (0, 0, 0);
    for limit in [8000, 20_000, 60_000, 120_000] {
        for seed in 0..15 {
            let report = Rarely::new(false).run(Some(limit), seed);
            let Some(verdict) = report.verdict else { continue };
            let truth = (report.x[0] + 1.0 - 2.0).max(0.0);
            match verdict.bounds_unknown {
                true => unknown += i32::from(truth > verdict.feasibility.upper),
                false => (given, exceeded) = (given + 1, exceeded + i32::from(truth > verdict.feasibility.upper)),
            }
            assert!(
                report.point != Point::EpsKkt || report.message.contains("if no event rarer than 1 in "),
                "{}",
                report.message
            );
        }
    }
    assert!(unknown > 0 && given > 0, "{given} bounds were given, {unknown} that were not would have been exceeded");
    assert!(exceeded <= 3, "{exceeded} of {given} bounds with 95% confidence");
}

#[test]
fn a_rare_event_beside_noise_makes_hardly_a_false_claim_without_limits() {
    for of_gradient in [false, true] {
        let misled = (0..20).filter(|&seed| Rarely::new(of_gradient).misleads(None, seed).1).count();
        assert!(misled <= 2, "{misled} of 20, of the gradient: {of_gradient}");
    }
}

#[test]
fn a_judgement_grows_to_what_tells_where_nobody_declares_a_row() {
    for limit in [None, Some(150_000)] {
        let report = beside([false, false], limit);
        let verdict = report.verdict.expect("judged");
        assert_eq!(report.point, Point::EpsKkt, "{limit:?}: {}", report.message);
        assert!(verdict.silent_row.is_none() && verdict.samples > 24_000, "{verdict:?}");
        assert!(limit.is_none_or(|most| report.samples.total() <= most), "{:?}", report.samples);
    }
}

#[test]
fn a_budget_that_cannot_tell_says_what_it_needs() {
    let report = beside([false, false], Some(20_000));
    assert_eq!(report.point, Point::Nothing);
    assert_eq!(report.verdict.expect("judged").silent_row, Some(1));
    for part in ["constraint budget did not vary", "exact_rows", "24593 samples"] {
        assert!(report.message.contains(part), "{}", report.message);
    }
}

#[test]
fn what_was_found_is_told_by_another_tolerance() {
    let mut settings = nothing_rare();
    settings.limits.samples = Some(20_000);
    let mut solver = Solver::sampled(Beside::new([false, true]), settings).expect("valid");
    assert_ne!(solver.run(&mut quiet).point, Point::EpsKkt, "1e-6 is no tolerance for samples");
    let loose = Tolerance { stationarity: 1.0, feasibility: 1.0, complementarity: 1.0, ..Tolerance::default() };
    solver.tell_by(loose.clone()).expect("in its range");
    let report = solver.report();
    assert_eq!((report.point, report.settings.tolerance), (Point::EpsKkt, loose));
    assert!(solver.tell_by(Tolerance { feasibility: -1.0, ..Tolerance::default() }).is_err());
}
