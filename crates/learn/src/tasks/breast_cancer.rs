//! Measurements of 569 tumours: Wisconsin Diagnostic Breast Cancer (Wolberg, Street and Mangasarian 1993, UCI Machine Learning Repository, CC BY 4.0).

use crate::Error;

const MEASUREMENTS: &str = include_str!("../../data/breast_cancer.csv");

/// How many measurements a tumour has.
pub const FEATURES: usize = 30;

/// Measurements, each with mean 0 and variance 1, and whether the tumour is benign, as 1 or -1.
pub struct BreastCancer {
    /// Row by row.
    pub features: Vec<f64>,
    pub labels: Vec<f64>,
}

impl BreastCancer {
    pub fn read() -> Result<Self, Error> {
        let (mut features, mut labels) = (Vec::new(), Vec::new());
        for (line, text) in MEASUREMENTS.lines().enumerate() {
            let row = numbers(text, FEATURES + 1, "breast_cancer.csv", line)?;
            features.extend_from_slice(&row[..FEATURES]);
            labels.push(2.0 * row[FEATURES] - 1.0);
        }
        let rows = labels.len() as f64;
        for j in 0..FEATURES {
            let column = || features.iter().skip(j).step_by(FEATURES);
            let mean = column().sum::<f64>() / rows;
            let deviation = (column().map(|value| (value - mean).powi(2)).sum::<f64>() / rows).sqrt();
            features.iter_mut().skip(j).step_by(FEATURES).for_each(|value| *value = (*value - mean) / deviation);
        }
        Ok(BreastCancer { features, labels })
    }
}

/// The numbers of a line, so many.
pub fn numbers(text: &str, count: usize, file: &str, line: usize) -> Result<Vec<f64>, Error> {
    let numbers: Option<Vec<f64>> = text.split(',').map(|field| field.parse().ok()).collect();
    numbers.filter(|numbers| numbers.len() == count).ok_or_else(|| Error::Line {
        file: file.into(),
        line: line as u64 + 1,
        message: format!("{count} numbers were expected"),
    })
}
