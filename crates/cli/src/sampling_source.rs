//! Short ways to the settings of the stochastic method.

use clap::{Args, ValueEnum};
use tangor_solver::{Event, Report};

use crate::idle::Idle;

/// The arguments that are short for `--set`.
#[derive(Debug, Args)]
pub struct SamplingArguments {
    #[command(flatten)]
    estimator: EstimatorArgument,

    /// Samples of each function per iteration (sampling.*.batch)
    #[arg(long, value_name = "N", help_heading = "Sampling")]
    batch: Option<u32>,

    /// The momentum, between 0 and 1; 1 is a mini-batch (sampling.*.momentum)
    #[arg(long, value_name = "A", help_heading = "Sampling", allow_negative_numbers = true)]
    momentum: Option<f64>,

    /// The seed of all samples and random starts: the same one gives the same run, bit for bit (sampling.seed)
    #[arg(long, value_name = "N", help_heading = "Sampling", value_parser = clap::value_parser!(u64).range(..=i64::MAX as u64))]
    seed: Option<u64>,

    /// Most samples of all functions together (limits.samples)
    #[arg(long, value_name = "N", help_heading = "Sampling", value_parser = clap::value_parser!(u64).range(..=i64::MAX as u64))]
    samples: Option<u64>,

    /// The confidence with which the result is judged on fresh samples (sampling.judge.confidence)
    #[arg(long, value_name = "P", help_heading = "Sampling", allow_negative_numbers = true)]
    confidence: Option<f64>,
}

/// The choice of the estimator alone, for commands that need no more.
#[derive(Debug, Args)]
pub struct EstimatorArgument {
    /// How gradient, constraints and Jacobian are estimated (sampling.*.estimator)
    #[arg(long, value_enum, value_name = "NAME", help_heading = "Sampling")]
    estimator: Option<EstimatorName>,
}

impl EstimatorArgument {
    /// Whether one was chosen.
    pub fn is_given(&self) -> bool {
        self.estimator.is_some()
    }

    /// The same as `--set` would have it.
    pub fn assignments(&self) -> Vec<(String, String)> {
        let name = self.estimator.map(|name| match name {
            EstimatorName::Minibatch => "minibatch".to_string(),
            EstimatorName::Momentum => "momentum".to_string(),
        });
        of_each_function("estimator", name)
    }
}

/// The same value for all three functions.
fn of_each_function(name: &str, value: Option<String>) -> Vec<(String, String)> {
    let functions = ["gradient", "constraints", "jacobian"];
    let assignment = |value: &String| functions.map(|function| (format!("sampling.{function}.{name}"), value.clone()));
    value.iter().flat_map(assignment).collect()
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum EstimatorName {
    /// The average over new samples
    Minibatch,
    /// Recursive momentum: the same samples at two points
    Momentum,
}

impl SamplingArguments {
    /// Whether one of the arguments makes sense only where functions are sampled.
    pub fn asks_for_samples(&self) -> bool {
        let SamplingArguments { estimator, batch, momentum, samples, .. } = self;
        estimator.estimator.is_some() || batch.is_some() || momentum.is_some() || samples.is_some()
    }

    /// The arguments that do nothing, when no function is sampled, or by themselves. A seed is also one of other starts, which any run may
    /// need, and `set` tells whether settings of samples were set by their paths.
    pub fn idle(&self, exact: bool, problem: &str, set: bool) -> Idle {
        let mut idle = Idle::default();
        let reason = format!("the functions of {problem} are exact (--noise would disturb them)");
        let given = [
            ("--estimator", self.estimator.estimator.is_some()),
            ("--batch", self.batch.is_some()),
            ("--momentum", self.momentum.is_some()),
            ("--samples", self.samples.is_some()),
            ("--confidence", self.confidence.is_some()),
            ("--set sampling...", set),
        ];
        idle.add(exact, reason, &given);
        self.add_momentum(!exact, &mut idle);
        idle
    }

    /// What did nothing, as is known at the end of an exact run: a seed from which no other start was drawn.
    pub fn idle_after(&self, exact: bool, report: &Report) -> Idle {
        let mut idle = Idle::default();
        let unused = exact && report.unusual.iter().all(|(event, _)| *event != Event::Elsewhere);
        idle.add(unused, "the functions are exact, and no random start was tried", &[("--seed", self.seed.is_some())]);
        idle
    }

    /// Those of a fit.
    pub fn add_idle_of_fit(&self, exact: bool, margins: bool, idle: &mut Idle) {
        idle.add(exact && !margins, "nothing is estimated", &[("--confidence", self.confidence.is_some())]);
        self.add_momentum(true, idle);
    }

    fn add_momentum(&self, sampled: bool, idle: &mut Idle) {
        let minibatch = matches!(self.estimator.estimator, Some(EstimatorName::Minibatch));
        idle.add(sampled && minibatch, "a mini-batch has no momentum", &[("--momentum", self.momentum.is_some())]);
    }

    /// The same as `--set` would have it.
    pub fn assignments(&self) -> Vec<(String, String)> {
        let single = [
            ("sampling.seed", self.seed.map(|seed| seed.to_string())),
            ("limits.samples", self.samples.map(|samples| samples.to_string())),
            ("sampling.judge.confidence", self.confidence.map(|confidence| format!("{confidence:?}"))),
        ];
        let batch = of_each_function("batch", self.batch.map(|size| format!("{{constant = {{size = {size}}}}}")));
        let momentum = of_each_function("momentum", self.momentum.map(|a| format!("{{constant = {{a = {a:?}}}}}")));
        let single = single.into_iter().filter_map(|(path, value)| Some((path.to_string(), value?)));
        self.estimator.assignments().into_iter().chain(batch).chain(momentum).chain(single).collect()
    }
}

#[cfg(test)]
mod tests {
    use tangor_solver::{Batch, Estimator, Momentum, Settings};

    use super::*;

    #[test]
    fn every_short_way_reaches_its_settings() {
        let arguments = SamplingArguments {
            estimator: EstimatorArgument { estimator: Some(EstimatorName::Minibatch) },
            batch: Some(8),
            momentum: Some(1.0),
            seed: Some(7),
            samples: Some(1000),
            confidence: Some(0.99),
        };
        let mut settings = Settings::default();
        for (path, value) in arguments.assignments() {
            settings.set(&path, &value).unwrap();
        }
        let sampling = &settings.sampling;
        for estimation in [&sampling.gradient, &sampling.constraints, &sampling.jacobian] {
            assert_eq!(estimation.estimator, Estimator::Minibatch);
            assert_eq!(estimation.batch, Batch::Constant { size: 8 });
            assert_eq!(estimation.momentum, Momentum::Constant { a: 1.0 });
        }
        assert_eq!((sampling.seed, settings.limits.samples, sampling.judge.confidence), (7, Some(1000), 0.99));
    }
}
