//! Where rows all but depend on each other, multipliers of `J s = r` are as large as one likes, and the metric and the merit parameter that are
//! made of them grow without end. There the rows of the tangent step give way, `J s = r + K lambda`, as little as makes the multipliers
//! sensible again, and as long as most of the repair remains.

use tangor_problem::SampledProblem;

use crate::kernel::vector::norm;
use crate::solver::Solver;
use crate::{Event, NormalVariant, Unusual};

/// Multipliers that are so much larger than what the rows make of them say that the rows depend on each other.
const DEPENDENT: f64 = 1e6;

/// How far rows give way, relative to their own size in `J H^-1 J^T`: at first, and at most. What is tried next is so many times as large.
const FIRST: f64 = 1e-10;
const MOST: f64 = 1e-3;
const NEXT: f64 = 100.0;

/// The share of the repair that must remain.
const REMAINS: f64 = 0.5;

/// The memory of a step that may turn out to be the better one, and `J s`.
pub struct SofteningMemory {
    s: Vec<f64>,
    lambda: Vec<f64>,
    at_rest: Vec<f64>,
    mu: Vec<f64>,
    js: Vec<f64>,
}

impl SofteningMemory {
    pub fn new(m: usize, columns: usize) -> Self {
        let (rows, columns) = (vec![0.0; m], vec![0.0; columns]);
        SofteningMemory { s: columns.clone(), lambda: rows.clone(), at_rest: rows.clone(), mu: columns, js: rows }
    }
}

impl<S: SampledProblem> Solver<S> {
    /// Softens the rows of the tangent step until its multipliers do not show any more that they depend on each other; what the step then
    /// repairs is what is reckoned with. Gives the Newton steps that it took.
    pub(super) fn soften_dependent_rows(&mut self, unusual: &mut Unusual) -> u32 {
        let (h, theta) = (norm(&self.state.current.h), self.steps.normal.theta);
        if self.noisy.is_some() || self.settings.normal.variant != NormalVariant::Majorised || h == 0.0 {
            return 0;
        }
        let (mut share, mut iterations) = (FIRST, 0);
        while share <= MOST && self.steps.tangent.dependence(&self.state.current) > DEPENDENT && !self.clock.is_over() {
            self.keep_tangent_step();
            self.soften_rows(share);
            iterations += self.find_tangent_step(unusual);
            let (current, steps) = (&self.state.current, &mut self.steps);
            current.jacobian.apply(&steps.tangent.s, &mut steps.softening.js);
            let left = current.h.iter().zip(&steps.softening.js).map(|(h, r)| (h + r) * (h + r)).sum::<f64>().sqrt();
            let removed = 1.0 - left / h;
            if removed.is_nan() || removed < REMAINS * theta {
                self.take_back_tangent_step();
                break;
            }
            steps.normal.theta = removed;
            steps.normal.target.copy_from_slice(&steps.softening.js);
            unusual.insert(Event::RankDeficient);
            share *= NEXT;
        }
        self.steps.tangent.softness.fill(0.0);
        iterations
    }

    fn soften_rows(&mut self, share: f64) {
        let (current, n) = (&self.state.current, self.state.current.n());
        for (row, softness) in self.steps.tangent.softness.iter_mut().enumerate() {
            *softness = share * current.jacobian.a.weighted_square(row, &self.state.metric.diagonal[..n]);
        }
    }

    fn keep_tangent_step(&mut self) {
        let (kept, tangent) = (&mut self.steps.softening, &self.steps.tangent);
        kept.s.copy_from_slice(&tangent.s);
        kept.lambda.copy_from_slice(&tangent.lambda);
        kept.at_rest.copy_from_slice(&tangent.lambda_at_rest);
        kept.mu.copy_from_slice(&tangent.mu);
    }

    fn take_back_tangent_step(&mut self) {
        let (kept, tangent) = (&self.steps.softening, &mut self.steps.tangent);
        tangent.s.copy_from_slice(&kept.s);
        tangent.lambda.copy_from_slice(&kept.lambda);
        tangent.lambda_at_rest.copy_from_slice(&kept.at_rest);
        tangent.mu.copy_from_slice(&kept.mu);
    }
}

#[cfg(test)]
mod tests {
    use tangor_problem::{ClosureProblem, Meta};

    use super::*;
    use crate::{Scaling, Settings};

    /// `min 1/2 |x|^2 - x0` with rows `x0 = 1` and `x0 + t x1 = 1 + d`, at the origin.
    fn first_step(t: f64, d: f64) -> (Solver<tangor_problem::Exact<impl tangor_problem::Problem>>, Unusual) {
        let problem = ClosureProblem::builder(Meta::new("nearly one row", vec![0.0, 0.0]).equalities(&[1.0, 1.0 + d]))
            .objective(|x| 0.5 * (x[0] * x[0] + x[1] * x[1]) - x[0])
            .gradient(|x, g| g.copy_from_slice(&[x[0] - 1.0, x[1]]))
            .constraints(move |x, c| c.copy_from_slice(&[x[0], x[0] + t * x[1]]))
            .jacobian(move |_, values| values.copy_from_slice(&[1.0, 0.0, 1.0, t]))
            .build()
            .unwrap();
        let mut solver = Solver::new(problem, Settings { scaling: Scaling::None, ..Settings::default() }).unwrap();
        let mut unusual = Unusual::default();
        solver.find_steps(&mut unusual);
        (solver, unusual)
    }

    #[test]
    fn rows_that_are_nearly_one_give_way() {
        // With t = 1e-8, to move the rows by 0.5 and 0.6 takes s1 = 1e7 and multipliers of 1e15. Where they may give way, they meet in the
        // middle, and 1 - |(0.45, 0.55)| / |(1, 1.1)| of the residual goes.
        let (mut solver, mut unusual) = first_step(1e-8, 0.1);
        solver.steps.normal.target.copy_from_slice(&[0.5, 0.6]);
        solver.find_tangent_step(&mut unusual);
        solver.soften_dependent_rows(&mut unusual);
        let (tangent, normal) = (&solver.steps.tangent, &solver.steps.normal);
        assert!(unusual.contains(Event::RankDeficient));
        assert!(norm(&tangent.s) < 10.0 && norm(&tangent.lambda) < 1e7, "{:?} {:?}", tangent.s, tangent.lambda);
        assert!(tangent.softness.iter().all(|softness| *softness == 0.0), "the next step is asked to hold");
        normal.target.iter().for_each(|r| assert!((r - 0.55).abs() < 1e-2, "{:?}", normal.target));
        let expected = 1.0 - norm(&[0.45, 0.55]) / norm(&[1.0, 1.1]);
        assert!((normal.theta - expected).abs() < 1e-2, "{} is not {expected}", normal.theta);
    }

    #[test]
    fn dependence_is_told_by_multipliers() {
        // lambda = (1000, -1000) of rows (1, 0) and (1, 1/2) has the size 1000 sqrt(1 + 5/4); H is the identity at first, so that the rows
        // make -(g + s) of multipliers.
        let (mut solver, _) = first_step(0.5, 0.0);
        solver.steps.tangent.lambda.copy_from_slice(&[1e3, -1e3]);
        let tangent = &solver.steps.tangent;
        let made = norm(&[tangent.s[0] - 1.0, tangent.s[1]]).max(1.0);
        let (found, expected) = (tangent.dependence(&solver.state.current), 1e3 * 2.25f64.sqrt() / made);
        assert!((found / expected - 1.0).abs() < 1e-12, "{found} is not {expected}");
    }
}
