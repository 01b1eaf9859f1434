use std::fmt;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};
use tangor_problem::Problem;

use crate::{bounds, chain, equalities, inequalities, larger, mixed, peculiar};

/// A problem of the collection and what is known of it.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// What to ask [`find`] for.
    pub name: &'static str,
    /// What it is, in a line.
    pub title: &'static str,
    /// Where it was published.
    pub source: &'static str,
    /// Which kinds of constraints it has.
    pub kind: Kind,
    /// Its known solution.
    pub known: Known,
    /// Builds the problem.
    pub build: fn() -> Box<dyn Problem + Send>,
}

/// Which kinds of constraints a problem has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// No constraints at all.
    Unconstrained,
    /// Only bounds on the variables.
    Bounds,
    /// Equalities; neither bounds nor inequalities.
    Equalities,
    /// Inequalities or ranges, perhaps bounds; no equalities.
    Inequalities,
    /// Equalities together with inequalities or bounds.
    Mixed,
    /// No objective: constraints to satisfy.
    System,
}

impl fmt::Display for Kind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(match self {
            Kind::Unconstrained => "unconstrained",
            Kind::Bounds => "bounds",
            Kind::Equalities => "equalities",
            Kind::Inequalities => "inequalities",
            Kind::Mixed => "mixed",
            Kind::System => "system",
        })
    }
}

/// What is known of a problem's solution.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    /// What the point is.
    pub what: What,
    /// The objective there; none for a system, and none for an infeasible problem.
    pub objective: Option<f64>,
    /// The point, or one of them.
    pub x: fn() -> Vec<f64>,
    /// What is peculiar, or empty.
    pub note: &'static str,
}

/// What a known point is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// The best solution, with Lagrange multipliers.
    Solution,
    /// The best solution, but no constraint qualification holds there and no multipliers exist: it is not a KKT point, and
    /// only points nearby are so approximately.
    SolutionWithoutMultipliers,
    /// There is no feasible point; here the violation of the constraints is stationary.
    Infeasible,
}

/// All problems, those of a kind together.
///
/// ```
/// use tangor_collection::{Kind, entries};
///
/// let systems: Vec<&str> = entries().iter().filter(|entry| entry.kind == Kind::System).map(|entry| entry.name).collect();
/// assert_eq!(systems, ["HS8", "HIMMELBLAU"]);
/// ```
pub fn entries() -> &'static [Entry] {
    static ALL: LazyLock<Vec<Entry>> = LazyLock::new(|| {
        let unconstrained = bounds::ENTRIES.iter();
        let constrained = [equalities::ENTRIES, inequalities::ENTRIES, larger::ENTRIES, mixed::ENTRIES];
        let special = [peculiar::ENTRIES, chain::ENTRIES];
        unconstrained.chain(constrained.into_iter().chain(special).flatten()).copied().collect()
    });
    &ALL
}

/// The problem of this name, in upper or lower case.
///
/// ```
/// use tangor_collection::find;
///
/// assert_eq!(find("hs71").map(|entry| entry.name), Ok("HS71"));
/// assert_eq!(find("rosenbroc").unwrap_err().nearest[0], "ROSENBROCK");
/// ```
pub fn find(name: &str) -> Result<&'static Entry, Unknown> {
    let same = |entry: &&Entry| entry.name.eq_ignore_ascii_case(name);
    entries()
        .iter()
        .find(same)
        .ok_or_else(|| Unknown { name: name.to_owned(), nearest: nearest(name, entries().iter().map(|entry| entry.name)) })
}

/// No problem has this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the collection has no problem {name:?}; the nearest names are {}", nearest.join(", "))]
pub struct Unknown {
    /// The name that was asked for.
    pub name: String,
    /// The nearest names there are, best first.
    pub nearest: Vec<&'static str>,
}

/// The names that are nearest to one that is not among them, best first, in upper or lower case.
///
/// ```
/// assert_eq!(tangor_collection::nearest("hs7i", ["HS6", "HS7", "HS71", "maratos"]), ["HS71", "HS7", "HS6"]);
/// ```
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    const SHOWN: usize = 3;
    let wanted = name.to_ascii_uppercase();
    let mut names: Vec<&str> = known.into_iter().collect();
    // Of names as near, one of the same length is more likely meant: a wrong letter rather than a missing one.
    names.sort_by_cached_key(|known| {
        (edit_distance(&wanted, &known.to_ascii_uppercase()), known.len().abs_diff(name.len()), *known)
    });
    names.truncate(SHOWN);
    names
}

/// How many letters must be inserted, removed or replaced (Levenshtein), one row of the table at a time.
fn edit_distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, &b) in to.iter().enumerate() {
            let replaced = diagonal + usize::from(a != b);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_counted() {
        let cases = [("", "abc", 3), ("HS71", "HS71", 0), ("HS17", "HS71", 2), ("kitten", "sitting", 3), ("abc", "", 3)];
        for (from, to, expected) in cases {
            assert_eq!(edit_distance(from, to), expected, "{from} to {to}");
        }
    }

    #[test]
    fn a_wrong_name_gets_the_nearest_ones() {
        assert_eq!(find("marAtos").map(|entry| entry.name), Ok("MARATOS"));
        let unknown = find("Marathos").unwrap_err();
        assert_eq!(unknown.nearest[0], "MARATOS");
        assert!(unknown.to_string().starts_with("the collection has no problem \"Marathos\"; the nearest names are MARATOS, "));
    }
}
