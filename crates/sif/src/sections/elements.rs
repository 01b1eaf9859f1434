//! ELEMENT USES.

use super::variables::find_or_add;
use super::{DEFAULT, unknown_code};
use crate::card::Card;
use crate::decode::{Decoder, Prefix};
use crate::error::Complaint;
use crate::model::{Element, UNASSIGNED};

/// A card of the ELEMENT USES section: `T` gives an element its type, `V` a variable, `P` a parameter.
pub(super) fn element_use(decoder: &mut Decoder, card: &Card) -> Result<(), Complaint> {
    let (prefix, letter) = Prefix::split(&card.code);
    match letter {
        "T" => set_type(decoder, card, prefix),
        "V" => set_variable(decoder, card, prefix),
        "P" => set_parameters(decoder, card, prefix),
        _ => Err(unknown_code(card, "T, V or P, alone or after X or Z")),
    }
}

fn set_type(decoder: &mut Decoder, card: &Card, prefix: Prefix) -> Result<(), Complaint> {
    let Some(element_type) = decoder.model.element_types.names.find(&card.field3.text) else {
        return Err(card.complain(card.field3.column, format!("there is no element type '{}'", card.field3.text)));
    };
    if &*card.field2.text == DEFAULT {
        decoder.defaults.element_type = Some(element_type);
        return Ok(());
    }
    decoder.with_name(card, &card.field2, prefix.array(), |decoder, name| {
        match decoder.model.element_names.find(name) {
            Some(number) if decoder.model.elements[number].element_type == element_type => {}
            // Of another type now: it begins anew.
            Some(number) => decoder.model.elements[number] = allocate(decoder, element_type, card.line),
            None => {
                add(decoder, name, element_type, card.line);
            }
        }
        Ok(())
    })
}

fn add(decoder: &mut Decoder, name: &str, element_type: usize, line: usize) -> usize {
    let element = allocate(decoder, element_type, line);
    decoder.model.elements.push(element);
    decoder.model.element_names.add(name)
}

/// Room for the variables and parameters of an element.
fn allocate(decoder: &mut Decoder, element_type: usize, line: usize) -> Element {
    let model = &mut decoder.model;
    let declaration = &model.element_types.list[element_type];
    let (variables_at, parameters_at) = (model.element_variables.len(), model.element_parameters.len());
    model.element_variables.resize(variables_at + declaration.variables.len(), UNASSIGNED);
    model.element_parameters.resize(parameters_at + declaration.parameters.len(), f64::NAN);
    Element { element_type, variables_at, parameters_at, line }
}

/// The element of field 2; one that has no type yet gets the default type.
fn element(decoder: &mut Decoder, card: &Card, prefix: Prefix) -> Result<usize, Complaint> {
    decoder.with_name(card, &card.field2, prefix.array(), |decoder, name| {
        if let Some(number) = decoder.model.element_names.find(name) {
            return Ok(number);
        }
        let Some(element_type) = decoder.defaults.element_type else {
            return Err(
                card.complain(card.field2.column, format!("the element '{name}' has no type, and there is no default type"))
            );
        };
        Ok(add(decoder, name, element_type, card.line))
    })
}

fn set_variable(decoder: &mut Decoder, card: &Card, prefix: Prefix) -> Result<(), Complaint> {
    let number = element(decoder, card, prefix)?;
    let Element { element_type, variables_at, .. } = decoder.model.elements[number];
    let declaration = &decoder.model.element_types.list[element_type];
    let Some(position) = declaration.variables.iter().position(|name| **name == *card.field3.text) else {
        let message = format!("the element type '{}' has no elemental variable '{}'", declaration.name, card.field3.text);
        return Err(card.complain(card.field3.column, message));
    };
    // A variable may appear here for the first time.
    let variable = decoder.with_name(card, &card.field5, prefix.array(), |decoder, name| Ok(find_or_add(decoder, name)))?;
    decoder.model.element_variables[variables_at + position] = variable as u32;
    Ok(())
}

fn set_parameters(decoder: &mut Decoder, card: &Card, prefix: Prefix) -> Result<(), Complaint> {
    let number = element(decoder, card, prefix)?;
    let Element { element_type, parameters_at, .. } = decoder.model.elements[number];
    for (name, value) in decoder.pairs(card, prefix)?.into_iter().flatten() {
        let declaration = &decoder.model.element_types.list[element_type];
        let Some(position) = declaration.parameters.iter().position(|other| **other == *name.text) else {
            let message = format!("the element type '{}' has no parameter '{}'", declaration.name, name.text);
            return Err(card.complain(name.column, message));
        };
        decoder.model.element_parameters[parameters_at + position] = value;
    }
    Ok(())
}
