//! Ipopt in the place of Tangor.

use tangor_ipopt::{Derivatives, Options, Progress, Solution, solve};
use tangor_solver::{Point, Stop};

use crate::Error;
use crate::contender::Method;
use crate::course::Course;
use crate::record::{Ending, TracePoint};
use crate::task::{Outcome, TRACE_POINTS, Task, visible};

/// Ipopt's default.
const SCALED: f64 = 1e-8;
/// Ipopt would be content with 1 (stationarity) and 1e-4 (the others). Its maximum norm needs less than our 2-norm to reach 1e-6.
const UNSCALED: f64 = 1e-7;

pub fn run(task: &Task) -> Result<Outcome, Error> {
    let options =
        Options { max_iterations: task.max_iterations, seconds: task.time_limit, tolerance: SCALED, unscaled: Some(UNSCALED) };
    let refused = || Error::Refused("Ipopt did not take the problem".into());
    let solution = if task.contender.method == Method::IpoptExact {
        let mut problem = task.at_its_start(task.member.source.with_hessian()?);
        let problem = problem.second_order().ok_or_else(refused)?;
        solve(Derivatives::Second(problem), &options).ok_or_else(refused)?
    } else {
        let mut problem = task.at_its_start(task.member.source.problem()?);
        solve(Derivatives::First(&mut *problem), &options).ok_or_else(refused)?
    };
    Ok(outcome(solution, task.trace))
}

fn outcome(solution: Solution, traced: bool) -> Outcome {
    let mut trace = Course::new(TRACE_POINTS);
    if traced {
        solution.course.iter().for_each(|progress| trace.push(trace_point(progress)));
    }
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
        trace: trace.points(),
    }
}

/// As Ipopt saw it: in its own scaling and norm. It tells nothing of complementarity on the way.
fn trace_point(progress: &Progress) -> TracePoint {
    (progress.iteration, progress.stationarity.and_then(visible), visible(progress.feasibility), None)
}

/// The return codes of Ipopt.
fn meaning(status: i32) -> (Ending, Point, &'static str) {
    match status {
        0 => (Ending::Stopped(Stop::Tolerance), Point::EpsKkt, "solve succeeded"),
        1 => (Ending::Acceptable, Point::EpsKkt, "solved to acceptable level"),
        2 => (Ending::Stopped(Stop::Tolerance), Point::EpsInfeasibleStationary, "infeasible problem detected"),
        3 => (Ending::Stopped(Stop::StepTooSmall), Point::Nothing, "search direction becomes too small"),
        4 => (Ending::Stopped(Stop::NumericalTrouble), Point::Nothing, "diverging iterates"),
        5 => (Ending::Stopped(Stop::User), Point::Nothing, "user requested stop"),
        6 => (Ending::Stopped(Stop::Tolerance), Point::EpsKkt, "feasible point found"),
        -1 => (Ending::Stopped(Stop::Iterations), Point::Nothing, "maximum iterations exceeded"),
        -2 => (Ending::Stopped(Stop::NumericalTrouble), Point::Nothing, "restoration failed"),
        -3 => (Ending::Stopped(Stop::NumericalTrouble), Point::Nothing, "error in step computation"),
        -4 => (Ending::Stopped(Stop::WallTime), Point::Nothing, "maximum processor time exceeded"),
        -10 => (Ending::Refused, Point::Nothing, "not enough degrees of freedom"),
        -13 => (Ending::Stopped(Stop::EvaluationFailed), Point::Nothing, "invalid number detected"),
        -199..=-11 => (Ending::Refused, Point::Nothing, "internal error or invalid problem"),
        _ => (Ending::Stopped(Stop::NumericalTrouble), Point::Nothing, "unknown return code"),
    }
}
