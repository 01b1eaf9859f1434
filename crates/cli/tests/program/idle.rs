//! Arguments that do nothing are said to do nothing.

use crate::{code, run, stderr};

#[test]
fn arguments_that_do_nothing_are_told_of() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("people.csv");
    let rows: String =
        (0..200).map(|i| format!("{},{},{}\n", i % 50, i * 7 % 13, u8::from(i % 50 + i * 11 % 17 > 30))).collect();
    std::fs::write(&file, format!("age,size,rich\n{rows}")).expect("a file");
    let file = file.to_str().expect("the path is UTF-8");
    let table = folder.path().join("rows.csv");
    let result = folder.path().join("result.json");
    std::fs::write(&result, run(&["solve", "HS71", "--json"]).stdout).expect("a file");
    let (table, result) = (table.to_str().expect("a path"), result.to_str().expect("a path"));
    for (line, expected) in [
        ("fit FILE --folds 3", "--folds does nothing here: no penalty is looked for (--l2 auto)"),
        ("fit FILE --sharpness 3 --on decisions", "--on, --sharpness do nothing here: no constraint bounds a rate"),
        ("fit FILE --max-rate 0.3 --sharpness 3", "--sharpness does nothing here: constraints are on probabilities"),
        ("fit FILE --max-rate 0.3 --compare pairs", "--compare does nothing here: no constraint compares groups"),
        ("fit FILE --min-group 3", "--min-group does nothing here: no constraint is on groups"),
        ("fit FILE --seed 3", "--seed does nothing here: the functions are exact, and no random start was tried"),
        ("fit FILE --confidence 0.9", "--confidence does nothing here: nothing is estimated"),
        ("fit FILE --l2 0 --penalize-intercept", "--penalize-intercept does nothing here: there is no penalty"),
        ("fit --rows 300 --label income --header no", "--label, --header do nothing here: no FILE is given"),
        (
            "solve HS71 --noise 1e-2 --tolerance 1e-1 --estimator minibatch --momentum 0.5",
            "--momentum does nothing here: a mini",
        ),
        (
            "solve HS71 --set sampling.judge.samples=4000",
            "--set sampling... does nothing here: the functions of HS71 are exact",
        ),
        ("solve HS71 --starts 2 --samples 9 --seed 3", "--samples does nothing here: the functions of HS71 are exact"),
        ("solve HS71 --seed 3", "--seed does nothing here: the functions are exact, and no random start was tried"),
        ("verify RESULT --samples 10 --seed 3", "--samples, --seed do nothing here: the functions of HS71 are exact"),
        ("bench run HS71 --seeds 2 --out TABLE", "--seeds does nothing here: the functions are exact"),
    ] {
        let known = |word| match word {
            "FILE" => file,
            "TABLE" => table,
            "RESULT" => result,
            word => word,
        };
        let arguments: Vec<&str> = line.split(' ').map(known).collect();
        let output = run(&arguments);
        let message = stderr(&output);
        assert_ne!(code(&output), 1, "{line}: {message}");
        assert!(message.contains(&format!("note: {expected}")), "{line}: {message}");
    }
}

#[test]
fn arguments_that_do_something_are_not() {
    let folder = tempfile::tempdir().unwrap();
    let table = &folder.path().join("table.csv").display().to_string();
    for line in [
        "fit --rows 300 --seed 3 --l2 auto --folds 2",
        "fit --rows 300 --seed 3",
        "fit --rows 300 --max-rate-gap group=0.1 --on decisions --sharpness 5 --compare whole --min-group 10 --confidence 0.9",
        "fit --rows 300 --batch 64 --seed 3 --confidence 0.9 --momentum 0.5",
        // Whoever finds no feasible point starts elsewhere, by the seed.
        "solve CIRCLELINE --quiet --seed 3 --set sampling.seed=3",
        "solve HS71 --starts 2 --seed 3",
        "bench run HS71 --seeds 2 --perturb-start 1e-3 --out TABLE",
        "solve HS71 --quiet --noise 1e-2 --tolerance 1e-1 --momentum 0.5 --batch 4 --seed 3 --confidence 0.9",
    ] {
        let arguments: Vec<&str> = line.split(' ').map(|word| if word == "TABLE" { table } else { word }).collect();
        let message = stderr(&run(&arguments));
        assert!(!message.contains("nothing here"), "{line}: {message}");
    }
}

#[test]
fn a_negative_number_is_a_wrong_value_and_no_unknown_flag() {
    for line in ["--max-iterations -1", "--seed -3", "--samples -1", "--starts -1", "--time-limit -1s", "--batch -2"] {
        let arguments: Vec<&str> = ["solve", "HS71"].into_iter().chain(line.split(' ')).collect();
        let output = run(&arguments);
        let message = stderr(&output);
        let (name, value) = line.split_once(' ').expect("a name and a value");
        assert_eq!(code(&output), 1, "{line}");
        assert!(message.contains(&format!("'{value}'")) && message.contains(name) && !message.contains("tip:"), "{message}");
    }
    let message = stderr(&run(&["solve", "HS71", "--starts", "-1"]));
    assert!(message.contains("-1 is not from 1 to 100000"), "{message}");
    let message = stderr(&run(&["solve", "HS71", "--max-iterations", "-1"]));
    assert!(message.contains("a whole number is expected, as in 100, and no negative one"), "{message}");
}
