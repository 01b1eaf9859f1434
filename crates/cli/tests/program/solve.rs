use serde_json::Value;
use tangor_collection::entries;
use tangor_solver::{REPORT_VERSION, Report};

use crate::{code, refusal, run, run_json, stdout, tangor};

#[test]
fn a_solved_problem_exits_with_0_and_tells_all() {
    let output = run(&["solve", "HS71"]);
    assert_eq!(code(&output), 0);
    let text = stdout(&output);
    for expected in [
        "HS71: 4 variables, 2 constraints",
        "iter",
        "Solved: a KKT point within the tolerances.",
        "The run ended because the tolerances are met.",
        "objective          17.0140",
        "best known 17.014017",
        "within 1e-6",
        "active constraints: 2, 1 of them equalities",
        "active bounds: 1",
        "at lower bound 1, multiplier 1.08",
    ] {
        assert!(text.contains(expected), "{expected:?} is missing from\n{text}");
    }
    assert!(!text.contains('\u{1b}'), "a pipe gets no colours");
}

#[test]
fn names_may_be_in_lower_case() {
    assert_eq!(code(&run(&["solve", "hs71", "--quiet"])), 0);
}

#[test]
fn json_is_a_whole_report_and_nothing_else() {
    let (json, code) = run_json(&["solve", "HS71", "--json"]);
    assert_eq!(code, 0);
    let keys = ["stop", "point", "objective", "x", "stationarity", "feasibility", "complementarity", "iterations", "settings"];
    for key in keys {
        assert!(!json[key].is_null(), "{key} is missing");
    }
    assert_eq!((&json["stop"], &json["point"]), (&Value::from("tolerance"), &Value::from("eps_kkt")));
    let report: Report = serde_json::from_value(json).expect("the report can be read back");
    assert_eq!(report.version, REPORT_VERSION);
    assert!((report.objective - 17.0140173).abs() < 1e-5);
}

#[test]
fn every_end_has_its_exit_code() {
    assert_eq!(code(&run(&["solve", "CIRCLELINE", "--quiet"])), 2);
    assert_eq!(code(&run(&["solve", "HS71", "--quiet", "--max-iterations", "2"])), 3);
    assert_eq!(code(&run(&["solve", "HS71", "--quiet", "--set", "limits.evaluations=4"])), 3);
    assert_eq!(code(&run(&["solve", "HS71", "--quiet", "--time-limit", "0.000001"])), 3);
    assert_eq!(code(&run(&["solve", "HS71", "--quiet", "--set", "stepsize.smallest=1e9"])), 5);
}

#[test]
fn a_run_that_is_cut_short_says_so_and_gives_its_best_point() {
    let output = run(&["solve", "HS71", "--quiet", "--max-iterations", "2"]);
    let text = stdout(&output);
    assert!(text.contains("Not solved: "), "{text}");
    assert!(text.contains("The run ended because the limit on iterations was reached."), "{text}");
    assert!(text.contains("above 1e-6"), "{text}");
    assert!(text.contains("2 iterations in "), "{text}");
}

#[test]
fn an_infeasible_problem_names_what_is_violated() {
    let text = stdout(&run(&["solve", "CIRCLELINE"]));
    assert!(text.contains("Infeasible: "), "{text}");
    assert!(text.contains("violated constraints, worst first"), "{text}");
    assert!(text.contains("off by "), "{text}");
}

#[test]
fn quiet_leaves_out_the_table_and_verbose_shows_every_row() {
    let table_lines = |arguments: &[&str]| {
        let text = stdout(&run(arguments));
        text.lines().filter(|line| line.split_whitespace().next().is_some_and(|word| word.parse::<u64>().is_ok())).count()
    };
    // The line of counts at the end begins with a number too.
    assert_eq!(table_lines(&["solve", "HS71", "--quiet"]), 1);
    let (report, _) = run_json(&["solve", "HS71", "--json"]);
    let iterations = report["iterations"].as_u64().expect("a count") as usize;
    assert_eq!(table_lines(&["solve", "HS71", "--verbose"]), iterations + 2);
    let shown = table_lines(&["solve", "HS71"]);
    assert!(shown > 2 && shown <= iterations + 2);
}

#[test]
fn the_columns_line_up() {
    let text = stdout(&run(&["solve", "HS71", "--verbose"]));
    let header = text.lines().find(|line| line.contains("iter")).expect("a header");
    let ends = |line: &str| {
        line.char_indices().filter(|(i, c)| *c != ' ' && line[i + 1..].starts_with(' ')).map(|(i, _)| i).collect::<Vec<_>>()
    };
    let columns = ends(&format!("{header} "));
    let first = text.lines().find(|line| line.trim_start().starts_with("0 ")).expect("the first row");
    assert_eq!(columns, ends(&format!("{first} "))[..columns.len()]);
}

#[test]
fn colours_come_when_asked_for() {
    let colored = |arguments: &[&str], variable: Option<&str>| {
        let mut command = tangor(arguments);
        variable.map(|name| command.env(name, "1"));
        stdout(&command.output().expect("the program can be started")).contains('\u{1b}')
    };
    assert!(colored(&["solve", "HS71", "--color", "always"], None));
    assert!(!colored(&["solve", "HS71", "--color", "never"], Some("CLICOLOR_FORCE")));
    assert!(!colored(&["solve", "HS71"], Some("NO_COLOR")));
}

#[test]
fn an_unknown_problem_gets_the_nearest_names() {
    let message = refusal(&["solve", "MARATHOS"]);
    let expected = "error: the collection has no problem \"MARATHOS\"; the nearest names are MARATOS, ";
    assert!(message.starts_with(expected), "{message}");
    assert!(message.contains("`tangor list`"), "{message}");
}

#[test]
fn a_file_that_cannot_be_read_is_refused_with_a_reason() {
    let message = refusal(&["solve", "problem.txt"]);
    assert_eq!(
        message.trim_end(),
        "error: the file problem.txt cannot be opened: this version solves only the embedded problems, which `tangor list` shows"
    );
}

#[test]
fn every_embedded_problem_is_listed_with_its_size() {
    let (list, code) = run_json(&["list", "--json"]);
    assert_eq!(code, 0);
    let names: Vec<&str> = list.as_array().expect("a list").iter().filter_map(|line| line["name"].as_str()).collect();
    assert_eq!(names, entries().iter().map(|entry| entry.name).collect::<Vec<_>>());
    let text = stdout(&run(&["list"]));
    assert!(names.iter().all(|name| text.contains(name)));
    let (some, _) = run_json(&["list", "hs71", "--json"]);
    assert_eq!((&some[0]["variables"], &some[0]["constraints"]), (&Value::from(4), &Value::from(2)));
}

#[test]
fn derivatives_are_checked_at_the_start_and_elsewhere() {
    let output = run(&["check", "HS71"]);
    assert_eq!(code(&output), 0);
    assert!(stdout(&output).starts_with("HS71: right\nAll 12 derivatives agree with differences.\n"), "{}", stdout(&output));
    let folder = tempfile::tempdir().expect("a folder");
    let point = folder.path().join("point.json");
    let path = point.to_str().expect("a path");
    std::fs::write(&point, stdout(&run(&["solve", "HS71", "--json"]))).expect("a file");
    assert_eq!(code(&run(&["check", "HS71", "--at", path])), 0);
    std::fs::write(&point, "[1, 2, 3]").expect("a file");
    let message = refusal(&["check", "HS71", "--at", path]);
    assert!(message.contains("it has 3 numbers, but HS71 has 4 variables"), "{message}");
    std::fs::write(&point, "no point").expect("a file");
    let message = refusal(&["check", "HS71", "--at", path]);
    assert!(message.contains("it must be a JSON list of numbers"), "{message}");
}
