//! What was found, in one line.

use tangor_solver::{Point, Report};

/// What the point is, after a word that says whether the problem is solved.
pub fn of(report: &Report) -> String {
    match report.point {
        Point::Feasible | Point::Nothing => report.finding(),
        point => report.in_words(point),
    }
}
