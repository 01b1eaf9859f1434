use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use tangor_collection::entries;
use tempfile::TempDir;

use crate::{code, refusal, run, run_json, stderr, stdout, tangor};

/// minimise (x1 - N)^2 subject to x1 + x2 = 3, 0 <= x <= 10
const LINE: &str = "\
NAME          LINE
*   classification SLR2-AN-2-1
 IE N                   1              $-PARAMETER
*IE N                   2              $-PARAMETER
 RI SHIFT     N
VARIABLES
    X1
    X2
GROUPS
 N  OBJ       X1        1.0
 E  SUM       X1        1.0            X2        1.0
CONSTANTS
 Z  LINE      OBJ                      SHIFT
    LINE      SUM       3.0
BOUNDS
 UP LINE      'DEFAULT' 10.0
GROUP TYPE
 GV SQUARE    T
GROUP USES
 T  OBJ       SQUARE
ENDATA
GROUPS        LINE
INDIVIDUALS
 T  SQUARE
 F                      T * T
 G                      T + T
 H                      2.0
ENDATA
";

pub fn line_file() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("LINE.SIF");
    fs::write(&path, LINE).expect("a file");
    (folder, path)
}

#[test]
fn a_sif_file_is_solved_with_its_parameters() {
    let (_folder, path) = line_file();
    let path = path.to_str().expect("a path");
    for (parameter, expected) in [(None, 1.0), (Some("N=2"), 2.0)] {
        let mut arguments = vec!["solve", path, "--json"];
        arguments.extend(parameter.into_iter().flat_map(|value| ["--param", value]));
        let (report, code) = run_json(&arguments);
        assert_eq!(code, 0);
        let x: Vec<f64> = serde_json::from_value(report["x"].clone()).expect("a point");
        assert!((x[0] - expected).abs() < 1e-5 && (x[0] + x[1] - 3.0).abs() < 1e-5, "{x:?}");
    }
}

#[test]
fn a_function_without_a_value_at_the_start_is_named() {
    let (folder, _) = line_file();
    let path = folder.path().join("ROOT.SIF");
    // The square root of x1 - 1 starts at x1 = 0.
    let root = LINE.replace("T * T", "SQRT( T )").replace("T + T", "0.5 / SQRT( T )");
    fs::write(&path, root).expect("a file");
    let output = run(&["solve", path.to_str().expect("a path")]);
    assert_eq!(code(&output), 5);
    let text = stdout(&output);
    for expected in ["because a function failed", "The objective failed", "stationarity       unknown"] {
        assert!(text.contains(expected), "{expected:?} is missing from\n{text}");
    }
}

#[test]
fn a_name_is_looked_up_in_the_folder_of_sif_files() {
    let (folder, _) = line_file();
    let output = tangor(&["solve", "line"]).env("MASTSIF", folder.path()).output().expect("the program can be started");
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    // Which file the name means is said, and so it is where an embedded problem has the name of a file.
    let expected = |title: &str, origin: &str| format!("{title}\n  {origin}{}", folder.path().display());
    assert!(stdout(&output).starts_with(&expected("LINE: 2 variables, 1 constraint", "the SIF file ")), "{}", stdout(&output));
    fs::copy(folder.path().join("LINE.SIF"), folder.path().join("HS71.SIF")).expect("a copy");
    let output = tangor(&["solve", "hs71", "-q"]).env("MASTSIF", folder.path()).output().expect("the program can be started");
    let origin = "the embedded problem HS71 (HS71.SIF is the file ";
    assert!(stdout(&output).starts_with(&expected("HS71: 4 variables, 2 constraints", origin)), "{}", stdout(&output));
    assert!(
        stdout(&run(&["solve", "HS71", "-q"])).starts_with("HS71: 4 variables, 2 constraints\n\n"),
        "nothing to choose from"
    );
    let output = tangor(&["solve", "nothing"]).env("MASTSIF", folder.path()).output().expect("the program can be started");
    let nearest = "has no SIF file of this name either; the nearest names there are ";
    assert!(stderr(&output).contains(nearest), "{}", stderr(&output));
}

#[test]
fn info_tells_what_a_problem_is() {
    let (_folder, path) = line_file();
    let path = path.to_str().expect("a path");
    let text = stdout(&run(&["info", path]));
    for expected in ["the SIF file ", "SLR2-AN-2-1", "2: 2 with both bounds", "1: 1 equality", "N = 1, suggested 1, 2"] {
        assert!(text.contains(expected), "{expected:?} is missing from\n{text}");
    }
    let (info, _) = run_json(&["info", path, "--json"]);
    assert_eq!(info["variables"], json!({"all": 2, "equal": 0, "lower": 0, "upper": 0, "both": 2, "free": 0}));
    assert_eq!(info["sif"]["parameters"][0]["name"], "N");
    let (info, _) = run_json(&["info", "HS71", "--json"]);
    assert_eq!((&info["constraints"]["all"], &info["constraints"]["equal"]), (&Value::from(2), &Value::from(1)));
}

#[test]
fn eval_gives_all_values_at_a_point() {
    let (folder, path) = line_file();
    let point = folder.path().join("point.json");
    fs::write(&point, "[4, 0.5]").expect("a file");
    let (path, point) = (path.to_str().expect("a path"), point.to_str().expect("a path"));
    let (values, code) = run_json(&["eval", path, "--at", point, "--json"]);
    assert_eq!(code, 0);
    let expected = json!({
        "n": 2, "m": 1, "names": {"x": ["X1", "X2"], "c": ["SUM"]}, "x": [4.0, 0.5], "f": 9.0, "g": [6.0, 0.0], "c": [1.5],
        "J": {"row": [0, 0], "col": [0, 1], "val": [1.0, 1.0]}
    });
    assert_eq!(values, expected);
    let (start, _) = run_json(&["eval", "HS71", "--json"]);
    assert_eq!((&start["f"], &start["x"]), (&json!(16.0), &json!([1.0, 5.0, 5.0, 1.0])));
    let text = stdout(&run(&["eval", "HS71"]));
    assert!(text.starts_with("HS71: f = 16\n"), "{text}");
}

#[test]
fn coded_derivatives_are_compared_with_automatic_ones() {
    let (folder, path) = line_file();
    let output = run(&["check", path.to_str().expect("a path")]);
    assert_eq!(code(&output), 0);
    let text = stdout(&output);
    assert!(text.contains("The derivatives that the file codes are those of its functions."), "{text}");
    let wrong = folder.path().join("WRONG.SIF");
    fs::write(&wrong, LINE.replace("T + T", "T")).expect("a file");
    let output = run(&["check", wrong.to_str().expect("a path")]);
    assert_eq!(code(&output), 2);
    let text = stdout(&output);
    assert!(text.starts_with("LINE: wrong\n1 of 4 derivatives are wrong, the worst first:\n"), "{text}");
    assert!(text.contains("gradient of the objective, column X1: given -1, differences give -2"), "{text}");
    assert!(text.contains("group OBJ: derivative [1] is coded as -1, differentiation gives -2"), "{text}");
}

#[test]
fn what_cannot_be_opened_is_refused_with_a_reason() {
    let (folder, path) = line_file();
    let cases = [
        (vec!["problem.txt"], "the file problem.txt cannot be opened: problems are read from files that end in .SIF or .nl"),
        (vec!["no/such.SIF"], "there is no file no/such.SIF"),
        (vec![path.to_str().expect("a path"), "--param", "M=3"], "there is no parameter 'M' to replace; the file offers: N"),
        (vec!["HS71", "--param", "N=3"], "the embedded problem HS71 has no parameters: only SIF files have them"),
        (vec!["HS71", "--param", "N"], "\"N\" is not a parameter with its value; write for example N=100"),
    ];
    for (arguments, expected) in cases {
        for command in ["solve", "info", "eval", "check"] {
            let message = refusal(&[&[command][..], &arguments].concat());
            assert!(message.contains(expected), "{arguments:?}: {message}");
        }
    }
    let broken = folder.path().join("BROKEN.SIF");
    fs::write(&broken, LINE.replace("GROUPS\n N", "GROUPS\n Q")).expect("a file");
    let message = refusal(&["solve", broken.to_str().expect("a path")]);
    assert!(message.contains("BROKEN.SIF:10:"), "the line is named: {message}");
}

#[test]
fn an_unknown_problem_gets_the_nearest_names() {
    let message = refusal(&["solve", "MARATHOS"]);
    let expected = "error: the collection has no problem \"MARATHOS\"; the nearest names are MARATOS, ";
    assert!(message.starts_with(expected), "{message}");
    assert!(message.contains("`tangor list`"), "{message}");
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
