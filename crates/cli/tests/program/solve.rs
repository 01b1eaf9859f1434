use serde_json::Value;
use tangor_solver::{REPORT_VERSION, Report};

use crate::{code, refusal, run, run_json, stderr, stdout, tangor};

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
        "\n  variables\n    x1  1               at lower bound\n    x2  4.742999",
        "active constraints: 2, one of them an equality",
        "one more unit of product changes the objective by 0.5523, of sphere by -0.1615",
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
    assert_eq!(code(&run(&["solve", "CIRCLELINE", "--noise", "1e-3", "--tolerance", "1e-2", "--quiet"])), 2);
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
    assert!(text.contains("Infeasible here: a stationary point of the violation"), "{text}");
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
fn variables_are_printed_by_name_and_json_has_the_names() {
    let (json, _) = run_json(&["solve", "HS71", "--json"]);
    assert_eq!(json["names"]["variables"], serde_json::json!(["x1", "x2", "x3", "x4"]));
    assert_eq!(json["names"]["constraints"].as_array().map(Vec::len), Some(2));
    let text = stdout(&run(&["solve", "HS71", "--quiet", "--show", "c,x2"]));
    assert!(text.contains("variables: 1 of 4\n    x2  4.742999"), "{text}");
    assert!(text.contains("constraints: 2 of 2\n    product"), "{text}");
    let message = refusal(&["solve", "HS71", "--show", "y"]);
    assert!(message.contains("HS71 has no variable or constraint of this name"), "{message}");
}

#[test]
fn a_run_begins_where_it_is_told_to() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("point.json");
    let path = file.to_str().expect("a path");
    // From its own solution a run has nothing to do.
    let (solved, _) = run_json(&["solve", "HS71", "--json"]);
    std::fs::write(&file, solved.to_string()).expect("a file");
    let (again, code) = run_json(&["solve", "HS71", "--json", "--at", path]);
    assert_eq!(code, 0);
    assert!(again["iterations"].as_u64() < solved["iterations"].as_u64(), "{}", again["iterations"]);
    std::fs::write(&file, "[1, 2]").expect("a file");
    assert!(refusal(&["solve", "HS71", "--at", path]).contains("it has 2 numbers, but HS71 has 4 variables"));
}

#[test]
fn a_run_that_fails_comes_with_advice() {
    let text = stdout(&run(&["solve", "HS71", "--quiet", "--max-iterations", "2"]));
    assert!(text.contains("More iterations may be enough: --max-iterations 1000."), "{text}");
    let text = stdout(&run(&["solve", "HS71", "--quiet", "--set", "stepsize.smallest=1e9"]));
    assert!(text.contains("`tangor check` tells whether the derivatives are right"), "{text}");
    let text = stdout(&run(&["solve", "HS71"]));
    assert!(!text.contains("may"), "who succeeds needs no advice: {text}");
}

#[test]
fn mistakes_get_sentences() {
    let message = refusal(&["solve", "HS71", "--tolerance", "-1"]);
    assert!(message.contains("a tolerance is a positive number, as in 1e-6, and \"-1\" is none"), "{message}");
    let message = refusal(&["solve", "HS71", "--set", "tolerance.feasibility=small"]);
    assert!(message.contains("`small` is not a number") && !message.contains("f64"), "{message}");
    let output = run(&["solve", "HS71", "--quiet", "--seed", "3", "--samples", "100"]);
    assert_eq!(code(&output), 0);
    let message = stderr(&output);
    assert!(message.contains("note: --samples does nothing here: the functions of HS71 are exact"), "{message}");
    assert_eq!(stderr(&run(&["solve", "HS71", "--quiet", "--noise", "1e-2", "--tolerance", "1e-1", "--seed", "3"])), "");
}

#[test]
fn texts_fit_sixty_columns() {
    let fit = ["fit", "--rows", "500", "--max-rate-gap", "group=0.01"];
    for arguments in
        [&["solve", "HS71"][..], &["solve", "HS71", "--noise", "1e-2", "--tolerance", "1e-1"], &["solve", "HS13"], &fit]
    {
        let output = tangor(arguments).env("COLUMNS", "60").output().expect("the program can be started");
        for line in stdout(&output).lines() {
            assert!(line.trim_end().chars().count() <= 60, "{arguments:?}: {line:?}");
        }
    }
}

/// An objective near zero has all its digits, and still a space after it.
#[test]
fn a_long_objective_keeps_its_distance() {
    for name in ["BEALE", "HS1", "HS3", "HS46", "HS48", "HS51"] {
        let text = stdout(&run(&["solve", name, "-q"]));
        let line = text.lines().find_map(|line| line.strip_prefix("  objective ")).expect("an objective");
        let (value, remark) = line.trim().split_once(' ').expect("a value and a remark");
        assert!(value.parse::<f64>().is_ok() && remark.trim().starts_with("best known 0, difference "), "{line}");
    }
}
