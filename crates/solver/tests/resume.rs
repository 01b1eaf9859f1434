//! The same run twice gives the same bits, also when it is interrupted and resumed from a file; bad files are refused in a sentence.

use std::ops::ControlFlow;
use std::path::Path;

use tangor_collection::{Entry, entries, find};
use tangor_problem::{ClosureProblem, Failure, Meta, Problem};
use tangor_solver::{Checkpoint, MetricKind, Report, Row, Settings, Silent, Solver, Stop};
use tempfile::tempdir;

fn watch(rows: &mut Vec<Row>) -> impl FnMut(&Row, &[f64]) -> ControlFlow<()> {
    |row: &Row, _: &[f64]| {
        rows.push(Row { seconds: 0.0, ..*row });
        ControlFlow::Continue(())
    }
}

fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|value| value.to_bits()).collect()
}

/// All that a run gives back, to the last bit, but for time.
fn assert_same(name: &str, one: &Report, other: &Report) {
    assert_eq!((one.stop, one.point, one.iterations), (other.stop, other.point, other.iterations), "{name}");
    assert_eq!((one.evaluations, &one.unusual), (other.evaluations, &other.unusual), "{name}");
    assert_eq!(one.message, other.message, "{name}");
    let vectors = |report: &Report| {
        let numbers =
            [report.objective, report.stationarity, report.feasibility, report.complementarity, report.infeasible_stationarity];
        let vectors = [&report.x, &report.constraints, &report.row_multipliers, &report.bound_multipliers];
        (bits(&numbers), vectors.map(|values| bits(values)), report.rho.to_bits())
    };
    assert_eq!(vectors(one), vectors(other), "{name}");
}

fn settings(metric: MetricKind) -> Settings {
    let mut settings = Settings::default();
    settings.metric.kind = metric;
    settings.limits.iterations = 60;
    settings
}

fn whole_run(entry: &Entry, settings: &Settings) -> (Report, Vec<Row>) {
    let mut rows = Vec::new();
    let report = Solver::new((entry.build)(), settings.clone()).unwrap().run(&mut watch(&mut rows));
    (report, rows)
}

/// The same run, stopped after so many iterations, written, read and resumed.
fn interrupted_run(entry: &Entry, settings: &Settings, iterations: usize, file: &Path) -> (Report, Vec<Row>) {
    let mut rows = Vec::new();
    let mut first = Solver::new((entry.build)(), settings.clone()).unwrap();
    for _ in 0..iterations {
        first.advance(&mut watch(&mut rows));
    }
    first.checkpoint().write(file).unwrap();
    drop(first);
    let mut second = Solver::resume((entry.build)(), Checkpoint::read(file).unwrap()).unwrap();
    let report = second.run(&mut watch(&mut rows));
    (report, rows)
}

/// Whoever ends a run while its start is evaluated finds a checkpoint of a run that has not begun: gone on with, it does.
#[test]
fn a_run_that_ended_at_its_start_begins_when_it_is_resumed() {
    let build = |broken: bool| {
        let failing = move || if broken { Err(Failure::broken("the end is wanted")) } else { Ok(()) };
        ClosureProblem::builder(Meta::new("valley", vec![-1.2, 1.0]).equalities(&[2.0]))
            .objective(|x| 100.0 * (x[1] - x[0] * x[0]).powi(2) + (1.0 - x[0]).powi(2))
            .gradient(move |x, g| {
                let slope = 200.0 * (x[1] - x[0] * x[0]);
                g.copy_from_slice(&[-2.0 * x[0] * slope - 2.0 * (1.0 - x[0]), slope]);
                failing()
            })
            .constraints(|x, c| c[0] = x[0] * x[0] + x[1] * x[1])
            .jacobian(|x, values| values.copy_from_slice(&[2.0 * x[0], 2.0 * x[1]]))
            .build()
            .unwrap()
    };
    let folder = tempdir().unwrap();
    let file = folder.path().join("state");
    let mut first = Solver::new(build(true), Settings::default()).unwrap();
    assert_eq!(first.run(&mut Silent).stop, Stop::EvaluationFailed);
    first.checkpoint().write(&file).unwrap();
    let resumed = Solver::resume(build(false), Checkpoint::read(&file).unwrap()).unwrap().run(&mut Silent);
    assert_same("valley", &resumed, &Solver::new(build(false), Settings::default()).unwrap().run(&mut Silent));
}

#[test]
fn the_same_run_twice_gives_the_same_bits() {
    for entry in entries() {
        let (one, one_rows) = whole_run(entry, &settings(MetricKind::QuasiNewton));
        let (other, other_rows) = whole_run(entry, &settings(MetricKind::QuasiNewton));
        assert_same(entry.name, &one, &other);
        assert_eq!(format!("{one_rows:?}"), format!("{other_rows:?}"), "{}", entry.name);
    }
}

#[test]
fn a_resumed_run_equals_an_uninterrupted_one() {
    let folder = tempdir().unwrap();
    let file = folder.path().join("run.json");
    // A fixed sequence of pseudo-random places to interrupt at.
    let mut state = 12345u64;
    for metric in [
        MetricKind::QuasiNewton,
        MetricKind::LimitedMemory,
        MetricKind::Exact,
        MetricKind::Diagonal,
        MetricKind::Spectral,
        MetricKind::Identity,
    ] {
        for entry in entries() {
            let settings = settings(metric);
            let (whole, rows) = whole_run(entry, &settings);
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let iterations = (state >> 33) as usize % (whole.iterations as usize).max(1);
            let (resumed, resumed_rows) = interrupted_run(entry, &settings, iterations, &file);
            let name = format!("{} with {metric:?}, interrupted after {iterations}", entry.name);
            assert_same(&name, &whole, &resumed);
            assert_eq!(format!("{rows:?}"), format!("{resumed_rows:?}"), "{name}");
        }
    }
}

#[test]
fn a_run_may_go_on_beyond_its_limit() {
    let entry = find("HS38").unwrap();
    let mut short = settings(MetricKind::Spectral);
    short.limits.iterations = 5;
    let mut solver = Solver::new((entry.build)(), short).unwrap();
    let stopped = solver.run(&mut watch(&mut Vec::new()));
    assert_eq!(stopped.iterations, 5);
    let mut checkpoint = solver.checkpoint();
    checkpoint.settings.limits.iterations = 60;
    let resumed = Solver::resume((entry.build)(), checkpoint).unwrap().run(&mut watch(&mut Vec::new()));
    let (whole, _) = whole_run(entry, &settings(MetricKind::Spectral));
    assert_eq!(bits(&resumed.x), bits(&whole.x));
    assert_eq!(resumed.iterations, whole.iterations);
}

/// A checkpoint of HS71 as text.
fn checkpoint_text(folder: &Path) -> String {
    let file = folder.join("good.json");
    let mut solver = Solver::new((find("HS71").unwrap().build)(), Settings::default()).unwrap();
    for _ in 0..3 {
        solver.advance(&mut watch(&mut Vec::new()));
    }
    solver.checkpoint().write(&file).unwrap();
    std::fs::read_to_string(file).unwrap()
}

fn refusal(folder: &Path, text: &str) -> String {
    let file = folder.join("bad.json");
    std::fs::write(&file, text).unwrap();
    let read = Checkpoint::read(&file).and_then(|checkpoint| Solver::resume((find("HS71").unwrap().build)(), checkpoint));
    read.err().map_or("it was accepted".to_string(), |error| error.to_string())
}

#[test]
fn bad_checkpoints_are_refused_in_a_sentence() {
    let folder = tempdir().unwrap();
    let good = checkpoint_text(folder.path());
    assert_eq!(refusal(folder.path(), &good), "it was accepted");
    let future = good.replacen("\"version\":11", "\"version\":99", 1);
    let missing = good.replacen("\"rho\":", "\"roh\":", 1);
    let short = good.replacen("\"z\":[", "\"z\":[0.0,", 1);
    for (text, expected) in [
        (future.as_str(), "its version is 99, this program reads version 11"),
        (&missing, "unknown field `roh`"),
        (&good[..good.find("\"z\":[").unwrap() + 5], "EOF while parsing"),
        ("", "EOF while parsing"),
        ("PNG\u{0}\u{1}", "expected value"),
        ("[]", "invalid length 0"),
        (&short, "the lengths of its vectors do not fit the problem"),
    ] {
        let message = refusal(folder.path(), text);
        assert!(message.starts_with("checkpoint ") && message.contains(expected), "{message}");
    }
}

#[test]
fn a_future_version_is_told_before_its_unknown_fields() {
    let folder = tempdir().unwrap();
    let message = refusal(folder.path(), r#"{"version": 99, "novelty": true}"#);
    assert!(message.contains("its version is 99, this program reads version 11"), "{message}");
}

#[test]
fn numbers_that_are_none_are_refused() {
    let folder = tempdir().unwrap();
    let good = checkpoint_text(folder.path());
    let start = good.find("\"z\":[").unwrap() + 5;
    let end = start + good[start..].find(',').unwrap();
    for value in ["null", "1e999", "-5.0"] {
        let message = refusal(folder.path(), &format!("{}{value}{}", &good[..start], &good[end..]));
        assert!(message.starts_with("checkpoint "), "z[0] = {value}: {message}");
    }
}

/// The name of a field, another value for it, and what is said of that.
const IMPOSSIBLE: [(&str, &str, &str); 11] = [
    ("iteration", "1000000000000000000", "state.progress.iteration: no run counts to 1000000000000000000"),
    ("iteration", "1e18", "state.progress.iteration: invalid type: floating point"),
    ("iteration", "-1", "state.progress.iteration: invalid value: integer `-1`, expected u64"),
    ("iteration", "100000", "state.progress.iteration: 100000 iterations take more than "),
    ("objective", "18446744073709551615", "counts.objective: no run counts to 18446744073709551615"),
    ("objective", "2.5", "counts.objective: invalid type"),
    ("jacobian", "-3", "counts.jacobian: invalid value"),
    ("seconds", "-0.5", "seconds: no run takes -0.5 s"),
    ("seconds", "1e18", "seconds: no run takes 1000000000000000000 s"),
    ("rho", "true", "state.progress.rho: invalid type: boolean `true`"),
    ("looked_at", "-1.0", "state.progress.looked_at: -1 is no size"),
];

#[test]
fn numbers_that_no_run_has_are_refused_by_file_and_field() {
    let folder = tempdir().unwrap();
    let good = checkpoint_text(folder.path());
    // The limits among the settings have the same names: what was counted comes after them.
    let after = good.find("\"counts\":").unwrap();
    for (name, value, expected) in IMPOSSIBLE {
        let from = if name == "seconds" { good.find("\"scales\"").unwrap() - 40 } else { after };
        let start = from + good[from..].find(&format!("\"{name}\":")).expect(name) + name.len() + 3;
        let end = start + good[start..].find([',', '}']).unwrap();
        let message = refusal(folder.path(), &format!("{}{value}{}", &good[..start], &good[end..]));
        assert!(message.contains("bad.json: ") && message.contains(expected), "{name} = {value}: {message}");
    }
}

#[test]
fn a_foreign_checkpoint_is_named() {
    let folder = tempdir().unwrap();
    let file = folder.path().join("good.json");
    std::fs::write(&file, checkpoint_text(folder.path())).unwrap();
    let error = Solver::resume((find("HS6").unwrap().build)(), Checkpoint::read(&file).unwrap()).err().unwrap();
    let expected = "good.json: problem: it is of problem HS71 with 4 variables and 2 constraints, not of HS6 with 2 and 1";
    assert!(error.to_string().ends_with(expected), "{error}");
    let missing = Checkpoint::read(&folder.path().join("nothing.json")).unwrap_err().to_string();
    assert!(missing.contains("nothing.json") && missing.contains("No such file"), "{missing}");
    let nowhere = Solver::new((find("HS6").unwrap().build)(), Settings::default()).unwrap().checkpoint();
    let unwritten = nowhere.write(&folder.path().join("no/such/folder.json")).unwrap_err().to_string();
    assert!(unwritten.starts_with("checkpoint ") && unwritten.contains("No such file"), "{unwritten}");
}

/// The name is not all: sizes of the problem are looked at, too.
#[test]
fn sizes_are_looked_at() {
    let folder = tempdir().unwrap();
    let good = checkpoint_text(folder.path()).replacen("\"n\":4", "\"n\":5", 1);
    let message = refusal(folder.path(), &good);
    assert!(message.ends_with("bad.json: n: it is of a problem with 5 variables, but HS71 has 4"), "{message}");
    assert_eq!((find("HS71").unwrap().build)().meta().n(), 4);
}
