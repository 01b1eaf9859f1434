//! The readers, each as a function of bytes.

use std::fs::OpenOptions;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use tangor_collection::find;
use tangor_learn::{Input, Model, Reading};
use tangor_problem::{Distribution, Noise, NoiseForm, Noisy, Problem, SampledProblem};
use tangor_sif::Limits;
use tangor_solver::{Candidate, Checkpoint, Report, Row, Settings, Solver, judge_point};

/// A reader.
pub struct Target {
    /// Its name, which is also that of its folder in the corpus.
    pub name: &'static str,
    /// Reads an input and makes use of it; true when it could be read. The folder is for readers that want a file.
    pub read: fn(&[u8], &Path) -> bool,
}

/// All readers of files and messages.
pub const TARGETS: [Target; 9] = [
    Target { name: "sif", read: sif },
    Target { name: "nl", read: nl },
    Target { name: "checkpoint", read: checkpoint },
    Target { name: "result", read: result },
    Target { name: "csv", read: csv },
    Target { name: "libsvm", read: libsvm },
    Target { name: "model", read: model },
    Target { name: "toml", read: toml },
    Target { name: "oracle", read: oracle },
];

/// Problems with more than this are read, but not evaluated.
const MOST_EVALUATED: usize = 1_000_000;

/// Evaluates everything at the start. Values that do not exist are fine.
fn evaluate(problem: &mut dyn Problem) {
    let meta = problem.meta().clone();
    if meta.n() + meta.m() + meta.jacobian_len() > MOST_EVALUATED {
        return;
    }
    let (mut g, mut c, mut values) = (vec![0.0; meta.n()], vec![0.0; meta.m()], vec![0.0; meta.jacobian_len()]);
    let _ = problem.objective(&meta.x0);
    let _ = problem.gradient(&meta.x0, &mut g);
    let _ = problem.constraints(&meta.x0, &mut c);
    let _ = problem.jacobian(&meta.x0, &mut values);
}

fn sif(bytes: &[u8], _: &Path) -> bool {
    let limits = Limits { cards: 100_000, items: 100_000, hessian: 100_000 };
    let options = tangor_sif::Options { limits, ..tangor_sif::Options::default() };
    let read = tangor_sif::parse(&String::from_utf8_lossy(bytes), "FUZZ.SIF", &options);
    read.map(|mut problem| evaluate(&mut problem)).is_ok()
}

fn nl(bytes: &[u8], _: &Path) -> bool {
    let read = tangor_nl::parse(bytes, "fuzz.nl", &tangor_nl::Options::default());
    read.map(|mut problem| evaluate(&mut problem)).is_ok()
}

/// HS71, as it is or with noise.
pub(crate) fn problem(noisy: bool) -> Option<Box<dyn SampledProblem>> {
    let exact = (find("HS71").ok()?.build)();
    if !noisy {
        return Some(Box::new(tangor_problem::Exact(exact)));
    }
    let level = 1e-2;
    let (distribution, form) = (Distribution::Gaussian, NoiseForm::Additive);
    let noise = Noise { distribution, form, gradient: level, constraints: level, jacobian: level };
    Some(Box::new(Noisy::new(exact, noise).ok()?))
}

fn quiet(_: &Row, _: &[f64]) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// Limits under which any run is short and small.
fn bound(settings: &mut Settings, iteration: u64) {
    settings.limits.iterations = settings.limits.iterations.min(iteration.saturating_add(5));
    settings.limits.seconds = Some(30.0);
    settings.limits.memory = Some(100_000_000);
    let sampling = &mut settings.sampling;
    sampling.judge.samples = sampling.judge.samples.min(400);
    sampling.judge.batches = sampling.judge.batches.min(40);
    for estimation in [&mut sampling.gradient, &mut sampling.constraints, &mut sampling.jacobian] {
        estimation.batch = tangor_solver::Batch::Constant { size: 2 };
    }
}

/// Goes on for a few iterations.
fn checkpoint(bytes: &[u8], _: &Path) -> bool {
    let Ok(saved) = serde_json::from_slice::<Checkpoint>(bytes) else { return false };
    let mut resumed = false;
    for noisy in [false, true] {
        let mut saved = saved.clone();
        let iteration = saved.iteration();
        bound(&mut saved.settings, iteration);
        let solver = problem(noisy).map(|problem| Solver::resume_sampled(problem, saved));
        if let Some(Ok(mut solver)) = solver {
            let _ = serde_json::to_string(&solver.run(&mut quiet));
            resumed = true;
        }
    }
    resumed
}

/// Judges it again.
fn result(bytes: &[u8], _: &Path) -> bool {
    let Ok(mut report) = serde_json::from_slice::<Report>(bytes) else { return false };
    bound(&mut report.settings, 0);
    let Report { x, row_multipliers, bound_multipliers, settings, .. } = &report;
    let candidate = Candidate { x, row_multipliers, bound_multipliers };
    problem(true).is_some_and(|problem| judge_point(problem, candidate, &settings.sampling).is_ok())
}

/// Writes a file anew. Some file systems bring a file to disk that was emptied before it was written, which takes milliseconds: this one is never
/// empty in between.
pub fn overwrite(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut file = OpenOptions::new().write(true).create(true).truncate(false).open(path)?;
    file.write_all(bytes)?;
    file.set_len(bytes.len() as u64)
}

fn file(bytes: &[u8], folder: &Path, name: &str) -> Option<PathBuf> {
    let path = folder.join(name);
    overwrite(&path, bytes).ok().map(|()| path)
}

fn csv(bytes: &[u8], folder: &Path) -> bool {
    let Some(path) = file(bytes, folder, "data.csv") else { return false };
    let label = Some("label".to_string());
    let plain = Reading { label: label.clone(), ..Reading::default() };
    let grouped = Reading { label, groups: vec!["group".to_string()], log: vec!["age".to_string()], ..Reading::default() };
    plain.csv(&path).is_ok() | grouped.csv(&path).is_ok() | Reading::default().csv(&path).is_ok()
}

fn libsvm(bytes: &[u8], folder: &Path) -> bool {
    let Some(path) = file(bytes, folder, "data.libsvm") else { return false };
    Reading::default().libsvm(&path).is_ok()
}

/// Predicts with it.
fn model(bytes: &[u8], folder: &Path) -> bool {
    let people = b"age,group,label\n30,a,0\n40,b,1\nx,c,2\n";
    let paths = (file(bytes, folder, "model.json"), file(people, folder, "people.csv"));
    let (Some(path), Some(people)) = paths else { return false };
    let Ok(model) = Model::read(&path) else { return false };
    let _ = model.predict::<tangor_learn::Error>(&Input::from(&people), None, &[], |_| Ok(()));
    let _ = model.read_data(&people, None).and_then(|data| model.evaluate(&data));
    true
}

/// As a file, and line by line as `--set` would have it.
fn toml(bytes: &[u8], _: &Path) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let mut settings = Settings::default();
    for (path, value) in text.lines().filter_map(|line| line.split_once('=')).take(20) {
        let _ = settings.set(path.trim(), value.trim());
    }
    Settings::from_toml(&text).is_ok()
}

fn oracle(bytes: &[u8], _: &Path) -> bool {
    tangor_process::understand(bytes).contains(&true)
}
