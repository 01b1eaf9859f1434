//! Everything a user can choose, as plain data. Each field says what it means, its range and where its default comes from.

#[cfg(feature = "toml")]
mod assign;
mod preset;
pub(crate) mod ranges;
mod sampling;

#[cfg(feature = "toml")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use sampling::*;

/// All settings of a run. The defaults need no tuning. All numbers are finite.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "toml", derive(JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// When a point is good enough.
    pub tolerance: Tolerance,
    /// When to give up.
    pub limits: Limits,
    /// The normal step, which repairs the constraints.
    pub normal: Normal,
    /// The metric in which the tangent step is short.
    pub metric: Metric,
    /// The merit parameter `rho`.
    pub merit: Merit,
    /// The stepsize `eta`.
    pub stepsize: Stepsize,
    /// The subproblem kernel.
    pub kernel: Kernel,
    /// How the problem is scaled inside. Residuals are always measured unscaled.
    pub scaling: Scaling,
    /// Whether linear rows with one variable become bounds, and linear rows that follow from others are left out, before a run with exact
    /// functions; multipliers are given back to the user's rows. Default: false, since rows that can be violated lead out of where bounds hold.
    pub presolve: bool,
    /// How sampled functions are estimated and judged.
    pub sampling: Sampling,
}

/// When a point is good enough. All residuals are unscaled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "toml", derive(JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Tolerance {
    /// Largest `|g + J^T y - mu|` (2-norm) of an eps-KKT point; > 0. Default: 1e-6, as the field has it.
    pub stationarity: f64,
    /// Largest violation of the constraints (2-norm) of an eps-KKT point; > 0. Default: 1e-6.
    pub feasibility: f64,
    /// Largest sum of multiplier times distance to the bound; > 0. Default: 1e-6.
    pub complementarity: f64,
    /// Largest projected gradient of the violation, divided by `min(1, violation)`, of an infeasible stationary point; > 0.
    /// Default: 1e-6.
    pub infeasible: f64,
}

impl Default for Tolerance {
    fn default() -> Self {
        Tolerance { stationarity: 1e-6, feasibility: 1e-6, complementarity: 1e-6, infeasible: 1e-6 }
    }
}

/// When to give up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "toml", derive(JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Starts from random points before a stationary point of the violation is called infeasible: three around it, each farther away than
    /// the one before, then around the start of the run; an exact run has four more, farther away, where a violated row is flat as far as
    /// these lie; 0 (the paper) calls it so at once. Default: 8.
    pub escapes: u32,
    /// So many iterations in a row that repair nothing of a violation, a share of 1e-8 being nothing, are the end of an exact run, or of its
    /// present start; 0 (the paper) for never. Default: 50.
    pub idle: u32,
    /// Most iterations. Default: 3000, the order of what a first-order method needs.
    pub iterations: u64,
    /// Most seconds of wall time; > 0. None by default.
    pub seconds: Option<f64>,
    /// Most evaluations of all functions together, that of a batch of samples being one; those by which the point is confirmed at the end of an
    /// exact run are not counted, but are within the limit. None by default.
    pub evaluations: Option<u64>,
    /// Most samples of all functions together; none by default.
    pub samples: Option<u64>,
    /// Most samples of the objective's gradient; none by default.
    pub gradient_samples: Option<u64>,
    /// Most samples of constraint values; none by default.
    pub constraint_samples: Option<u64>,
    /// Most samples of the constraints' Jacobian; none by default.
    pub jacobian_samples: Option<u64>,
    /// Most bytes of memory that a run may need at its start; by default three quarters of the machine's.
    pub memory: Option<u64>,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            escapes: 8,
            idle: 50,
            iterations: 3000,
            seconds: None,
            evaluations: None,
            samples: None,
            gradient_samples: None,
            constraint_samples: None,
            jacobian_samples: None,
            memory: None,
        }
    }
}

/// The mapping `A(x)`; `J J^T A` must be symmetric positive definite.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "toml", derive(JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Mapping {
    /// `A = alpha I`: a linearised augmented Lagrangian method.
    AugmentedLagrangian {
        /// > 0
        alpha: f64,
    },
    /// `A = alpha (J J^T)^-1`: a sequential quadratic programming method.
    Sqp {
        /// > 0
        alpha: f64,
    },
    /// `A = alpha1 I + alpha2 (J J^T)^-1`.
    Hybrid {
        /// > 0
        alpha1: f64,
        /// > 0
        alpha2: f64,
    },
    /// `A = (J J^T + delta I)^-1` with `delta = L_c |h|`.
    Regularised,
    /// The mapping that the caller gave to the solver.
    Own,
}

impl Default for Mapping {
    fn default() -> Self {
        Mapping::Sqp { alpha: 1.0 }
    }
}

/// The normal step, which repairs the constraints.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "toml", derive(JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Normal {
    /// Which subproblem. Default: majorised, which solved most problems when we measured.
    pub variant: NormalVariant,
    /// The mapping `A(x)` of the variant `mapping`. Default: SQP with alpha = 1.
    pub mapping: Mapping,
    /// The weight `mu` of the regularised variant, `mu/2 |v|^2`; > 0. Default: 1e-2.
    pub regularisation: f64,
    /// Where an exact run can remove less than this share of a violation, its step is the normal step alone: a step that also serves the
    /// objective repairs only up to its rounding. In [0, 1); 0 (the paper) for never. Default: 1e-8.
    pub alone: f64,
}

impl Default for Normal {
    fn default() -> Self {
        Normal { variant: NormalVariant::Majorised, mapping: Mapping::default(), regularisation: 1e-2, alone: 1e-8 }
    }
}

/// Which normal subproblem. `v` is the part of `u` in the null space of `J`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "toml", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum NormalVariant {
    /// `min 1/2 |h + J u|^2 + L_c |h| / 2 |u|^2`: the curvature that the linearisation misses is added.
    #[default]
    Majorised,
    /// The paper: `min 1/2 |h + J u|^2` with `|v| <= |h|`.
    Bounded,
    /// The paper's alternative: `|v|_1 <= |h|_1`.
    BoundedOneNorm,
    /// Curtis and others: `min 1/2 |h + J u|^2 + mu/2 |v|^2`.
    Regularised,
    /// The paper's closed form `u = -J^T A h`; equalities only, no bounds.
    Mapping,
}

/// The metric `H`, positive definite.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "toml", derive(JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Metric {
    /// Which metric. Default: quasi-Newton.
    pub kind: MetricKind,
    /// Most variables for a dense quasi-Newton matrix. Above it the matrix has a limited memory; with given Lipschitz constants the metric
    /// is spectral. Default: 300.
    pub largest_dense: usize,
    /// How many steps a limited memory holds, in a noisy run twice as many; >= 1. Default: 10.
    pub memory: usize,
    /// Smallest entry; > 0. Default: 1e-8.
    pub smallest: f64,
    /// Largest entry; >= `metric.smallest`. Default: 1e10.
    pub largest: f64,
    /// Weight of a slack, relative to that of its row's variables; > 0. The metric `identity` has 1, as the
    /// paper; a small one keeps inactive inequalities
    /// from shortening the step. Default: 1e-4.
    pub slack_weight: f64,
    /// Whether a dense quasi-Newton matrix gets a multiple of the identity after steps along violated constraints that had to be much shortened, in exact runs;
    /// it falls after full ones. Default: true.
    pub damped: bool,
}

impl Default for Metric {
    fn default() -> Self {
        Metric {
            kind: MetricKind::QuasiNewton,
            largest_dense: 300,
            memory: 10,
            smallest: 1e-8,
            largest: 1e10,
            slack_weight: 1e-4,
            damped: true,
        }
    }
}

/// Which metric.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "toml", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum MetricKind {
    /// `H = I`: the paper.
    Identity,
    /// `H = sigma I`, a Barzilai-Borwein scalar from differences of the Lagrangian's gradient.
    Spectral,
    /// A diagonal from second moments of these differences, variable by variable.
    Diagonal,
    /// A damped BFGS matrix of the Lagrangian; with a limited memory where there are many variables.
    #[default]
    QuasiNewton,
    /// A damped BFGS matrix with a limited memory: a scalar, in a noisy run an adaptive diagonal, and a part of low rank from the last steps.
    LimitedMemory,
    /// The Hessian of the Lagrangian, sparse, with as much of the identity as makes it positive definite along the constraints. For problems
    /// that have second derivatives and exact functions.
    Exact,
}

/// The merit parameter `rho` of `phi = f + rho |h|`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "toml", derive(JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Merit {
    /// Whether `rho` falls when it is far larger than what recent steps needed; at most 16 times in a run. The paper's never falls.
    /// Default: true.
    pub falls: bool,
    /// Where `rho` starts, and never falls below; > 0. Default: 1e-2.
    pub rho0: f64,
    /// When `rho` must rise, it rises to this multiple of what is needed, so that repairing the constraints pays; >= 1. The paper has
    /// 1. Default: 2.
    pub margin: f64,
}

impl Default for Merit {
    fn default() -> Self {
        Merit { falls: true, rho0: 1e-2, margin: 2.0 }
    }
}

/// The stepsize `eta = min(tau / (L_f + rho L_c), 1)`; where the constants are found, one for the merit function stands in place of the sum.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "toml", derive(JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Stepsize {
    /// How much of the proven stepsize to take; in (0, 1). Default: 0.9.
    pub tau: f64,
    /// Where the Lipschitz constants come from.
    pub lipschitz: Lipschitz,
    /// Try a second-order correction when the curvature of the constraints spoils a step (against the Maratos effect), and bend steps
    /// that it holds back. Default: true.
    pub correction: bool,
    /// After each step move the slacks to where they violate least; it never raises the merit function. Default: true.
    pub slack_reset: bool,
    /// Whether gradients at both ends of a step tell whether it descends, where the change of the objective is lost in the rounding of its
    /// values; the paper has values alone. Default: true.
    pub gradient_test: bool,
    /// Below this `eta |s|`, relative to `1 + |z|`, the run ends; >= 0. Default: 1e-14.
    pub smallest: f64,
}

impl Default for Stepsize {
    fn default() -> Self {
        Stepsize {
            tau: 0.9,
            lipschitz: Lipschitz::Found,
            correction: true,
            slack_reset: true,
            gradient_test: true,
            smallest: 1e-14,
        }
    }
}

/// Where the Lipschitz constants of the derivatives come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "toml", derive(JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Lipschitz {
    /// Estimated at each trial point and corrected until the merit function descends.
    #[default]
    Found,
    /// Given by the user (theory mode): no merit test is made.
    Given {
        /// Lipschitz constant of the gradient of `f`; >= 0.
        objective: f64,
        /// Lipschitz constant of the Jacobian of `c`; >= 0.
        constraints: f64,
    },
}

/// The subproblem kernel, an active-set method.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "toml", derive(JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Kernel {
    /// Relative accuracy of `J s = r`; > 0. Default: 1e-11.
    pub tolerance: f64,
    /// Absolute accuracy that is always enough; > 0. Default: 1e-13.
    pub floor: f64,
    /// Most factorisations before the fallback; >= 1. Default: 100.
    pub iterations: u32,
    /// How the system is factorised where `H` is diagonal, or diagonal and of low rank. Default: chosen by size and density.
    pub factorisation: Factorisation,
    /// Whether Clarabel takes over when the kernel does not converge; the record says so. Default: true.
    pub fallback: bool,
}

impl Default for Kernel {
    fn default() -> Self {
        Kernel { tolerance: 1e-11, floor: 1e-13, iterations: 100, factorisation: Factorisation::Automatic, fallback: true }
    }
}

/// How the kernel's system is factorised.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "toml", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Factorisation {
    /// By size and density.
    #[default]
    Automatic,
    /// Dense Cholesky of the `m x m` matrix `J H^-1 J^T`.
    Dense,
    /// Sparse Cholesky of the same.
    Sparse,
    /// Dense Cholesky of an `n x n` matrix: for many more rows than variables.
    Primal,
}

/// How the problem is scaled inside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "toml", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Scaling {
    /// Not at all.
    None,
    /// Objective and rows whose gradient at the start is larger than 100 are scaled down to 100.
    Gradient,
    /// The same, and variables whose units differ by a factor of more than 10,000, and than ten times the square of their number, as the
    /// derivatives at the start show them, get units of their own. A noisy run, and one with given Lipschitz constants, leaves them alone.
    #[default]
    Full,
}

/// What is wrong with a setting.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SettingsError {
    /// The path or the type is wrong.
    #[error("setting {path}={value}: {reason}")]
    Assignment {
        /// The path given.
        path: String,
        /// The value given.
        value: String,
        /// What is wrong.
        reason: String,
    },
    /// A value is outside of its range.
    #[error("setting {path} is {value}, but must be {range}")]
    Range {
        /// Which setting.
        path: &'static str,
        /// Its value.
        value: f64,
        /// What it may be.
        range: &'static str,
    },
    /// Two settings do not go together.
    #[error("{0}")]
    Conflict(&'static str),
}
