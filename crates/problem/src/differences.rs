use crate::groups::Groups;
use crate::{Evaluation, Meta};

/// Rounding errors and the error of the formula balance near the cube root of the machine precision.
const RELATIVE_STEP: f64 = 6e-6;

/// The slope at 0 from the values at 0, `a` and `b`, exact for parabolas.
///
/// Central where the bounds leave room, with two points on the same side where they do not: no function is ever called outside
/// of the bounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Stencil {
    /// Where to look, as values of the variable.
    pub(crate) points: [f64; 2],
    /// What the values at 0, `a` and `b` contribute.
    weights: [f64; 3],
}

impl Stencil {
    /// None when the variable is fixed, or when the step vanishes in rounding. At a point outside of the bounds they say
    /// nothing.
    pub(crate) fn new(x: f64, lower: f64, upper: f64, relative_step: f64) -> Option<Self> {
        let outside = x < lower || x > upper;
        let (lower, upper) = if outside { (f64::NEG_INFINITY, f64::INFINITY) } else { (lower, upper) };
        let wanted = relative_step * x.abs().max(1.0);
        let (below, above) = (x - lower, upper - x);
        let (narrow, wide) = (below.min(above), below.max(above));
        let central = narrow >= wanted.min(wide / 2.0);
        let [a, b] = if central {
            let step = wanted.min(narrow);
            [-step, step]
        } else {
            let step = wanted.min(wide / 2.0).copysign(above - below);
            [step, 2.0 * step]
        };
        // What rounding and the bounds make of the steps is what the weights must know.
        let points = [a, b].map(|step| (x + step).min(upper).max(lower));
        let [a, b] = points.map(|point| point - x);
        let weights = if central {
            [0.0, -1.0 / (b - a), 1.0 / (b - a)]
        } else {
            [-(a + b) / (a * b), b / (a * (b - a)), -a / (b * (b - a))]
        };
        weights.iter().all(|weight| weight.is_finite()).then_some(Stencil { points, weights })
    }

    /// Whether the value at 0 is needed.
    pub(crate) fn needs_centre(&self) -> bool {
        self.weights[0] != 0.0
    }

    /// The slope; `centre` is not looked at unless it is needed.
    pub(crate) fn slope(&self, centre: f64, [at_a, at_b]: [f64; 2]) -> f64 {
        let [w0, wa, wb] = self.weights;
        let outer = wa * at_a + wb * at_b;
        if self.needs_centre() { w0 * centre + outer } else { outer }
    }

    /// How far rounding of the values alone may move the slope.
    pub(crate) fn rounding(&self, centre: f64, [at_a, at_b]: [f64; 2]) -> f64 {
        let [w0, wa, wb] = self.weights;
        let inner = if self.needs_centre() { (w0 * centre).abs() } else { 0.0 };
        f64::EPSILON * (inner + (wa * at_a).abs() + (wb * at_b).abs())
    }
}

/// Derivatives by finite differences, with the memory they need.
#[derive(Clone, Debug)]
pub(crate) struct Differences {
    groups: Groups,
    stencils: Vec<Option<Stencil>>,
    probe: Vec<f64>,
    centre: Vec<f64>,
    at: [Vec<f64>; 2],
}

impl Differences {
    pub(crate) fn new(meta: &Meta) -> Self {
        let c = vec![0.0; meta.m()];
        Differences {
            groups: Groups::of_columns(meta),
            stencils: Vec::with_capacity(meta.n()),
            probe: Vec::with_capacity(meta.n()),
            centre: c.clone(),
            at: [c.clone(), c],
        }
    }

    fn place(&mut self, meta: &Meta, x: &[f64]) {
        let stencil = |i: usize| Stencil::new(x[i], meta.x_lower[i], meta.x_upper[i], RELATIVE_STEP);
        self.stencils.clear();
        self.stencils.extend((0..x.len()).map(stencil));
        self.probe.clear();
        self.probe.extend_from_slice(x);
    }

    /// Two evaluations for each variable that is not fixed.
    pub(crate) fn gradient(
        &mut self,
        meta: &Meta,
        x: &[f64],
        g: &mut [f64],
        mut objective: impl FnMut(&[f64]) -> Evaluation<f64>,
    ) -> Evaluation {
        self.place(meta, x);
        let needs_centre = self.stencils.iter().flatten().any(Stencil::needs_centre);
        let centre = if needs_centre { objective(x)? } else { 0.0 };
        for (i, slope) in g.iter_mut().enumerate() {
            let Some(stencil) = self.stencils[i] else {
                *slope = 0.0;
                continue;
            };
            let mut values = [0.0; 2];
            for (value, point) in values.iter_mut().zip(stencil.points) {
                self.probe[i] = point;
                *value = objective(&self.probe)?;
            }
            self.probe[i] = x[i];
            *slope = stencil.slope(centre, values);
        }
        Ok(())
    }

    /// Two evaluations for each group of columns that have no row in common.
    pub(crate) fn jacobian(
        &mut self,
        meta: &Meta,
        x: &[f64],
        values: &mut [f64],
        mut constraints: impl FnMut(&[f64], &mut [f64]) -> Evaluation,
    ) -> Evaluation {
        self.place(meta, x);
        self.groups.clear_repeated(values);
        if self.stencils.iter().flatten().any(Stencil::needs_centre) {
            constraints(x, &mut self.centre)?;
        }
        for group in self.groups.iter() {
            for (side, c) in self.at.iter_mut().enumerate() {
                for &column in &group.members {
                    self.probe[column] = self.stencils[column].map_or(x[column], |stencil| stencil.points[side]);
                }
                constraints(&self.probe, c)?;
            }
            for &column in &group.members {
                self.probe[column] = x[column];
            }
            for entry in &group.entries {
                let at = [self.at[0][entry.row], self.at[1][entry.row]];
                let slope = |stencil: Stencil| stencil.slope(self.centre[entry.row], at);
                values[entry.index] = self.stencils[entry.column].map_or(0.0, slope);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INF: f64 = f64::INFINITY;

    #[test]
    fn stencils_stay_inside_the_bounds() {
        // x, lower, upper -> the two points for steps of a quarter
        let cases = [
            ((0.0, -INF, INF), [-0.25, 0.25]),
            ((8.0, -INF, INF), [6.0, 10.0]),
            ((0.0, 0.0, INF), [0.25, 0.5]),
            ((1.0, -INF, 1.0), [0.75, 0.5]),
            ((0.125, 0.0, 1.0), [0.375, 0.625]),
            ((0.0, 0.0, 0.25), [0.125, 0.25]),
            ((0.5, 0.375, 0.625), [0.375, 0.625]),
            ((-1.0, 0.0, INF), [-1.25, -0.75]),
        ];
        for ((x, lower, upper), points) in cases {
            let found = Stencil::new(x, lower, upper, 0.25).map(|stencil| stencil.points);
            assert_eq!(found, Some(points), "{x} in [{lower}, {upper}]");
        }
        assert_eq!(Stencil::new(2.0, 2.0, 2.0, 0.25), None);
        assert_eq!(Stencil::new(f64::NAN, 0.0, 1.0, 0.25), None);
    }

    #[test]
    fn slopes_of_parabolas_are_exact() {
        let parabola = |x: f64| 3.0 * x * x - 2.0 * x + 1.0;
        for (x, lower, upper) in [(0.5, -INF, INF), (0.5, 0.5, INF), (0.5, -4.0, 0.5), (0.5, 0.375, 1.0)] {
            let stencil = Stencil::new(x, lower, upper, 0.25).unwrap();
            assert_eq!(stencil.slope(parabola(x), stencil.points.map(parabola)), 6.0 * x - 2.0);
        }
    }

    #[test]
    fn a_central_stencil_does_not_need_the_centre() {
        let stencil = Stencil::new(0.5, -INF, INF, 0.25).unwrap();
        assert!(!stencil.needs_centre());
        assert_eq!(stencil.slope(f64::NAN, stencil.points), 1.0);
    }

    #[test]
    fn a_tridiagonal_jacobian_takes_six_evaluations() {
        let n = 50;
        let entries = (0..n).flat_map(|i: usize| (i.saturating_sub(1)..(i + 2).min(n)).map(move |j| (i, j)));
        let meta = Meta::new("band", vec![0.5; n]).equalities(&vec![0.0; n]).sparse(entries);
        let mut values = vec![0.0; meta.jacobian_len()];
        let mut calls = 0;
        let constraints = |x: &[f64], c: &mut [f64]| {
            calls += 1;
            for i in 0..n {
                let left = if i == 0 { 0.0 } else { x[i - 1] };
                let right = if i == n - 1 { 0.0 } else { x[i + 1] };
                c[i] = left.sin() + 2.0 * x[i] * x[i] - 3.0 * right;
            }
            Ok(())
        };
        Differences::new(&meta).jacobian(&meta, &meta.x0, &mut values, constraints).unwrap();
        assert_eq!(calls, 6);
        for (k, value) in values.iter().enumerate() {
            let expected = match meta.jacobian.place(k, n) {
                (i, j) if j + 1 == i => 0.5_f64.cos(),
                (i, j) if i == j => 2.0,
                _ => -3.0,
            };
            assert!((value - expected).abs() < 1e-9, "value {k}: {value}, not {expected}");
        }
    }
}
