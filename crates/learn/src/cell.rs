//! What stands in one cell of a table.

use serde::{Deserialize, Serialize};

/// How numbers are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decimal {
    /// `1234.5` or `1,234.5`
    #[default]
    Point,
    /// `1234,5` or `1.234,5`
    Comma,
}

impl Decimal {
    /// The other way.
    pub(crate) fn other(self) -> Self {
        match self {
            Decimal::Point => Decimal::Comma,
            Decimal::Comma => Decimal::Point,
        }
    }

    /// A finite number, with or without separators between its thousands, a sign of money, or `%`, which means hundredths.
    pub(crate) fn number(self, field: &str) -> Option<f64> {
        self.bare(field).or_else(|| self.with_unit(field))
    }

    fn bare(self, field: &str) -> Option<f64> {
        let plain = self == Decimal::Point || !field.contains(['.', ',']);
        let value = if plain { field.parse().ok().or_else(|| self.grouped(field)) } else { self.grouped(field) };
        value.filter(|value: &f64| value.is_finite())
    }

    fn with_unit(self, field: &str) -> Option<f64> {
        if let Some(hundredths) = field.strip_suffix('%') {
            return self.bare(hundredths.trim_end()).map(|value| value / 100.0);
        }
        let (sign, amount) = field.strip_prefix('-').map_or(("", field), |amount| ("-", amount));
        let amount = amount.strip_prefix(MONEY).or_else(|| amount.strip_suffix(MONEY))?;
        self.bare(&format!("{sign}{}", amount.trim()))
    }

    fn grouped(self, field: &str) -> Option<f64> {
        let (mark, separators) = match self {
            Decimal::Point => ('.', [',', ' ', '\'', '\u{a0}', '\u{202f}']),
            Decimal::Comma => (',', ['.', ' ', '\'', '\u{a0}', '\u{202f}']),
        };
        let digits = field.strip_prefix(['-', '+']).unwrap_or(field);
        let sign = if field.starts_with('-') { "-" } else { "" };
        let (whole, fraction) = digits.split_once(mark).unwrap_or((digits, "0"));
        let separator = whole.chars().find(|letter| separators.contains(letter));
        let groups: Vec<&str> = separator.map_or_else(|| vec![whole], |separator| whole.split(separator).collect());
        let all_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let rightly_grouped = groups.len() == 1 || (groups[0].len() <= 3 && groups[1..].iter().all(|group| group.len() == 3));
        let is_number = rightly_grouped && groups.iter().all(|group| all_digits(group)) && all_digits(fraction);
        is_number.then(|| format!("{sign}{}.{fraction}", groups.concat()).parse().ok()).flatten()
    }
}

/// Signs that stand before or after an amount.
const MONEY: [char; 4] = ['$', '€', '£', '¥'];

/// What a missing value is called as a category.
pub(crate) const MISSING: &str = "?";

/// Whether a cell of any column says that its value is not known.
pub(crate) fn is_missing(field: &str) -> bool {
    matches!(
        field,
        "" | "?" | "NA" | "N/A" | "n/a" | "#N/A" | "<NA>" | "NaN" | "nan" | "-nan" | "-NaN" | "null" | "NULL" | "None"
    )
}

/// Whether a cell of a column of numbers says so, in words that elsewhere may be values.
pub(crate) fn is_word_for_missing(field: &str) -> bool {
    const WORDS: [&str; 12] =
        ["-", "--", ".", "na", "n.a.", "none", "null", "unknown", "missing", "not available", "unspecified", "nil"];
    WORDS.iter().any(|word| field.eq_ignore_ascii_case(word))
}

/// The logarithm that `log` columns take: `log(1 + value)`, where there is one.
pub(crate) fn logarithm(value: f64) -> Result<f64, String> {
    if value > -1.0 { Ok(value.ln_1p()) } else { Err(format!("log(1 + value) does not exist for {value}")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_people_write_them() {
        let point = |field| Decimal::Point.number(field);
        assert_eq!(
            ["-3", "1e3", ".5", "1,000", "-12,345,678.25", "1 000", "1'000"].map(point),
            [Some(-3.0), Some(1000.0), Some(0.5), Some(1000.0), Some(-12_345_678.25), Some(1000.0), Some(1000.0)]
        );
        assert_eq!(
            ["inf", "NaN", "1,00", "1,0000", ",100", "1,000,", "12a", "1,000.", "1.5.2", "1,2 345"].map(point),
            [None; 10]
        );
        assert_eq!(
            ["47%", "12.5 %", "$1,000.50", "-$3", "$-3", "7 €", "£.5"].map(point),
            [Some(0.47), Some(0.125), Some(1000.5), Some(-3.0), Some(-3.0), Some(7.0), Some(0.5)]
        );
        assert_eq!(["%", "$", "1$5", "$5$", "--$5", "5%%", "$5%"].map(point), [None; 7]);
        let comma = |field| Decimal::Comma.number(field);
        assert_eq!(["1.234,5 €", "2,5%"].map(comma), [Some(1234.5), Some(0.025)]);
        assert_eq!(
            ["1,5", "1.000", "-1.234,5", "7", "1.5"].map(comma),
            [Some(1.5), Some(1000.0), Some(-1234.5), Some(7.0), None]
        );
    }

    #[test]
    fn words_for_missing_values_are_known() {
        assert!(["", "?", "NA", "null", "N/A"].into_iter().all(is_missing));
        assert!(!["no", "unknown", "0"].into_iter().any(is_missing));
        assert!(["Unknown", "-", "MISSING"].into_iter().all(is_word_for_missing) && !is_word_for_missing("no"));
    }
}
