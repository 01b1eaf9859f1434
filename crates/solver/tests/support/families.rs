//! Random problems of many kinds, each feasible or infeasible, bounded or unbounded by construction.

use tangor_problem::{Evaluation, Failure, Meta, Problem};

/// What is special about the problems of a family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Quadratic rows, a wavy objective.
    Plain,
    /// Linear rows.
    Linear,
    /// Bounds on all variables.
    Bounds,
    /// Units of variables and rows that differ by up to 1e8.
    Scaled,
    /// The first row is squared: its gradient vanishes wherever it holds, and there are multipliers only where it does not quite.
    Squared,
    /// More inequalities meet in the best point than there are variables.
    Degenerate,
    /// Rows that are multiples of each other.
    RankDeficient,
    /// Functions without values on one side of a plane.
    Undefined,
    /// No point is feasible.
    Infeasible,
    /// The objective falls without bound.
    Unbounded,
    /// The start is up to 1e10 away, and variables have lower bounds.
    Far,
    /// Two linear rows contradict each other, in units that differ by up to 1e6.
    Contradictory,
    /// Units that differ by up to 1e4, bounds on some variables, and often a row that is a multiple of another.
    Mixed,
}

impl Family {
    pub const ALL: [Family; 13] = [
        Family::Plain,
        Family::Linear,
        Family::Bounds,
        Family::Scaled,
        Family::Squared,
        Family::Degenerate,
        Family::RankDeficient,
        Family::Undefined,
        Family::Infeasible,
        Family::Unbounded,
        Family::Far,
        Family::Contradictory,
        Family::Mixed,
    ];
}

/// SplitMix64.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(0x1234_5678))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Between -1 and 1.
    pub fn uniform(&mut self) -> f64 {
        2.0 * ((self.next() >> 11) as f64 / (1u64 << 53) as f64) - 1.0
    }

    fn below(&mut self, most: usize) -> usize {
        (self.next() % most as u64) as usize
    }

    fn vector(&mut self, n: usize) -> Vec<f64> {
        (0..n).map(|_| self.uniform()).collect()
    }
}

/// `f = sum a_i (u_i - t_i)^2 / 2 + b sin(w^T u) + l^T u`, rows `q^T (u^2) / 2 + g^T u`, with `u = x / unit`.
#[derive(Clone)]
pub struct RandomOfFamily {
    meta: Meta,
    family: Family,
    unit: Vec<f64>,
    a: Vec<f64>,
    target: Vec<f64>,
    wave: (f64, Vec<f64>),
    linear: Vec<f64>,
    rows: Vec<Row>,
}

#[derive(Clone)]
struct Row {
    q: Vec<f64>,
    g: Vec<f64>,
    /// The row is `scale * (value - shift)`, squared or not.
    scale: f64,
    shift: f64,
}

impl Row {
    fn value(&self, u: &[f64]) -> f64 {
        u.iter().zip(&self.q).zip(&self.g).map(|((u, q), g)| 0.5 * q * u * u + g * u).sum::<f64>() - self.shift
    }
}

impl RandomOfFamily {
    pub fn new(family: Family, seed: u64) -> Self {
        let random = &mut Random::new(1000 * seed + family as u64);
        let n = 2 + random.below(5);
        let m = 1 + random.below(n - 1);
        let point = random.vector(n);
        let is_linear = matches!(family, Family::Linear | Family::Unbounded | Family::Contradictory);
        let curved = if is_linear { 0.0 } else { 1.0 };
        let mut rows: Vec<Row> = (0..m)
            .map(|_| {
                let (q, g) = (random.vector(n).iter().map(|q| curved * q).collect(), random.vector(n));
                let mut row = Row { q, g, scale: 1.0, shift: 0.0 };
                row.shift = row.value(&point);
                row
            })
            .collect();
        let mut unit = vec![1.0; n];
        let mut inequality: Vec<bool> = (0..m).map(|_| random.below(2) == 1).collect();
        if let Some(digits) = digits_of_units(family) {
            unit = (0..n).map(|_| 10f64.powf(digits * random.uniform())).collect();
            rows.iter_mut().for_each(|row| row.scale = 10f64.powf(digits * random.uniform()));
        }
        if family == Family::RankDeficient || (family == Family::Mixed && random.below(2) == 1) {
            let (mut again, factor) = (rows[0].clone(), 0.5 + random.uniform().abs());
            again.scale = factor;
            rows.push(again);
            inequality[0] = false;
            inequality.push(false);
        }
        match family {
            Family::Degenerate => {
                while rows.len() < n + 2 {
                    let mut row = Row { q: random.vector(n), g: random.vector(n), scale: 1.0, shift: 0.0 };
                    row.shift = row.value(&point);
                    rows.push(row);
                }
                inequality = vec![true; rows.len()];
            }
            Family::Infeasible => {
                // A sum of squares that should be negative.
                rows.push(Row { q: vec![1.0; n], g: vec![0.0; n], scale: 1.0, shift: -1.0 });
                inequality.push(false);
            }
            Family::Contradictory => {
                let again =
                    Row { scale: 10f64.powf(6.0 * random.uniform().abs()), shift: rows[0].shift + 1.0, ..rows[0].clone() };
                rows.push(again);
                inequality[0] = false;
                inequality.push(false);
            }
            Family::Squared => inequality[0] = false,
            _ => {}
        }
        let (lower, upper): (Vec<f64>, Vec<f64>) = match family {
            Family::Far => point.iter().map(|x| (x - random.uniform().abs(), f64::INFINITY)).unzip(),
            Family::Mixed => {
                let mut side = |x: f64, unit: f64, sign: f64| match random.below(2) {
                    0 => sign * f64::INFINITY,
                    _ => unit * (x + sign * random.uniform().abs()),
                };
                point.iter().zip(&unit).map(|(x, unit)| (side(*x, *unit, -1.0), side(*x, *unit, 1.0))).unzip()
            }
            Family::Bounds => point.iter().map(|x| (x - random.uniform().abs(), x + random.uniform().abs())).unzip(),
            _ => (vec![f64::NEG_INFINITY; n], vec![f64::INFINITY; n]),
        };
        let c_lower: Vec<f64> = vec![0.0; rows.len()];
        let c_upper: Vec<f64> = inequality.iter().map(|free| if *free { f64::INFINITY } else { 0.0 }).collect();
        let reach = match family {
            Family::Undefined => 0.3,
            Family::Far => 10f64.powf(10.0 * random.uniform().abs()),
            _ => 2.0,
        };
        let start = point.iter().zip(random.vector(n)).zip(&unit).map(|((x, off), unit)| unit * (x + reach * off)).collect();
        let name = format!("{family:?} {seed}");
        let meta = Meta::new(&name, start).bounds(&lower, &upper).rows(&c_lower, &c_upper);
        let is_convex = family != Family::Unbounded;
        RandomOfFamily {
            family,
            unit,
            a: (0..n).map(|_| if is_convex { 0.5 + random.uniform().abs() } else { 0.0 }).collect(),
            target: random.vector(n),
            wave: (if is_convex { random.uniform() } else { 0.0 }, random.vector(n)),
            linear: if is_convex { vec![0.0; n] } else { unbounded_direction(&rows, &inequality, random, n) },
            rows,
            meta,
        }
    }

    /// Whether a feasible point exists, and the objective has a minimum among them.
    pub fn is_solvable(&self) -> bool {
        !matches!(self.family, Family::Infeasible | Family::Unbounded | Family::Contradictory)
    }

    fn u(&self, x: &[f64]) -> Vec<f64> {
        x.iter().zip(&self.unit).map(|(x, unit)| x / unit).collect()
    }

    fn is_squared(&self, row: usize) -> bool {
        self.family == Family::Squared && row == 0
    }

    /// On one side of a plane, two units from the feasible point, nothing has a value.
    fn check(&self, u: &[f64]) -> Evaluation {
        let side: f64 = u.iter().zip(&self.wave.1).map(|(u, w)| u * w).sum();
        let edge = 1.0 + self.wave.1.iter().map(|w| w.abs()).sum::<f64>();
        if self.family == Family::Undefined && side > edge { Err(Failure::undefined("beyond the plane")) } else { Ok(()) }
    }

    /// The violation at a point: its 2-norm.
    pub fn violation(&mut self, x: &[f64]) -> f64 {
        let mut c = vec![0.0; self.meta.m()];
        if self.constraints(x, &mut c).is_err() {
            return f64::INFINITY;
        }
        let off =
            c.iter().zip(&self.meta.c_lower).zip(&self.meta.c_upper).map(|((c, lower), upper)| c - c.clamp(*lower, *upper));
        off.map(|off| off * off).sum::<f64>().sqrt()
    }
}

/// Units of variables and rows are powers of ten with exponents up to this one, either way.
fn digits_of_units(family: Family) -> Option<f64> {
    match family {
        Family::Scaled => Some(4.0),
        Family::Mixed => Some(2.0),
        _ => None,
    }
}

/// A descent direction along which all linear rows hold for ever: minus its opposite is the objective's gradient.
fn unbounded_direction(rows: &[Row], inequality: &[bool], random: &mut Random, n: usize) -> Vec<f64> {
    // Orthogonal to all rows (there are fewer rows than variables), by Gram and Schmidt.
    let mut basis: Vec<Vec<f64>> = Vec::new();
    let mut free = random.vector(n);
    for vector in rows.iter().map(|row| row.g.clone()).chain([free.clone()]) {
        let mut rest = vector;
        for b in &basis {
            let along: f64 = rest.iter().zip(b).map(|(r, b)| r * b).sum();
            rest.iter_mut().zip(b).for_each(|(r, b)| *r -= along * b);
        }
        let length = rest.iter().map(|r| r * r).sum::<f64>().sqrt();
        rest.iter_mut().for_each(|r| *r /= length);
        free.clone_from(&rest);
        basis.push(rest);
    }
    debug_assert_eq!(rows.len(), inequality.len());
    free.iter().map(|d| -d).collect()
}

impl Problem for RandomOfFamily {
    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn objective(&mut self, x: &[f64]) -> Evaluation<f64> {
        let u = self.u(x);
        self.check(&u)?;
        let wave: f64 = self.wave.1.iter().zip(&u).map(|(w, u)| w * u).sum();
        let bowl = u.iter().zip(&self.a).zip(&self.target).map(|((u, a), t)| 0.5 * a * (u - t) * (u - t)).sum::<f64>();
        Ok(bowl + self.wave.0 * wave.sin() + u.iter().zip(&self.linear).map(|(u, l)| u * l).sum::<f64>())
    }

    fn gradient(&mut self, x: &[f64], g: &mut [f64]) -> Evaluation {
        let u = self.u(x);
        self.check(&u)?;
        let wave: f64 = self.wave.1.iter().zip(&u).map(|(w, u)| w * u).sum();
        for (i, g) in g.iter_mut().enumerate() {
            let slope = self.a[i] * (u[i] - self.target[i]) + self.wave.0 * wave.cos() * self.wave.1[i] + self.linear[i];
            *g = slope / self.unit[i];
        }
        Ok(())
    }

    fn constraints(&mut self, x: &[f64], c: &mut [f64]) -> Evaluation {
        let u = self.u(x);
        self.check(&u)?;
        for (k, (c, row)) in c.iter_mut().zip(&self.rows).enumerate() {
            let value = row.value(&u);
            *c = row.scale * if self.is_squared(k) { value * value } else { value };
        }
        Ok(())
    }

    fn jacobian(&mut self, x: &[f64], values: &mut [f64]) -> Evaluation {
        let (u, n) = (self.u(x), self.unit.len());
        self.check(&u)?;
        for (k, (row, values)) in self.rows.iter().zip(values.chunks_mut(n)).enumerate() {
            let outer = row.scale * if self.is_squared(k) { 2.0 * row.value(&u) } else { 1.0 };
            for (i, value) in values.iter_mut().enumerate() {
                *value = outer * (row.q[i] * u[i] + row.g[i]) / self.unit[i];
            }
        }
        Ok(())
    }
}
