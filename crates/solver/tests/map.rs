//! The map of the source in docs/algorithm.md is true: what it names is there, and what is there has its place on it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn page() -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/algorithm.md")).expect("the page")
}

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// All files below a folder, with their paths from the source's own.
fn files(folder: &Path, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()) {
        if entry.is_dir() {
            files(&entry, found);
        } else {
            let name = entry.strip_prefix(source()).expect("below it");
            found.insert(name.to_string_lossy().replace('\\', "/"));
        }
    }
}

/// What stands between backticks and is the name of a file.
fn named(page: &str) -> BTreeSet<String> {
    let words = page.split('`').skip(1).step_by(2);
    words.filter(|word| word.ends_with(".rs") && !word.contains("src/")).map(str::to_string).collect()
}

#[test]
fn every_file_is_on_the_map_and_nothing_else() {
    let (mut there, named) = (BTreeSet::new(), named(&page()));
    files(&source(), &mut there);
    assert!(there.len() > 90, "{there:?}");
    let missing: Vec<_> = named.difference(&there).collect();
    assert!(missing.is_empty(), "docs/algorithm.md names files that are not there: {missing:?}");
    // A room's own file is named by its folder; tests belong to what they test.
    let is_room = |file: &&String| file.ends_with("/mod.rs") || file.ends_with("/tests.rs");
    let unnamed: Vec<_> = there.difference(&named).filter(|file| !is_room(file)).collect();
    assert!(unnamed.is_empty(), "docs/algorithm.md does not name {unnamed:?}");
}
