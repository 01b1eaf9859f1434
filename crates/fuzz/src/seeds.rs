//! Good inputs to be damaged. Those of formats that Tangor writes itself are written anew, so that they are always of its own version.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use tangor_learn::{Goal, Model, Reading};
use tangor_solver::{Row, Settings, Solver};

use crate::targets::problem;

/// A SIF file that has something of everything.
const SIF: &str = include_str!("../../sif/tests/everything.SIF");

/// Minimise `(x - 1)^2` subject to `x >= 2`.
const NL: &str = include_str!("../corpus/nl/good.nl");

/// How deep brackets are nested.
const DEPTH: usize = 60_000;

/// The inputs of a target.
pub struct Seeds {
    /// Good ones.
    pub good: Vec<Vec<u8>>,
    /// Those that are kept in the corpus, with their names.
    pub kept: Vec<(PathBuf, Vec<u8>)>,
}

impl Seeds {
    /// Those of a target.
    pub fn of(target: &str) -> Seeds {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target);
        let mut paths: Vec<PathBuf> =
            std::fs::read_dir(folder).map(|files| files.flatten().map(|file| file.path()).collect()).unwrap_or_default();
        paths.sort();
        let read = |path: PathBuf| std::fs::read(&path).ok().map(|bytes| (path, bytes));
        let mut kept: Vec<(PathBuf, Vec<u8>)> = paths.into_iter().filter_map(read).collect();
        let mut good = written(target);
        good.extend(kept.iter().filter(|(path, _)| is_good(path)).map(|(_, bytes)| bytes.clone()));
        kept.extend(deep(target).into_iter().map(|text| (PathBuf::from("deep"), text.into_bytes())));
        Seeds { good, kept }
    }
}

/// A file whose name begins so is one that can be read.
fn is_good(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("good"))
}

fn written(target: &str) -> Vec<Vec<u8>> {
    match target {
        "sif" => vec![SIF.as_bytes().to_vec()],
        "checkpoint" => [false, true].into_iter().filter_map(|noisy| run(noisy).map(|(saved, _)| saved)).collect(),
        "result" => [false, true].into_iter().filter_map(|noisy| run(noisy).map(|(_, report)| report)).collect(),
        "nl" => vec![NL.as_bytes().to_vec()],
        "model" => model().into_iter().collect(),
        _ => Vec::new(),
    }
}

/// Inputs that cost a careless reader its stack.
fn deep(target: &str) -> Vec<String> {
    let nested = |open: &str, close: &str| format!("{}1{}", open.repeat(DEPTH), close.repeat(DEPTH));
    match target {
        "toml" => vec![
            format!("{}rho0 = 1\n", "merit.".repeat(DEPTH)),
            format!("[{}merit]\nrho0 = 1\n", "merit.".repeat(DEPTH)),
            format!("merit = {}\n", nested("[", "]")),
            format!("merit = {}\n", nested("{a = ", "}")),
        ],
        "nl" => {
            let sum = format!("O0 0\n{}{}b\n", "o0\n".repeat(DEPTH), "v0\n".repeat(DEPTH + 1));
            vec![
                NL.replace("O0 0\no5\no0\nv0\nn-1\nn2\nb\n", &sum),
                NL.replace("v0\n", &format!("{}v0\n", "o16\n".repeat(DEPTH))),
            ]
        }
        "checkpoint" => vec![format!("{{\"version\":2,\"note\":{}}}", nested("[", "]"))],
        "result" | "oracle" | "model" => vec![nested("[", "]"), nested("{\"a\":", "}")],
        "sif" => vec![SIF.replace("X1", &nested("(", ")"))],
        _ => Vec::new(),
    }
}

/// A model of two columns, as JSON.
fn model() -> Option<Vec<u8>> {
    let folder = tempfile::tempdir().ok()?;
    let data = folder.path().join("people.csv");
    std::fs::write(&data, "age,group,label\n30,a,0\n40,b,1\n").ok()?;
    let data = Reading { label: Some("label".to_string()), ..Reading::default() }.csv(&data).ok()?;
    let weights = vec![0.5; data.features.weights()];
    Model::new(&data, weights, &Goal::default(), 0.5, 0.95).ok()?.to_json().ok()
}

/// A state and a result, as JSON.
fn run(noisy: bool) -> Option<(Vec<u8>, Vec<u8>)> {
    let mut settings = Settings::default();
    settings.limits.iterations = 120;
    settings.sampling.judge.samples = 100;
    let quiet = &mut |_: &Row, _: &[f64]| ControlFlow::Continue(());
    let mut solver = Solver::sampled(problem(noisy)?, settings).ok()?;
    for _ in 0..4 {
        solver.advance(quiet);
    }
    let saved = serde_json::to_vec(&solver.checkpoint()).ok()?;
    Some((saved, serde_json::to_vec(&solver.run(quiet)).ok()?))
}
