//! One module per section of the data part (or two that belong together).

mod bounds;
mod elements;
mod finish;
mod groups;
mod rows;
mod start;
mod types;
mod variables;

use crate::card::Card;
use crate::decode::Decoder;
use crate::error::Complaint;
use crate::loops::Section;

pub(crate) use finish::finish;

/// Values for what is not named; `'DEFAULT'` cards change them.
#[derive(Debug)]
pub(crate) struct Defaults {
    pub lower: f64,
    pub upper: f64,
    pub start: f64,
    pub element_type: Option<usize>,
    pub group_type: Option<usize>,
    /// Between two `'MARKER'` cards variables are integers.
    pub integers: bool,
}

impl Default for Defaults {
    fn default() -> Self {
        Defaults { lower: 0.0, upper: f64::INFINITY, start: 0.0, element_type: None, group_type: None, integers: false }
    }
}

/// The name that stands for all others.
const DEFAULT: &str = "'DEFAULT'";

/// Carries out a card that is neither a parameter nor part of a loop.
pub(crate) fn carry_out(decoder: &mut Decoder, section: Section, card: &Card) -> Result<(), Complaint> {
    match section {
        // Words without a code before the first section are remarks for the original decoder.
        Section::Head if card.code.is_empty() => Ok(()),
        Section::Head => {
            let message = format!("'{}' does not give a parameter its value, and no section has begun yet", card.code);
            Err(card.complain(2, message))
        }
        Section::Groups => rows::group(decoder, card),
        Section::Variables => variables::variable(decoder, card),
        Section::Constants => rows::constant(decoder, card),
        Section::Ranges => rows::range(decoder, card),
        Section::Bounds => bounds::bound(decoder, card),
        Section::Start => start::start(decoder, card),
        Section::Quadratic => variables::quadratic(decoder, card),
        Section::ElementTypes => types::element_type(decoder, card),
        Section::ElementUses => elements::element_use(decoder, card),
        Section::GroupTypes => types::group_type(decoder, card),
        Section::GroupUses => groups::group_use(decoder, card),
        Section::ObjectBound => bounds::objective_bound(decoder, card),
    }
}

/// Field 1 holds a code that its section does not know.
fn unknown_code(card: &Card, expected: &str) -> Complaint {
    card.complain(2, format!("field 1 of this section is {expected}, not '{}'", card.code))
}
