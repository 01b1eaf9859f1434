//! The solver of the subproblem, an active-set method that moves many columns at a time.
//!
//! For a guess of the bounds that hold, the conditions of optimality are one linear system. Columns between their bounds that come out
//! beyond them, and held columns whose multiplier has the wrong sign, show where the guess was wrong. All of them change over as long as
//! their number falls ([`search`](super::search)). Where it does not, a dual method settles the rest one by one ([`settle`](super::settle)); where much is wrong, another
//! search begins without multipliers, and then an interior-point method tells the bounds that hold ([`interior`](super::interior)). A proximal term on the multipliers, `J s - r - kappa y =
//! kappa' (y - y')`, keeps every system regular, whatever rows depend on each other; then `y'` follows `y` until the rows hold. Near a
//! solution the first guess is right, and one system is all.

use tangor_problem::{TooLarge, count_of};

use crate::kernel::cone;
use crate::kernel::interior::{Interior, Near};
use crate::kernel::matrix::Jacobian;
use crate::kernel::search::{Patience, Search};
use crate::kernel::subproblem::{BoundStatus, Subproblem};
use crate::kernel::system::{Beside, System};
use crate::kernel::vector::{add, largest, norm};
use crate::run::clock::Clock;
use crate::run::memory::{Budget, NUMBER};
use crate::{Event, Kernel, Unusual};

/// Rows that miss the tolerance by so much hold nevertheless, where nothing better can be had.
pub(super) const AS_GOOD_AS_IT_GETS: f64 = 1e3;
/// No row holds that misses more than this share of its terms.
const GROSS: f64 = 1e-3;

/// A column this near a bound is on it where the point came from the inside, relative to the largest column.
const ON_A_BOUND: f64 = 1e-9;

/// Rounding of columns and multipliers, relative to the largest of their terms, and of one column, relative to itself.
const ROUNDING: f64 = 1e-13;
const OWN_ROUNDING: f64 = 1e-12;

/// What rows make of multipliers is the same, but for rounding and the proximal term.
const SAME: f64 = 1e-6;

/// So many systems a search may take before the rest is settled column by column: at first, where a border serves every column that changes over, while the interior-point
/// method can still do better, and when it cannot.
const BRIEF: u32 = 2;
const SHORT: u32 = 4;
const LONG: u32 = 12;

/// So many factorisations a search may take where columns that change over hardly ever get by without one: at the start, early inside and at the end.
const FIRST: u32 = 5;
const EARLY: u32 = 4;
const LAST: u32 = 12;

/// How well a subproblem was solved.
#[derive(Clone, Copy, Debug, Default)]
pub struct Projected {
    /// Factorisations.
    pub iterations: u32,
    /// Systems: those that were factorised, and those of other bounds that a factorisation served as well.
    pub systems: u32,
    /// Factorisations in the interior-point method.
    pub interior: u32,
    /// `|r - J s + kappa y|`
    pub residual: f64,
    /// Whether the residual is within the tolerance.
    pub converged: bool,
    /// Whether rows depend on each other.
    pub dependent: bool,
    /// Whether `H` is to blame: it may be indefinite across the rows or by rounding, and is so along them as well, or may be since nothing was found.
    pub unsuited_metric: bool,
}

impl Projected {
    fn count_interior(&mut self, steps: u32) {
        self.iterations += steps;
        self.systems += steps;
        self.interior += steps;
    }
}

/// The kernel with its memory.
pub struct Projection {
    pub(super) system: System,
    pub(super) settings: Kernel,
    pub(super) statuses: Vec<BoundStatus>,
    /// The statuses with the fewest wrong columns.
    pub(super) best: Vec<BoundStatus>,
    /// Factorisations that are allowed in all, for the time being.
    pub(super) most: u32,
    /// What holds the columns that are not free: infinite there.
    pub(super) extra: Vec<f64>,
    /// Whether what was factorised last belongs to this subproblem and this proximal term.
    pub(super) is_factorised: bool,
    /// The norm of `J`.
    pub(super) jacobian_norm: f64,
    /// The size of each row, and `kappa'` and `kappa + kappa'`.
    sizes: Vec<f64>,
    pub(super) proximal: Vec<f64>,
    pub(super) softness: Vec<f64>,
    /// `y'`
    pub(super) centre: Vec<f64>,
    /// `H s + g + J^T y`, and its change along a direction
    pub(super) q: Vec<f64>,
    pub(super) dq: Vec<f64>,
    pub(super) residual: Vec<f64>,
    /// The multipliers at the start.
    start: Vec<f64>,
    pub(super) ds: Vec<f64>,
    pub(super) dy: Vec<f64>,
    interior: Option<Box<Interior>>,
    /// What Clarabel may allocate.
    budget: Budget,
}

impl Projection {
    /// For subproblems whose `H` has this besides its diagonal.
    pub fn new(
        jacobian: &Jacobian,
        settings: &Kernel,
        beside: Beside,
        budget: Budget,
        clock: &Clock,
    ) -> Result<Self, TooLarge> {
        let vectors = Projection::vectors(jacobian.rows(), jacobian.columns());
        let budget = budget.take(vectors, || count_of(vectors / NUMBER, "number") + " for subproblems")?;
        let system = System::new(jacobian, settings.factorisation, beside, budget, clock)?;
        let budget = budget.after(system.bytes());
        Ok(Projection { budget, ..Projection::with(system, jacobian, settings) })
    }

    /// The memory that it has.
    pub fn bytes(&self) -> u128 {
        self.system.bytes() + Projection::vectors(self.sizes.len(), self.extra.len())
    }

    /// The memory of one for so many rows and columns besides its system.
    fn vectors(m: usize, columns: usize) -> u128 {
        NUMBER * (4 * columns + 7 * m) as u128 + 2 * columns as u128 + Interior::bytes(m, columns)
    }

    /// With its linear system.
    pub fn with(system: System, jacobian: &Jacobian, settings: &Kernel) -> Self {
        let (m, columns) = (jacobian.rows(), jacobian.columns());
        Projection {
            system,
            settings: settings.clone(),
            most: settings.iterations,
            statuses: vec![BoundStatus::Free; columns],
            best: vec![BoundStatus::Free; columns],
            extra: vec![0.0; columns],
            is_factorised: false,
            jacobian_norm: 0.0,
            sizes: vec![0.0; m],
            proximal: vec![0.0; m],
            softness: vec![0.0; m],
            centre: vec![0.0; m],
            q: vec![0.0; columns],
            dq: vec![0.0; columns],
            residual: vec![0.0; m],
            start: vec![0.0; m],
            ds: vec![0.0; columns],
            dy: vec![0.0; m],
            interior: Some(Box::new(Interior::new(m, columns))),
            budget: Budget::NO_LIMIT,
        }
    }

    /// Solves from the multipliers `y`, which are improved in place; `s` is the solution.
    pub fn solve(&mut self, problem: &Subproblem, y: &mut [f64], s: &mut [f64], clock: &Clock) -> Projected {
        let mut done = Projected::default();
        self.system.end_with(clock);
        problem.find_row_sizes(&mut self.sizes);
        self.jacobian_norm = problem.jacobian.norm();
        // Multipliers that went astray once must not stay.
        if !norm(y).is_finite() {
            y.fill(0.0);
        }
        self.guess(problem, y, s);
        self.start.copy_from_slice(y);
        let is_large = self.system.is_large();
        let patience = self.patience(if is_large { SHORT } else { BRIEF }, FIRST);
        let mut found = self.search(problem, y, s, patience, clock, &mut done);
        // Where the last multipliers tell a wrong set of bounds, none at all may tell a better one. A search of a large system costs more than that is worth.
        if found != Search::Done && !done.unsuited_metric && !is_large && norm(&self.start) > 0.0 {
            y.fill(0.0);
            self.guess(problem, y, s);
            found = self.search(problem, y, s, patience, clock, &mut done);
        }
        if found != Search::Done && !done.unsuited_metric {
            y.copy_from_slice(&self.start);
            self.go_inside(problem, y, s, clock, &mut done);
        }
        if !norm(y).is_finite() {
            y.fill(0.0);
            done.converged = false;
        }
        for (i, s) in s.iter_mut().enumerate() {
            *s = if s.is_finite() { *s } else { 0.0 };
            *s = s.max(problem.lower[i]).min(problem.upper[i]);
        }
        done
    }

    /// The same, and what the kernel could not solve is handed to Clarabel, if the settings allow it. All of this is recorded. What may be
    /// indefinite somewhere is not handed on: whoever asks should make it more positive.
    pub fn solve_or_hand_over(
        &mut self,
        problem: &Subproblem,
        y: &mut [f64],
        s: &mut [f64],
        clock: &Clock,
        unusual: &mut Unusual,
    ) -> Projected {
        let mut done = self.solve(problem, y, s, clock);
        if done.dependent {
            unusual.insert(Event::RankDeficient);
        }
        done.unsuited_metric |= !done.converged && problem.may_be_indefinite() && !clock.is_over();
        if !done.converged && !done.unsuited_metric && !clock.is_over() {
            done.converged = self.settings.fallback && cone::quadratic(problem, s, y, clock, self.budget);
            unusual.insert(if done.converged { Event::Fallback } else { Event::Inexact });
        }
        done
    }

    /// The multipliers of the same subproblem with `r = 0` and the bounds that hold now, by the system that was factorised last, from `y`. Where rows
    /// depend on each other in the free columns, a part of `y` remains that the rows make nothing of; then those from zero are the better ones.
    pub fn find_multipliers_at_rest(&mut self, problem: &Subproblem, y: &[f64], out: &mut [f64]) {
        self.dy.fill(0.0);
        self.solve_at_rest(problem);
        out.copy_from_slice(&self.dy);
        self.dy.copy_from_slice(y);
        self.solve_at_rest(problem);
        // What the rows make of the difference, and of the multipliers themselves.
        out.iter_mut().zip(&self.dy).for_each(|(out, dy)| *out -= dy);
        let difference = self.size_in_free_columns(problem, out);
        out.iter_mut().zip(&self.dy).for_each(|(out, dy)| *out += dy);
        if difference > SAME * self.size_in_free_columns(problem, out) {
            out.copy_from_slice(&self.dy);
        }
    }

    /// Adds to `dy` what makes it the multipliers for `r = 0`.
    fn solve_at_rest(&mut self, problem: &Subproblem) {
        match problem.gradient {
            Some(g) => self.ds.copy_from_slice(g),
            None => self.ds.fill(0.0),
        }
        problem.jacobian.add_transposed(&self.dy, &mut self.ds);
        for (ds, extra) in self.ds.iter_mut().zip(&self.extra) {
            *ds = if *extra == 0.0 { -*ds } else { 0.0 };
        }
        self.residual.fill(0.0);
        self.system.solve(problem, &mut self.ds, &mut self.residual);
        add(1.0, &self.residual, &mut self.dy);
    }

    /// `|J^T y|` in the columns that no bound holds.
    fn size_in_free_columns(&mut self, problem: &Subproblem, y: &[f64]) -> f64 {
        self.ds.fill(0.0);
        problem.jacobian.add_transposed(y, &mut self.ds);
        self.ds.iter().zip(&self.extra).filter(|(_, extra)| **extra == 0.0).map(|(ds, _)| ds * ds).sum::<f64>().sqrt()
    }

    /// The interior-point method, and the active set from where it ends.
    fn go_inside(&mut self, problem: &Subproblem, y: &mut [f64], s: &mut [f64], clock: &Clock, done: &mut Projected) {
        if self.is_enough(done) {
            return;
        }
        let Some(mut interior) = self.interior.take() else { return };
        let mut found = Search::Unsettled;
        done.count_interior(1);
        self.is_factorised = false;
        if interior.start(problem, &self.sizes, &mut self.system, y, s) {
            for near in [Near::Enough, Near::Solved] {
                let steps = interior.approach(problem, &self.sizes, &mut self.system, near, y, s, clock);
                done.count_interior(steps);
                self.is_factorised = false;
                interior.tell_statuses(problem, s, &mut self.statuses);
                interior.keep(s, y);
                let systems = if near == Near::Enough || interior.is_solved() { SHORT } else { LONG };
                let patience = self.patience(systems, if near == Near::Enough { EARLY } else { LAST });
                found = self.search(problem, y, s, patience, clock, done);
                if found == Search::Done {
                    break;
                }
                interior.give_back(s, y);
                if done.unsuited_metric {
                    break;
                }
            }
        }
        if found != Search::Done {
            // The point inside is near enough, or nothing is; columns that are next to a bound are on it.
            let near = ON_A_BOUND * largest(s);
            for (i, s) in s.iter_mut().enumerate() {
                let nearest = if *s - problem.lower[i] <= problem.upper[i] - *s { problem.lower[i] } else { problem.upper[i] };
                *s = if (*s - nearest).abs() <= near { nearest } else { *s };
            }
            problem.find_residual(s, y, &mut self.residual);
            done.residual = norm(&self.residual);
            done.converged = interior.is_solved() && done.residual <= AS_GOOD_AS_IT_GETS * self.allowed(problem, y, s);
        }
        self.interior = Some(interior);
    }

    /// How long to search. In a large sparse system a border of a few columns takes as long as a factorisation, and settling column by column far longer than the
    /// interior-point method.
    fn patience(&self, systems: u32, factorisations: u32) -> Patience {
        Patience { systems, factorisations: if self.system.is_large() { factorisations } else { u32::MAX } }
    }

    /// The bounds that hold, were `H` diagonal and `y` right; the others start there, too.
    fn guess(&mut self, problem: &Subproblem, y: &[f64], s: &mut [f64]) {
        match problem.gradient {
            Some(g) => self.q.copy_from_slice(g),
            None => self.q.fill(0.0),
        }
        problem.jacobian.add_transposed(y, &mut self.q);
        for i in 0..s.len() {
            let unclipped = -self.q[i] / problem.metric[i];
            let (lower, upper) = (problem.lower[i], problem.upper[i]);
            self.statuses[i] = match (unclipped <= lower, unclipped >= upper) {
                (true, _) => BoundStatus::Lower,
                (_, true) => BoundStatus::Upper,
                _ => BoundStatus::Free,
            };
            s[i] = unclipped.max(lower).min(upper);
        }
    }

    pub(super) fn set_proximal(&mut self, problem: &Subproblem, relative: f64) {
        self.is_factorised = false;
        for i in 0..self.sizes.len() {
            // The multiplier of a row of zeros changes nothing: any positive number keeps the matrix definite.
            self.proximal[i] = if self.sizes[i] > 0.0 { relative * self.sizes[i] } else { 1.0 };
            self.softness[i] = problem.softness[i] + self.proximal[i];
        }
    }

    /// How much rows may miss: what rounding makes of a step of this length, but never more than a share of their own terms. A long step along small
    /// derivatives would otherwise be right whatever these rows say.
    pub(super) fn allowed(&self, problem: &Subproblem, y: &[f64], s: &[f64]) -> f64 {
        let beside = norm(problem.target) + problem.softened(y);
        let rounded = self.settings.tolerance * (beside + self.jacobian_norm * norm(s));
        let gross = GROSS * (beside + problem.jacobian.size_of_terms(s));
        rounded.min(gross).max(self.settings.floor)
    }

    /// How large the terms of `H s + g + J^T y` are.
    pub(super) fn size_of_terms(&self, problem: &Subproblem, y: &[f64]) -> f64 {
        let g = problem.gradient.map_or(0.0, largest);
        g + self.jacobian_norm * norm(y)
    }

    /// How far `s` may be beyond a bound, and a multiplier beyond zero, by rounding.
    pub(super) fn rounding(&self, problem: &Subproblem, y: &[f64], s: &[f64]) -> (f64, f64) {
        (ROUNDING * largest(s), ROUNDING * self.size_of_terms(problem, y))
    }

    /// Whether the guess is wrong in a column.
    pub(super) fn is_wrong(&self, problem: &Subproblem, s: &[f64], (beyond, sign): (f64, f64), i: usize) -> bool {
        let (lower, upper) = (problem.lower[i], problem.upper[i]);
        let allowed = beyond + OWN_ROUNDING * s[i].abs();
        match self.statuses[i] {
            BoundStatus::Free => s[i] < lower - allowed || s[i] > upper + allowed,
            BoundStatus::Lower => self.q[i] < -sign && lower < upper,
            BoundStatus::Upper => self.q[i] > sign && lower < upper,
        }
    }
}
