use std::fs;
use std::path::Path;

use crate::{code, refusal, run, stdout};

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
