use std::f64::consts::PI;

use serde::{Deserialize, Serialize};

use crate::recent::Recent;
use crate::{
    Access, Accesses, Draw, Evaluation, Failure, Function, FunctionFailure, Meta, Outputs, Problem, SampledProblem, Stream,
    Wanted,
};

/// Degrees of freedom of the heavy-tailed noise: the fewest with a finite variance.
const DEGREES: usize = 3;

/// How noise is distributed. All three are symmetric around zero in every direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Distribution {
    /// Independent normal entries.
    #[default]
    Gaussian,
    /// Uniform in a ball; in one dimension uniform in an interval.
    Uniform,
    /// Student's t with three degrees of freedom, common to the whole vector: the variance is finite, the fourth moment is not.
    HeavyTailed,
}

/// How noise enters a vector of values `v`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoiseForm {
    /// `v + level w` with `E |w| = 1` in the 2-norm of the whole vector. The same draw gives the same error at every `x`, so
    /// that differences of one draw are exact.
    #[default]
    Additive,
    /// `v_i (1 + level w_i)` with independent `w_i` and `E |w_i| = 1`: the level is relative to each entry, zeros stay zeros, and
    /// differences of one draw are noisy.
    Multiplicative,
}

/// Noise on the three functions that the method needs. A function with level 0 is exact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Noise {
    /// How it is distributed.
    pub distribution: Distribution,
    /// How it enters.
    pub form: NoiseForm,
    /// Its level on the gradient of the objective; >= 0.
    pub gradient: f64,
    /// Its level on the values of the constraints; >= 0.
    pub constraints: f64,
    /// Its level on the values of the Jacobian; >= 0.
    pub jacobian: f64,
}

impl Noise {
    /// Additive Gaussian noise of the same level on all three.
    pub fn level(level: f64) -> Self {
        Noise { gradient: level, constraints: level, jacobian: level, ..Noise::default() }
    }

    /// The same levels with another distribution.
    pub fn distribution(self, distribution: Distribution) -> Self {
        Noise { distribution, ..self }
    }

    /// The same levels, relative to each entry.
    pub fn multiplicative(self) -> Self {
        Noise { form: NoiseForm::Multiplicative, ..self }
    }

    /// Looks for a level that is negative or not finite.
    pub fn validate(&self) -> Result<(), NoiseError> {
        let levels = [("gradient", self.gradient), ("constraints", self.constraints), ("Jacobian", self.jacobian)];
        match levels.into_iter().find(|(_, level)| !(level.is_finite() && *level >= 0.0)) {
            Some((function, level)) => Err(NoiseError { function, level }),
            None => Ok(()),
        }
    }
}

/// A level of noise that makes no sense.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("the noise level of the {function} is {level}, but must be a finite number that is not negative")]
pub struct NoiseError {
    /// The function.
    pub function: &'static str,
    /// Its level.
    pub level: f64,
}

/// Any problem with noise on its functions: to see how a method copes, with the truth at hand.
///
/// A draw is the seed of its noise. The exact function is evaluated once per call, whatever the number of draws, and not at all at the last two
/// points where it was: a method that compares two points on the same draws asks for both again and again. Nor is the noise of the last two
/// lists of draws found again.
///
/// ```
/// use tangor_problem::{ClosureProblem, Draw, Meta, Noise, Noisy, SampledProblem};
///
/// let line = ClosureProblem::builder(Meta::new("line", vec![0.0])).objective(|x| x[0]).gradient(|_, g| g[0] = 1.0).build()?;
/// let mut line = Noisy::new(line, Noise::level(1e-2))?;
/// let mut g = [0.0];
/// line.gradient(&[3.0], &[Draw(7), Draw(8)], &mut g)?;
/// assert!(g[0] != 1.0 && (g[0] - 1.0).abs() < 0.1);
/// # Ok::<(), tangor_problem::Failure>(())
/// ```
#[derive(Debug)]
pub struct Noisy<P> {
    problem: P,
    noise: Noise,
    gradient: NoisyFunction,
    constraints: NoisyFunction,
    jacobian: NoisyFunction,
    /// What sums of noise are formed in: of all draws, and of one.
    average: Vec<f64>,
    one: Vec<f64>,
}

/// The noise of one function, and what was found last of both.
#[derive(Debug)]
struct NoisyFunction {
    source: NoiseOfFunction,
    /// Exact values at points.
    points: Recent<f64>,
    /// Sums of the noise of draws.
    noises: Recent<Draw>,
}

impl NoisyFunction {
    /// Without memory for what was found.
    fn new(source: NoiseOfFunction) -> Self {
        NoisyFunction { source, points: Recent::new(0, 0), noises: Recent::new(0, 0) }
    }

    /// With it: of so many variables, with so many values.
    fn allocate(&mut self, n: usize, length: usize) {
        (self.points, self.noises) = (Recent::new(n, length), Recent::lists(length));
    }

    /// The exact values at `x`: those that are known, or what `evaluate` finds.
    fn exact(&mut self, x: &[f64], values: &mut [f64], evaluate: impl FnOnce(&mut [f64]) -> Evaluation) -> Evaluation {
        match self.points.at(x).filter(|known| known.len() == values.len()) {
            Some(known) => values.copy_from_slice(known),
            None => {
                evaluate(values)?;
                self.points.keep(x, values);
            }
        }
        Ok(())
    }

    /// Puts the average noise of the draws on exact values; `sum` and `one` are memory.
    fn disturb(
        &mut self,
        form: NoiseForm,
        draws: &[Draw],
        values: &mut [f64],
        (sum, one): (&mut [f64], &mut [f64]),
    ) -> Evaluation {
        let source = self.source;
        if source.level == 0.0 {
            return Ok(());
        }
        if draws.is_empty() {
            return Err(Failure::broken("an average over no draws was asked for"));
        }
        let (sum, one) = (&mut sum[..values.len()], &mut one[..values.len()]);
        match self.noises.of(draws).filter(|known| known.len() == sum.len()) {
            Some(known) => sum.copy_from_slice(known),
            None => {
                sum.fill(0.0);
                for &draw in draws {
                    source.noise_of(draw, one);
                    sum.iter_mut().zip(&*one).for_each(|(sum, w)| *sum += w);
                }
                self.noises.keep_short(draws, sum);
            }
        }
        let weight = source.level / draws.len() as f64;
        for (value, w) in values.iter_mut().zip(sum) {
            match form {
                NoiseForm::Additive => *value += weight * *w,
                NoiseForm::Multiplicative => *value *= 1.0 + weight * *w,
            }
        }
        Ok(())
    }
}

impl<P: Problem> Noisy<P> {
    /// Puts the noise on the problem.
    pub fn new(problem: P, noise: Noise) -> Result<Self, NoiseError> {
        noise.validate()?;
        let meta = problem.meta();
        let function = |level, length, number| NoisyFunction::new(NoiseOfFunction::new(&noise, level, length, number));
        Ok(Noisy {
            gradient: function(noise.gradient, meta.n(), 1),
            constraints: function(noise.constraints, meta.m(), 2),
            jacobian: function(noise.jacobian, meta.jacobian_len(), 3),
            problem,
            noise,
            average: Vec::new(),
            one: Vec::new(),
        })
    }

    /// Allocates before the first evaluation: whoever has too little memory for it may refuse to begin.
    fn allocate(&mut self) {
        let meta = self.problem.meta();
        let (n, m, entries) = (meta.n(), meta.m(), meta.jacobian_len());
        let largest = n.max(m).max(entries);
        if self.average.len() < largest {
            self.gradient.allocate(n, n);
            self.constraints.allocate(n, m);
            self.jacobian.allocate(n, entries);
            (self.average, self.one) = (vec![0.0; largest], vec![0.0; largest]);
        }
    }

    /// The noise.
    pub fn noise(&self) -> &Noise {
        &self.noise
    }

    /// Gives the problem back, without noise.
    pub fn into_inner(self) -> P {
        self.problem
    }
}

impl<P: Problem> SampledProblem for Noisy<P> {
    fn meta(&self) -> &Meta {
        self.problem.meta()
    }

    fn accesses(&self) -> Accesses {
        let access = |level: f64| if level == 0.0 { Access::Exact } else { Access::Endless };
        Accesses {
            gradient: access(self.noise.gradient),
            constraints: access(self.noise.constraints),
            jacobian: access(self.noise.jacobian),
        }
    }

    /// Of each function its values at two points, with these, the noise of two lists of draws, and sums.
    fn held(&self) -> u64 {
        let meta = self.problem.meta();
        let (n, m, entries) = (meta.n() as u64, meta.m() as u64, meta.jacobian_len() as u64);
        let numbers = 4 * (n + m + entries) + 6 * n + 2 * n.max(m).max(entries);
        meta.held.saturating_add(numbers.saturating_mul(8))
    }

    fn gradient(&mut self, x: &[f64], draws: &[Draw], g: &mut [f64]) -> Evaluation {
        self.allocate();
        let Noisy { problem, noise, gradient, average, one, .. } = self;
        gradient.exact(x, g, |g| problem.gradient(x, g))?;
        gradient.disturb(noise.form, draws, g, (average, one))
    }

    fn constraints(&mut self, x: &[f64], draws: &[Draw], c: &mut [f64]) -> Evaluation {
        self.allocate();
        let Noisy { problem, noise, constraints, average, one, .. } = self;
        constraints.exact(x, c, |c| problem.constraints(x, c))?;
        constraints.disturb(noise.form, draws, c, (average, one))
    }

    fn jacobian(&mut self, x: &[f64], draws: &[Draw], values: &mut [f64]) -> Evaluation {
        self.allocate();
        let Noisy { problem, noise, jacobian, average, one, .. } = self;
        jacobian.exact(x, values, |values| problem.jacobian(x, values))?;
        jacobian.disturb(noise.form, draws, values, (average, one))
    }

    fn evaluate(&mut self, x: &[f64], draws: &[Draw], wanted: Wanted, out: &mut Outputs<'_>) -> Result<(), FunctionFailure> {
        self.allocate();
        let wanted = wanted.of(self.problem.meta());
        let Noisy { problem, noise, gradient, constraints, jacobian, average, one } = self;
        problem.evaluate(x, wanted, out)?;
        let functions = [
            (wanted.gradient, gradient, &mut *out.gradient, Function::Gradient),
            (wanted.constraints, constraints, &mut *out.constraints, Function::Constraints),
            (wanted.jacobian, jacobian, &mut *out.jacobian, Function::Jacobian),
        ];
        for (_, function, values, name) in functions.into_iter().filter(|(wanted, ..)| *wanted) {
            function.disturb(noise.form, draws, values, (average, one)).map_err(FunctionFailure::of(name))?;
        }
        Ok(())
    }

    /// Without noise: the method does not use it.
    fn objective(&mut self, x: &[f64], _draws: &[Draw]) -> Option<Evaluation<f64>> {
        Some(self.problem.objective(x))
    }

    fn exact(&mut self) -> Option<&mut dyn Problem> {
        Some(&mut self.problem)
    }
}

/// Where the noise of one function comes from.
#[derive(Clone, Copy, Debug)]
struct NoiseOfFunction {
    distribution: Distribution,
    level: f64,
    /// Entries that share one random vector: all of them for additive noise, each alone for multiplicative.
    together: usize,
    /// Makes the expected norm of that vector 1.
    scale: f64,
    /// Keeps the functions independent of each other.
    function: u64,
}

impl NoiseOfFunction {
    fn new(noise: &Noise, level: f64, length: usize, function: u64) -> Self {
        let together = match noise.form {
            NoiseForm::Additive => length.max(1),
            NoiseForm::Multiplicative => 1,
        };
        let distribution = noise.distribution;
        NoiseOfFunction { distribution, level, together, scale: 1.0 / distribution.mean_norm(together), function }
    }

    fn noise_of(&self, draw: Draw, w: &mut [f64]) {
        let mut stream = Stream::new(draw, self.function);
        for w in w.chunks_mut(self.together) {
            self.distribution.fill(&mut stream, self.scale, w);
        }
    }
}

impl Distribution {
    /// The expected 2-norm of a vector of this length, before scaling.
    fn mean_norm(self, length: usize) -> f64 {
        // The means of the chi distributions satisfy chi(d + 1) chi(d) = d.
        let chi = (1..length).fold((2.0 / PI).sqrt(), |chi, d| d as f64 / chi);
        match self {
            Distribution::Gaussian => chi,
            Distribution::Uniform => length as f64 / (length as f64 + 1.0),
            // The mean of sqrt(3 / chi-squared of 3) is sqrt(6 / pi).
            Distribution::HeavyTailed => chi * (6.0 / PI).sqrt(),
        }
    }

    fn fill(self, stream: &mut Stream, scale: f64, w: &mut [f64]) {
        let factor = match self {
            Distribution::HeavyTailed => {
                let square: f64 = (0..DEGREES).map(|_| stream.normal().powi(2)).sum();
                scale * (DEGREES as f64 / square).sqrt()
            }
            _ => scale,
        };
        w.iter_mut().for_each(|w| *w = factor * stream.normal());
        if self == Distribution::Uniform {
            let norm = w.iter().map(|w| w * w).sum::<f64>().sqrt();
            let radius = scale * stream.uniform().powf(1.0 / w.len() as f64);
            w.iter_mut().for_each(|w| *w *= radius / norm);
        }
    }
}
