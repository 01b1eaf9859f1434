use std::fs;
use std::path::Path;

use tangor_solver::Row;

use crate::{code, refusal, run, run_json, stderr, stdout};

fn text(path: &Path) -> &str {
    path.to_str().expect("a path")
}

#[test]
fn a_trace_has_one_row_per_iteration_in_both_formats() {
    let folder = tempfile::tempdir().expect("a folder");
    let (lines, table) = (folder.path().join("trace.jsonl"), folder.path().join("trace.csv"));
    let (report, _) = run_json(&["solve", "HS71", "--json", "--trace", text(&lines)]);
    assert_eq!(code(&run(&["solve", "HS71", "--quiet", "--trace", text(&table)])), 0);
    let iterations = report["iterations"].as_u64().expect("a count") as usize;

    let lines = fs::read_to_string(&lines).expect("a trace");
    let rows: Vec<Row> = lines.lines().map(|line| serde_json::from_str(line).expect("a row")).collect();
    assert_eq!(rows.len(), iterations + 1);
    assert!(rows.iter().enumerate().all(|(k, row)| row.iteration == k as u64));

    let table = fs::read_to_string(&table).expect("a trace");
    let cells: Vec<Vec<&str>> = table.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(cells.len(), rows.len() + 1);
    assert!(cells.iter().all(|row| row.len() == cells[0].len()));
    for (name, value) in
        [("iteration", |row: &Row| row.iteration as f64), ("rho", |row: &Row| row.rho), ("eta", |row: &Row| row.eta)]
            as [(&str, fn(&Row) -> f64); 3]
    {
        let column = cells[0].iter().position(|title| *title == name).expect("a column");
        for (row, cells) in rows.iter().zip(&cells[1..]) {
            assert_eq!(cells[column].parse::<f64>(), Ok(value(row)), "{name}");
        }
    }
}

#[test]
fn a_picture_is_drawn() {
    let folder = tempfile::tempdir().expect("a folder");
    let picture = folder.path().join("run.svg");
    fs::write(&picture, "x".repeat(100_000)).expect("an older, longer file");
    assert_eq!(code(&run(&["solve", "HS71", "--quiet", "--plot", text(&picture)])), 0);
    let svg = fs::read_to_string(&picture).expect("a picture");
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
    assert!(!svg.contains("NaN") && !svg.contains("inf"));
    for curve in ["stationarity", "feasibility", "complementarity", "f", "rho", "eta"] {
        assert!(svg.contains(&format!(">{curve}<")), "{curve} is not named");
    }
    assert_eq!(svg.matches("<path class=\"curve\"").count(), 6);
}

/// A file that the system does not let grow is one that cannot be written: the run goes on, and no file is said to be there.
#[cfg(unix)]
#[test]
fn a_limit_of_file_size_costs_a_warning_and_not_the_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let command = format!(
        "ulimit -f 1; exec {} solve HS71 --quiet --trace t.jsonl --plot p.svg --checkpoint s.json",
        env!("CARGO_BIN_EXE_tangor")
    );
    let output = std::process::Command::new("sh").args(["-c", &command]).current_dir(folder.path()).output().expect("a shell");
    let (text, message) = (stdout(&output), stderr(&output));
    assert_eq!(code(&output), 1, "{message}");
    assert!(text.contains("Solved: ") && !text.contains(" in t.jsonl") && !text.contains("p.svg"), "{text}");
    assert!(!text.contains("state in s.json"), "{text}");
    assert_eq!(message.matches("; the result above is whole").count(), 3, "{message}");
    let left: Vec<_> = std::fs::read_dir(folder.path()).expect("a folder").flatten().map(|file| file.file_name()).collect();
    assert!(left.iter().all(|name| name == "t.jsonl"), "{left:?}");
}

#[test]
fn a_wrong_path_is_refused_before_the_run() {
    let folder = tempfile::tempdir().expect("a folder");
    for (option, name) in [("--trace", "a.csv"), ("--plot", "a.svg"), ("--checkpoint", "a.state")] {
        let path = folder.path().join("missing").join(name);
        let message = refusal(&["solve", "HS71", option, text(&path)]);
        assert!(message.contains(text(&path)) && message.contains("No such file or directory"), "{message}");
    }
    let message = refusal(&["solve", "HS71", "--trace", "trace.txt"]);
    assert_eq!(message, "error: the file trace.txt must end in .jsonl, .json or .csv\n");
    let message = refusal(&["solve", "HS71", "--plot", "plot.png"]);
    assert_eq!(message, "error: the file plot.png must end in .svg\n");
    let message = refusal(&["solve", "HS71", "--trace", "a.json", "--checkpoint", "a.json"]);
    assert_eq!(message, "error: the file a.json is named twice as an output\n");
}
