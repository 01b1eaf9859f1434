//! Where values along rays show the least violation, near and far.
//!
//! New starts lie about as far away as `1 + |x|`, and rows that are flat as far as that are followed farther out. A row whose scale is far smaller is not seen
//! by either: `(k x)^2 exp(-k x) = 0.3` with `k = 1e6` is a saddle at 0, and all but 0, or beyond numbers, wherever another start lies.

use tangor_problem::SampledProblem;

use crate::Stop;
use crate::noise::random::uniform;
use crate::run::escape::CLEARLY;
use crate::solver::Solver;

/// Random directions that are looked along, forth and back.
const DIRECTIONS: u64 = 3;

/// Powers of ten that are looked at, as multiples of `1 + |z_i|`.
const DECADES: std::ops::RangeInclusive<i32> = -20..=6;

/// Directions that others look along have smaller seeds.
const OTHER: u64 = 1 << 33;

/// The least violation so far, and where it is.
struct Lowest {
    violation: f64,
    place: Option<Vec<f64>>,
}

impl<S: SampledProblem> Solver<S> {
    /// The place on rays from the best point and from the start where the violation is least, if it is clearly less than at the best point. The trial point is
    /// used up.
    pub(super) fn find_lower(&mut self) -> Result<Option<Vec<f64>>, Stop> {
        let Some(best) = self.outcome.best.values else { return Ok(None) };
        let mut lowest = Lowest { violation: (1.0 - CLEARLY) * best.residuals.feasibility, place: None };
        let (here, start) = (self.best_inside(), self.start_inside());
        self.look_around(&here, &mut lowest)?;
        if start != here {
            self.look_around(&start, &mut lowest)?;
        }
        Ok(lowest.place)
    }

    /// Looks along all rays from a place, farther and farther until a function has no value.
    fn look_around(&mut self, centre: &[f64], lowest: &mut Lowest) -> Result<(), Stop> {
        for (seed, sign) in (OTHER..OTHER + DIRECTIONS).flat_map(|seed| [(seed, 1.0), (seed, -1.0)]) {
            let mut before = centre.to_vec();
            for decade in DECADES {
                self.check_clock()?;
                let place = self.place_away(centre, sign * 10f64.powi(decade), seed);
                if place == before {
                    continue;
                }
                let Some(violation) = self.violation_at(&place)? else { break };
                if violation < lowest.violation {
                    *lowest = Lowest { violation, place: Some(place.clone()) };
                }
                before = place;
            }
        }
        Ok(())
    }

    /// Moves the trial to a place of the variables, or nearer to the best point by a share of the way there.
    pub(super) fn place_lower(&mut self, place: &[f64], share: f64) {
        let (centre, slacks) = (self.best_inside(), &self.state.current.z);
        self.trial.put(|i| match i < centre.len() {
            true => centre[i] + share * (place[i] - centre[i]),
            false => slacks[i],
        });
    }

    /// So many times `1 + |z|` away in a random direction, no farther than the bounds.
    fn place_away(&self, centre: &[f64], step: f64, seed: u64) -> Vec<f64> {
        let standard = &self.oracle.standard;
        let at = |(i, z): (usize, &f64)| {
            let moved = z + step * (1.0 + z.abs()) * uniform(seed, i as u64);
            moved.max(standard.lower[i]).min(standard.upper[i])
        };
        centre.iter().enumerate().map(at).collect()
    }

    /// The violation in the user's units; none where a function has no value.
    fn violation_at(&mut self, place: &[f64]) -> Result<Option<f64>, Stop> {
        self.place_lower(place, 1.0);
        match self.oracle.values(&mut self.trial, true) {
            Err(trouble) if trouble.is_broken() => return Err(self.fail(trouble)),
            Err(_) => return Ok(None),
            Ok(()) => {}
        }
        self.judging.kkt.find_violation(&self.trial, &self.oracle.standard);
        Ok(Some(self.judging.kkt.violation()))
    }
}
