//! What holds for noisy runs with every mechanism at once: the same bits on any number of threads, and from every state of a run the same end.

use std::ops::ControlFlow;
use std::sync::Arc;

use rayon::ThreadPoolBuilder;
use tangor_problem::{Draw, FiniteSum, Meta, SampledSum, Stream};
use tangor_solver::{Batch, Checkpoint, Event, Report, Row, Settings, Solver};

/// Regression with so many rows and weights on a noisy unit sphere, and a noisy inequality.
fn sphere(n: usize, rows: usize) -> SampledSum {
    let row = |i: usize| {
        let mut stream = Stream::new(Draw(i as u64), 9);
        (0..n + 2).map(|_| 2.0 * stream.uniform() - 1.0).collect::<Vec<f64>>()
    };
    let data = Arc::new((0..rows).map(row).collect::<Vec<_>>());
    let mean = data.iter().map(|row| row[n + 1]).sum::<f64>() / rows as f64;
    let [f, g, c, j] = [(); 4].map(|()| Arc::clone(&data));
    let off = move |row: &[f64], x: &[f64]| x.iter().zip(row).map(|(x, a)| a * x).sum::<f64>() - row[n] - row[0];
    let start = (0..n).map(|i| 1.0 + 0.1 * i as f64).collect();
    FiniteSum::new(Meta::new("sphere", start).equalities(&[1.0]).at_most(&[0.3]), rows)
        .term_objective(move |i, x| off(&f[i], x).powi(2))
        .term_gradient(move |i, x, out| {
            let factor = 2.0 * off(&g[i], x);
            out.iter_mut().zip(&g[i]).for_each(|(out, a)| *out += factor * a);
        })
        .term_constraints(move |i, x, out| {
            out[0] += (1.0 + c[i][n + 1] - mean) * x.iter().map(|x| x * x).sum::<f64>();
            out[1] += c[i][0] * x[0] + x[0] * x[1];
        })
        .term_jacobian(move |i, x, out| {
            let weight = 2.0 * (1.0 + j[i][n + 1] - mean);
            out[..n].iter_mut().zip(x).for_each(|(out, x)| *out += weight * x);
            out[n] += j[i][0] + x[1];
            out[n + 1] += x[0];
        })
        .sampled()
}

/// Settings that differ from the defaults by one mechanism each.
fn variants() -> Vec<Settings> {
    const ESTIMATORS: [(&str, &str); 3] = [
        ("sampling.gradient.estimator", "minibatch"),
        ("sampling.constraints.estimator", "minibatch"),
        ("sampling.jacobian.estimator", "minibatch"),
    ];
    let changes: [&[(&str, &str)]; 7] = [
        &[],
        &[("metric.kind", "limited_memory")],
        &[("metric.kind", "diagonal"), ("sampling.replacement", "true")],
        &[("metric.kind", "limited_memory"), ("sampling.shared_draws", "false")],
        &[("sampling.exact_passes", "0")],
        &ESTIMATORS,
        &[("sampling.average", "10"), ("sampling.probe", "7")],
    ];
    let with = |changes: &[(&str, &str)]| {
        let mut settings = Settings::default();
        let sampling = &mut settings.sampling;
        for function in [&mut sampling.gradient, &mut sampling.constraints, &mut sampling.jacobian] {
            function.batch = Batch::Constant { size: 16 };
        }
        sampling.judge.every = 15;
        (settings.limits.iterations, settings.limits.samples) = (150, Some(60_000));
        let never = ["stationarity", "feasibility", "complementarity"].map(|of| (format!("tolerance.{of}"), "1e-13"));
        let all = never.iter().map(|(path, value)| (path.as_str(), *value)).chain(changes.iter().copied());
        all.for_each(|(path, value)| settings.set(path, value).expect("a setting"));
        settings
    };
    changes.map(with).into()
}

/// All that a run gives back but for time, and its rows.
fn told(solver: &mut Solver<SampledSum>) -> (String, Vec<String>, u64) {
    let (mut rows, mut passes) = (Vec::new(), 0);
    let report = solver.run(&mut |row: &Row, _: &[f64]| {
        rows.push(format!("{:?}", Row { seconds: 0.0, ..*row }));
        passes += u64::from(row.unusual.contains(Event::ExactPass));
        ControlFlow::Continue(())
    });
    let Report { x, row_multipliers, verdict, samples, evaluations, message, objective, .. } = report;
    (format!("{x:?} {row_multipliers:?} {verdict:?} {samples:?} {evaluations:?} {message} {objective}"), rows, passes)
}

#[test]
fn a_noisy_run_has_the_same_bits_on_any_number_of_threads() {
    for settings in variants() {
        let [one, two, four] = [1, 2, 4].map(|threads| {
            let pool = ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
            pool.install(|| told(&mut Solver::sampled(sphere(40, 2000), settings.clone()).expect("valid")))
        });
        assert!(one == two && one == four);
    }
}

#[test]
fn from_every_state_a_noisy_run_comes_to_the_same_end() {
    let (mut resumed, mut passes) = (0, 0);
    for (rows, settings) in
        [300, 2000].into_iter().flat_map(|rows| variants().into_iter().map(move |settings| (rows, settings)))
    {
        let (end, all, seen) = told(&mut Solver::sampled(sphere(12, rows), settings.clone()).expect("valid"));
        passes += seen;
        let mut solver = Solver::sampled(sphere(12, rows), settings).expect("valid");
        loop {
            let text = serde_json::to_string(&solver.checkpoint()).expect("a checkpoint is JSON");
            let saved: Checkpoint = serde_json::from_str(&text).expect("read back");
            let (same, rest, _) = told(&mut Solver::resume_sampled(sphere(12, rows), saved).expect("resumed"));
            assert!(same == end && rest == all[all.len() - rest.len()..], "{rows} rows, {} left", rest.len());
            resumed += 1;
            if solver.advance(&mut |_: &Row, _: &[f64]| ControlFlow::Continue(())).is_some() {
                break;
            }
        }
    }
    assert!(resumed > 500 && passes > 5, "{resumed} states, {passes} exact passes");
}
