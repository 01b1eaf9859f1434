//! The merit parameter `rho` of `phi_rho = f + rho |h|`: it rises when a step needs it, and falls when its reason is gone.
//!
//! The paper's `rho` never falls. Where the start is bad it becomes huge, and the merit function then holds back every later step along
//! curved constraints. Lowering it is compatible with the proof as long as it happens finitely often: each time the run waits twice
//! as long before it looks again, and [`MOST_FALLS`] times are all.

use serde::{Deserialize, Serialize};
use tangor_problem::SampledProblem;

use crate::kernel::vector::{dot, norm};
use crate::solver::Solver;
use crate::steps::line_search::ROUNDING;
use crate::{Event, NormalVariant, Unusual};

/// Iterations after which the run first looks whether `rho` is larger than anything needed since.
const FIRST_WINDOW: u64 = 10;
/// `rho` falls when it is this many times larger than what was needed, margin included.
const EXCESS: f64 = 10.0;
/// So often can it fall.
const MOST_FALLS: u32 = 16;

/// What a step asks of `rho`.
struct Demand {
    /// `g^T s + 1/2 s^T H s`, and the size of its rounding error
    change: (f64, f64),
    /// `theta |h|`, or what is removed of `|h|` where rows are left as they are, and the size of its rounding error
    gain: (f64, f64),
    /// `|lambda|`: with less, a minimum of the merit function need not be feasible.
    multipliers: f64,
}

impl Demand {
    /// `(g^T s + 1/2 s^T H s) / (theta |h|)` (eq:rhok-2). None where either is nothing but rounding: a ratio of two rounding errors must not
    /// blow `rho` up.
    fn needed(&self) -> Option<f64> {
        let ((change, of_change), (gain, of_gain)) = (self.change, self.gain);
        (change > of_change && gain > of_gain && gain > f64::MIN_POSITIVE).then(|| change / gain)
    }
}

/// `rho <- max(rho, margin * needed)` when `rho` is less than what is needed; the paper's margin is 1.
fn raised(rho: f64, margin: f64, demand: &Demand) -> f64 {
    match demand.needed() {
        Some(needed) if needed > rho => margin * needed,
        _ => rho,
    }
}

/// What a step removes of `|h|` when what it leaves within the standard error of `h` counts as removed, `|h| - max(|h + r| - error, 0)`. Where rows
/// depend on each other, estimates of their values differ by noise that no step removes: `theta` is small then, and to descend in `|h|`
/// would ask for a `rho` that grows without bound as the rest of the residual vanishes.
fn up_to_noise(gain: f64, error: f64, h: f64) -> f64 {
    if error > 0.0 { (gain + error).min(h).max(gain) } else { gain }
}

/// What was needed lately, and how often `rho` fell.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Falls {
    most_needed: f64,
    /// Iterations until the next look.
    left: u64,
    times: u32,
}

impl Default for Falls {
    fn default() -> Self {
        Falls { most_needed: 0.0, left: FIRST_WINDOW, times: 0 }
    }
}

impl Falls {
    /// The smaller `rho` that would have done since the last look, when it is much smaller and the time to look has come.
    fn look(&mut self, rho: f64, least: f64, margin: f64, demand: &Demand) -> Option<f64> {
        self.most_needed = self.most_needed.max(demand.needed().unwrap_or(0.0)).max(demand.multipliers);
        self.left -= 1;
        if self.left > 0 {
            return None;
        }
        let enough = (margin * std::mem::take(&mut self.most_needed)).max(least);
        let falls = rho > EXCESS * enough && self.times < MOST_FALLS;
        self.times += u32::from(falls);
        self.left = FIRST_WINDOW << self.times;
        falls.then_some(enough)
    }
}

impl<S: SampledProblem> Solver<S> {
    /// What the normal step removes of `|h|`, or leaves within its noise.
    fn gain_up_to_noise(&self, h: f64) -> f64 {
        up_to_noise(self.steps.normal.gain(&self.state.current.h), self.noise_of_residual(), h)
    }

    /// The standard error of `h`, where a step is tested on samples; 0 where it is not, for then the paper's rule holds as it is.
    fn noise_of_residual(&self) -> f64 {
        let tested = self.settings.sampling.merit_test && !self.state.progress.lipschitz.are_given();
        let scales = &self.oracle.standard.scales.rows;
        let mean = scales.iter().map(|scale| scale * scale).sum::<f64>() / scales.len().max(1) as f64;
        if tested { (mean * self.oracle.estimates.constraints.error()).sqrt() } else { 0.0 }
    }

    /// By how much the model of the merit function rises along the whole step because noise asked for no more `rho`: at most `rho` times the
    /// standard error of the constraints, and nothing where these are exact.
    pub(crate) fn rise_that_noise_explains(&self) -> f64 {
        let (current, s, rho) = (&self.state.current, &self.steps.tangent.s, self.state.progress.rho);
        let change = dot(&current.g, s) + 0.5 * self.state.metric.square(s);
        let rise = change - rho * self.steps.normal.gain(&current.h);
        rise.min(rho * self.noise_of_residual()).max(0.0)
    }

    /// `rho` such that the model of the merit function descends along `s`, up to the noise of the constraints.
    pub(crate) fn update_merit_parameter(&mut self, unusual: &mut Unusual) {
        let (current, s, settings) = (&self.state.current, &self.steps.tangent.s, &self.settings.merit);
        let (g, h, square) = (&current.g, norm(&current.h), self.state.metric.square(s));
        let demand = Demand {
            change: (dot(g, s) + 0.5 * square, ROUNDING * (norm(g) * norm(s) + square)),
            gain: (self.gain_up_to_noise(h), ROUNDING * (norm(&current.c) + h)),
            multipliers: norm(&self.steps.tangent.lambda),
        };
        let progress = &mut self.state.progress;
        progress.raise_rho(raised(progress.rho, settings.margin, &demand));
        // With a mapping `theta` is an eigenvalue, not what was removed: it says nothing of what a smaller `rho` would do.
        if settings.falls
            && self.settings.normal.variant != NormalVariant::Mapping
            && let Some(enough) = progress.falls.look(progress.rho, settings.rho0, settings.margin, &demand)
        {
            progress.lower_rho(enough);
            unusual.insert(Event::Lowered);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn demand(change: f64, gain: f64) -> Demand {
        Demand { change: (change, 1e-16), gain: (gain, 1e-16), multipliers: 0.5 }
    }

    #[test]
    fn by_hand() {
        // g^T s + 1/2 s^T H s = 3, theta |h| = 0.5 * 2 = 1: rho must be 3.
        assert_eq!(raised(1.0, 1.0, &demand(3.0, 1.0)), 3.0);
        assert_eq!(raised(1.0, 2.0, &demand(3.0, 1.0)), 6.0);
        assert_eq!(raised(4.0, 2.0, &demand(3.0, 1.0)), 4.0);
        assert_eq!(raised(1.0, 2.0, &demand(-3.0, 1.0)), 1.0);
        assert_eq!(raised(1.0, 2.0, &demand(1e-17, 1e-30)), 1.0);
        assert_eq!(raised(1.0, 2.0, &demand(1.0, 0.0)), 1.0);
    }

    #[test]
    fn what_is_left_within_noise_counts_as_removed() {
        // Two copies of a row whose values are 3 + 4 and 3 - 4, up to a factor: |h| = 5 and |h + r| = 4, so that 1 is removed.
        assert_eq!(up_to_noise(1.0, 0.0, 5.0), 1.0, "without noise the rule is the paper's");
        assert_eq!(up_to_noise(1.0, 1.5, 5.0), 2.5);
        assert_eq!(up_to_noise(1.0, 10.0, 5.0), 5.0, "no more is removed than there is");
        assert_eq!(up_to_noise(5.0, 10.0, 5.0), 5.0, "where nothing is left, noise asks for no less rho");
    }

    #[test]
    fn it_falls_to_what_was_needed_and_waits_longer_each_time() {
        let (mut falls, mut rho, mut when) = (Falls::default(), 1e6, Vec::new());
        for k in 1..=100 {
            // 3 is needed until iteration 10; later the multipliers alone ask for 0.5.
            let demand = if k <= 10 { demand(3.0, 1.0) } else { demand(-1.0, 1.0) };
            if let Some(less) = falls.look(rho, 0.1, 2.0, &demand) {
                rho = less;
                when.push((k, rho));
            }
        }
        assert_eq!(when, [(10, 6.0)], "from 1e6 to twice 3; 6 is not ten times twice 0.5");
        let mut count = 0;
        for _ in 0..10_000_000u64 {
            count += u32::from(falls.look(1e9, 0.1, 2.0, &demand(-1.0, 1.0)).is_some());
        }
        assert_eq!(count, MOST_FALLS - 1, "finitely often");
    }
}
