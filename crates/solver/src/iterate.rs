//! A point with what is known of the functions there. The current one and the trial are swapped, never copied.

use crate::matrix::Jacobian;

/// `z` with `f`, `h`, `g` and `J`, in the internal scale.
#[derive(Clone)]
pub struct Iterate {
    /// Variables and slacks.
    pub z: Vec<f64>,
    /// The objective.
    pub f: f64,
    /// The constraints that are kept, scaled, before slack or right-hand side is subtracted.
    pub c: Vec<f64>,
    /// The residual.
    pub h: Vec<f64>,
    /// The gradient; zero in the slack part.
    pub g: Vec<f64>,
    /// The Jacobian of the residual.
    pub jacobian: Jacobian,
}

impl Iterate {
    pub fn new(jacobian: Jacobian) -> Self {
        let (m, columns) = (jacobian.rows(), jacobian.columns());
        Iterate { z: vec![0.0; columns], f: 0.0, c: vec![0.0; m], h: vec![0.0; m], g: vec![0.0; columns], jacobian }
    }

    /// The variables without slacks.
    pub fn x(&self) -> &[f64] {
        &self.z[..self.jacobian.a.n]
    }

    /// The number of variables without slacks.
    pub fn n(&self) -> usize {
        self.jacobian.a.n
    }
}
