//! The stochastic method on embedded problems with noise on their functions.

use std::ops::ControlFlow;
use std::thread;
use std::time::{Duration, Instant};

use tangor_collection::find;
use tangor_problem::{Accesses, Distribution, Draw, Evaluation, Meta, Noise, Noisy, Problem, SampledProblem};
use tangor_solver::{Batch, Checkpoint, Estimator, Limits, Point, Report, Row, Settings, Solver, Stop, Theta, solve};

const PROBLEMS: [&str; 12] = ["HS6", "HS7", "HS10", "HS12", "HS21", "HS28", "HS35", "HS43", "HS48", "HS51", "HS71", "HS76"];

fn quiet(_: &Row, _: &[f64]) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

fn problem(name: &str) -> Box<dyn Problem + Send> {
    (find(name).expect("an embedded problem").build)()
}

fn noisy(name: &str, level: f64) -> Noisy<Box<dyn Problem + Send>> {
    Noisy::new(problem(name), Noise::level(level)).expect("a valid level")
}

/// 1000 iterations with the same number of samples for both estimators: the same first batch, then two new ones, or one at two points.
fn settings(estimator: Estimator, seed: u64) -> Settings {
    let mut settings = Settings::default();
    settings.limits.iterations = 1000;
    let sampling = &mut settings.sampling;
    sampling.seed = seed;
    sampling.judge.every = 0;
    sampling.judge.samples = 20;
    // The estimates are compared on the samples of the run: a judgement that looks for rare events would add its own.
    sampling.judge.rarest = 1.0;
    for function in [&mut sampling.gradient, &mut sampling.constraints, &mut sampling.jacobian] {
        function.estimator = estimator;
        function.first_batch = Some(16);
        function.batch = Batch::Constant { size: if estimator == Estimator::Minibatch { 2 } else { 1 } };
    }
    settings
}

/// A problem that starts somewhere else: with no iterations, the solver then tells the true residuals there.
struct At(Box<dyn Problem + Send>, Meta);

impl Problem for At {
    fn meta(&self) -> &Meta {
        &self.1
    }
    fn objective(&mut self, x: &[f64]) -> Evaluation<f64> {
        self.0.objective(x)
    }
    fn gradient(&mut self, x: &[f64], g: &mut [f64]) -> Evaluation {
        self.0.gradient(x, g)
    }
    fn constraints(&mut self, x: &[f64], c: &mut [f64]) -> Evaluation {
        self.0.constraints(x, c)
    }
    fn jacobian(&mut self, x: &[f64], values: &mut [f64]) -> Evaluation {
        self.0.jacobian(x, values)
    }
}

fn exact_at(name: &str, x: &[f64]) -> Report {
    let problem = problem(name);
    let meta = Meta { x0: x.to_vec(), ..problem.meta().clone() };
    let mut settings = Settings::default();
    settings.limits.iterations = 0;
    solve(At(problem, meta), settings).expect("the problem is valid")
}

fn median(values: Vec<f64>) -> f64 {
    tangor_figure::median(values).expect("there are values")
}

/// All jobs, on two threads, in order.
fn each<T: Send>(jobs: usize, run: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let halves = thread::scope(|scope| {
        let run = &run;
        let half = |first: usize| scope.spawn(move || (first..jobs).step_by(2).map(run).collect::<Vec<T>>());
        let (even, odd) = (half(0), half(1));
        [even.join().expect("no panic"), odd.join().expect("no panic")]
    });
    let [even, odd] = halves;
    let mut odd = odd.into_iter();
    even.into_iter().flat_map(|first| [Some(first), odd.next()]).flatten().collect()
}

#[test]
fn residuals_fall_with_the_noise_and_momentum_beats_minibatches() {
    const SEEDS: usize = 20;
    let mut last = f64::INFINITY;
    for level in [1e-2, 1e-4, 1e-6] {
        let run = |estimator: Estimator| {
            each(PROBLEMS.len() * SEEDS, |job| {
                let (name, seed) = (PROBLEMS[job / SEEDS], (job % SEEDS) as u64);
                let mut solver = Solver::sampled(noisy(name, level), settings(estimator, seed)).expect("valid");
                let report = solver.run(&mut quiet);
                assert_eq!((report.stop, report.iterations), (Stop::Iterations, 1000));
                let exact = exact_at(name, &report.x);
                let worst = exact.stationarity.max(exact.feasibility).max(exact.complementarity);
                (worst, exact.feasibility, report.samples.total())
            })
        };
        let (minibatch, momentum) = (run(Estimator::Minibatch), run(Estimator::Momentum));
        let all = |rows: &[(f64, f64, u64)]| median(rows.iter().map(|row| row.0).collect());
        let feasibility = median(momentum.iter().map(|row| row.1).collect());
        let samples = |rows: &[(f64, f64, u64)]| rows.iter().map(|row| row.2).sum::<u64>();
        println!("level {level:.0e}: minibatch {:.1e}, momentum {:.1e}", all(&minibatch), all(&momentum));
        assert!(samples(&momentum) <= samples(&minibatch));
        assert!(all(&momentum) < 0.5 * all(&minibatch), "momentum is better at level {level}");
        assert!(all(&momentum) < 0.05 * last, "residuals fall with the noise");
        assert!(feasibility <= level, "the constraints hold to the noise level");
        last = all(&momentum);
    }
}

/// The largest true residual of the last point of a run.
fn worst_residual(name: &str, noise: Noise, settings: Settings) -> f64 {
    let noisy = Noisy::new(problem(name), noise).expect("a valid level");
    let report = Solver::sampled(noisy, settings).expect("valid").run(&mut quiet);
    assert_eq!(report.stop, Stop::Iterations, "{name} with {noise:?}: {}", report.message);
    let exact = exact_at(name, &report.x);
    exact.stationarity.max(exact.feasibility).max(exact.complementarity)
}

#[test]
fn minibatches_do_not_diverge_between_probes() {
    // Curved valleys and flat bottoms, where a metric that has not seen the curvature ahead makes long steps.
    const SEEDS: usize = 10;
    for name in ["HS1", "HS2", "HS26", "HS49"] {
        let worst = each(SEEDS, |seed| worst_residual(name, Noise::level(1e-2), settings(Estimator::Minibatch, seed as u64)));
        println!("{name}: median {:.1e}, {worst:?}", median(worst.clone()));
        assert!(worst.iter().all(|worst| *worst < 1.0), "{name}: {worst:?}");
        assert!(median(worst.clone()) < 5e-2, "{name}: {worst:?}");
    }
}

#[test]
fn residuals_fall_with_noise_of_every_kind() {
    const SEEDS: usize = 5;
    let heavy = |level: f64| Noise::level(level).distribution(Distribution::HeavyTailed);
    let kinds: [(&str, &dyn Fn(f64) -> Noise); 3] = [
        ("heavy-tailed", &heavy),
        ("multiplicative", &|level| Noise::level(level).multiplicative()),
        ("multiplicative and heavy-tailed", &|level| heavy(level).multiplicative()),
    ];
    for estimator in [Estimator::Momentum, Estimator::Minibatch] {
        for (kind, noise) in kinds {
            let medians = [1e-2, 1e-4].map(|level| {
                let noise = noise(level);
                let worst = each(PROBLEMS.len() * SEEDS, |job| {
                    worst_residual(PROBLEMS[job / SEEDS], noise, settings(estimator, (job % SEEDS) as u64))
                });
                let most = worst.iter().fold(0.0f64, |most, worst| most.max(*worst));
                println!("{estimator:?}, {kind}, level {level:.0e}: median {:.1e}, most {most:.1e}", median(worst.clone()));
                assert!(most < 10.0, "{estimator:?}, {kind}, level {level}: nothing diverges");
                median(worst)
            });
            assert!(medians[1] < 0.1 * medians[0], "{estimator:?}, {kind}: {medians:?}");
        }
    }
}

#[test]
fn the_confidence_is_honest() {
    const RUNS: usize = 500;
    for name in ["HS7", "HS35", "HS71"] {
        let covered = each(RUNS, |seed| {
            let mut settings = settings(Estimator::Momentum, seed as u64);
            settings.limits.iterations = 30;
            settings.sampling.judge.samples = 400;
            let report = Solver::sampled(noisy(name, 0.1), settings).expect("valid").run(&mut quiet);
            let verdict = report.verdict.expect("the last point is judged");
            let truth = true_residuals(name, &report);
            [
                truth[0] <= verdict.stationarity.upper,
                truth[1] <= verdict.feasibility.upper,
                truth[2] <= verdict.complementarity.upper,
            ]
        });
        for residual in 0..3 {
            let share = covered.iter().filter(|covered| covered[residual]).count() as f64 / RUNS as f64;
            println!("{name}: residual {residual} covered in {:.1} % of {RUNS} runs", 100.0 * share);
            assert!(share >= 0.93);
        }
    }
}

/// Stationarity, feasibility and complementarity of the reported point with the reported multipliers and the exact functions.
fn true_residuals(name: &str, report: &Report) -> [f64; 3] {
    let mut problem = problem(name);
    let meta = problem.meta().clone();
    let (n, m) = (meta.n(), meta.m());
    let (mut e, mut c, mut values) = (vec![0.0; n], vec![0.0; m], vec![0.0; meta.jacobian_len()]);
    problem.gradient(&report.x, &mut e).expect("defined");
    problem.constraints(&report.x, &mut c).expect("defined");
    problem.jacobian(&report.x, &mut values).expect("defined");
    for (k, value) in values.iter().enumerate() {
        let (row, column) = meta.jacobian.place(k, n);
        e[column] += value * report.row_multipliers[row];
    }
    let mut complementarity = 0.0;
    for i in 0..n {
        let mu = report.bound_multipliers[i];
        e[i] -= mu;
        let bound = if mu > 0.0 { meta.x_lower[i] } else { meta.x_upper[i] };
        complementarity += if mu == 0.0 { 0.0 } else { (mu * (report.x[i] - bound)).abs() };
    }
    let mut violation = 0.0;
    for i in 0..m {
        let y = report.row_multipliers[i];
        violation += (c[i] - c[i].clamp(meta.c_lower[i], meta.c_upper[i])).powi(2);
        let bound = if y < 0.0 { meta.c_lower[i] } else { meta.c_upper[i] };
        complementarity += if y == 0.0 || meta.c_lower[i] == meta.c_upper[i] { 0.0 } else { (y * (c[i] - bound)).abs() };
    }
    [e.iter().map(|e| e * e).sum::<f64>().sqrt(), violation.sqrt(), complementarity]
}

#[test]
fn a_point_within_the_tolerances_ends_the_run_with_confidence() {
    let mut settings = settings(Estimator::Momentum, 1);
    settings.limits.iterations = 5000;
    settings.sampling.judge.every = 50;
    settings.sampling.judge.samples = 2000;
    for tolerance in ["stationarity", "feasibility", "complementarity"] {
        settings.set(&format!("tolerance.{tolerance}"), "1e-2").expect("a setting");
    }
    let report = Solver::sampled(noisy("HS71", 1e-2), settings.clone()).expect("valid").run(&mut quiet);
    assert_eq!(report.stop, Stop::Tolerance, "{}", report.message);
    assert!(report.verdict.expect("judged").holds(&settings.tolerance, settings.sampling.judge.rarest));
    assert!(exact_at("HS71", &report.x).stationarity < 1e-2);

    // The same run cannot reach 1e-6 under this noise: it ends at its noise floor instead of running on.
    settings.tolerance = Settings::default().tolerance;
    settings.limits.iterations = 100_000;
    let report = Solver::sampled(noisy("HS71", 1e-2), settings).expect("valid").run(&mut quiet);
    assert_eq!(report.stop, Stop::NoiseFloor, "{}", report.message);
    assert!(report.iterations < 20_000);
}

#[test]
fn a_problem_without_feasible_points_ends_as_infeasible_stationary_with_confidence() {
    for name in ["CIRCLELINE", "ISOLATED"] {
        for seed in 0..5 {
            let mut settings = settings(Estimator::Momentum, seed);
            settings.limits.iterations = 3000;
            settings.sampling.judge = Default::default();
            for tolerance in ["stationarity", "feasibility", "complementarity", "infeasible"] {
                settings.set(&format!("tolerance.{tolerance}"), "1e-2").expect("a setting");
            }
            let report = Solver::sampled(noisy(name, 1e-3), settings).expect("valid").run(&mut quiet);
            let verdict = report.verdict.expect("judged");
            assert_eq!((report.stop, report.point), (Stop::Tolerance, Point::EpsInfeasibleStationary), "{name}: {verdict:?}");
            let exact = exact_at(name, &report.x);
            assert!(
                exact.feasibility > 1.0 && exact.infeasible_stationarity <= verdict.infeasible.upper,
                "{name}, seed {seed}"
            );
        }
    }
}

#[test]
fn rows_that_depend_on_each_other_are_certified_under_noise() {
    // Both copies of a row have noise of their own: as far as the estimates tell, no two rows are the same.
    for name in ["TWICE", "REDUNDANT"] {
        let settled = each(5, |seed| {
            let mut settings = settings(Estimator::Momentum, seed as u64);
            settings.limits.iterations = 5000;
            settings.sampling.judge.every = 100;
            settings.sampling.judge.samples = 2000;
            for tolerance in ["stationarity", "feasibility", "complementarity"] {
                settings.set(&format!("tolerance.{tolerance}"), "1e-2").expect("a setting");
            }
            let report = Solver::sampled(noisy(name, 1e-4), settings).expect("valid").run(&mut quiet);
            let verdict = report.verdict.expect("judged");
            println!("{name}, seed {seed}: {} iterations, certified to {:?}", report.iterations, verdict.certified);
            let exact = exact_at(name, &report.x);
            assert!(exact.stationarity.max(exact.feasibility) < 1e-2, "{name}: {exact:?}");
            report.stop
        });
        assert!(settled.iter().all(|stop| *stop == Stop::Tolerance), "{name}: {settled:?}");
    }
}

/// The median violation in the second half of a run whose objective alone is noisy.
fn median_violation(name: &str, correction: bool) -> f64 {
    let noise = Noise { gradient: 0.3, ..Noise::default() };
    let noisy = Noisy::new(problem(name), noise).expect("a valid level");
    let mut settings = settings(Estimator::Minibatch, 3);
    settings.stepsize.correction = correction;
    let mut violations = Vec::new();
    let mut watch = |row: &Row, _: &[f64]| {
        if row.iteration >= 500 {
            violations.push(row.feasibility);
        }
        ControlFlow::Continue(())
    };
    Solver::sampled(noisy, settings).expect("valid").run(&mut watch);
    median(violations)
}

#[test]
fn exact_constraints_are_kept_under_a_noisy_objective() {
    for name in ["HS6", "HS7", "HS39", "HS40", "HS77", "HS78"] {
        let [with, without] = [true, false].map(|correction| median_violation(name, correction));
        println!("{name}: violated by {with:.1e} with corrections, by {without:.1e} without");
        assert!(with < 0.1 * without, "{name}: {with:.1e}, {without:.1e}");
    }
}

#[test]
fn the_reported_constraints_are_those_that_were_judged() {
    let mut settings = settings(Estimator::Minibatch, 3);
    settings.limits.iterations = 5;
    let report = Solver::sampled(noisy("HS71", 0.1), settings).expect("valid").run(&mut quiet);
    let verdict = report.verdict.expect("judged");
    let meta = problem("HS71").meta().clone();
    let off = |i: usize| report.constraints[i] - report.constraints[i].clamp(meta.c_lower[i], meta.c_upper[i]);
    let violation = (0..meta.m()).map(|i| off(i).powi(2)).sum::<f64>().sqrt();
    // The estimates of the last iteration violate by another number.
    assert!((violation - verdict.feasibility.value).abs() <= 1e-12 * (1.0 + violation), "{violation}, {verdict:?}");
    assert!(!report.worst_rows.is_empty());
    for row in &report.worst_rows {
        assert_eq!(row.value, report.constraints[row.index]);
    }
}

#[test]
fn the_same_seed_gives_the_same_bits_and_a_resumed_run_equals_an_uninterrupted_one() {
    let mut settings = settings(Estimator::Momentum, 7);
    settings.limits.iterations = 120;
    settings.sampling.judge.every = 40;
    let whole = Solver::sampled(noisy("HS71", 1e-2), settings.clone()).expect("valid").run(&mut quiet);
    let again = Solver::sampled(noisy("HS71", 1e-2), settings.clone()).expect("valid").run(&mut quiet);
    assert_eq!(whole.x, again.x);
    let folder = tempfile::tempdir().expect("a folder");
    for stop in [1, 39, 40, 41, 100] {
        let file = folder.path().join("run.json");
        let mut solver = Solver::sampled(noisy("HS71", 1e-2), settings.clone()).expect("valid");
        for _ in 0..stop {
            assert_eq!(solver.advance(&mut quiet), None);
        }
        solver.checkpoint().write(&file).expect("written");
        let saved = Checkpoint::read(&file).expect("read");
        let resumed = Solver::resume_sampled(noisy("HS71", 1e-2), saved).expect("resumed").run(&mut quiet);
        assert_eq!(resumed.x, whole.x, "resumed after {stop}");
        assert_eq!(resumed.samples, whole.samples);
        assert_eq!(resumed.verdict, whole.verdict);
    }
    let other = Settings { sampling: tangor_solver::Sampling { seed: 8, ..settings.sampling.clone() }, ..settings };
    let other = Solver::sampled(noisy("HS71", 1e-2), other).expect("valid").run(&mut quiet);
    assert_ne!(whole.x, other.x);
}

#[test]
fn a_run_that_goes_on_from_an_end_does_not_know_of_the_judgement_there() {
    for name in ["HS71", "HS22", "HS44"] {
        let until = |iterations: u64| Settings { limits: Limits { iterations, ..Limits::default() }, ..Settings::default() };
        let whole = Solver::sampled(noisy(name, 1e-2), until(200)).expect("valid").run(&mut quiet);
        let mut ended = Solver::sampled(noisy(name, 1e-2), until(57)).expect("valid");
        assert_eq!(ended.run(&mut quiet).stop, Stop::Iterations);
        let mut saved = ended.checkpoint();
        saved.settings.limits.iterations = 200;
        let resumed = Solver::resume_sampled(noisy(name, 1e-2), saved).expect("resumed").run(&mut quiet);
        assert_eq!((&resumed.x, resumed.verdict, resumed.samples), (&whole.x, whole.verdict, whole.samples), "{name}");
    }
}

#[test]
fn a_run_that_is_ended_before_any_judgement_gives_its_last_point_back() {
    let mut settings = settings(Estimator::Momentum, 1);
    settings.sampling.judge.samples = 1_000_000;
    let mut seen = Vec::new();
    let mut observer = |row: &Row, x: &[f64]| {
        seen = x.to_vec();
        if row.iteration == 20 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let report = Solver::sampled(noisy("HS71", 1e-2), settings).expect("valid").run(&mut observer);
    assert_eq!((report.stop, report.point), (Stop::User, Point::Nothing));
    assert!(report.verdict.is_none() && report.samples.total() < 1000, "nobody waited for fresh samples");
    assert_eq!(report.x, seen);
    assert!(report.objective.is_nan(), "nobody evaluated it, and it is said to be {}", report.objective);
    assert!(report.message.contains("not judged on fresh samples"), "{}", report.message);
}

/// A problem of which a batch of Jacobians takes its time.
struct Slow(Noisy<Box<dyn Problem + Send>>);

impl SampledProblem for Slow {
    fn meta(&self) -> &Meta {
        self.0.meta()
    }
    fn accesses(&self) -> Accesses {
        self.0.accesses()
    }
    fn gradient(&mut self, x: &[f64], draws: &[Draw], g: &mut [f64]) -> Evaluation {
        self.0.gradient(x, draws, g)
    }
    fn constraints(&mut self, x: &[f64], draws: &[Draw], c: &mut [f64]) -> Evaluation {
        self.0.constraints(x, draws, c)
    }
    fn jacobian(&mut self, x: &[f64], draws: &[Draw], values: &mut [f64]) -> Evaluation {
        thread::sleep(Duration::from_millis(200));
        self.0.jacobian(x, draws, values)
    }
}

#[test]
fn a_judgement_keeps_the_time_limit() {
    // The first judgement needs 20 batches of Jacobians, four seconds, and is due after two iterations; another one when iterations are spent.
    for (every, iterations) in [(2, 1000), (0, 2)] {
        let mut settings = settings(Estimator::Momentum, 1);
        (settings.sampling.judge.every, settings.limits.iterations) = (every, iterations);
        settings.limits.seconds = Some(2.5);
        let start = Instant::now();
        let report = Solver::sampled(Slow(noisy("HS71", 1e-2)), settings).expect("valid").run(&mut quiet);
        let stop = if every > 0 { Stop::WallTime } else { Stop::Iterations };
        assert_eq!((report.stop, report.iterations, report.verdict), (stop, 2, None), "{}", report.message);
        // With the whole judgement it would be more than five seconds.
        assert!(start.elapsed() < Duration::from_millis(4500), "{:?}", start.elapsed());
    }
}

#[test]
fn a_fixed_theta_is_that_of_every_noisy_step_and_of_no_exact_one() {
    let mut settings = settings(Estimator::Momentum, 1);
    settings.limits.iterations = 50;
    settings.sampling.theta = Theta::Fixed { share: 0.25 };
    let mut thetas = Vec::new();
    let mut observer = |row: &Row, _: &[f64]| {
        thetas.push(row.theta);
        ControlFlow::Continue(())
    };
    Solver::sampled(noisy("HS7", 1e-3), settings.clone()).expect("valid").run(&mut observer);
    Solver::new(problem("HS7"), settings).expect("valid").run(&mut observer);
    let (sampled, exact) = thetas.split_at(51);
    assert!(sampled.iter().all(|theta| *theta == 0.25), "{sampled:?}");
    assert!(!exact.is_empty() && exact.iter().all(|theta| *theta != 0.25), "{exact:?}");
}

#[test]
fn limits_on_samples_hold_for_each_function_and_for_all() {
    let whole = |limit: &str, most: &str| {
        let mut settings = settings(Estimator::Momentum, 3);
        settings.set(&format!("limits.{limit}"), most).expect("a setting");
        Solver::sampled(noisy("HS71", 1e-2), settings).expect("valid").run(&mut quiet)
    };
    let parts = |report: &Report| [report.samples.gradient, report.samples.constraints, report.samples.jacobian];
    for (k, limit) in ["gradient_samples", "constraint_samples", "jacobian_samples"].into_iter().enumerate() {
        let report = whole(limit, "200");
        let used = parts(&report)[k];
        assert!(report.stop == Stop::Samples && (190..=200).contains(&used), "{limit}: {used}, {}", report.message);
    }
    let report = whole("samples", "600");
    let used = report.samples.total();
    assert!(report.stop == Stop::Samples && (585..=600).contains(&used), "{used}, {}", report.message);
}

#[test]
fn judgements_leave_a_small_budget_to_the_run() {
    let mut settings = settings(Estimator::Momentum, 7);
    settings.sampling.judge = Default::default();
    settings.limits.samples = Some(3000);
    let report = Solver::sampled(noisy("HS71", 1e-2), settings).expect("valid").run(&mut quiet);
    assert!(report.stop == Stop::Samples && report.samples.total() <= 3000, "{}", report.message);
    assert!(report.iterations > 300, "only {} iterations", report.iterations);
}
