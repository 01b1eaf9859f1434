use serde::Serialize;

use crate::functions::Compiled;
use crate::header::Header;
use crate::model::{Formula, Model, Token};

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
    pub(crate) fn new(model: &Model, functions: &Compiled, objective: Option<usize>) -> Self {
        Info {
            objective,
            maximise: objective.is_some_and(|k| model.objectives[k].maximise),
            nonlinear_objective: functions.objective_is_nonlinear(),
            nonlinear_rows: functions.nonlinear.len(),
            operations: functions.operations(),
            warnings: warnings(model, objective),
            header: model.header.clone(),
        }
    }
}

// One sentence for each kind of operation, with the first place where it stands.
fn warnings(model: &Model, objective: Option<usize>) -> Vec<String> {
    let mut found: Vec<(&str, String, usize)> = Vec::new();
    let mut look = |formula: &Formula, place: &dyn Fn() -> String| {
        for token in &model.tokens[formula.clone()] {
            let kind = match token {
                Token::Piecewise(_) => Some("piecewise-linear terms"),
                Token::Apply(opcode, _) => opcode.not_smooth(),
                _ => None,
            };
            let Some(kind) = kind else { continue };
            match found.iter_mut().find(|(known, ..)| *known == kind) {
                Some((.., count)) => *count += 1,
                None => found.push((kind, place(), 1)),
            }
        }
    };
    for (k, definition) in model.definitions.iter().enumerate() {
        look(&definition.formula, &|| format!("defined variable V{}", model.header.variables + k));
    }
    for (i, constraint) in model.constraints.iter().enumerate() {
        look(&constraint.formula, &|| format!("constraint C{i}"));
    }
    if let Some(k) = objective {
        look(&model.objectives[k].function.formula, &|| format!("objective O{k}"));
    }
    let sentence = |(kind, place, count): (&str, String, usize)| {
        let times = if count == 1 { "once".to_string() } else { format!("{count} times") };
        format!("The formulas are not smooth: {kind} ({times}, first in {place}). Derivatives are those of one side.")
    };
    found.into_iter().map(sentence).collect()
}
