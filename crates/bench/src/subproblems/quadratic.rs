//! A subproblem as a quadratic program with exact second derivatives, for a solver that takes any problem.
//!
//! A soft row is either part of the Hessian, or has a variable `p` of its own, `(J s - r)_i = p`, whichever takes fewer entries.

use std::collections::BTreeMap;

use tangor_problem::{Evaluation, Meta, Pattern, Problem, SecondOrder};
use tangor_solver::internals::StoredSubproblem;

use super::scale;

/// Columns beyond which soft rows are never made part of the Hessian: forming it would take longer than it saves.
const LARGEST_FOLDED: usize = 1000;

/// `min b^T v + 1/2 v^T Q v + constant` with linear equations and bounds.
#[derive(Clone, Debug)]
pub struct Quadratic {
    meta: Meta,
    linear: Vec<f64>,
    constant: f64,
    /// The lower triangle of `Q`.
    hessian: Entries,
    rows: Entries,
}

/// A sparse matrix, entry by entry.
#[derive(Clone, Debug)]
struct Entries {
    pattern: Pattern,
    places: Vec<(usize, usize)>,
    values: Vec<f64>,
}

impl Entries {
    fn new(entries: impl IntoIterator<Item = ((usize, usize), f64)>) -> Self {
        let (places, values): (Vec<_>, Vec<_>) = entries.into_iter().unzip();
        Entries { pattern: Pattern::sparse(places.iter().copied()), places, values }
    }
}

impl Quadratic {
    /// The same minimiser in its first variables, one for each column of the subproblem.
    pub fn of(problem: &StoredSubproblem) -> Self {
        let (m, columns) = problem.size();
        let mut rows = vec![Vec::new(); m];
        for (i, j, value) in problem.entries() {
            rows[i].push((j, value));
        }
        // A row of zeros keeps one of them: Ipopt does not take a matrix without entries.
        rows.iter_mut().filter(|row| row.is_empty()).for_each(|row| row.push((0, 0.0)));
        let scale = scale(problem);
        let (soft, hard): (Vec<usize>, Vec<usize>) = (0..m).partition(|&i| problem.softness[i] > 0.0);
        let weight = |i: usize| scale / problem.softness[i];

        let mut hessian: BTreeMap<(usize, usize), f64> =
            problem.hessian_entries().into_iter().map(|(i, j, value)| ((i, j), scale * value)).collect();
        let mut linear: Vec<f64> = problem.gradient.iter().map(|g| scale * g).collect();
        let mut constant = 0.0;
        let as_rows: usize = soft.iter().map(|&i| rows[i].len() + 2).sum();
        let folded =
            (columns <= LARGEST_FOLDED).then(|| products(&soft, &rows, columns, weight)).filter(|q| q.len() <= as_rows);
        let mut kept = hard;
        if let Some(products) = folded {
            for (place, value) in products {
                *hessian.entry(place).or_default() += value;
            }
            for &i in &soft {
                let (w, r) = (weight(i), problem.target[i]);
                constant += 0.5 * w * r * r;
                rows[i].iter().for_each(|&(j, value)| linear[j] -= w * r * value);
            }
        } else {
            for &i in &soft {
                let p = linear.len();
                linear.push(0.0);
                hessian.insert((p, p), weight(i));
                rows[i].push((p, -1.0));
                kept.push(i);
            }
        }
        let target: Vec<f64> = kept.iter().map(|&i| problem.target[i]).collect();
        let mut meta = Meta::new("subproblem", vec![0.0; linear.len()]).equalities(&target);
        meta.x_lower[..columns].copy_from_slice(&problem.lower);
        meta.x_upper[..columns].copy_from_slice(&problem.upper);
        // From s = 0 the residual of a soft row is -r.
        for (p, &i) in (columns..linear.len()).zip(&soft) {
            meta.x0[p] = -problem.target[i];
        }
        let entries = kept.iter().enumerate().flat_map(|(k, &i)| rows[i].iter().map(move |&(j, value)| ((k, j), value)));
        let rows = Entries::new(entries);
        meta.jacobian = rows.pattern.clone();
        Quadratic { meta, linear, constant, hessian: Entries::new(hessian), rows }
    }
}

/// The lower triangle of `sum_i weight_i a_i a_i^T` over these rows, where it is not zero.
fn products(
    soft: &[usize],
    rows: &[Vec<(usize, f64)>],
    columns: usize,
    weight: impl Fn(usize) -> f64,
) -> Vec<((usize, usize), f64)> {
    let mut sums = vec![0.0; if soft.is_empty() { 0 } else { columns * columns }];
    for &i in soft {
        let w = weight(i);
        for &(a, first) in &rows[i] {
            for &(b, second) in rows[i].iter().filter(|(b, _)| *b <= a) {
                sums[a * columns + b] += w * first * second;
            }
        }
    }
    let all = sums.into_iter().enumerate().filter(|(_, value)| *value != 0.0);
    all.map(|(k, value)| ((k / columns, k % columns), value)).collect()
}

impl Problem for Quadratic {
    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn objective(&mut self, x: &[f64]) -> Evaluation<f64> {
        let mut value = self.constant + x.iter().zip(&self.linear).map(|(x, b)| x * b).sum::<f64>();
        for (&(i, j), q) in self.hessian.places.iter().zip(&self.hessian.values) {
            value += if i == j { 0.5 } else { 1.0 } * q * x[i] * x[j];
        }
        Ok(value)
    }

    fn gradient(&mut self, x: &[f64], g: &mut [f64]) -> Evaluation {
        g.copy_from_slice(&self.linear);
        for (&(i, j), q) in self.hessian.places.iter().zip(&self.hessian.values) {
            g[i] += q * x[j];
            if i != j {
                g[j] += q * x[i];
            }
        }
        Ok(())
    }

    fn constraints(&mut self, x: &[f64], c: &mut [f64]) -> Evaluation {
        c.fill(0.0);
        for (&(i, j), value) in self.rows.places.iter().zip(&self.rows.values) {
            c[i] += value * x[j];
        }
        Ok(())
    }

    fn jacobian(&mut self, _: &[f64], values: &mut [f64]) -> Evaluation {
        values.copy_from_slice(&self.rows.values);
        Ok(())
    }

    fn second_order(&mut self) -> Option<&mut dyn SecondOrder> {
        Some(self)
    }
}

impl SecondOrder for Quadratic {
    fn hessian_pattern(&self) -> &Pattern {
        &self.hessian.pattern
    }

    fn hessian(&mut self, _: &[f64], sigma: f64, _: &[f64], values: &mut [f64]) -> Evaluation {
        for (value, q) in values.iter_mut().zip(&self.hessian.values) {
            *value = sigma * q;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `min 2 s0 - s1 + 1/2 (s0^2 + 3 s1^2) + (s0 + 2 s1 - 4)^2 / (2 kappa)`, and `s0 - s1 = 1` below.
    fn subproblem(kappa: f64) -> StoredSubproblem {
        let entries = [(0, 0, 1.0), (0, 1, 2.0), (1, 0, 1.0), (1, 1, -1.0)];
        let mut problem = StoredSubproblem::new(2, 2, &entries, true, &[]);
        problem.gradient = vec![2.0, -1.0];
        problem.metric = vec![1.0, 3.0];
        problem.target = vec![4.0, 1.0];
        problem.softness = vec![kappa, 0.0];
        problem.upper = vec![5.0, f64::INFINITY];
        problem
    }

    #[test]
    fn a_soft_row_becomes_part_of_the_hessian() {
        // kappa = 1/2: the objective times 1/2 is s0 - s1/2 + 1/4 (s0^2 + 3 s1^2) + 1/2 (s0 + 2 s1 - 4)^2
        let mut program = Quadratic::of(&subproblem(0.5));
        assert_eq!((program.meta().n(), program.meta().m()), (2, 1));
        assert_eq!((program.meta().c_lower[0], program.meta().x_upper[0]), (1.0, 5.0));
        // at (1, 1): 1 - 1/2 + 1 + 1/2 = 2, gradient 1 + 1/2 - 1 and -1/2 + 3/2 - 2
        assert_eq!(program.objective(&[1.0, 1.0]).unwrap(), 2.0);
        let (mut g, mut c, mut q) = ([0.0; 2], [0.0], [0.0; 3]);
        program.gradient(&[1.0, 1.0], &mut g).unwrap();
        assert_eq!(g, [0.5, -1.0]);
        program.constraints(&[3.0, 1.0], &mut c).unwrap();
        assert_eq!(c, [2.0]);
        // 1/2 H + a a^T = [[1.5, 2], [2, 5.5]]
        program.hessian(&[0.0; 2], 1.0, &[0.0], &mut q).unwrap();
        assert_eq!((q, &program.hessian.places[..]), ([1.5, 2.0, 5.5], &[(0, 0), (1, 0), (1, 1)][..]));
    }

    #[test]
    fn a_long_soft_row_gets_a_variable_of_its_own() {
        // One row of six ones: 21 products against 6 entries, -1 and the curvature of p.
        let entries: Vec<(usize, usize, f64)> = (0..6).map(|j| (0, j, 1.0)).collect();
        let mut problem = StoredSubproblem::new(1, 6, &entries, true, &[]);
        (problem.target, problem.softness) = (vec![3.0], vec![2.0]);
        let mut program = Quadratic::of(&problem);
        assert_eq!((program.meta().n(), program.meta().m(), program.meta().x0[6]), (7, 1, -3.0));
        // s = 1/2, p = 6/2 - 3 = 0: the objective times 2 is |s|^2 + p^2 / 2
        let mut v = [0.5; 7];
        v[6] = 0.0;
        assert_eq!(program.objective(&v).unwrap(), 1.5);
        let mut c = [0.0];
        program.constraints(&v, &mut c).unwrap();
        assert_eq!(c, [3.0]);
    }

    #[test]
    fn a_row_of_zeros_has_an_entry() {
        let program = Quadratic::of(&StoredSubproblem::new(1, 2, &[], true, &[]));
        assert_eq!((program.meta().jacobian_len(), &program.rows.values[..]), (1, &[0.0][..]));
    }

    #[test]
    fn without_soft_rows_nothing_is_scaled() {
        let mut problem = subproblem(0.5);
        problem.softness = vec![0.0; 2];
        let mut program = Quadratic::of(&problem);
        assert_eq!(program.meta().m(), 2);
        // 2 - 1 + 1/2 (1 + 3)
        assert_eq!(program.objective(&[1.0, 1.0]).unwrap(), 3.0);
    }
}
