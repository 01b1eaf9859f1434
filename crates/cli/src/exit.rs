//! What the exit code says.

use tangor_solver::{Point, Report, Stop};

/// A KKT point within the tolerances; for commands that do not solve: done.
pub const SOLVED: u8 = 0;
/// The arguments, a file or the problem itself are wrong, or an output could not be written.
pub const INPUT: u8 = 1;
/// The constraints cannot be satisfied near the point found; for `check`: a derivative is wrong; for `verify`: the result
/// does not hold, or claims no KKT point.
pub const INFEASIBLE: u8 = 2;
/// A limit was reached first, or noise hides further progress; for `verify`: the samples cannot tell.
pub const LIMIT: u8 = 3;
/// The user stopped the run.
pub const STOPPED: u8 = 4;
/// A function failed or the numerics did.
pub const TROUBLE: u8 = 5;

/// The objective falls without bound.
pub const UNBOUNDED: u8 = 6;

/// The same for people; shown by `--help` and in the man page.
pub const HELP: &str = "\
Exit codes:
  0  a KKT point within the tolerances was found (for other commands: all went well); where
     functions are sampled, with the confidence that was asked for, and on so many samples that
     no event is missing which is as likely as sampling.judge.rarest (1 in 6667)
  1  the arguments, a file or the problem are wrong, or an output could not be written
  2  an infeasible stationary point was found
     (for check: a derivative is wrong; for verify: the result does not hold, or claims no KKT point)
  3  a limit on iterations, time, evaluations or samples was reached, or the noise hides the rest,
     or a rare event may be missing among the samples
     (for verify: the samples cannot tell)
  4  stopped by the user: Ctrl-C, a termination signal, or nobody reads the output any more
  5  a function failed, the step became too small, or numerical trouble
  6  the objective improves without bound at feasible points
130  a second Ctrl-C or termination signal, at least 0.3 s after the first, ended the program at
     once: nothing is reported, and the last checkpoint stands";

/// The exit code of a run.
pub fn of(report: &Report) -> u8 {
    match (report.point, report.stop) {
        (Point::EpsKkt, _) => SOLVED,
        (Point::EpsInfeasibleStationary, _) => INFEASIBLE,
        (Point::Unbounded, _) | (_, Stop::Unbounded) => UNBOUNDED,
        (_, Stop::Iterations | Stop::WallTime | Stop::Evaluations | Stop::Samples | Stop::NoiseFloor) => LIMIT,
        (_, Stop::User) => STOPPED,
        (_, Stop::Tolerance | Stop::StepTooSmall | Stop::EvaluationFailed | Stop::NumericalTrouble) => TROUBLE,
    }
}
