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
    let mut settings = Settings::default();
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

#[test]
fn a_row_that_is_declared_exact_needs_no_more_samples_than_the_others() {
    let report = beside([false, true], Some(20_000));
    assert_eq!(report.point, Point::EpsKkt, "{}", report.message);
    assert!(report.samples.total() <= 20_000);
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
    let mut settings = Settings::default();
    settings.limits.samples = Some(20_000);
    let mut solver = Solver::sampled(Beside::new([false, true]), settings).expect("valid");
    assert_ne!(solver.run(&mut quiet).point, Point::EpsKkt, "1e-6 is no tolerance for samples");
    let loose = Tolerance { stationarity: 1.0, feasibility: 1.0, complementarity: 1.0, ..Tolerance::default() };
    solver.tell_by(loose.clone()).expect("in its range");
    let report = solver.report();
    assert_eq!((report.point, report.settings.tolerance), (Point::EpsKkt, loose));
    assert!(solver.tell_by(Tolerance { feasibility: -1.0, ..Tolerance::default() }).is_err());
}
