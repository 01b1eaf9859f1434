use std::fs;

use serde_json::json;

use crate::{code, refusal, run, run_json, stderr, stdout};

#[test]
fn settings_come_from_arguments() {
    let arguments =
        ["solve", "HS71", "--json", "--tolerance", "1e-4", "--set", "metric.kind=identity", "--set", "merit.rho0=2"];
    let (report, _) = run_json(&arguments);
    let settings = &report["settings"];
    assert_eq!(settings["tolerance"]["stationarity"], 1e-4);
    assert_eq!(settings["tolerance"]["complementarity"], 1e-4);
    assert_eq!(settings["metric"]["kind"], "identity");
    assert_eq!(settings["merit"]["rho0"], 2.0);
}

#[test]
fn a_preset_comes_before_all_that_is_set_one_by_one() {
    let first = ["solve", "HS71", "--json", "--max-iterations", "3", "--confidence", "0.99", "--batch", "3"];
    let also = ["--momentum", "0.3", "--estimator", "minibatch", "--set", "sampling.judge.batches=30"];
    let last = ["--set", "limits.idle=7", "--set", "preset=paper"];
    let (report, _) = run_json(&[&first[..], &also, &last].concat());
    let (settings, sampling) = (&report["settings"], &report["settings"]["sampling"]);
    assert_eq!((&sampling["judge"]["confidence"], &sampling["judge"]["batches"]), (&json!(0.99), &json!(30)));
    for function in ["gradient", "constraints", "jacobian"] {
        assert_eq!(sampling[function]["batch"], json!({"constant": {"size": 3}}));
        assert_eq!(sampling[function]["momentum"], json!({"constant": {"a": 0.3}}));
        assert_eq!(sampling[function]["estimator"], "minibatch");
    }
    assert_eq!((&settings["limits"]["iterations"], &settings["limits"]["idle"]), (&json!(3), &json!(7)));
    // All else is what the preset says.
    assert_eq!((&settings["metric"]["kind"], &settings["merit"]["falls"]), (&json!("identity"), &json!(false)));
    assert_eq!((&sampling["replacement"], &settings["limits"]["escapes"]), (&json!(true), &json!(0)));
}

#[test]
fn a_preset_and_what_was_set_on_top_of_it_can_be_said_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let state = folder.path().join("state");
    let state = state.to_str().expect("a path");
    let set = ["solve", "HS71", "--quiet", "--set", "preset=paper", "--set", "merit.rho0=2"];
    run(&[&set[..], &["--max-iterations", "2", "--checkpoint", state]].concat());
    let output = run(&[&set[..], &["--max-iterations", "3", "--resume", state]].concat());
    assert_ne!(code(&output), 1, "{}", stderr(&output));
    let message = refusal(&["solve", "HS71", "--resume", state, "--set", "preset=default", "--set", "merit.rho0=2"]);
    assert!(message.contains("the setting preset cannot be changed in a resumed run"), "{message}");
}

#[test]
fn arguments_win_over_a_file_and_the_file_over_defaults() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("settings.toml");
    fs::write(&file, "[merit]\nrho0 = 3.0\n[limits]\niterations = 7\n").expect("a file");
    let file = file.to_str().expect("a path");
    let (report, _) = run_json(&["solve", "HS71", "--json", "--config", file, "--max-iterations", "5"]);
    assert_eq!(report["settings"]["merit"]["rho0"], 3.0);
    assert_eq!(report["settings"]["limits"]["iterations"], 5);
    assert_eq!(report["settings"]["scaling"], "full");
}

#[test]
fn the_written_defaults_are_the_defaults() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("settings.toml");
    fs::write(&file, stdout(&run(&["options", "--format", "toml"]))).expect("a file");
    let (with_file, code) = run_json(&["solve", "HS71", "--json", "--config", file.to_str().expect("a path")]);
    let (without, _) = run_json(&["solve", "HS71", "--json"]);
    assert_eq!(code, 0);
    assert_eq!(with_file["settings"], without["settings"]);
    assert_eq!(with_file["x"], without["x"]);
}

#[test]
fn mistakes_are_explained() {
    for (assignment, expected) in [
        ("merit.rho1=1", "error: there is no setting merit.rho1; the nearest are merit.rho0, "),
        ("rho0=1", "error: there is no setting rho0; the nearest are merit.rho0, "),
        ("limits=1", "error: there is no setting limits; the nearest are limits.escapes, "),
        ("stepsize.tau=2", "error: setting stepsize.tau is 2, but must be between 0 and 1"),
        ("metric.kind=spectrl", "unknown variant `spectrl`, expected one of `identity`, `spectral`"),
        ("preset=papre", "error: setting preset=papre: there are the presets `default` and `paper`"),
        ("prest=paper", "error: there is no setting prest; the nearest are preset, "),
        ("merit.rho0", "an equals sign is missing; write for example merit.rho0=1"),
    ] {
        let message = refusal(&["solve", "HS71", "--set", assignment]);
        assert!(message.contains(expected), "{assignment}: {message}");
    }
    let message = refusal(&["solve", "HS71", "--time-limit", "soon"]);
    assert!(message.contains("\"soon\" is not a duration; write for example 10s"), "{message}");
    let message = refusal(&["solve", "HS71", "--tolerance", "-1"]);
    assert!(message.contains("-1"), "{message}");
    for (arguments, expected) in [
        (["--max-iterations", "many"], "a whole number is expected, as in 100"),
        (["--noise", "little"], "a number is expected, as in 0.01 or 1e-2"),
        (["--noise", "-1"], "the noise level of the gradient is -1, but must be"),
    ] {
        let message = refusal(&["solve", "HS71", arguments[0], arguments[1]]);
        assert!(message.contains(expected), "{arguments:?}: {message}");
    }
    let message = refusal(&["solve", "HS71", "--config", "no/such/file.toml"]);
    assert!(message.starts_with("error: the file no/such/file.toml cannot be read: "), "{message}");
}

#[test]
fn a_mistake_in_a_file_is_shown_where_it_is() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("settings.toml");
    fs::write(&file, "[merit]\nrho1 = 3.0\n").expect("a file");
    let message = refusal(&["solve", "HS71", "--config", file.to_str().expect("a path")]);
    assert!(
        message.contains("line 2") && message.contains("unknown field `rho1`, expected one of `falls`, `rho0`"),
        "{message}"
    );
}

#[test]
fn options_can_be_searched() {
    let output = run(&["options", "merit"]);
    assert_eq!(code(&output), 0);
    let text = stdout(&output);
    assert!(text.contains("merit.rho0 = 0.01") && !text.contains("kernel"), "{text}");
    let text = stdout(&run(&["options", "preset"]));
    assert!(text.contains("preset = default") && text.contains("- paper: "), "{text}");
    assert!(stdout(&run(&["solve", "--help"])).contains("preset=paper"));
    let message = refusal(&["options", "nonsense"]);
    assert!(message.contains("no setting contains \"nonsense\""), "{message}");
}
