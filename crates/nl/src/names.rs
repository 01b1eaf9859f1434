//! Names of variables and rows, which AMPL and Pyomo write beside the file when they are asked to.

use std::path::Path;

use tangor_problem::MemoryLimit;

/// One name a line, in the order of the file: variables in `.col`; constraints, then objectives, in `.row`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    pub variables: Vec<String>,
    pub rows: Vec<String>,
}

impl Names {
    /// The names beside a file; none where there is no such file.
    pub fn beside(path: &Path) -> Self {
        let lines = |extension: &str| {
            let bytes = MemoryLimit::of_this_machine().read(path.with_extension(extension)).unwrap_or_default();
            String::from_utf8_lossy(&bytes).lines().map(|line| line.trim_end().to_string()).collect()
        };
        Names { variables: lines("col"), rows: lines("row") }
    }

    pub fn variable(&self, index: usize) -> Option<&str> {
        self.variables.get(index).map(String::as_str)
    }

    /// The name of a constraint.
    pub fn row(&self, index: usize) -> Option<&str> {
        self.rows.get(index).map(String::as_str)
    }

    /// The names of `n` variables and `m` constraints; those of a file that has too few belong to another model and are left out.
    pub fn of_model(mut self, n: usize, m: usize) -> Self {
        for (names, count) in [(&mut self.variables, n), (&mut self.rows, m)] {
            if names.len() < count {
                names.clear();
            }
            names.truncate(count);
        }
        self
    }
}
