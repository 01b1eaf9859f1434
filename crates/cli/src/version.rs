//! What this program is, in detail.

use std::ffi::OsString;

/// Whether the arguments ask for the version in detail: `--version` and `--verbose`, in either order, and nothing else.
pub fn is_asked_for(words: &[OsString]) -> bool {
    let is = |word: &OsString, names: [&str; 2]| names.iter().any(|name| word == name);
    let (version, verbose) = (["--version", "-V"], ["--verbose", "-v"]);
    match words {
        [a, b] => (is(a, version) && is(b, verbose)) || (is(a, verbose) && is(b, version)),
        _ => false,
    }
}

/// A line for each thing that matters in a report of a mistake.
pub fn in_detail() -> String {
    let features = match (cfg!(feature = "ipopt"), cfg!(feature = "mpi")) {
        (true, true) => "ipopt, mpi",
        (true, false) => "ipopt",
        (false, true) => "mpi",
        (false, false) => "none",
    };
    format!(
        "tangor {}\ncommit: {}\nfeatures: {features}\ntarget: {}\ncompiler: {}\nprocessors: {}",
        env!("CARGO_PKG_VERSION"),
        env!("TANGOR_COMMIT"),
        env!("TANGOR_TARGET"),
        env!("TANGOR_COMPILER"),
        std::thread::available_parallelism().map_or(1, usize::from)
    )
}
