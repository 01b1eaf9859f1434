//! The embedded collection, with default settings: every problem is solved to 1e-6 at its known objective, or the table below says
//! which other KKT point is reached.

#[path = "support/referee.rs"]
mod referee;

use tangor_collection::{Entry, What, entries};
use tangor_solver::{Point, Report, Settings, Stop, solve};

/// KKT points that may be reached in place of the known solution, with their objectives.
const ELSEWHERE: &[(&str, f64)] = &[
    ("HS2", 4.941229317989), // (x1, 3/2), where x1 = -1.2210 solves 200 x^3 - 299 x = 1: the other side of the valley
    ("HS16", 23.144660940673), // (-1/2, sqrt(1/2)), where bound and first row hold
    ("HS20", 40.198729810778), // (-1/2, sqrt(3/4)), where bound and circle hold
];

/// How near the objective of a solution without multipliers must be reached: there is no KKT point to stop at.
const WITHOUT_MULTIPLIERS: f64 = 1e-3;

const TOLERANCE: f64 = 1e-6;

#[test]
fn every_problem_is_solved_as_it_is_known() {
    let width = 14;
    println!(
        "{:width$} {:>6} {:>6} {:>5} {:>16} {:>9} {:>9} {:>9}",
        "problem", "n", "m", "iter", "objective", "stat", "feas", "compl"
    );
    let mut wrong = Vec::new();
    for entry in entries() {
        let mut problem = (entry.build)();
        let (n, m) = (problem.meta().n(), problem.meta().m());
        let report = solve(&mut problem, Settings::default()).unwrap();
        println!(
            "{:width$} {n:>6} {m:>6} {:>5} {:>16.9e} {:>9.1e} {:>9.1e} {:>9.1e} {}",
            entry.name,
            report.iterations,
            report.objective,
            report.stationarity,
            report.feasibility,
            report.complementarity,
            report.point
        );
        if let Err(complaint) = check(entry, &report) {
            wrong.push(format!("{}: {complaint}: {}", entry.name, report.message));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn check(entry: &Entry, report: &Report) -> Result<(), String> {
    let mut problem = (entry.build)();
    // A dense copy of a Jacobian with thousands of rows would not fit: the large problems are judged by their known solution.
    let verdict = (problem.meta().m() <= 1000).then(|| referee::assert_honest(&mut problem, report));
    if entry.known.what == What::Infeasible {
        return match report.point {
            Point::EpsInfeasibleStationary => Ok(()),
            _ => Err("an infeasible stationary point was expected".to_string()),
        };
    }
    if entry.known.what == What::SolutionWithoutMultipliers && report.point == Point::Feasible {
        let near = entry.known.objective.is_some_and(|objective| (report.objective - objective).abs() <= WITHOUT_MULTIPLIERS);
        return if near { Ok(()) } else { Err("the solution is not near".to_string()) };
    }
    if report.point != Point::EpsKkt || report.stop != Stop::Tolerance {
        return Err("no KKT point".to_string());
    }
    if verdict.is_some_and(|verdict| !verdict.is_kkt(TOLERANCE)) {
        return Err("the residuals are above 1e-6".to_string());
    }
    let Some(expected) = entry.known.objective else { return Ok(()) };
    let elsewhere = ELSEWHERE.iter().filter(|(name, _)| *name == entry.name).map(|(_, objective)| *objective);
    // The objective of an approximate KKT point is off by the violation times the multipliers, and flat ones by more than that.
    let multipliers = report.row_multipliers.iter().map(|y| y.abs()).fold(1.0, f64::max);
    let is_near = |wanted: f64| (report.objective - wanted).abs() <= 10.0 * TOLERANCE * multipliers * (1.0 + wanted.abs());
    let found = std::iter::once(expected).chain(elsewhere).any(is_near);
    if found { Ok(()) } else { Err(format!("the objective should be {expected}, it is {}", report.objective)) }
}
