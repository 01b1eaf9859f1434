//! The learning tasks against values that PyTorch computed from the same definitions, and their samples against each other.

use std::path::{Path, PathBuf};

use tangor_learn::tasks::{Learning, Task};
use tangor_problem::{Access, Draw, Outputs, Wanted};

/// The folder of the census data, if it is there.
fn adult() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    if !folder.join("adult_train.csv").exists() {
        eprintln!("skipped: the census data are not in ../shared/data");
        return None;
    }
    Some(folder)
}

fn task(task: Task, seed: u64) -> Option<Box<dyn Learning>> {
    let folder = if task.needs_adult() { adult()? } else { PathBuf::new() };
    Some(task.build(seed, &folder).expect("the data can be read"))
}

/// Loss, violation, stationarity and complementarity at the starts of the seeds 0 and 4, and at `0.3 sin(i)`.
const MEASURES: [(Task, [[f64; 4]; 3]); 4] = [
    (
        Task::Fair,
        [
            [0.6928095599283652, 0.0, 0.5243699052649266, 0.030682646780249342],
            [0.7001525051452969, 0.0, 0.5424561807150301, 0.028584151181985522],
            [0.7469219759682109, 0.07591079877913857, 0.5710970311012812, 0.09669945852538005],
        ],
    ),
    (
        Task::FairNetwork,
        [
            [0.6791335329519472, 0.0, 0.6490095066737629, 0.01779040700422641],
            [0.6635477540988245, 0.012425224988520524, 0.4508972931226603, 0.056184606403825436],
            [1.2868955095109325, 0.3022633039030417, 1.1239100588598339, 0.05142975167647892],
        ],
    ),
    (
        Task::Heat,
        [
            [0.29900742226476834, 1.7956744714733324, 0.893533814586391, 0.0],
            [0.11936025950062516, 0.9563007317417411, 0.6325360632194473, 0.0],
            [1.9301927188109507, 2.3044609881438043, 0.07340993464230375, 0.0],
        ],
    ),
    (
        Task::Logistic,
        [
            [0.40588137238232364, 0.39693051383246003, 0.4529173699529161, 0.0],
            [0.9889840083468345, 0.4167630546242591, 1.350672590125069, 0.0],
            [0.9696383971559991, 0.39683478031984065, 1.3579927009337402, 0.0],
        ],
    ),
];

#[test]
fn measures_equal_those_of_the_definitions() {
    for (kind, expected) in MEASURES {
        let Some(mut first) = task(kind, 0) else { continue };
        let sine: Vec<f64> = (0..first.meta().n()).map(|i| 0.3 * (i as f64).sin()).collect();
        let starts = [first.meta().x0.clone(), task(kind, 4).expect("as before").meta().x0.clone(), sine];
        for (x, [loss, violation, stationarity, complementarity]) in starts.iter().zip(expected) {
            let found = first.measure(x);
            let pairs = [
                (found.loss, loss, 1e-12),
                (found.violation, violation, 1e-12),
                // At the third point the Jacobian of the network is so nearly singular that its basis is a matter of rounding.
                (found.stationarity, stationarity, if kind == Task::Heat { 1e-6 } else { 1e-10 }),
                (found.complementarity, complementarity, 1e-9),
            ];
            for (found, expected, tolerance) in pairs {
                assert!((found - expected).abs() <= tolerance, "{}: {found}, expected {expected}", kind.name());
            }
        }
    }
}

#[test]
fn gradients_are_those_of_the_objective() {
    for kind in Task::ALL {
        let Some(mut task) = task(kind, 1) else { continue };
        let (n, m) = (task.meta().n(), task.meta().m());
        let draws: Vec<Draw> = (0..40).map(|k| Draw(13 * k)).collect();
        let x = task.meta().x0.clone();
        let (mut g, mut c, mut values) = (vec![0.0; n], vec![0.0; m], vec![0.0; n * m]);
        let mut out = Outputs::new(&mut g, &mut c, &mut values);
        assert!(task.evaluate(&x, &draws, Wanted::SAMPLED, &mut out).is_ok());
        let direction: Vec<f64> = (0..n).map(|i| (i as f64 * 1.7).cos()).collect();
        let shifted = |by: f64| -> Vec<f64> { x.iter().zip(&direction).map(|(x, d)| x + by * d).collect() };
        let along = |row: &[f64]| row.iter().zip(&direction).map(|(g, d)| g * d).sum::<f64>();
        let step = 1e-5;
        let mut at = |by: f64| {
            let mut c = vec![0.0; m];
            task.constraints(&shifted(by), &draws, &mut c).expect("defined");
            (task.objective(&shifted(by), &draws).expect("told").expect("defined"), c)
        };
        let ((above, c_above), (below, c_below)) = (at(step), at(-step));
        let slope = (above - below) / (2.0 * step);
        assert!((slope - along(&g)).abs() < 1e-6 * (1.0 + slope.abs()), "{}: {slope}, {}", kind.name(), along(&g));
        for i in 0..m {
            let slope = (c_above[i] - c_below[i]) / (2.0 * step);
            let found = along(&values[i * n..(i + 1) * n]);
            assert!((slope - found).abs() < 1e-6 * (1.0 + slope.abs()), "{}, row {i}: {slope}, {found}", kind.name());
        }
    }
}

#[test]
fn the_average_over_all_members_is_what_is_measured() {
    for kind in [Task::Logistic, Task::Fair, Task::FairNetwork] {
        let Some(mut task) = task(kind, 2) else { continue };
        let Access::Finite(size) = task.accesses().gradient else { panic!("a finite population") };
        let draws: Vec<Draw> = (0..size).map(Draw).collect();
        let x = task.meta().x0.clone();
        let loss = task.objective(&x, &draws).expect("told").expect("defined");
        assert!((loss - task.measure(&x).loss).abs() < 1e-12, "{}", kind.name());
        let outside = [Draw(size)];
        assert!(task.gradient(&x, &outside, &mut vec![0.0; x.len()]).is_err(), "{}", kind.name());
    }
}
