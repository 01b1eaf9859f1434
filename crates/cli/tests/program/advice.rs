//! What the program says of a run that did not solve its problem: what stands in the way, and what to try.

use std::path::Path;

use crate::oracle::example;
use crate::{code, run, run_json, stdout};

/// What a run prints, in one line.
fn told(arguments: &[&str]) -> String {
    stdout(&run(arguments)).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The word after a text.
fn word_after<'a>(text: &'a str, before: &str) -> &'a str {
    let (_, rest) = text.split_once(before).unwrap_or_else(|| panic!("{before:?} is missing from {text}"));
    rest.split(' ').next().unwrap_or_default().trim_end_matches([';', '.'])
}

#[test]
fn a_tolerance_below_the_noise_is_told_from_a_point_that_is_not_good_enough() {
    let noisy = ["solve", "HS71", "--quiet", "--noise", "1"];
    let text = told(&[&noisy[..], &["--tolerance", "1e-6"]].concat());
    assert!(
        text.contains("Not solved: noise hides whether stationarity, feasibility and complementarity are within"),
        "{text}"
    );
    assert!(!text.contains("above 1e-6") && text.contains("unclear 1e-6"), "{text}");
    // Ten times the iterations or samples do not make 1e-6 of a noise of 1.
    assert!(!text.contains("may be enough"), "{text}");
    assert!(text.contains("the tolerance is small for it"), "{text}");
    let looser = word_after(&text, "--tolerance ");
    assert!(looser.parse::<f64>().is_ok_and(|looser| (1e-3..1.0).contains(&looser)), "{text}");
    // Who follows the advice is served.
    assert_eq!(code(&run(&[&noisy[..], &["--tolerance", looser]].concat())), 0, "{looser}");
}

#[test]
fn samples_that_would_tell_are_named() {
    let noisy = ["solve", "HS71", "--quiet", "--noise", "3e-2", "--tolerance", "1e-3"];
    let text = told(&noisy);
    assert!(text.contains("Not solved: noise hides whether"), "{text}");
    let setting = word_after(&text, "Judgements on more samples can tell: --set ");
    assert!(setting.starts_with("sampling.judge.samples="), "{text}");
    assert_eq!(code(&run(&[&noisy[..], &["--set", setting]].concat())), 0, "{setting}");
}

#[test]
fn a_tolerance_below_rounding_is_no_matter_of_derivatives_or_starts() {
    let text = told(&["solve", "HS71", "--quiet", "--tolerance", "1e-16"]);
    assert!(text.contains("Rounding is in the way") && !text.contains("tangor check"), "{text}");
    let attainable = word_after(&text, "no less than --tolerance ");
    assert_eq!(code(&run(&["solve", "HS71", "--quiet", "--tolerance", attainable])), 0, "{attainable}");
}

/// minimise (p - 1e7)^4 + (m - 3)^4
const UNITS: &str = "\
NAME          UNITS
VARIABLES
    PASCALS
    METRES
GROUPS
 N  P         PASCALS   1.0
 N  M         METRES    1.0
CONSTANTS
    RHS       P         1.0E7
    RHS       M         3.0
BOUNDS
 FR BND       'DEFAULT'
START POINT
    ST        PASCALS   9.0E6
    ST        METRES    1.0
GROUP TYPE
 GV L4        T
GROUP USES
 T  P         L4
 T  M         L4
ENDATA
GROUPS        UNITS
INDIVIDUALS
 T  L4
 F                      T**4
 G                      4.0*T**3
 H                      12.0*T**2
ENDATA
";

#[test]
fn variables_in_unlike_units_are_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("UNITS.SIF");
    std::fs::write(&path, UNITS).expect("a file");
    let file = path.to_str().expect("a name");
    let text = told(&["solve", file, "--quiet", "--max-iterations", "1"]);
    assert!(text.contains("Variables differ much in size (PASCALS is ") && text.contains(", METRES is "), "{text}");
    assert!(text.contains("another scaling (--set scaling=none), may help"), "{text}");
    let text = told(&["solve", file, "--quiet", "--max-iterations", "1", "--set", "scaling=none"]);
    assert!(text.contains("another scaling (--set scaling=full), may help"), "{text}");
    let alike = told(&["solve", "HS71", "--quiet", "--max-iterations", "1"]);
    assert!(!alike.contains("differ much"), "{alike}");
}

#[test]
fn a_headline_claims_no_more_than_the_residuals() {
    let text = told(&["solve", "HS15", "--quiet", "--max-iterations", "4"]);
    assert!(text.contains("stationarity 0.00e+00"), "the case is another one now: {text}");
    assert!(text.contains("Not solved: feasibility and complementarity are above their tolerances."), "{text}");
}

#[test]
fn what_the_noise_allows_is_said_and_certified_to() {
    // Rows that depend on each other, a cusp without multipliers, and multipliers from 100 to 2,000: noise of 1e-4 hides 1e-6 in all of them.
    for name in ["REDUNDANT", "TWICE", "HS13", "HS15", "HS37", "HS83"] {
        let noisy = ["solve", name, "--quiet", "--noise", "1e-4", "--max-iterations", "1000"];
        let text = told(&noisy);
        assert!(text.contains("It is the noise that is in the way"), "{name}: {text}");
        let allowed = word_after(&text, "--tolerance ");
        let bound: f64 = allowed.parse().unwrap_or_else(|_| panic!("{name}: {allowed} is no number"));
        assert!(bound > 1e-6 && bound < 0.3, "{name}: {bound}");
        let certified = run(&["solve", name, "--quiet", "--noise", "1e-4", "--tolerance", allowed]);
        assert_eq!(code(&certified), 0, "{name} to {allowed}: {}", stdout(&certified));
    }
}

/// The example HS71 with another line in place of one of its own.
fn with_line(folder: &Path, right: &str, wrong: &str) -> Option<String> {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/python");
    let model = std::fs::read_to_string(examples.join("hs71.py")).expect("the example is there");
    assert!(model.contains(right));
    let path = folder.join("model.py");
    std::fs::write(&path, model.replace(right, wrong).replace("import math", "import math, random\n\nrandom.seed(1)"))
        .expect("a file");
    std::fs::copy(examples.join("oracle.py"), folder.join("oracle.py")).expect("a file");
    example("hs71.py").map(|_| format!("python3 -B '{}'", path.display()))
}

#[test]
fn an_oracle_that_answers_nonsense_is_suspected() {
    let folder = tempfile::tempdir().expect("a folder");
    let gradient = "return [x[3] * (x[0] + total), x[0] * x[3], x[0] * x[3] + 1.0, x[0] * total]";
    let wrong = "return [-x[3] * (x[0] + total), -x[0] * x[3], -x[0] * x[3] - 1.0, -x[0] * total]";
    let Some(command) = with_line(folder.path(), gradient, wrong) else { return };
    let text = told(&["solve", "--oracle", &command, "--quiet", "--max-iterations", "300"]);
    assert!(text.contains("Steps had to be shortened in ") && text.contains("`tangor check` tells whether"), "{text}");
    let check = run(&["check", "--oracle", &command]);
    assert_ne!(code(&check), 0, "{}", stdout(&check));

    let objective = "return x[0] * x[3] * (x[0] + x[1] + x[2]) + x[2]";
    let random = "return random.gauss(x[0] * x[3] * (x[0] + x[1] + x[2]) + x[2], 1e-3)";
    let Some(command) = with_line(folder.path(), objective, random) else { return };
    // A tolerance that hardly any run meets; the seed of the model keeps it from a corner where all residuals are zero.
    let text = told(&["solve", "--oracle", &command, "--quiet", "--max-iterations", "300", "--tolerance", "1e-300"]);
    assert!(text.contains("The functions gave other values when they were asked again") && !text.contains("scaling"), "{text}");

    let random = gradient.replace("return [x[3]", "return [random.gauss(0.0, 1e-3) + x[3]");
    let Some(command) = with_line(folder.path(), gradient, &random) else { return };
    let text = told(&["solve", "--oracle", &command, "--quiet", "--max-iterations", "300", "--tolerance", "1e-300"]);
    assert!(text.contains("The functions gave other values when they were asked again"), "{text}");
}

/// Free variables X and Y, with these groups and constants.
fn plane(folder: &Path, groups: &str, constants: &str) -> String {
    let path = folder.join("PLANE.SIF");
    let text = format!(
        "NAME          PLANE\nVARIABLES\n    X\n    Y\nGROUPS\n{groups}CONSTANTS\n{constants}BOUNDS\n FR PLANE     'DEFAULT'\nENDATA\n"
    );
    std::fs::write(&path, text).expect("a file");
    path.to_str().expect("the path is UTF-8").to_string()
}

#[test]
fn constraints_that_contradict_each_other_are_no_matter_of_derivatives() {
    let folder = tempfile::tempdir().expect("a folder");
    let rows = " E  LOW       X         1.0            Y         1.0\n E  HIGH      X         1.0            Y         1.0\n";
    let path = plane(folder.path(), rows, "    PLANE     LOW       1.0            HIGH      3.0\n");
    let text = told(&["solve", &path, "--quiet"]);
    assert!(text.contains("No small change mends one violated constraint without harm to another: look at "), "{text}");
    assert!(text.contains("--starts 20") && !text.contains("tangor check"), "{text}");
}

#[test]
fn an_unbounded_problem_is_asked_about_and_not_called_nearly_solved() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = plane(folder.path(), " N  COST      X         3.0E-6\n", "");
    let output = run(&["solve", &path, "--quiet"]);
    let text = stdout(&output);
    assert_eq!(code(&output), 6, "{text}");
    assert!(text.contains("Is a bound or a constraint missing") && !text.contains("Only stationarity"), "{text}");
}

/// At the solution of HS13 no multipliers exist: what the message says of the point is what its residuals say, and the advice is not to wait.
#[test]
fn the_end_of_hs13_is_explained() {
    let (report, exit) = run_json(&["solve", "HS13", "--json"]);
    let (message, number) = (report["message"].as_str().unwrap(), |name: &str| report[name].as_f64().unwrap());
    assert_eq!(exit, 5, "{message}");
    assert!(number("stationarity") <= 1e-6 && number("complementarity") > 1e-6, "{report}");
    assert!((number("objective") - 1.0).abs() < 1e-4, "{report}");
    assert!(message.ends_with("the point is feasible, but its complementarity is above the tolerance."), "{message}");
    let text = told(&["solve", "HS13", "--quiet"]);
    assert!(text.contains("Not solved: the point is feasible, but its complementarity is above the tolerance."), "{text}");
    assert!(text.contains("It is a Fritz John point") && !text.contains("--max-iterations"), "{text}");
}

/// What is broken is broken at every start.
#[cfg(unix)]
#[test]
fn a_broken_oracle_is_not_told_to_start_elsewhere() {
    let introduction = r#"{"tangor":1,"name":"gone","n":1,"x0":[1],"objective":"value"}"#;
    let command = format!(
        r#"sh -c 'read line; echo '\''{introduction}'\''; read line; echo '\''{{"id":1,"error":"the data are gone"}}'\'''"#
    );
    let text = told(&["solve", "--quiet", "--oracle", &command]);
    assert!(text.contains("the data are gone") && text.contains("no other start or setting mends it"), "{text}");
    assert!(!text.contains("POINT.json"), "{text}");
}
