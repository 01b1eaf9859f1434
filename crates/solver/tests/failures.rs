//! What happens when functions fail or somebody wants the end: the run ends cleanly, says why, and gives back the best point.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use tangor_problem::{ClosureProblem, Counts, Evaluation, Exact, Failure, Function, Meta, Noise, Noisy, Problem, Samples};
use tangor_solver::{EndedBy, Event, MetricKind, Point, Report, Row, Settings, Silent, Solver, Stop, solve, solve_sampled};

/// What a function does at its call of this number, counted from 1, and ever after.
#[derive(Clone, Copy, Debug)]
enum Trick {
    Nan,
    Infinite,
    Undefined,
    Error,
    Panic,
    Sleep,
}

#[derive(Debug, thiserror::Error)]
#[error("the disk is full")]
struct DiskFull;

/// Minimise `(x0 - 2)^2 + (x1 - 1)^2` on the unit circle, in the box `[-3, 3]^2`, with one function that plays a trick.
struct Tricky {
    meta: Meta,
    function: Function,
    call: u32,
    trick: Trick,
    calls: u32,
}

impl Tricky {
    fn new(function: Function, call: u32, trick: Trick) -> Self {
        let meta = Meta::new("tricky", vec![-0.5, 2.0]).bounds(&[-3.0; 2], &[3.0; 2]).equalities(&[1.0]);
        let meta = meta.name_variables(["east", "north"]).name_rows(["circle"]);
        Tricky { meta, function, call, trick, calls: 0 }
    }

    fn play(&mut self, function: Function, values: &mut [f64]) -> Evaluation {
        if function != self.function {
            return Ok(());
        }
        self.calls += 1;
        if self.calls < self.call {
            return Ok(());
        }
        let last = values.len() - 1;
        match self.trick {
            Trick::Nan => values[last] = f64::NAN,
            Trick::Infinite => values[last] = f64::NEG_INFINITY,
            Trick::Undefined => return Err(Failure::undefined("the logarithm of a negative number")),
            Trick::Error => return Err(Failure::broken(DiskFull)),
            Trick::Panic => panic!("index 7 is out of range"),
            Trick::Sleep => std::thread::sleep(Duration::from_millis(20)),
        }
        Ok(())
    }
}

impl Problem for Tricky {
    fn meta(&self) -> &Meta {
        &self.meta
    }
    fn objective(&mut self, x: &[f64]) -> Evaluation<f64> {
        let mut f = [(x[0] - 2.0).powi(2) + (x[1] - 1.0).powi(2)];
        self.play(Function::Objective, &mut f)?;
        Ok(f[0])
    }
    fn gradient(&mut self, x: &[f64], g: &mut [f64]) -> Evaluation {
        g.copy_from_slice(&[2.0 * (x[0] - 2.0), 2.0 * (x[1] - 1.0)]);
        self.play(Function::Gradient, g)
    }
    fn constraints(&mut self, x: &[f64], c: &mut [f64]) -> Evaluation {
        c[0] = x[0] * x[0] + x[1] * x[1];
        self.play(Function::Constraints, c)
    }
    fn jacobian(&mut self, x: &[f64], values: &mut [f64]) -> Evaluation {
        values.copy_from_slice(&[2.0 * x[0], 2.0 * x[1]]);
        self.play(Function::Jacobian, values)
    }
}

const FUNCTIONS: [Function; 4] = [Function::Objective, Function::Gradient, Function::Constraints, Function::Jacobian];

fn run(problem: impl Problem) -> Report {
    solve(problem, Settings::default()).unwrap()
}

fn failure(report: &Report) -> (Function, Option<String>, String) {
    let failure = report.failure.clone().expect("a failure is reported");
    (failure.function, failure.place, failure.message)
}

#[test]
fn without_tricks_it_is_solved() {
    let report = run(Tricky::new(Function::Hessian, 1, Trick::Nan));
    assert_eq!((report.stop, report.point), (Stop::Tolerance, Point::EpsKkt));
    assert!((report.objective - (5f64.sqrt() - 1.0).powi(2)).abs() < 1e-6);
}

#[test]
fn no_value_at_the_start_is_named_with_function_and_place() {
    let places = [None, Some("variable north"), Some("constraint circle"), Some("constraint circle, variable north")];
    for (function, place) in FUNCTIONS.into_iter().zip(places) {
        for trick in [Trick::Nan, Trick::Infinite] {
            let report = run(Tricky::new(function, 1, trick));
            assert_eq!((report.stop, report.point, report.iterations), (Stop::EvaluationFailed, Point::Nothing, 0));
            let (found, found_place, message) = failure(&report);
            assert_eq!((found, found_place.as_deref()), (function, place));
            assert!(message.contains(if matches!(trick, Trick::Nan) { "NaN" } else { "inf" }), "{message}");
            assert!(report.message.contains(&message), "{}", report.message);
        }
        let (found, _, message) = failure(&run(Tricky::new(function, 1, Trick::Undefined)));
        assert_eq!(found, function);
        assert!(message.ends_with("failed: the logarithm of a negative number"), "{message}");
    }
}

#[test]
fn a_broken_function_ends_the_run_and_its_cause_comes_back() {
    for function in FUNCTIONS {
        for call in [1, 3] {
            let report = run(Tricky::new(function, call, Trick::Error));
            assert_eq!(report.stop, Stop::EvaluationFailed, "{function}, call {call}");
            assert_eq!(failure(&report).0, function);
            assert_eq!(failure(&report).2, format!("the {function} failed: the disk is full"));
            let Some(Failure::Broken(cause)) = report.failure.as_ref().and_then(|failure| failure.cause.as_deref()) else {
                panic!("the cause is lost")
            };
            assert!(cause.downcast_ref::<DiskFull>().is_some(), "the caller's own error comes back");
            let judged = call > 1;
            assert_eq!(report.stationarity.is_finite() && report.x != [-0.5, 2.0], judged, "the best point is kept");
        }
    }
}

#[test]
fn a_panic_in_a_function_ends_the_run_like_an_error() {
    for function in FUNCTIONS {
        for call in [1, 3] {
            let report = run(Tricky::new(function, call, Trick::Panic));
            assert_eq!(report.stop, Stop::EvaluationFailed, "{function}, call {call}");
            let (found, _, message) = failure(&report);
            assert_eq!(found, function);
            assert!(message.contains("the function panicked: index 7 is out of range"), "{message}");
        }
    }
}

/// Minimise `x - log(x)` from 10: a long step crosses zero, where there is no logarithm.
struct Logarithm(Meta, Arc<AtomicU32>, fn() -> Evaluation<f64>);

impl Problem for Logarithm {
    fn meta(&self) -> &Meta {
        &self.0
    }
    fn objective(&mut self, x: &[f64]) -> Evaluation<f64> {
        if x[0] <= 0.0 {
            self.1.fetch_add(1, Ordering::Relaxed);
            return self.2();
        }
        Ok(20.0 * (x[0] - x[0].ln()))
    }
    fn gradient(&mut self, x: &[f64], g: &mut [f64]) -> Evaluation {
        g[0] = 20.0 * (1.0 - 1.0 / x[0]);
        Ok(())
    }
    fn constraints(&mut self, _: &[f64], _: &mut [f64]) -> Evaluation {
        Err(Failure::broken("there are no constraints"))
    }
    fn jacobian(&mut self, _: &[f64], _: &mut [f64]) -> Evaluation {
        Err(Failure::broken("there are no constraints"))
    }
}

#[test]
fn no_value_at_a_trial_point_shortens_the_step() {
    let absences: [fn() -> Evaluation<f64>; 3] =
        [|| Ok(f64::NAN), || Ok(f64::INFINITY), || Err(Failure::undefined("log of a negative number"))];
    for absence in absences {
        let absent = Arc::new(AtomicU32::new(0));
        let report = run(Logarithm(Meta::new("logarithm", vec![10.0]), absent.clone(), absence));
        assert_eq!(report.point, Point::EpsKkt, "{}", report.message);
        assert!((report.x[0] - 1.0).abs() < 1e-6);
        assert!(absent.load(Ordering::Relaxed) > 0, "no trial point was beyond the edge: the test tests nothing");
        assert!(report.unusual.iter().any(|(event, count)| *event == Event::Undefined && *count > 0));
        assert!(report.failure.is_none(), "the run overcame it");
    }
}

#[test]
fn a_noisy_run_whose_functions_stay_undefined_ends_and_names_the_function() {
    for function in [Function::Gradient, Function::Constraints, Function::Jacobian] {
        let problem = Noisy::new(Tricky::new(function, 30, Trick::Undefined), Noise::level(1e-3)).expect("a valid level");
        let report = solve_sampled(problem, Settings::default()).expect("a valid problem");
        assert_eq!(report.stop, Stop::EvaluationFailed, "{}", report.message);
        let (found, _, message) = failure(&report);
        assert_eq!((found, message.contains("logarithm")), (function, true), "{message}");
        assert!(report.x.iter().all(|x| x.is_finite()));
        // About 50 before the function fails, and then 60 attempts at one step.
        let Counts { gradient, constraints, jacobian, .. } = report.evaluations;
        assert!([gradient, constraints, jacobian].iter().all(|count| *count <= 120), "{:?}", report.evaluations);
    }
}

#[test]
fn derivatives_without_values_at_a_trial_point_shorten_the_step_until_it_is_too_small() {
    // The identity has nothing to forget, which would be another iteration.
    let mut settings = Settings::default();
    settings.metric.kind = MetricKind::Identity;
    for function in [Function::Gradient, Function::Jacobian] {
        let report = solve(Tricky::new(function, 3, Trick::Nan), settings.clone()).unwrap();
        assert_eq!(report.stop, Stop::StepTooSmall, "{}", report.message);
        assert_eq!(failure(&report).0, function, "the report says which function was in the way");
        assert!(report.stationarity.is_finite(), "{function}");
        assert_eq!(report.iterations, 1, "{function}");
    }
}

#[test]
fn the_time_limit_holds_with_slow_functions() {
    for function in FUNCTIONS {
        let mut settings = Settings::default();
        settings.limits.seconds = Some(0.05);
        settings.tolerance.stationarity = 1e-300;
        let start = Instant::now();
        let report = solve(Tricky::new(function, 2, Trick::Sleep), settings).unwrap();
        assert_eq!(report.stop, Stop::WallTime, "{function}: {}", report.message);
        // Three thousand iterations with such a function take a minute.
        assert!(start.elapsed() < Duration::from_secs(10), "{function}: {:?}", start.elapsed());
        assert!(report.stationarity.is_finite(), "the best point comes with its residuals");
    }
}

#[test]
fn an_interrupt_ends_the_run() {
    let flag = Arc::new(AtomicBool::new(false));
    let mut solver = Solver::new(Tricky::new(Function::Hessian, 1, Trick::Nan), Settings::default()).unwrap();
    solver.interrupt(flag.clone());
    let report = solver.run(&mut |row: &Row, _: &[f64]| {
        flag.store(row.iteration == 2, Ordering::Relaxed);
        ControlFlow::Continue(())
    });
    assert_eq!((report.stop, report.iterations), (Stop::User, 3));
    assert!(report.stationarity.is_finite());
}

/// `min |x|^2 / 2` with `x_i + x_(i+1) = 2`: so many rows that the analysis of their pattern is done aside.
#[test]
fn whoever_ends_a_run_waits_for_no_analysis_and_may_go_on() {
    let rows = 60_000;
    let places: Vec<(usize, usize)> = (0..rows).flat_map(|i| [(i, i), (i, i + 1)]).collect();
    let build = || {
        let meta = Meta::new("chain", vec![3.0; rows + 1]).equalities(&vec![2.0; rows]).sparse(places.iter().copied());
        ClosureProblem::builder(meta)
            .objective(|x| 0.5 * x.iter().map(|x| x * x).sum::<f64>())
            .gradient(|x, g| g.copy_from_slice(x))
            .constraints(|x, c| c.iter_mut().enumerate().for_each(|(i, c)| *c = x[i] + x[i + 1]))
            .jacobian(|_, values| values.fill(1.0))
            .build()
            .expect("all functions are there")
    };
    let ended_by = |wanted| EndedBy { flag: Some(Arc::new(AtomicBool::new(wanted))), ..EndedBy::default() };
    let mut solver =
        Solver::sampled_until(Exact(build()), Settings::default(), Samples::default(), ended_by(true)).expect("valid");
    let report = solver.run(&mut Silent);
    assert_eq!((report.stop, report.iterations), (Stop::User, 0));
    let violation = 4.0 * (rows as f64).sqrt();
    assert!((report.feasibility - violation).abs() < 1e-9 * violation, "the start is told with its residuals");
    let state = solver.checkpoint();
    let still = Solver::resume_until(Exact(build()), state.clone(), ended_by(true)).expect("valid").run(&mut Silent);
    assert_eq!((still.stop, still.iterations), (Stop::User, 0));
    let report = Solver::resume_until(Exact(build()), state, ended_by(false)).expect("valid").run(&mut Silent);
    assert_eq!(report.stop, Stop::Tolerance, "{}", report.message);
    assert!(report.x.iter().all(|x| (x - 1.0).abs() < 1e-4), "the shortest solution");
}

#[test]
fn an_observer_ends_the_run_with_the_best_point() {
    let mut seen: Vec<(f64, Vec<f64>)> = Vec::new();
    let mut solver = Solver::new(Tricky::new(Function::Hessian, 1, Trick::Nan), Settings::default()).unwrap();
    let report = solver.run(&mut |row: &Row, x: &[f64]| {
        seen.push((row.stationarity, x.to_vec()));
        if row.iteration == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert_eq!(report.stop, Stop::User);
    assert_eq!(seen.len(), 4);
    let found = seen.iter().find(|(_, x)| *x == report.x).expect("the best point is one of the iterates");
    assert_eq!(found.0, report.stationarity, "with its own residuals");
    assert_eq!(solver.advance(&mut |_: &Row, _: &[f64]| ControlFlow::Continue(())), Some(Stop::User), "it stays ended");
}

#[test]
fn limits_on_iterations_and_evaluations_hold() {
    let mut settings = Settings::default();
    settings.limits.evaluations = Some(10);
    let report = solve(Tricky::new(Function::Hessian, 1, Trick::Nan), settings.clone()).unwrap();
    assert_eq!(report.stop, Stop::Evaluations);
    // Values and derivatives come two at a time.
    assert!((9..=10).contains(&report.evaluations.total()), "{:?}", report.evaluations);
    settings.limits.evaluations = None;
    for iterations in [0, 1, 2] {
        settings.limits.iterations = iterations;
        let report = solve(Tricky::new(Function::Hessian, 1, Trick::Nan), settings.clone()).unwrap();
        assert_eq!((report.stop, report.iterations), (Stop::Iterations, iterations));
        assert!(report.stationarity.is_finite());
    }
}

#[test]
fn a_report_survives_json() {
    for call in [1, 3] {
        let report = run(Tricky::new(Function::Objective, call, Trick::Error));
        let text = serde_json::to_string(&report).unwrap();
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        let keys =
            ["stop", "point", "objective", "x", "stationarity", "feasibility", "complementarity", "iterations", "version"];
        assert!(keys.iter().all(|key| value.get(key).is_some()), "{text}");
        let back: Report = serde_json::from_str(&text).unwrap();
        assert_eq!(serde_json::to_string(&back).unwrap(), text);
    }
}
