//! Fresh samples of several functions in one pass.

use tangor_problem::{Counted, Draw, Function, Outputs, SampledProblem, Wanted};

use crate::form::oracle::{Trouble, check, trouble};
use crate::form::quantity::Quantity;

/// The wanted functions over the draws, each into its own of the three. With the gradient comes the value of the objective, if it is to be `told`: it is
/// only reported, so that nothing fails with it.
pub fn evaluate<S: SampledProblem>(
    problem: &mut Counted<S>,
    (x, draws): (&[f64], &[Draw]),
    wanted: Wanted,
    told: bool,
    [gradient, constraints, jacobian]: &mut [Vec<f64>; 3],
) -> Result<Option<f64>, Trouble> {
    let (counts, samples) = (problem.counts(), problem.samples());
    let mut out = Outputs::new(gradient, constraints, jacobian);
    let with_objective = Wanted { objective: told && wanted.gradient, ..wanted };
    let mut done = problem.evaluate(x, draws, with_objective, &mut out);
    if with_objective.objective && done.as_ref().is_err_and(|failed| failed.function == Function::Objective) {
        // The same samples once more: they are counted once.
        problem.uncount(counts, samples);
        done = problem.evaluate(x, draws, wanted, &mut out);
        out.objective = None;
    }
    done.map_err(|failed| trouble(failed.function, failed.failure))?;
    let objective = out.objective.filter(|value| value.is_finite());
    let values = [&*out.gradient, &*out.constraints, &*out.jacobian];
    for (quantity, values) in Quantity::ALL.into_iter().zip(values).filter(|(quantity, _)| quantity.is_wanted(wanted)) {
        check(problem.meta(), quantity.function(), values)?;
    }
    Ok(objective)
}
