//! Figure 2: mini-batch against recursive momentum.

use tangor_solver::{Batch, Estimation, Estimator, Settings};

use super::{Experiment, FEASIBILITY, Laboratory, Outcome, STATIONARITY, figure, is_late, panel};
use crate::Error;
use crate::contender::Contender;
use crate::record::Record;
use crate::report::{Cell, Column, Section, Table};
use tangor_figure::Summary;

const LEVELS: [f64; 4] = [1e-8, 1e-6, 1e-4, 1e-2];
/// Two independent samples at one point, or one sample at two points: the same price.
const ESTIMATORS: [(&str, Estimator, usize); 2] = [("batch", Estimator::Minibatch, 2), ("momentum", Estimator::Momentum, 1)];

type Group<'a> = (String, usize, Vec<&'a Record>);

impl Laboratory<'_> {
    pub(super) fn variance(&self) -> Result<Outcome, Error> {
        let members = self.members("paper-equality")?;
        let count = members.len();
        let contenders = LEVELS.iter().flat_map(|level| {
            ESTIMATORS.map(|(name, estimator, batch)| {
                Contender::tangor(label(name, *level), settings(estimator, batch)).noisy(*level)
            })
        });
        let runs = self.run(Experiment::Variance, members, contenders.collect())?;
        let group = |level: f64, k: usize| -> Group {
            let label = label(ESTIMATORS[k].0, level);
            let records = runs.records.iter().filter(|record| record.solver == label).collect();
            (label, k, records)
        };
        let groups: Vec<Group> = LEVELS.iter().flat_map(|level| [group(*level, 0), group(*level, 1)]).collect();
        let pictures = [STATIONARITY, FEASIBILITY].map(|quantity| {
            let title = format!("Figure 2: {}, noise on all three functions", quantity.title);
            (
                format!("variance-{}", quantity.title.split(' ').next().unwrap_or_default()),
                figure(&title, vec![panel(quantity, &groups)]),
            )
        });
        let judge = Settings::default().sampling.judge;
        let section = Section {
            title: "Figure 2: estimators under noise".into(),
            paragraphs: vec![
                format!(
                    "{count} problems with equality constraints, and Gaussian noise on gradient, constraints and Jacobian, scaled so that \
                     the expected 2-norm of the noise is the level; {}. Mini-batch averages two independent samples, recursive momentum \
                     evaluates one sample at two points. Residuals are computed with exact functions.",
                    if self.seeds == 1 { "one seed".to_string() } else { format!("{} seeds", self.seeds) }
                ),
                format!(
                    "A run ends after {} iterations or {} s, whichever comes first. The table counts the runs that the time ended; their \
                     points count like all others. After {} iterations, and then at growing intervals, a run judges its point on at \
                     least {} fresh samples of each function, which come on top of those above; the point shown is the latest one \
                     that cannot be told from the best.",
                    self.max_iterations, self.noisy_time_limit, judge.every, judge.samples
                ),
            ],
            figures: pictures.to_vec(),
            tables: vec![medians(&groups)],
        };
        // Nobody looks at single courses of these many runs.
        Ok((vec![section], Vec::new(), runs.missing))
    }
}

fn label(estimator: &str, level: f64) -> String {
    format!("{estimator} {level:e}")
}

fn settings(estimator: Estimator, batch: usize) -> Settings {
    let mut settings = Settings::default();
    let estimation = Estimation { estimator, batch: Batch::Constant { size: batch }, ..Estimation::default() };
    settings.sampling.gradient = estimation.clone();
    settings.sampling.constraints = estimation.clone();
    settings.sampling.jacobian = estimation;
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
