//! Derivatives by differences, as SciPy names them: `2-point`, `3-point` and `cs` (complex step). No function is called outside of
//! the bounds.

use crate::sparse::Rows;

/// How slopes are estimated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// One more value per variable.
    TwoPoint,
    /// Two more values per variable.
    ThreePoint,
    /// One value at a complex point per variable.
    ComplexStep,
}

impl Scheme {
    /// By SciPy's name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "2-point" => Some(Scheme::TwoPoint),
            "3-point" => Some(Scheme::ThreePoint),
            "cs" => Some(Scheme::ComplexStep),
            _ => None,
        }
    }

    /// Where the error of the formula and that of rounding balance.
    fn usual_step(self) -> f64 {
        match self {
            Scheme::TwoPoint => f64::EPSILON.sqrt(),
            Scheme::ThreePoint => f64::EPSILON.cbrt(),
            Scheme::ComplexStep => 1e-20,
        }
    }
}

/// The points of one variable and what the values there contribute to its slope.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stencil {
    /// Where to look, as values of the variable; with the two-point scheme the first one alone.
    pub points: [f64; 2],
    /// What the values at the point itself and at the two others contribute.
    pub weights: [f64; 3],
}

impl Stencil {
    /// None: the variable is fixed, or the step vanishes in rounding.
    pub fn new(scheme: Scheme, x: f64, (lower, upper): (f64, f64), relative: Option<f64>) -> Option<Self> {
        let outside = x < lower || x > upper;
        let (lower, upper) = if outside { (f64::NEG_INFINITY, f64::INFINITY) } else { (lower, upper) };
        let wanted = relative.unwrap_or(scheme.usual_step()).abs() * x.abs().max(1.0);
        let (below, above) = (x - lower, upper - x);
        let stencil = match scheme {
            Scheme::TwoPoint => {
                let step = if above >= wanted || above >= below { wanted.min(above) } else { -wanted.min(below) };
                let point = (x + step).min(upper).max(lower);
                let step = point - x;
                Stencil { points: [point, x], weights: [-1.0 / step, 1.0 / step, 0.0] }
            }
            Scheme::ThreePoint if below.min(above) >= wanted.min(below.max(above) / 2.0) => {
                let step = wanted.min(below.min(above));
                let points = [(x - step).max(lower), (x + step).min(upper)];
                let width = points[1] - points[0];
                Stencil { points, weights: [0.0, -1.0 / width, 1.0 / width] }
            }
            Scheme::ThreePoint => {
                let step = wanted.min(below.max(above) / 2.0).copysign(above - below);
                let points = [step, 2.0 * step].map(|step| (x + step).min(upper).max(lower));
                let [a, b] = points.map(|point| point - x);
                Stencil { points, weights: [-(a + b) / (a * b), b / (a * (b - a)), -a / (b * (b - a))] }
            }
            // The value of the variable stays; the step is an imaginary one.
            Scheme::ComplexStep if lower < upper => Stencil { points: [wanted; 2], weights: [0.0, 1.0 / wanted, 0.0] },
            Scheme::ComplexStep => return None,
        };
        stencil.weights.iter().all(|weight| weight.is_finite()).then_some(stencil)
    }
}

/// Columns that share no row, one group after the other: each can be moved at once with the others of its group.
pub fn groups(pattern: &Rows) -> Vec<Vec<usize>> {
    let mut rows_of = vec![Vec::new(); pattern.n];
    for row in 0..pattern.m() {
        for &column in &pattern.columns[pattern.start[row]..pattern.start[row + 1]] {
            rows_of[column].push(row);
        }
    }
    // Greedy: each column goes to the first group none of whose rows it has.
    let mut groups: Vec<(Vec<usize>, Vec<bool>)> = Vec::new();
    for column in (0..pattern.n).filter(|&column| !rows_of[column].is_empty()) {
        let place = groups.iter().position(|group| rows_of[column].iter().all(|&row| !group.1[row]));
        let place = place.unwrap_or_else(|| {
            groups.push((Vec::new(), vec![false; pattern.m()]));
            groups.len() - 1
        });
        groups[place].0.push(column);
        rows_of[column].iter().for_each(|&row| groups[place].1[row] = true);
    }
    groups.into_iter().map(|(columns, _)| columns).collect()
}
