//! GROUPS, CONSTANTS and RANGES.

use super::{DEFAULT, unknown_code};
use crate::card::Card;
use crate::decode::{Decoder, Prefix, Vector};
use crate::error::Complaint;
use crate::model::{Group, GroupKind};

const CODES: &str = "N, G, L or E, alone or after X, Z or D";

/// A card of the GROUPS section: a group, with linear coefficients when the variables are known already.
pub(super) fn group(decoder: &mut Decoder, card: &Card) -> Result<(), Complaint> {
    let combined = card.code.len() == 2 && card.code.starts_with('D');
    let (prefix, letter) = if combined { (Prefix::None, &card.code[1..]) } else { Prefix::split(&card.code) };
    let kind = GroupKind::named(letter).ok_or_else(|| unknown_code(card, CODES))?;
    let group = decoder.with_name(card, &card.field2, prefix.array(), |decoder, name| {
        Ok(decoder.model.group_names.find(name).unwrap_or_else(|| {
            decoder.model.groups.push(Group {
                kind,
                scale: 1.0,
                constant: 0.0,
                range: None,
                multiplier: 0.0,
                group_type: None,
                parameters: Vec::new(),
                combination: Vec::new(),
                line: card.line,
            });
            decoder.model.group_names.add(name)
        }))
    })?;
    if combined {
        return combine(decoder, card, group);
    }
    for (name, value) in decoder.pairs(card, prefix)?.into_iter().flatten() {
        if &*name.text == "'SCALE'" {
            if value == 0.0 {
                return Err(card.complain(name.column, "a scale factor must not be zero"));
            }
            decoder.model.groups[group].scale = 1.0 / value;
        } else {
            let variable = decoder.variable(card, name, prefix.array())?;
            decoder.model.linear.push((group as u32, variable as u32, value));
        }
    }
    Ok(())
}

fn combine(decoder: &mut Decoder, card: &Card, group: usize) -> Result<(), Complaint> {
    let mut combination = Vec::new();
    for (name, factor) in decoder.pairs(card, Prefix::None)?.into_iter().flatten() {
        let source = decoder.group(card, name, false)?;
        if source >= group {
            return Err(card.complain(name.column, format!("the group '{}' must be defined before its combination", name.text)));
        }
        combination.push((source, factor));
    }
    decoder.model.groups[group].combination = combination;
    Ok(())
}

/// A card of the CONSTANTS section.
pub(super) fn constant(decoder: &mut Decoder, card: &Card) -> Result<(), Complaint> {
    vector(decoder, card, Vector::Constants, |group, value| group.constant = value)
}

/// A card of the RANGES section. Only inequalities have ranges; the sign of the value means nothing for them. An equality
/// with a range follows the convention of MPS: `[0, r]` when `r` is positive, `[r, 0]` when it is negative.
pub(super) fn range(decoder: &mut Decoder, card: &Card) -> Result<(), Complaint> {
    vector(decoder, card, Vector::Ranges, |group, value| {
        if group.kind != GroupKind::Objective {
            group.range = Some(value);
        }
    })
}

fn vector(decoder: &mut Decoder, card: &Card, vector: Vector, set: impl Fn(&mut Group, f64)) -> Result<(), Complaint> {
    // Files of the collection have letters after X and Z, which mean nothing here.
    let (prefix, _) = Prefix::split(&card.code);
    if prefix == Prefix::None && !card.code.is_empty() {
        return Err(unknown_code(card, "blank, X or Z"));
    }
    if !decoder.in_first_vector(vector, card) {
        return Ok(());
    }
    for (name, value) in decoder.pairs(card, prefix)?.into_iter().flatten() {
        if &*name.text == DEFAULT {
            // A default range does not turn an equality into an inequality.
            let ranges = matches!(vector, Vector::Ranges);
            let fits = |group: &&mut Group| !(ranges && group.kind == GroupKind::Equal);
            decoder.model.groups.iter_mut().filter(fits).for_each(|group| set(group, value));
        } else {
            let group = decoder.group(card, name, prefix.array())?;
            set(&mut decoder.model.groups[group], value);
        }
    }
    Ok(())
}
