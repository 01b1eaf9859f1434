//! Integer and real parameters, and the cards that give them values.

use std::collections::{BTreeMap, HashMap};

use crate::card::{Card, Number};
use crate::error::Complaint;
use crate::names::{Lexicon, Name};

/// The values of all parameters. Integer and real ones live apart: the same name may stand for one of each.
#[derive(Debug, Default)]
pub(crate) struct Parameters {
    /// By number in the lexicon.
    pub integers: Vec<Option<i64>>,
    /// By expanded name, so that the array item `A(I)` and the scalar `A3` are the same.
    reals: HashMap<Box<str>, f64>,
    overrides: Vec<Override>,
}

/// A value from outside.
#[derive(Debug)]
struct Override {
    name: String,
    /// In the lexicon.
    number: usize,
    value: f64,
    used: bool,
}

/// True when field 1 says that the card gives a parameter its value. A single letter names a parameter without a value.
pub(crate) fn is_assignment(code: &str) -> bool {
    let (operations, operation) = match code.split_at_checked(1) {
        Some(("I", operation)) => ("ERASMD=+-*/", operation),
        Some(("R" | "A", operation)) => ("EIASMDF=+-*/(", operation),
        _ => return false,
    };
    operation.len() <= 1 && operations.contains(operation)
}

impl Parameters {
    pub fn new(lexicon: &mut Lexicon, overrides: &BTreeMap<String, f64>) -> Self {
        let replaced = |(name, value): (&String, &f64)| Override {
            name: name.clone(),
            number: lexicon.number(name),
            value: *value,
            used: false,
        };
        let overrides = overrides.iter().map(replaced).collect();
        Parameters { integers: vec![None; lexicon.len()], reals: HashMap::new(), overrides }
    }

    /// The first value from outside that no card asked for.
    pub fn unused(&self) -> Option<&str> {
        self.overrides.iter().find(|one| !one.used).map(|one| one.name.as_str())
    }

    /// How many real values are kept.
    pub fn len(&self) -> usize {
        self.reals.len()
    }

    /// The name that a field stands for.
    pub fn expand<'a>(&self, card: &Card, name: &'a Name, array: bool, buffer: &'a mut String) -> Result<&'a str, Complaint> {
        if !array {
            return Ok(&name.text);
        }
        name.expand(&self.integers, buffer).map_err(|index| {
            card.complain(
                name.column,
                format!("the index '{index}' of '{}' is an integer parameter without a value", name.text),
            )
        })
    }

    pub fn integer(&self, card: &Card, name: &Name) -> Result<i64, Complaint> {
        self.integers
            .get(name.number)
            .copied()
            .flatten()
            .ok_or_else(|| card.complain(name.column, format!("the integer parameter '{}' has no value", name.text)))
    }

    pub fn real(&self, card: &Card, name: &Name, array: bool) -> Result<f64, Complaint> {
        let mut buffer = String::new();
        let key = self.expand(card, name, array, &mut buffer)?;
        match self.reals.get(key) {
            Some(value) => Ok(*value),
            None => Err(card.complain(name.column, format!("the real parameter '{key}' has no value"))),
        }
    }

    /// Carries out a card that [`is_assignment`]. Values from outside replace those of `IE` and `RE` cards outside loops.
    pub fn assign(&mut self, card: &Card, in_loop: bool) -> Result<(), Complaint> {
        if card.field2.is_empty() {
            return Err(card.complain(card.field2.column, "the name of a parameter was expected in field 2"));
        }
        if card.code.len() == 1 {
            return Ok(());
        }
        let mut outside = None;
        if !in_loop && matches!(&*card.code, "IE" | "RE") {
            for one in self.overrides.iter_mut().filter(|one| one.number == card.field2.number) {
                one.used = true;
                outside = Some(one.value);
            }
        }
        if card.code.starts_with('I') {
            let value = match outside {
                Some(value) => whole(card, value, card.field2.column)?,
                None => self.integer_value(card)?,
            };
            self.integers[card.field2.number] = Some(value);
        } else {
            let array = card.code.starts_with('A');
            let value = match outside {
                Some(value) => value,
                None => self.real_value(card, array)?,
            };
            let mut buffer = String::new();
            let key = self.expand(card, &card.field2, array, &mut buffer)?;
            match self.reals.get_mut(key) {
                Some(old) => *old = value,
                None => drop(self.reals.insert(key.into(), value)),
            }
        }
        Ok(())
    }

    fn integer_value(&self, card: &Card) -> Result<i64, Complaint> {
        let first = || self.integer(card, &card.field3);
        let second = || self.integer(card, &card.field5);
        let number = || integer_number(card, &card.field4);
        let result = match card.code.as_bytes()[1] {
            b'E' => Some(number()?),
            // The nearest integer towards zero.
            b'R' => return whole(card, self.real(card, &card.field3, false)?.trunc(), card.field3.column),
            b'A' => first()?.checked_add(number()?),
            b'S' => number()?.checked_sub(first()?),
            b'M' => first()?.checked_mul(number()?),
            b'D' => number()?.checked_div(first()?),
            b'=' => Some(first()?),
            b'+' => first()?.checked_add(second()?),
            b'-' => first()?.checked_sub(second()?),
            b'*' => first()?.checked_mul(second()?),
            _ => first()?.checked_div(second()?),
        };
        result.ok_or_else(|| {
            card.complain(card.field3.column, "this integer arithmetic divides by zero or leaves the range of 64 bits")
        })
    }

    fn real_value(&self, card: &Card, array: bool) -> Result<f64, Complaint> {
        let first = || self.real(card, &card.field3, array);
        let second = || self.real(card, &card.field5, array);
        let number = || card.number(&card.field4);
        let value = match card.code.as_bytes()[1] {
            b'E' => number()?,
            // The original decoder converts in single precision, and files with large integers have its values.
            b'I' => f64::from(self.integer(card, &card.field3)? as f32),
            b'A' => first()? + number()?,
            b'S' => number()? - first()?,
            b'M' => first()? * number()?,
            b'D' => number()? / first()?,
            b'F' => function(card, number()?)?,
            b'=' => first()?,
            b'+' => first()? + second()?,
            b'-' => first()? - second()?,
            b'*' => first()? * second()?,
            b'/' => first()? / second()?,
            _ => function(card, second()?)?,
        };
        if value.is_finite() {
            return Ok(value);
        }
        Err(card.complain(card.field3.column, format!("the value of the parameter '{}' would be {value}", card.field2.text)))
    }
}

fn integer_number(card: &Card, field: &Number) -> Result<i64, Complaint> {
    whole(card, card.number(field)?, field.column)
}

fn whole(card: &Card, value: f64, column: usize) -> Result<i64, Complaint> {
    // Beyond 2^53 not every integer is a number.
    if value.trunc() != value || value.abs() > 9e15 {
        return Err(card.complain(column, format!("an integer was expected, not {value}")));
    }
    Ok(value as i64)
}

fn function(card: &Card, x: f64) -> Result<f64, Complaint> {
    Ok(match &*card.field3.text {
        "ABS" => x.abs(),
        "SQRT" => x.sqrt(),
        "EXP" => x.exp(),
        "LOG" => x.ln(),
        "LOG10" => x.log10(),
        "SIN" => x.sin(),
        "COS" => x.cos(),
        "TAN" => x.tan(),
        "ARCSIN" => x.asin(),
        "ARCCOS" => x.acos(),
        "ARCTAN" => x.atan(),
        "HYPSIN" => x.sinh(),
        "HYPCOS" => x.cosh(),
        "HYPTAN" => x.tanh(),
        other => {
            let known = "ABS, SQRT, EXP, LOG, LOG10, SIN, COS, TAN, ARCSIN, ARCCOS, ARCTAN, HYPSIN, HYPCOS or HYPTAN";
            return Err(card.complain(card.field3.column, format!("'{other}' is not one of the functions {known}")));
        }
    })
}
