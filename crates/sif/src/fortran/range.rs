//! The range transformation `u = W v` from the variables of an element to its internal ones.

use super::TypeDeclaration;
use super::part::Individual;
use super::text::{Fault, Name, Parsed, Place};

/// The transformation of one type, by rows.
#[derive(Debug)]
pub(super) struct Range {
    /// The names in which derivatives are coded: the internal variables, or the elemental ones when there are no others.
    pub names: Vec<String>,
    /// The nonzero coefficients of each internal variable (column, value); empty when there are no internal variables.
    pub rows: Vec<Vec<(usize, f64)>>,
    /// How many elemental variables there are.
    pub columns: usize,
}

impl Range {
    pub fn new(individual: &Individual, declaration: &TypeDeclaration) -> Parsed<Self> {
        let capitals = |names: &[String]| names.iter().map(|name| name.to_ascii_uppercase()).collect::<Vec<_>>();
        let (elementals, internals) = (capitals(&declaration.variables), capitals(&declaration.internals));
        let mut rows: Vec<Vec<(usize, f64)>> = vec![Vec::new(); internals.len()];
        for coefficient in &individual.transformation {
            let row = position(&internals, &coefficient.internal, "an internal variable")?;
            let column = position(&elementals, &coefficient.elemental, "an elemental variable")?;
            match rows[row].iter_mut().find(|(other, _)| *other == column) {
                Some((_, value)) => *value = coefficient.value,
                None => rows[row].push((column, coefficient.value)),
            }
        }
        if let Some(missing) = rows.iter().position(Vec::is_empty) {
            let message =
                format!("type {} has no R card for its internal variable {}", individual.name, declaration.internals[missing]);
            return Err(Fault::new(individual.place, message));
        }
        let columns = elementals.len();
        Ok(Range { names: if internals.is_empty() { elementals } else { internals }, rows, columns })
    }

    /// True when there are no internal variables.
    pub fn is_identity(&self) -> bool {
        self.rows.is_empty()
    }

    /// The variable that a G card names; a group has but one and need not name it.
    pub fn index(&self, name: Option<&Name>, place: Place) -> Parsed<usize> {
        match name {
            Some(name) => position(&self.names, name, "a variable in which derivatives are taken"),
            None if self.names.len() == 1 => Ok(0),
            None => Err(Fault::new(place, "the card does not name the variables of its derivative")),
        }
    }

    /// The entry of the packed lower triangle that an H card names.
    pub fn pair(&self, names: Option<&(Name, Name)>, place: Place) -> Parsed<usize> {
        let (i, j) = match names {
            Some((first, second)) => (self.index(Some(first), place)?, self.index(Some(second), place)?),
            None => (self.index(None, place)?, 0),
        };
        Ok(packed(i.max(j), i.min(j)))
    }

    /// Visits the terms of `W' H W`, lower triangles packed: entry of H, entry of the result, coefficient.
    pub fn each_coefficient(&self, mut visit: impl FnMut(usize, usize, f64)) {
        for k in 0..self.rows.len() {
            for l in 0..=k {
                for &(i, left) in &self.rows[k] {
                    for &(j, right) in &self.rows[l] {
                        // H is symmetric: an entry off its diagonal stands for two, one of which may fall in the upper triangle
                        // of the result.
                        if i >= j {
                            visit(packed(k, l), packed(i, j), left * right);
                        }
                        if k != l && j >= i {
                            visit(packed(k, l), packed(j, i), left * right);
                        }
                    }
                }
            }
        }
    }
}

/// The place of entry (i, j), j <= i, in a packed lower triangle.
pub(super) fn packed(i: usize, j: usize) -> usize {
    i * (i + 1) / 2 + j
}

fn position(names: &[String], name: &Name, what: &str) -> Parsed<usize> {
    names.iter().position(|known| *known == name.text).ok_or_else(|| {
        let known = if names.is_empty() { "it has none".into() } else { format!("expected one of {}", names.join(", ")) };
        Fault::new(name.place, format!("{} is not {what} of the type: {known}", name.text))
    })
}
