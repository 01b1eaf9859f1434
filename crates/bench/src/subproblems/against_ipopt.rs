//! A subproblem in Ipopt's hands, where it is built in, and whose answer is the better one.

use serde::Serialize;
use tangor_solver::internals::StoredSubproblem;

#[cfg(feature = "ipopt")]
use super::quadratic::Quadratic;
#[cfg(feature = "ipopt")]
use super::{LONG, REPETITIONS};
use crate::Error;

/// Up to which difference, relative to `max(1, |value|)`, two solutions count as the same. Ipopt aims at 1e-8.
const AGREEMENT: f64 = 1e-6;

/// Violations up to this are those of rounding.
const ROUNDING: f64 = 1e-10;

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

/// What Ipopt made of a subproblem.
#[derive(Clone, Debug, PartialEq)]
pub struct ByIpopt {
    /// Its seconds.
    pub seconds: f64,
    /// Its iterations.
    pub iterations: u64,
    /// Its return code.
    pub status: i32,
    /// The objective at the kernel's point and at Ipopt's.
    pub values: [f64; 2],
    /// How far bounds, and rows that must hold, are violated at either.
    pub violations: [f64; 2],
    /// Who solved it.
    pub verdict: Verdict,
}

/// Solves a subproblem by Ipopt and compares with the kernel's point. None where Ipopt is not built in.
pub fn compare(problem: &StoredSubproblem, solved: bool, s: &[f64], time_limit: f64) -> Result<Option<ByIpopt>, Error> {
    let Some(answer) = by_ipopt(problem, time_limit)? else { return Ok(None) };
    let (kernel, ipopt) = (Quality::of(problem, s), Quality::of(problem, &answer.s));
    Ok(Some(ByIpopt {
        seconds: answer.seconds,
        iterations: answer.iterations,
        status: answer.status,
        values: [kernel.value, ipopt.value],
        violations: [kernel.violation, ipopt.violation],
        verdict: verdict((solved, &kernel), (answer.is_solved(), &ipopt)),
    }))
}

/// What the objective is multiplied by: the softness of the soft rows, so that the normal subproblem has the form
/// `1/2 |h + J u|^2 + kappa/2 u^T H u` of the method's description.
pub fn scale(problem: &StoredSubproblem) -> f64 {
    let softest = problem.softness.iter().copied().fold(0.0, f64::max);
    if softest > 0.0 { softest } else { 1.0 }
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
fn by_ipopt(subproblem: &StoredSubproblem, time_limit: f64) -> Result<Option<Answer>, Error> {
    use tangor_ipopt::{Derivatives, Options};
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
    Ok(Some(answer))
}

#[cfg(not(feature = "ipopt"))]
fn by_ipopt(_: &StoredSubproblem, _: f64) -> Result<Option<Answer>, Error> {
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_is_measured_by_hand() {
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
}
