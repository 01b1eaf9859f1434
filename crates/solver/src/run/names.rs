//! What the entries of a report's vectors are called.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use tangor_problem::Meta;

/// Names of variables and constraints; empty where the problem gives none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Names {
    /// Of the variables.
    pub variables: Vec<String>,
    /// Of the constraints.
    pub constraints: Vec<String>,
}

impl Names {
    /// Those that the problem gives.
    pub(crate) fn given(meta: &Meta) -> Self {
        Names { variables: meta.variable_names.clone(), constraints: meta.row_names.clone() }
    }

    /// All names of a problem, those that it does not give as well.
    pub fn all(meta: &Meta) -> Self {
        Names {
            variables: (0..meta.n()).map(|i| meta.variable_name(i)).collect(),
            constraints: (0..meta.m()).map(|i| meta.row_name(i)).collect(),
        }
    }

    /// The name of a variable.
    pub fn variable(&self, i: usize) -> Cow<'_, str> {
        self.variables.get(i).map_or_else(|| Cow::Owned(format!("x[{i}]")), Cow::from)
    }

    /// The name of a constraint.
    pub fn constraint(&self, i: usize) -> Cow<'_, str> {
        self.constraints.get(i).map_or_else(|| Cow::Owned(format!("c[{i}]")), Cow::from)
    }
}
