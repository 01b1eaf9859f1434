//! All targets, for a while: no panic, no abort, no input that takes long.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, Instant};

use tangor_fuzz::{Random, Seeds, TARGETS, Target, mutated};

/// No single input may take longer than this, even on a loaded machine.
const LONGEST: Duration = Duration::from_secs(20);

fn from_environment(name: &str, default: f64) -> f64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Reads an input; a panic names it. It is on disk before it is read, so that it can be found after an abort, too.
fn attempt(target: &Target, bytes: &[u8], folder: &Path, which: &str) -> bool {
    let last = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("last-{}", target.name));
    std::fs::write(&last, bytes).expect("the input can be kept");
    let start = Instant::now();
    let read = catch_unwind(AssertUnwindSafe(|| (target.read)(bytes, folder)));
    let time = start.elapsed();
    assert!(time < LONGEST, "{} took {time:?} for {which}, which is in {}", target.name, last.display());
    read.unwrap_or_else(|_| panic!("{} panicked on {which}, which is in {}", target.name, last.display()))
}

#[test]
fn what_is_kept_does_no_harm() {
    let folder = tempfile::tempdir().expect("a folder");
    for target in &TARGETS {
        let seeds = Seeds::of(target.name);
        assert!(!seeds.good.is_empty(), "{} has nothing to begin with", target.name);
        for (k, bytes) in seeds.good.iter().enumerate() {
            assert!(attempt(target, bytes, folder.path(), "a good input"), "good input {k} of {} is refused", target.name);
        }
        for (path, bytes) in &seeds.kept {
            attempt(target, bytes, folder.path(), &path.display().to_string());
        }
    }
}

#[test]
fn damaged_inputs_do_no_harm() {
    let folder = tempfile::tempdir().expect("a folder");
    let seconds = from_environment("TANGOR_FUZZ_SECONDS", 10.0) / TARGETS.len() as f64;
    let first = from_environment("TANGOR_FUZZ_SEED", 0.0) as u64;
    for target in &TARGETS {
        let seeds = Seeds::of(target.name);
        let (clock, mut tried, mut accepted) = (Instant::now(), 0, 0);
        while clock.elapsed().as_secs_f64() < seconds || tried < 200 {
            let bytes = mutated(&seeds.good, &mut Random::new(first + tried));
            accepted += u64::from(attempt(target, &bytes, folder.path(), &format!("TANGOR_FUZZ_SEED={}", first + tried)));
            tried += 1;
        }
        println!("{:<11}{tried} inputs, {accepted} of them readable", target.name);
        // If all were refused at once, or none, nothing would have been tested.
        assert!(accepted > 0 && accepted < tried, "{}: {accepted} of {tried} inputs were readable", target.name);
    }
}
