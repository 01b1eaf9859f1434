use echidna::DualVec;

use crate::Formulas;
use crate::groups::{Group, Groups};

/// How many directions one pass carries. Of 4, 8 and 16 this is the fastest for ten variables and close to it for a hundred.
pub(crate) const LANES: usize = 8;

type Dual = DualVec<f64, LANES>;

/// Forward mode: every number carries its derivatives in [`LANES`] directions.
#[derive(Clone, Debug, Default)]
pub(crate) struct ForwardMode {
    x: Vec<Dual>,
    c: Vec<Dual>,
}

impl ForwardMode {
    pub(crate) fn gradient(&mut self, formulas: &impl Formulas, x: &[f64], g: &mut [f64]) {
        self.place(x);
        for (pass, chunk) in g.chunks_mut(LANES).enumerate() {
            let columns = pass * LANES..pass * LANES + chunk.len();
            for (lane, dual) in self.x[columns.clone()].iter_mut().enumerate() {
                *dual = Dual::with_tangent(dual.re, lane);
            }
            let f = formulas.objective(&self.x);
            chunk.copy_from_slice(&f.eps[..chunk.len()]);
            for dual in &mut self.x[columns] {
                *dual = Dual::constant(dual.re);
            }
        }
    }

    /// The groups are those of the columns.
    pub(crate) fn jacobian(&mut self, formulas: &impl Formulas, groups: &Groups, m: usize, x: &[f64], values: &mut [f64]) {
        self.place(x);
        self.c.resize(m, Dual::default());
        groups.clear_repeated(values);
        for chunk in groups.chunks(LANES) {
            for (lane, column) in lanes_and_columns(chunk) {
                self.x[column] = Dual::with_tangent(x[column], lane);
            }
            formulas.constraints(&self.x, &mut self.c);
            for (lane, group) in chunk.iter().enumerate() {
                for entry in &group.entries {
                    values[entry.index] = self.c[entry.row].eps[lane];
                }
            }
            for (_, column) in lanes_and_columns(chunk) {
                self.x[column] = Dual::constant(x[column]);
            }
        }
    }

    fn place(&mut self, x: &[f64]) {
        self.x.clear();
        self.x.extend(x.iter().map(|&value| Dual::constant(value)));
    }
}

fn lanes_and_columns(chunk: &[Group]) -> impl Iterator<Item = (usize, usize)> {
    chunk.iter().enumerate().flat_map(|(lane, group)| group.members.iter().map(move |&column| (lane, column)))
}
