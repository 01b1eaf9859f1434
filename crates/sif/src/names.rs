//! Names: scalar ones, array names such as `X(I,J)` that expand with the values of their indices, and tables of names.

use std::collections::HashMap;
use std::fmt::Write;
use std::hash::{BuildHasher, RandomState};

/// Gives every text that occurs as a name in the file a number, so that parameters are looked up by index inside loops.
#[derive(Debug, Default)]
pub(crate) struct Lexicon {
    numbers: HashMap<Box<str>, usize>,
}

impl Lexicon {
    pub fn number(&mut self, text: &str) -> usize {
        let next = self.numbers.len();
        match self.numbers.get(text) {
            Some(&number) => number,
            None => *self.numbers.entry(text.into()).or_insert(next),
        }
    }

    pub fn len(&self) -> usize {
        self.numbers.len()
    }
}

/// A name as it is written in a field.
#[derive(Clone, Debug)]
pub(crate) struct Name {
    pub text: Box<str>,
    /// Where the field begins.
    pub column: usize,
    /// Its number in the lexicon.
    pub number: usize,
    /// The array name that it may be.
    array: Option<Array>,
}

#[derive(Clone, Debug)]
struct Array {
    /// What stands before the bracket.
    stem: Box<str>,
    /// The integer parameters between the brackets: their text and number.
    indices: Vec<(Box<str>, usize)>,
}

impl Name {
    pub fn new(text: &str, column: usize, lexicon: &mut Lexicon) -> Self {
        let number = lexicon.number(text);
        // What follows the closing bracket says nothing to the original decoder: `U(I)SQ` is `U3` when `I` is 3.
        let bracketed = text.split_once('(').and_then(|(stem, rest)| Some((stem, rest.split_once(')')?.0)));
        let array = bracketed.map(|(stem, list)| Array {
            stem: stem.into(),
            indices: list
                .split(',')
                .filter(|index| !index.is_empty())
                .map(|index| (index.into(), lexicon.number(index)))
                .collect(),
        });
        Name { text: text.into(), column, number, array }
    }

    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Writes the expanded name; the error is the name of an index without a value.
    pub fn expand<'a>(&'a self, values: &[Option<i64>], buffer: &'a mut String) -> Result<&'a str, &'a str> {
        let Some(array) = &self.array else { return Ok(&self.text) };
        buffer.clear();
        buffer.push_str(&array.stem);
        for (k, (index, number)) in array.indices.iter().enumerate() {
            let value = values.get(*number).copied().flatten().ok_or(&**index)?;
            if k > 0 {
                buffer.push(',');
            }
            // Writing to a string cannot fail.
            let _ = write!(buffer, "{value}");
        }
        Ok(buffer)
    }
}

/// The names of one kind of thing, numbered from 0 in the order of their first appearance.
///
/// There may be millions: all names stand in one text, and the table that finds them holds nothing but numbers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    text: String,
    /// Where each name ends.
    ends: Vec<usize>,
    /// Open addressing; a power of two of places, at most half of them taken. 0 is free, else the number of a name plus one.
    table: Vec<u32>,
    hasher: RandomState,
}

impl Names {
    /// How much memory they take.
    pub fn bytes(&self) -> usize {
        self.text.len() + size_of_val(&*self.ends) + size_of_val(&*self.table)
    }

    pub fn find(&self, name: &str) -> Option<usize> {
        let mask = self.table.len().checked_sub(1)?;
        let mut place = self.hasher.hash_one(name) as usize & mask;
        while let Some(number) = (self.table[place] as usize).checked_sub(1) {
            if self.get(number) == name {
                return Some(number);
            }
            place = (place + 1) & mask;
        }
        None
    }

    /// Adds a name that is not there yet.
    pub fn add(&mut self, name: &str) -> usize {
        let number = self.ends.len();
        self.text.push_str(name);
        self.ends.push(self.text.len());
        if self.ends.len() * 2 > self.table.len() {
            self.table = vec![0; (self.ends.len() * 4).next_power_of_two()];
            (0..number).for_each(|earlier| self.enter(earlier));
        }
        self.enter(number);
        number
    }

    /// Enters a name into the table.
    fn enter(&mut self, number: usize) {
        let mask = self.table.len() - 1;
        let mut place = self.hasher.hash_one(self.get(number)) as usize & mask;
        while self.table[place] != 0 {
            place = (place + 1) & mask;
        }
        self.table[place] = number as u32 + 1;
    }

    pub fn get(&self, number: usize) -> &str {
        let start = if number == 0 { 0 } else { self.ends[number - 1] };
        &self.text[start..self.ends[number]]
    }

    pub fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.ends.len()).map(|number| self.get(number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn array_names_expand() {
        let mut lexicon = Lexicon::default();
        let names: Vec<Name> =
            ["X(I,J,K)", "Y()", "Z(I,,K)", "W(", "X", "U(K)SQ/2"].iter().map(|text| Name::new(text, 5, &mut lexicon)).collect();
        let mut values = vec![None; lexicon.len()];
        for (index, value) in [("I", -6), ("J", 0), ("K", 3)] {
            values[lexicon.number(index)] = Some(value);
        }
        let mut buffer = String::new();
        let expanded: Vec<String> = names.iter().map(|name| name.expand(&values, &mut buffer).unwrap().to_string()).collect();
        assert_eq!(expanded, ["X-6,0,3", "Y", "Z-6,3", "W(", "X", "U3"]);
        values[lexicon.number("J")] = None;
        assert_eq!(names[0].expand(&values, &mut buffer), Err("J"));
    }

    #[test]
    fn names_are_found_again() {
        let mut names = Names::default();
        assert_eq!(names.find("X0"), None);
        for number in 0..1000 {
            assert_eq!(names.add(&format!("X{number}")), number);
        }
        for number in 0..1000 {
            assert_eq!(names.find(&format!("X{number}")), Some(number));
        }
        assert_eq!((names.get(999), names.find("X1000"), names.find("")), ("X999", None, None));
        assert_eq!(names.iter().nth(7), Some("X7"));
    }
}
