//! Every file of the collection against values of the original decoder.

mod common;

use std::time::{Duration, Instant};

use common::{Collection, largest_difference};
use serde_json::Value;
use tangor_problem::{Pattern, Problem};
use tangor_sif::{Options, SifProblem};

/// Relative to the largest entry of the same kind.
const TOLERANCE: f64 = 1e-12;

/// Problems whose start satisfies the constraints almost exactly, so that `c` is nothing but rounding errors of large terms.
/// For these the terms are what differences are relative to.
const CANCELLATION: [&str; 4] = ["LEAKNET", "LINSPANH", "SMBANK", "SPANHYD"];

#[test]
fn all_files_agree_with_the_reference() {
    let collections = Collection::all();
    let mut complaints = Vec::new();
    let mut compared = 0;
    for (collection, (reference, name)) in collections.iter().flat_map(|one| one.references().map(move |found| (one, found))) {
        match tangor_sif::read(collection.file(&name), &common::options(&reference)) {
            Err(error) => complaints.push(error.to_string()),
            Ok(problem) => {
                complaints.extend(compare(problem, &reference).into_iter().map(|complaint| format!("{name}: {complaint}")))
            }
        }
        compared += 1;
    }
    println!("{compared} problems compared");
    assert!(compared >= [0, 306, 306 + 91][collections.len()], "only {compared} references were found");
    assert!(complaints.is_empty(), "{} complaints:\n{}", complaints.len(), complaints.join("\n"));
}

/// Reading alone, DEGENQP included, whose file decodes to 125,025 rows.
#[test]
fn all_files_are_read_in_ten_seconds() {
    let Some(collection) = Collection::find() else { return };
    let (clock, files) = (Instant::now(), collection.files());
    for path in &files {
        let problem = tangor_sif::read(path, &Options::default()).unwrap_or_else(|error| panic!("{error}"));
        let large = path.file_stem().is_some_and(|stem| stem == "DEGENQP");
        assert!(!large || problem.meta().m() == 125_025, "DEGENQP has {} rows", problem.meta().m());
    }
    let time = clock.elapsed();
    println!("{} files read in {time:?}", files.len());
    // What is asked for concerns an optimised build.
    assert!(cfg!(debug_assertions) || time < Duration::from_secs(10), "{time:?}");
}

fn compare(mut problem: SifProblem, reference: &Value) -> Vec<String> {
    let mut complaints = compare_data(&problem, reference);
    if complaints.is_empty() {
        for (k, point) in reference["points"].as_array().into_iter().flatten().enumerate() {
            let found = compare_point(&mut problem, point, reference["noobj"] == 1);
            complaints.extend(found.into_iter().map(|complaint| format!("point {k}: {complaint}")));
        }
    }
    complaints
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().expect("an array").iter().map(|entry| entry.as_f64().unwrap_or(f64::NAN)).collect()
}

fn compare_data(problem: &SifProblem, reference: &Value) -> Vec<String> {
    let meta = problem.meta();
    let mut complaints = Vec::new();
    let infinite = |bound: &f64| if bound.abs() >= 1e20 { f64::INFINITY.copysign(*bound) } else { *bound };
    let bounds = |key: &str| numbers(&reference[key]).iter().map(infinite).collect::<Vec<f64>>();
    let vectors = [
        ("x0", meta.x0.clone(), numbers(&reference["x0"])),
        ("bl", meta.x_lower.clone(), bounds("bl")),
        ("bu", meta.x_upper.clone(), bounds("bu")),
        ("cl", meta.c_lower.clone(), bounds("cl")),
        ("cu", meta.c_upper.clone(), bounds("cu")),
        ("v0", problem.multipliers().to_vec(), numbers(&reference["v0"])),
        ("linear", meta.linear_rows.iter().map(|&linear| f64::from(linear)).collect(), numbers(&reference["linear"])),
    ];
    for (what, found, expected) in vectors {
        if found.len() != expected.len() {
            complaints.push(format!("{what} has {} entries, expected {}", found.len(), expected.len()));
        } else if let Some(k) = (0..found.len()).find(|&k| found[k] != expected[k]) {
            complaints.push(format!("{what}[{k}] is {}, expected {}", found[k], expected[k]));
        }
    }
    let equal: Vec<f64> = (0..meta.m()).map(|k| f64::from(meta.c_lower[k] == meta.c_upper[k])).collect();
    if equal != numbers(&reference["equatn"]) {
        complaints.push("the equalities differ".to_string());
    }
    if meta.has_objective == (reference["noobj"] == 1) {
        complaints.push(format!("has_objective is {}", meta.has_objective));
    }
    for (what, found) in [("x", &meta.variable_names), ("c", &meta.row_names)] {
        let expected: Vec<&str> = reference["names"][what].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        if reference["names"].is_object() && *found != expected {
            complaints.push(format!("the names {what} differ"));
        }
    }
    complaints
}

fn compare_point(problem: &mut SifProblem, point: &Value, no_objective: bool) -> Vec<String> {
    let x = numbers(&point["x"]);
    let (n, m) = (problem.meta().n(), problem.meta().m());
    let (mut f, mut g, mut c) = (0.0, vec![0.0; n], vec![0.0; m]);
    let mut values = vec![0.0; problem.meta().jacobian_len()];
    if !no_objective {
        f = problem.objective(&x).expect("f");
        problem.gradient(&x, &mut g).expect("g");
    }
    problem.constraints(&x, &mut c).expect("c");
    problem.jacobian(&x, &mut values).expect("J");
    let Pattern::Sparse { rows, columns } = &problem.meta().jacobian else { panic!("the Jacobian is sparse") };
    let jacobian = common::by_place(rows, columns, &values);
    let index = |key: &str| numbers(&point["J"][key]).iter().map(|&k| k as usize).collect::<Vec<_>>();
    let expected = common::by_place(&index("row"), &index("col"), &numbers(&point["J"]["val"]));
    let (jacobian, expected) = common::same_places(&jacobian, &expected);

    let kinds = [
        ("f", vec![f], numbers(&Value::Array(vec![point["f"].clone()]))),
        ("g", g, numbers(&point["g"])),
        ("c", c, numbers(&point["c"])),
        ("J", jacobian, expected),
    ];
    let cancelled = CANCELLATION.contains(&problem.meta().name.as_str());
    let mut complaints = Vec::new();
    for (what, found, expected) in kinds {
        let (mut difference, place) = largest_difference(&found, &expected);
        if what == "c" && cancelled {
            difference = (found[place] - expected[place]).abs() / terms(place, &x, rows, columns, &values);
        }
        if difference.is_nan() || difference > TOLERANCE {
            complaints.push(format!("{what} differs by {difference:.1e} at {place}: {} {}", found[place], expected[place]));
        }
    }
    complaints
}

/// The size of the terms that row `i` adds up: `sum_j |J_ij x_j|`.
fn terms(i: usize, x: &[f64], rows: &[usize], columns: &[usize], values: &[f64]) -> f64 {
    let entries = rows.iter().zip(columns).zip(values).filter(|((row, _), _)| **row == i);
    entries.map(|((_, &column), value)| (value * x[column]).abs()).sum()
}
