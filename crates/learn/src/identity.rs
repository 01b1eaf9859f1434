//! Whether a column only says which row is which: a name, a code or a running number, which no feature should be.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use serde::{Deserialize, Serialize};

use crate::sharing::bits;

/// Fewer values may all differ in any column.
const FEWEST: u64 = 20;
/// So many different values at the beginning of a file are taken for all of them.
const MOST: usize = 1 << 20;
/// Whole numbers count as codes where the chance that numbers drawn from their range never repeat is below `exp(-UNLIKELY)`.
const UNLIKELY: f64 = 10.0;
/// Names of columns that say it, alone or as the last word.
const NAMES: [&str; 8] = ["id", "ids", "uuid", "guid", "index", "key", "rowid", "rownumber"];

/// The different values of a column, as long as none repeats.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Identity {
    /// Hashes; none once a value has come again, or a number that is not whole.
    seen: Option<HashSet<u64>>,
    cells: u64,
    #[serde(with = "bits")]
    least: f64,
    #[serde(with = "bits")]
    greatest: f64,
}

impl Identity {
    pub fn new() -> Self {
        Identity { seen: Some(HashSet::new()), cells: 0, least: f64::INFINITY, greatest: f64::NEG_INFINITY }
    }

    /// Takes a number in.
    pub fn number(&mut self, value: f64) {
        if value.fract() != 0.0 {
            self.seen = None;
        }
        (self.least, self.greatest) = (self.least.min(value), self.greatest.max(value));
        // The two zeros are one number.
        self.add((value + 0.0).to_bits());
    }

    /// Takes a text in.
    pub fn text(&mut self, field: &str) {
        self.add(field);
    }

    fn add(&mut self, value: impl Hash) {
        self.cells += 1;
        let Some(seen) = self.seen.as_mut().filter(|seen| seen.len() < MOST) else { return };
        let mut hasher = DefaultHasher::new();
        value.hash(&mut hasher);
        if !seen.insert(hasher.finish()) {
            self.seen = None;
        }
    }

    /// Whether no text and no whole number repeats, of enough to tell.
    pub fn all_differ(&self) -> bool {
        self.cells >= FEWEST && self.seen.is_some()
    }

    /// Whether the column, of numbers alone, has whole ones that never repeat though by chance they would, or by its name should not. Of `n`
    /// numbers drawn from `r` different ones, whatever their distribution, none repeats with a probability of at most
    /// `exp(-n (n - 1) / (2 r))`.
    pub fn numbers_rows(&self, name: &str) -> bool {
        let n = self.cells as f64;
        let range = self.greatest - self.least + 1.0;
        self.all_differ() && (says_so(name) || n * (n - 1.0) / (2.0 * range) >= UNLIKELY)
    }
}

/// Whether a name ends with a word for identifiers: `id`, `customer_id`, `Customer ID`, `customerId`.
fn says_so(name: &str) -> bool {
    let mut words = vec![String::new()];
    let mut before = None;
    for letter in name.chars() {
        let begins = letter.is_uppercase() && before.is_some_and(char::is_lowercase);
        if begins || !letter.is_alphanumeric() {
            words.push(String::new());
        }
        if letter.is_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.extend(letter.to_lowercase());
        }
        before = Some(letter);
    }
    words.iter().rfind(|word| !word.is_empty()).is_some_and(|word| NAMES.contains(&word.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(numbers: impl IntoIterator<Item = f64>) -> Identity {
        let mut identity = Identity::new();
        numbers.into_iter().for_each(|number| identity.number(number));
        identity
    }

    #[test]
    fn names_are_taken_by_their_last_word() {
        for name in ["id", "ID", "customer_id", "Customer ID", "customerId", "PassengerId", "uuid", "id_"] {
            assert!(says_so(name), "{name}");
        }
        for name in ["paid", "grid", "idle", "id_count", "humid", "", "_"] {
            assert!(!says_so(name), "{name}");
        }
    }

    #[test]
    fn numbers_in_a_narrow_range_that_never_repeat_are_codes() {
        // 21 * 20 / (2 * 21) = 10, 20 * 19 / (2 * 20) = 9.5
        assert!(of((0..21).map(f64::from)).numbers_rows("x"));
        assert!(!of((0..20).map(f64::from)).numbers_rows("x") && of((0..20).map(f64::from)).numbers_rows("id"));
        assert!(!of((0..19).map(f64::from)).numbers_rows("id"), "too few to tell");
        // 100 * 99 / (2 * 991) = 4.99...
        assert!(!of((0..100).map(|i| 10.0 * f64::from(i))).numbers_rows("pay"));
        assert!(!of((0..100).map(|i| 0.5 * f64::from(i))).numbers_rows("id"), "no whole numbers");
        assert!(!of((0..100).chain([7]).map(f64::from)).numbers_rows("id"), "one repeats");
        assert!(!of((0..100).map(f64::from).chain([-0.0])).numbers_rows("id"), "zero repeats");
    }
}
