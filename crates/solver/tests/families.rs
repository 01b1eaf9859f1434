//! Thousands of random problems of thirteen families: whatever a run claims is recomputed from outside, and as many are solved as before.

#[path = "support/families.rs"]
mod families;
#[path = "support/referee.rs"]
mod referee;

use families::{Family, Random, RandomOfFamily};
use tangor_problem::Problem;
use tangor_solver::{Point, Report, Settings, solve};

/// Problems of each family.
const EACH: u64 = 300;

/// The least share that must be solved, in percent.
fn least(family: Family) -> f64 {
    match family {
        Family::Contradictory => 96.0,
        Family::Scaled => 98.0,
        _ => 99.0,
    }
}

/// A point near by with a clearly smaller violation, if there is one: then it was no stationary point.
fn is_left(problem: &mut RandomOfFamily, report: &Report) -> Option<f64> {
    let (mut random, violation) = (Random::new(7), report.feasibility);
    for k in 0..600 {
        let radius = 10f64.powi(-1 - (k % 4));
        let meta = problem.meta().clone();
        let near =
            |(i, x): (usize, &f64)| (x + radius * (1.0 + x.abs()) * random.uniform()).clamp(meta.x_lower[i], meta.x_upper[i]);
        let x: Vec<f64> = report.x.iter().enumerate().map(near).collect();
        let there = problem.violation(&x);
        if there < (1.0 - 1e-3) * violation {
            return Some(there);
        }
    }
    None
}

#[test]
fn claims_of_random_problems_are_true() {
    println!(
        "{:<16}{:>8}{:>8}{:>12}{:>11}{:>9}{:>10}",
        "family", "solved", "%", "infeasible", "unbounded", "feasible", "nothing"
    );
    let mut wrong = Vec::new();
    for family in Family::ALL {
        let mut counts = [0u64; 5];
        for seed in 0..EACH {
            let mut problem = RandomOfFamily::new(family, seed);
            let report = solve(problem.clone(), Settings::default()).unwrap();
            referee::assert_honest(&mut problem, &report);
            counts[match report.point {
                Point::EpsKkt => 0,
                Point::EpsInfeasibleStationary => 1,
                Point::Unbounded => 2,
                Point::Feasible => 3,
                Point::Nothing => 4,
            }] += 1;
            match report.point {
                Point::EpsKkt if !problem.is_solvable() => wrong.push(format!("{}: claims a KKT point", report.problem)),
                Point::Unbounded if family != Family::Unbounded => {
                    wrong.push(format!("{}: claims to be unbounded", report.problem))
                }
                Point::EpsInfeasibleStationary => {
                    if let Some(less) = is_left(&mut problem, &report) {
                        wrong.push(format!("{}: {less:e} is less than the violation {:e}", report.problem, report.feasibility));
                    }
                }
                _ => {}
            }
        }
        let right = match family {
            Family::Infeasible | Family::Contradictory => counts[1],
            Family::Unbounded => counts[2],
            _ => counts[0],
        };
        let share = 100.0 * right as f64 / EACH as f64;
        let [solved, infeasible, unbounded, feasible, nothing] = counts;
        println!(
            "{:<16}{solved:>8}{share:>8.1}{infeasible:>12}{unbounded:>11}{feasible:>9}{nothing:>10}",
            format!("{family:?}")
        );
        if share < least(family) {
            wrong.push(format!("{family:?}: only {share} % ended as they should"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
