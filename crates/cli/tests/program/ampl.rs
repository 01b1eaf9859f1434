//! The convention of AMPL's solvers: a file in, an answer out.

use std::path::{Path, PathBuf};

use crate::{code, interrupt, run, stderr, stdout, tangor};

#[path = "../../../nl/tests/common/binary.rs"]
mod binary;

/// minimise x0 x3 (x0 + x1 + x2) + x2 with the constraints of HS71
pub const HS71: &str = "g3 1 1 0\t# problem hs71\n 4 2 1 0 1\n 2 1\n 0 0\n 4 4 4\n 0 0 0 1\n 0 0 0 0 0\n 8 4\n 0 0\n 0 0 0 0 0\n\
C0\no2\no2\no2\nv0\nv1\nv2\nv3\nC1\no54\n4\no5\nv0\nn2\no5\nv1\nn2\no5\nv2\nn2\no5\nv3\nn2\nO0 0\no0\no2\no2\nv0\nv3\no54\n3\nv0\nv1\nv2\nv2\n\
x4\n0 1\n1 5\n2 5\n3 1\nr\n2 25\n4 40\nb\n0 1 5\n0 1 5\n0 1 5\n0 1 5\nk3\n2\n4\n6\n\
J0 4\n0 0\n1 0\n2 0\n3 0\nJ1 4\n0 0\n1 0\n2 0\n3 0\nG0 4\n0 0\n1 0\n2 0\n3 0\n";

struct Model {
    _folder: tempfile::TempDir,
    stub: PathBuf,
}

impl Model {
    fn new(content: impl AsRef<[u8]>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let stub = folder.path().join("model.v1");
        std::fs::write(folder.path().join("model.v1.nl"), content).unwrap();
        Model { _folder: folder, stub }
    }

    fn stub(&self) -> &str {
        self.stub.to_str().unwrap()
    }

    fn file(&self, extension: &str) -> String {
        format!("{}.{extension}", self.stub())
    }

    fn answer(&self) -> String {
        std::fs::read_to_string(self.file("sol")).unwrap()
    }
}

fn result_number(answer: &str) -> i64 {
    let line = answer.lines().find(|line| line.starts_with("objno")).expect("an answer has a code");
    line.rsplit(' ').next().unwrap().parse().unwrap()
}

#[test]
fn a_model_is_solved_and_answered() {
    let model = Model::new(HS71);
    let output = run(&[model.stub(), "-AMPL"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let answer = model.answer();
    assert!(answer.starts_with("Tangor ") && answer.contains("\n\nOptions\n3\n1\n1\n0\n2\n2\n4\n4\n0.5522"), "{answer}");
    assert_eq!(result_number(&answer), 0);
    assert!(answer.contains("ipopt_zL_out\n0 1.08787"), "{answer}");
    let verified = run(&["verify", &model.file("nl"), &model.file("sol")]);
    assert_eq!(code(&verified), 0, "{}", stdout(&verified));
    assert!(stdout(&verified).contains("17.014017"));
    // The same from anybody without multipliers of bounds, and a point that is not a solution.
    let start = answer.find("suffix").unwrap();
    std::fs::write(model.file("sol"), &answer[..start]).unwrap();
    assert_eq!(code(&run(&["verify", &model.file("nl"), &model.file("sol")])), 0);
    std::fs::write(model.file("sol"), answer[..start].replace("4.74", "4.75")).unwrap();
    assert_eq!(code(&run(&["verify", &model.file("nl"), &model.file("sol")])), 2);
}

#[test]
fn options_come_from_the_environment_and_from_the_call() {
    let model = Model::new(HS71);
    let output = tangor(&[model.stub(), "-AMPL"]).env("tangor_options", "maxit=1 outlev=0").output().unwrap();
    assert_eq!((code(&output), stdout(&output).as_str()), (0, ""));
    assert_eq!(result_number(&model.answer()), 400);
    let output = tangor(&[model.stub(), "-AMPL", "maxit=100"]).env("tangor_options", "maxit=1").output().unwrap();
    assert_eq!(code(&output), 0);
    assert_eq!(result_number(&model.answer()), 0);
    let output = run(&[model.stub(), "-AMPL", "merit.rho1=1"]);
    assert_eq!(code(&output), 1);
    assert!(stderr(&output).contains("there is no setting merit.rho1"), "{}", stderr(&output));
    assert_eq!(result_number(&model.answer()), 505);
    // By hand, without -AMPL, nothing is written unless it is wanted.
    std::fs::remove_file(model.file("sol")).unwrap();
    let output = run(&[&model.file("nl"), "wantsol=2"]);
    assert!(stdout(&output).contains("x[0]\t1\n"), "{}", stdout(&output));
    assert!(!Path::new(&model.file("sol")).exists());
}

#[test]
fn what_cannot_be_solved_is_answered_too() {
    let integer = Model::new(HS71.replacen(" 0 0 0 0 0\n", " 0 1 0 0 0\n", 1));
    let output = run(&[integer.stub(), "-AMPL"]);
    assert_eq!(code(&output), 1);
    let sentence = "variable x[3] must be an integer, and Tangor solves problems in real numbers";
    assert!(stderr(&output).contains(sentence) && integer.answer().contains(sentence));
    assert_eq!(code(&run(&[integer.stub(), "-AMPL", "relax=1"])), 0);
    let crossed = Model::new(HS71.replacen("b\n0 1 5", "b\n0 5 1", 1));
    assert_eq!(code(&run(&[crossed.stub(), "-AMPL"])), 0);
    assert_eq!(result_number(&crossed.answer()), 200);
    let infeasible = Model::new(HS71.replacen("r\n2 25\n4 40", "r\n2 25\n4 4000", 1));
    assert_eq!(code(&run(&[infeasible.stub(), "-AMPL"])), 0);
    assert_eq!(result_number(&infeasible.answer()), 200);
    let missing = run(&["no/such/model", "-AMPL"]);
    assert!(stderr(&missing).contains("no/such/model.nl: the file cannot be read"));
}

#[test]
fn a_binary_file_is_answered_like_its_text_and_suffixes_only_where_they_are_wanted() {
    let model = Model::new(HS71);
    run(&[model.stub(), "-AMPL"]);
    let answer = model.answer();
    for name in ["tangor_zL_out", "ipopt_zL_out", "rc"] {
        assert!(answer.contains(&format!("\n{name}\n0 1.08787")), "{answer}");
    }
    for big_endian in [false, true] {
        let model = Model::new(binary::binary(HS71, big_endian));
        assert_eq!(code(&run(&[model.stub(), "-AMPL"])), 0);
        assert_eq!(model.answer(), answer);
        assert_eq!(code(&run(&["verify", &model.file("nl"), &model.file("sol")])), 0);
    }
    let unwanted = Model::new(HS71.replacen("\n 0 0 0 1\n", "\n 0 0 0 0\n", 1));
    run(&[unwanted.stub(), "-AMPL"]);
    assert_eq!(unwanted.answer(), answer[..answer.find("suffix").unwrap()]);
}

/// HS71 with another start and multipliers to begin with.
fn started(x: &[f64], y: &[f64]) -> Model {
    let values = |values: &[f64]| values.iter().enumerate().map(|(i, value)| format!("{i} {value:?}\n")).collect::<String>();
    let segments = format!("d{}\n{}x{}\n{}r\n", y.len(), values(y), x.len(), values(x));
    let (before, rest) = HS71.split_once("x4\n").unwrap();
    let (_, after) = rest.split_once("r\n").unwrap();
    Model::new(format!("{before}{segments}{after}"))
}

/// The merit parameter in the first iteration of `tangor solve`.
fn first_rho(model: &Model) -> f64 {
    let trace = model.file("csv");
    run(&["solve", &model.file("nl"), "--quiet", "--trace", &trace]);
    let table = std::fs::read_to_string(&trace).unwrap();
    let mut lines = table.lines();
    let column = lines.next().unwrap().split(',').position(|name| name == "rho").expect("the table has this column");
    lines.next().unwrap().split(',').nth(column).unwrap().parse().unwrap()
}

#[test]
fn a_run_begins_with_the_multipliers_of_the_file() {
    let cold = Model::new(HS71);
    assert_eq!(code(&run(&[cold.stub(), "-AMPL"])), 0);
    let answer = cold.answer();
    let (_, values) = answer.split_once("\n2\n2\n4\n4\n").unwrap();
    let values: Vec<f64> = values.lines().map_while(|line| line.parse().ok()).collect();
    let warm = started(&values[2..6], &values[..2]);
    assert_eq!(code(&run(&[warm.stub(), "-AMPL"])), 0);
    assert!(warm.answer().contains("\n0 iterations"), "{}", warm.answer());
    assert_eq!(result_number(&warm.answer()), 0);
    // A guess is used unless it is declined: the merit parameter is at least its norm.
    let far = started(&[1.0, 5.0, 5.0, 1.0], &[300.0, -400.0]);
    assert!(first_rho(&far) > 10.0 * first_rho(&cold));
    assert_eq!(code(&run(&[far.stub(), "-AMPL", "dualguess=0"])), 0);
    assert_eq!(far.answer(), answer);
}

#[test]
fn a_run_warns_of_what_is_not_smooth() {
    let model = Model::new(HS71.replacen("C1\no54\n4\no5\nv0\nn2\n", "C1\no54\n4\no5\no15\nv0\nn2\n", 1));
    std::fs::write(model.file("row"), "product\nsphere\x1b[2J\nlength\n").unwrap();
    let sentence = "warning: The formulas are not smooth: abs (once, in constraint sphere\\u{1b}[2J). Derivatives are those of one side.\n";
    for arguments in [&["solve", &model.file("nl")][..], &["solve", &model.file("nl"), "--quiet"], &[model.stub(), "-AMPL"]] {
        let output = run(arguments);
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        assert!(stdout(&output).contains(sentence), "{}", stdout(&output));
    }
    let output = run(&["solve", &model.file("nl"), "--json"]);
    assert!(stdout(&output).starts_with('{') && !stdout(&output).contains("warning: "));
}

#[test]
fn the_version_and_the_keywords_are_told() {
    assert!(stdout(&run(&["-v"])).starts_with("Tangor 0."));
    assert!(stdout(&run(&["-="])).contains("timelimit=SECONDS"));
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_is_answered_with_its_best_point() {
    // A chain of many variables with a tolerance that nothing meets.
    let n = 400;
    let mut text = format!(
        "g3 1 1 0\n {n} 0 1 0 0\n 0 1\n 0 0\n 0 {n} 0\n 0 0 0 1\n 0 0 0 0 0\n 0 {n}\n 0 0\n 0 0 0 0 0\nO0 0\no54\n{}\n",
        n - 1
    );
    for i in 1..n {
        text += &format!("o0\no2\nn100\no5\no1\nv{i}\no5\nv{}\nn2\nn2\no5\no1\nn1\nv{}\nn2\n", i - 1, i - 1);
    }
    text += &format!("b\n{}G0 {n}\n", "3\n".repeat(n));
    (0..n).for_each(|i| text += &format!("{i} 0\n"));
    let model = Model::new(text);
    let child =
        tangor(&[model.stub(), "-AMPL", "tol=1e-300", "maxit=100000000"]).stdout(std::process::Stdio::piped()).spawn().unwrap();
    interrupt(&child);
    let output = child.wait_with_output().unwrap();
    assert_eq!(code(&output), 0);
    let answer = model.answer();
    assert!([404, 500].contains(&result_number(&answer)), "{answer}");
    assert!(answer.contains(&format!("\n0\n0\n{n}\n{n}\n")), "the point is there: {answer}");
}
