//! What runs on CUTEst's files must keep: a resumed run equals an uninterrupted one, and nothing is called infeasible that others solve.
//! Without the files there is nothing to look at, and the tests say so.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use tangor_open::Source;
use tangor_problem::Problem;
use tangor_solver::{Checkpoint, Point, Report, Row, Settings, Solver};

/// The folder that `MASTSIF` names, or `../shared/cutest/sif` beside the workspace.
fn folder() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/cutest/sif");
    let folder = std::env::var_os("MASTSIF").map_or(beside, PathBuf::from);
    if !folder.is_dir() {
        println!("SKIPPED: {} is not a folder; set MASTSIF to the folder of the SIF files", folder.display());
    }
    folder.is_dir().then_some(folder)
}

fn problem(file: &Path) -> Box<dyn Problem> {
    Source::file(file.to_owned(), Default::default()).and_then(|source| source.problem()).expect("a readable file")
}

fn settings(iterations: u64) -> Settings {
    let mut settings = Settings::default();
    settings.limits.iterations = iterations;
    settings
}

fn quiet(_: &Row, _: &[f64]) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

fn bits(report: &Report) -> Vec<u64> {
    let numbers = [report.objective, report.stationarity, report.feasibility, report.complementarity, report.rho];
    let vectors = [&report.x, &report.constraints, &report.row_multipliers, &report.bound_multipliers];
    numbers.iter().chain(vectors.into_iter().flatten()).map(|value| value.to_bits()).collect()
}

/// A run, and the same one that is saved after so many iterations and resumed.
fn assert_resumes(file: &Path, iterations: u64, interrupted: impl Fn(u64) -> u64) {
    let whole = Solver::new(problem(file), settings(iterations)).expect("valid").run(&mut quiet);
    let after = interrupted(whole.iterations);
    let mut first = Solver::new(problem(file), settings(iterations)).expect("valid");
    for _ in 0..after {
        first.advance(&mut quiet);
    }
    let saved = serde_json::to_vec(&first.checkpoint()).expect("a state can be written");
    let saved: Checkpoint = serde_json::from_slice(&saved).expect("and read");
    let resumed = Solver::resume(problem(file), saved).expect("and taken up").run(&mut quiet);
    let name = format!("{}, interrupted after {after} of {}", whole.problem, whole.iterations);
    assert_eq!((resumed.stop, resumed.point, resumed.iterations), (whole.stop, whole.point, whole.iterations), "{name}");
    assert_eq!((resumed.evaluations, &resumed.unusual), (whole.evaluations, &whole.unusual), "{name}");
    assert!(bits(&resumed) == bits(&whole), "{name}: other numbers");
}

#[test]
fn runs_whose_metric_is_forgotten_resume_bit_for_bit() {
    let Some(folder) = folder() else { return };
    for name in ["HS268", "ALLINITC", "SPANHYD"] {
        for part in 0..8 {
            assert_resumes(&folder.join(format!("{name}.SIF")), 3000, |all| all * part / 8 + u64::from(part > 4));
        }
    }
}

#[test]
fn all_runs_resume_bit_for_bit() {
    let Some(folder) = folder() else { return };
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).expect("a folder").flatten().map(|entry| entry.path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "SIF"));
    files.sort();
    let mut count = 0;
    for (k, file) in files.iter().enumerate() {
        // The few large ones take as long as all others.
        if problem(file).meta().n() <= 500 {
            assert_resumes(file, 40, |all| (7 * k as u64 + 3) % all.max(1));
            count += 1;
        }
    }
    println!("{count} of {} files", files.len());
    assert!(count >= files.len() * 9 / 10, "only {count} of {} files are small", files.len());
}

#[test]
fn what_others_solve_is_not_called_infeasible() {
    let Some(folder) = folder() else { return };
    let more = folder.join("../more/sif");
    for (folder, names) in [(&folder, &["DISCS", "S316-322"][..]), (&more, &["CYCLOOCT", "EIGENB", "HADAMARD", "LOOTSMA"])] {
        for name in names {
            let file = folder.join(format!("{name}.SIF"));
            if !file.is_file() {
                println!("SKIPPED: {} is not there", file.display());
                continue;
            }
            let report = Solver::new(problem(&file), Settings::default()).expect("valid").run(&mut quiet);
            println!("{name}: {}", report.message);
            assert!(matches!(report.point, Point::EpsKkt | Point::Feasible), "{name}: {}", report.message);
        }
    }
}

/// More data than parameters, in rows whose derivatives at the start differ by far: the violation is least where it is measured.
#[test]
fn the_least_violation_is_that_of_the_users_rows() {
    let Some(folder) = folder() else { return };
    for (name, least) in [("CHWIRUT2", 22.650_563_5), ("RAT42", 2.838_401_4)] {
        let file = folder.join(format!("../more/sif/{name}.SIF"));
        if !file.is_file() {
            println!("SKIPPED: {} is not there", file.display());
            continue;
        }
        let report = Solver::new(problem(&file), Settings::default()).expect("valid").run(&mut quiet);
        assert_eq!(report.point, Point::EpsInfeasibleStationary, "{name}: {}", report.message);
        // The roots of the residual sums of squares that NIST certifies, 513.04802941 and 8.0565229338.
        assert!((report.feasibility - least).abs() < 1e-4, "{name}: {}", report.feasibility);
    }
}
