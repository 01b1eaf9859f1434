//! What a model must satisfy, from the arguments. The names are ours; those of fairlearn mean the same.

use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};
use tangor_learn::{Comparison, Constraint, Criterion, DataSet, Goal, Outcome, Penalty, Rate, chosen_threshold};

use crate::error::Error;
use crate::idle::Idle;

/// Where decisions are made if nothing is said.
const HALF: f64 = 0.5;

/// How steep the curve of decisions is if nothing is said.
const SHARPNESS: f64 = 10.0;
/// The parts of cross-validation if nothing is said.
const FOLDS: u16 = 5;

/// The arguments on constraints and penalty.
#[derive(Debug, Args)]
pub struct GoalArguments {
    /// Bound the 2-norm of all weights
    #[arg(long, value_name = "RADIUS", help_heading = "Constraints", conflicts_with = "resume")]
    norm: Option<f64>,

    /// Bound the difference between the rates of groups, as in sex=0.02; may be repeated
    #[arg(long, value_name = "COLUMN=GAP", help_heading = "Constraints", value_parser = column_and_bound)]
    #[arg(conflicts_with = "resume", visible_alias = "demographic-parity")]
    max_rate_gap: Vec<(String, f64)>,

    /// The same among the rows whose label is positive
    #[arg(long, value_name = "COLUMN=GAP", help_heading = "Constraints", value_parser = column_and_bound)]
    #[arg(conflicts_with = "resume", visible_aliases = ["true-positive-rate-parity", "equal-opportunity"])]
    max_true_positive_gap: Vec<(String, f64)>,

    /// The same among the rows whose label is negative
    #[arg(long, value_name = "COLUMN=GAP", help_heading = "Constraints", value_parser = column_and_bound)]
    #[arg(conflicts_with = "resume", visible_alias = "false-positive-rate-parity")]
    max_false_positive_gap: Vec<(String, f64)>,

    /// Both: true and false positive rates of groups differ by at most this
    #[arg(long, value_name = "COLUMN=GAP", help_heading = "Constraints", value_parser = column_and_bound)]
    #[arg(conflicts_with = "resume", visible_alias = "equalised-odds")]
    equalized_odds: Vec<(String, f64)>,

    /// Bound the rate of all rows, or of each group as in sex=0.3
    #[arg(long, value_name = "[COLUMN=]RATE", help_heading = "Constraints", value_parser = perhaps_column_and_bound)]
    #[arg(conflicts_with = "resume")]
    max_rate: Vec<(Option<String>, f64)>,

    /// Bound the rate of the rows whose label is negative
    #[arg(long, value_name = "[COLUMN=]RATE", help_heading = "Constraints", value_parser = perhaps_column_and_bound)]
    #[arg(conflicts_with = "resume", visible_alias = "max-false-positive-rate")]
    max_false_positive: Vec<(Option<String>, f64)>,

    /// Bound the rate of the rows whose label is positive from below
    #[arg(long, value_name = "[COLUMN=]RATE", help_heading = "Constraints", value_parser = perhaps_column_and_bound)]
    #[arg(conflicts_with = "resume", visible_alias = "min-true-positive-rate")]
    min_true_positive: Vec<(Option<String>, f64)>,

    /// What rates are means of [default: probabilities]
    #[arg(long, value_enum, help_heading = "Constraints", conflicts_with = "resume")]
    on: Option<On>,

    /// How steep the curve is that stands for decisions, in multiples of the probability's [default: 10]
    #[arg(long, value_name = "K", help_heading = "Constraints", conflicts_with = "resume")]
    sharpness: Option<f64>,

    /// What groups are compared with [default: suitable]
    #[arg(long, value_enum, help_heading = "Constraints", conflicts_with = "resume")]
    compare: Option<Compare>,

    /// Groups with fewer rows that count get no constraint of their own [default: 30]
    #[arg(long, value_name = "N", help_heading = "Constraints", conflicts_with = "resume")]
    min_group: Option<u64>,

    /// Decide at this probability, or at the best one for accuracy, f1 or balanced (recall less false positives) [default: 0.5]
    #[arg(long, value_name = "P", help_heading = "Method", value_parser = threshold, conflicts_with = "resume")]
    threshold: Option<Threshold>,

    /// The factor of |x|^2 / 2 in the objective, or `auto`: the best one by cross-validation [default: 0.0001]
    #[arg(long, value_name = "L2", help_heading = "Method", value_parser = l2, conflicts_with = "resume")]
    l2: Option<L2>,

    /// The parts that cross-validation leaves out in turn [default: 5]
    #[arg(long, value_name = "K", help_heading = "Method", conflicts_with = "resume")]
    #[arg(value_parser = clap::value_parser!(u16).range(2..=100))]
    folds: Option<u16>,

    /// Let the intercept cost as much as other weights
    #[arg(long, help_heading = "Method", conflicts_with = "resume")]
    penalize_intercept: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum On {
    /// Predicted probabilities, which are smooth
    #[default]
    Probabilities,
    /// Decisions at the threshold; a steep curve stands for the step
    Decisions,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Compare {
    /// Two groups with each other, more with the whole
    #[default]
    Suitable,
    /// Any two with each other
    Pairs,
    /// Each with all rows
    Whole,
}

/// Where decisions are made.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Threshold {
    /// At this probability.
    At(f64),
    /// At the best one for a criterion, on the training rows.
    Best(Criterion),
}

impl Threshold {
    /// The probability.
    pub fn of(self, data: &DataSet, weights: &[f64]) -> f64 {
        match self {
            Threshold::At(threshold) => threshold,
            Threshold::Best(criterion) => chosen_threshold(data, weights, criterion),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum L2 {
    Given(f64),
    Validated,
}

impl GoalArguments {
    /// Everything that is asked of the fit; a penalty that is still to be validated has its usual value.
    pub fn goal(&self) -> Result<Goal, Error> {
        let usual = Goal::default();
        let goal = Goal {
            constraints: self.constraints(),
            penalty: Penalty {
                l2: if let Some(L2::Given(l2)) = self.l2 { l2 } else { usual.penalty.l2 },
                intercept: self.penalize_intercept,
            },
            outcome: match (self.on.unwrap_or_default(), self.threshold()) {
                (On::Probabilities, _) => Outcome::Probabilities,
                (On::Decisions, Threshold::At(threshold)) => {
                    Outcome::Decisions { threshold, sharpness: self.sharpness.unwrap_or(SHARPNESS) }
                }
                (On::Decisions, Threshold::Best(_)) => {
                    let message = "constraints on decisions need a threshold that is known before the fit: --threshold P";
                    return Err(Error::Setting(message.to_string()));
                }
            },
            comparison: match self.compare.unwrap_or_default() {
                Compare::Suitable => Comparison::Suitable,
                Compare::Pairs => Comparison::Pairs,
                Compare::Whole => Comparison::Whole,
            },
            smallest_group: self.min_group.unwrap_or(usual.smallest_group),
        };
        goal.validate()?;
        Ok(goal)
    }

    /// Where decisions are made.
    pub fn threshold(&self) -> Threshold {
        self.threshold.unwrap_or(Threshold::At(HALF))
    }

    /// Into how many parts the rows are cut to find the penalty, if it is to be found.
    pub fn folds(&self) -> Option<usize> {
        (self.l2 == Some(L2::Validated)).then_some(usize::from(self.folds.unwrap_or(FOLDS)))
    }

    /// Adds the arguments that do nothing for this goal.
    pub fn add_idle(&self, goal: &Goal, idle: &mut Idle) {
        let any = |is: fn(&Constraint) -> bool| goal.constraints.iter().any(is);
        let gaps = any(|constraint| matches!(constraint, Constraint::Gap { .. }));
        let groups = any(|constraint| constraint.column().is_some());
        let on_decisions = matches!(goal.outcome, Outcome::Decisions { .. });
        let no_rates = "no constraint bounds a rate";
        idle.add(!has_rates(goal), no_rates, &[("--on", self.on.is_some()), ("--sharpness", self.sharpness.is_some())]);
        let on_probabilities = "constraints are on probabilities (--on decisions)";
        idle.add(has_rates(goal) && !on_decisions, on_probabilities, &[("--sharpness", self.sharpness.is_some())]);
        idle.add(!gaps, "no constraint compares groups", &[("--compare", self.compare.is_some())]);
        idle.add(!groups, "no constraint is on groups", &[("--min-group", self.min_group.is_some())]);
        idle.add(self.folds().is_none(), "no penalty is looked for (--l2 auto)", &[("--folds", self.folds.is_some())]);
        let free = self.l2 == Some(L2::Given(0.0));
        idle.add(free, "there is no penalty", &[("--penalize-intercept", self.penalize_intercept)]);
    }

    fn constraints(&self) -> Vec<Constraint> {
        let norm = self.norm.map(|radius| Constraint::Norm { radius });
        let gaps = [
            (&self.max_rate_gap, Rate::Selection),
            (&self.max_true_positive_gap, Rate::TruePositive),
            (&self.max_false_positive_gap, Rate::FalsePositive),
        ];
        let gaps = gaps
            .into_iter()
            .flat_map(|(given, rate)| given.iter().cloned().map(move |(column, most)| Constraint::Gap { rate, column, most }));
        let odds = self.equalized_odds.iter().flat_map(|(column, most)| Constraint::equalised_odds(column, *most));
        let caps = [(&self.max_rate, Rate::Selection), (&self.max_false_positive, Rate::FalsePositive)];
        let caps = caps
            .into_iter()
            .flat_map(|(given, rate)| given.iter().cloned().map(move |(column, most)| Constraint::Cap { rate, column, most }));
        let floors = self.min_true_positive.iter().cloned();
        let floors = floors.map(|(column, least)| Constraint::Floor { rate: Rate::TruePositive, column, least });
        norm.into_iter().chain(gaps).chain(odds).chain(caps).chain(floors).collect()
    }
}

/// Whether a goal bounds rates, which have margins.
pub fn has_rates(goal: &Goal) -> bool {
    goal.constraints.iter().any(|constraint| !matches!(constraint, Constraint::Norm { .. }))
}

fn column_and_bound(text: &str) -> Result<(String, f64), String> {
    // A name may contain an equals sign, a number does not.
    let (column, bound) = text.rsplit_once('=').ok_or("an equals sign is missing; write for example sex=0.02")?;
    Ok((column.trim().to_string(), number(bound)?))
}

fn perhaps_column_and_bound(text: &str) -> Result<(Option<String>, f64), String> {
    match text.contains('=') {
        true => column_and_bound(text).map(|(column, bound)| (Some(column), bound)),
        false => Ok((None, number(text)?)),
    }
}

fn number(text: &str) -> Result<f64, String> {
    text.trim().parse().map_err(|_| format!("{text:?} is not a number"))
}

fn threshold(text: &str) -> Result<Threshold, String> {
    Ok(match text {
        "accuracy" => Threshold::Best(Criterion::Accuracy),
        "f1" => Threshold::Best(Criterion::F1),
        "balanced" => Threshold::Best(Criterion::Balanced),
        _ => {
            let between = text.trim().parse().ok().filter(|p: &f64| *p > 0.0 && *p < 1.0);
            let wrong = || format!("a threshold is between 0 and 1, or one of accuracy, f1, balanced, and {text:?} is none");
            Threshold::At(between.ok_or_else(wrong)?)
        }
    })
}

fn l2(text: &str) -> Result<L2, String> {
    if text == "auto" { Ok(L2::Validated) } else { number(text).map(L2::Given) }
}
