//! Many runs in child processes, some of which hang, crash or are killed. A shell script stands in for the program, so that these
//! things really happen to a process.

use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use tangor_bench::{Campaign, Contender, Ending, Error, Journal, Member, Plan, Program, Results};
use tangor_open::Source;
use tangor_solver::{Settings, Stop};

/// Counts its runs in the file `runs`, then does what the problem's name says.
const SCRIPT: &str = r#"
read -r task
echo run >> runs
case "$task" in
  *'"HANG"'*) exec sleep 600 ;;
  *'"CRASH"'*) echo 'something broke' >&2; kill -SEGV $$ ;;
  *'"GARBAGE"'*) echo 'this is no row' ;;
  *'"LOUD"'*) head -c 1000000 /dev/zero >&2; echo "$ROW" | sed s/NAME/LOUD/ ;;
  *'"GOOD"'*) echo "$ROW" | sed s/NAME/GOOD/ ;;
esac
"#;

/// With the limit of the plan four seconds, in which every other script comes to its end.
const GRACE: Duration = Duration::from_millis(3800);

static FLAG: AtomicBool = AtomicBool::new(false);

fn plan(names: &[&str]) -> Plan {
    let member = |name: &&str| Member { name: name.to_string(), source: Source::Embedded("HS71".into()), best_known: None };
    Plan {
        members: names.iter().map(member).collect(),
        contenders: vec![Contender::tangor("tangor", Settings::default())],
        seeds: 1,
        perturbation: 0.0,
        max_iterations: 10,
        max_entries: None,
        time_limit: 0.2,
        trace: false,
    }
}

#[test]
fn a_large_problem_has_fewer_iterations() {
    // HS71 has 4 variables and 2 constraints: 8 entries in each iteration.
    for (most, expected) in [(None, 5), (Some(1000), 5), (Some(31), 3), (Some(1), 1)] {
        let plan = Plan { max_entries: most, max_iterations: 5, time_limit: 60.0, ..plan(&["HS71"]) };
        assert_eq!(plan.tasks()[0].perform().iterations, expected, "{most:?}");
    }
}

/// Runs the plan with the script in the folder.
fn run(folder: &Path, plan: &Plan, interrupt: &AtomicBool) -> Result<Results, Error> {
    let row = serde_json::to_string(&plan.tasks()[0].failed(Ending::Stopped(Stop::Tolerance), "Done.")).unwrap();
    let row = row.replace(&format!("\"problem\":\"{}\"", plan.members[0].name), "\"problem\":\"NAME\"");
    let script = format!("cd '{}'\nROW='{row}'\n{SCRIPT}", folder.display());
    let program = Program { path: "sh".into(), arguments: vec!["-c".into(), script], grace: GRACE };
    let campaign = Campaign { program, jobs: 2, interrupt, progress: false };
    campaign.run(plan, &mut Journal::open(&folder.join("rows.jsonl"))?, Some(&folder.join("rows.csv")))
}

fn runs(folder: &Path) -> usize {
    fs::read_to_string(folder.join("runs")).map_or(0, |text| text.lines().count())
}

#[test]
fn what_hangs_or_crashes_is_reported_and_the_rest_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let started = Instant::now();
    let results = run(folder.path(), &plan(&["HANG", "CRASH", "GARBAGE", "LOUD", "GOOD"]), &FLAG).unwrap();
    assert!(started.elapsed() < Duration::from_secs(300), "a child that sleeps was waited for");
    let stops: Vec<(&str, Ending)> = results.records.iter().map(|row| (row.problem.as_str(), row.stop)).collect();
    let expected = [
        ("HANG", Ending::Hung),
        ("CRASH", Ending::Crashed),
        ("GARBAGE", Ending::Crashed),
        ("LOUD", Ending::Stopped(Stop::Tolerance)),
        ("GOOD", Ending::Stopped(Stop::Tolerance)),
    ];
    assert_eq!(stops, expected);
    assert!(results.records[0].message.contains("ended after 4.0 s"), "{}", results.records[0].message);
    assert!(results.records[1].message.contains("Its last words: something broke"), "{}", results.records[1].message);
    assert_eq!(fs::read_to_string(folder.path().join("rows.csv")).unwrap().lines().count(), 6);
}

#[test]
fn a_killed_campaign_goes_on_without_repeating_runs() {
    let folder = tempfile::tempdir().unwrap();
    run(folder.path(), &plan(&["GOOD"]), &FLAG).unwrap();
    // A kill in the middle of a write leaves half a line.
    let journal = folder.path().join("rows.jsonl");
    let whole = fs::read_to_string(&journal).unwrap();
    fs::write(&journal, format!("{whole}{}", &whole[..whole.len() / 2])).unwrap();
    let results = run(folder.path(), &plan(&["GOOD", "LOUD"]), &FLAG).unwrap();
    assert_eq!((results.resumed, results.missing, results.records.len()), (1, 0, 2));
    assert_eq!(runs(folder.path()), 2);
    let again = run(folder.path(), &plan(&["GOOD", "LOUD"]), &FLAG).unwrap();
    assert_eq!((again.resumed, runs(folder.path())), (2, 2));
    assert_eq!(again.records, results.records);
}

#[test]
fn rows_made_with_other_settings_are_not_mixed_in() {
    let folder = tempfile::tempdir().unwrap();
    run(folder.path(), &plan(&["GOOD"]), &FLAG).unwrap();
    let other = Plan { max_iterations: 11, ..plan(&["GOOD"]) };
    let error = run(folder.path(), &other, &FLAG).unwrap_err();
    assert!(matches!(error, Error::OtherSetup { .. }), "{error}");
}

#[test]
fn an_interrupt_leaves_no_row_of_what_was_not_done() {
    let folder = tempfile::tempdir().unwrap();
    let results = run(folder.path(), &plan(&["GOOD", "CRASH"]), &AtomicBool::new(true)).unwrap();
    assert_eq!((results.records.len(), results.missing, runs(folder.path())), (0, 2, 0));
}

#[test]
fn a_program_that_is_not_there_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let program = Program { path: "/does/not/exist".into(), arguments: Vec::new(), grace: Duration::ZERO };
    let campaign = Campaign { program, jobs: 1, interrupt: &FLAG, progress: false };
    let mut journal = Journal::open(&folder.path().join("rows.jsonl")).unwrap();
    let error = campaign.run(&plan(&["GOOD"]), &mut journal, None).unwrap_err().to_string();
    assert!(error.starts_with("the program /does/not/exist cannot be started"), "{error}");
}
