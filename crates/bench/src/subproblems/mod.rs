//! The subproblems of runs, solved by the kernel and by Ipopt, with the clock beside both.
//!
//! The paper hands every subproblem to Ipopt. Here both subproblems of an iteration, normal and tangent, are recorded along a run and
//! solved again: by the kernel from the multipliers that the run had (warm), by the kernel from zero (cold), and by Ipopt as a quadratic
//! program with its exact Hessian. Where the kernel gives up on a tangent subproblem, Clarabel takes over as in a run, and its time counts
//! too. Everything happens in one process, one after the other, so that a ratio of times says something.

mod quadratic;
mod summary;

use std::ops::ControlFlow;
use std::time::Instant;

use serde::Serialize;
use tangor_solver::internals::{StoredKernel, StoredSubproblem};
use tangor_solver::{Kernel, Row, Settings, Solver};

pub use quadratic::Quadratic;
pub use summary::{describe, table};

use crate::Error;
use crate::sets::Member;

/// Up to which difference, relative to `max(1, |value|)`, two solutions count as the same. Ipopt aims at 1e-8.
const AGREEMENT: f64 = 1e-6;

/// Violations up to this are those of rounding.
const ROUNDING: f64 = 1e-10;

/// Which of the two subproblems.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// How much of the residual can be removed.
    Normal,
    /// The best step for the objective.
    Tangent,
}

/// Who solved a subproblem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Both, and to the same value: the times may be compared.
    Agree,
    /// Both say so, but the kernel's point is better: value or violation is, and the other is no worse.
    KernelBetter,
    /// Both say so, but Ipopt's point is better.
    IpoptBetter,
    /// Both say so, and one has the lower value, the other the smaller violation.
    Differ,
    /// Only the kernel.
    IpoptFailed,
    /// Only Ipopt.
    KernelFailed,
    /// Nobody.
    BothFailed,
}

/// One subproblem, solved three times.
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
    /// Seconds of Ipopt.
    pub ipopt_seconds: f64,
    /// Newton steps of the warm kernel.
    pub newton_steps: u32,
    /// Whether the kernel gave up and Clarabel took over, as it does in a run; both are in the time.
    pub fallback: bool,
    /// Ipopt's iterations.
    pub ipopt_iterations: u64,
    /// Ipopt's return code.
    pub ipopt_status: i32,
    /// The objective at the kernel's point.
    pub kernel_value: f64,
    /// The objective at Ipopt's point.
    pub ipopt_value: f64,
    /// How far bounds, and rows that must hold, are violated at the kernel's point.
    pub kernel_violation: f64,
    /// How far at Ipopt's.
    pub ipopt_violation: f64,
    /// Who solved it.
    pub verdict: Verdict,
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

/// What the objective is multiplied by: the softness of the soft rows, so that the normal subproblem has the form
/// `1/2 |h + J u|^2 + kappa/2 u^T H u` of the method's description.
fn scale(problem: &StoredSubproblem) -> f64 {
    let softest = problem.softness.iter().copied().fold(0.0, f64::max);
    if softest > 0.0 { softest } else { 1.0 }
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
    let fallback = kind == Kind::Tangent && settings.fallback;
    let mut ours = Ours::default();
    let warm_seconds = seconds(|| ours = solve(&subproblem, &mut kernel, fallback));
    let (newton_steps, s) = (kernel.iterations, kernel.s.clone());
    let theirs = by_ipopt(&subproblem, time_limit)?;
    let (quality, ipopt) = (Quality::of(&subproblem, &s), Quality::of(&subproblem, &theirs.s));
    subproblem.warm.fill(0.0);
    let cold_seconds = seconds(|| _ = solve(&subproblem, &mut kernel, fallback));
    Ok(Measured {
        problem,
        iteration,
        kind,
        rows,
        columns,
        warm_seconds,
        cold_seconds,
        ipopt_seconds: theirs.seconds,
        newton_steps,
        fallback: ours.fallback,
        ipopt_iterations: theirs.iterations,
        ipopt_status: theirs.status,
        kernel_value: quality.value,
        ipopt_value: ipopt.value,
        kernel_violation: quality.violation,
        ipopt_violation: ipopt.violation,
        verdict: verdict((ours.solved, &quality), (theirs.is_solved(), &ipopt)),
    })
}

/// How the kernel, or who took over, got on.
#[derive(Clone, Copy, Default)]
struct Ours {
    solved: bool,
    fallback: bool,
}

/// As a run does it: by the kernel, and by Clarabel where the kernel gives up on a tangent subproblem.
fn solve(subproblem: &StoredSubproblem, kernel: &mut StoredKernel, fallback: bool) -> Ours {
    subproblem.solve(kernel);
    let fallback = fallback && !kernel.converged;
    let solved = kernel.converged || fallback && subproblem.solve_by_clarabel(&mut kernel.s, &mut kernel.y);
    Ours { solved, fallback }
}

/// What a point is worth.
#[derive(Clone, Debug, PartialEq)]
struct Quality {
    /// The objective, times [`scale`].
    value: f64,
    /// `|J s - r|` over the rows that must hold, and the distance to the bounds, relative to `max(1, |r|)`.
    violation: f64,
}

impl Quality {
    fn of(problem: &StoredSubproblem, s: &[f64]) -> Self {
        let scale = scale(problem);
        let mut residual = vec![0.0; problem.size().0];
        problem.apply(s, &mut residual);
        let mut hs = vec![0.0; s.len()];
        problem.apply_hessian(s, &mut hs);
        let step: f64 = s.iter().zip(&problem.gradient).zip(&hs).map(|((s, g), hs)| s * (g + 0.5 * hs)).sum();
        let (mut value, mut violation, mut size) = (scale * step, 0.0, 0.0);
        for ((js, r), kappa) in residual.iter().zip(&problem.target).zip(&problem.softness) {
            let square = (js - r) * (js - r);
            if *kappa > 0.0 {
                value += 0.5 * scale / kappa * square;
            } else {
                violation += square;
                size += r * r;
            }
        }
        for ((s, lower), upper) in s.iter().zip(&problem.lower).zip(&problem.upper) {
            violation += (lower - s).max(s - upper).max(0.0).powi(2);
        }
        Quality { value, violation: violation.sqrt() / size.sqrt().max(1.0) }
    }
}

fn verdict((kernel_solved, kernel): (bool, &Quality), (ipopt_solved, ipopt): (bool, &Quality)) -> Verdict {
    match (kernel_solved, ipopt_solved) {
        (false, false) => return Verdict::BothFailed,
        (false, true) => return Verdict::KernelFailed,
        (true, false) => return Verdict::IpoptFailed,
        (true, true) => {}
    }
    let least = AGREEMENT * kernel.value.abs().max(ipopt.value.abs()).max(1.0);
    let holds = [kernel.violation <= AGREEMENT, ipopt.violation <= AGREEMENT];
    if holds == [true, true] && (kernel.value - ipopt.value).abs() <= least {
        return Verdict::Agree;
    }
    let no_worse = |a: &Quality, b: &Quality| a.value <= b.value + least && a.violation <= b.violation.max(ROUNDING);
    match (no_worse(kernel, ipopt), no_worse(ipopt, kernel)) {
        _ if holds == [false, false] => Verdict::BothFailed,
        (true, _) => Verdict::KernelBetter,
        (false, true) => Verdict::IpoptBetter,
        (false, false) => Verdict::Differ,
    }
}

/// So often everything is timed. The smallest time counts, of the kernel as of Ipopt: what else the machine does can only add to it.
const REPETITIONS: usize = 5;

/// Seconds of one call, over so many calls that the clock can see them.
fn seconds(mut call: impl FnMut()) -> f64 {
    let first = timed(1, &mut call);
    let calls = (2e-4 / first).clamp(1.0, 100.0) as u32;
    (0..REPETITIONS).map(|_| timed(calls, &mut call)).fold(first, f64::min)
}

fn timed(calls: u32, call: &mut impl FnMut()) -> f64 {
    let start = Instant::now();
    (0..calls).for_each(|_| call());
    start.elapsed().as_secs_f64() / f64::from(calls)
}

/// Ipopt's answer.
#[cfg_attr(not(feature = "ipopt"), allow(dead_code))]
struct Answer {
    s: Vec<f64>,
    seconds: f64,
    iterations: u64,
    status: i32,
}

impl Answer {
    /// Solved, or solved to an acceptable level.
    fn is_solved(&self) -> bool {
        matches!(self.status, 0 | 1) && self.s.iter().all(|s| s.is_finite())
    }
}

/// With Ipopt's defaults. The time is only that of `IpoptSolve`: the making of the program, of Ipopt's object and of its options does not
/// count.
#[cfg(feature = "ipopt")]
fn by_ipopt(subproblem: &StoredSubproblem, time_limit: f64) -> Result<Answer, Error> {
    use tangor_ipopt::{Derivatives, Options};
    /// Repeating what takes longer shows nothing new.
    const LONG: f64 = 0.2;
    let options = Options { max_iterations: 3000, seconds: time_limit, tolerance: 1e-8, unscaled: None };
    let mut program = Quadratic::of(subproblem);
    let mut answer = Answer { s: Vec::new(), seconds: f64::INFINITY, iterations: 0, status: 0 };
    for _ in 0..REPETITIONS {
        let solution = tangor_ipopt::solve(Derivatives::Second(&mut program), &options)
            .ok_or_else(|| Error::Refused("Ipopt did not take a subproblem".into()))?;
        (answer.iterations, answer.status) = (solution.iterations, solution.status);
        answer.seconds = answer.seconds.min(solution.seconds);
        answer.s = solution.x;
        if solution.seconds > LONG {
            break;
        }
    }
    answer.s.truncate(subproblem.size().1);
    Ok(answer)
}

#[cfg(not(feature = "ipopt"))]
fn by_ipopt(_: &StoredSubproblem, _: f64) -> Result<Answer, Error> {
    Err(Error::NoIpopt)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_is_judged_by_hand() {
        // min 2 s0 + 1/2 |s|^2 + (s0 + s1 - 4)^2 / (2 kappa), kappa = 1/2, and s0 - s1 = 3
        let entries = [(0, 0, 1.0), (0, 1, 1.0), (1, 0, 1.0), (1, 1, -1.0)];
        let mut problem = StoredSubproblem::new(2, 2, &entries, false, &[]);
        problem.gradient = vec![2.0, 0.0];
        (problem.target, problem.softness) = (vec![4.0, 3.0], vec![0.5, 0.0]);
        problem.lower = vec![-1.0, 5.0];
        // At (1, 1): half of 2 + 1 is 1.5, and 1/2 (2 - 4)^2 = 2; the second row misses 3 by 3 and a bound is missed by 4,
        // relative to 3.
        assert_eq!(Quality::of(&problem, &[1.0, 1.0]), Quality { value: 3.5, violation: 5.0 / 3.0 });
    }

    #[test]
    fn who_is_better_decides_only_where_both_say_solved() {
        let at = |value: f64, violation: f64| Quality { value, violation };
        let good = at(2.0, 0.0);
        let of = |kernel: (bool, &Quality), ipopt: (bool, &Quality)| verdict(kernel, ipopt);
        assert_eq!(of((true, &good), (true, &at(2.000001, 1e-9))), Verdict::Agree);
        assert_eq!(of((true, &good), (true, &at(2.001, 0.0))), Verdict::KernelBetter);
        assert_eq!(of((true, &at(2.001, 0.0)), (true, &good)), Verdict::IpoptBetter);
        assert_eq!(of((true, &good), (true, &at(2.0, 0.1))), Verdict::KernelBetter);
        assert_eq!(of((true, &at(2.0, 0.1)), (true, &good)), Verdict::IpoptBetter);
        assert_eq!(of((true, &good), (true, &at(1.0, 0.1))), Verdict::Differ);
        assert_eq!(of((true, &good), (true, &at(1.0, 1e-7))), Verdict::Differ);
        assert_eq!(of((true, &at(2.0, 0.1)), (true, &at(2.0, 0.2))), Verdict::BothFailed);
        assert_eq!(of((true, &good), (false, &good)), Verdict::IpoptFailed);
        assert_eq!(of((false, &good), (true, &good)), Verdict::KernelFailed);
        assert_eq!(of((false, &good), (false, &good)), Verdict::BothFailed);
    }

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

    #[cfg(not(feature = "ipopt"))]
    #[test]
    fn without_ipopt_nothing_is_measured() {
        let member = crate::sets::members("HS71", &tangor_open::Finder::default()).unwrap().remove(0);
        let following = Following { settings: Settings::default(), max_iterations: 10, time_limit: 10.0 };
        assert!(matches!(following.follow(&member), Err(Error::NoIpopt)));
    }

    #[cfg(feature = "ipopt")]
    #[test]
    fn ipopt_and_the_kernel_agree() {
        let member = crate::sets::members("HS71", &tangor_open::Finder::default()).unwrap().remove(0);
        let following = Following { settings: Settings::default(), max_iterations: 10, time_limit: 60.0 };
        let measured = following.follow(&member).unwrap().measured;
        assert!(measured.iter().any(|one| one.kind == Kind::Normal) && measured.iter().any(|one| one.kind == Kind::Tangent));
        for one in &measured {
            assert_eq!(one.verdict, Verdict::Agree, "{one:?}");
            assert!(one.warm_seconds > 0.0 && one.ipopt_seconds > 0.0 && one.ipopt_iterations > 0);
        }
    }
}
