//! What a smaller gap between groups costs: the same fit with other bounds, as a table and a picture.

use std::io::Write;
use std::sync::Arc;

use tangor_figure::{CurveFigure, CurvePanel, PointCurve};
use tangor_learn::{Constraint, DataSet, Evaluation, Goal, Model, Outcome};
use tangor_solver::{Point, Settings};

use super::task::solved;
use crate::error::Error;
use crate::style::{DIM, TITLE};

/// The bounds that are tried, as shares of the gap that a model without bounds has.
const SHARES: [f64; 10] = [1.0, 0.85, 0.7, 0.55, 0.4, 0.3, 0.2, 0.1, 0.05, 0.0];

/// A fit with another bound.
pub struct Fitted {
    /// The bound on all gaps.
    bound: f64,
    training: Evaluation,
    test: Option<Evaluation>,
    /// Whether it is a KKT point within the tolerances.
    solved: bool,
}

/// Refuses a goal without gaps: there is nothing to trade.
pub fn check(goal: &Goal) -> Result<(), Error> {
    let message = "--trade-off needs a bound on a gap between groups, as in --max-rate-gap sex=0.02";
    match goal.constraints.iter().any(|constraint| matches!(constraint, Constraint::Gap { .. })) {
        true => Ok(()),
        false => Err(Error::Setting(message.to_string())),
    }
}

/// Fits with a row of bounds from none to zero.
pub fn explore(
    data: &Arc<DataSet>,
    test: Option<&DataSet>,
    goal: &Goal,
    threshold: f64,
    settings: &Settings,
) -> Result<Vec<Fitted>, Error> {
    let mut weights = vec![0.0; data.features.weights()];
    let mut largest = 1.0;
    let mut fits = Vec::with_capacity(SHARES.len());
    for (k, share) in SHARES.into_iter().enumerate() {
        let bound = if k == 0 { 1.0 } else { share * largest };
        let constraints = goal.constraints.iter().map(|constraint| constraint.with_gap(bound)).collect();
        let goal = Goal { constraints, ..goal.clone() };
        let report = solved(data, &goal, weights, settings)?;
        weights = report.x.clone();
        let model = Model::new(data, report.x, &goal, threshold, settings.sampling.judge.confidence)?;
        let test = test.map(|test| model.evaluate(test)).transpose()?;
        if k == 0 {
            largest = gap(&model.training, bounded(&goal)).clamp(1e-9, 1.0);
        }
        let bound = if k == 0 { largest } else { bound };
        fits.push(Fitted { bound, training: model.training, test, solved: report.point == Point::EpsKkt });
    }
    Ok(fits)
}

#[derive(Clone, Copy)]
enum Kind {
    Probabilities,
    Decisions,
}

/// What the goal bounds the gaps of.
fn bounded(goal: &Goal) -> Kind {
    match goal.outcome {
        Outcome::Probabilities => Kind::Probabilities,
        Outcome::Decisions { .. } => Kind::Decisions,
    }
}

/// The largest gap: of the rows with two bounds, which gaps alone have.
fn gap(evaluation: &Evaluation, kind: Kind) -> f64 {
    let gaps = evaluation.constraints.iter().filter(|attained| attained.lower.is_some() && attained.upper.is_some());
    let values = gaps.filter_map(|attained| match kind {
        Kind::Probabilities => attained.probabilities,
        Kind::Decisions => attained.decisions,
    });
    values.fold(0.0, |most: f64, estimate| most.max(estimate.value.abs()))
}

/// Tells them as a table.
pub fn print(out: &mut dyn Write, fits: &[Fitted]) -> Result<(), Error> {
    let what = if fits.iter().any(|fitted| fitted.test.is_some()) { "test" } else { "training" };
    writeln!(out, "\n  {TITLE}trade-off on the {what} rows (of gaps, the largest){TITLE:#}")?;
    writeln!(out, "  {TITLE} bound    loss  accuracy  gap of p  of decisions{TITLE:#}")?;
    for fitted in fits {
        let shown = fitted.test.as_ref().unwrap_or(&fitted.training);
        let (p, decisions) = (gap(shown, Kind::Probabilities), gap(shown, Kind::Decisions));
        let remark = if fitted.solved { "" } else { " unsolved" };
        writeln!(
            out,
            "  {:6.4} {:7.4} {:9.4} {p:9.4} {decisions:13.4}{DIM}{remark}{DIM:#}",
            fitted.bound, shown.loss, shown.overall.accuracy
        )?;
    }
    Ok(())
}

/// Draws them; the bound that was asked for is marked.
pub fn draw(fits: &[Fitted], name: &str, chosen: Option<f64>) -> String {
    let curve = |label: &str, color: usize, of: &dyn Fn(&Fitted) -> Option<f64>| PointCurve {
        label: label.to_string(),
        color,
        points: fits.iter().rev().filter_map(|fitted| Some((fitted.bound, of(fitted)?))).collect(),
    };
    let panel = |title: &str, value: &dyn Fn(&Evaluation) -> f64| {
        let training = curve("training", 0, &|fitted| Some(value(&fitted.training)));
        let test = curve("test", 1, &|fitted| fitted.test.as_ref().map(value));
        let curves = [training, test].into_iter().filter(|curve| !curve.points.is_empty()).collect();
        CurvePanel { title: title.to_string(), height: 170.0, curves }
    };
    CurveFigure {
        title: format!("{name}: what a smaller gap between groups costs"),
        subtitle: "each point is a fit; the dashed line is the bound that was asked for".to_string(),
        axis: "bound on the gap".to_string(),
        mark: chosen,
        panels: vec![
            panel("Mean loss", &|evaluation| evaluation.loss),
            panel("Accuracy", &|evaluation| evaluation.overall.accuracy),
            panel("Largest gap between decisions", &|evaluation| gap(evaluation, Kind::Decisions)),
        ],
    }
    .draw()
}

/// The bound on gaps that the goal has, if they all have the same.
pub fn chosen(goal: &Goal) -> Option<f64> {
    let mut bounds = goal.constraints.iter().filter_map(|constraint| match constraint {
        Constraint::Gap { most, .. } => Some(*most),
        _ => None,
    });
    let first = bounds.next()?;
    bounds.all(|bound| bound == first).then_some(first)
}
