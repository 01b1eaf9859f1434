//! BOUNDS and OBJECT BOUND.

use super::{DEFAULT, Defaults, unknown_code};
use crate::card::Card;
use crate::decode::{Decoder, Prefix, Vector};
use crate::error::Complaint;
use crate::model::Variable;

#[derive(Clone, Copy)]
enum Bound {
    Lower,
    Upper,
    Fixed,
    Free,
    NoLower,
    NoUpper,
}

fn named(code: &str) -> Option<(Prefix, Bound)> {
    Some(match code {
        "LO" => (Prefix::None, Bound::Lower),
        "UP" => (Prefix::None, Bound::Upper),
        "FX" => (Prefix::None, Bound::Fixed),
        "FR" => (Prefix::None, Bound::Free),
        "MI" => (Prefix::None, Bound::NoLower),
        "PL" => (Prefix::None, Bound::NoUpper),
        _ => {
            let (prefix, letter) = Prefix::split(code);
            let bound = match (prefix, letter) {
                (Prefix::None, _) => return None,
                (_, "L") => Bound::Lower,
                (_, "U") => Bound::Upper,
                (_, "X") => Bound::Fixed,
                (_, "R") => Bound::Free,
                (_, "M") => Bound::NoLower,
                (_, "P") => Bound::NoUpper,
                _ => return None,
            };
            (prefix, bound)
        }
    })
}

/// A card of the BOUNDS section.
pub(super) fn bound(decoder: &mut Decoder, card: &Card) -> Result<(), Complaint> {
    let expected = "LO, UP, FX, FR, MI, PL, or L, U, X, R, M, P after X, or L, U, X after Z";
    let (prefix, bound) = named(&card.code).ok_or_else(|| unknown_code(card, expected))?;
    if !decoder.in_first_vector(Vector::Bounds, card) {
        return Ok(());
    }
    let value = match bound {
        Bound::Lower | Bound::Upper | Bound::Fixed => decoder.value(card, prefix)?,
        _ => 0.0,
    };
    if &*card.field3.text == DEFAULT {
        set_default(&mut decoder.defaults, bound, value);
        for variable in &mut decoder.model.variables {
            (variable.lower, variable.upper) = (decoder.defaults.lower, decoder.defaults.upper);
        }
        return Ok(());
    }
    let variable = decoder.variable(card, &card.field3, prefix.array())?;
    set(&mut decoder.model.variables[variable], &decoder.defaults, bound, value);
    Ok(())
}

fn set_default(defaults: &mut Defaults, bound: Bound, value: f64) {
    match bound {
        Bound::Lower => defaults.lower = value,
        Bound::Upper => defaults.upper = value,
        Bound::Fixed => (defaults.lower, defaults.upper) = (value, value),
        Bound::Free => (defaults.lower, defaults.upper) = (f64::NEG_INFINITY, f64::INFINITY),
        Bound::NoLower => defaults.lower = f64::NEG_INFINITY,
        Bound::NoUpper => defaults.upper = f64::INFINITY,
    }
}

fn set(variable: &mut Variable, defaults: &Defaults, bound: Bound, value: f64) {
    // MPS: while the bounds are still the original defaults [0, inf), an upper bound that is not positive takes the lower one
    // away, and MI brings the upper one to zero.
    let untouched = (defaults.lower, defaults.upper) == (0.0, f64::INFINITY)
        && (variable.lower, variable.upper) == (defaults.lower, defaults.upper);
    match bound {
        Bound::Lower => variable.lower = value,
        Bound::Upper => {
            variable.upper = value;
            if untouched && value <= 0.0 {
                variable.lower = f64::NEG_INFINITY;
            }
        }
        Bound::Fixed => (variable.lower, variable.upper) = (value, value),
        Bound::Free => (variable.lower, variable.upper) = (f64::NEG_INFINITY, f64::INFINITY),
        Bound::NoLower => {
            variable.lower = f64::NEG_INFINITY;
            if untouched {
                variable.upper = 0.0;
            }
        }
        Bound::NoUpper => variable.upper = f64::INFINITY,
    }
}

/// A card of the OBJECT BOUND section.
pub(super) fn objective_bound(decoder: &mut Decoder, card: &Card) -> Result<(), Complaint> {
    let (prefix, lower) = match &*card.code {
        "LO" => (Prefix::None, true),
        "UP" => (Prefix::None, false),
        "XL" => (Prefix::X, true),
        "XU" => (Prefix::X, false),
        "ZL" => (Prefix::Z, true),
        "ZU" => (Prefix::Z, false),
        _ => return Err(unknown_code(card, "LO, UP, XL, XU, ZL or ZU")),
    };
    if !decoder.in_first_vector(Vector::ObjectBound, card) {
        return Ok(());
    }
    let value = decoder.value(card, prefix)?;
    match lower {
        true => decoder.model.objective_lower = value,
        false => decoder.model.objective_upper = value,
    }
    Ok(())
}
