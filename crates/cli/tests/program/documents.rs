use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tangor_solver::Settings;

use crate::{code, refusal, run, run_json, stdout, tangor};

#[test]
fn the_page_of_settings_is_up_to_date() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/options.md");
    let written = fs::read_to_string(page).unwrap_or_default();
    let generated = stdout(&run(&["options", "--format", "markdown"]));
    assert!(
        written == generated,
        "docs/options.md is out of date; run\n  cargo run -p tangor-cli -- options --format markdown > docs/options.md"
    );
}

/// The paths at which two trees of settings differ.
fn departures(path: &str, one: &Value, other: &Value, found: &mut Vec<String>) {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) if one.keys().eq(other.keys()) => {
            for (name, value) in one {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                departures(&path, value, &other[name], found);
            }
        }
        _ if one == other => {}
        _ => found.push(path.to_string()),
    }
}

#[test]
fn every_setting_in_which_the_defaults_depart_from_the_paper_is_a_line_of_the_table() {
    let tree = |settings: Settings| serde_json::to_value(settings).expect("plain data");
    let mut paths = Vec::new();
    departures("", &tree(Settings::default()), &tree(Settings::paper()), &mut paths);
    assert!(paths.len() > 15, "{paths:?}");
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/algorithm.md")).unwrap();
    let (_, table) = page.split_once("## Where the defaults depart from the paper").expect("a heading");
    let parts: Vec<&str> = table.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").next()).collect();
    for path in paths {
        // Three functions have the same settings.
        let path = ["gradient", "constraints", "jacobian"]
            .iter()
            .fold(path, |path, function| path.replace(&format!("sampling.{function}."), "sampling.*."));
        let named = parts.iter().filter(|part| part.contains(&format!("`{path}`"))).count();
        assert_eq!(named, 1, "{path} is named in {named} lines of the table of departures");
    }
}

#[test]
fn help_has_examples_and_exit_codes() {
    for arguments in [&["--help"][..], &["solve", "--help"]] {
        let output = run(arguments);
        assert_eq!(code(&output), 0);
        let text = stdout(&output);
        assert!(text.contains("Examples:") && text.contains("Exit codes:"), "{text}");
    }
    for command in ["verify", "list", "info", "eval", "check", "options", "completions", "man"] {
        assert!(stdout(&run(&[command, "--help"])).contains("Examples:"), "{command} has no examples");
    }
}

#[test]
fn the_man_pages_have_the_exit_codes() {
    for arguments in [&["man"][..], &["man", "solve"]] {
        let page = stdout(&run(arguments));
        assert!(page.contains(".TH") && page.contains("infeasible stationary point"), "{page}");
    }
    let message = refusal(&["man", "nonsense"]);
    assert!(message.contains("there is no command \"nonsense\""), "{message}");
}

#[test]
fn completions_know_the_commands() {
    for shell in ["bash", "zsh", "fish"] {
        let script = stdout(&run(&["completions", shell]));
        assert!(script.contains("solve") && script.contains("checkpoint-every"), "{shell}");
    }
}

#[test]
fn wrong_arguments_exit_with_1() {
    for arguments in [&["nonsense"][..], &["solve"], &["solve", "HS71", "--nonsense"], &["solve", "HS71", "-q", "-v"], &[]] {
        let output = run(arguments);
        assert_eq!(code(&output), 1, "{arguments:?}");
    }
}

/// The lines of the README that interrupt a run and go on, as they are written there.
#[test]
fn the_demonstration_of_checkpoints_is_interrupted_and_goes_on() {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md")).expect("there is a README");
    let folder = tempfile::tempdir().expect("a folder");
    let written = |line: &&str| line.starts_with("tangor solve") && line.contains("chain.state");
    let lines: Vec<Vec<&str>> = page
        .lines()
        .filter(written)
        .map(|line| line.split_once('#').map_or(line, |(command, _)| command).split_whitespace().skip(1).collect())
        .collect();
    let [interrupted, resumed] = &lines[..] else { panic!("two lines were expected: {lines:?}") };
    let output = tangor(interrupted).current_dir(folder.path()).output().expect("the program can be started");
    let told = stdout(&output);
    assert_eq!(code(&output), 3, "the README promises that this ends early: {told}");
    // What the program says is as good as what the README says: with the limit that was reached the run would end at once.
    assert!(told.contains("to go on: tangor solve CHAIN --resume chain.state --max-iterations 1000"), "{told}");
    let output = tangor(resumed).arg("--json").current_dir(folder.path()).output().expect("the program can be started");
    assert_eq!(code(&output), 0, "the README promises that this solves it");
    let resumed: serde_json::Value = serde_json::from_slice(&output.stdout).expect("a result");
    let (whole, _) = run_json(&["solve", "CHAIN", "--json"]);
    assert!(resumed["x"] == whole["x"] && resumed["iterations"] == whole["iterations"], "not as if nothing had happened");
}

/// The README and all pages beside it.
fn pages() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let beside = fs::read_dir(root.join("docs")).expect("there are pages").map(|entry| entry.expect("a file").path());
    let named = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "examples/python/README.md"].map(|name| root.join(name));
    named.into_iter().chain(beside.filter(|path| path.extension().is_some_and(|end| end == "md"))).collect()
}

/// What a heading is called in links: letters, digits and `_` in lower case, `-` for spaces, and nothing else.
fn anchor(heading: &str) -> String {
    let kept = heading.to_lowercase().replace(' ', "-");
    kept.chars().filter(|letter| letter.is_alphanumeric() || "-_".contains(*letter)).collect()
}

#[test]
fn links_between_pages_lead_somewhere() {
    let read = |path: &Path| fs::read_to_string(path).unwrap_or_else(|cause| panic!("{}: {cause}", path.display()));
    let mut count = 0;
    for page in pages() {
        let text = read(&page);
        let links = text.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(link, _)| link);
        for link in links.filter(|link| !link.contains("://") && !link.contains(' ')) {
            let (file, place) = link.split_once('#').map_or((link, None), |(file, place)| (file, Some(place)));
            let target = if file.is_empty() { page.clone() } else { page.with_file_name("").join(file) };
            assert!(target.exists(), "{}: there is no {link}", page.display());
            if let Some(place) = place {
                let target = read(&target);
                let mut headings = target.lines().filter_map(|line| line.strip_prefix('#'));
                let found = headings.any(|line| anchor(line.trim_start_matches('#').trim()) == place);
                assert!(found, "{}: {link} is no heading", page.display());
            }
            count += 1;
        }
    }
    assert!(count > 50, "{count} links only");
}

/// The commands in the blocks of a page, or in the examples of a help: what follows `tangor` up to a remark, a pipe or the next command.
fn commands(text: &str) -> Vec<Vec<String>> {
    let whole = text.split("\\\n").map(str::trim).collect::<Vec<_>>().join(" ");
    let lines = whole.lines().map(|line| line.trim_start_matches(['$', ' ']));
    let lines = lines.map(|line| line.strip_prefix("mpirun -n 4 ").unwrap_or(line));
    // A line of Cargo.toml is none.
    let written = lines.filter_map(|line| line.strip_prefix("tangor ").filter(|rest| !rest.starts_with('=')));
    let ends = [" # ", "  ", " > ", " | ", " < ", "; ", " && "];
    let cut = |line: &str| {
        let end = ends.iter().filter_map(|end| line.find(end)).min().unwrap_or(line.len());
        // Between quotes there is one word.
        let parts = line[..end].split('"').enumerate();
        let words = |(k, part): (usize, &str)| match k % 2 {
            0 => part.split_whitespace().map(str::to_string).collect(),
            _ => vec![part.to_string()],
        };
        parts.flat_map(words).collect()
    };
    written.map(cut).collect()
}

/// Every command on the pages and in the helps is one that the program understands: `--help` at its end is answered only after all that
/// stands before was taken.
#[test]
fn every_command_that_is_written_down_is_understood() {
    let mut all: Vec<Vec<String>> =
        pages().iter().flat_map(|path| commands(&fs::read_to_string(path).expect("a page"))).collect();
    let names: &[&[&str]] = &[
        &[],
        &["solve"],
        &["verify"],
        &["list"],
        &["info"],
        &["eval"],
        &["check"],
        &["fit"],
        &["predict"],
        &["options"],
        &["bench"],
        &["bench", "complexity"],
        &["bench", "growth"],
        &["bench", "learning"],
        &["bench", "subproblems"],
        &["reproduce"],
        &["completions"],
        &["man"],
        &["install"],
    ];
    for name in names {
        let found = commands(&stdout(&run(&[name, &["--help"][..]].concat())));
        assert!(!found.is_empty(), "{name:?} has no examples");
        all.extend(found);
    }
    assert!(all.len() > 100, "{}", all.len());
    // What AMPL calls has arguments of its own.
    for command in all.iter().filter(|command| !command.iter().any(|word| word == "-AMPL")) {
        let mut arguments: Vec<&str> = command.iter().map(String::as_str).collect();
        arguments.push("--help");
        let output = run(&arguments);
        assert!(code(&output) == 0 && stdout(&output).contains("Usage: tangor"), "{command:?}: {}", crate::stderr(&output));
    }
    assert_eq!(code(&run(&["solve", "HS71", "--tolerence", "1", "--help"])), 1, "the test could not fail");
    assert_eq!(code(&run(&["solve", "HS71", "--tolerance", "wide", "--help"])), 1, "the test could not fail");
}
