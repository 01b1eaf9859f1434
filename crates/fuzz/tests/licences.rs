//! What Tangor is built of: licences that go with its own, and nothing from outside of the registry. `cargo deny` knows more, but is not
//! installed everywhere; the list of licences is the one in its `deny.toml`.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// The licences between the brackets after `allow`.
fn allowed(text: &str) -> Vec<String> {
    let list = text.split("allow = [").nth(1).and_then(|rest| rest.split(']').next()).unwrap_or_default();
    list.split(',').map(|word| word.trim().trim_matches('"').to_string()).collect()
}

/// Whether an expression such as `(MIT OR Apache-2.0) AND Unicode-3.0` can be satisfied: each part of an AND by one of an OR.
fn satisfied(expression: &str, allowed: &[String]) -> bool {
    let plain = expression.replace(" / ", " OR ").replace('/', " OR ");
    let parts = plain.split(" AND ").map(|part| part.trim().trim_matches(['(', ')']).to_string());
    parts.into_iter().all(|part| part.split(" OR ").any(|one| allowed.iter().any(|licence| licence == one.trim())))
}

#[test]
fn all_licences_are_compatible() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let allowed = allowed(&std::fs::read_to_string(root.join("deny.toml")).expect("deny.toml"));
    assert!(satisfied("(MIT OR Apache-2.0) AND Unicode-3.0", &allowed) && satisfied("Unlicense/MIT", &allowed));
    assert!(!satisfied("GPL-3.0-only", &allowed) && !satisfied("MIT AND GPL-2.0", &allowed));
    let metadata =
        Command::new(env!("CARGO")).args(["metadata", "--offline", "--format-version", "1"]).current_dir(&root).output();
    let output = metadata.expect("cargo runs");
    if !output.status.success() {
        println!("skipped: the sources of the dependencies are not here");
        return;
    }
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let packages = metadata["packages"].as_array().expect("packages");
    assert!(packages.len() > 20);
    for package in packages {
        let (name, licence) = (&package["name"], package["license"].as_str().unwrap_or("none"));
        assert!(satisfied(licence, &allowed), "{name} has the licence {licence}");
        let source = package["source"].as_str().unwrap_or("registry+");
        assert!(source.starts_with("registry+"), "{name} comes from {source}");
    }
}

/// Whoever has a package alone has the text of its licences, too.
#[test]
fn every_published_crate_has_the_texts_of_both_licences() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = |path: &Path| std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut published = 0;
    for entry in std::fs::read_dir(root.join("crates")).expect("the crates are here") {
        let folder = entry.expect("it can be read").path();
        if text(&folder.join("Cargo.toml")).contains("publish = false") {
            continue;
        }
        published += 1;
        for name in ["LICENSE-MIT", "LICENSE-APACHE"] {
            assert_eq!(text(&folder.join(name)), text(&root.join(name)), "{}", folder.display());
        }
    }
    assert!(published > 10, "{published} crates");
}
