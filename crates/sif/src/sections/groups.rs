//! GROUP USES.

use super::{DEFAULT, unknown_code};
use crate::card::{Card, Number};
use crate::decode::{Decoder, Prefix};
use crate::error::Complaint;
use crate::names::Name;

/// A card of the GROUP USES section: `T` gives a group its type, `E` elements with weights, `P` parameters.
pub(super) fn group_use(decoder: &mut Decoder, card: &Card) -> Result<(), Complaint> {
    let (prefix, letter) = Prefix::split(&card.code);
    match letter {
        "T" => set_type(decoder, card, prefix),
        "E" => add_elements(decoder, card, prefix),
        "P" => set_parameters(decoder, card, prefix),
        _ => Err(unknown_code(card, "T, E or P, alone or after X or Z")),
    }
}

fn set_type(decoder: &mut Decoder, card: &Card, prefix: Prefix) -> Result<(), Complaint> {
    let Some(group_type) = decoder.model.group_types.names.find(&card.field3.text) else {
        return Err(card.complain(card.field3.column, format!("there is no group type '{}'", card.field3.text)));
    };
    if &*card.field2.text == DEFAULT {
        decoder.defaults.group_type = Some(group_type);
        return Ok(());
    }
    let group = decoder.group(card, &card.field2, prefix.array())?;
    give_type(decoder, group, group_type);
    Ok(())
}

/// Gives a group its type, with room for the parameters; those of a group that has this type already stay.
pub(super) fn give_type(decoder: &mut Decoder, group: usize, group_type: usize) {
    let group = &mut decoder.model.groups[group];
    if group.group_type == Some(group_type) {
        return;
    }
    group.group_type = Some(group_type);
    group.parameters = vec![f64::NAN; decoder.model.group_types.list[group_type].parameters.len()];
}

fn add_elements(decoder: &mut Decoder, card: &Card, prefix: Prefix) -> Result<(), Complaint> {
    let group = decoder.group(card, &card.field2, prefix.array())?;
    if prefix == Prefix::Z {
        let weight = decoder.value(card, prefix)?;
        return add_element(decoder, card, group, &card.field3, true, weight);
    }
    for (name, number) in [(&card.field3, &card.field4), (&card.field5, &card.field6)] {
        if !name.is_empty() {
            let weight = weight(card, number)?;
            add_element(decoder, card, group, name, prefix.array(), weight)?;
        }
    }
    Ok(())
}

/// A blank weight is one.
fn weight(card: &Card, number: &Number) -> Result<f64, Complaint> {
    if number.is_blank() { Ok(1.0) } else { card.number(number) }
}

fn add_element(
    decoder: &mut Decoder,
    card: &Card,
    group: usize,
    name: &Name,
    array: bool,
    weight: f64,
) -> Result<(), Complaint> {
    let element = decoder.with_name(card, name, array, |decoder, expanded| {
        let found = decoder.model.element_names.find(expanded);
        found.ok_or_else(|| card.complain(name.column, format!("there is no element '{expanded}'")))
    })?;
    decoder.model.uses.push((group as u32, element as u32, weight));
    Ok(())
}

fn set_parameters(decoder: &mut Decoder, card: &Card, prefix: Prefix) -> Result<(), Complaint> {
    let group = decoder.group(card, &card.field2, prefix.array())?;
    let group_type = match (decoder.model.groups[group].group_type, decoder.defaults.group_type) {
        (Some(group_type), _) => group_type,
        (None, Some(group_type)) => {
            give_type(decoder, group, group_type);
            group_type
        }
        (None, None) => return Err(card.complain(card.field2.column, "a group needs a type before it has parameters")),
    };
    for (name, value) in decoder.pairs(card, prefix)?.into_iter().flatten() {
        let declaration = &decoder.model.group_types.list[group_type];
        let Some(position) = declaration.parameters.iter().position(|other| **other == *name.text) else {
            let message = format!("the group type '{}' has no parameter '{}'", declaration.name, name.text);
            return Err(card.complain(name.column, message));
        };
        decoder.model.groups[group].parameters[position] = value;
    }
    Ok(())
}
