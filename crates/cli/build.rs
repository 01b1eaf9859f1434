//! What `tangor --version --verbose` says of the build: commit, compiler and profile.

use std::process::Command;

fn main() {
    // A commit changes the log of the repository's head; a package without a repository has none.
    if let Some(log) = output("git", &["rev-parse", "--git-path", "logs/HEAD"]) {
        println!("cargo::rerun-if-changed={log}");
    }
    println!("cargo::rerun-if-changed=build.rs");
    let unknown = || "unknown".to_string();
    let commit = output("git", &["rev-parse", "--short=12", "HEAD"]).unwrap_or_else(unknown);
    let compiler = std::env::var("RUSTC").ok().and_then(|rustc| output(&rustc, &["--version"])).unwrap_or_else(unknown);
    let variable = |name: &str| std::env::var(name).unwrap_or_else(|_| unknown());
    println!("cargo::rustc-env=TANGOR_COMMIT={commit}");
    println!("cargo::rustc-env=TANGOR_COMPILER={compiler}");
    println!("cargo::rustc-env=TANGOR_TARGET={}", variable("TARGET"));
}

fn output(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok().filter(|output| output.status.success())?;
    String::from_utf8(output.stdout).ok().map(|text| text.trim().to_string()).filter(|text| !text.is_empty())
}
