//! Tangor solves
//!
//! ```text
//! minimise (or maximise) f(x)   subject to   cl <= c(x) <= cu,   xl <= x <= xu
//! ```
//!
//! where `f` and `c` are smooth, either may be nonconvex, and both may be exact or known only through samples. It asks for first
//! derivatives, and says what it found: a KKT point, an infeasible stationary point, or neither, with residuals that anyone can
//! recompute.
//!
//! # An exact problem
//!
//! [`Formulas`](problem::Formulas) are written once for every kind of [`Number`](problem::Number); their derivatives come by
//! themselves. Other ways to state a problem: closures ([`ClosureProblem`](problem::ClosureProblem)), or the trait [`Problem`].
//!
//! ```
//! use tangor::problem::{Differentiated, Formulas, Number};
//! use tangor::{Meta, Point, Settings, solve};
//!
//! /// maximise x0 x1 on the disc |x|^2 <= 2
//! struct Disc;
//!
//! impl Formulas for Disc {
//!     fn objective<D: Number>(&self, x: &[D]) -> D {
//!         x[0] * x[1]
//!     }
//!     fn constraints<D: Number>(&self, x: &[D], c: &mut [D]) {
//!         c[0] = x[0].square() + x[1].square();
//!     }
//! }
//!
//! let meta = Meta::new("disc", vec![1.0, 0.5]).at_most(&[2.0]).maximise();
//! let report = solve(Differentiated::new(meta, Disc), Settings::default())?;
//! assert_eq!(report.point, Point::EpsKkt);
//! assert!((report.objective - 1.0).abs() < 1e-5);
//! println!("{report}");
//! # Ok::<(), tangor::Error>(())
//! ```
//!
//! # A stochastic problem
//!
//! Functions that are averages over many rows ([`FiniteSum`](problem::FiniteSum)) or expectations without end ([`SampledProblem`])
//! are solved from samples. What comes back is a verdict on fresh samples: upper bounds of the residuals that hold with the
//! confidence that was asked for.
//!
//! ```
//! use tangor::problem::FiniteSum;
//! use tangor::{Meta, Settings, solve_sampled};
//!
//! // the mean of many numbers, which is 0.5, under the constraint x^2 <= 0.16
//! let data: Vec<f64> = (0..10_000).map(|i| f64::from(i % 101) / 100.0).collect();
//! let rows = data.len();
//! let (mean, slope) = (data.clone(), data);
//! let problem = FiniteSum::new(Meta::new("mean", vec![0.0]).at_most(&[0.16]), rows)
//!     .term_objective(move |i, x| 0.5 * (x[0] - mean[i]).powi(2))
//!     .term_gradient(move |i, x, g| g[0] += x[0] - slope[i])
//!     .exact_constraints(|x, c| c[0] = x[0] * x[0])
//!     .exact_jacobian(|x, values| values[0] = 2.0 * x[0]);
//!
//! let mut settings = Settings::default();
//! settings.set("tolerance.stationarity", "1e-2")?;
//! settings.limits.iterations = 2000;
//! let report = solve_sampled(problem.sampled(), settings)?;
//! assert!((report.x[0] - 0.4).abs() < 0.05, "{report}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Features
//!
//! All are on by default: `autodiff` (formulas with automatic derivatives), `toml` (settings by their paths and from TOML, with their JSON
//! schema) and `checkpoint` (checkpoints as files).
//!
//! # Where things are
//!
//! - [`problem`]: how a problem is stated, sampled, counted and checked
//! - [`settings`]: every setting, with its default and its range
//! - [`run`]: runs step by step, observers, checkpoints
//! - [`judging`]: the residuals and verdicts of a point

pub use tangor_problem::{Evaluation, Failure, Meta, Problem, SampledProblem};
pub use tangor_solver::{Error, Observer, Point, Report, Row, Settings, Silent, Solver, Stop, solve, solve_sampled};

/// How a problem is stated, sampled, counted and checked.
pub mod problem {
    pub use tangor_problem::{
        Access, Accesses, AtDraws, ClosureBuilder, ClosureError, ClosureProblem, Collective, Comparison, Counted, Counts,
        DerivativeCheck, Distribution, Draw, EndWanted, Evaluation, Exact, Failure, FiniteSum, Function, FunctionFailure,
        FunctionValues, INFINITE, IntoEvaluation, Members, MemoryLimit, Meta, MetaError, Noise, NoiseError, NoiseForm, Noisy,
        Outputs, Pattern, Problem, ReadingLimits, Reduction, SampledProblem, SampledSum, Samples, SecondOrder, Stream, Threads,
        TooLarge, Unsteady, Wanted, check_derivatives, evaluate_draws_separately, evaluate_separately, gather, own_members,
        parts_of,
    };
    #[cfg(feature = "autodiff")]
    pub use tangor_problem::{Differentiated, Formulas, Mode, Number};
}

/// Every setting of a run, with its default and its range.
pub mod settings {
    pub use tangor_solver::{
        Batch, Estimation, Estimator, Factorisation, Judge, Kernel, Limits, Lipschitz, Mapping, Merit, Metric, MetricKind,
        Momentum, Normal, NormalVariant, SampledCurvature, Sampling, Scaling, Schedule, Settings, SettingsError, Stepsize,
        Theta, Tolerance,
    };
}

/// A run step by step: who watches it, what it keeps, why it ends.
pub mod run {
    pub use tangor_solver::{
        Agreement, Checkpoint, EndedBy, Ending, EvaluationFailure, Event, Names, Observer, OwnMapping, Point, Presolved,
        REPORT_VERSION, Report, Row, Silent, Solver, Stop, TrueResiduals, Unusual, WorstRow,
    };
}

/// How good a point is: residuals of exact functions, verdicts on fresh samples.
pub mod judging {
    pub use tangor_problem::{Interval, KktForm, KktMemory, KktPoint, KktResiduals, Place, gradient_of_lagrangian};
    pub use tangor_solver::{
        Averaged, Bounded, Candidate, JudgedPoint, JudgedResidual, Standing, Verdict, beyond_doubt, judge_before, judge_point,
        judge_point_and_rows,
    };
}

/// The examples of the front page of the repository.
#[cfg(all(doctest, feature = "autodiff", feature = "toml", feature = "checkpoint"))]
#[doc = include_str!("../../../README.md")]
struct Readme;
