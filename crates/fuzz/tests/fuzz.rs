//! All targets, for a while: no panic, no abort, no input that takes long.

use std::path::Path;

use tangor_fuzz::{Seeds, TARGETS, Target, mutated, overwrite, try_many, without_harm};

/// Reads an input; harm names it. It is on disk before it is read, so that it can be found after an abort, too.
fn attempt(target: &Target, bytes: &[u8], folder: &Path, which: &str) -> bool {
    let last = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("last-{}", target.name));
    overwrite(&last, bytes).expect("the input can be kept");
    without_harm(|| (target.read)(bytes, folder), || format!("{} with {which}, which is in {}", target.name, last.display()))
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

/// A state of another version is refused before anything of it is looked at, and would do no harm for that reason alone.
#[test]
fn states_that_are_kept_are_of_this_version() {
    let seeds = Seeds::of("checkpoint");
    let version = |bytes: &[u8]| Some(serde_json::from_slice::<serde_json::Value>(bytes).ok()?["version"].clone());
    let current = version(&seeds.good[0]).expect("a state has a version");
    let kept: Vec<_> = seeds.kept.iter().filter(|(path, _)| path.extension().is_some()).collect();
    assert!(!kept.is_empty());
    for (path, bytes) in kept {
        assert_eq!(version(bytes).as_ref(), Some(&current), "{}", path.display());
    }
}

#[test]
fn damaged_inputs_do_no_harm() {
    let folder = tempfile::tempdir().expect("a folder");
    for target in &TARGETS {
        let seeds = Seeds::of(target.name);
        try_many(target.name, 10.0, 1.0 / TARGETS.len() as f64, |seed, random| {
            attempt(target, &mutated(&seeds.good, random), folder.path(), &format!("TANGOR_FUZZ_SEED={seed}"))
        });
    }
}
