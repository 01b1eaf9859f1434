//! How far away a row could meet its bound that is flat around a stationary point of the violation.
//!
//! `1e-10 x y = 1` changes by nothing that counts as far as `1 + |x|` from 0, and holds at 1e5. How far one has to go is what values along a
//! ray tell: each ten times as far away as the one before, until the row has moved by about as much as it is violated. Neither the unit of a row
//! nor that of a variable has a say in it.

use tangor_problem::SampledProblem;

use crate::Stop;
use crate::form::standard::Standard;
use crate::noise::random::uniform;
use crate::solver::Solver;

/// Random directions that are looked along: a product of two variables may be next to nothing in one of them.
const DIRECTIONS: u64 = 3;

/// Powers of ten that are looked at, as multiples of `1 + |z_i|`.
const DECADES: i32 = 20;

/// A row that moves nearer than this many powers of ten is not flat: starts nearby, and the steps from them, have been as far.
const FLAT: i32 = 2;

/// A row has moved when it did so by this share of its violation.
const MOVED: f64 = 0.5;

/// A row that is a smaller part of the violation is not what keeps a point from being feasible.
const PART: f64 = 1e-3;

/// A variable whose part in what a row does is smaller, relative to the largest, has none.
const NO_PART: f64 = 1e-3;

/// Where a row moved first: so many powers of ten away, in this direction.
#[derive(Clone, Copy, PartialEq)]
struct Moved {
    decade: i32,
    direction: u64,
}

impl<S: SampledProblem> Solver<S> {
    /// How far from the best point each variable would have to go for the rows that are flat around it; 0 for a variable that these do not depend
    /// on. None: there is no such row, or nothing moves it. The trial point is used up.
    pub(super) fn find_reach(&mut self) -> Result<Option<Vec<f64>>, Stop> {
        let centre = self.best_inside();
        let rows = self.violated_rows();
        let mut moved: Vec<Option<Moved>> = vec![None; rows.len()];
        for direction in 0..DIRECTIONS {
            self.look_along(direction, &centre, &rows, &mut moved)?;
        }
        let mut reach = vec![0.0; centre.len()];
        for (k, &(row, ..)) in rows.iter().enumerate() {
            if let Some(place) = moved[k].filter(|moved| moved.decade >= FLAT) {
                self.widen(&mut reach, &centre, row, place)?;
            }
        }
        Ok(reach.iter().any(|reach| *reach > 0.0).then_some(reach))
    }

    /// Moves the trial to a random point as far away as flat rows reach, in other directions than these were looked at, or a multiple of it.
    pub(super) fn scatter_far(&mut self, reach: &[f64], multiple: f64, seed: u64) {
        let centre = self.best_inside();
        let (standard, slacks) = (&self.oracle.standard, &self.state.current.z);
        self.trial.put(|i| match i < centre.len() {
            true => standard.reflected(i, centre[i] + multiple * reach[i] * uniform(seed, i as u64)),
            false => slacks[i],
        });
    }

    /// The best point in the internal variables.
    pub(super) fn best_inside(&self) -> Vec<f64> {
        let Standard { columns, scales, .. } = &self.oracle.standard;
        columns.iter().zip(&scales.units).map(|(&i, unit)| self.outcome.best.x[i] / unit).collect()
    }

    /// The start of the run in the internal variables.
    pub(super) fn start_inside(&self) -> Vec<f64> {
        let Standard { columns, scales, start, .. } = &self.oracle.standard;
        columns.iter().zip(&scales.units).map(|(&i, unit)| start[i] / unit).collect()
    }

    /// The rows that make the violation of the best point: each with its value and by how much it is violated.
    fn violated_rows(&self) -> Vec<(usize, f64, f64)> {
        let (meta, c) = (self.oracle.meta(), &self.outcome.best.c);
        let violation = |i: usize| (c[i] - meta.row_bounds(i).clip(c[i])).abs();
        let rows = || self.oracle.standard.rows.iter().enumerate();
        let largest = rows().map(|(_, &i)| violation(i)).fold(0.0, f64::max);
        rows().filter(|(_, i)| violation(**i) > PART * largest).map(|(row, &i)| (row, c[i], violation(i))).collect()
    }

    /// Looks where rows move along one direction, until all have, or no value is left.
    fn look_along(
        &mut self,
        direction: u64,
        centre: &[f64],
        rows: &[(usize, f64, f64)],
        moved: &mut [Option<Moved>],
    ) -> Result<(), Stop> {
        for decade in 0..=DECADES {
            self.check_clock()?;
            let is_open = |moved: &Option<Moved>| moved.is_none_or(|moved| decade < moved.decade);
            let stays = !self.place_on_ray(centre, Moved { decade, direction });
            if stays || !moved.iter().any(is_open) {
                return Ok(());
            }
            match self.oracle.values(&mut self.trial, true) {
                Err(trouble) if trouble.is_broken() => return Err(self.fail(trouble)),
                Err(_) => return Ok(()),
                Ok(()) => {}
            }
            for (moved, &(row, value, violation)) in moved.iter_mut().zip(rows).filter(|(moved, _)| is_open(moved)) {
                let way = (self.trial.user.c[self.oracle.standard.rows[row]] - value).abs();
                if way >= MOVED * violation {
                    *moved = Some(Moved { decade, direction });
                }
            }
        }
        Ok(())
    }

    /// Lets the variables that move a row reach as far as it moved.
    fn widen(&mut self, reach: &mut [f64], centre: &[f64], row: usize, place: Moved) -> Result<(), Stop> {
        self.place_on_ray(centre, place);
        let done = self.oracle.values(&mut self.trial, true).and_then(|()| self.oracle.derivatives(&mut self.trial));
        match done {
            Err(trouble) if trouble.is_broken() => return Err(self.fail(trouble)),
            Err(_) => return Ok(()),
            Ok(()) => {}
        }
        let matrix = &self.trial.jacobian.a;
        let part = |k: usize, value: f64| {
            let i = matrix.column(row, k);
            (i, (value * (self.trial.z[i] - centre[i])).abs())
        };
        let parts: Vec<(usize, f64)> = matrix.row_values(row).iter().enumerate().map(|(k, value)| part(k, *value)).collect();
        let largest = parts.iter().fold(0.0f64, |most, (_, part)| most.max(*part));
        for (i, _) in parts.into_iter().filter(|(_, part)| *part > NO_PART * largest) {
            reach[i] = f64::max(reach[i], distance(centre[i], place.decade));
        }
        Ok(())
    }

    /// Moves the trial along a ray, no farther than the bounds; false where these let nothing move that had not come to an end before.
    fn place_on_ray(&mut self, centre: &[f64], Moved { decade, direction }: Moved) -> bool {
        let (standard, slacks) = (&self.oracle.standard, &self.state.current.z);
        let at = |i: usize, decade: i32| {
            let z = centre[i] + distance(centre[i], decade) * uniform(direction, i as u64);
            z.max(standard.lower[i]).min(standard.upper[i])
        };
        self.trial.put(|i| if i < centre.len() { at(i, decade) } else { slacks[i] });
        (0..centre.len()).any(|i| at(i, decade) != at(i, decade - 1))
    }
}

/// So many powers of ten away from a place.
fn distance(from: f64, decade: i32) -> f64 {
    10f64.powi(decade) * (1.0 + from.abs())
}
