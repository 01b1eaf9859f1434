//! Other starts: of several at once, and of a result with its multipliers.

use tempfile::TempDir;

use crate::{code, refusal, run, run_json, stdout};

#[test]
fn several_starts_lead_to_a_table_of_distinct_points() {
    // An indefinite quadratic: several corners of its polytope are local minima.
    let arguments = ["solve", "HS44", "--starts", "12", "--seed", "3"];
    let (all, status) = run_json(&[&arguments[..], &["--json"]].concat());
    let runs = all["starts"].as_array().expect("all runs are told");
    assert_eq!(runs.len(), 12);
    let solved: Vec<f64> =
        runs.iter().filter(|run| run["point"] == "eps_kkt").map(|run| run["objective"].as_f64().unwrap()).collect();
    assert_eq!(status, 0);
    let best = solved.iter().copied().fold(f64::INFINITY, f64::min);
    assert_eq!(all["objective"].as_f64().unwrap(), best);
    let output = run(&[&arguments[..], &["--color", "never"]].concat());
    let told = stdout(&output);
    assert_eq!(code(&output), 0);
    assert!(told.contains(" from 12 starts") && told.contains("the best one") && told.contains("Solved"), "{told}");
    let counted: usize = told
        .lines()
        .skip_while(|line| !line.contains(" from 12 starts"))
        .take_while(|line| !line.contains("the best one"))
        .filter_map(|line| line.split_whitespace().next()?.parse::<usize>().ok().filter(|_| !line.contains("from")))
        .sum();
    assert_eq!(counted, 12, "{told}");
    let (again, _) = run_json(&[&arguments[..], &["--json"]].concat());
    assert_eq!(again["starts"], all["starts"]);
}

#[test]
fn a_result_is_a_start_with_multipliers() {
    let folder = TempDir::new().expect("a folder can be made");
    let path = folder.path().join("result.json");
    let (cold, _) = run_json(&["solve", "HS71", "--json"]);
    std::fs::write(&path, cold.to_string()).unwrap();
    let file = path.to_str().unwrap();
    let (warm, status) = run_json(&["solve", "HS71", "--start-from", file, "--json"]);
    assert_eq!((status, &warm["iterations"]), (0, &0.into()));
    for (a, b) in warm["row_multipliers"].as_array().unwrap().iter().zip(cold["row_multipliers"].as_array().unwrap()) {
        assert!((a.as_f64().unwrap() - b.as_f64().unwrap()).abs() < 1e-4, "{a} {b}");
    }
    std::fs::write(&path, cold["x"].to_string()).unwrap();
    assert!(refusal(&["solve", "HS71", "--start-from", file]).contains("it has no multipliers"));
    let mut wrong = cold.clone();
    wrong["row_multipliers"] = vec![1.0].into();
    std::fs::write(&path, wrong.to_string()).unwrap();
    assert!(refusal(&["solve", "HS71", "--start-from", file]).contains("its multipliers are not those of the 2 constraints"));
}

#[test]
fn a_narrow_screen_gets_a_narrow_table() {
    let told = |columns: &str| {
        let output = crate::tangor(&["solve", "HS71", "--color", "never"]).env("COLUMNS", columns).output().unwrap();
        stdout(&output)
    };
    let table = told("60");
    let lines: Vec<&str> = table.lines().skip(2).take_while(|line| !line.is_empty()).collect();
    assert!(lines.len() > 3 && lines.iter().all(|line| line.trim_end().len() <= 60), "{table}");
    assert!(!table.contains(" rho ") && told("100").contains(" rho "));
}

#[test]
fn starts_under_noise_are_told_as_single_runs_are() {
    let told =
        stdout(&run(&["solve", "HS71", "--starts", "2", "--noise", "1e-2", "--max-iterations", "200", "--color", "never"]));
    let table = told.split("the best one").next().unwrap_or_default();
    assert!(table.contains("ended elsewhere: noise hides whether") && !table.contains("neither"), "{table}");
}

#[test]
fn a_narrow_screen_shows_points_rather_than_their_residuals() {
    let told = |columns: &str| {
        let arguments = ["solve", "HS71", "--starts", "5", "--seed", "0", "--color", "never"];
        stdout(&crate::tangor(&arguments).env("COLUMNS", columns).output().unwrap())
    };
    let (narrow, wide) = (told("60"), told("80"));
    for (table, has_residuals) in [(&narrow, false), (&wide, true)] {
        assert_eq!(table.contains("stationary  feasible  x"), has_residuals, "{table}");
        // All four variables of the best point.
        assert!(table.contains("  1 4.743 3.821 1.379\n"), "{table}");
    }
}

#[test]
fn the_build_is_described() {
    let told = stdout(&run(&["--version", "--verbose"]));
    for part in ["tangor ", "\ncommit: ", "\nfeatures: ", "\ntarget: ", "\ncompiler: rustc "] {
        assert!(told.contains(part), "{part:?} is missing in {told}");
    }
    assert_eq!(stdout(&run(&["--version"])).lines().count(), 1);
}

#[test]
fn pages_and_completions_are_installed_by_one_command() {
    let folder = TempDir::new().expect("a folder can be made");
    let output = run(&["install", "--prefix", folder.path().to_str().unwrap()]);
    assert_eq!(code(&output), 0);
    let told = stdout(&output);
    for place in [
        "man/man1/tangor.1",
        "man/man1/tangor-solve.1",
        "man/man1/tangor-bench-run.1",
        "bash-completion/completions/tangor",
        "zsh/site-functions/_tangor",
    ] {
        let path = folder.path().join("share").join(place);
        assert!(told.contains(place) && std::fs::metadata(&path).expect("it is there").len() > 100, "{place}");
    }
}
