//! A point with what is known of the functions there. The current one and the trial are swapped; a step that does not begin at the current
//! point may copy it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::form::standard::Standard;
use crate::kernel::matrix::Jacobian;
use crate::kernel::vector::add;

/// `z` with `f`, `h`, `g` and `J`, in the internal scale. Serialised is `z` alone: the rest is what the functions are there.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Iterate {
    /// Variables and slacks.
    pub z: Vec<f64>,
    /// The objective.
    #[serde(skip)]
    pub f: f64,
    /// The constraints that are kept, scaled, before slack or right-hand side is subtracted.
    #[serde(skip)]
    pub c: Vec<f64>,
    /// The residual.
    #[serde(skip)]
    pub h: Vec<f64>,
    /// The gradient; zero in the slack part.
    #[serde(skip)]
    pub g: Vec<f64>,
    /// The Jacobian of the residual.
    #[serde(skip)]
    pub jacobian: Jacobian,
    /// The same point as the user knows it.
    #[serde(skip)]
    pub user: UserPoint,
}

/// A point in the user's variables, rows and scale, with the values that were evaluated there: they travel together, so that nothing
/// can be reported of one point that was computed at another.
#[derive(Clone, Debug, Default)]
pub struct UserPoint {
    /// Functions may hand it on: [`tangor_problem::Problem::place`] writes it.
    pub x: Arc<Vec<f64>>,
    pub objective: f64,
    pub c: Vec<f64>,
    /// The gradient's entries of fixed variables, which the internal form leaves out.
    pub fixed_gradient: Vec<f64>,
    /// The Jacobian's entries in kept rows and columns of fixed variables.
    pub fixed_jacobian: Vec<f64>,
}

impl Iterate {
    pub fn new(jacobian: Jacobian) -> Self {
        let (m, columns) = (jacobian.rows(), jacobian.columns());
        let user = UserPoint::default();
        Iterate { z: vec![0.0; columns], f: 0.0, c: vec![0.0; m], h: vec![0.0; m], g: vec![0.0; columns], jacobian, user }
    }

    /// The start of a run, with room for what the user knows of a point. Nothing is evaluated yet.
    pub fn start(jacobian: Jacobian, standard: &Standard, rows: usize) -> Self {
        let mut start = Iterate::new(jacobian);
        for (z, &i) in start.z.iter_mut().zip(&standard.columns) {
            *z = standard.start[i];
        }
        start.user = UserPoint {
            x: Arc::new(standard.start.clone()),
            objective: 0.0,
            c: vec![f64::NAN; rows],
            fixed_gradient: vec![0.0; standard.fixed_columns.len()],
            fixed_jacobian: vec![0.0; standard.fixed.len()],
        };
        start
    }

    /// Goes to another place, where nothing is evaluated yet.
    pub fn go_to(&mut self, z: &[f64]) {
        self.z.copy_from_slice(z);
    }

    /// The same, with a place for each variable and slack.
    pub fn put(&mut self, place: impl Fn(usize) -> f64) {
        self.z.iter_mut().enumerate().for_each(|(i, z)| *z = place(i));
    }

    /// Moves to a place where nothing is evaluated yet.
    pub fn move_by(&mut self, d: &[f64]) {
        add(1.0, d, &mut self.z);
    }

    /// The same, but no farther than the bounds.
    pub fn move_within_bounds(&mut self, d: &[f64], standard: &Standard) {
        self.move_by(d);
        let bounds = standard.lower.iter().zip(&standard.upper);
        self.z.iter_mut().zip(bounds).for_each(|(z, (lower, upper))| *z = z.max(*lower).min(*upper));
    }

    /// Whether its variables are; slacks may be anywhere.
    pub fn is_inside_its_bounds(&self, standard: &Standard) -> bool {
        let bounds = standard.lower.iter().zip(&standard.upper);
        self.z[..self.n()].iter().zip(bounds).all(|(z, (lower, upper))| (lower..=upper).contains(&z))
    }

    /// Becomes the same point, without allocating.
    pub fn copy_from(&mut self, other: &Iterate) {
        self.z.copy_from_slice(&other.z);
        self.f = other.f;
        self.c.copy_from_slice(&other.c);
        self.h.copy_from_slice(&other.h);
        self.g.copy_from_slice(&other.g);
        self.jacobian.a.values.copy_from_slice(&other.jacobian.a.values);
        Arc::make_mut(&mut self.user.x).copy_from_slice(&other.user.x);
        self.user.objective = other.user.objective;
        self.user.c.copy_from_slice(&other.user.c);
        self.user.fixed_gradient.copy_from_slice(&other.user.fixed_gradient);
        self.user.fixed_jacobian.copy_from_slice(&other.user.fixed_jacobian);
    }

    /// The number of variables without slacks.
    pub fn n(&self) -> usize {
        self.jacobian.a.n
    }
}
