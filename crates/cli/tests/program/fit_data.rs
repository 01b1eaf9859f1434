//! `tangor fit` with data as people have them, and what it says of the outcome.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use tempfile::TempDir;

use crate::{code, refusal, run, run_json, stderr, stdout, tangor};

fn write(folder: &TempDir, name: &str, text: &str) -> PathBuf {
    let path = folder.path().join(name);
    std::fs::write(&path, text).expect("the file can be written");
    path
}

fn text(path: &Path) -> &str {
    path.to_str().expect("the path is UTF-8")
}

/// People of five towns and two sexes, with a name, an age and a weight; the fifth town is small.
fn people(rows: usize) -> String {
    let row = |i: usize| {
        let (age, sex) = (20 + i * 37 % 50, if i * 13 % 7 < 3 { "f" } else { "m" });
        let rich = age + (i * 29 % 31) + if sex == "m" { 8 } else { 0 } > 62;
        let town = if i < 10 { "Bonn" } else { ["Rome", "Oslo", "Bath", "Pisa"][i % 4] };
        format!("p{i},{age},{town},{sex},{},{}\n", 1 + i % 3, if rich { "yes" } else { "no" })
    };
    "name,age,town,sex,weight,rich\n".to_string() + &(0..rows).map(row).collect::<String>()
}

#[test]
fn a_bad_cell_is_named_and_taken_as_missing() {
    let folder = TempDir::new().expect("a folder can be made");
    let file = write(&folder, "a.csv", &people(300).replacen("p7,", "p7,about ", 1));
    let arguments = ["fit", text(&file), "--drop", "name,weight", "--json"];
    let output = run(&arguments);
    let expected = "a.csv:9: column \"age\": \"about 29\" is not a number: this cell is taken as missing; --categorical age makes every \
                    value a category";
    assert!(stderr(&output).contains(expected), "{}", stderr(&output));
    let (all, _) = run_json(&arguments);
    assert_eq!(all["model"]["weights"].as_array().unwrap().len(), 1 + 5 + 2 + 1);
    // Who asks for numbers is told as well, without the advice to ask for categories.
    let told = stderr(&run(&[&arguments[..], &["--numeric", "age"]].concat()));
    assert!(told.contains("\"about 29\" is not a number: this cell is taken as missing\n"), "{told}");
    let told = stderr(&run(&[&arguments[..], &["--categorical", "age"]].concat()));
    assert!(!told.contains("about 29"), "{told}");
}

#[test]
fn the_positive_value_is_chosen_and_said() {
    let folder = TempDir::new().expect("a folder can be made");
    let file = write(&folder, "a.csv", &people(200));
    let arguments = ["fit", text(&file), "--drop", "name", "--color", "never", "--positive"];
    let shares = ["yes", "no"].map(|positive| {
        let told = stdout(&run(&[&arguments[..], &[positive]].concat()));
        let line = told.lines().find(|line| line.starts_with("positive: ")).expect("it is said").to_string();
        assert!(line.starts_with(&format!("positive: rich = {positive} in ")), "{line}");
        line.split(' ').nth(5).unwrap().trim_end_matches('%').parse::<f64>().unwrap()
    });
    assert!((shares[0] + shares[1] - 100.0).abs() < 0.11, "{shares:?}");
    assert!(refusal(&[&arguments[..], &["perhaps"]].concat()).contains("is \"no\" or \"yes\", but never \"perhaps\""));
}

#[test]
fn nothing_is_left_behind_by_a_fit_that_fails() {
    let folder = TempDir::new().expect("a folder can be made");
    let (file, wrong) = (write(&folder, "a.csv", &people(100)), write(&folder, "b.csv", "age,rich\n30,yes\n"));
    let model = folder.path().join("model.json");
    let message = refusal(&["fit", text(&file), "--test", text(&wrong), "--model", text(&model)]);
    assert!(message.contains("it has no column"), "{message}");
    assert!(!model.exists(), "an empty model was left behind");
    let nowhere = folder.path().join("none/model.json");
    assert!(refusal(&["fit", text(&file), "--model", text(&nowhere)]).contains("cannot be written"));
    // An old model stays whole.
    std::fs::write(&model, "old").unwrap();
    refusal(&["fit", text(&file), "--label", "shoe", "--model", text(&model)]);
    assert_eq!(std::fs::read_to_string(&model).unwrap(), "old");
}

#[test]
fn predictions_say_who_is_who_and_come_whole_or_not_at_all() {
    let folder = TempDir::new().expect("a folder can be made");
    let (file, model) = (write(&folder, "a.csv", &people(120)), folder.path().join("model.json"));
    let fitted = run(&["fit", text(&file), "--id", "name", "--threshold", "f1", "--model", text(&model), "--json"]);
    assert_eq!(code(&fitted), 0, "{}", stderr(&fitted));
    let predicted = stdout(&run(&["predict", text(&model), text(&file)]));
    let lines: Vec<&str> = predicted.lines().collect();
    assert_eq!((lines.len(), lines[0]), (121, "name,probability,prediction"));
    assert!(lines[8].starts_with("p7,0."), "{}", lines[8]);
    let chosen: serde_json::Value = serde_json::from_slice(&std::fs::read(&model).unwrap()).unwrap();
    let threshold = chosen["training"]["threshold"].as_f64().unwrap();
    assert!(threshold > 0.0 && threshold < 1.0 && threshold != 0.5, "{threshold}");
    for line in &lines[1..] {
        let fields: Vec<&str> = line.split(',').collect();
        assert_eq!(fields[1].parse::<f64>().unwrap() > threshold, fields[2] == "yes", "{line}");
    }
    // What would steer a terminal is shown, in the table as well.
    let strange = write(&folder, "strange.csv", &people(120).replacen("p7,", "p\u{1b}[31m7,", 1));
    let predicted = stdout(&run(&["predict", text(&model), text(&strange)]));
    assert!(predicted.contains("\np\\u{1b}[31m7,0."), "{predicted}");
    // An end of a line within quotes stays one: who looks for a row finds it.
    let quoted = write(&folder, "quoted.csv", &people(120).replacen("p7,", "\"p\n7\",", 1));
    let predicted = stdout(&run(&["predict", text(&model), text(&quoted)]));
    assert!(predicted.contains("\n\"p\n7\",0."), "{predicted}");
    // A table without names is no matter of `fit --header no`, which `predict` does not have.
    let nameless = write(&folder, "nameless.csv", people(120).split_once('\n').expect("a header").1);
    let message = refusal(&["predict", text(&model), text(&nameless)]);
    assert!(message.contains("with the names of the columns, missing?") && !message.contains("--header"), "{message}");
    // From standard input, with another column to tell rows apart, and semicolons.
    let mut child = tangor(&["predict", text(&model), "-", "--id", "town,name"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program can be started");
    let other = people(120).replace(',', ";");
    child.stdin.take().unwrap().write_all(other.as_bytes()).expect("the program reads");
    let piped = stdout(&child.wait_with_output().unwrap());
    assert!(piped.starts_with("town,name,probability,prediction\nBonn,p0,0."), "{piped}");
    // The last row is wrong: nothing at all is printed.
    let wrong = write(&folder, "wrong.csv", &(people(50) + "p50,old,Rome,f,1,yes\n"));
    let message = refusal(&["predict", text(&model), text(&wrong)]);
    assert!(message.contains("wrong.csv:52: column \"age\": \"old\" is not a number"), "{message}");
}

#[test]
fn names_with_commas_stand_in_quotes() {
    let folder = TempDir::new().expect("a folder can be made");
    let table = people(120).replacen("name,", "\"last, first\",", 1);
    let (file, model) = (write(&folder, "a.csv", &table), folder.path().join("model.json"));
    let fitted = run(&["fit", text(&file), "--id", "\"last, first\"", "--model", text(&model)]);
    assert_eq!(code(&fitted), 0, "{}", stderr(&fitted));
    for more in [&[][..], &["--id", "\"last, first\""]] {
        let predicted = stdout(&run(&[&["predict", text(&model), text(&file)], more].concat()));
        assert!(predicted.starts_with("\"last, first\",probability,prediction\np0,0."), "{predicted}");
    }
    let message = refusal(&["fit", text(&file), "--id", "last, first"]);
    assert!(message.contains("it has no column \"last\"; its columns are \"last, first\", age,"), "{message}");
}

#[test]
fn standard_input_is_no_file() {
    for (text, expected) in [("", "it is empty"), ("a,b\n1,0\n2,0\n", "the label \"b\" has only one value, \"0\", but")] {
        let mut child =
            tangor(&["fit", "-"]).stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program can be started");
        child.stdin.take().expect("a pipe").write_all(text.as_bytes()).expect("the program reads");
        let message = stderr(&child.wait_with_output().expect("the program ends"));
        assert!(message.starts_with(&format!("error: standard input cannot be used: {expected}")), "{message}");
    }
}

#[test]
fn names_cannot_steer_the_terminal() {
    let folder = TempDir::new().expect("a folder can be made");
    let file = write(&folder, "a.csv", &people(200).replace("age", "a\u{1b}[2Jge").replace("Bath", "B\u{1b}[31math"));
    let output =
        run(&["fit", text(&file), "--drop", "name", "--max-rate-gap", "town=0.2", "--min-group", "1", "--color", "never"]);
    let told = stdout(&output) + &stderr(&output);
    assert!(!told.contains('\u{1b}') && told.contains("\\u{1b}[2J") && told.contains("B\\u{1b}[31math"), "{told}");
}

#[test]
fn small_groups_are_named_and_the_others_compared_with_the_whole() {
    let folder = TempDir::new().expect("a folder can be made");
    let file = write(&folder, "a.csv", &people(600));
    let output = run(&["fit", text(&file), "--drop", "name", "--demographic-parity", "town=0.01", "--color", "never"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let warning =
        "warning: rate gap of town: 1 group with fewer than 30 rows that count has no constraint of its own: Bonn (10)";
    assert!(stderr(&output).contains(warning), "{}", stderr(&output));
    let told = stdout(&output);
    assert_eq!(told.matches(" - all: within +-0.01").count(), 4, "{told}");
}

#[test]
fn constraints_on_decisions_bound_decisions() {
    let gap = |more: &[&str]| {
        let arguments = ["fit", "--rows", "4000", "--columns", "5", "--max-rate-gap", "group=0.02", "--json"];
        let (all, status) = run_json(&[&arguments[..], more].concat());
        assert_eq!(status, 0);
        all["model"]["training"]["constraints"][0]["decisions"]["value"].as_f64().unwrap().abs()
    };
    for seed in ["1", "2", "3"] {
        let (on_probabilities, on_decisions) = (gap(&["--seed", seed]), gap(&["--seed", seed, "--on", "decisions"]));
        // A curve stands for the step, so that the bound is met up to what the curve misses.
        assert!(on_decisions < 0.03 && on_probabilities > 0.04, "{on_decisions} {on_probabilities}");
    }
    assert!(refusal(&["fit", "--on", "decisions", "--threshold", "f1"]).contains("a threshold that is known before the fit"));
}

#[test]
fn the_penalty_is_found_by_cross_validation() {
    let arguments = ["fit", "--rows", "300", "--columns", "20", "--l2", "auto", "--folds", "4", "--color", "never"];
    let told = stdout(&run(&arguments));
    assert!(told.contains("loss of rows left out, in 4 parts") && told.matches("  best").count() == 1, "{told}");
    let losses: Vec<f64> = told
        .lines()
        .filter(|line| line.contains(" +- 0.0"))
        .filter_map(|line| line.split_whitespace().nth(1)?.parse().ok())
        .collect();
    let best = told.lines().find(|line| line.ends_with("  best")).unwrap();
    let least = losses[..8].iter().copied().fold(f64::INFINITY, f64::min);
    assert!(best.contains(&format!("{least:.5}")), "{told}");
    let (all, _) = run_json(&[&arguments[..9], &["--json"]].concat());
    let l2 = all["model"]["goal"]["penalty"]["l2"].as_f64().unwrap();
    assert!(best.trim_start().starts_with(&format!("{l2:e}")), "{l2} is not {best}");
}

#[test]
fn a_trade_off_is_drawn() {
    let folder = TempDir::new().expect("a folder can be made");
    let picture = folder.path().join("price.svg");
    let arguments = ["fit", "--rows", "1500", "--max-rate-gap", "group=0.05", "--color", "never", "--trade-off"];
    let output = run(&[&arguments[..], &[text(&picture)]].concat());
    let told = stdout(&output);
    let table = told.lines().skip_while(|line| !line.contains("trade-off on the training rows")).skip(2).take(10);
    let rows: Vec<Vec<f64>> =
        table.map(|line| line.split_whitespace().take(4).filter_map(|word| word.parse().ok()).collect()).collect();
    assert_eq!(rows.len(), 10, "{told}");
    for pair in rows.windows(2) {
        assert!(pair[1][0] < pair[0][0] && pair[1][1] >= pair[0][1] - 1e-4, "a smaller bound costs loss: {pair:?}");
        assert!(pair[1][3] <= pair[1][0] + 1e-4, "{pair:?}");
    }
    assert!((rows[0][0] - rows[0][3]).abs() < 1e-4, "the first bound is the gap that nobody bounds: {:?}", rows[0]);
    let drawn = std::fs::read_to_string(&picture).expect("there is a picture");
    assert!(drawn.contains("what a smaller gap between groups costs") && drawn.matches("<circle").count() == 30);
    assert!(refusal(&["fit", "--rows", "300", "--json", "--trade-off", text(&picture)]).contains("needs a bound on a gap"));
}

#[test]
fn rows_can_count_differently() {
    let folder = TempDir::new().expect("a folder can be made");
    let file = write(&folder, "a.csv", &people(300));
    let repeated: String = people(300)
        .lines()
        .flat_map(|line| {
            let times = line.split(',').nth(4).and_then(|weight| weight.parse().ok()).unwrap_or(1);
            std::iter::repeat_n(line.to_string() + "\n", times)
        })
        .collect();
    let other = write(&folder, "b.csv", &repeated);
    let weights = |arguments: &[&str]| -> Vec<f64> {
        let (all, _) = run_json(
            &[arguments, &["--numeric", "age", "--max-rate-gap", "sex=0.05", "--tolerance", "1e-9", "--json"]].concat(),
        );
        all["model"]["training"]["groups"]
            .as_array()
            .unwrap()
            .iter()
            .map(|g| g["quality"]["predicted"].as_f64().unwrap())
            .collect()
    };
    let weighted = weights(&["fit", text(&file), "--drop", "name", "--sample-weight", "weight"]);
    let counted = weights(&["fit", text(&other), "--drop", "name,weight"]);
    // Means and deviations of columns are those of the rows as they stand, which changes the penalty a little and nothing else.
    for (a, b) in weighted.iter().zip(counted) {
        assert!((a - b).abs() < 1e-3, "{a} {b}");
    }
}

#[test]
fn a_threshold_that_was_chosen_is_printed() {
    let folder = TempDir::new().expect("a folder can be made");
    let file = write(&folder, "a.csv", &people(300));
    let arguments = ["fit", text(&file), "--drop", "name", "--numeric", "age", "--threshold", "f1"];
    let told = stdout(&run(&arguments));
    let (all, _) = run_json(&[&arguments[..], &["--json"]].concat());
    let threshold = all["model"]["training"]["threshold"].as_f64().expect("a number");
    let line = told.lines().find_map(|line| line.trim().strip_prefix("decisions are made at a probability of "));
    assert!(line.is_some_and(|line| (line.parse::<f64>().expect("a number") - threshold).abs() < 1e-9), "{threshold}: {told}");
}

#[test]
fn values_that_the_fit_never_saw_are_told_of() {
    let folder = TempDir::new().expect("a folder can be made");
    let rows = |towns: &[&str]| -> String {
        let row = |i: usize| {
            format!("{},{},{},{}\n", 20 + i * 37 % 50, towns[i % towns.len()], ["f", "m"][i % 2], u8::from(i * 37 % 50 > 25))
        };
        format!("age,town,sex,rich\n{}", (0..90).map(row).collect::<String>())
    };
    let file = write(&folder, "a.csv", &rows(&["Rome", "Oslo"]));
    let other = write(&folder, "b.csv", &rows(&["Rome", "Oslo", "Bath"]).replace(",m,", ",x,"));
    let model = folder.path().join("model.json");
    let arguments = ["fit", text(&file), "--max-rate-gap", "sex=0.5", "--model", text(&model), "--test", text(&other)];
    let town =
        "b.csv:4: column \"town\": no row of the fit had values as \"Bath\"; 30 such rows count as none of the known ones";
    let sex = "b.csv:3: column \"sex\": no row of the fit had values as \"x\"; 45 such rows count ";
    let fitted = stderr(&run(&arguments));
    assert!(fitted.contains("warning: ") && fitted.contains(town), "{fitted}");
    assert!(fitted.contains(&format!("{sex}for no group")), "{fitted}");
    let output = run(&["predict", text(&model), text(&other)]);
    let predicted = stderr(&output);
    assert!(predicted.contains(town) && predicted.contains(&format!("{sex}as none")), "{predicted}");
    assert_eq!(stdout(&output).lines().count(), 91);
    assert!(stderr(&run(&["predict", text(&model), text(&other), "--evaluate"])).contains(town));
    assert_eq!(stderr(&run(&["predict", text(&model), text(&file)])), "");
}

#[cfg(unix)]
#[test]
fn who_has_seen_enough_predictions_may_leave() {
    use std::io::Read;
    let folder = TempDir::new().expect("a folder can be made");
    let model = folder.path().join("model.json");
    // More lines than a pipe holds.
    let file = write(&folder, "a.csv", &people(20_000));
    let fitted = run(&["fit", text(&file), "--drop", "name", "--numeric", "age", "--model", text(&model)]);
    assert_eq!(code(&fitted), 0, "{}", stderr(&fitted));
    let mut command = tangor(&["predict", text(&model), text(&file)]);
    let mut child =
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().expect("it starts");
    let mut first = [0; 20];
    let mut reader = child.stdout.take().expect("a pipe");
    reader.read_exact(&mut first).expect("a few letters");
    drop(reader);
    let output = child.wait_with_output().expect("it ends");
    assert_eq!((code(&output), stderr(&output).as_str()), (0, ""));
}

#[test]
fn data_beyond_the_memory_give_the_same_bits_from_a_file() {
    let folder = TempDir::new().expect("a folder can be made");
    let table = write(&folder, "a.csv", &people(8000));
    let row = |i: usize| {
        format!("{} 1:{} {}:1 9:{}\n", if i * 37 % 50 > 25 { "+1" } else { "-1" }, i * 37 % 50, 2 + i % 6, i * 29 % 31)
    };
    let indexed = write(&folder, "b.libsvm", &(0..8000).map(row).collect::<String>());
    // 8000 rows take more than 80 kB, a third of 240 kB.
    let columns = ["--drop", "name,weight", "--numeric", "age", "--max-rate-gap", "sex=0.05"];
    for (file, more) in [(&table, &columns[..]), (&indexed, &["--norm", "1"])] {
        for how in [&["--exact"][..], &["--samples", "20000"], &["--l2", "auto", "--folds", "3"]] {
            let weights = |name: &str, further: &[&str]| {
                let path = folder.path().join(name);
                let output = run(&[&["fit", text(file), "--weights", text(&path)], more, how, further].concat());
                (std::fs::read(path).expect("weights are written"), stdout(&output), stderr(&output))
            };
            let (in_memory, told, warned) = weights("memory.csv", &[]);
            let (in_file, same, remark) = weights("file.csv", &["--memory-limit", "240kB", "--cache", text(folder.path())]);
            assert!(!warned.contains("--cache"), "{warned}");
            assert!(remark.contains("the features take more than a third of the memory"), "{remark}");
            assert_eq!(String::from_utf8(in_memory), String::from_utf8(in_file), "{how:?}");
            // All that is told up to the time that it took.
            let lines = |told: &str| {
                told.lines().take_while(|line| !line.contains("iterations in")).map(Into::into).collect::<Vec<String>>()
            };
            assert_eq!(lines(&told), lines(&same), "{how:?}");
        }
    }
    let names: Vec<_> =
        std::fs::read_dir(folder.path()).expect("a folder").map(|entry| entry.expect("a file").file_name()).collect();
    assert!(names.iter().all(|name| !name.to_string_lossy().ends_with(".cache")), "nothing is left: {names:?}");
}

#[test]
fn a_cache_without_a_folder_is_refused() {
    let folder = TempDir::new().expect("a folder can be made");
    let file = write(&folder, "a.csv", &people(4000));
    let nowhere = folder.path().join("nowhere");
    let arguments = ["fit", text(&file), "--drop", "name", "--memory-limit", "120kB", "--cache", text(&nowhere)];
    let message = refusal(&arguments);
    let expected = format!("the data do not fit into memory, and no file can be made for them in {}", nowhere.display());
    assert!(message.contains(&expected), "{message}");
}

#[test]
fn constraints_that_cannot_hold_together_are_told_of() {
    let folder = TempDir::new().expect("a folder can be made");
    let file = write(&folder, "a.csv", &people(120));
    // Small weights leave all probabilities near one half.
    let bounds = ["--drop", "name", "--max-rate", "0.1", "--norm", "0.1"];
    let output = run(&[&["fit", text(&file)], &bounds[..]].concat());
    let told = stdout(&output);
    assert_eq!(code(&output), 2, "{told}");
    assert!(told.contains("The constraints may contradict each other"), "{told}");
    // What a fit has no argument for is not advised.
    assert!(!told.contains("--starts") && !told.contains("POINT.json") && !told.contains("tangor check"), "{told}");
}
