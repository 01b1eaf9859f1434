//! Figure 2: mini-batch against recursive momentum.

use tangor_problem::count_of;
use tangor_solver::{Batch, Estimation, Estimator, Settings};

use super::{Experiment, FEASIBILITY, Laboratory, Outcome, RULES, STATIONARITY, figure, is_late, panel};
use crate::Error;
use crate::contender::Contender;
use crate::record::Record;
use crate::report::{Cell, Column, Section, Table};
use tangor_figure::{BoxPanel, Summary};

const LEVELS: [f64; 4] = [1e-8, 1e-6, 1e-4, 1e-2];
/// Two independent samples at one point, or one sample at two points: the same price.
const ESTIMATORS: [(&str, Estimator, usize); 2] = [("batch", Estimator::Minibatch, 2), ("momentum", Estimator::Momentum, 1)];

/// Most entries of the Jacobians of a run, as if they were dense. A few large problems would take most of the time, and a clock would decide what
/// the figure shows of them: so many keep all 2176 runs of one seed within ten minutes on two cores.
pub(super) const MAX_ENTRIES: u64 = 1_000_000;

/// Samples of all three functions in an iteration, judgements included. A step takes six, or ten where it is compared at both ends; without a limit the
/// last judgement alone would take as many as tell of rare events, which exact residuals need not.
const SAMPLES: u64 = 10;

type Group<'a> = (String, usize, Vec<&'a Record>);

impl Laboratory<'_> {
    pub(super) fn variance(&self) -> Result<Outcome, Error> {
        let members = self.members("paper-equality")?;
        let count = members.len();
        let contenders = shown().map(|mut shown| {
            shown.settings.limits.samples = Some(SAMPLES * self.max_iterations);
            Contender::tangor(shown.solver(), shown.settings).noisy(shown.level)
        });
        let runs = self.run(Experiment::Variance, members, contenders.collect())?;
        let of = |shown: &Shown| runs.records.iter().filter(|record| record.solver == shown.solver()).collect();
        let pictures = [STATIONARITY, FEASIBILITY].map(|quantity| {
            let panels = RULES.iter().enumerate().map(|(rules, (whose, _))| {
                let groups: Vec<Group> = shown()
                    .filter(|shown| shown.rules == rules)
                    .map(|shown| (shown.label(), shown.estimator, of(&shown)))
                    .collect();
                let panel = panel(quantity, &groups);
                BoxPanel { title: format!("{}{whose}", panel.title), ..panel }
            });
            let title = format!("Figure 2: {}, noise on all three functions", quantity.title);
            (format!("variance-{}", quantity.title.split(' ').next().unwrap_or_default()), figure(&title, panels.collect()))
        });
        let groups: Vec<Group> = shown().map(|shown| (shown.solver(), shown.estimator, of(&shown))).collect();
        let judge = Settings::default().sampling.judge;
        let section = Section {
            title: "Figure 2: estimators under noise".into(),
            paragraphs: vec![
                format!(
                    "{} with equality constraints, and Gaussian noise on gradient, constraints and Jacobian, scaled so that \
                     the expected 2-norm of the noise is the level; {}. Mini-batch averages two independent samples, recursive momentum \
                     evaluates one sample at two points. Preset paper: identity metric, the paper's merit parameter, stepsize and momentum. Residuals are computed with exact functions.",
                    count_of(count, "problem"),
                    count_of(self.seeds, "seed")
                ),
                format!(
                    "A run ends after {} iterations, fewer where a problem is large: their number times n times m is at most \
                     {MAX_ENTRIES}. With judgements it takes at most {} samples of all functions together, {SAMPLES} for each of {} \
                     iterations. The table counts the runs that {} s of time ended; their points count like all others. After {} \
                     iterations, and then at growing intervals, a run judges its point on fresh samples; the point shown is the \
                     latest one that cannot be told from the best.",
                    self.max_iterations,
                    SAMPLES * self.max_iterations,
                    self.max_iterations,
                    self.time_limit,
                    judge.every
                ),
            ],
            figures: pictures.to_vec(),
            tables: vec![medians(&groups)],
        };
        // Nobody looks at single courses of these many runs.
        Ok((vec![section], Vec::new(), runs.missing))
    }
}

/// One of the boxes.
struct Shown {
    /// Which of [`RULES`].
    rules: usize,
    level: f64,
    /// Which of [`ESTIMATORS`].
    estimator: usize,
    settings: Settings,
}

impl Shown {
    fn label(&self) -> String {
        format!("{} {:e}", ESTIMATORS[self.estimator].0, self.level)
    }

    /// What its rows call it.
    fn solver(&self) -> String {
        format!("{}{}", self.label(), RULES[self.rules].0)
    }
}

fn shown() -> impl Iterator<Item = Shown> {
    let every = (0..RULES.len()).flat_map(|rules| LEVELS.map(|level| (rules, level)));
    every.flat_map(|(rules, level)| {
        ESTIMATORS.iter().enumerate().map(move |(k, (_, estimator, batch))| {
            let settings = estimated(RULES[rules].1(), *estimator, *batch);
            Shown { rules, level, estimator: k, settings }
        })
    })
}

fn estimated(mut settings: Settings, estimator: Estimator, batch: usize) -> Settings {
    let batch = Batch::Constant { size: batch };
    let sampling = &mut settings.sampling;
    for estimation in [&mut sampling.gradient, &mut sampling.constraints, &mut sampling.jacobian] {
        *estimation = Estimation { estimator, batch, ..estimation.clone() };
    }
    settings
}

fn medians(groups: &[Group]) -> Table {
    let median = |records: &[&Record], value: fn(&Record) -> Option<f64>| {
        let values: Vec<f64> = records.iter().map(|record| value(record).unwrap_or(f64::INFINITY)).collect();
        Summary::of(&values).map(|summary| 10f64.powf(summary.quartiles[1]))
    };
    let row = |(label, _, records): &Group| {
        vec![
            Cell::words(label),
            Cell::count(records.len() as u64),
            Cell::count(records.iter().filter(|record| is_late(record)).count() as u64),
            Cell::number(median(records, STATIONARITY.value)),
            Cell::number(median(records, FEASIBILITY.value)),
        ]
    };
    Table {
        caption: "Medians over all runs".into(),
        columns: vec![
            Column::words("estimator and level"),
            Column::numbers("runs"),
            Column::numbers("ended by the time limit"),
            Column::numbers("stationarity").of("median"),
            Column::numbers("feasibility").of("median"),
        ],
        rows: groups.iter().map(row).collect(),
        filter: false,
    }
}
