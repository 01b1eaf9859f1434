use tangor_problem::{Evaluation, Exact, Failure, Meta, Noise, Noisy, Problem, SampledProblem};

use crate::{Error, Source};

impl Source {
    /// Opens the problem with noise on its functions, of which only samples are had then; without any, it is a sampled problem that is exact.
    pub fn sampled(&self, noise: Option<Noise>) -> Result<Box<dyn SampledProblem + Send>, Error> {
        let problem = self.problem()?;
        match noise {
            Some(noise) => Ok(Box::new(Noisy::new(problem, noise)?)),
            None => Ok(Box::new(Exact(problem))),
        }
    }
}

/// The same for a problem that was opened elsewhere, such as a process: noise can be put on exact functions alone.
pub fn disturbed(
    problem: Box<dyn SampledProblem + Send>,
    noise: Option<Noise>,
) -> Result<Box<dyn SampledProblem + Send>, Error> {
    let Some(noise) = noise else { return Ok(problem) };
    if !problem.accesses().are_exact() {
        return Err(Error::NoisyAlready);
    }
    Ok(Box::new(Noisy::new(Undisturbed(problem), noise)?))
}

/// The exact functions of an opened problem.
struct Undisturbed(Box<dyn SampledProblem + Send>);

impl Undisturbed {
    fn exact(&mut self) -> Evaluation<&mut dyn Problem> {
        self.0.exact().ok_or_else(|| Failure::broken("the problem has no exact functions"))
    }
}

impl Problem for Undisturbed {
    fn meta(&self) -> &Meta {
        self.0.meta()
    }
    fn objective(&mut self, x: &[f64]) -> Evaluation<f64> {
        self.exact()?.objective(x)
    }
    fn gradient(&mut self, x: &[f64], g: &mut [f64]) -> Evaluation {
        self.exact()?.gradient(x, g)
    }
    fn constraints(&mut self, x: &[f64], c: &mut [f64]) -> Evaluation {
        self.exact()?.constraints(x, c)
    }
    fn jacobian(&mut self, x: &[f64], values: &mut [f64]) -> Evaluation {
        self.exact()?.jacobian(x, values)
    }
}

#[cfg(test)]
mod tests {
    use tangor_problem::Draw;

    use super::*;
    use crate::{Finder, Parameters};

    #[test]
    fn a_name_means_a_problem_that_is_exact_or_sampled() {
        let source = Finder::default().find("HS71", Parameters::new()).unwrap();
        let mut exact = source.sampled(None).unwrap();
        assert!(exact.accesses().are_exact());
        let x = exact.meta().x0.clone();
        let (mut truth, mut sample, mut other) = ([0.0; 4], [0.0; 4], [0.0; 4]);
        exact.gradient(&x, &[], &mut truth).unwrap();
        let noise = Noise::level(1e-2);
        let mut noisy = source.sampled(Some(noise)).unwrap();
        assert!(!noisy.accesses().are_exact());
        noisy.gradient(&x, &[Draw(7)], &mut sample).unwrap();
        assert!(sample != truth && sample.iter().zip(truth).all(|(a, b)| (a - b).abs() < 0.1), "{sample:?} {truth:?}");
        // The same noise on the same problem, however it was opened.
        let mut disturbed = super::disturbed(source.sampled(None).unwrap(), Some(noise)).unwrap();
        disturbed.gradient(&x, &[Draw(7)], &mut other).unwrap();
        assert_eq!(sample, other);
        assert!(matches!(super::disturbed(noisy, Some(noise)), Err(Error::NoisyAlready)));
        assert!(matches!(source.sampled(Some(Noise::level(-1.0))), Err(Error::Noise(_))));
    }
}
