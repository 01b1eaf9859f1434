//! What must hold on any problem, tried on hundreds of random ones; the steps themselves are looked at inside of the crate.

#[path = "support/random.rs"]
mod random;
#[path = "support/referee.rs"]
mod referee;

use std::ops::ControlFlow;

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use tangor_problem::Problem;
use tangor_solver::{Event, Lipschitz, MetricKind, Point, Row, Scaling, Settings, Solver, Stop};

fn settings(metric: MetricKind) -> Settings {
    let mut settings = Settings::default();
    settings.metric.kind = metric;
    settings
}

fn metric() -> impl Strategy<Value = MetricKind> {
    prop_oneof![1 => Just(MetricKind::Identity), 1 => Just(MetricKind::Spectral), 1 => Just(MetricKind::Diagonal), 2 => Just(MetricKind::QuasiNewton)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, rng_seed: RngSeed::Fixed(1), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn iterates_stay_inside_rho_falls_only_on_record_and_reports_are_honest(mut problem in random::problem(), kind in metric()) {
        let meta = problem.meta().clone();
        let mut rho = 0.0;
        let mut watch = |row: &Row, x: &[f64]| {
            let recorded = [Event::Lowered, Event::Elsewhere, Event::Rescaled].iter().any(|event| row.unusual.contains(*event));
            assert!(recorded || row.rho >= rho, "rho fell from {rho} to {}", row.rho);
            rho = row.rho;
            for (i, x) in x.iter().enumerate() {
                assert!((meta.x_lower[i]..=meta.x_upper[i]).contains(x), "x[{i}] = {x} is outside of its bounds");
            }
            assert!((0.0..=1.0).contains(&row.eta), "eta = {}", row.eta);
            ControlFlow::Continue(())
        };
        let mut solver = Solver::new(problem.clone(), settings(kind)).unwrap();
        let report = solver.run(&mut watch);
        let found = referee::assert_honest(&mut problem, &report);
        let good = found.is_kkt(1e-6);
        prop_assert!(good == (report.point == Point::EpsKkt) || found.is_kkt(1.001e-6), "{:?} {found:?}", report.point);
        prop_assert!(report.stop != Stop::NumericalTrouble && report.stop != Stop::EvaluationFailed, "{}", report.message);
    }

    /// Theory mode: `eta = min(tau / (L_f + rho L_c), 1)`, whatever happens.
    #[test]
    fn given_constants_fix_the_stepsize(problem in random::problem()) {
        let (objective, constraints) = problem.lipschitz();
        let mut settings = Settings { scaling: Scaling::None, ..settings(MetricKind::Identity) };
        settings.stepsize.lipschitz = Lipschitz::Given { objective, constraints };
        settings.limits.iterations = 50;
        let tau = settings.stepsize.tau;
        let mut watch = |row: &Row, _: &[f64]| {
            let expected = (tau / (objective + row.rho * constraints)).min(1.0);
            assert!(row.eta == 0.0 || (row.eta - expected).abs() <= 1e-15, "eta = {}, not {expected}", row.eta);
            ControlFlow::Continue(())
        };
        let report = Solver::new(problem, settings).unwrap().run(&mut watch);
        prop_assert!(matches!(report.stop, Stop::Tolerance | Stop::Iterations | Stop::StepTooSmall), "{}", report.message);
    }

    /// The problems are feasible and their objectives bounded below: with the default metric a run ends at a KKT point, or, as rows may
    /// be curved, at a stationary point of the violation.
    #[test]
    fn runs_end_where_they_should(problem in random::problem()) {
        let report = tangor_solver::solve(problem, Settings::default()).unwrap();
        let done = matches!(report.point, Point::EpsKkt | Point::EpsInfeasibleStationary);
        prop_assert!(done, "{} after {} iterations, {:e} {:e} {:e}", report.message, report.iterations, report.stationarity, report.feasibility, report.complementarity);
    }
}
