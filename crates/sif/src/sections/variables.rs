//! VARIABLES and QUADRATIC.

use super::unknown_code;
use crate::card::Card;
use crate::decode::{Decoder, Prefix};
use crate::error::Complaint;
use crate::model::{Variable, VariableKind};

/// A card of the VARIABLES section (where the collection also writes `INTEGER` without quotes): a variable, with linear coefficients when the groups are known already.
pub(super) fn variable(decoder: &mut Decoder, card: &Card) -> Result<(), Complaint> {
    let (prefix, rest) = Prefix::split(&card.code);
    if !rest.is_empty() {
        return Err(unknown_code(card, "blank, X or Z"));
    }
    if &*card.field3.text == "'MARKER'" {
        return marker(decoder, card);
    }
    let variable = decoder.with_name(card, &card.field2, prefix.array(), |decoder, name| Ok(find_or_add(decoder, name)))?;
    for (name, value) in decoder.pairs(card, prefix)?.into_iter().flatten() {
        let entry = &mut decoder.model.variables[variable];
        match &*name.text {
            // The original decoder notes the scale of a variable for solvers that want it; the functions do not change.
            "'SCALE'" => {}
            "'INTEGER'" | "INTEGER" => entry.kind = VariableKind::Integer,
            "'ZERO-ONE'" | "ZERO-ONE" => {
                entry.kind = VariableKind::ZeroOne;
                (entry.lower, entry.upper) = (0.0, 1.0);
            }
            _ => {
                let group = decoder.group(card, name, prefix.array())?;
                decoder.model.linear.push((group as u32, variable as u32, value));
            }
        }
    }
    Ok(())
}

/// The number of a variable; a new one gets the default bounds and start.
pub(super) fn find_or_add(decoder: &mut Decoder, name: &str) -> usize {
    decoder.model.variable_names.find(name).unwrap_or_else(|| {
        let defaults = &decoder.defaults;
        decoder.model.variables.push(Variable {
            lower: defaults.lower,
            upper: defaults.upper,
            start: defaults.start,
            kind: if defaults.integers { VariableKind::Integer } else { VariableKind::Real },
        });
        decoder.model.variable_names.add(name)
    })
}

fn marker(decoder: &mut Decoder, card: &Card) -> Result<(), Complaint> {
    decoder.defaults.integers = match &*card.field5.text {
        "'INTORG'" => true,
        "'INTEND'" => false,
        other => {
            let message = format!("a 'MARKER' card has 'INTORG' or 'INTEND' in field 5, not {other:?}");
            return Err(card.complain(card.field5.column, message));
        }
    };
    Ok(())
}

/// A card of the QUADRATIC section: `h_jk` of `1/2 x'Hx`, given for one of each pair.
pub(super) fn quadratic(decoder: &mut Decoder, card: &Card) -> Result<(), Complaint> {
    let (prefix, rest) = Prefix::split(&card.code);
    if !rest.is_empty() {
        return Err(unknown_code(card, "blank, X or Z"));
    }
    let first = decoder.variable(card, &card.field2, prefix.array())?;
    for (name, value) in decoder.pairs(card, prefix)?.into_iter().flatten() {
        let second = decoder.variable(card, name, prefix.array())?;
        decoder.model.quadratic.push((first as u32, second as u32, value));
    }
    Ok(())
}
