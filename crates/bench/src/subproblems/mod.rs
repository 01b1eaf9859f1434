//! The subproblems of runs, solved by the kernel, by Clarabel and by Ipopt, with the clock beside all.
//!
//! Both subproblems of an iteration, normal and tangent, are recorded along a run and solved again: by the kernel from the multipliers that
//! the run had (warm), by the kernel from zero (cold), by Clarabel, and where Ipopt is built in, to which the paper hands every subproblem, by
//! Ipopt as a quadratic program with its exact Hessian. Where the kernel gives up, Clarabel takes over as in a run, and its time counts
//! too. Everything happens in one process, one after the other, so that a ratio of times says something.

mod against_ipopt;
mod quadratic;
mod summary;

use std::ops::ControlFlow;
use std::time::Instant;

use serde::Serialize;
use tangor_solver::internals::{StoredKernel, StoredSubproblem};
use tangor_solver::{Kernel, Row, Settings, Solver};

pub use against_ipopt::Verdict;
use against_ipopt::{compare, scale};
pub use quadratic::Quadratic;
pub use summary::{describe, kernel_table, table};

use crate::Error;
use crate::sets::Member;

/// Which of the two subproblems.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// How much of the residual can be removed.
    Normal,
    /// The best step for the objective.
    Tangent,
}

/// One subproblem, solved in several ways. What belongs to Ipopt is there where it is built in.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measured {
    /// The problem whose run had it.
    pub problem: String,
    /// In which iteration.
    pub iteration: u64,
    /// Which of the two.
    pub kind: Kind,
    /// Its rows.
    pub rows: usize,
    /// Its columns, slacks included.
    pub columns: usize,
    /// Seconds of the kernel from the multipliers that the run had.
    pub warm_seconds: f64,
    /// Seconds of the kernel from zero.
    pub cold_seconds: f64,
    /// Newton steps of the warm kernel.
    pub newton_steps: u32,
    /// Of these, in the interior-point method.
    pub interior_steps: u32,
    /// Systems that its factorisations served.
    pub systems: u32,
    /// Newton steps of the kernel from zero.
    pub cold_newton_steps: u32,
    /// Whether the kernel gave up and Clarabel took over, as it does in a run; both are in the time.
    pub fallback: bool,
    /// Seconds of Clarabel alone; none where it gave up.
    pub clarabel_seconds: Option<f64>,
    /// Seconds of Ipopt.
    pub ipopt_seconds: Option<f64>,
    /// Ipopt's iterations.
    pub ipopt_iterations: Option<u64>,
    /// Ipopt's return code.
    pub ipopt_status: Option<i32>,
    /// The objective at the kernel's point.
    pub kernel_value: Option<f64>,
    /// The objective at Ipopt's point.
    pub ipopt_value: Option<f64>,
    /// How far bounds, and rows that must hold, are violated at the kernel's point.
    pub kernel_violation: Option<f64>,
    /// How far at Ipopt's.
    pub ipopt_violation: Option<f64>,
    /// Who of the two solved it.
    pub verdict: Option<Verdict>,
}

/// How far a run is followed.
#[derive(Clone, Debug)]
pub struct Following {
    /// The settings of the runs.
    pub settings: Settings,
    /// Most iterations of a run.
    pub max_iterations: u64,
    /// Most seconds for a problem: the run, and all that is measured on the way.
    pub time_limit: f64,
}

/// What came of a problem.
#[derive(Clone, Debug, Default)]
pub struct Followed {
    /// Its subproblems, at the iterations 0, 1, 2, 4, 8, ...
    pub measured: Vec<Measured>,
    /// Whether the time was over before the run was.
    pub cut: bool,
}

impl Following {
    /// Runs a problem and measures its subproblems at the iterations 0, 1, 2, 4, 8, ...: more of one run would let it speak for all.
    pub fn follow(&self, member: &Member) -> Result<Followed, Error> {
        let refused = |error: tangor_solver::Error| Error::Refused(format!("{}: {error}", member.name));
        let mut settings = self.settings.clone();
        settings.limits.iterations = self.max_iterations;
        let kernel = settings.kernel.clone();
        let mut solver = Solver::new(member.source.problem()?, settings).map_err(refused)?;
        let started = Instant::now();
        let mut followed = Followed::default();
        for iteration in 0.. {
            if started.elapsed().as_secs_f64() > self.time_limit {
                followed.cut = true;
                break;
            }
            if iteration == 0 || u64::is_power_of_two(iteration) {
                let (normal, tangent) = StoredSubproblem::next_two(&mut solver);
                let both = [(Kind::Normal, normal), (Kind::Tangent, Some(tangent))];
                for (kind, subproblem) in both.into_iter().filter_map(|(kind, subproblem)| Some((kind, subproblem?))) {
                    // Without variables, or at a start without values, there is nothing to solve.
                    if subproblem.size().1 > 0 && is_finite(&subproblem) {
                        let place = (member.name.clone(), iteration, kind);
                        followed.measured.push(measure(place, subproblem, &kernel, self.time_limit)?);
                    }
                }
            }
            if solver.advance(&mut |_: &Row, _: &[f64]| ControlFlow::Continue(())).is_some() {
                break;
            }
        }
        Ok(followed)
    }
}

fn is_finite(problem: &StoredSubproblem) -> bool {
    let entries = problem.entries();
    let values =
        entries.iter().map(|(_, _, value)| value).chain(&problem.gradient).chain(&problem.target).chain(&problem.softness);
    values.chain(&problem.metric).all(|value| value.is_finite())
}

fn measure(
    (problem, iteration, kind): (String, u64, Kind),
    mut subproblem: StoredSubproblem,
    settings: &Kernel,
    time_limit: f64,
) -> Result<Measured, Error> {
    let (rows, columns) = subproblem.size();
    let mut kernel = subproblem.kernel(settings);
    let mut ours = Ours::default();
    let warm_seconds = seconds(|| ours = solve(&subproblem, &mut kernel, settings.fallback));
    let (newton_steps, interior_steps, systems) = (kernel.iterations, kernel.interior, kernel.systems);
    let ipopt = compare(&subproblem, ours.solved, &kernel.s, time_limit)?;
    let (mut s, mut y, mut solved) = (vec![0.0; columns], vec![0.0; rows], false);
    let clarabel_seconds = seconds(|| solved = subproblem.solve_by_clarabel(&mut s, &mut y));
    subproblem.warm.fill(0.0);
    let cold_seconds = seconds(|| _ = solve(&subproblem, &mut kernel, settings.fallback));
    let ipopt = ipopt.as_ref();
    Ok(Measured {
        problem,
        iteration,
        kind,
        rows,
        columns,
        warm_seconds,
        cold_seconds,
        newton_steps,
        interior_steps,
        systems,
        cold_newton_steps: kernel.iterations,
        fallback: ours.fallback,
        clarabel_seconds: solved.then_some(clarabel_seconds),
        ipopt_seconds: ipopt.map(|ipopt| ipopt.seconds),
        ipopt_iterations: ipopt.map(|ipopt| ipopt.iterations),
        ipopt_status: ipopt.map(|ipopt| ipopt.status),
        kernel_value: ipopt.map(|ipopt| ipopt.values[0]),
        ipopt_value: ipopt.map(|ipopt| ipopt.values[1]),
        kernel_violation: ipopt.map(|ipopt| ipopt.violations[0]),
        ipopt_violation: ipopt.map(|ipopt| ipopt.violations[1]),
        verdict: ipopt.map(|ipopt| ipopt.verdict),
    })
}

/// How the kernel, or who took over, got on.
#[derive(Clone, Copy, Default)]
struct Ours {
    solved: bool,
    fallback: bool,
}

/// As a run does it: by the kernel, and by Clarabel where the kernel gives up.
fn solve(subproblem: &StoredSubproblem, kernel: &mut StoredKernel, fallback: bool) -> Ours {
    subproblem.solve(kernel);
    let fallback = fallback && !kernel.converged;
    let solved = kernel.converged || fallback && subproblem.solve_by_clarabel(&mut kernel.s, &mut kernel.y);
    Ours { solved, fallback }
}

/// So often everything is timed. The smallest time counts, of the kernel as of others: what else the machine does can only add to it.
const REPETITIONS: usize = 5;

/// Repeating what takes so many seconds shows nothing new.
const LONG: f64 = 0.2;

/// So many seconds are timed at once where one call takes less: thousands of ticks of the clock, which then adds nothing that counts.
const VISIBLE: f64 = 2e-4;

/// So many calls at the most, however short they are: a first call of no time at all must not ask for calls without end.
const MOST_CALLS: f64 = 100.0;

/// Seconds of one call, over so many calls that the clock can see them.
fn seconds(mut call: impl FnMut()) -> f64 {
    let first = timed(1, &mut call);
    if first > LONG {
        return first;
    }
    let calls = (VISIBLE / first).clamp(1.0, MOST_CALLS) as u32;
    (0..REPETITIONS).map(|_| timed(calls, &mut call)).fold(first, f64::min)
}

fn timed(calls: u32, call: &mut impl FnMut()) -> f64 {
    let start = Instant::now();
    (0..calls).for_each(|_| call());
    start.elapsed().as_secs_f64() / f64::from(calls)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_the_kernel_gives_up_clarabel_takes_over() {
        // min 1/2 |s|^2 with s0 + s1 = 2: no Newton step is allowed, so that the kernel cannot come from 0 to (1, 1).
        let mut problem = StoredSubproblem::new(1, 2, &[(0, 0, 1.0), (0, 1, 1.0)], false, &[]);
        problem.target = vec![2.0];
        let mut kernel = problem.kernel(&Kernel { iterations: 0, ..Kernel::default() });
        let alone = solve(&problem, &mut kernel, false);
        assert!(!alone.solved && !alone.fallback && kernel.s == [0.0, 0.0]);
        let helped = solve(&problem, &mut kernel, true);
        assert!(helped.solved && helped.fallback && kernel.s.iter().all(|s| (s - 1.0).abs() < 1e-8), "{:?}", kernel.s);
        let mut kernel = problem.kernel(&Kernel::default());
        let able = solve(&problem, &mut kernel, true);
        assert!(able.solved && !able.fallback);
    }

    #[test]
    fn the_kernel_is_measured_beside_the_others() {
        let member = crate::sets::members("HS71", &tangor_open::Finder::default()).unwrap().remove(0);
        let following = Following { settings: Settings::default(), max_iterations: 10, time_limit: 60.0 };
        let measured = following.follow(&member).unwrap().measured;
        assert!(measured.iter().any(|one| one.kind == Kind::Normal) && measured.iter().any(|one| one.kind == Kind::Tangent));
        for one in &measured {
            assert!(one.warm_seconds > 0.0 && one.clarabel_seconds.is_some_and(|seconds| seconds > 0.0) && !one.fallback);
            assert_eq!(one.verdict, cfg!(feature = "ipopt").then_some(Verdict::Agree), "{one:?}");
            assert_eq!(one.ipopt_iterations.is_some_and(|count| count > 0), cfg!(feature = "ipopt"));
        }
    }
}
