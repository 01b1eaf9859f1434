//! Several solvers side by side.

mod profile;
mod table;
mod text;

use std::collections::BTreeSet;
use std::path::Path;

pub use profile::Measure;
pub use table::{Entrant, Entry, of_records, read};

use crate::Error;

/// Solvers and the problems that all of them were given.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// The solvers.
    pub entrants: Vec<Entrant>,
    /// The problems, sorted.
    pub problems: Vec<String>,
    /// Residuals up to which a problem counts as solved.
    pub tolerance: f64,
}

/// Two solvers on the same problems.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Duel {
    /// Solved by both.
    pub both: Vec<String>,
    /// Solved by the first only.
    pub first_only: Vec<String>,
    /// Solved by the second only.
    pub second_only: Vec<String>,
    /// Solved by neither.
    pub neither: Vec<String>,
    /// Refused by either: nobody has lost.
    pub refused: Vec<String>,
}

/// Who needed less of something on the problems that both solved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wins {
    /// The first did.
    pub first: usize,
    /// The second did.
    pub second: usize,
    /// Neither did.
    pub ties: usize,
}

impl Comparison {
    /// Reads the files.
    pub fn of_files(paths: &[impl AsRef<Path>], tolerance: f64) -> Result<Self, Error> {
        let mut entrants: Vec<Entrant> = Vec::new();
        for path in paths {
            let path = path.as_ref();
            for mut entrant in read(path)? {
                if entrants.iter().any(|known| known.label == entrant.label) {
                    let stem = path.file_stem().map(|stem| stem.to_string_lossy()).unwrap_or_default();
                    entrant.label = format!("{} ({stem})", entrant.label);
                }
                entrants.push(entrant);
            }
        }
        Comparison::new(entrants, tolerance)
    }

    /// Keeps the problems that all entrants have.
    pub fn new(entrants: Vec<Entrant>, tolerance: f64) -> Result<Self, Error> {
        let names = |entrant: &Entrant| entrant.entries.keys().cloned().collect::<BTreeSet<String>>();
        let common = entrants.iter().map(names).reduce(|a, b| a.intersection(&b).cloned().collect());
        let problems: Vec<String> = common.unwrap_or_default().into_iter().collect();
        if problems.is_empty() {
            return Err(Error::Empty("the tables have no problem in common".into()));
        }
        Ok(Comparison { entrants, problems, tolerance })
    }

    /// The entry of a solver on a common problem.
    pub fn entry(&self, entrant: usize, problem: &str) -> Option<&Entry> {
        self.entrants.get(entrant)?.entries.get(problem)
    }

    /// Whether a solver solved a problem.
    pub fn is_solved(&self, entrant: usize, problem: &str) -> bool {
        self.entry(entrant, problem).is_some_and(|entry| entry.is_solved(self.tolerance))
    }

    /// How many common problems a solver solved to within `eps`.
    pub fn solved_within(&self, entrant: usize, eps: f64) -> usize {
        let solved = |problem: &&String| self.entry(entrant, problem).is_some_and(|entry| entry.is_solved(eps));
        self.problems.iter().filter(solved).count()
    }

    /// How many common problems it found to be infeasible and stationary.
    pub fn infeasible(&self, entrant: usize) -> usize {
        let infeasible = |problem: &&String| self.entry(entrant, problem).is_some_and(|entry| entry.infeasible);
        self.problems.iter().filter(infeasible).count()
    }

    /// How many common problems it refused.
    pub fn refused(&self, entrant: usize) -> usize {
        self.problems.iter().filter(|problem| self.is_refused(entrant, problem)).count()
    }

    /// Whether a solver refused a problem.
    pub fn is_refused(&self, entrant: usize, problem: &str) -> bool {
        self.entry(entrant, problem).is_some_and(|entry| entry.refused)
    }

    /// The problems that no solver refused: profiles are about these.
    pub fn accepted(&self) -> Vec<&String> {
        let refused = |problem: &str| (0..self.entrants.len()).any(|entrant| self.is_refused(entrant, problem));
        self.problems.iter().filter(|problem| !refused(problem)).collect()
    }

    /// Who solved what.
    pub fn duel(&self, first: usize, second: usize) -> Duel {
        let mut duel = Duel::default();
        for problem in &self.problems {
            if self.is_refused(first, problem) || self.is_refused(second, problem) {
                duel.refused.push(problem.clone());
                continue;
            }
            let list = match (self.is_solved(first, problem), self.is_solved(second, problem)) {
                (true, true) => &mut duel.both,
                (true, false) => &mut duel.first_only,
                (false, true) => &mut duel.second_only,
                (false, false) => &mut duel.neither,
            };
            list.push(problem.clone());
        }
        duel
    }

    /// Who needed less, where both solved and both were measured.
    pub fn wins(&self, first: usize, second: usize, measure: Measure) -> Wins {
        let mut wins = Wins::default();
        for problem in self.duel(first, second).both {
            let value = |entrant| self.entry(entrant, &problem).and_then(|entry| measure.of(entry));
            let (Some(a), Some(b)) = (value(first), value(second)) else { continue };
            if a < b {
                wins.first += 1;
            } else if b < a {
                wins.second += 1;
            } else {
                wins.ties += 1;
            }
        }
        wins
    }
}
