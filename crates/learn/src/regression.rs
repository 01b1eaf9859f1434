use std::sync::Arc;

use tangor_problem::{
    Access, Accesses, Collective, Draw, Evaluation, Function, FunctionFailure, Members, Meta, Outputs, Problem, Reduction,
    SampledProblem, Wanted, evaluate_draws_separately, evaluate_separately,
};

use crate::{Classes, DataSet, Error, Goal, Outcome, Penalty, Requirement};

/// A class that no constraint asks about.
const IRRELEVANT: u16 = u16::MAX;

/// Constrained logistic regression over all rows of a data set; exact.
#[derive(Debug)]
pub struct Regression {
    meta: Meta,
    data: Arc<DataSet>,
    penalty: Penalty,
    outcome: Outcome,
    rows: Vec<Row>,
    rates: Rates,
    /// Sums over rows, one after the other: of the gradient of the loss, of the probability in each class that counts, and of its
    /// gradient in each such class.
    sums: Vec<f64>,
    reduction: Reduction,
}

/// One constraint of the problem.
#[derive(Clone, Debug)]
enum Row {
    /// `|x|^2`
    Norm,
    /// Factors of the sums over classes.
    Contrast(Vec<f64>),
}

/// The classes that constraints ask about.
#[derive(Debug)]
struct Rates {
    /// The place among them of the class of each row that is here, or [`IRRELEVANT`].
    slots: Vec<u16>,
    count: usize,
}

impl Regression {
    /// The problem of fitting the data as the goal asks for.
    pub fn new(data: impl Into<Arc<DataSet>>, goal: &Goal) -> Result<Self, Error> {
        let data = data.into();
        let classes = Classes::new(&data)?;
        let (requirements, _) = goal.requirements(&data, &classes)?;
        let mut meta = Meta::new(data.name.clone(), vec![0.0; data.features.weights()]).name_variables(data.encoding.names());
        meta.held = data.held() as u64;
        let (mut rows, mut names) = (Vec::new(), Vec::new());
        for requirement in &requirements {
            match (requirement, classes.contrast(&data, requirement)) {
                (Requirement::Norm { radius }, _) => {
                    meta = meta.at_most(&[radius * radius]);
                    rows.push(Row::Norm);
                    names.push("norm squared".to_string());
                }
                (Requirement::Rate { name, lower, upper, .. }, Some(contrast)) if classes.can_tell(&contrast) => {
                    meta = meta.rows(&[lower.unwrap_or(f64::NEG_INFINITY)], &[upper.unwrap_or(f64::INFINITY)]);
                    rows.push(Row::Contrast(contrast.factors(&classes)));
                    names.push(name.clone());
                }
                (Requirement::Rate { name, .. }, _) => {
                    let message = "one of its groups has no rows that count".to_string();
                    return Err(Error::Constraint { name: name.clone(), message });
                }
            }
        }
        let rates = Rates::new(&classes, &mut rows);
        let sums = vec![0.0; meta.n() + rates.count * (1 + meta.n())];
        let reduction = data.reduction();
        let (penalty, outcome) = (goal.penalty, goal.outcome);
        Ok(Regression { meta: meta.name_rows(names), data, penalty, outcome, rows, rates, sums, reduction })
    }

    /// The data.
    pub fn data(&self) -> &DataSet {
        &self.data
    }

    /// Starts from these weights instead of zeros.
    pub fn start(mut self, weights: Vec<f64>) -> Self {
        self.meta.x0 = weights;
        self
    }

    /// Has its sums computed by this collective, instead of by the threads of this process.
    pub fn collective(mut self, collective: Arc<dyn Collective>) -> Self {
        self.reduction = Reduction::new(collective);
        self
    }

    /// The same problem, of which a method sees only the rows that it draws.
    pub fn sampled(self) -> SampledRegression {
        SampledRegression(self)
    }

    fn all(&self) -> Members<'static> {
        Members::All(self.data.rows())
    }

    fn drawn<'a>(&self, draws: &'a [Draw]) -> Members<'a> {
        Members::Drawn { draws, population: self.data.rows() }
    }

    fn mean_loss(&mut self, x: &[f64], members: Members) -> Evaluation<f64> {
        members.check()?;
        let (data, first) = (&self.data, self.data.first());
        let mut sum = [0.0];
        self.reduction.sum_members(members, &mut sum, |members, range, sum| {
            sum[0] += range.map(|k| members.get(k) - first).map(|i| data.weight(i) * loss(data, i, x)).sum::<f64>();
        });
        let penalty = x.iter().enumerate().map(|(k, x_k)| self.penalty.factor(k, x.len()) * x_k * x_k).sum::<f64>();
        Ok(sum[0] / members.count() as f64 + 0.5 * penalty)
    }

    fn mean_gradient(&mut self, x: &[f64], members: Members, g: &mut [f64]) -> Evaluation {
        members.check()?;
        let (data, features, first) = (&self.data, &self.data.features, self.data.first());
        self.reduction.sum_members(members, g, |members, range, sum| {
            for i in range.map(|k| members.get(k) - first) {
                features.add(i, data.weight(i) * excess(probability(features.dot(i, x)), data.positive[i]), sum);
            }
        });
        self.finish_gradient(x, members.count(), g);
        Ok(())
    }

    fn mean_constraints(&mut self, x: &[f64], members: Members, c: &mut [f64]) -> Evaluation {
        let Rates { slots, count } = &self.rates;
        let sums = &mut self.sums[x.len()..][..*count];
        if !sums.is_empty() {
            members.check()?;
            let (data, outcome, first) = (&self.data, self.outcome, self.data.first());
            self.reduction.sum_members(members, sums, |members, range, sums| {
                for i in range.map(|k| members.get(k) - first).filter(|&i| slots[i] != IRRELEVANT) {
                    let margin = data.features.dot(i, x);
                    sums[usize::from(slots[i])] += data.weight(i) * outcome.value(margin, probability(margin));
                }
            });
        }
        self.finish_constraints(x, members.count(), c);
        Ok(())
    }

    fn mean_jacobian(&mut self, x: &[f64], members: Members, values: &mut [f64]) -> Evaluation {
        let (Rates { slots, count }, n) = (&self.rates, x.len());
        let sums = &mut self.sums[n + count..];
        if !sums.is_empty() {
            members.check()?;
            let (data, outcome, first) = (&self.data, self.outcome, self.data.first());
            self.reduction.sum_members(members, sums, |members, range, sums| {
                for i in range.map(|k| members.get(k) - first).filter(|&i| slots[i] != IRRELEVANT) {
                    let (slot, margin) = (usize::from(slots[i]) * n, data.features.dot(i, x));
                    let slope = data.weight(i) * outcome.slope(outcome.value(margin, probability(margin)));
                    data.features.add(i, slope, &mut sums[slot..slot + n]);
                }
            });
        }
        self.finish_jacobian(x, members.count(), values);
        Ok(())
    }

    /// All three, of which each row is read once. The terms of each sum are added in the order of the single functions, so that the
    /// bits are the same.
    fn mean_of_all(&mut self, x: &[f64], members: Members, [g, c, values]: [&mut [f64]; 3]) -> Evaluation {
        members.check()?;
        let (Rates { slots, count }, n) = (&self.rates, x.len());
        let (data, features, outcome, first) = (&self.data, &self.data.features, self.outcome, self.data.first());
        self.reduction.sum_members(members, &mut self.sums, |members, range, sums| {
            let (gradient, sums) = sums.split_at_mut(n);
            let (rates, slopes) = sums.split_at_mut(*count);
            for i in range.map(|k| members.get(k) - first) {
                let (margin, weight, slot) = (features.dot(i, x), data.weight(i), usize::from(slots[i]));
                let p = probability(margin);
                let off = weight * excess(p, data.positive[i]);
                match rates.get_mut(slot) {
                    None => features.add(i, off, gradient),
                    Some(rate) => {
                        let value = outcome.value(margin, p);
                        *rate += weight * value;
                        let slope = weight * outcome.slope(value);
                        features.add_both(i, [off, slope], [gradient, &mut slopes[slot * n..][..n]]);
                    }
                }
            }
        });
        g.copy_from_slice(&self.sums[..n]);
        self.finish_gradient(x, members.count(), g);
        self.finish_constraints(x, members.count(), c);
        self.finish_jacobian(x, members.count(), values);
        Ok(())
    }

    /// All that is wanted in one pass, when that is at least gradient, constraints and Jacobian; none: one by one is as good.
    fn evaluate_together(
        &mut self,
        x: &[f64],
        members: Members,
        wanted: Wanted,
        out: &mut Outputs<'_>,
    ) -> Option<Result<(), FunctionFailure>> {
        if !(wanted.gradient && wanted.constraints && wanted.jacobian) {
            return None;
        }
        // The rows that were drawn are needed by the gradient in any case, so that is what a bad draw fails.
        let outputs = [&mut *out.gradient, &mut *out.constraints, &mut *out.jacobian];
        let done = self.mean_of_all(x, members, outputs).map_err(FunctionFailure::of(Function::Gradient));
        Some(done.and_then(|()| {
            if wanted.objective {
                out.objective = Some(self.mean_loss(x, members).map_err(FunctionFailure::of(Function::Objective))?);
            }
            Ok(())
        }))
    }

    /// From the sum over rows to the gradient.
    fn finish_gradient(&self, x: &[f64], rows: usize, g: &mut [f64]) {
        let weight = 1.0 / rows as f64;
        for (k, (g, x_k)) in g.iter_mut().zip(x).enumerate() {
            *g = weight * *g + self.penalty.factor(k, x.len()) * x_k;
        }
    }

    /// The constraints from the sums of probabilities.
    fn finish_constraints(&self, x: &[f64], rows: usize, c: &mut [f64]) {
        let sums = &self.sums[x.len()..][..self.rates.count];
        for (c, row) in c.iter_mut().zip(&self.rows) {
            *c = match row {
                Row::Norm => x.iter().map(|x| x * x).sum(),
                Row::Contrast(factors) => factors.iter().zip(sums).map(|(f, s)| f * s).sum::<f64>() / rows as f64,
            };
        }
    }

    /// The Jacobian from the sums of gradients of probabilities.
    fn finish_jacobian(&self, x: &[f64], rows: usize, values: &mut [f64]) {
        let n = x.len();
        let sums = &self.sums[n + self.rates.count..];
        for (values, row) in values.chunks_mut(n).zip(&self.rows) {
            match row {
                Row::Norm => values.iter_mut().zip(x).for_each(|(value, x)| *value = 2.0 * x),
                Row::Contrast(factors) => {
                    values.fill(0.0);
                    for (sum, factor) in sums.chunks(n).zip(factors).filter(|(_, factor)| **factor != 0.0) {
                        let weight = factor / rows as f64;
                        values.iter_mut().zip(sum).for_each(|(value, sum)| *value += weight * sum);
                    }
                }
            }
        }
    }
}

impl Rates {
    /// Leaves out the classes that have no rows or a factor of zero in every constraint.
    fn new(classes: &Classes, rows: &mut [Row]) -> Self {
        let mut kept = Vec::new();
        let mut place = vec![IRRELEVANT; classes.sizes.len()];
        for class in 0..classes.sizes.len() {
            let asked = rows.iter().any(|row| matches!(row, Row::Contrast(factors) if factors[class] != 0.0));
            if asked && classes.sizes[class] > 0 {
                place[class] = kept.len() as u16;
                kept.push(class);
            }
        }
        for row in rows {
            if let Row::Contrast(factors) = row {
                *factors = kept.iter().map(|&class| factors[class]).collect();
            }
        }
        let slots = classes.of_row.iter().map(|&class| place[usize::from(class)]).collect();
        Rates { slots, count: kept.len() }
    }
}

/// `1 / (1 + exp(-margin))`
#[inline]
pub(crate) fn probability(margin: f64) -> f64 {
    1.0 / (1.0 + (-margin).exp())
}

/// The derivative of the loss of a row by its margin: `p - 1` for a positive row, `p` for a negative one.
#[inline]
fn excess(p: f64, positive: bool) -> f64 {
    p - f64::from(u8::from(positive))
}

/// `log(1 + exp(-s a_i'x))`, without overflow.
fn loss(data: &DataSet, i: usize, x: &[f64]) -> f64 {
    loss_at(data.features.dot(i, x), data.positive[i])
}

/// The same for a margin `a_i'x`.
pub(crate) fn loss_at(margin: f64, positive: bool) -> f64 {
    let margin = if positive { margin } else { -margin };
    (-margin.abs()).exp().ln_1p() + (-margin).max(0.0)
}

impl Problem for Regression {
    fn meta(&self) -> &Meta {
        &self.meta
    }
    fn objective(&mut self, x: &[f64]) -> Evaluation<f64> {
        self.mean_loss(x, self.all())
    }
    fn gradient(&mut self, x: &[f64], g: &mut [f64]) -> Evaluation {
        self.mean_gradient(x, self.all(), g)
    }
    fn constraints(&mut self, x: &[f64], c: &mut [f64]) -> Evaluation {
        self.mean_constraints(x, self.all(), c)
    }
    fn jacobian(&mut self, x: &[f64], values: &mut [f64]) -> Evaluation {
        self.mean_jacobian(x, self.all(), values)
    }
    fn evaluate(&mut self, x: &[f64], wanted: Wanted, out: &mut Outputs<'_>) -> Result<(), FunctionFailure> {
        match self.evaluate_together(x, self.all(), wanted, out) {
            Some(done) => done,
            None => evaluate_separately(self, x, wanted, out),
        }
    }
}

/// A [`Regression`] that is seen row by row: a draw is the index of a row.
#[derive(Debug)]
pub struct SampledRegression(Regression);

impl SampledRegression {
    /// The problem over all rows.
    pub fn into_inner(self) -> Regression {
        self.0
    }

    /// The data.
    pub fn data(&self) -> &DataSet {
        &self.0.data
    }
}

impl SampledProblem for SampledRegression {
    fn meta(&self) -> &Meta {
        &self.0.meta
    }

    fn accesses(&self) -> Accesses {
        let finite = Access::Finite(self.0.data.rows() as u64);
        let rates = if self.0.rates.count == 0 { Access::Exact } else { finite };
        Accesses { gradient: finite, constraints: rates, jacobian: rates }
    }

    fn gradient(&mut self, x: &[f64], draws: &[Draw], g: &mut [f64]) -> Evaluation {
        self.0.mean_gradient(x, self.0.drawn(draws), g)
    }

    fn constraints(&mut self, x: &[f64], draws: &[Draw], c: &mut [f64]) -> Evaluation {
        self.0.mean_constraints(x, self.0.drawn(draws), c)
    }

    fn jacobian(&mut self, x: &[f64], draws: &[Draw], values: &mut [f64]) -> Evaluation {
        self.0.mean_jacobian(x, self.0.drawn(draws), values)
    }

    fn evaluate(&mut self, x: &[f64], draws: &[Draw], wanted: Wanted, out: &mut Outputs<'_>) -> Result<(), FunctionFailure> {
        match self.0.evaluate_together(x, self.0.drawn(draws), wanted, out) {
            Some(done) => done,
            None => evaluate_draws_separately(self, x, draws, wanted, out),
        }
    }

    fn objective(&mut self, x: &[f64], draws: &[Draw]) -> Option<Evaluation<f64>> {
        Some(self.0.mean_loss(x, self.0.drawn(draws)))
    }

    fn exact(&mut self) -> Option<&mut dyn Problem> {
        Some(&mut self.0)
    }
}
