//! What a noisy run does with its samples: whole populations, limits, the same draws again, and what its judgements may claim.

#[path = "support/watched.rs"]
mod watched;

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

use tangor_collection::find;
use tangor_problem::{
    Access, Accesses, ClosureProblem, Draw, Evaluation, FiniteSum, Function, Meta, Noise, Noisy, Problem, SampledProblem,
    SampledSum, Stream, Wanted,
};
use tangor_solver::{Batch, Checkpoint, Estimator, Event, Point, Report, Row, Settings, Solver, Stop, solve_sampled};
use watched::{Watched, Watcher};

fn quiet(_: &Row, _: &[f64]) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

fn noisy(name: &str, level: f64) -> Noisy<Box<dyn Problem + Send>> {
    Noisy::new((find(name).expect("an embedded problem").build)(), Noise::level(level)).expect("a valid level")
}

/// Which function was evaluated, and with which draws.
type Evaluated = (Function, Vec<Draw>);

/// A list of them.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<Evaluated>>>);

impl Watcher for Log {
    fn watch<T>(&mut self, wanted: Wanted, draws: &[Draw], evaluate: impl FnOnce() -> T) -> T {
        let functions = wanted.functions().map(|function| (function, draws.to_vec()));
        self.0.lock().expect("no panic").extend(functions);
        evaluate()
    }
}

#[test]
fn limits_on_samples_hold_before_every_draw() {
    let growing = Batch::Geometric { size: 1, growth: 1.05, largest: 1000 };
    let batches = [Batch::Constant { size: 1 }, Batch::Constant { size: 7 }, growing];
    let (mut shortened, mut judged) = (0, 0);
    for (estimator, batch) in [Estimator::Momentum, Estimator::Minibatch].into_iter().flat_map(|e| batches.map(|b| (e, b))) {
        for (name, most) in [("HS71", 500), ("HS6", 1234), ("HS26", 5000), ("HS7", 3), ("HS1", 900)] {
            let mut settings = Settings::default();
            let sampling = &mut settings.sampling;
            sampling.judge.patience = 0;
            for function in [&mut sampling.gradient, &mut sampling.constraints, &mut sampling.jacobian] {
                (function.estimator, function.batch) = (estimator, batch);
            }
            let limits = &mut settings.limits;
            (limits.gradient_samples, limits.constraint_samples) = (Some(most), Some(most + 10));
            limits.samples = Some(3 * most - 50.min(most));
            let log = Log::default();
            let report = solve_sampled(Watched(noisy(name, 0.1), log.clone()), settings.clone()).expect("valid");
            let count = |function: Function| {
                let calls = log.0.lock().expect("no panic");
                calls.iter().filter(|call| call.0 == function).map(|call| call.1.len() as u64).sum::<u64>()
            };
            let counted = [Function::Gradient, Function::Constraints, Function::Jacobian].map(count);
            let told = [report.samples.gradient, report.samples.constraints, report.samples.jacobian];
            assert_eq!(counted, told, "{name}: what is reported was drawn");
            assert!(counted[0] <= most && counted[1] <= most + 10, "{name}, {estimator:?}, {batch:?}: {counted:?}");
            assert!(counted.iter().sum::<u64>() <= settings.limits.samples.expect("set"), "{name}: {counted:?}");
            assert_eq!(report.stop, Stop::Samples, "{name}: {}", report.message);
            shortened += report.unusual.iter().filter(|(event, _)| *event == Event::Shortened).count();
            judged += usize::from(report.verdict.is_some());
        }
    }
    assert!(shortened > 5 && judged >= 24, "steps were tried again in {shortened} runs, and {judged} were judged at the end");
}

#[test]
fn a_step_that_descends_at_no_length_is_recorded_as_given_up() {
    // c = 1 + x. With the wrong sign in its Jacobian the violation grows along every step, however short; with the right one it never does.
    for (slope, expected) in [(-1.0, true), (1.0, false)] {
        let meta = Meta::new("slope", vec![0.0]).bounds(&[-10.0], &[10.0]).equalities(&[0.0]);
        let problem = ClosureProblem::builder(meta)
            .objective(|_| 0.0)
            .gradient(|_, g| g[0] = 0.0)
            .constraints(|x, c| c[0] = 1.0 + x[0])
            .jacobian(move |_, values| values[0] = slope)
            .build()
            .expect("all functions are there");
        let problem = Noisy::new(problem, Noise::level(1e-3)).expect("a valid level");
        let mut solver = Solver::sampled(problem, Settings::default()).expect("valid");
        for iteration in 0..5 {
            let mut seen = (false, false);
            let mut observe = |row: &Row, _: &[f64]| {
                seen = (row.unusual.contains(Event::GivenUp), row.unusual.contains(Event::Shortened));
                ControlFlow::Continue(())
            };
            assert_eq!(solver.advance(&mut observe), None);
            assert_eq!(seen, (expected, expected), "iteration {iteration}, a slope of {slope}");
        }
    }
}

#[test]
fn a_rejected_step_is_tried_again_on_the_same_draws() {
    let mut seen = 0;
    for seed in 0..10 {
        let log = Log::default();
        let mut settings = Settings::default();
        settings.sampling.seed = seed;
        settings.sampling.judge.every = 0;
        let mut solver = Solver::sampled(Watched(noisy("HS26", 1e-2), log.clone()), settings).expect("valid");
        for _ in 0..200 {
            log.0.lock().expect("no panic").clear();
            let mut again = false;
            let mut observe = |row: &Row, _: &[f64]| {
                again = row.unusual.contains(Event::Shortened);
                ControlFlow::Continue(())
            };
            assert_eq!(solver.advance(&mut observe), None);
            let calls = log.0.lock().expect("no panic");
            let of_gradient: Vec<&Vec<Draw>> =
                calls.iter().filter(|call| call.0 == Function::Gradient).map(|call| &call.1).collect();
            if again {
                let mut different = of_gradient.clone();
                different.sort();
                different.dedup();
                // Two halves are two lists.
                assert!(
                    different.len() <= 2 && of_gradient.len() > 2,
                    "{} calls, {} lists",
                    of_gradient.len(),
                    different.len()
                );
                seen += 1;
            }
        }
    }
    assert!(seen > 3, "only {seen} steps were rejected");
}

/// Regression with 400 rows on the unit circle: `min mean (a_i x - b_i)^2`, `mean w_i |x|^2 = 1`, where the weights have the mean 1.
fn circle() -> SampledSum {
    let row = |i: usize| {
        let mut stream = Stream::new(Draw(i as u64), 9);
        [(); 4].map(|()| 2.0 * stream.uniform() - 1.0)
    };
    let rows: Vec<[f64; 4]> = (0..400).map(row).collect();
    let mean = rows.iter().map(|row| row[3]).sum::<f64>() / 400.0;
    let weight = move |row: &[f64; 4]| 1.0 + row[3] - mean;
    let rows = Arc::new(rows);
    let [f, g, c, j] = [(); 4].map(|()| Arc::clone(&rows));
    let off = |row: &[f64; 4], x: &[f64]| row[0] * x[0] + row[1] * x[1] - row[2] - row[0];
    FiniteSum::new(Meta::new("circle", vec![2.0, -1.0]).equalities(&[1.0]), 400)
        .term_objective(move |i, x| off(&f[i], x).powi(2))
        .term_gradient(move |i, x, out| {
            out[0] += 2.0 * off(&g[i], x) * g[i][0];
            out[1] += 2.0 * off(&g[i], x) * g[i][1];
        })
        .term_constraints(move |i, x, out| out[0] += weight(&c[i]) * (x[0] * x[0] + x[1] * x[1]))
        .term_jacobian(move |i, x, out| {
            out[0] += 2.0 * weight(&j[i]) * x[0];
            out[1] += 2.0 * weight(&j[i]) * x[1];
        })
        .sampled()
}

fn circle_settings(seed: u64) -> Settings {
    let mut settings = Settings::default();
    settings.sampling.seed = seed;
    let sampling = &mut settings.sampling;
    for function in [&mut sampling.gradient, &mut sampling.constraints, &mut sampling.jacobian] {
        function.batch = Batch::Constant { size: 20 };
    }
    settings
}

fn passes(report: &Report) -> u64 {
    report.unusual.iter().filter(|(event, _)| *event == Event::ExactPass).map(|(_, count)| *count).sum()
}

#[test]
fn exact_passes_lead_to_an_exact_certificate() {
    for seed in 0..5 {
        let report = solve_sampled(circle(), circle_settings(seed)).expect("valid");
        assert_eq!((report.stop, report.point), (Stop::Tolerance, Point::EpsKkt), "{}", report.message);
        let verdict = report.verdict.expect("judged");
        assert!(passes(&report) > 0 && verdict.stationarity.value == verdict.stationarity.upper);
        let mut problem = circle();
        let exact = problem.exact().expect("a finite sum is exact, too");
        assert!((exact.objective(&report.x).expect("defined") - report.objective).abs() < 1e-14, "of the whole population");
        assert!((report.x[0].powi(2) + report.x[1].powi(2) - 1.0).abs() <= 1e-6);
        let objective = verdict.objective.expect("it can be told");
        assert_eq!((objective.value, objective.error), (report.objective, 0.0));

        let mut without = circle_settings(seed);
        without.sampling.exact_passes = 0.0;
        without.limits.samples = Some(report.samples.total());
        without.sampling.judge.every = 0;
        let without = solve_sampled(circle(), without).expect("valid");
        assert_eq!((passes(&without), without.stop), (0, Stop::Samples));
        assert!(without.stationarity > 10.0 * report.stationarity, "{} and {}", without.stationarity, report.stationarity);
    }
}

#[test]
fn a_run_with_exact_passes_resumes_bit_for_bit() {
    let mut settings = circle_settings(3);
    for tolerance in ["stationarity", "feasibility", "complementarity"] {
        settings.set(&format!("tolerance.{tolerance}"), "1e-12").expect("a setting");
    }
    settings.limits.iterations = 400;
    let whole = solve_sampled(circle(), settings.clone()).expect("valid");
    assert!(passes(&whole) > 2, "{:?}", whole.unusual);
    let mut at = Vec::new();
    let mut watch = Solver::sampled(circle(), settings.clone()).expect("valid");
    watch.run(&mut |row: &Row, _: &[f64]| {
        if row.unusual.contains(Event::ExactPass) {
            at.push(row.iteration);
        }
        ControlFlow::Continue(())
    });
    for stop in at.into_iter().take(3).flat_map(|pass| [pass, pass + 1, pass + 2]) {
        let mut solver = Solver::sampled(circle(), settings.clone()).expect("valid");
        for _ in 0..stop {
            assert_eq!(solver.advance(&mut quiet), None);
        }
        let text = serde_json::to_string(&solver.checkpoint()).expect("a checkpoint is JSON");
        let saved: Checkpoint = serde_json::from_str(&text).expect("read back");
        let resumed = Solver::resume_sampled(circle(), saved).expect("resumed").run(&mut quiet);
        assert_eq!((&resumed.x, resumed.samples), (&whole.x, whole.samples), "resumed after {stop}");
        assert_eq!(resumed.verdict, whole.verdict);
    }
}

#[test]
fn a_pass_that_may_end_the_run_pays_when_it_costs_a_quarter() {
    // 400 members of three functions, a limit that never holds: the judgements on the way take a tenth, and only an exact one is certain.
    for seed in 0..5 {
        let mut settings = circle_settings(seed);
        (settings.limits.samples, settings.sampling.judge.every) = (Some(1_000_000), 0);
        for tolerance in ["stationarity", "feasibility", "complementarity"] {
            settings.set(&format!("tolerance.{tolerance}"), "0.1").expect("a setting");
        }
        let report = solve_sampled(circle(), settings).expect("valid");
        assert_eq!((report.stop, report.point), (Stop::Tolerance, Point::EpsKkt), "{}", report.message);
        // A tenth would come after 9 * 400 samples of each function.
        assert!((4 * 400..9 * 400).contains(&report.samples.gradient), "seed {seed}: {:?}", report.samples);
    }
}

/// `min x + y` where `E[D] - x <= 0` and `E[D] - y <= 0` ask for 1 and 2, and both are at most 0.5: the least violation is in a corner.
fn out_of_reach(finite: bool) -> Demand {
    Demand(Meta::new("out of reach", vec![0.0, 0.1]).bounds(&[0.0; 2], &[0.5; 2]).at_most(&[0.0, 0.0]), finite)
}

struct Demand(Meta, bool);

impl SampledProblem for Demand {
    fn meta(&self) -> &Meta {
        &self.0
    }
    fn accesses(&self) -> Accesses {
        let access = if self.1 { Access::Finite(2000) } else { Access::Endless };
        Accesses { gradient: Access::Exact, constraints: access, jacobian: access }
    }
    fn gradient(&mut self, _: &[f64], _: &[Draw], g: &mut [f64]) -> Evaluation {
        g.fill(1.0);
        Ok(())
    }
    fn constraints(&mut self, x: &[f64], draws: &[Draw], c: &mut [f64]) -> Evaluation {
        for (i, c) in c.iter_mut().enumerate() {
            let noise = draws.iter().map(|draw| Stream::new(*draw, i as u64).uniform() - 0.5).sum::<f64>() / draws.len() as f64;
            *c = (1.0 + i as f64) * (1.0 + noise) - x[i] * (1.0 + 0.5 * noise);
        }
        Ok(())
    }
    fn jacobian(&mut self, _: &[f64], draws: &[Draw], values: &mut [f64]) -> Evaluation {
        values.fill(0.0);
        for i in 0..2 {
            let noise = draws.iter().map(|draw| Stream::new(*draw, i as u64).uniform() - 0.5).sum::<f64>() / draws.len() as f64;
            values[3 * i] = -1.0 - 0.5 * noise;
        }
        Ok(())
    }
}

#[test]
fn a_corner_that_noisy_steps_come_near_is_reached() {
    for (finite, seed) in [(true, 0), (true, 1), (true, 2), (false, 0), (false, 1), (false, 2)] {
        let mut settings = circle_settings(seed);
        settings.limits.iterations = 20_000;
        for tolerance in ["stationarity", "feasibility", "complementarity", "infeasible"] {
            settings.set(&format!("tolerance.{tolerance}"), "0.05").expect("a setting");
        }
        let report = solve_sampled(out_of_reach(finite), settings).expect("valid");
        assert_eq!(report.point, Point::EpsInfeasibleStationary, "finite {finite}, seed {seed}: {}", report.message);
    }
}

/// `min (x - 1)^2` subject to `E[x + 1000 [a rare event]] <= 0.5`: the event has the probability 2e-4, so that `x <= 0.3`, but a sample in which
/// it does not happen says `x <= 0.5`.
///
/// The second field is the size of ordinary noise beside them.
struct Rare(Meta, f64);

impl SampledProblem for Rare {
    fn meta(&self) -> &Meta {
        &self.0
    }
    fn accesses(&self) -> Accesses {
        Accesses { constraints: Access::Endless, ..Accesses::all(Access::Exact) }
    }
    fn gradient(&mut self, x: &[f64], _: &[Draw], g: &mut [f64]) -> Evaluation {
        g[0] = 2.0 * (x[0] - 1.0);
        Ok(())
    }
    fn constraints(&mut self, x: &[f64], draws: &[Draw], c: &mut [f64]) -> Evaluation {
        let events = draws.iter().filter(|draw| Stream::new(**draw, 1).uniform() < 2e-4).count();
        let ordinary = draws.iter().map(|draw| Stream::new(*draw, 2).uniform() - 0.5).sum::<f64>();
        c[0] = x[0] + (1000.0 * events as f64 + self.1 * ordinary) / draws.len() as f64;
        Ok(())
    }
    fn jacobian(&mut self, _: &[f64], _: &[Draw], values: &mut [f64]) -> Evaluation {
        values[0] = 1.0;
        Ok(())
    }
}

#[test]
fn nothing_is_claimed_of_events_that_a_sample_may_not_contain() {
    const RUNS: u64 = 60;
    let run = |seed: u64, ordinary: f64, range: Option<f64>| {
        let mut settings = Settings::default();
        settings.sampling.seed = seed;
        settings.sampling.judge.range = range;
        settings.limits.iterations = 300;
        for tolerance in ["stationarity", "feasibility", "complementarity"] {
            settings.set(&format!("tolerance.{tolerance}"), "1e-2").expect("a setting");
        }
        solve_sampled(Rare(Meta::new("rare", vec![0.0]).at_most(&[0.5]), ordinary), settings).expect("valid")
    };
    let violation = |report: &Report| (report.x[0] + 0.2 - 0.5).max(0.0);
    let (mut false_claims, mut covered) = ([0; 2], 0);
    for seed in 0..RUNS {
        // Alone, and beside ordinary noise, in which a sample without an event looks as good as any.
        for (ordinary, false_claims) in [0.0, 0.5].into_iter().zip(&mut false_claims) {
            let report = run(seed, ordinary, None);
            let claims = matches!(report.point, Point::EpsKkt | Point::Feasible);
            *false_claims += u64::from(claims && violation(&report) > 1e-2);
        }
        let with_range = run(seed, 0.5, Some(1001.0));
        let verdict = with_range.verdict.expect("judged");
        assert!(!verdict.few_events, "the range is known");
        covered += u64::from(violation(&with_range) <= verdict.feasibility.upper);
    }
    assert!(false_claims.iter().all(|claims| claims * 20 <= RUNS), "{false_claims:?} of {RUNS} claims were false");
    assert!(covered * 100 >= 95 * RUNS, "the bound held in {covered} of {RUNS} runs");
}

/// `x1^2 / 2 = 1` and `x2^2 / 2 = 1` without noise beside a noisy gradient: `|dJ| / |dx|` is 1 along any step.
fn two_parabolas() -> Noisy<ClosureProblem> {
    let meta = Meta::new("two parabolas", vec![3.0, 2.0]).equalities(&[1.0, 1.0]);
    let problem = ClosureProblem::builder(meta)
        .objective(|x| x[0] - x[1])
        .gradient(|_, g| g.copy_from_slice(&[1.0, -1.0]))
        .constraints(|x, c| c.copy_from_slice(&[0.5 * x[0] * x[0], 0.5 * x[1] * x[1]]))
        .jacobian(|x, values| values.copy_from_slice(&[x[0], 0.0, 0.0, x[1]]))
        .build()
        .expect("all functions are there");
    Noisy::new(problem, Noise { gradient: 1e-3, ..Noise::default() }).expect("a valid level")
}

#[test]
fn the_papers_stepsize_takes_the_constant_of_the_jacobian_itself() {
    let mut settings = Settings::paper();
    settings.limits.iterations = 30;
    for estimation in [&mut settings.sampling.gradient, &mut settings.sampling.constraints, &mut settings.sampling.jacobian] {
        estimation.batch = Batch::Constant { size: 4 };
    }
    let mut solver = Solver::sampled(two_parabolas(), settings).expect("valid");
    let mut constants = Vec::new();
    solver.run(&mut |row: &Row, _: &[f64]| {
        constants.push(row.lipschitz_constraints);
        ControlFlow::Continue(())
    });
    assert!(constants.len() > 10);
    // What steps show of it, 2 |dc - J dx| / |dx|^2, is down to 0.7 where both variables move.
    assert!(constants[1..].iter().all(|constant| (constant - 1.0).abs() < 1e-9), "{constants:?}");
}

#[test]
fn asking_for_true_residuals_changes_nothing_else() {
    let run = |asked: bool, seed: u64| {
        let mut settings = Settings::default();
        settings.limits.iterations = 400;
        (settings.sampling.seed, settings.sampling.true_residuals) = (seed, asked);
        solve_sampled(noisy("HS71", 1e-2), settings).expect("valid")
    };
    for seed in 0..20 {
        let (asked, plain) = (run(true, seed), run(false, seed));
        assert_eq!((&asked.x, asked.iterations, asked.samples), (&plain.x, plain.iterations, plain.samples), "seed {seed}");
    }
}
