//! Census data: who has a high income (Adult, UCI Machine Learning Repository), encoded in double precision.

use std::path::Path;
use std::sync::Arc;

use crate::Error;

const NUMBERS: [&str; 5] = ["age", "education_num", "capital_gain", "capital_loss", "hours_per_week"];
/// Those of which `log(1 + value)` is taken.
const LOGARITHMS: [&str; 2] = ["capital_gain", "capital_loss"];
const TEXTS: [&str; 6] = ["workclass", "marital_status", "occupation", "relationship", "race", "native_country"];

/// The rows of the training file.
#[derive(Debug)]
pub struct Adult {
    numbers: Vec<[f64; NUMBERS.len()]>,
    /// Columns whose entry is 1, the intercept's among them.
    ones: Vec<[u16; TEXTS.len() + 1]>,
    /// 1 for a high income, 0 for others.
    pub income: Vec<f64>,
    /// 1 for men, 0 for women.
    pub male: Vec<f64>,
    columns: usize,
}

impl Adult {
    /// Reads `adult_train.csv` and, for its categories alone, `adult_test.csv` of a folder.
    pub fn read(folder: &Path) -> Result<Arc<Self>, Error> {
        let (train, test) = (Fields::read(&folder.join("adult_train.csv"))?, Fields::read(&folder.join("adult_test.csv"))?);
        let mut numbers = vec![[0.0; NUMBERS.len()]; train.count];
        for (j, name) in NUMBERS.into_iter().enumerate() {
            let mut column = train.numbers(name)?;
            if LOGARITHMS.contains(&name) {
                column.iter_mut().for_each(|value| *value = value.ln_1p());
            }
            let count = column.len() as f64;
            let mean = column.iter().sum::<f64>() / count;
            let deviation = (column.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0)).sqrt();
            numbers.iter_mut().zip(column).for_each(|(row, value)| row[j] = (value - mean) / deviation);
        }
        let mut ones = vec![[0; TEXTS.len() + 1]; train.count];
        let mut columns = NUMBERS.len();
        for (j, name) in TEXTS.into_iter().enumerate() {
            let mut categories: Vec<&str> = train.texts(name)?.chain(test.texts(name)?).collect();
            categories.sort_unstable();
            categories.dedup();
            for (row, text) in ones.iter_mut().zip(train.texts(name)?) {
                row[j] = (columns + categories.partition_point(|category| *category < text)) as u16;
            }
            columns += categories.len();
        }
        ones.iter_mut().for_each(|row| row[TEXTS.len()] = columns as u16);
        let male = train.texts("sex")?.map(|sex| f64::from(u8::from(sex == "Male"))).collect();
        Ok(Arc::new(Adult { numbers, ones, income: train.numbers("income")?, male, columns: columns + 1 }))
    }

    /// The number of people.
    pub fn rows(&self) -> usize {
        self.income.len()
    }

    /// The number of features, a constant among them.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// The entries of a row that are not known to be zero.
    pub fn row(&self, i: usize) -> impl Iterator<Item = (usize, f64)> {
        let ones = self.ones[i].iter().map(|&column| (usize::from(column), 1.0));
        self.numbers[i].iter().copied().enumerate().chain(ones)
    }
}

/// A file as text.
struct Fields {
    path: std::path::PathBuf,
    header: csv::StringRecord,
    rows: Vec<csv::StringRecord>,
    count: usize,
}

impl Fields {
    fn read(path: &Path) -> Result<Self, Error> {
        let unreadable = |cause: csv::Error| Error::File { file: path.into(), message: cause.to_string() };
        let mut reader = csv::Reader::from_path(path).map_err(unreadable)?;
        let header = reader.headers().map_err(unreadable)?.clone();
        let rows: Vec<csv::StringRecord> = reader.records().collect::<Result<_, _>>().map_err(unreadable)?;
        Ok(Fields { path: path.into(), header, count: rows.len(), rows })
    }

    fn texts(&self, name: &str) -> Result<impl Iterator<Item = &str>, Error> {
        let found = self.header.iter().position(|column| column == name);
        let missing = || Error::File { file: self.path.clone(), message: format!("it has no column {name:?}") };
        let column = found.ok_or_else(missing)?;
        // The reader has refused rows of another length.
        Ok(self.rows.iter().map(move |row| row.get(column).unwrap_or_default()))
    }

    fn numbers(&self, name: &str) -> Result<Vec<f64>, Error> {
        let parse = |(k, text): (usize, &str)| {
            text.parse().map_err(|_| Error::Field {
                file: self.path.clone(),
                line: k as u64 + 2,
                column: name.to_string(),
                message: format!("{text:?} is not a number"),
            })
        };
        self.texts(name)?.enumerate().map(parse).collect()
    }
}
