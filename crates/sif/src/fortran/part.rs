//! The cards of a function part: what its TEMPORARIES, GLOBALS and INDIVIDUALS say.

use std::collections::HashMap;

use super::card::{Card, Field};
use super::expression::{Expression, whole_expression};
use super::text::{Fault, Name, Parsed, Place, Text};
use super::typing::Kind;
use super::unit::Dimension;
use crate::Line;

/// An assignment on an A, I or E card.
#[derive(Debug)]
pub(super) struct Step {
    /// The logical variable that must have this value, on an I card (true) or an E card (false).
    pub guard: Option<(Expression, bool)>,
    pub target: Expression,
    pub value: Expression,
}

/// What one or more cards of a type say, in the order of the file.
#[derive(Debug)]
pub(super) enum Entry {
    Assign(Step),
    Value(Expression),
    /// The derivative in a variable; groups do not name theirs.
    Gradient(Option<Name>, Expression),
    Hessian(Option<(Name, Name)>, Expression),
}

/// One coefficient of the range transformation.
#[derive(Debug)]
pub(super) struct Coefficient {
    pub internal: Name,
    pub elemental: Name,
    pub value: f64,
}

/// The functions of one type.
#[derive(Debug)]
pub(super) struct Individual {
    pub name: String,
    pub place: Place,
    pub transformation: Vec<Coefficient>,
    pub entries: Vec<Entry>,
}

/// A name of the TEMPORARIES.
#[derive(Debug)]
pub(super) struct Temporary {
    pub name: Name,
    pub kind: Kind,
    /// Empty for a scalar.
    pub dimensions: Vec<Dimension>,
}

/// All that a function part says.
#[derive(Debug, Default)]
pub(super) struct Part {
    pub temporaries: Vec<Temporary>,
    /// Names of external functions.
    pub functions: Vec<Name>,
    pub globals: Vec<Step>,
    pub individuals: Vec<Individual>,
    /// Where each type stands among the individuals.
    pub index: HashMap<String, usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Section {
    None,
    Temporaries,
    Globals,
    Individuals,
}

/// A card whose expression may go on over further cards.
struct Pending {
    code: char,
    card: Card,
    expression: Text,
}

/// Reads the cards between the header of a function part and its ENDATA.
pub(super) fn read(lines: &[Line]) -> Parsed<Part> {
    let mut reader = Reader { part: Part::default(), section: Section::None, pending: None, over: false };
    let mut free = false;
    for line in lines.iter().filter(|line| !line.text.starts_with('*') && !line.text.trim().is_empty()) {
        let words = line.text.split_whitespace().collect::<Vec<_>>().join(" ");
        match words.as_str() {
            "FREE FORMAT" | "FREE FORM" => free = true,
            "FIXED FORMAT" | "FIXED FORM" => free = false,
            _ if free => Card::free(line).iter().try_for_each(|card| reader.free_card(card))?,
            _ if line.text.starts_with(' ') => reader.card(&Card::fixed(line))?,
            _ => reader.indicator(&words, Place { line: line.number, column: 1 })?,
        }
        if reader.over {
            break;
        }
    }
    reader.finish()?;
    Ok(reader.part)
}

struct Reader {
    part: Part,
    section: Section,
    pending: Option<Pending>,
    /// ENDATA was read.
    over: bool,
}

impl Reader {
    fn indicator(&mut self, words: &str, place: Place) -> Parsed<()> {
        self.finish()?;
        match section(words) {
            Some(section) => self.section = section,
            None if words.split(' ').next() == Some("ENDATA") => self.over = true,
            None => {
                let message = "expected TEMPORARIES, GLOBALS, INDIVIDUALS or ENDATA, or a card that begins with a blank";
                return Err(Fault::new(place, message));
            }
        }
        Ok(())
    }

    // In free format an indicator may stand anywhere.
    fn free_card(&mut self, card: &Card) -> Parsed<()> {
        let code = card.field(Field::Code);
        if section(code).is_some() || code == "ENDATA" {
            return self.indicator(code, card.place(Field::Code));
        }
        self.card(card)
    }

    fn card(&mut self, card: &Card) -> Parsed<()> {
        let code = card.field(Field::Code);
        let place = card.place(Field::Code);
        let mut letters = code.chars();
        match (letters.next(), letters.next()) {
            (Some(letter), None) => self.first_card(letter, card),
            (Some('R'), Some('+')) if self.section == Section::Individuals => self.transformation(card),
            // Whatever the letter is, only the card before can be meant.
            (Some(letter), Some('+')) => match &mut self.pending {
                Some(pending) => {
                    card.push_expression(&mut pending.expression);
                    Ok(())
                }
                None => Err(Fault::new(place, format!("there is no expression that the card {letter}+ could continue"))),
            },
            // Some files repeat the declarations of the types here.
            _ if self.section == Section::None && matches!(code, "EV" | "IV" | "EP" | "GV" | "GP") => Ok(()),
            _ => Err(Fault::new(place, format!("expected a card of the section, but found `{code}` in columns 2 and 3"))),
        }
    }

    fn first_card(&mut self, code: char, card: &Card) -> Parsed<()> {
        self.finish()?;
        let place = card.place(Field::Code);
        match (self.section, code) {
            (Section::Temporaries, 'R') => self.temporary(card, Kind::Real),
            (Section::Temporaries, 'I') => self.temporary(card, Kind::Integer),
            (Section::Temporaries, 'L') => self.temporary(card, Kind::Logical),
            // Fortran knows its functions without being told.
            (Section::Temporaries, 'M') => Ok(()),
            (Section::Temporaries, 'F') => {
                self.part.functions.push(card.name(Field::Second)?);
                Ok(())
            }
            (Section::Individuals, 'T') => {
                let name = card.field(Field::Second).to_string();
                if self.part.index.insert(name.clone(), self.part.individuals.len()).is_some() {
                    return Err(Fault::new(place, format!("type {name} has a second T card")));
                }
                self.part.individuals.push(Individual { name, place, transformation: Vec::new(), entries: Vec::new() });
                Ok(())
            }
            (Section::Individuals, 'R') => self.transformation(card),
            (Section::Globals, 'A' | 'I' | 'E') | (Section::Individuals, 'A' | 'I' | 'E' | 'F' | 'G' | 'H') => {
                let mut expression = Text::at(card.place(Field::Expression));
                card.push_expression(&mut expression);
                self.pending = Some(Pending { code, card: card.clone(), expression });
                Ok(())
            }
            (section, _) => {
                let expected = match section {
                    Section::None => "TEMPORARIES, GLOBALS or INDIVIDUALS before the first card",
                    Section::Temporaries => "R, I, L, M or F in column 2 of a card of the TEMPORARIES",
                    Section::Globals => "A, I or E in column 2 of a card of the GLOBALS",
                    Section::Individuals => "T, R, A, I, E, F, G or H in column 2 of a card of the INDIVIDUALS",
                };
                Err(Fault::new(place, format!("expected {expected}, but found `{code}`")))
            }
        }
    }

    fn temporary(&mut self, card: &Card, kind: Kind) -> Parsed<()> {
        let (name, dimensions) = card.declared()?;
        self.part.temporaries.push(Temporary { name, kind, dimensions });
        Ok(())
    }

    fn transformation(&mut self, card: &Card) -> Parsed<()> {
        let Some(individual) = self.part.individuals.last_mut() else { return Err(no_type(card)) };
        let internal = match individual.transformation.last() {
            Some(last) if card.field(Field::Second).is_empty() => last.internal.clone(),
            _ => card.name(Field::Second)?,
        };
        for (name, number) in [(Field::Third, Field::Fourth), (Field::Fifth, Field::Sixth)] {
            if let Some(elemental) = card.optional_name(name)? {
                let value = card.number(number)?;
                individual.transformation.push(Coefficient { internal: internal.clone(), elemental, value });
            }
        }
        Ok(())
    }

    // The expression of the last card is complete.
    fn finish(&mut self) -> Parsed<()> {
        let Some(Pending { code, card, expression }) = self.pending.take() else { return Ok(()) };
        let value = whole_expression(expression)?;
        let entry = match code {
            'A' => Entry::Assign(Step { guard: None, target: card.target(Field::Second)?, value }),
            'I' | 'E' => {
                let guard = Some((Expression::Name(card.name(Field::Second)?), code == 'I'));
                Entry::Assign(Step { guard, target: card.target(Field::Third)?, value })
            }
            'F' => Entry::Value(value),
            'G' => Entry::Gradient(card.optional_name(Field::Second)?, value),
            _ => match (card.optional_name(Field::Second)?, card.optional_name(Field::Third)?) {
                (Some(first), Some(second)) => Entry::Hessian(Some((first, second)), value),
                (Some(first), None) => Entry::Hessian(Some((first.clone(), first)), value),
                _ => Entry::Hessian(None, value),
            },
        };
        if self.section == Section::Individuals {
            self.part.individuals.last_mut().ok_or_else(|| no_type(&card))?.entries.push(entry);
        } else if let Entry::Assign(step) = entry {
            self.part.globals.push(step);
        }
        Ok(())
    }
}

fn section(word: &str) -> Option<Section> {
    match word.split(' ').next() {
        Some("TEMPORARIES") => Some(Section::Temporaries),
        Some("GLOBALS") => Some(Section::Globals),
        Some("INDIVIDUALS") => Some(Section::Individuals),
        _ => None,
    }
}

fn no_type(card: &Card) -> Fault {
    Fault::new(card.place(Field::Code), "expected a T card that names the type before its other cards")
}
