//! The walk through the data part: loops run, parameters get their values, every other card goes to its section.

use tangor_problem::ReadingLimits;

use crate::card::{Card, entries};
use crate::error::Complaint;
use crate::loops::{Loop, Section, Step, sections};
use crate::model::Model;
use crate::names::{Lexicon, Name};
use crate::options::{Limits, Options};
use crate::parameters::{Parameters, is_assignment};
use crate::sections;
use crate::source::Line;

/// The first letter of field 1 when it says how names and numbers are to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Prefix {
    /// Names as they are written, numbers in the card.
    None,
    /// `X`: array names, numbers in the card.
    X,
    /// `Z`: array names, the number is the real parameter of field 5.
    Z,
}

impl Prefix {
    /// Splits field 1.
    pub fn split(code: &str) -> (Prefix, &str) {
        match code.strip_prefix('X') {
            Some(rest) => (Prefix::X, rest),
            None => code.strip_prefix('Z').map_or((Prefix::None, code), |rest| (Prefix::Z, rest)),
        }
    }

    /// True when names are array names.
    pub fn array(self) -> bool {
        self != Prefix::None
    }
}

/// Sections that may hold several vectors, of which the first counts.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Vector {
    Constants,
    Ranges,
    Bounds,
    Start,
    ObjectBound,
}

/// After so many cards, a fraction of a second, it is asked whether reading is to end.
const LOOK: u64 = 1 << 12;

/// The state of the walk.
pub(crate) struct Decoder {
    pub parameters: Parameters,
    pub model: Model,
    pub defaults: sections::Defaults,
    vectors: [Option<Box<str>>; 5],
    section: Section,
    loops: usize,
    cards_left: u64,
    limits: Limits,
    reading: ReadingLimits,
    buffer: String,
}

/// Decodes the lines of the data part; with the name of a parameter that was to be replaced and is not there.
pub(crate) fn decode(lines: &[Line], options: &Options) -> Result<(Model, Option<String>), Complaint> {
    let mut lexicon = Lexicon::default();
    let inner = lines.get(1..lines.len().saturating_sub(1)).unwrap_or_default();
    let sections = sections(entries(inner, &mut lexicon))?;
    let mut decoder = Decoder {
        parameters: Parameters::new(&mut lexicon, &options.parameters),
        model: Model {
            name: problem_name(&lines[0]),
            objective_lower: f64::NEG_INFINITY,
            objective_upper: f64::INFINITY,
            ..Model::default()
        },
        defaults: sections::Defaults::default(),
        vectors: Default::default(),
        section: Section::Head,
        loops: 0,
        cards_left: options.limits.cards,
        limits: options.limits,
        reading: options.reading.clone(),
        buffer: String::new(),
    };
    for (section, steps) in &sections {
        decoder.section = *section;
        decoder.run(steps)?;
    }
    sections::finish(&mut decoder)?;
    let unknown = decoder.parameters.unused().map(String::from);
    Ok((decoder.model, unknown))
}

/// The word after NAME.
fn problem_name(line: &Line) -> String {
    line.text.split('$').next().unwrap_or("").split_whitespace().nth(1).unwrap_or("unnamed").to_string()
}

impl Decoder {
    fn run(&mut self, steps: &[Step]) -> Result<(), Complaint> {
        for step in steps {
            match step {
                Step::Loop(one) => self.run_loop(one)?,
                Step::Card(card) => self.run_card(card)?,
            }
        }
        Ok(())
    }

    fn run_card(&mut self, card: &Card) -> Result<(), Complaint> {
        self.spend(card, 1)?;
        if is_assignment(&card.code) {
            self.parameters.assign(card, self.loops > 0)?;
        } else {
            sections::carry_out(self, self.section, card)?;
        }
        // Numbers of things are kept in 32 bits.
        let limit = self.limits.items.min(u64::from(u32::MAX) / 2);
        if (self.model.size() + self.parameters.len()) as u64 > limit {
            let message =
                format!("the problem has more than {limit} variables, groups, elements and coefficients, which is the limit");
            return Err(card.complain(1, message));
        }
        Ok(())
    }

    fn run_loop(&mut self, one: &Loop) -> Result<(), Complaint> {
        let card = &one.card;
        let first = self.parameters.integer(card, &card.field3)?;
        let last = self.parameters.integer(card, &card.field5)?;
        let step = match &one.increment {
            Some(name) => self.parameters.integer(card, name)?,
            None => 1,
        };
        if step == 0 {
            return Err(card.complain(2, format!("the increment of the loop over '{}' is zero", card.field2.text)));
        }
        if (step > 0 && first > last) || (step < 0 && first < last) {
            return Ok(());
        }
        // In 128 bits the count cannot overflow.
        let count = ((last as i128 - first as i128) / step as i128 + 1) as u128;
        if count > self.limits.cards as u128 {
            let limit = self.limits.cards;
            let message = format!("the loop over '{}' has {count} values, and the limit is {limit}", card.field2.text);
            return Err(card.complain(2, message));
        }
        self.loops += 1;
        let mut value = first;
        for _ in 0..count {
            self.spend(card, 1)?;
            self.parameters.integers[card.field2.number] = Some(value);
            self.run(&one.body)?;
            value = value.saturating_add(step);
        }
        self.loops -= 1;
        Ok(())
    }

    fn spend(&mut self, card: &Card, cards: u64) -> Result<(), Complaint> {
        match self.cards_left.checked_sub(cards) {
            Some(left) => {
                self.cards_left = left;
                if left.is_multiple_of(LOOK) { self.look(card) } else { Ok(()) }
            }
            None => {
                let limit = self.limits.cards;
                Err(card.complain(2, format!("the loops of the file carry out more than {limit} cards, which is the limit")))
            }
        }
    }

    fn look(&self, card: &Card) -> Result<(), Complaint> {
        self.reading.refusal(self.model.bytes()).map_or(Ok(()), |refusal| Err(card.complain(1, refusal)))
    }

    /// True when the card belongs to the first vector of its section.
    pub fn in_first_vector(&mut self, vector: Vector, card: &Card) -> bool {
        let first = self.vectors[vector as usize].get_or_insert_with(|| card.field2.text.clone());
        **first == *card.field2.text
    }

    /// Calls `action` with the name that a field stands for.
    pub fn with_name<R>(
        &mut self,
        card: &Card,
        name: &Name,
        array: bool,
        action: impl FnOnce(&mut Self, &str) -> Result<R, Complaint>,
    ) -> Result<R, Complaint> {
        // The buffer leaves the decoder while the name is in use; it comes back without a new allocation.
        let mut buffer = std::mem::take(&mut self.buffer);
        let result = match self.parameters.expand(card, name, array, &mut buffer) {
            Ok("") => Err(card.complain(name.column, "a name was expected here, but the field is blank")),
            Ok(expanded) => action(self, expanded),
            Err(complaint) => Err(complaint),
        };
        self.buffer = buffer;
        result
    }

    pub fn variable(&mut self, card: &Card, name: &Name, array: bool) -> Result<usize, Complaint> {
        self.with_name(card, name, array, |decoder, expanded| {
            let found = decoder.model.variable_names.find(expanded);
            found.ok_or_else(|| card.complain(name.column, format!("there is no variable '{expanded}'")))
        })
    }

    pub fn group(&mut self, card: &Card, name: &Name, array: bool) -> Result<usize, Complaint> {
        self.with_name(card, name, array, |decoder, expanded| {
            let found = decoder.model.group_names.find(expanded);
            found.ok_or_else(|| card.complain(name.column, format!("there is no group '{expanded}'")))
        })
    }

    /// The number that belongs to field 3: the real parameter of field 5 on a `Z` card, field 4 on others.
    pub fn value(&self, card: &Card, prefix: Prefix) -> Result<f64, Complaint> {
        match prefix {
            Prefix::Z => self.parameters.real(card, &card.field5, true),
            _ => card.number(&card.field4),
        }
    }

    /// The names of fields 3 and 5 with their numbers, as far as there are any; a `Z` card has only one.
    pub fn pairs<'c>(&self, card: &'c Card, prefix: Prefix) -> Result<[Option<(&'c Name, f64)>; 2], Complaint> {
        let first = match card.field3.is_empty() {
            true => None,
            false => Some((&card.field3, self.value(card, prefix)?)),
        };
        let second = match prefix == Prefix::Z || card.field5.is_empty() {
            true => None,
            false => Some((&card.field5, card.number(&card.field6)?)),
        };
        Ok([first, second])
    }
}
