//! The Hessian of the Lagrangian itself, where the problem has second derivatives, made positive definite along the constraints by a
//! shift, a multiple of a diagonal.
//!
//! The diagonal weighs each variable by the largest entry of its row. A multiple of the identity that outweighs the negative curvature of some
//! variables would hold back all others, in which there may be next to none. The identity comes in where steps turn out to be too long, and says
//! how far the Hessian can be trusted: the damping.

use serde::{Deserialize, Serialize};
use tangor_problem::{Function, Meta, Pattern, SampledProblem};

use crate::form::oracle::{Oracle, Trouble, check, trouble};
use crate::form::standard::Standard;
use crate::kernel::symmetric::SparseSymmetric;
use crate::metric::damping::{self, RISE};
use crate::run::memory::NUMBER;

/// An entry that belongs to a fixed variable.
const NOWHERE: usize = usize::MAX;

/// The least weight of a variable, relative to the heaviest.
const LIGHTEST: f64 = 1e-8;

/// The first shift that is tried, relative to the largest entry; what is tried next is so many times as large.
const FIRST: f64 = 1e-11;
const NEXT: f64 = 8.0;

/// Below this, relative to the largest entry, it grows by the square of that.
const UNKNOWN: f64 = 1e-5;

/// What was enough the last time is tried again at this share of it.
const LESS: f64 = 1.0 / 3.0;

/// The least damping after a short step, relative to the largest entry.
const SOFT: f64 = 1e-6;

/// After a step that was too small: the least damping, and the most, relative to the largest entry.
const STIFF: f64 = 1e-3;
const STIFFEST: f64 = 1e10;

/// So often the shift may grow before the Hessian is given up.
const MOST: u32 = 24;

/// The Hessian in the internal form. What is remembered from one iteration to the next is all of it that is serialised.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ExactHessian {
    #[serde(skip)]
    pub matrix: SparseSymmetric,
    /// Where each value of the user's Hessian goes.
    #[serde(skip)]
    places: Vec<usize>,
    /// The user's values and multipliers.
    #[serde(skip)]
    values: Vec<f64>,
    #[serde(skip)]
    y: Vec<f64>,
    shifts: Shifts,
    #[serde(skip)]
    raised: u32,
}

/// What is remembered from one iteration to the next.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Shifts {
    /// The shift that was enough the last time the Hessian needed one.
    enough: f64,
    /// The damping: steps that had to be shortened make it grow, full ones let it fall, as Levenberg and Marquardt have it.
    least: f64,
}

impl Shifts {
    fn are_valid(&self) -> bool {
        [self.enough, self.least].iter().all(|shift| *shift >= 0.0 && shift.is_finite())
    }
}

impl ExactHessian {
    /// The memory of one whose pattern has so many entries: where each is and goes, and its value twice.
    pub fn bytes(entries: usize, n: usize, m: usize) -> u128 {
        NUMBER * (5 * entries + n + m) as u128
    }

    pub fn new(pattern: &Pattern, meta: &Meta, standard: &Standard) -> Self {
        let mut internal = vec![NOWHERE; meta.n()];
        standard.columns.iter().enumerate().for_each(|(k, &i)| internal[i] = k);
        let entries = pattern.len(meta.n(), meta.n());
        let of_user: Vec<Option<(usize, usize)>> = (0..entries)
            .map(|k| {
                let (i, j) = pattern.place(k, meta.n());
                let (i, j) = (internal[i.max(j)], internal[i.min(j)]);
                (i != NOWHERE && j != NOWHERE).then_some((i.max(j), i.min(j)))
            })
            .collect();
        let mut unique: Vec<(usize, usize)> = of_user.iter().copied().flatten().collect();
        unique.sort_unstable();
        unique.dedup();
        let find = |place: &(usize, usize)| unique.partition_point(|other| other < place);
        let places = of_user.iter().map(|place| place.as_ref().map_or(NOWHERE, find)).collect();
        let n = standard.n();
        ExactHessian {
            matrix: SparseSymmetric::new(n, unique),
            places,
            values: vec![0.0; entries],
            y: vec![0.0; meta.m()],
            shifts: Shifts::default(),
            raised: 0,
        }
    }

    /// At the user's point `x`, with multipliers of the internal rows. Where it is undefined, the last one stays.
    pub fn evaluate<S: SampledProblem>(&mut self, oracle: &mut Oracle<S>, x: &[f64], lambda: &[f64]) -> Result<(), Trouble> {
        let standard = &oracle.standard;
        self.y.fill(0.0);
        for ((&i, scale), lambda) in standard.rows.iter().zip(&standard.scales.rows).zip(lambda) {
            self.y[i] = scale * lambda;
        }
        let factor = standard.objective_factor();
        (self.matrix.shift, self.matrix.damping, self.raised) = (0.0, self.shifts.least, 0);
        match oracle.problem.hessian(x, factor, &self.y, &mut self.values) {
            None => return Ok(()),
            Some(done) => done.map_err(|failure| trouble(Function::Hessian, failure))?,
        }
        check(oracle.problem.meta(), Function::Hessian, &self.values)?;
        self.matrix.values.fill(0.0);
        let units = &oracle.standard.scales.units;
        for (&place, value) in self.places.iter().zip(&self.values).filter(|(place, _)| **place != NOWHERE) {
            let (i, j) = self.matrix.places[place];
            self.matrix.values[place] += units[i] * units[j] * value;
        }
        self.matrix.weigh_by_rows(LIGHTEST);
        Ok(())
    }

    /// Whether another one has shifts that can be gone on with.
    pub fn fits(&self, saved: &ExactHessian) -> bool {
        saved.shifts.are_valid()
    }

    /// Goes on from the shifts of another one; entries are evaluated in each iteration.
    pub fn take_up(&mut self, saved: ExactHessian) {
        self.shifts = saved.shifts;
    }

    /// Shifts it by more: the Hessian was not positive definite where it has to be. False: it never will be.
    pub fn raise(&mut self) -> bool {
        self.raised += 1;
        let known = if self.raised == 1 { LESS * self.shifts.enough } else { 0.0 };
        // Where nothing is known, it grows faster.
        let next = if self.matrix.shift < UNKNOWN * self.size() { NEXT * NEXT } else { NEXT };
        self.matrix.shift = (next * self.matrix.shift).max(known).max(FIRST * self.size());
        self.shifts.enough = self.matrix.shift;
        self.raised <= MOST && self.matrix.shift.is_finite()
    }

    /// The largest entry; 1 where there is nothing.
    fn size(&self) -> f64 {
        Some(self.matrix.size()).filter(|size| *size > 0.0).unwrap_or(1.0)
    }

    /// A step was accepted at this share of its length. Whether steps become shorter of themselves.
    pub fn follow(&mut self, eta: f64) -> bool {
        let (matrix, size) = (&self.matrix, self.matrix.size());
        damping::follow(&mut self.shifts.least, eta, size, || Some((RISE * matrix.damping.max(matrix.shift)).max(SOFT * size)))
    }

    /// No step was accepted: much more damping. False: there is so much of it already that the Hessian does not count.
    pub fn stiffen(&mut self) -> bool {
        let size = self.size();
        self.shifts.least = (RISE * RISE * self.matrix.damping.max(self.matrix.shift)).max(STIFF * size);
        self.shifts.least < STIFFEST * size
    }
}
