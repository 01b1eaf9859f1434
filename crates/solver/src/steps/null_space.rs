//! The paper's normal steps in full, for where the shortest repair is none of them: `min 1/2 |h + J u|^2` inside the bounds, with a null-space
//! part `v` of `u` that is at most as long as `h`, or that has a price. With the price `nu` either one is a problem in a box,
//!
//! ```text
//! min  1/2 |h + J u|^2 + nu/2 |v|^2,     whose matrix is     A + nu N,     A = sum_k d_k e_k e_k^T,     N = I - sum_k e_k e_k^T,
//! ```
//!
//! where `d_k > 0` are the eigenvalues of `J J^T` and `e_k = J^T w_k / sqrt(d_k)` are made of its eigenvectors `w_k`. The higher the price, the
//! shorter `v = N u`: the price at which it is as long as it may be is the root of a function of one variable.

use std::sync::Arc;

use crate::Kernel;
use crate::kernel::eigen::Eigen;
use crate::kernel::matrix::{Jacobian, Matrix};
use crate::kernel::projection::Projection;
use crate::kernel::subproblem::{Block, Subproblem};
use crate::kernel::system::System;
use crate::kernel::vector::{add, dot, norm};
use crate::steps::local_model::LocalModel;

/// Beyond so many columns a cone program, which keeps `J` sparse, is faster than dense matrices.
pub const MOST_COLUMNS: usize = 150;

/// The least price, relative to the mean eigenvalue of `J J^T`: it keeps the matrix regular.
const FREE: f64 = 1e-10;

/// How exactly `|v|` meets its limit, relative to it.
const EXACT: f64 = 1e-8;

/// So many prices are tried.
const TRIES: u32 = 60;

/// A price that was too low is raised so many times, to at least this share of the matrix; and a secant comes no nearer to either end than this.
const RAISED: f64 = 100.0;
const FIRST_PRICE: f64 = 1e-4;
const OFF_THE_ENDS: f64 = 1e-3;

/// The box problem with its memory.
pub struct NullSpaceStep {
    eigen: Eigen,
    /// `A` and `N`, the same for all prices, and `A + nu N` for one of them.
    repair: Vec<f64>,
    null: Vec<f64>,
    matrix: Vec<f64>,
    /// The mean of the eigenvalues that are not zero.
    size: f64,
    /// No rows: all is in the matrix.
    no_rows: Jacobian,
    diagonal: Vec<f64>,
    /// `J^T h`
    gradient: Vec<f64>,
    unit: Vec<f64>,
    /// A step, its null-space part, and the best step so far whose part is short enough.
    u: Vec<f64>,
    v: Vec<f64>,
    short_enough: Vec<f64>,
    projection: Projection,
}

/// A price, and how long the null-space part is for it.
#[derive(Clone, Copy, Debug)]
struct Offer {
    price: f64,
    length: f64,
}

impl NullSpaceStep {
    pub fn new(rows: usize, columns: usize) -> Self {
        let no_rows = Jacobian { a: Matrix::dense(0, columns), slack_rows: Arc::from([]) };
        let projection = Projection::with(System::dense(&no_rows), &no_rows, &Kernel::default());
        NullSpaceStep {
            eigen: Eigen::new(rows),
            repair: vec![0.0; columns * columns],
            null: vec![0.0; columns * columns],
            matrix: vec![0.0; columns * columns],
            size: 0.0,
            no_rows,
            diagonal: vec![0.0; columns],
            gradient: vec![0.0; columns],
            unit: vec![0.0; rows],
            u: vec![0.0; columns],
            v: vec![0.0; columns],
            short_enough: vec![0.0; columns],
            projection,
        }
    }

    /// The step whose null-space part has this price. None: it could not be found.
    pub fn priced(&mut self, local: LocalModel, price: f64) -> Option<&[f64]> {
        self.look(local)?;
        self.solve(local, price)?;
        Some(&self.u)
    }

    /// The step that repairs most with `|v| <= limit`. None: it could not be found.
    pub fn bounded(&mut self, local: LocalModel, limit: f64) -> Option<&[f64]> {
        self.look(local)?;
        let size = self.size;
        let mut low = self.solve(local, FREE * size)?;
        if low.length <= (1.0 + EXACT) * limit {
            return Some(&self.u);
        }
        // No part at all is allowed, and dear enough it is what comes out.
        self.short_enough.fill(0.0);
        let mut high: Option<Offer> = None;
        for tries in 1..=TRIES {
            let price = next_price(low, high, limit, size, tries % 3 == 0);
            let offer = self.solve(local, price)?;
            if offer.length > (1.0 + EXACT) * limit {
                low = offer;
                continue;
            }
            self.short_enough.copy_from_slice(&self.u);
            if offer.length >= (1.0 - EXACT) * limit {
                break;
            }
            high = Some(offer);
        }
        Some(&self.short_enough)
    }

    /// Decomposes the Jacobian, if it can.
    fn look(&mut self, local: LocalModel) -> Option<()> {
        let (jacobian, columns) = (&local.at.jacobian, self.diagonal.len());
        jacobian.write_gram(self.eigen.matrix()?, &mut self.unit, &mut self.v, local.clock).then_some(())?;
        let eigen = self.eigen.decompose(local.clock)?;
        self.repair.fill(0.0);
        self.null.fill(0.0);
        self.null.iter_mut().step_by(columns + 1).for_each(|diagonal| *diagonal = 1.0);
        let (mut sum, mut rank) = (0.0, 0.0);
        for k in (0..eigen.values.len()).filter(|&k| eigen.is_invertible(k)) {
            self.v.fill(0.0);
            jacobian.add_transposed(eigen.vector(k), &mut self.v);
            let value = dot(&self.v, &self.v);
            let rows = self.repair.chunks_exact_mut(columns).zip(self.null.chunks_exact_mut(columns));
            for ((repair, null), along) in rows.zip(&self.v) {
                add(*along, &self.v, repair);
                add(-along / value, &self.v, null);
            }
            (sum, rank) = (sum + value, rank + 1.0);
        }
        self.size = sum / f64::max(rank, 1.0);
        self.gradient.fill(0.0);
        jacobian.add_transposed(&local.at.h, &mut self.gradient);
        eigen.values.iter().all(|value| value.is_finite()).then_some(())
    }

    fn solve(&mut self, local: LocalModel, price: f64) -> Option<Offer> {
        let columns = self.diagonal.len();
        for (entry, (repair, null)) in self.matrix.iter_mut().zip(self.repair.iter().zip(&self.null)) {
            *entry = repair + price * null;
        }
        for (diagonal, entry) in self.diagonal.iter_mut().zip(self.matrix.iter().step_by(columns + 1)) {
            *diagonal = entry.max(f64::MIN_POSITIVE);
        }
        let problem = Subproblem {
            jacobian: &self.no_rows,
            metric: &self.diagonal,
            block: Block::Dense(&self.matrix),
            gradient: Some(&self.gradient),
            target: &[],
            lower: &local.bounds.lower,
            upper: &local.bounds.upper,
            softness: &[],
        };
        let found = self.projection.solve(&problem, &mut [], &mut self.u, local.clock);
        self.v.iter_mut().zip(self.null.chunks_exact(columns)).for_each(|(v, row)| *v = dot(row, &self.u));
        found.converged.then(|| Offer { price, length: norm(&self.v) })
    }
}

/// The inverse of the length is nearly linear in the price, so that its secant tells the next one; now and then the middle, in case it is not.
fn next_price(low: Offer, high: Option<Offer>, limit: f64, size: f64, middle: bool) -> f64 {
    let Some(high) = high else { return (RAISED * low.price).max(FIRST_PRICE * size) };
    if middle {
        return (low.price * high.price).sqrt();
    }
    let inverse = |offer: Offer| 1.0 / offer.length.max(f64::MIN_POSITIVE);
    let share = (1.0 / limit - inverse(low)) / (inverse(high) - inverse(low));
    low.price + share.clamp(OFF_THE_ENDS, 1.0 - OFF_THE_ENDS) * (high.price - low.price)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::cone;
    use crate::run::memory::Budget;
    use crate::steps::local_model::by_hand::{Place, assert_near};
    use crate::{Normal, NormalVariant};

    /// J = (1, 0.02), h = 1 and u1 >= -1/2; the null space is spanned by (-0.02, 1), of length l = sqrt(1.0004), as J is.
    fn ill_conditioned() -> Place {
        let mut place = Place::new(&[[1.0, 0.02]], &[1.0], [0.0; 2]);
        place.bounds.lower = vec![-0.5, -100.0];
        place.bounds.upper = vec![100.0, 100.0];
        place
    }

    #[test]
    fn a_part_of_length_one_by_hand() {
        // u = (a (1, 0.02) - (-0.02, 1)) / l with u1 = -1/2: a = -l/2 - 0.02, and J u = a l.
        let (place, l) = (ill_conditioned(), 1.0004f64.sqrt());
        let mut step = NullSpaceStep::new(1, 2);
        let u = step.bounded(place.local(), 1.0).unwrap();
        let a = -0.5 * l - 0.02;
        assert!((u[0] + 0.5).abs() < 1e-7 && (u[1] - (0.02 * a - 1.0) / l).abs() < 1e-7, "{u:?}");
    }

    #[test]
    fn a_priced_part_by_hand() {
        // With u1 = -1/2 fixed, v = b (-0.02, 1) / l has b = (0.01 + u2) / l: 0.02 (0.5 + 0.02 u2) + nu (0.01 + u2) / l^2 = 0.
        let (place, nu) = (ill_conditioned(), 0.01);
        let mut step = NullSpaceStep::new(1, 2);
        let u = step.priced(place.local(), nu).unwrap();
        let u2 = -(0.01 + 0.01 * nu / 1.0004) / (0.0004 + nu / 1.0004);
        assert_near(u, &[-0.5, u2]);
    }

    #[test]
    fn as_good_as_the_cone_program() {
        // Rows that depend on each other among them, and bounds near and far.
        for (rows, h, lower) in [
            (vec![[1.0, 0.02]], vec![1.0], [-0.5, -100.0]),
            (vec![[3.0, 1.0], [6.0, 2.0]], vec![2.0, 1.0], [-0.01, -50.0]),
            (vec![[1.0, 1e-3], [0.0, 1e-3]], vec![0.3, -0.1], [-0.1, -400.0]),
            (vec![[0.1, 5.0]], vec![4.0], [-10.0, -0.2]),
        ] {
            let mut place = Place::new(&rows, &h, [0.0; 2]);
            (place.bounds.lower, place.bounds.upper) = (lower.to_vec(), vec![1000.0; 2]);
            let (mut step, mut cone) = (NullSpaceStep::new(h.len(), 2), [0.0; 2]);
            let ours = step.bounded(place.local(), norm(&h)).unwrap();
            let settings = Normal { variant: NormalVariant::Bounded, ..Normal::default() };
            assert!(cone::normal_step(place.local(), &settings, &mut cone, Budget::NO_LIMIT));
            let left = |u: &[f64]| {
                let mut left = vec![0.0; h.len()];
                place.at.jacobian.apply(u, &mut left);
                add(1.0, &h, &mut left);
                norm(&left)
            };
            assert!((left(ours) - left(&cone)).abs() < 1e-6 * norm(&h), "{rows:?}: {ours:?}, {cone:?}");
        }
    }
}
