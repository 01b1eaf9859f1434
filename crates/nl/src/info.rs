use serde::Serialize;

use crate::functions::Compiled;
use crate::header::Header;
use crate::kinks;
use crate::model::Model;
use crate::names::Names;

/// What a file says of itself, and what reading it has found.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Info {
    /// The first ten lines.
    pub header: Header,
    /// Which objective counts, from 0 on; nothing when there is none.
    pub objective: Option<usize>,
    /// True when the objective is to be maximised.
    pub maximise: bool,
    /// True when the objective is not linear.
    pub nonlinear_objective: bool,
    /// How many rows are not linear.
    pub nonlinear_rows: usize,
    /// How many operations one evaluation of all nonlinear functions takes.
    pub operations: usize,
    /// Whole sentences about functions that are not smooth.
    pub warnings: Vec<String>,
}

impl Info {
    pub(crate) fn new(model: &Model, names: &Names, functions: &Compiled, objective: Option<usize>) -> Self {
        Info {
            objective,
            maximise: objective.is_some_and(|k| model.objectives[k].maximise),
            nonlinear_objective: functions.objective_is_nonlinear(),
            nonlinear_rows: functions.nonlinear.len(),
            operations: functions.operations(),
            warnings: kinks::warnings(model, names, objective),
            header: model.header.clone(),
        }
    }
}
