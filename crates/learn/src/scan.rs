//! The first reading of a column: whether it holds numbers or categories, before it is encoded.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::cell::{Decimal, MISSING, is_missing, is_word_for_missing, logarithm};
use crate::encoding::Scale;
use crate::identity::Identity;
use crate::sharing::bits;

/// A text column with more categories is refused: it is a name or a number of a person rather than a feature.
const CATEGORIES: usize = 1000;
/// One cell in this many may be something else in a column of numbers, or a number in a column of texts, before anybody is asked.
const ODD_ONE_IN: u64 = 10;
/// Fewer cells may well have as many categories.
const CROWD: u64 = 20;
/// A column whose deviation is no larger than this share of its mean is constant: that is some dozens of units in the last place, which rounding
/// alone explains.
const ROUNDING: f64 = 1e-14;

/// What a column is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Wish {
    /// Whatever its cells look like.
    None,
    /// Numbers; other cells are missing values.
    Numbers,
    /// Every value is a category.
    Categories,
    /// Numbers of which the logarithm is taken.
    Logarithms,
}

/// What a column turned out to be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Nature {
    Numbers(Scale),
    Categories,
    /// Each text is there once: no feature.
    Names,
}

/// What is known of a column so far.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Scan {
    wish: Wish,
    decimal: Decimal,
    numbers: u64,
    texts: u64,
    #[serde(with = "bits")]
    mean: f64,
    #[serde(with = "bits")]
    squares: f64,
    identity: Identity,
    /// The first cell that is neither missing nor a number, and where it is.
    pub first_text: Option<(u64, String)>,
}

impl Scan {
    pub fn new(wish: Wish, decimal: Decimal) -> Self {
        Scan { wish, decimal, numbers: 0, texts: 0, mean: 0.0, squares: 0.0, identity: Identity::new(), first_text: None }
    }

    /// Takes a cell in; the message says why it cannot be.
    pub fn add(&mut self, field: &str, place: u64) -> Result<(), String> {
        if self.wish == Wish::Categories || is_missing(field) {
            return Ok(());
        }
        let Some(value) = self.decimal.number(field) else {
            if is_word_for_missing(field) {
                return Ok(());
            }
            self.texts += 1;
            self.identity.text(field);
            self.first_text.get_or_insert_with(|| (place, field.to_string()));
            return match self.wish {
                Wish::Logarithms => Err(format!("{field:?} is not a number, so it has no logarithm")),
                _ => Ok(()),
            };
        };
        let value = if self.wish == Wish::Logarithms { logarithm(value)? } else { value };
        self.numbers += 1;
        self.identity.number(value);
        let off = value - self.mean;
        self.mean += off / self.numbers as f64;
        self.squares += off * (value - self.mean);
        Ok(())
    }

    /// What the column is.
    pub fn nature(&self) -> Result<Nature, String> {
        let known = self.numbers + self.texts;
        let few_texts = self.texts * ODD_ONE_IN <= known;
        match self.wish {
            Wish::Categories => Ok(Nature::Categories),
            Wish::None if self.are_names() => Ok(Nature::Names),
            Wish::None if !few_texts => Ok(Nature::Categories),
            Wish::Numbers if self.numbers == 0 => Err("none of its cells is a number".to_string()),
            Wish::None | Wish::Numbers | Wish::Logarithms => self.scale().map(Nature::Numbers),
        }
    }

    /// Whether each text is there once; numbers in the other notation are something else.
    fn are_names(&self) -> bool {
        let few_texts = self.texts * ODD_ONE_IN <= self.numbers + self.texts;
        let number = self.first_text.as_ref().is_some_and(|(_, text)| self.decimal.other().number(text).is_some());
        self.wish == Wish::None && !few_texts && !number && self.identity.all_differ()
    }

    fn scale(&self) -> Result<Scale, String> {
        let deviation = (self.squares / (self.numbers as f64).max(1.0)).sqrt();
        if !(self.mean.is_finite() && deviation.is_finite()) {
            return Err("its numbers are too large to be standardised".to_string());
        }
        let constant = deviation <= ROUNDING * self.mean.abs();
        Ok(Scale {
            log: self.wish == Wish::Logarithms,
            mean: self.mean,
            deviation: if constant { 1.0 } else { deviation },
            decimal: self.decimal,
            lenient: self.wish == Wish::Numbers || self.texts > 0,
        })
    }

    /// What somebody should know of the column: of its cells, or, who did not say what it is to be, of all of it.
    pub fn doubt(&self, name: &str) -> Option<(u64, String)> {
        self.identity_doubt(name).map(|message| (0, message)).or_else(|| self.cell_doubt(&argument(name)))
    }

    fn identity_doubt(&self, name: &str) -> Option<String> {
        if self.wish != Wish::None {
            return None;
        }
        let numbers_rows = self.texts == 0 && self.identity.numbers_rows(name);
        let name = argument(name);
        if numbers_rows {
            return Some(format!(
                "its whole numbers are all different, as if they only said which row is which; they are a feature unless --id {name} \
                 leaves them out"
            ));
        }
        self.are_names().then(|| {
            format!(
                "its texts are all different, so they only say which row is which and are no feature; --id {name} repeats them in \
                 predictions, --categorical {name} makes every value a category"
            )
        })
    }

    /// What somebody should know of texts that make so many categories.
    pub fn crowd(&self, name: &str, categories: usize) -> Option<(u64, String)> {
        let known = self.numbers + self.texts;
        let name = argument(name);
        let message = match &self.first_text {
            _ if self.wish != Wish::None => return None,
            Some((_, text)) if is_date(text) => format!(
                "it has dates, such as {text:?}, and each of the {categories} is a category with a weight of its own, which no other date \
                 shares; --drop {name} leaves it out, and a column of numbers, as of days or years, would be a feature"
            ),
            _ if known >= CROWD && 2 * categories as u64 > known => format!(
                "nearly all of its texts are different, and each of the {categories} is a category with a weight of its own; --id {name} \
                 or --drop {name} leaves it out"
            ),
            _ => return None,
        };
        Some((0, message))
    }

    /// Of the first cell that is no number. Who asked for numbers hears which cells are none, too.
    fn cell_doubt(&self, name: &str) -> Option<(u64, String)> {
        let (place, text) = self.first_text.as_ref()?;
        let known = self.numbers + self.texts;
        let are_missing = self.wish == Wish::Numbers || self.texts * ODD_ONE_IN <= known;
        if self.decimal.other().number(text).is_some() {
            let outcome = if are_missing { "such cells are taken as missing" } else { "every value is a category" };
            let message = match self.decimal {
                Decimal::Point => format!("{text:?} is a number with a decimal comma: {outcome} without --decimal-comma"),
                Decimal::Comma => format!("{text:?} is a number with a decimal point: {outcome} with --decimal-comma"),
            };
            return Some((*place, message));
        }
        if are_missing {
            let others = match self.texts - 1 {
                0 => "this cell is".to_string(),
                1 => "this and one more cell are".to_string(),
                more => format!("this and {more} more cells are"),
            };
            let choice = match self.wish {
                Wish::None => format!("; --categorical {name} makes every value a category"),
                _ => String::new(),
            };
            return Some((*place, format!("{text:?} is not a number: {others} taken as missing{choice}")));
        }
        (self.numbers * ODD_ONE_IN >= known).then(|| {
            let message = format!(
                "{text:?} is not a number, so every value is a category; --numeric {name} takes all that is no number as missing"
            );
            (*place, message)
        })
    }
}

/// Whether a text begins with a day: three numbers with `-`, `/` or `.` between them, one of them a year of four digits. A time may follow.
fn is_date(text: &str) -> bool {
    let day = text.split(['T', ' ']).next().unwrap_or_default();
    let is_number = |part: &&str| (1..=4).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
    ['-', '/', '.'].into_iter().any(|separator| {
        let parts: Vec<&str> = day.split(separator).collect();
        parts.len() == 3 && parts.iter().all(is_number) && parts.iter().filter(|part| part.len() == 4).count() == 1
    })
}

/// The different values of a column.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Categories {
    values: BTreeSet<String>,
    too_many: bool,
}

impl Categories {
    pub fn add(&mut self, field: &str) {
        let category = if is_missing(field) { MISSING } else { field };
        if self.too_many || self.values.contains(category) {
            return;
        }
        self.too_many = self.values.len() == CATEGORIES;
        if self.too_many {
            self.values.clear();
        } else {
            self.values.insert(category.to_string());
        }
    }

    /// Those of further rows.
    pub fn extend(&mut self, more: Categories) {
        self.too_many |= more.too_many;
        more.values.iter().for_each(|value| self.add(value));
        if self.too_many {
            self.values.clear();
        }
    }

    /// All of them in order, a missing value among them; none when there are too many.
    pub fn all(self) -> Option<Vec<String>> {
        (!self.too_many).then(|| self.values.into_iter().collect())
    }

    /// All that are known, in order; none when there are too many.
    pub fn known(&self) -> Option<Vec<String>> {
        let known = || self.values.iter().filter(|value| *value != MISSING).cloned().collect();
        (!self.too_many).then(known)
    }
}

/// A name as a shell takes it.
fn argument(name: &str) -> String {
    let plain = |letter: char| letter.is_alphanumeric() || "_-.:/+@%".contains(letter);
    if name.chars().all(plain) { name.to_string() } else { format!("'{}'", name.replace('\'', r"'\''")) }
}

/// Why a column with too many categories is refused.
pub(crate) fn too_many(example: &str) -> String {
    format!(
        "it has texts such as {example:?} and more than {CATEGORIES} different values: leave it out (--id or --drop), or make it numbers (--numeric)"
    )
}
