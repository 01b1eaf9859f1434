//! The cards of a function part: what its TEMPORARIES, GLOBALS and INDIVIDUALS say.

use super::expression::{Expression, reference, whole_expression};
use super::text::{Fault, Name, Parsed, Place, Text};
use super::typing::Kind;
use super::unit::{Dimension, declarator};
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
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Section {
    None,
    Temporaries,
    Globals,
    Individuals,
}

// Fields of a card: first column counted from 0, and the column after the last.
const FIELD_1: (usize, usize) = (1, 3);
const FIELD_2: (usize, usize) = (4, 14);
const FIELD_3: (usize, usize) = (14, 24);
const FIELD_4: (usize, usize) = (24, 36);
const FIELD_5: (usize, usize) = (39, 49);
const FIELD_6: (usize, usize) = (49, 61);
const FIELD_7: (usize, usize) = (24, 65);

/// A card whose expression may go on over further cards.
struct Pending {
    code: char,
    card: Line,
    expression: Text,
}

/// Reads the cards between the header of a function part and its ENDATA.
pub(super) fn read(lines: &[Line]) -> Parsed<Part> {
    let mut reader = Reader { part: Part::default(), section: Section::None, pending: None };
    for line in lines {
        if line.text.starts_with('*') || line.text.trim().is_empty() {
            continue;
        }
        if line.text.starts_with(' ') {
            reader.card(line)?;
        } else if !reader.indicator(line)? {
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
}

impl Reader {
    // False: the part ends here.
    fn indicator(&mut self, line: &Line) -> Parsed<bool> {
        self.finish()?;
        self.section = match line.text.split_whitespace().next() {
            Some("TEMPORARIES") => Section::Temporaries,
            Some("GLOBALS") => Section::Globals,
            Some("INDIVIDUALS") => Section::Individuals,
            Some("ENDATA") => return Ok(false),
            _ => {
                let message = "expected TEMPORARIES, GLOBALS, INDIVIDUALS or ENDATA, or a card that begins with a blank";
                return Err(Fault::new(Place { line: line.number, column: 1 }, message));
            }
        };
        Ok(true)
    }

    fn card(&mut self, line: &Line) -> Parsed<()> {
        let code = field(line, FIELD_1).trim().to_string();
        let place = Place { line: line.number, column: 2 };
        let mut letters = code.chars();
        match (letters.next(), letters.next()) {
            (Some(letter), None) => self.first_card(letter, line),
            (Some('R'), Some('+')) if self.section == Section::Individuals => self.transformation(line),
            // Whatever the letter is, only the card before can be meant.
            (Some(letter), Some('+')) => match &mut self.pending {
                Some(pending) => {
                    push_expression(&mut pending.expression, line);
                    Ok(())
                }
                None => Err(Fault::new(place, format!("there is no expression that the card {letter}+ could continue"))),
            },
            // Some files repeat the declarations of the types here.
            _ if self.section == Section::None && matches!(code.as_str(), "EV" | "IV" | "EP" | "GV" | "GP") => Ok(()),
            _ => Err(Fault::new(place, format!("expected a card of the section, but found `{code}` in columns 2 and 3"))),
        }
    }

    fn first_card(&mut self, code: char, line: &Line) -> Parsed<()> {
        self.finish()?;
        let place = Place { line: line.number, column: 2 };
        match (self.section, code) {
            (Section::Temporaries, 'R') => self.temporary(line, Kind::Real),
            (Section::Temporaries, 'I') => self.temporary(line, Kind::Integer),
            (Section::Temporaries, 'L') => self.temporary(line, Kind::Logical),
            // Fortran knows its functions without being told.
            (Section::Temporaries, 'M') => Ok(()),
            (Section::Temporaries, 'F') => {
                self.part.functions.push(name_in(line, FIELD_2)?);
                Ok(())
            }
            (Section::Individuals, 'T') => {
                let name = field(line, FIELD_2).trim().to_string();
                if self.part.individuals.iter().any(|known| known.name == name) {
                    return Err(Fault::new(place, format!("type {name} has a second T card")));
                }
                self.part.individuals.push(Individual { name, place, transformation: Vec::new(), entries: Vec::new() });
                Ok(())
            }
            (Section::Individuals, 'R') => self.transformation(line),
            (Section::Globals, 'A' | 'I' | 'E') | (Section::Individuals, 'A' | 'I' | 'E' | 'F' | 'G' | 'H') => {
                let mut expression = Text::at(Place { line: line.number, column: FIELD_7.0 + 1 });
                push_expression(&mut expression, line);
                self.pending = Some(Pending { code, card: line.clone(), expression });
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

    fn temporary(&mut self, line: &Line, kind: Kind) -> Parsed<()> {
        // The dimensions of an array may need more room than a field has.
        let wide = field(line, FIELD_2).contains('(') && !field(line, FIELD_2).contains(')');
        let columns = if wide { (FIELD_2.0, FIELD_7.1) } else { FIELD_2 };
        let mut text = text_in(line, columns);
        let (name, dimensions) = declarator(&mut text)?;
        self.part.temporaries.push(Temporary { name, kind, dimensions });
        Ok(())
    }

    fn transformation(&mut self, line: &Line) -> Parsed<()> {
        let Some(individual) = self.part.individuals.last_mut() else { return Err(no_type(line)) };
        let internal = match individual.transformation.last() {
            Some(last) if field(line, FIELD_2).trim().is_empty() => last.internal.clone(),
            _ => name_in(line, FIELD_2)?,
        };
        for (name, number) in [(FIELD_3, FIELD_4), (FIELD_5, FIELD_6)] {
            if field(line, name).trim().is_empty() {
                continue;
            }
            let elemental = name_in(line, name)?;
            let value = number_in(line, number)?;
            individual.transformation.push(Coefficient { internal: internal.clone(), elemental, value });
        }
        Ok(())
    }

    // The expression of the last card is complete.
    fn finish(&mut self) -> Parsed<()> {
        let Some(Pending { code, card, expression }) = self.pending.take() else { return Ok(()) };
        let value = whole_expression(expression)?;
        let entry = match code {
            'A' => Entry::Assign(Step { guard: None, target: target_in(&card, FIELD_2)?, value }),
            'I' | 'E' => {
                let guard = Some((Expression::Name(name_in(&card, FIELD_2)?), code == 'I'));
                Entry::Assign(Step { guard, target: target_in(&card, FIELD_3)?, value })
            }
            'F' => Entry::Value(value),
            'G' => Entry::Gradient(optional_name(&card, FIELD_2)?, value),
            _ => match (optional_name(&card, FIELD_2)?, optional_name(&card, FIELD_3)?) {
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

fn no_type(line: &Line) -> Fault {
    Fault::new(Place { line: line.number, column: 2 }, "expected a T card that names the type before its other cards")
}

/// The text of some columns, as far as the line has them.
fn field(line: &Line, (from, to): (usize, usize)) -> &str {
    let column = |count| line.text.char_indices().nth(count).map_or(line.text.len(), |(at, _)| at);
    &line.text[column(from)..column(to)]
}

fn text_in(line: &Line, columns: (usize, usize)) -> Text {
    let start = Place { line: line.number, column: columns.0 + 1 };
    let mut text = Text::at(start);
    text.push(field(line, columns), start);
    text
}

// A dollar sign begins a comment: Fortran has no use for it.
fn push_expression(text: &mut Text, line: &Line) {
    let letters = field(line, FIELD_7).split('$').next().unwrap_or_default();
    text.push(letters, Place { line: line.number, column: FIELD_7.0 + 1 });
}

fn name_in(line: &Line, columns: (usize, usize)) -> Parsed<Name> {
    let mut text = text_in(line, columns);
    let name = text.name()?;
    text.expect_end()?;
    Ok(name)
}

fn optional_name(line: &Line, columns: (usize, usize)) -> Parsed<Option<Name>> {
    if field(line, columns).trim().is_empty() { Ok(None) } else { name_in(line, columns).map(Some) }
}

fn target_in(line: &Line, columns: (usize, usize)) -> Parsed<Expression> {
    let mut text = text_in(line, columns);
    let target = reference(&mut text)?;
    text.expect_end()?;
    Ok(target)
}

fn number_in(line: &Line, columns: (usize, usize)) -> Parsed<f64> {
    let letters: String = field(line, columns).chars().filter(|letter| !letter.is_whitespace()).collect();
    let number = letters.to_ascii_uppercase().replace('D', "E").parse().ok().filter(|number: &f64| number.is_finite());
    let place = Place { line: line.number, column: columns.0 + 1 };
    number.ok_or_else(|| Fault::new(place, format!("expected a number in columns {} to {}", columns.0 + 1, columns.1)))
}
