use crate::{Draw, Evaluation, FunctionFailure, Meta, Outputs, Problem, SampledProblem, Wanted};

/// A noisy problem with the same draws at every point: a problem without noise, whose derivatives can be compared with differences.
pub struct AtDraws<S> {
    meta: Meta,
    problem: S,
    draws: Vec<Draw>,
}

impl<S: SampledProblem> AtDraws<S> {
    /// With these draws. A problem that cannot tell its objective has none here; it is asked once.
    pub fn new(mut problem: S, draws: Vec<Draw>) -> Self {
        let mut meta = problem.meta().clone();
        meta.has_objective = meta.has_objective && problem.objective(&meta.x0, &draws).is_some();
        AtDraws { meta, problem, draws }
    }
}

impl<S: SampledProblem> Problem for AtDraws<S> {
    fn meta(&self) -> &Meta {
        &self.meta
    }
    fn objective(&mut self, x: &[f64]) -> Evaluation<f64> {
        self.problem.objective(x, &self.draws).unwrap_or(Ok(0.0))
    }
    fn gradient(&mut self, x: &[f64], g: &mut [f64]) -> Evaluation {
        self.problem.gradient(x, &self.draws, g)
    }
    fn constraints(&mut self, x: &[f64], c: &mut [f64]) -> Evaluation {
        self.problem.constraints(x, &self.draws, c)
    }
    fn jacobian(&mut self, x: &[f64], values: &mut [f64]) -> Evaluation {
        self.problem.jacobian(x, &self.draws, values)
    }
    fn evaluate(&mut self, x: &[f64], wanted: Wanted, out: &mut Outputs<'_>) -> Result<(), FunctionFailure> {
        self.problem.evaluate(x, &self.draws, wanted.of(&self.meta), out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Access, Accesses, check_derivatives};

    /// `F(x, xi) = xi x^2 / 2`, `C(x, xi) = xi x`; a draw is its own `xi`.
    struct Products(Meta, bool);

    fn mean(draws: &[Draw]) -> f64 {
        draws.iter().map(|draw| draw.0 as f64).sum::<f64>() / draws.len() as f64
    }

    impl SampledProblem for Products {
        fn meta(&self) -> &Meta {
            &self.0
        }
        fn accesses(&self) -> Accesses {
            Accesses { gradient: Access::Endless, constraints: Access::Finite(3), jacobian: Access::Exact }
        }
        fn gradient(&mut self, x: &[f64], draws: &[Draw], g: &mut [f64]) -> Evaluation {
            g[0] = mean(draws) * x[0];
            Ok(())
        }
        fn constraints(&mut self, x: &[f64], draws: &[Draw], c: &mut [f64]) -> Evaluation {
            c[0] = mean(draws) * x[0];
            Ok(())
        }
        fn jacobian(&mut self, _: &[f64], draws: &[Draw], values: &mut [f64]) -> Evaluation {
            values[0] = mean(draws);
            Ok(())
        }
        fn objective(&mut self, x: &[f64], draws: &[Draw]) -> Option<Evaluation<f64>> {
            self.1.then(|| Ok(0.5 * mean(draws) * x[0] * x[0]))
        }
    }

    #[test]
    fn the_same_draws_make_a_problem_without_noise() {
        let meta = Meta::new("products", vec![1.0]).equalities(&[1.0]);
        assert_eq!(Products(meta.clone(), true).accesses().first_draws(8), [Draw(0), Draw(1), Draw(2)]);
        for (values, compared) in [(true, 2), (false, 1)] {
            let mut problem = AtDraws::new(Products(meta.clone(), values), vec![Draw(3), Draw(7)]);
            assert_eq!(problem.meta().has_objective, values);
            let check = check_derivatives(&mut problem, &[2.0]).unwrap();
            assert!(check.is_right() && check.compared == compared, "{check}");
        }
    }
}
