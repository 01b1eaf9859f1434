//! ELEMENT TYPE and GROUP TYPE.

use super::unknown_code;
use crate::card::Card;
use crate::decode::Decoder;
use crate::error::Complaint;
use crate::fortran::TypeDeclaration;
use crate::model::Types;

/// Which of the lists of a declaration a card adds to.
type List = fn(&mut TypeDeclaration) -> &mut Vec<String>;

/// A card of the ELEMENT TYPE section.
pub(super) fn element_type(decoder: &mut Decoder, card: &Card) -> Result<(), Complaint> {
    let list: List = match &*card.code {
        "EV" => |declaration| &mut declaration.variables,
        "IV" => |declaration| &mut declaration.internals,
        "EP" => |declaration| &mut declaration.parameters,
        _ => return Err(unknown_code(card, "EV, IV or EP")),
    };
    declare(&mut decoder.model.element_types, card, list)
}

/// A card of the GROUP TYPE section.
pub(super) fn group_type(decoder: &mut Decoder, card: &Card) -> Result<(), Complaint> {
    let list: List = match &*card.code {
        "GV" => |declaration| &mut declaration.variables,
        "GP" => |declaration| &mut declaration.parameters,
        _ => return Err(unknown_code(card, "GV or GP")),
    };
    declare(&mut decoder.model.group_types, card, list)?;
    match decoder.model.group_types.list.last() {
        Some(last) if last.variables.len() > 1 => Err(card.complain(15, "a group type has one variable only")),
        _ => Ok(()),
    }
}

fn declare(types: &mut Types, card: &Card, list: List) -> Result<(), Complaint> {
    if card.field2.is_empty() {
        return Err(card.complain(card.field2.column, "the name of a type was expected in field 2"));
    }
    let number = types.names.find(&card.field2.text).unwrap_or_else(|| {
        types.list.push(TypeDeclaration {
            name: card.field2.text.to_string(),
            line: card.line,
            variables: Vec::new(),
            internals: Vec::new(),
            parameters: Vec::new(),
        });
        types.names.add(&card.field2.text)
    });
    let declaration = &mut types.list[number];
    for name in [&card.field3, &card.field5].into_iter().filter(|name| !name.is_empty()) {
        let taken = |names: &[String]| names.iter().any(|other| **other == *name.text);
        // An internal variable may have the name of an elemental one: the functions mean the internal one.
        let elemental = &*card.code != "IV" && taken(&declaration.variables);
        let internal = &*card.code != "EV" && taken(&declaration.internals);
        if elemental || internal || taken(&declaration.parameters) {
            let message = format!("the type '{}' already has a variable or parameter '{}'", declaration.name, name.text);
            return Err(card.complain(name.column, message));
        }
        list(declaration).push(name.text.to_string());
    }
    Ok(())
}
