//! Ipopt in the place of Tangor.

use tangor_ipopt::{Derivatives, Options, Solution, solve};
use tangor_solver::Point;

use crate::Error;
use crate::contender::Method;
use crate::record::Ending;
use crate::task::{Outcome, Task};

/// Ipopt's default.
const SCALED: f64 = 1e-8;
/// Ipopt would be content with 1 (stationarity) and 1e-4 (the others). Its maximum norm needs less than our 2-norm to reach 1e-6.
const UNSCALED: f64 = 1e-7;
/// Entries of a Hessian beyond which it is not built.
const LARGEST_HESSIAN: u64 = 100_000_000;

pub fn run(task: &Task) -> Result<Outcome, Error> {
    let options =
        Options { max_iterations: task.max_iterations, seconds: task.time_limit, tolerance: SCALED, unscaled: UNSCALED };
    let refused = || Error::Refused("Ipopt did not take the problem".into());
    let solution = if task.contender.method == Method::IpoptExact {
        let mut problem = task.member.source.open_sif()?.with_hessian(LARGEST_HESSIAN)?;
        solve(Derivatives::Second(&mut problem), &options).ok_or_else(refused)?
    } else {
        let mut problem = task.member.source.open()?;
        solve(Derivatives::First(&mut *problem), &options).ok_or_else(refused)?
    };
    Ok(outcome(solution))
}

fn outcome(solution: Solution) -> Outcome {
    let (stop, claimed, words) = meaning(solution.status);
    Outcome {
        stop,
        claimed,
        message: format!("Ipopt says: {words}."),
        x: solution.x,
        y: solution.row_multipliers,
        mu: solution.bound_multipliers,
        iterations: solution.iterations,
        counts: solution.counts,
        samples: 0,
        hessians: solution.hessians,
        seconds: solution.seconds,
        trace: Vec::new(),
    }
}

/// The return codes of Ipopt.
fn meaning(status: i32) -> (Ending, Point, &'static str) {
    match status {
        0 => (Ending::Tolerance, Point::EpsKkt, "solve succeeded"),
        1 => (Ending::Acceptable, Point::EpsKkt, "solved to acceptable level"),
        2 => (Ending::Tolerance, Point::EpsInfeasibleStationary, "infeasible problem detected"),
        3 => (Ending::StepTooSmall, Point::Nothing, "search direction becomes too small"),
        4 => (Ending::NumericalTrouble, Point::Nothing, "diverging iterates"),
        5 => (Ending::User, Point::Nothing, "user requested stop"),
        6 => (Ending::Tolerance, Point::EpsKkt, "feasible point found"),
        -1 => (Ending::Iterations, Point::Nothing, "maximum iterations exceeded"),
        -2 => (Ending::NumericalTrouble, Point::Nothing, "restoration failed"),
        -3 => (Ending::NumericalTrouble, Point::Nothing, "error in step computation"),
        -4 => (Ending::WallTime, Point::Nothing, "maximum processor time exceeded"),
        -10 => (Ending::Refused, Point::Nothing, "not enough degrees of freedom"),
        -13 => (Ending::EvaluationFailed, Point::Nothing, "invalid number detected"),
        -199..=-11 => (Ending::Refused, Point::Nothing, "internal error or invalid problem"),
        _ => (Ending::NumericalTrouble, Point::Nothing, "unknown return code"),
    }
}
