//! The first reading of a column: what it holds, before it is encoded.

use std::collections::BTreeSet;

use crate::encoding::{MISSING, is_missing, logarithm, number};
use crate::{Column, Kind};

/// A text column with more categories is refused: it is a name or a number of a person rather than a feature.
const CATEGORIES: usize = 1000;

/// What is known of a column so far.
#[derive(Debug)]
pub(crate) struct Scan {
    name: String,
    log: bool,
    count: f64,
    mean: f64,
    squares: f64,
    /// The first field that is neither missing nor a number.
    text: Option<(u64, String)>,
    categories: BTreeSet<String>,
    too_many: bool,
}

impl Scan {
    pub fn new(name: &str, log: bool) -> Self {
        Scan {
            name: name.to_string(),
            log,
            count: 0.0,
            mean: 0.0,
            squares: 0.0,
            text: None,
            categories: BTreeSet::new(),
            too_many: false,
        }
    }

    /// Takes a field in; the message says why it cannot be.
    pub fn add(&mut self, field: &str, line: u64) -> Result<(), String> {
        let missing = is_missing(field);
        self.add_category(if missing { MISSING } else { field });
        if missing || self.text.is_some() {
            return Ok(());
        }
        let Some(value) = number(field) else {
            self.text = Some((line, field.to_string()));
            return if self.log { Err(format!("{field:?} is not a number, so it has no logarithm")) } else { Ok(()) };
        };
        let value = if self.log { logarithm(value)? } else { value };
        self.count += 1.0;
        let off = value - self.mean;
        self.mean += off / self.count;
        self.squares += off * (value - self.mean);
        Ok(())
    }

    fn add_category(&mut self, category: &str) {
        if self.too_many || self.categories.contains(category) {
            return;
        }
        self.too_many = self.categories.len() == CATEGORIES;
        if self.too_many {
            // Very likely numbers, so the categories will not be needed.
            self.categories.clear();
        } else {
            self.categories.insert(category.to_string());
        }
    }

    /// The line of the first text, if there is one.
    pub fn line(&self) -> u64 {
        self.text.as_ref().map_or(1, |(line, _)| *line)
    }

    /// The different values in order; `None` when there are too many.
    pub fn values(&self) -> Option<Vec<String>> {
        let known = || self.categories.iter().filter(|value| *value != MISSING).cloned().collect();
        (!self.too_many).then(known)
    }

    /// How the column is encoded.
    pub fn finish(self) -> Result<Column, String> {
        let kind = match self.text {
            Some((_, text)) if self.too_many => {
                return Err(format!(
                    "it has texts such as {text:?} and more than {CATEGORIES} different values: drop it, or make it numbers"
                ));
            }
            Some(_) => Kind::Text { categories: self.categories.into_iter().collect() },
            None => {
                let deviation = (self.squares / self.count.max(1.0)).sqrt();
                if !(self.mean.is_finite() && deviation.is_finite()) {
                    return Err("its numbers are too large to be standardised".to_string());
                }
                // Rounding alone explains a deviation this small.
                let constant = deviation <= 1e-14 * self.mean.abs();
                Kind::Number { log: self.log, mean: self.mean, deviation: if constant { 1.0 } else { deviation } }
            }
        };
        Ok(Column { name: self.name, kind })
    }
}
