//! Finds the collection, and compares numbers.
#![allow(dead_code, reason = "every test uses its own part")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tangor_sif::Options;

/// The folder with the files, and beside it the one with the references.
pub struct Collection {
    files: PathBuf,
}

impl Collection {
    /// The folder that `MASTSIF` names, or `../shared/cutest/sif` beside the workspace; says so when there is none.
    pub fn find() -> Option<Self> {
        let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/cutest/sif");
        let files = std::env::var_os("MASTSIF").map_or(beside, PathBuf::from);
        if files.is_dir() {
            return Some(Collection { files });
        }
        println!("SKIPPED: {} is not a folder; set MASTSIF to the folder of the SIF files", files.display());
        None
    }

    /// The same, and further files in `../more` beside it, where there are any.
    pub fn all() -> Vec<Self> {
        let Some(first) = Collection::find() else { return Vec::new() };
        let more = first.files.join("../more/sif");
        if more.is_dir() {
            return vec![first, Collection { files: more }];
        }
        println!("SKIPPED: {} is not a folder", more.display());
        vec![first]
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.files.join(format!("{name}.SIF"))
    }

    /// All files, in alphabetical order.
    pub fn files(&self) -> Vec<PathBuf> {
        let mut files: Vec<PathBuf> = std::fs::read_dir(&self.files)
            .expect("the folder can be read")
            .map(|entry| entry.expect("an entry can be read").path())
            .filter(|path| path.extension().is_some_and(|extension| extension == "SIF"))
            .collect();
        files.sort();
        files
    }

    /// The references with the names of their files. The names of variables and rows, where there are any, are
    /// under `names`.
    pub fn references(&self) -> impl Iterator<Item = (Value, String)> {
        let folder = self.files.join("../reference");
        let names = self.files.join("../names");
        let mut files: Vec<PathBuf> = match std::fs::read_dir(&folder) {
            Ok(entries) => entries.map(|entry| entry.expect("an entry can be read").path()).collect(),
            Err(_) => Vec::new(),
        };
        files.sort();
        files.into_iter().map(move |path| {
            let mut reference = load(&path);
            let stem = path.file_name().expect("a file has a name");
            let named = names.join(stem);
            if named.is_file() {
                reference["names"] = load(&named);
            }
            let name = reference["name"].as_str().expect("a reference has a name").to_string();
            (reference, name)
        })
    }
}

/// The options that a reference was made with.
pub fn options(reference: &Value) -> Options {
    reference["params"].as_object().into_iter().flatten().fold(Options::default(), |options, (name, value)| {
        let value = value.as_str().and_then(|text| text.parse().ok()).expect("a parameter of the reference is a number");
        options.parameter(name, value)
    })
}

fn load(path: &Path) -> Value {
    let text = std::fs::read_to_string(path).unwrap_or_else(|cause| panic!("{}: {cause}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|cause| panic!("{}: {cause}", path.display()))
}

/// The largest difference relative to the largest entry, and where it is. Two NaN agree; infinities agree when equal.
pub fn largest_difference(found: &[f64], expected: &[f64]) -> (f64, usize) {
    assert_eq!(found.len(), expected.len());
    let scale = expected.iter().filter(|entry| entry.is_finite()).fold(0.0f64, |scale, entry| scale.max(entry.abs()));
    let mut worst = (0.0, 0);
    for (k, (&a, &b)) in found.iter().zip(expected).enumerate() {
        let difference = if a == b || (a.is_nan() && b.is_nan()) { 0.0 } else { (a - b).abs() / scale };
        if difference > worst.0 || difference.is_nan() {
            worst = (difference, k);
            if difference.is_nan() {
                return worst;
            }
        }
    }
    worst
}

/// A sparse matrix by place; entries at the same place are added.
pub fn by_place(rows: &[usize], columns: &[usize], values: &[f64]) -> BTreeMap<(usize, usize), f64> {
    let mut matrix = BTreeMap::new();
    for ((&row, &column), &value) in rows.iter().zip(columns).zip(values) {
        *matrix.entry((row, column)).or_insert(0.0) += value;
    }
    matrix
}

/// Both matrices at the places of either.
pub fn same_places(a: &BTreeMap<(usize, usize), f64>, b: &BTreeMap<(usize, usize), f64>) -> (Vec<f64>, Vec<f64>) {
    let places: std::collections::BTreeSet<_> = a.keys().chain(b.keys()).collect();
    let at = |matrix: &BTreeMap<_, f64>, place| matrix.get(place).copied().unwrap_or(0.0);
    places.into_iter().map(|place| (at(a, place), at(b, place))).unzip()
}
