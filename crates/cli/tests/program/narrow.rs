//! On a screen of 60 columns nothing is wider than the screen.

use std::path::Path;

use crate::{code, stderr, stdout, tangor};

const COLUMNS: usize = 60;

/// What the program prints on such a screen, and the lines of it that do not fit. A word that is too long by itself cannot be helped.
fn too_wide(arguments: &[&str], folder: &Path) -> Vec<String> {
    let output = tangor(arguments).env("COLUMNS", COLUMNS.to_string()).current_dir(folder).output().expect("it can be started");
    assert_ne!(code(&output), 1, "{arguments:?}: {}", stderr(&output));
    let text = stdout(&output);
    assert!(text.lines().count() > 1, "{arguments:?} prints nothing to look at");
    let wide = |line: &&str| line.chars().count() > COLUMNS && line.split_whitespace().count() > 1;
    text.lines().filter(wide).map(str::to_string).collect()
}

#[test]
fn what_commands_print_fits_a_narrow_screen() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let result = tangor(&["solve", "HS71", "--json"]).output().expect("it can be started");
    std::fs::write(folder.join("result.json"), &result.stdout).expect("a file");
    let noisy = "solve HS71 --noise 1e-2 --tolerance 1e-2 --json --max-iterations 300";
    let result = tangor(&noisy.split(' ').collect::<Vec<_>>()).output().expect("it can be started");
    std::fs::write(folder.join("noisy.json"), &result.stdout).expect("a file");
    let mut forged: serde_json::Value = serde_json::from_slice(&result.stdout).expect("a result");
    forged["iterations"] = 1_000_000_000.into();
    std::fs::write(folder.join("false.json"), forged.to_string()).expect("a file");
    std::fs::write(folder.join("people.csv"), people()).expect("a file");
    for line in [
        "list",
        "options",
        "info HS71",
        "info HS118",
        "eval HS71",
        "check HS71",
        "solve HS71",
        "solve HS71 --verbose",
        "solve HS71 --verbose --noise 1e-2 --tolerance 1e-2",
        "solve HS13 --max-iterations 50",
        "solve HS71 --starts 3",
        "solve CIRCLELINE --starts 2",
        "solve HS71 --starts 2 --noise 1e-2 --max-iterations 200",
        "solve CIRCLELINE",
        "solve HS71 --noise 1 --tolerance 1e-6",
        "solve HS71 --tolerance 1e-16",
        "solve HS71 --noise 1e-2 --tolerance 1e-2",
        "verify result.json",
        "verify noisy.json",
        "verify noisy.json --samples 100",
        "verify false.json",
        "fit --rows 500 --max-rate-gap group=0.02",
        "fit --rows 500 --max-rate-gap group=0.05 --trade-off trade-off.svg",
        "fit people.csv --equalized-odds country_of_birth_or_citizenship=0.1 --test people.csv --trade-off price.svg",
        "fit people.csv --max-rate-gap country_of_birth_or_citizenship=0.1 --on decisions --threshold 0.4 --batch 64",
        "fit people.csv --l2 auto --max-rate country_of_birth_or_citizenship=0.5",
        "bench run HS71,HS13 --out rows.csv",
        "bench run HS71,HS13 --out rows.csv",
        "bench compare rows.csv",
        "bench complexity --values 5 --seeds 1",
        "bench learning --task logistic --seeds 1 --share 0.01",
    ] {
        let arguments: Vec<&str> = line.split(' ').collect();
        assert_eq!(too_wide(&arguments, folder), Vec::<String>::new(), "{line}");
    }
    for command in ["", "solve", "fit", "bench", "reproduce"] {
        let arguments: Vec<&str> = command.split_whitespace().chain(["--help"]).collect();
        assert_eq!(too_wide(&arguments, folder), Vec::<String>::new(), "{command}");
    }
}

/// Examples and exit codes in the help are laid out by hand, for screens of 100 columns: there no line of them is broken.
#[test]
fn examples_stay_on_their_lines() {
    let commands =
        ["", "solve", "verify", "list", "info", "eval", "check", "fit", "predict", "options", "bench", "reproduce", "install"];
    let parts = ["bench run", "bench compare", "bench complexity", "bench growth", "bench learning", "bench subproblems"];
    for command in commands.into_iter().chain(parts) {
        let arguments: Vec<&str> = command.split_whitespace().chain(["--help"]).collect();
        let output = tangor(&arguments).env("COLUMNS", "100").output().expect("it can be started");
        let text = stdout(&output);
        let laid_out = text.lines().skip_while(|line| *line != "Examples:").skip(1);
        let begins = |line: &&str| {
            let text = line.trim_start();
            let deep = line.len() - text.len();
            text.is_empty()
                || deep == 0
                || deep > 2
                || text.starts_with("tangor")
                || text.starts_with(|digit: char| digit.is_ascii_digit())
        };
        let broken: Vec<&str> = laid_out.filter(|line| !begins(line)).collect();
        assert!(broken.is_empty(), "{command}: {broken:?}");
    }
}

/// Long names of columns and of groups.
fn people() -> String {
    let country = |i: usize| {
        ["Trinidad and Tobago", "Bosnia and Herzegovina", "Saint Vincent and the Grenadines", "Chad"][i * i % 4 + i % 3]
    };
    let row = |i: usize| {
        format!("{},{},{}\n", 20 + i * 37 % 50, country(i), if i * 37 % 50 + i * 29 % 31 > 42 { "yes" } else { "no" })
    };
    format!(
        "age in completed years,country_of_birth_or_citizenship,earns more than the median\n{}",
        (0..900).map(row).collect::<String>()
    )
}
