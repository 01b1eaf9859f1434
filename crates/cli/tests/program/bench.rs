use std::fs;
use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

use crate::{code, interrupt, refusal, run, stderr, stdout, tangor};

const FEW: &str = "HS71,HS6,HS28,MARATOS";

fn longer<'a>(arguments: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    [arguments, more].concat()
}

fn path(folder: &tempfile::TempDir, name: &str) -> String {
    folder.path().join(name).display().to_string()
}

#[test]
fn embedded_problems_are_run_and_their_rows_written() {
    let folder = tempfile::tempdir().unwrap();
    let csv = path(&folder, "rows.csv");
    let output = run(&["bench", "run", "embedded", "--only", "hs71,hs6", "--out", &csv]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let text = fs::read_to_string(&csv).unwrap();
    let rows: Vec<&str> = text.lines().collect();
    assert_eq!(rows.len(), 3);
    assert!(rows[0].starts_with("problem,solver,seed,n,m,stop,point,claimed,objective,best_known,worse,stationarity,"));
    assert!(rows[1..].iter().all(|row| row.contains(",tolerance,eps_kkt,eps_kkt,")), "{text}");
    let jsonl = fs::read_to_string(path(&folder, "rows.jsonl")).unwrap();
    assert_eq!(jsonl.lines().count(), 2);

    let compared = run(&["bench", "compare", &csv, &path(&folder, "rows.jsonl"), "--out", &path(&folder, "profiles")]);
    assert_eq!(code(&compared), 0, "{}", stderr(&compared));
    assert!(stdout(&compared).contains("2 problems in common"), "{}", stdout(&compared));
    let picture = fs::read_to_string(folder.path().join("profiles/profile-evaluations.svg")).unwrap();
    assert!(picture.contains("tangor (rows): 2 of 2 solved"), "{picture}");
}

#[test]
fn starts_are_moved_by_a_seed_and_shares_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let rows = |name: &str, more: &[&str]| {
        let csv = path(&folder, name);
        let output = run(&longer(&["bench", "run", "HS71,HS6", "--out", &csv], more));
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        (fs::read_to_string(&csv).unwrap(), stdout(&output))
    };
    let (text, told) = rows("moved.csv", &["--perturb-start", "1e-3", "--seeds", "3"]);
    assert!(told.contains("problems solved in the mean of all seeds") && told.contains("2.0 ± 0.0"), "{told}");
    let column = |text: &str, name: &str| -> Vec<String> {
        let mut lines = text.lines().map(|line| line.split(',').map(str::to_string).collect::<Vec<_>>());
        let place = lines.next().unwrap().iter().position(|column| column == name).unwrap();
        lines.map(|line| line[place].clone()).collect()
    };
    assert_eq!(column(&text, "perturbation"), ["0.001"; 6]);
    // The last bits of the objective are those of the path: no two seeds of HS71 have the same.
    let objectives = column(&text, "objective");
    assert!(objectives[0] != objectives[1] && objectives[1] != objectives[2], "{objectives:?}");
    let (again, _) = rows("again.csv", &["--perturb-start", "1e-3", "--seeds", "3"]);
    assert_eq!(column(&again, "objective"), objectives);
    let (plain, told) = rows("plain.csv", &[]);
    assert!(column(&plain, "perturbation") == ["0.0"; 2] && !told.contains("seeds"), "{plain} {told}");
    let message = refusal(&["bench", "run", "HS71", "--perturb-start", "-1", "--out", &path(&folder, "no.csv")]);
    assert!(message.contains("a size of at least 0 is needed"), "{message}");
}

#[test]
fn a_file_that_is_no_table_of_runs_is_not_lost() {
    let folder = tempfile::tempdir().unwrap();
    let csv = path(&folder, "data.csv");
    fs::write(&csv, "age,income\n39,77516\n").unwrap();
    let message = refusal(&["bench", "run", "HS71", "--out", &csv]);
    assert!(message.contains("data.csv") && message.contains("is no table of runs; name another file"), "{message}");
    assert_eq!(fs::read_to_string(&csv).unwrap(), "age,income\n39,77516\n");
}

#[cfg(unix)]
#[test]
fn a_signal_to_the_program_alone_ends_its_runs_too() {
    let folder = tempfile::tempdir().unwrap();
    let csv = path(&folder, "rows.csv");
    // A run without end: its tolerance cannot be met.
    let long = ["--set", "tolerance.stationarity=1e-300", "--max-iterations", "1000000000", "--time-limit", "10m"];
    let mut child = tangor(&longer(&["bench", "run", "HS13", "--out", &csv], &long)).spawn().unwrap();
    interrupt(&child);
    let asked = Instant::now();
    assert_eq!(child.wait().unwrap().code(), Some(4));
    assert!(asked.elapsed() < Duration::from_secs(30), "it waited for its run: {:?}", asked.elapsed());
}

#[test]
fn a_second_call_repeats_nothing_and_fresh_repeats_all() {
    let folder = tempfile::tempdir().unwrap();
    let csv = path(&folder, "rows.csv");
    run(&["bench", "run", "HS71", "--out", &csv]);
    let before = fs::read_to_string(path(&folder, "rows.jsonl")).unwrap();
    let again = run(&["bench", "run", FEW, "--out", &csv]);
    assert!(stdout(&again).contains("1 run was done before; --fresh starts over"), "{}", stdout(&again));
    let after = fs::read_to_string(path(&folder, "rows.jsonl")).unwrap();
    assert!(after.starts_with(&before) && after.lines().count() == 4);
    let other = refusal(&["bench", "run", "HS71", "--out", &csv, "--set", "metric.kind=identity"]);
    assert!(other.contains("already has rows of tangor with other settings"), "{other}");
    let fresh = run(&["bench", "run", "HS71", "--out", &csv, "--set", "metric.kind=identity", "--fresh"]);
    assert_eq!(code(&fresh), 0, "{}", stderr(&fresh));
}

#[test]
fn a_killed_run_leaves_its_rows_and_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let csv = path(&folder, "rows.csv");
    let arguments = ["bench", "run", "embedded", "--out", &csv, "--jobs", "1"];
    let mut child = tangor(&arguments).spawn().unwrap();
    let journal = folder.path().join("rows.jsonl");
    wait_for_rows(&mut child, &journal);
    child.kill().unwrap();
    child.wait().unwrap();
    let before = whole_lines(&journal);
    assert!(before >= 1);
    let again = run(&arguments);
    assert_eq!(code(&again), 0, "{}", stderr(&again));
    let all = tangor_collection::entries().len();
    let done = fs::read_to_string(&journal).unwrap();
    let mut problems: Vec<&str> = done.lines().filter_map(|line| line.split('"').nth(3)).collect();
    problems.sort_unstable();
    problems.dedup();
    assert_eq!((problems.len(), done.lines().count()), (all, all), "a run was repeated or lost");
    if before < all {
        assert!(stdout(&again).contains(" done before; --fresh starts over"));
    }
}

#[test]
fn the_estimator_is_short_for_three_settings() {
    let folder = tempfile::tempdir().unwrap();
    let csv = path(&folder, "rows.csv");
    let noisy = ["bench", "run", "HS71", "--noise", "1e-2", "--max-iterations", "50", "--out", &csv];
    let first = run(&longer(&noisy, &["--estimator", "minibatch"]));
    assert_eq!(code(&first), 0, "{}", stderr(&first));
    // The same settings by their paths: the row is there already.
    let paths = ["gradient", "constraints", "jacobian"].map(|name| format!("sampling.{name}.estimator=minibatch"));
    let long = run(&longer(&noisy, &["--set", &paths[0], "--set", &paths[1], "--set", &paths[2]]));
    assert!(stdout(&long).contains("1 run was done before; --fresh starts over"), "{}{}", stdout(&long), stderr(&long));
    let other = refusal(&longer(&noisy, &["--estimator", "momentum"]));
    assert!(other.contains("already has rows of tangor with other settings"), "{other}");
    // What is set by its path comes last.
    let momentum = ["gradient", "constraints", "jacobian"].map(|name| format!("sampling.{name}.estimator=momentum"));
    let last =
        [&["--estimator", "minibatch", "--fresh"][..], &["--set", &momentum[0], "--set", &momentum[1], "--set", &momentum[2]]];
    assert_eq!(code(&run(&longer(&noisy, &last.concat()))), 0);
    let again = run(&longer(&noisy, &["--estimator", "momentum"]));
    assert!(stdout(&again).contains("1 run was done before; --fresh starts over"), "{}{}", stdout(&again), stderr(&again));
}

#[test]
fn subproblems_are_solved_by_all_who_are_built_in() {
    let folder = tempfile::tempdir().unwrap();
    let csv = path(&folder, "subproblems.csv");
    let arguments = ["bench", "subproblems", "HS71", "--max-iterations", "8", "--out", &csv];
    let output = run(&arguments);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let text = stdout(&output);
    assert!(text.contains("Newton steps: median") && text.contains("up to 10"), "{text}");
    let ipopt = text.contains("Seconds of Ipopt divided by seconds of the kernel") && text.contains("as in the run");
    assert_eq!(ipopt, cfg!(feature = "ipopt"), "{text}");
    let rows = fs::read_to_string(&csv).unwrap();
    assert!(rows.starts_with("problem,iteration,kind,rows,columns,warm_seconds,"), "{rows}");
    assert!(rows.contains("\nHS71,0,normal,2,5,") && rows.contains("\nHS71,0,tangent,"), "{rows}");
}

fn whole_lines(journal: &Path) -> usize {
    fs::read_to_string(journal).map_or(0, |text| text.matches('\n').count())
}

fn wait_for_rows(child: &mut Child, journal: &Path) {
    let started = Instant::now();
    while whole_lines(journal) == 0 {
        assert!(started.elapsed() < Duration::from_secs(60), "no row came");
        assert!(child.try_wait().unwrap().is_none_or(|status| status.success()));
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn the_paper_needs_its_files_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let message = refusal(&["bench", "run", "paper", "--out", &path(&folder, "rows.csv")]);
    assert!(message.contains("no folder of SIF files is given (the variable MASTSIF, as CUTEst has it)"), "{message}");
    let solver = refusal(&["bench", "run", "HS71", "--solver", "snopt", "--out", &path(&folder, "rows.csv")]);
    assert!(solver.contains("there is no solver \"snopt\"; choose from tangor, ipopt and ipopt-exact"), "{solver}");
    let peer = refusal(&["reproduce", "tables", "--peer", "snopt", "--out", &path(&folder, "results")]);
    assert!(peer.contains("there is no peer \"snopt\"; choose from ipopt and ipopt-exact"), "{peer}");
    // A peer that is not there is refused at once, not once for each problem.
    if !cfg!(feature = "ipopt") {
        let out = path(&folder, "missing");
        for missing in ["bench run HS71 --solver tangor,ipopt --out", "reproduce tables --peer ipopt --out"] {
            let arguments: Vec<&str> = missing.split(' ').chain([&*out]).collect();
            assert!(refusal(&arguments).contains("this program was built without Ipopt"), "{missing}");
        }
    }
}

/// Peers know exact functions only: beside noisy runs of Tangor that is said.
#[cfg(feature = "ipopt")]
#[test]
fn noise_does_not_reach_peers_and_that_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let with = |noise: &str| {
        let out = path(&folder, &format!("{noise}.csv"));
        run(&["bench", "run", "HS6", "--noise", noise, "--solver", "tangor,ipopt,ipopt-exact", "--out", &out])
    };
    let note = "--noise disturbs only tangor: ipopt and ipopt-exact have the exact functions";
    let (noisy, exact) = (with("1e-3"), with("0"));
    assert!(stderr(&noisy).contains(note), "{}", stderr(&noisy));
    assert!(!stderr(&exact).contains("disturbs"), "{}", stderr(&exact));
    assert_eq!([code(&noisy), code(&exact)], [0, 0]);
}

#[test]
fn complexity_prints_slopes_and_leaves_data_and_a_picture() {
    let folder = tempfile::tempdir().unwrap();
    let out = path(&folder, "study");
    let output = run(&["bench", "complexity", "--values", "5", "--seeds", "1", "--out", &out]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let text = stdout(&output);
    assert!(text.contains("fully stochastic, momentum") && text.contains("the paper's exponent"), "{text}");
    assert!(text.contains("slopes are"), "{text}");
    // Both rules, five settings, five values of eps, one seed, and the heading.
    assert_eq!(fs::read_to_string(folder.path().join("study/complexity.csv")).unwrap().lines().count(), 51);
    let slopes = fs::read_to_string(folder.path().join("study/complexity-slopes.csv")).unwrap();
    assert_eq!(slopes.lines().filter(|line| line.ends_with(",true") || line.ends_with(",false")).count(), 30, "{slopes}");
    assert!(fs::read_to_string(folder.path().join("study/complexity.svg")).unwrap().starts_with("<svg"));

    let message = refusal(&["bench", "complexity", "--tau", "0.4", "--out", &out]);
    assert!(message.contains("tau is 0.4, but must be above 0 and at most 0.2 here"), "{message}");
}

#[cfg(unix)]
#[test]
fn an_interrupted_study_of_complexity_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let out = path(&folder, "study");
    let child = tangor(&["bench", "complexity", "--seeds", "1000", "--out", &out])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("the program can be started");
    interrupt(&child);
    let output = child.wait_with_output().expect("the program ends");
    assert_eq!(code(&output), 4);
    assert!(stdout(&output).contains("There are no slopes: "), "{}", stdout(&output));
}

#[test]
fn learning_tasks_are_run_beside_tuned_methods() {
    let folder = tempfile::tempdir().unwrap();
    let out = path(&folder, "learning");
    let short = ["bench", "learning", "--seeds", "2", "--share", "0.02", "--out", &out];
    let output = run(&short);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let text = stdout(&output);
    assert!(text.contains("adult is left out: it needs the census data"), "{text}");
    for part in
        ["Tangor, median of 2", "Tangor, worst", "stochastic SQP, tuned", "0.02 of the samples", "joined", "last", "repeated"]
    {
        assert!(text.contains(part), "{text}");
    }
    let rows = fs::read_to_string(folder.path().join("learning/learning.csv")).unwrap();
    assert_eq!(rows.lines().count(), 1 + 2 * 2, "{rows}");
    for row in rows.lines().skip(1) {
        let fields: Vec<&str> = row.split(',').collect();
        let most = if fields[0] == "logistic" { 5120 } else { 10240 };
        let [iterations, samples] = [8, 9].map(|k| fields[k].parse::<u64>().unwrap());
        assert!(samples <= most, "the limit on samples holds: {row}");
        let beside: u64 = fields[11..15].iter().map(|count| count.parse::<u64>().unwrap()).sum();
        // The first batch is 16 times the others, and every step has one of 128 at both of its ends.
        let steps = samples - beside - 16 * 128;
        assert!(steps.is_multiple_of(256) && steps <= 256 * iterations, "what samples were taken for adds up: {row}");
    }
    let picture = fs::read_to_string(folder.path().join("learning/learning-heat-network.svg")).unwrap();
    assert!(picture.contains("samples</text>") && picture.contains("KKT residual"));
    let unknown = refusal(&["bench", "learning", "--task", "digits"]);
    assert!(unknown.contains("the tasks are logistic, adult, adult-network, heat-network"), "{unknown}");
}

/// The name of a problem may be that of a stranger's file.
#[cfg(unix)]
#[test]
fn names_of_problems_steer_no_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let (files, csv) = (path(&folder, "files"), path(&folder, "rows.csv"));
    fs::create_dir(&files).unwrap();
    fs::write(Path::new(&files).join("a\u{1b}[31mb.nl"), include_str!("../../../fuzz/corpus/nl/good.nl")).unwrap();
    let ran = run(&["bench", "run", &files, "--out", &csv, "--color", "always"]);
    let compared = run(&["bench", "compare", &csv, &path(&folder, "rows.jsonl"), "--table", "--color", "always"]);
    for output in [ran, compared] {
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        let told = stdout(&output);
        assert!(told.contains("a\\u{1b}[31mb") && !told.contains("a\u{1b}"), "{told:?}");
    }
}
