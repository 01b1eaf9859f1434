//! A physics-informed network `u(x, t)` for the heat equation `u_t = kappa u_xx` on the unit square: the loss is the mean square of
//! `u_t - kappa u_xx` over random points, and 14 initial and boundary values hold exactly.
//!
//! `u = v' tanh(W2' a + b2) + b` with `a = tanh(W1' p + b1)` and layers of twenty units. Derivatives along x and t go forward through the
//! layers; the gradient with respect to the weights comes back through them.

use std::f64::consts::PI;

use tangor_problem::{Access, Accesses, Draw, Evaluation, Failure, Meta, Reduction, SampledProblem, Stream};

use super::measure::{At, Exactly};
use super::start::Starts;

const UNITS: usize = 20;
const KAPPA: f64 = 0.1;
/// Points of the square's grid, in each direction, that measure the loss.
const GRID: usize = 45;
/// Where the weights of each part begin.
const B1: usize = 2 * UNITS;
const W2: usize = B1 + UNITS;
const B2: usize = W2 + UNITS * UNITS;
const V: usize = B2 + UNITS;
const B: usize = V + UNITS;
const WEIGHTS: usize = B + 1;

type Layer = [f64; UNITS];

/// The task.
pub struct Heat {
    meta: Meta,
    points: Vec<[f64; 2]>,
    reduction: Reduction,
}

impl Heat {
    /// From random weights.
    pub fn new(seed: u64) -> Self {
        let mut starts = Starts::new(seed);
        let mut normal = |count: usize, scale: f64| starts.normal(count).into_iter().map(move |x| scale * x);
        let mut start: Vec<f64> = normal(2 * UNITS, 3.0 / 2f64.sqrt()).collect();
        start.extend(normal(UNITS, 1.0));
        start.extend(normal(UNITS * UNITS, 1.0 / (UNITS as f64).sqrt()));
        start.extend([0.0; UNITS]);
        start.extend(normal(UNITS, 1.0 / (UNITS as f64).sqrt()));
        start.push(0.0);
        let sides = [0.0, 1.0].into_iter().flat_map(|x| [0.0, 0.5, 1.0].map(|t| [x, t]));
        let points: Vec<[f64; 2]> = (1..=8).map(|i| [f64::from(i) / 9.0, 0.0]).chain(sides).collect();
        let values: Vec<f64> = points.iter().map(solution).collect();
        let meta = Meta::new("heat-network", start).equalities(&values);
        Heat { meta, points, reduction: Reduction::default() }
    }

    /// The mean square of the residual over points, and its gradient.
    fn average(&mut self, x: &[f64], count: usize, point: impl Fn(usize) -> [f64; 2] + Sync, g: &mut [f64]) -> Evaluation<f64> {
        if count == 0 {
            return Err(Failure::broken("an average over no points was asked for"));
        }
        let mut sums = [0.0; WEIGHTS + 1];
        self.reduction.sum(count, &mut sums, |terms, sums| {
            let (g, loss) = sums.split_at_mut(WEIGHTS);
            terms.for_each(|k| loss[0] += add_residual(x, point(k), g));
        });
        let weight = 1.0 / count as f64;
        g.iter_mut().zip(&sums).for_each(|(g, sum)| *g = weight * sum);
        Ok(weight * sums[WEIGHTS])
    }
}

/// The solution of the equation.
fn solution(point: &[f64; 2]) -> f64 {
    let wave = |k: f64| (k * PI * point[0]).sin() * (-KAPPA * (k * PI).powi(2) * point[1]).exp();
    wave(1.0) + 0.5 * wave(3.0)
}

/// The point that a draw stands for.
fn drawn(draw: Draw) -> [f64; 2] {
    let mut stream = Stream::new(draw, 0);
    [stream.uniform(), stream.uniform()]
}

/// `W2' a`
fn forward(x: &[f64], a: &Layer) -> Layer {
    let mut z = [0.0; UNITS];
    for (a, row) in a.iter().zip(x[W2..B2].chunks(UNITS)) {
        z.iter_mut().zip(row).for_each(|(z, w)| *z += a * w);
    }
    z
}

/// `W2 d`
fn backward(x: &[f64], d: &Layer) -> Layer {
    let mut out = [0.0; UNITS];
    for (out, row) in out.iter_mut().zip(x[W2..B2].chunks(UNITS)) {
        *out = row.iter().zip(d).map(|(w, d)| w * d).sum();
    }
    out
}

/// The first layer at a point.
fn first_layer(x: &[f64], [px, pt]: [f64; 2]) -> Layer {
    let mut a = [0.0; UNITS];
    for j in 0..UNITS {
        a[j] = (px * x[j] + pt * x[UNITS + j] + x[B1 + j]).tanh();
    }
    a
}

/// `r^2` at a point, where `r = u_t - kappa u_xx`; adds its gradient `2 r dr`.
fn add_residual(x: &[f64], point: [f64; 2], g: &mut [f64]) -> f64 {
    let a = first_layer(x, point);
    let (mut ax, mut at, mut axx) = ([0.0; UNITS], [0.0; UNITS], [0.0; UNITS]);
    for j in 0..UNITS {
        let s = 1.0 - a[j] * a[j];
        ax[j] = s * x[j];
        at[j] = s * x[UNITS + j];
        axx[j] = -2.0 * a[j] * ax[j] * x[j];
    }
    let (mut c, zx, zt, zxx) = (forward(x, &a), forward(x, &ax), forward(x, &at), forward(x, &axx));
    let (mut r, mut each) = (0.0, [0.0; UNITS]);
    for k in 0..UNITS {
        c[k] = (c[k] + x[B2 + k]).tanh();
        // r = sum v q e with q = 1 - c^2 and e = z_t - kappa z_xx + 2 kappa c z_x^2
        each[k] = zt[k] - KAPPA * zxx[k] + 2.0 * KAPPA * c[k] * zx[k] * zx[k];
        r += x[V + k] * (1.0 - c[k] * c[k]) * each[k];
    }
    let (mut dz, mut dzx, mut dzt, mut dzxx) = ([0.0; UNITS], [0.0; UNITS], [0.0; UNITS], [0.0; UNITS]);
    for k in 0..UNITS {
        let (q, v) = (1.0 - c[k] * c[k], 2.0 * r * x[V + k]);
        g[V + k] += 2.0 * r * q * each[k];
        dzt[k] = v * q;
        dzxx[k] = -KAPPA * v * q;
        dzx[k] = 4.0 * KAPPA * v * q * c[k] * zx[k];
        dz[k] = v * q * (-2.0 * c[k] * each[k] + 2.0 * KAPPA * q * zx[k] * zx[k]);
        g[B2 + k] += dz[k];
    }
    for (j, row) in g[W2..B2].chunks_mut(UNITS).enumerate() {
        for k in 0..UNITS {
            row[k] += a[j] * dz[k] + ax[j] * dzx[k] + at[j] * dzt[k] + axx[j] * dzxx[k];
        }
    }
    let (da, dax, dat, daxx) = (backward(x, &dz), backward(x, &dzx), backward(x, &dzt), backward(x, &dzxx));
    for j in 0..UNITS {
        let (w0, w1, s) = (x[j], x[UNITS + j], 1.0 - a[j] * a[j]);
        // a_x = s w0, a_t = s w1, a_xx = -2 a s w0^2, and s = 1 - a^2
        let ds = dax[j] * w0 + dat[j] * w1 - 2.0 * daxx[j] * a[j] * w0 * w0;
        let dz1 = s * (da[j] - 2.0 * daxx[j] * s * w0 * w0 - 2.0 * a[j] * ds);
        g[j] += dax[j] * s - 4.0 * daxx[j] * a[j] * s * w0 + dz1 * point[0];
        g[UNITS + j] += dat[j] * s + dz1 * point[1];
        g[B1 + j] += dz1;
    }
    r * r
}

/// `u` at a point; its gradient if wanted.
fn value(x: &[f64], point: [f64; 2], gradient: Option<&mut [f64]>) -> f64 {
    let a = first_layer(x, point);
    let mut c = forward(x, &a);
    let mut u = x[B];
    for k in 0..UNITS {
        c[k] = (c[k] + x[B2 + k]).tanh();
        u += c[k] * x[V + k];
    }
    let Some(g) = gradient else { return u };
    let mut dz = [0.0; UNITS];
    for k in 0..UNITS {
        dz[k] = x[V + k] * (1.0 - c[k] * c[k]);
    }
    g[V..B].copy_from_slice(&c);
    g[B] = 1.0;
    g[B2..V].copy_from_slice(&dz);
    for (a, row) in a.iter().zip(g[W2..B2].chunks_mut(UNITS)) {
        row.iter_mut().zip(&dz).for_each(|(g, dz)| *g = a * dz);
    }
    let da = backward(x, &dz);
    for j in 0..UNITS {
        let dz1 = da[j] * (1.0 - a[j] * a[j]);
        g[j] = dz1 * point[0];
        g[UNITS + j] = dz1 * point[1];
        g[B1 + j] = dz1;
    }
    u
}

impl SampledProblem for Heat {
    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn accesses(&self) -> Accesses {
        Accesses { gradient: Access::Endless, ..Accesses::all(Access::Exact) }
    }

    fn gradient(&mut self, x: &[f64], draws: &[Draw], g: &mut [f64]) -> Evaluation {
        self.average(x, draws.len(), |k| drawn(draws[k]), g).map(|_| ())
    }

    fn constraints(&mut self, x: &[f64], _draws: &[Draw], c: &mut [f64]) -> Evaluation {
        c.iter_mut().zip(&self.points).for_each(|(c, point)| *c = value(x, *point, None));
        Ok(())
    }

    fn jacobian(&mut self, x: &[f64], _draws: &[Draw], values: &mut [f64]) -> Evaluation {
        for (row, point) in values.chunks_mut(WEIGHTS).zip(&self.points) {
            value(x, *point, Some(row));
        }
        Ok(())
    }

    fn objective(&mut self, x: &[f64], draws: &[Draw]) -> Option<Evaluation<f64>> {
        Some(self.average(x, draws.len(), |k| drawn(draws[k]), &mut [0.0; WEIGHTS]))
    }
}

impl Exactly for Heat {
    fn exactly(&mut self, x: &[f64]) -> At {
        let middle = |k: usize| (k as f64 + 0.5) / GRID as f64;
        let (mut g, mut c, mut jacobian) = (vec![0.0; WEIGHTS], vec![0.0; self.points.len()], vec![]);
        jacobian.resize(c.len() * WEIGHTS, 0.0);
        let loss = self.average(x, GRID * GRID, |k| [middle(k / GRID), middle(k % GRID)], &mut g).unwrap_or(f64::NAN);
        // These two have nothing that could fail.
        let _ = self.constraints(x, &[], &mut c);
        let _ = self.jacobian(x, &[], &mut jacobian);
        At { loss, g, c, jacobian }
    }
}
