//! START POINT.

use super::{DEFAULT, unknown_code};
use crate::card::Card;
use crate::decode::{Decoder, Prefix, Vector};
use crate::error::Complaint;
use crate::names::Name;

/// A card of the START POINT section: `V` is for variables, `M` for multipliers, neither for both.
pub(super) fn start(decoder: &mut Decoder, card: &Card) -> Result<(), Complaint> {
    let (prefix, letter) = Prefix::split(&card.code);
    if !matches!(letter, "" | "V" | "M") {
        return Err(unknown_code(card, "blank, V or M, or one of these after X or Z"));
    }
    if !decoder.in_first_vector(Vector::Start, card) {
        return Ok(());
    }
    for (name, value) in decoder.pairs(card, prefix)?.into_iter().flatten() {
        if &*name.text == DEFAULT {
            set_default(decoder, letter, value);
        } else {
            set(decoder, card, name, prefix.array(), letter, value)?;
        }
    }
    Ok(())
}

fn set_default(decoder: &mut Decoder, letter: &str, value: f64) {
    if letter != "M" {
        decoder.defaults.start = value;
        decoder.model.variables.iter_mut().for_each(|variable| variable.start = value);
    }
    if letter != "V" {
        decoder.model.groups.iter_mut().for_each(|group| group.multiplier = value);
    }
}

fn set(decoder: &mut Decoder, card: &Card, name: &Name, array: bool, letter: &str, value: f64) -> Result<(), Complaint> {
    match letter {
        "V" => {
            let variable = decoder.variable(card, name, array)?;
            decoder.model.variables[variable].start = value;
        }
        "M" => {
            let group = decoder.group(card, name, array)?;
            decoder.model.groups[group].multiplier = value;
        }
        _ => decoder.with_name(card, name, array, |decoder, expanded| {
            if let Some(variable) = decoder.model.variable_names.find(expanded) {
                decoder.model.variables[variable].start = value;
            } else if let Some(group) = decoder.model.group_names.find(expanded) {
                decoder.model.groups[group].multiplier = value;
            } else {
                return Err(card.complain(name.column, format!("there is no variable and no group '{expanded}'")));
            }
            Ok(())
        })?,
    }
    Ok(())
}
