//! What remains to be done when all cards are read: defaults, and a look for what is missing.

use super::groups::give_type;
use crate::decode::Decoder;
use crate::error::Complaint;
use crate::model::UNASSIGNED;

pub(crate) fn finish(decoder: &mut Decoder) -> Result<(), Complaint> {
    if let Some(default) = decoder.defaults.group_type {
        for group in 0..decoder.model.groups.len() {
            if decoder.model.groups[group].group_type.is_none() {
                give_type(decoder, group, default);
            }
        }
    }
    check_variables(decoder)?;
    check_elements(decoder)?;
    check_groups(decoder)?;
    decoder.model.finish_linear();
    decoder.model.round();
    Ok(())
}

fn check_variables(decoder: &Decoder) -> Result<(), Complaint> {
    match decoder.model.variables.is_empty() {
        true => Err(Complaint::new(0, 0, "the problem has no variables")),
        false => Ok(()),
    }
}

/// An element that no group uses may be incomplete.
fn check_elements(decoder: &Decoder) -> Result<(), Complaint> {
    let model = &decoder.model;
    let mut used = vec![false; model.elements.len()];
    model.uses.iter().for_each(|&(_, element, _)| used[element as usize] = true);
    for (number, element) in model.elements.iter().enumerate().filter(|&(number, _)| used[number]) {
        let declaration = &model.element_types.list[element.element_type];
        let name = model.element_names.get(number);
        if let Some(k) = model.variables_of(number).iter().position(|&variable| variable == UNASSIGNED) {
            let message = format!("the element '{name}' has no variable for '{}'", declaration.variables[k]);
            return Err(Complaint::new(element.line, 5, message));
        }
        if let Some(k) = model.parameters_of(number).iter().position(|value| value.is_nan()) {
            let message = format!("the element '{name}' has no value for its parameter '{}'", declaration.parameters[k]);
            return Err(Complaint::new(element.line, 5, message));
        }
    }
    Ok(())
}

fn check_groups(decoder: &Decoder) -> Result<(), Complaint> {
    let model = &decoder.model;
    for (number, group) in model.groups.iter().enumerate() {
        let Some(group_type) = group.group_type else { continue };
        let declaration = &model.group_types.list[group_type];
        if declaration.variables.is_empty() {
            let message = format!("the group type '{}' has no variable; a GV card names it", declaration.name);
            return Err(Complaint::new(declaration.line, 15, message));
        }
        if let Some(k) = group.parameters.iter().position(|value| value.is_nan()) {
            let name = model.group_names.get(number);
            let message = format!("the group '{name}' has no value for its parameter '{}'", declaration.parameters[k]);
            return Err(Complaint::new(group.line, 5, message));
        }
    }
    Ok(())
}
