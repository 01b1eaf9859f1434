//! The census-income data, where an independent method has found the optimum. Without the data these tests say that they are skipped.

use std::path::{Path, PathBuf};

use tangor_learn::{Constraint, DataSet, Model, Reading, Regression};
use tangor_problem::Problem;
use tangor_solver::{Point, Settings, solve};

/// The optimal value to five digits, for the data of `adult_train.csv` with the features and constraints of this file.
const OPTIMUM: f64 = 0.39785;

fn file(name: &str) -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let file = root.join("../shared/data").join(name);
    if !file.exists() {
        eprintln!("skipped: {name} is not in ../shared/data");
    }
    file.exists().then_some(file)
}

fn names(text: &str) -> Vec<String> {
    text.split(' ').map(Into::into).collect()
}

fn adult() -> Option<DataSet> {
    let reading = Reading {
        label: Some("income".to_string()),
        drop: names("fnlwgt education sex"),
        log: names("capital_gain capital_loss"),
        groups: names("sex"),
    };
    Some(reading.csv(&file("adult_train.csv")?).unwrap())
}

fn fair() -> Vec<Constraint> {
    let column = || "sex".to_string();
    vec![Constraint::RateGap { column: column(), most: 0.02 }, Constraint::TruePositiveGap { column: column(), most: 0.02 }]
}

#[test]
fn the_exact_problem_has_the_known_optimum() {
    let Some(data) = adult() else { return };
    assert_eq!(data.rows(), 32_561);
    assert_eq!(data.features.dense_columns(), 5);
    let mut regression = Regression::new(data, &fair(), 1e-4).unwrap();
    let report = solve(&mut regression, Settings::default()).unwrap();
    println!("objective {} after {} iterations, {}", report.objective, report.iterations, report.message);
    assert_eq!(report.point, Point::EpsKkt, "{}", report.message);
    assert!((report.objective - OPTIMUM).abs() < 5e-6, "{}", report.objective);
    assert!(report.constraints.iter().all(|gap| gap.abs() <= 0.02 + 1e-6), "{:?}", report.constraints);
    assert_eq!(regression.meta().row_names[0], "rate gap of sex, Male - Female");

    let model = Model::new(regression.data(), report.x, &fair(), 1e-4, 0.95).unwrap();
    let test = model.evaluate(&model.read_data(&file("adult_test.csv").unwrap()).unwrap()).unwrap();
    println!("training: {:?}\ntest: {test:?}", model.training);
    assert_eq!(test.rows, 16_281);
    assert!(test.accuracy > 0.80 && (test.loss - model.training.loss).abs() < 0.01);
}
