//! Sections and their do-loops: the cards of the data part as a tree.

use crate::card::{Card, Entry};
use crate::error::Complaint;
use crate::names::Name;

/// The sections of the data part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Section {
    /// Before the first indicator card: parameters only.
    Head,
    Groups,
    Variables,
    Constants,
    Ranges,
    Bounds,
    Start,
    Quadratic,
    ElementTypes,
    ElementUses,
    GroupTypes,
    GroupUses,
    ObjectBound,
}

impl Section {
    fn named(keyword: &str) -> Option<Self> {
        Some(match keyword {
            "GROUPS" | "ROWS" | "CONSTRAINTS" => Section::Groups,
            "VARIABLES" | "COLUMNS" => Section::Variables,
            "CONSTANTS" | "RHS" | "RHS'" => Section::Constants,
            "RANGES" => Section::Ranges,
            "BOUNDS" => Section::Bounds,
            "START POINT" => Section::Start,
            "QUADRATIC" | "HESSIAN" | "QUADS" | "QUADOBJ" | "QSECTION" | "QMATRIX" => Section::Quadratic,
            "ELEMENT TYPE" => Section::ElementTypes,
            "ELEMENT USES" => Section::ElementUses,
            "GROUP TYPE" => Section::GroupTypes,
            "GROUP USES" => Section::GroupUses,
            "OBJECT BOUND" => Section::ObjectBound,
            _ => return None,
        })
    }
}

/// A step of the walk through a section.
#[derive(Debug)]
pub(crate) enum Step {
    Card(Card),
    Loop(Loop),
}

/// A do-loop. Its bounds are read when it begins, each time anew when it is nested.
#[derive(Debug)]
pub(crate) struct Loop {
    /// The `DO` card: field 2 is the index, fields 3 and 5 its first and last value.
    pub card: Card,
    /// The increment of a `DI` card.
    pub increment: Option<Name>,
    pub body: Vec<Step>,
}

/// More than this many loops inside each other are refused; the format allows three.
const DEEPEST: usize = 20;

/// Arranges the entries of the data part into sections.
pub(crate) fn sections(entries: Vec<Entry>) -> Result<Vec<(Section, Vec<Step>)>, Complaint> {
    let mut sections = vec![(Section::Head, Vec::new())];
    let mut open: Vec<Loop> = Vec::new();
    for entry in entries {
        let steps = sections.last_mut().map(|(_, steps)| steps);
        match (entry, steps) {
            (Entry::Section(keyword, line), _) => {
                refuse_open(&open, &keyword)?;
                let Some(section) = Section::named(&keyword) else {
                    return Err(Complaint::new(line, 1, format!("'{keyword}' is not the name of a section")));
                };
                sections.push((section, Vec::new()));
            }
            (Entry::Card(card), Some(steps)) => place(*card, steps, &mut open)?,
            (Entry::Card(_), None) => {}
        }
    }
    refuse_open(&open, "ENDATA")?;
    Ok(sections)
}

fn refuse_open(open: &[Loop], keyword: &str) -> Result<(), Complaint> {
    match open.last() {
        Some(left) => {
            let index = &left.card.field2.text;
            let message = format!("the loop over '{index}' that begins here is not closed by OD or ND before {keyword}");
            Err(left.card.complain(2, message))
        }
        None => Ok(()),
    }
}

fn place(card: Card, steps: &mut Vec<Step>, open: &mut Vec<Loop>) -> Result<(), Complaint> {
    match &*card.code {
        "DO" if open.len() == DEEPEST => Err(card.complain(2, format!("more than {DEEPEST} loops are inside each other"))),
        "DO" => {
            open.push(Loop { card, increment: None, body: Vec::new() });
            Ok(())
        }
        "DI" => match open.iter_mut().rev().find(|one| one.card.field2.text == card.field2.text) {
            Some(one) => {
                one.increment = Some(card.field3);
                Ok(())
            }
            None => Err(card.complain(5, format!("a loop over '{}' was expected before this DI card", card.field2.text))),
        },
        // The name on an OD card is often that of another loop; the innermost one is meant.
        "OD" => match open.pop() {
            Some(closed) => {
                close(closed, steps, open);
                Ok(())
            }
            None => Err(card.complain(2, "there is no loop that this OD card could close")),
        },
        "ND" if open.is_empty() => Err(card.complain(2, "there is no loop that this ND card could close")),
        "ND" => {
            while let Some(closed) = open.pop() {
                close(closed, steps, open);
            }
            Ok(())
        }
        _ => {
            open.last_mut().map_or(steps, |innermost| &mut innermost.body).push(Step::Card(card));
            Ok(())
        }
    }
}

fn close(closed: Loop, steps: &mut Vec<Step>, open: &mut [Loop]) {
    open.last_mut().map_or(steps, |outer| &mut outer.body).push(Step::Loop(closed));
}
