use tangor_solver::Row;

/// More points than this nobody sees in a picture.
const MOST: usize = 4096;

/// The rows of a run, thinned evenly so that a long run takes no more memory than a short one. First and last row are always
/// there.
pub struct History {
    kept: Vec<Row>,
    last: Option<Row>,
    stride: u64,
    seen: u64,
}

impl Default for History {
    fn default() -> Self {
        History { kept: Vec::new(), last: None, stride: 1, seen: 0 }
    }
}

impl History {
    /// Adds a row.
    pub fn push(&mut self, row: Row) {
        self.last = Some(row);
        if self.seen.is_multiple_of(self.stride) {
            self.kept.push(row);
        }
        self.seen += 1;
        if self.kept.len() > MOST {
            let mut position = 0;
            self.kept.retain(|_| {
                position += 1;
                position % 2 == 1
            });
            self.stride *= 2;
        }
    }

    /// The rows that are left.
    pub fn rows(&self) -> Vec<Row> {
        let mut rows = self.kept.clone();
        if let Some(last) = self.last
            && rows.last().map(|row| row.iteration) != Some(last.iteration)
        {
            rows.push(last);
        }
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tangor_problem::{Counts, Samples};
    use tangor_solver::Unusual;

    fn row(iteration: u64) -> Row {
        Row {
            iteration,
            objective: 0.0,
            stationarity: 1.0,
            feasibility: 1.0,
            complementarity: 1.0,
            normal: 0.0,
            tangent: 0.0,
            rho: 1.0,
            eta: 1.0,
            theta: 1.0,
            lipschitz_objective: 1.0,
            lipschitz_constraints: 1.0,
            metric: 1.0,
            kernel_iterations: 0,
            evaluations: Counts::default(),
            samples: Samples::default(),
            true_residuals: None,
            seconds: 0.0,
            unusual: Unusual::default(),
        }
    }

    #[test]
    fn a_long_run_is_thinned_evenly_and_keeps_its_ends() {
        let mut history = History::default();
        for iteration in 0..100_000 {
            history.push(row(iteration));
        }
        let rows = history.rows();
        assert!(rows.len() <= MOST + 1 && rows.len() > MOST / 2);
        assert_eq!((rows[0].iteration, rows[rows.len() - 1].iteration), (0, 99_999));
        let gap = rows[1].iteration;
        assert!(rows.windows(2).rev().skip(1).all(|pair| pair[1].iteration - pair[0].iteration == gap));
    }

    #[test]
    fn a_short_run_is_kept_whole() {
        let mut history = History::default();
        (0..10).for_each(|iteration| history.push(row(iteration)));
        assert_eq!(history.rows().len(), 10);
    }
}
