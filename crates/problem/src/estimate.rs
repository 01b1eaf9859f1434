use crate::differences::Stencil;
use crate::{Evaluation, Failure, Meta};

/// Differences are taken with these steps, relative to the variable; the pair that agrees best is believed.
const RELATIVE_STEPS: [f64; 4] = [1.0 / 256.0, 1.0 / 2048.0, 1.0 / 16384.0, 1.0 / 131072.0];

/// How far two values at the same point may differ, relative to their size: sums that threads make in another order do.
const STEADY: f64 = 1e-10;

/// Marks a row that none of the moved columns is known to reach.
pub(crate) const NOBODY: usize = usize::MAX;

/// Values of a function with several rows.
pub(crate) type Values<'a> = &'a mut dyn FnMut(&[f64], &mut [f64]) -> Evaluation;

/// A slope and how far it may be off.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Estimate {
    pub(crate) slope: f64,
    pub(crate) uncertainty: f64,
}

/// Slopes of all rows along some variables, each with an estimate of its error.
pub(crate) struct Estimator<'a> {
    meta: &'a Meta,
    x: &'a [f64],
    values: Values<'a>,
    stencils: Vec<Option<Stencil>>,
    probe: Vec<f64>,
    centre: Vec<f64>,
    at: [Vec<f64>; 2],
    previous: Vec<f64>,
    /// For each row the moved column that its slope belongs to, or [`NOBODY`].
    pub(crate) owner: Vec<usize>,
    pub(crate) estimates: Vec<Estimate>,
    /// Whether a row moved that belongs to nobody.
    pub(crate) strayed: bool,
}

impl<'a> Estimator<'a> {
    pub(crate) fn new(meta: &'a Meta, x: &'a [f64], rows: usize, values: Values<'a>) -> Evaluation<Self> {
        let zeros = vec![0.0; rows];
        let mut centre = zeros.clone();
        values(x, &mut centre)?;
        Ok(Estimator {
            meta,
            x,
            values,
            stencils: vec![None; x.len()],
            probe: x.to_vec(),
            centre,
            at: [zeros.clone(), zeros.clone()],
            previous: zeros,
            owner: vec![NOBODY; rows],
            estimates: vec![Estimate { slope: 0.0, uncertainty: 0.0 }; rows],
            strayed: false,
        })
    }

    /// Moves these columns together and fills `estimates` for the rows that have an owner.
    pub(crate) fn estimate(&mut self, columns: &[usize]) -> Evaluation {
        self.estimates.fill(Estimate { slope: f64::NAN, uncertainty: f64::INFINITY });
        self.previous.fill(f64::NAN);
        self.strayed = false;
        for relative_step in RELATIVE_STEPS {
            for &column in columns {
                self.stencils[column] = self.stencil(column, relative_step);
            }
            self.evaluate(columns)?;
            self.take_better();
        }
        Ok(())
    }

    /// Rows that give other values at the centre than they did at first, with both.
    pub(crate) fn unsteady(&mut self) -> Evaluation<Vec<(usize, [f64; 2])>> {
        let mut again = vec![0.0; self.centre.len()];
        (self.values)(self.x, &mut again)?;
        let pairs = self.centre.iter().zip(&again).map(|(&first, &again)| [first, again]).enumerate();
        Ok(pairs.filter(|(_, [a, b])| (a - b).abs() > STEADY * a.abs().max(b.abs()).max(1.0)).collect())
    }

    /// Whether a column can move at all.
    pub(crate) fn is_free(&self, column: usize) -> bool {
        self.stencil(column, RELATIVE_STEPS[0]).is_some()
    }

    fn stencil(&self, column: usize, relative_step: f64) -> Option<Stencil> {
        let (x, lower, upper) = (self.x[column], self.meta.x_lower[column], self.meta.x_upper[column]);
        // In a narrow box all steps shrink alike, so that two of them still tell how good they are.
        let fitting = (x - lower).max(upper - x) / (2.0 * x.abs().max(1.0));
        let shrink = if fitting > 0.0 { (fitting / RELATIVE_STEPS[0]).min(1.0) } else { 1.0 };
        Stencil::new(x, lower, upper, relative_step * shrink)
    }

    fn evaluate(&mut self, columns: &[usize]) -> Evaluation {
        for (side, values) in self.at.iter_mut().enumerate() {
            for &column in columns {
                self.probe[column] = self.stencils[column].map_or(self.x[column], |stencil| stencil.points[side]);
            }
            match (self.values)(&self.probe, values) {
                Err(Failure::Undefined(_)) => values.fill(f64::NAN),
                other => other?,
            }
        }
        for &column in columns {
            self.probe[column] = self.x[column];
        }
        Ok(())
    }

    /// A slope is as uncertain as it differs from that of the larger step, and as rounding makes it.
    fn take_better(&mut self) {
        for (row, estimate) in self.estimates.iter_mut().enumerate() {
            let (centre, at) = (self.centre[row], [self.at[0][row], self.at[1][row]]);
            let Some(&owner) = self.stencils.get(self.owner[row]) else {
                self.strayed |= at != [centre, centre];
                continue;
            };
            let Some(stencil) = owner else { continue };
            let slope = stencil.slope(centre, at);
            let uncertainty = (slope - self.previous[row]).abs() + stencil.rounding(centre, at);
            if uncertainty < estimate.uncertainty {
                *estimate = Estimate { slope, uncertainty };
            }
            self.previous[row] = slope;
        }
    }
}
