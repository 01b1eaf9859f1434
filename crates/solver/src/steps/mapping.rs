//! The paper's closed form for equalities: `u = -J^T A h`, with a mapping `A` such that `J J^T A` is symmetric positive definite.

use crate::Mapping;
use crate::kernel::aside::Patience;
use crate::kernel::eigen::Eigen;
use crate::kernel::vector::{add, dot};
use crate::run::clock::Clock;
use crate::steps::local_model::LocalModel;

/// A user's own mapping.
pub trait OwnMapping: Send {
    /// Writes the symmetric `m x m` matrix `A` (column after column), given `J J^T` (likewise) and `h`. `J J^T A` must be symmetric
    /// positive definite.
    fn map(&mut self, gram: &[f64], h: &[f64], a: &mut [f64]);
}

impl<F: FnMut(&[f64], &[f64], &mut [f64]) + Send> OwnMapping for F {
    fn map(&mut self, gram: &[f64], h: &[f64], a: &mut [f64]) {
        self(gram, h, a)
    }
}

/// The extreme eigenvalues of `J J^T A`.
#[derive(Clone, Copy, Debug)]
pub struct Spectrum {
    pub smallest: f64,
    pub largest: f64,
}

/// The memory of the mapping.
pub struct MappingMemory {
    m: usize,
    gram: Vec<f64>,
    own: Vec<f64>,
    /// Of `J J^T`, or of `J J^T A` for a mapping of the user's own.
    eigen: Eigen,
    /// `A h`
    mapped: Vec<f64>,
}

impl MappingMemory {
    pub fn new(m: usize) -> Self {
        let square = vec![0.0; m * m];
        MappingMemory { m, gram: square.clone(), own: square, eigen: Eigen::new(m), mapped: vec![0.0; m] }
    }

    /// Writes `u = -J^T A h` and gives the spectrum of `J J^T A`. `delta` is `L_c |h|`, for the regularised mapping. None: the run is to end, and `u` is 0.
    pub fn compute(
        &mut self,
        LocalModel { at, clock, .. }: LocalModel,
        mapping: Mapping,
        delta: f64,
        own: Option<&mut (dyn OwnMapping + '_)>,
        u: &mut [f64],
    ) -> Option<Spectrum> {
        let whole = at.jacobian.write_gram(&mut self.gram, &mut self.mapped, u, clock);
        u.fill(0.0);
        let spectrum = match (mapping, own) {
            _ if !whole => None,
            (Mapping::Own, Some(own)) => self.apply_own(&at.h, own, clock),
            _ => self.apply(&at.h, mapping, delta, clock),
        }?;
        for mapped in &mut self.mapped {
            *mapped = -*mapped;
        }
        at.jacobian.add_transposed(&self.mapped, u);
        Some(spectrum)
    }

    /// The named mappings are functions of `J J^T`, so one eigenvalue decomposition applies them: `A = V a(d) V^T`.
    fn apply(&mut self, h: &[f64], mapping: Mapping, delta: f64, clock: &Clock) -> Option<Spectrum> {
        self.eigen.matrix()?.copy_from_slice(&self.gram);
        let eigen = self.eigen.decompose(clock)?;
        let mut spectrum = Spectrum { smallest: f64::INFINITY, largest: 0.0 };
        self.mapped.fill(0.0);
        for k in 0..self.m {
            // Dependent rows: what cannot be inverted is left alone.
            let d = eigen.values[k].max(0.0);
            let invertible = eigen.is_invertible(k);
            let inverse = if invertible { 1.0 / d } else { 0.0 };
            let a = match mapping {
                Mapping::AugmentedLagrangian { alpha } => alpha,
                Mapping::Sqp { alpha } => alpha * inverse,
                Mapping::Hybrid { alpha1, alpha2 } => alpha1 + alpha2 * inverse,
                Mapping::Regularised | Mapping::Own => 1.0 / (d + delta).max(eigen.negligible()),
            };
            if invertible {
                spectrum.smallest = spectrum.smallest.min(d * a);
            }
            spectrum.largest = spectrum.largest.max(d * a);
            add(a * dot(eigen.vector(k), h), eigen.vector(k), &mut self.mapped);
        }
        Some(spectrum)
    }

    fn apply_own(&mut self, h: &[f64], own: &mut dyn OwnMapping, clock: &Clock) -> Option<Spectrum> {
        let m = self.m;
        own.map(&self.gram, h, &mut self.own);
        let (matrix, mut patience) = (self.eigen.matrix()?, Patience::default());
        for j in 0..m {
            for i in 0..m {
                let row = (0..m).map(|k| self.gram[k * m + i] * self.own[j * m + k]);
                matrix[j * m + i] = row.sum();
            }
            if !patience.goes_on(m * m, clock) {
                return None;
            }
        }
        for (i, mapped) in self.mapped.iter_mut().enumerate() {
            *mapped = (0..m).map(|k| self.own[k * m + i] * h[k]).sum();
        }
        let values = &self.eigen.decompose(clock)?.values;
        Some(Spectrum { smallest: values[0], largest: values[m - 1] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::steps::local_model::by_hand::{Place, assert_near};

    /// J = diag(3, 4) and h = (1, 2): J J^T = diag(9, 16).
    fn apply(mapping: Mapping, own: Option<&mut (dyn OwnMapping + '_)>) -> ([f64; 2], [f64; 2]) {
        let place = Place::new(&[[3.0, 0.0], [0.0, 4.0]], &[1.0, 2.0], [0.0; 2]);
        let mut u = [0.0; 2];
        let spectrum = MappingMemory::new(2).compute(place.local(), mapping, 7.0, own, &mut u).unwrap();
        (u, [spectrum.smallest, spectrum.largest])
    }

    #[test]
    fn every_mapping_by_hand() {
        let cases = [
            (Mapping::AugmentedLagrangian { alpha: 0.1 }, [-0.3, -0.8], [0.9, 1.6]),
            (Mapping::Sqp { alpha: 0.5 }, [-1.0 / 6.0, -0.25], [0.5, 0.5]),
            (Mapping::Hybrid { alpha1: 0.1, alpha2: 0.5 }, [-0.3 - 1.0 / 6.0, -1.05], [1.4, 2.1]),
            (Mapping::Regularised, [-3.0 / 16.0, -8.0 / 23.0], [9.0 / 16.0, 16.0 / 23.0]),
        ];
        for (mapping, u, spectrum) in cases {
            let found = apply(mapping, None);
            assert_near(&found.0, &u);
            assert_near(&found.1, &spectrum);
        }
        // A = diag(1, 1/4)
        let mut own = |gram: &[f64], h: &[f64], a: &mut [f64]| {
            assert_eq!((gram, h), (&[9.0, 0.0, 0.0, 16.0][..], &[1.0, 2.0][..]));
            a.copy_from_slice(&[1.0, 0.0, 0.0, 0.25]);
        };
        let found = apply(Mapping::Own, Some(&mut own));
        assert_near(&found.0, &[-3.0, -2.0]);
        assert_near(&found.1, &[4.0, 9.0]);
    }

    #[test]
    fn dependent_rows_are_left_alone() {
        // The second row is the first: J J^T = [1 1; 1 1], whose inverse on its range is J J^T / 4.
        let place = Place::new(&[[1.0, 0.0], [1.0, 0.0]], &[1.0, 1.0], [0.0; 2]);
        let mut u = [0.0; 2];
        let spectrum = MappingMemory::new(2).compute(place.local(), Mapping::Sqp { alpha: 1.0 }, 0.0, None, &mut u).unwrap();
        assert_near(&u, &[-1.0, 0.0]);
        assert_near(&[spectrum.smallest, spectrum.largest], &[1.0, 1.0]);
    }
}
