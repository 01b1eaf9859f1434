//! A run on a process that is saved, ended with its process, and resumed with another one equals an uninterrupted run bit for bit.

use std::ops::ControlFlow;

use tangor_problem::SampledProblem;
use tangor_process::{ProcessProblem, ProcessSettings};
use tangor_solver::{Checkpoint, Report, Row, Settings, Solver};

fn start(behaviour: &str, payload: &str) -> ProcessProblem {
    let oracle = env!("CARGO_BIN_EXE_tangor-test-oracle");
    let settings = ProcessSettings { pass_stderr: false, ..ProcessSettings::default() };
    ProcessProblem::start(&format!("'{oracle}' {behaviour} {payload} 4"), &settings).expect("a process")
}

fn quiet(_: &Row, _: &[f64]) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// Judged on half of the population, so that no judgement is exact, and never good enough.
fn settings() -> Settings {
    let mut settings = Settings::default();
    settings.limits.iterations = 60;
    settings.tolerance.stationarity = 1e-300;
    (settings.sampling.judge.every, settings.sampling.judge.samples, settings.sampling.judge.patience) = (20, 7, 0);
    settings
}

/// All that a run found and spent, as text that has every bit; without the time, which no two runs have in common.
fn bits(report: Report) -> String {
    serde_json::to_string(&Report { seconds: 0.0, ..report }).expect("a report")
}

fn whole<S: SampledProblem>(problem: S) -> Report {
    Solver::sampled(problem, settings()).expect("valid").run(&mut quiet)
}

fn resumed<S: SampledProblem>(start: impl Fn() -> S, stop: usize) -> Report {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("run.json");
    let mut solver = Solver::sampled(start(), settings()).expect("valid");
    for _ in 0..stop {
        assert_eq!(solver.advance(&mut quiet), None, "the run is longer than {stop} iterations");
    }
    solver.checkpoint().write(&file).expect("written");
    drop(solver);
    let saved = Checkpoint::read(&file).expect("read");
    Solver::resume_sampled(start(), saved).expect("resumed").run(&mut quiet)
}

#[test]
fn a_resumed_run_equals_an_uninterrupted_one() {
    for payload in ["text", "binary"] {
        let expected = whole(start("sampled", payload));
        assert!(expected.iterations >= 40, "{}", expected.message);
        assert!(expected.samples.total() > 0 && expected.verdict.is_some());
        let expected = bits(expected);
        for stop in [1, 19, 20, 21, 35] {
            assert_eq!(bits(resumed(|| start("sampled", payload), stop)), expected, "{payload}, resumed after {stop}");
        }
        let expected = bits(whole(start("good", payload)));
        assert_eq!(bits(resumed(|| start("good", payload), 1)), expected, "{payload}, exact");
    }
}
