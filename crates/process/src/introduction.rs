//! How a process introduces its problem.

use std::num::NonZeroUsize;

use serde::{Deserialize, Serialize};
use tangor_problem::{Access, Accesses, Meta, MetaError, Pattern};

use crate::PROTOCOL_VERSION;
use crate::error::{Misdeed, Question};
use crate::literal::Infinite;
use crate::message::{Payload, parse};

/// The longest introduction: a million variables with names, and a pattern of ten million entries, fit.
pub const LONGEST_INTRODUCTION: usize = 1 << 30;

/// The greeting that opens the conversation.
#[derive(Serialize)]
struct Greeting {
    tangor: u64,
    payloads: [Payload; 2],
}

/// The line that every process reads first.
pub fn greeting(buffer: &mut Vec<u8>) -> serde_json::Result<()> {
    serde_json::to_writer(&mut *buffer, &Greeting { tangor: PROTOCOL_VERSION, payloads: [Payload::Binary, Payload::Text] })?;
    buffer.push(b'\n');
    Ok(())
}

/// The introduction in a line, perhaps behind something that was printed without an end of its line; none where the line is something else.
pub fn introduction_in(line: &[u8]) -> Option<&[u8]> {
    let find = |text: &[u8]| line.windows(text.len()).position(|window| window == text);
    let is_object = line.trim_ascii_start().starts_with(b"{");
    match is_object {
        true => find(b"\"tangor\"").map(|_| line),
        false => find(b"{\"tangor\"").map(|start| &line[start..]),
    }
}

/// What is known of the objective.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Objective {
    /// Values and gradients.
    Value,
    /// Gradients only.
    #[default]
    Gradient,
    /// There is nothing to minimise.
    None,
}

/// What a process says of its problem.
pub struct Introduction {
    pub meta: Meta,
    pub accesses: Accesses,
    pub objective: Objective,
    pub payload: Payload,
    /// Whether one question may ask for several functions.
    pub several: bool,
    /// The most draws in one question; none when there may be any number.
    pub most_draws: Option<NonZeroUsize>,
    /// Which rows of sampled constraints have no noise; empty where nobody says.
    pub exact_rows: Vec<bool>,
}

/// Read before all else, whatever the other fields of another version may be.
#[derive(Deserialize)]
#[serde(expecting = "a JSON object with the field `tangor`")]
struct Opening {
    tangor: u64,
    error: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fields {
    #[serde(rename = "tangor")]
    _version: u64,
    #[serde(default)]
    payload: Payload,
    name: String,
    n: usize,
    #[serde(default)]
    m: usize,
    x0: Vec<f64>,
    x_lower: Option<Vec<Option<f64>>>,
    x_upper: Option<Vec<Option<f64>>>,
    #[serde(default)]
    c_lower: Vec<Option<f64>>,
    #[serde(default)]
    c_upper: Vec<Option<f64>>,
    jacobian: Option<Entries>,
    #[serde(default)]
    variable_names: Vec<String>,
    #[serde(default)]
    row_names: Vec<String>,
    #[serde(default)]
    linear_rows: Vec<bool>,
    #[serde(default)]
    exact_rows: Vec<bool>,
    #[serde(default)]
    objective: Objective,
    #[serde(default = "exact")]
    accesses: Accesses,
    #[serde(default)]
    several: bool,
    most_draws: Option<NonZeroUsize>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entries {
    rows: Vec<usize>,
    columns: Vec<usize>,
}

fn exact() -> Accesses {
    Accesses::all(Access::Exact)
}

impl Introduction {
    /// Reads the line with which a process introduces itself.
    pub fn read(line: &[u8]) -> Result<Introduction, Misdeed> {
        let opening: Opening = parse(line, Question::Introduction, Infinite::Huge)?;
        if opening.tangor != PROTOCOL_VERSION {
            return Err(Misdeed::Version(opening.tangor));
        }
        match opening.error {
            Some(cause) => Err(Misdeed::Refused(cause)),
            None => {
                let fields: Fields = parse(line, Question::Introduction, Infinite::Huge)?;
                let Accesses { gradient, constraints, jacobian } = fields.accesses;
                if [gradient, constraints, jacobian].contains(&Access::Finite(0)) {
                    return Err(Misdeed::EmptyPopulation);
                }
                fields.check().map_err(Misdeed::Introduction)
            }
        }
    }
}

impl Fields {
    fn check(self) -> Result<Introduction, MetaError> {
        let (n, m) = (self.n, self.m);
        let lengths = [("x0", self.x0.len(), n), ("c_lower", self.c_lower.len(), m), ("c_upper", self.c_upper.len(), m)];
        for (what, found, expected) in lengths {
            if found != expected {
                return Err(MetaError::Length { what, found, expected });
            }
        }
        let mut meta = Meta::new(self.name, self.x0);
        if let Some(lower) = self.x_lower {
            meta.x_lower = bounds(lower, f64::NEG_INFINITY);
        }
        if let Some(upper) = self.x_upper {
            meta.x_upper = bounds(upper, f64::INFINITY);
        }
        meta.c_lower = bounds(self.c_lower, f64::NEG_INFINITY);
        meta.c_upper = bounds(self.c_upper, f64::INFINITY);
        if let Some(Entries { rows, columns }) = self.jacobian {
            meta.jacobian = Pattern::Sparse { rows, columns };
        }
        meta.has_objective = self.objective != Objective::None;
        meta.variable_names = self.variable_names;
        meta.row_names = self.row_names;
        meta.linear_rows = self.linear_rows;
        meta.validate()?;
        if !self.exact_rows.is_empty() && self.exact_rows.len() != m {
            return Err(MetaError::Length { what: "exact_rows", found: self.exact_rows.len(), expected: m });
        }
        let mut accesses = self.accesses;
        // What is never asked for makes nothing noisy.
        if !meta.has_objective {
            accesses.gradient = Access::Exact;
        }
        if m == 0 {
            (accesses.constraints, accesses.jacobian) = (Access::Exact, Access::Exact);
        }
        let Fields { objective, payload, several, most_draws, exact_rows, .. } = self;
        Ok(Introduction { meta, accesses, objective, payload, several, most_draws, exact_rows })
    }
}

/// Bounds, where `null` stands for none.
fn bounds(given: Vec<Option<f64>>, none: f64) -> Vec<f64> {
    given.into_iter().map(|bound| bound.unwrap_or(none)).collect()
}

#[cfg(test)]
mod tests {
    use tangor_problem::INFINITE;

    use super::*;

    #[test]
    fn what_is_printed_before_is_told_from_the_introduction() {
        let line = b"{\"tangor\": 1}".as_slice();
        assert_eq!(introduction_in(line), Some(line));
        assert_eq!(introduction_in(b"loading ... {\"tangor\": 1}"), Some(line));
        assert_eq!(introduction_in(b" {\"name\": \"p\", \"tangor\": 1}").map(<[u8]>::len), Some(27));
        for printed in [&b"Welcome to tangor!"[..], b"3", b"", b"\n", b"{}", b"{'tangor': 1}", b"[\"tangor\"]", b"\xff\x00"] {
            assert_eq!(introduction_in(printed), None, "{}", String::from_utf8_lossy(printed));
        }
    }

    #[test]
    fn what_is_absent_has_its_documented_meaning() {
        let line = "{\"tangor\": 1, \"name\": \"p\", \"n\": 2, \"x0\": [0, 1e0], \"accesses\": \
                    {\"gradient\": \"endless\", \"constraints\": \"endless\", \"jacobian\": {\"finite\": 3}}}\n";
        let found = Introduction::read(line.as_bytes()).unwrap();
        assert_eq!(found.meta, Meta::new("p", vec![0.0, 1.0]));
        assert_eq!((found.objective, found.payload), (Objective::Gradient, Payload::Text));
        assert_eq!((found.several, found.most_draws), (false, None));
        assert!(found.exact_rows.is_empty());
        let accesses = Accesses { gradient: Access::Endless, constraints: Access::Exact, jacobian: Access::Exact };
        assert_eq!(found.accesses, accesses);
    }

    #[test]
    fn all_fields_arrive() {
        let line = "{\"tangor\": 1, \"name\": \"p\", \"n\": 2, \"m\": 1, \"x0\": [0, 1], \"x_lower\": [null, -1], \"x_upper\": \
                    null, \"c_lower\": [null], \"c_upper\": [3], \"jacobian\": {\"rows\": [0], \"columns\": [1]}, \
                    \"variable_names\": [\"a\", \"b\"], \"row_names\": [\"r\"], \"linear_rows\": [true], \"exact_rows\": [true], \"objective\": \"none\", \
                    \"payload\": \"binary\", \"several\": true, \"most_draws\": 100}";
        let found = Introduction::read(line.as_bytes()).unwrap();
        let mut expected = Meta::new("p", vec![0.0, 1.0])
            .bounds(&[f64::NEG_INFINITY, -1.0], &[f64::INFINITY; 2])
            .at_most(&[3.0])
            .sparse([(0, 1)])
            .name_variables(["a", "b"])
            .name_rows(["r"])
            .no_objective();
        expected.linear_rows = vec![true];
        assert_eq!(found.meta, expected);
        assert_eq!((found.objective, found.payload), (Objective::None, Payload::Binary));
        assert_eq!((found.several, found.most_draws), (true, NonZeroUsize::new(100)));
        assert_eq!(found.exact_rows, [true]);
        assert!(found.accesses.are_exact());
    }

    #[test]
    fn infinite_bounds_are_none() {
        let line = "{\"tangor\": 1, \"name\": \"p\", \"n\": 1, \"m\": 1, \"x0\": [0], \"x_lower\": [-Infinity], \"x_upper\": [Infinity], \
                    \"c_lower\": [0], \"c_upper\": [Infinity]}";
        let meta = Introduction::read(line.as_bytes()).unwrap().meta;
        assert!(meta.x_lower[0] <= -INFINITE && meta.x_upper[0] >= INFINITE && meta.c_upper[0] >= INFINITE, "{meta:?}");
        let without_start = Introduction::read(line.replace("\"x0\": [0]", "\"x0\": [NaN]").as_bytes());
        assert!(without_start.is_err());
        let nowhere = Introduction::read(line.replace("\"c_lower\": [0]", "\"c_lower\": [NaN]").as_bytes());
        let refused = nowhere.err().map(|error| error.to_string()).unwrap_or_default();
        assert!(refused.contains("it is not JSON") && refused.contains("NaN"), "{refused}");
    }

    #[test]
    fn exact_rows_are_as_many_as_there_are_rows() {
        let line = "{\"tangor\": 1, \"name\": \"p\", \"n\": 1, \"m\": 1, \"x0\": [0], \"c_lower\": [0], \"c_upper\": [1], \
                    \"exact_rows\": [true, false]}";
        let refused = Introduction::read(line.as_bytes()).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(refused.contains("exact_rows") && refused.contains('2'), "{refused}");
    }
}
