//! What the formulas have that is not smooth, told by the functions in which it stands.

use std::collections::BTreeMap;

use crate::model::{Function, Model, Token};
use crate::names::Names;

/// So many places of each kind are named.
const NAMED: usize = 3;

/// A kind of operation, and where it stands.
#[derive(Default)]
struct Found {
    count: usize,
    places: Vec<String>,
    functions: usize,
}

/// One sentence for each kind of operation that is not smooth, with the first objectives and constraints that have it, themselves or
/// by a defined variable.
pub(crate) fn warnings(model: &Model, names: &Names, objective: Option<usize>) -> Vec<String> {
    if !model.tokens.iter().any(|token| kind(token).is_some()) {
        return Vec::new();
    }
    let mut found: BTreeMap<&'static str, Found> = BTreeMap::new();
    let mut inherited: Vec<Vec<&'static str>> = vec![Vec::new(); model.definitions.len()];
    for &k in &model.definition_order {
        let function = &model.definitions[k as usize];
        inherited[k as usize] = kinds(model, function, &inherited, &mut found);
    }
    let mut tell = |function: &Function, place: &dyn Fn() -> String| {
        for kind in kinds(model, function, &inherited, &mut found) {
            let known = found.entry(kind).or_default();
            known.functions += 1;
            if known.places.len() < NAMED {
                known.places.push(place());
            }
        }
    };
    if let Some(k) = objective {
        tell(&model.objectives[k].function, &|| format!("objective O{k}"));
    }
    for (i, constraint) in model.constraints.iter().enumerate() {
        tell(constraint, &|| names.row(i).map_or_else(|| format!("constraint C{i}"), |name| format!("constraint {name}")));
    }
    // What no function uses hurts nobody.
    found.into_iter().filter(|(_, found)| found.functions > 0).map(|(kind, found)| sentence(kind, &found)).collect()
}

fn kind(token: &Token) -> Option<&'static str> {
    match token {
        Token::Piecewise(_) => Some("piecewise-linear terms"),
        Token::Apply(opcode, _) => opcode.not_smooth(),
        _ => None,
    }
}

// The kinds in a function and in the defined variables that it uses; those that stand in the function itself are counted.
fn kinds(
    model: &Model,
    function: &Function,
    inherited: &[Vec<&'static str>],
    found: &mut BTreeMap<&'static str, Found>,
) -> Vec<&'static str> {
    let mut kinds = Vec::new();
    let mut add = |kind: &'static str| {
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    };
    let inherit = |j: u32, add: &mut dyn FnMut(&'static str)| {
        let definition = (j as usize).checked_sub(model.header.variables);
        definition.iter().flat_map(|&k| &inherited[k]).for_each(|kind| add(kind));
    };
    function.linear.iter().for_each(|&(j, _)| inherit(j, &mut add));
    for token in &model.tokens[function.formula.clone()] {
        if let Token::Variable(j) = token {
            inherit(*j, &mut add);
        }
        if let Some(kind) = kind(token) {
            found.entry(kind).or_default().count += 1;
            add(kind);
        }
    }
    kinds
}

fn sentence(kind: &str, found: &Found) -> String {
    let times = if found.count == 1 { "once".to_string() } else { format!("{} times", found.count) };
    let more = match found.functions - found.places.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let places = found.places.join(", ");
    format!("The formulas are not smooth: {kind} ({times}, in {places}{more}). Derivatives are those of one side.")
}
