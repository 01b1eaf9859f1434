//! A problem whose constants are all known, so that the paper's settings can be used as they stand:
//!
//! ```text
//! minimise  8 (1 + t^2)^(-1/4) + sin y    subject to   y - 1/2 sin z = 0
//! ```
//!
//! The objective falls for ever along a valley whose slope `4 t (1 + t^2)^(-5/4)` fades as `4 t^(-3/2)`: with a fixed stepsize it takes
//! `O(eps^(-5/3))` gradient steps until the slope is `eps`, which is not far from the worst case `O(eps^(-2))`.
//!
//! A sample adds a random trigonometric function, which has mean zero, Gaussian values and Gaussian gradients at every point, and
//! is as smooth as `sin`. With independent standard normal `a` and `b`,
//!
//! ```text
//! F(x, xi)   = f(x) + sigma_f / sqrt(3) * sum_i (a_i sin x_i - b_i cos x_i)
//! C(x, zeta) = c(x) + sigma_c / sqrt(3) * sum_i (a_i sin x_i - b_i cos x_i)
//! ```
//!
//! so that the squared error of a gradient has the mean `sigma^2`, and so has that of a value. (The paper wants errors that
//! are bounded by `sigma`; normal ones are not, but their averages concentrate at least as well as its lemma says.) The same sample at two
//! points differs by about `sigma` times their distance, no more: this is the smoothness that recursive momentum needs.
//!
//! The average over `B` samples is of the same form with `a` and `b` of variance `1/B`. It is drawn in this form, from one stream that
//! the list of samples determines: exactly the distribution of the average, and the same list is the same function at every point,
//! but nobody has to add up millions of functions. What is counted is always `B`.

use tangor_problem::{Access, Accesses, Draw, Evaluation, Failure, Meta, Problem, SampledProblem, Stream};

/// Variables `t`, `y` and `z`.
const N: usize = 3;

/// Lipschitz constant of the gradient of the objective: `4 (1 + t^2)^(-9/4) |1 - 3/2 t^2| <= 4` in `t` (reached at 0) and `|sin y| <= 1`
/// in `y`, nothing in between.
pub const L_OBJECTIVE: f64 = 4.0;
/// Lipschitz constant of the constraint's gradient `(0, 1, -1/2 cos z)`.
pub const L_CONSTRAINT: f64 = 0.5;
/// Largest gradient of the objective: the square of its length is at most `1.73^2 + 1 <= 4`.
pub const LARGEST_GRADIENT: f64 = 2.0;
/// The singular value of the constraint's gradient lies between these: `sqrt(1 + cos^2 z / 4)`.
pub const SLOPES: [f64; 2] = [1.0, 1.118_033_988_749_895];
/// A lower bound of the objective.
pub const LOWEST: f64 = -1.0;
/// Root of the mean squared error of a sampled gradient of the objective.
pub const SIGMA_OBJECTIVE: f64 = 0.5;
/// Root of the mean squared error of a sampled gradient of the constraint, and of a sampled value of it.
pub const SIGMA_CONSTRAINT: f64 = 0.125;

/// The problem, exact or with samples in place of some functions.
#[derive(Clone, Debug)]
pub struct Valley {
    meta: Meta,
    accesses: Accesses,
}

impl Valley {
    /// Which of objective and constraint can only be sampled.
    pub fn new(sampled_objective: bool, sampled_constraint: bool) -> Self {
        let access = |sampled: bool| if sampled { Access::Endless } else { Access::Exact };
        let constraint = access(sampled_constraint);
        let accesses = Accesses { gradient: access(sampled_objective), constraints: constraint, jacobian: constraint };
        Valley { meta: Meta::new("valley", vec![1.0, 1.0, 0.0]).equalities(&[0.0]), accesses }
    }

    /// Stationarity with the multiplier that makes it smallest, and violation of the constraint, both exact.
    pub fn residuals(x: &[f64]) -> [f64; 2] {
        let (g, j) = (gradient(x), slope(x));
        let dot = |a: [f64; N], b: [f64; N]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let y = dot(g, j) / dot(j, j);
        let left: [f64; N] = std::array::from_fn(|i| g[i] - y * j[i]);
        [dot(left, left).sqrt(), value(x).abs()]
    }
}

fn objective(x: &[f64]) -> f64 {
    8.0 * (1.0 + x[0] * x[0]).powf(-0.25) + x[1].sin()
}

fn gradient(x: &[f64]) -> [f64; N] {
    [-4.0 * x[0] * (1.0 + x[0] * x[0]).powf(-1.25), x[1].cos(), 0.0]
}

fn value(x: &[f64]) -> f64 {
    x[1] - 0.5 * x[2].sin()
}

fn slope(x: &[f64]) -> [f64; N] {
    [0.0, 1.0, -0.5 * x[2].cos()]
}

impl Problem for Valley {
    fn meta(&self) -> &Meta {
        &self.meta
    }
    fn objective(&mut self, x: &[f64]) -> Evaluation<f64> {
        Ok(objective(x))
    }
    fn gradient(&mut self, x: &[f64], g: &mut [f64]) -> Evaluation {
        g.copy_from_slice(&gradient(x));
        Ok(())
    }
    fn constraints(&mut self, x: &[f64], c: &mut [f64]) -> Evaluation {
        c[0] = value(x);
        Ok(())
    }
    fn jacobian(&mut self, x: &[f64], values: &mut [f64]) -> Evaluation {
        values.copy_from_slice(&slope(x));
        Ok(())
    }
}

/// The average of the random functions of a list of draws.
struct Disturbance {
    a: [f64; N],
    b: [f64; N],
}

impl Disturbance {
    /// None where nothing is sampled.
    fn of(access: Access, draws: &[Draw], sigma: f64, purpose: u64) -> Evaluation<Option<Self>> {
        if !access.is_sampled() {
            return Ok(None);
        }
        let first = draws.first().ok_or_else(|| Failure::broken("an average over no draws was asked for"))?;
        let size = draws.len();
        let mut stream = Stream::new(Draw(first.0.wrapping_add(size as u64)), purpose);
        let scale = sigma / (N as f64 * size as f64).sqrt();
        let mut normal = || scale * stream.normal();
        Ok(Some(Disturbance { a: std::array::from_fn(|_| normal()), b: std::array::from_fn(|_| normal()) }))
    }

    fn value(&self, x: &[f64]) -> f64 {
        (0..N).map(|i| self.a[i] * x[i].sin() - self.b[i] * x[i].cos()).sum()
    }

    fn add_gradient(&self, x: &[f64], g: &mut [f64]) {
        for (i, g) in g.iter_mut().enumerate() {
            *g += self.a[i] * x[i].cos() + self.b[i] * x[i].sin();
        }
    }
}

impl SampledProblem for Valley {
    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn accesses(&self) -> Accesses {
        self.accesses
    }

    fn gradient(&mut self, x: &[f64], draws: &[Draw], g: &mut [f64]) -> Evaluation {
        g.copy_from_slice(&gradient(x));
        if let Some(disturbance) = Disturbance::of(self.accesses.gradient, draws, SIGMA_OBJECTIVE, 1)? {
            disturbance.add_gradient(x, g);
        }
        Ok(())
    }

    fn constraints(&mut self, x: &[f64], draws: &[Draw], c: &mut [f64]) -> Evaluation {
        c[0] = value(x);
        if let Some(disturbance) = Disturbance::of(self.accesses.constraints, draws, SIGMA_CONSTRAINT, 2)? {
            c[0] += disturbance.value(x);
        }
        Ok(())
    }

    fn jacobian(&mut self, x: &[f64], draws: &[Draw], values: &mut [f64]) -> Evaluation {
        values.copy_from_slice(&slope(x));
        if let Some(disturbance) = Disturbance::of(self.accesses.jacobian, draws, SIGMA_CONSTRAINT, 2)? {
            disturbance.add_gradient(x, values);
        }
        Ok(())
    }

    fn exact(&mut self) -> Option<&mut dyn Problem> {
        Some(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tangor_problem::check_derivatives;

    fn distance(a: [f64; N], b: [f64; N]) -> f64 {
        (0..N).map(|i| (a[i] - b[i]).powi(2)).sum::<f64>().sqrt()
    }

    #[test]
    fn derivatives_are_right() {
        let checked = check_derivatives(&mut Valley::new(false, false), &[0.7, -1.2, 2.0]).expect("defined");
        assert!(checked.is_right(), "{checked:?}");
    }

    #[test]
    fn no_pair_of_points_exceeds_the_constants_and_some_come_close() {
        let mut stream = Stream::new(Draw(1), 0);
        let mut most = [0.0f64; 5];
        let mut least = f64::INFINITY;
        for k in 0..200_000 {
            // Pairs at all distances, around the origin where the curvature is largest.
            let width = 10f64.powf(-4.0 * stream.uniform());
            let reach = if k % 2 == 0 { 0.5 } else { 20.0 };
            let x: [f64; N] = std::array::from_fn(|_| reach * stream.normal());
            let y: [f64; N] = std::array::from_fn(|i| x[i] + width * stream.normal());
            let apart = distance(x, y);
            let zero = [0.0; N];
            let found = [
                distance(gradient(&x), gradient(&y)) / apart,
                distance(slope(&x), slope(&y)) / apart,
                distance(gradient(&x), zero),
                distance(slope(&x), zero),
                -objective(&x),
            ];
            most.iter_mut().zip(found).for_each(|(most, found)| *most = most.max(found));
            least = least.min(distance(slope(&x), zero));
        }
        let stated = [L_OBJECTIVE, L_CONSTRAINT, LARGEST_GRADIENT, SLOPES[1], -LOWEST];
        for (found, stated) in most.into_iter().zip(stated) {
            assert!(found <= stated * (1.0 + 1e-9), "{most:?} exceeds {stated:?}");
        }
        assert!(least >= SLOPES[0]);
        assert!(most[0] > 0.9 * L_OBJECTIVE && most[1] > 0.9 * L_CONSTRAINT && most[2] > 0.95 * LARGEST_GRADIENT, "{most:?}");
    }

    #[test]
    fn residuals_by_hand() {
        // At t = 0, y = 0, z = 0: g = (0, 1, 0), J = (0, 1, -1/2), g^T J / J^T J = 4/5, g - 4/5 J = (0, 1/5, 2/5).
        let [stationarity, feasibility] = Valley::residuals(&[0.0, 0.0, 0.0]);
        assert!((stationarity - 0.2f64.sqrt()).abs() < 1e-15 && feasibility == 0.0);
        // At the start c = 1 and the slope of the valley is 4 * 2^(-5/4).
        let [stationarity, feasibility] = Valley::residuals(&[1.0, 1.0, 0.0]);
        assert!(stationarity > 4.0 * 2f64.powf(-1.25) && feasibility == 1.0);
    }

    /// Means of the errors' first component, of their squares, and of the squared difference of one list at two points.
    fn moments(size: u64) -> ([f64; 2], [f64; 3]) {
        const LISTS: u64 = 20_000;
        let mut valley = Valley::new(true, true);
        let (x, nearby) = ([0.3, -1.0, 2.0], [0.3, -1.0, 2.1]);
        let (mut mean, mut square, mut moved) = (0.0, [0.0; 3], 0.0);
        for list in 0..LISTS {
            let draws: Vec<Draw> = (0..size).map(|k| Draw(list * 1000 + k)).collect();
            let (mut g, mut j, mut c, mut there) = ([0.0; N], [0.0; N], [0.0], [0.0; N]);
            SampledProblem::gradient(&mut valley, &x, &draws, &mut g).expect("defined");
            SampledProblem::gradient(&mut valley, &nearby, &draws, &mut there).expect("defined");
            SampledProblem::jacobian(&mut valley, &x, &draws, &mut j).expect("defined");
            SampledProblem::constraints(&mut valley, &x, &draws, &mut c).expect("defined");
            mean += (g[0] - gradient(&x)[0]) / LISTS as f64;
            let squares = [distance(g, gradient(&x)), distance(j, slope(&x)), c[0] - value(&x)].map(|error| error * error);
            square.iter_mut().zip(squares).for_each(|(sum, square)| *sum += square / LISTS as f64);
            moved += distance(g, there).powi(2) / LISTS as f64;
        }
        ([mean, moved], square)
    }

    #[test]
    fn averages_have_the_variance_that_their_number_of_samples_gives_them() {
        for size in [1, 100] {
            let ([mean, moved], square) = moments(size);
            let expected = [SIGMA_OBJECTIVE, SIGMA_CONSTRAINT, SIGMA_CONSTRAINT].map(|sigma| sigma * sigma / size as f64);
            assert!(mean.abs() < 5.0 * SIGMA_OBJECTIVE / (3.0 * 20_000.0 * size as f64).sqrt(), "the mean error is {mean}");
            for (found, expected) in square.into_iter().zip(expected) {
                assert!((found / expected - 1.0).abs() < 0.05, "{found} where {expected} was expected");
            }
            // Only z moved, by 0.1: the two errors differ by sigma_f / sqrt(3 B) * 2 sin(0.05) times a normal number.
            let expected = expected[0] / 3.0 * (2.0 * 0.05f64.sin()).powi(2);
            assert!((moved / expected - 1.0).abs() < 0.05, "{moved} where {expected} was expected");
        }
    }

    #[test]
    fn what_is_exact_needs_no_draws_and_what_is_not_does() {
        let (mut g, mut c) = ([0.0; N], [0.0]);
        let mut half = Valley::new(true, false);
        assert!(SampledProblem::gradient(&mut half, &[1.0; N], &[], &mut g).is_err());
        SampledProblem::constraints(&mut half, &[1.0; N], &[], &mut c).expect("exact");
        assert_eq!(c[0], value(&[1.0; N]));
    }
}
