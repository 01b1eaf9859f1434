//! Requests and answers, as text or with a binary payload.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tangor_problem::{Draw, Function, Wanted};

use crate::error::{Misdeed, Question};
use crate::literal::{Infinite, without_literals};

/// How numbers travel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Payload {
    /// As JSON arrays in the line.
    #[default]
    Text,
    /// After the line, eight bytes each, little-endian; the line says how many.
    Binary,
}

#[derive(Serialize)]
struct Request<D, P> {
    id: u64,
    evaluate: Asked,
    draws: D,
    point: P,
}

/// A name for one function, a list of names for several.
#[derive(Serialize)]
#[serde(untagged)]
enum Asked {
    One(Function),
    Several(Vec<Function>),
}

impl From<Wanted> for Asked {
    fn from(wanted: Wanted) -> Self {
        match (wanted.count(), wanted.first()) {
            (1, Some(function)) => Asked::One(function),
            _ => Asked::Several(wanted.functions().collect()),
        }
    }
}

/// An answer whose values are an array (text) or its length (binary).
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer<V> {
    id: u64,
    values: Option<V>,
    undefined: Option<String>,
    error: Option<String>,
}

/// What an answer says.
#[derive(Debug, PartialEq)]
pub enum Reply<V> {
    Values(V),
    Undefined(String),
    Error(String),
}

impl<V> Reply<V> {
    /// Hands the values on, if there are any.
    pub fn store(self, keep: impl FnOnce(V) -> Result<(), Misdeed>) -> Result<Reply<()>, Misdeed> {
        match self {
            Reply::Values(values) => keep(values).map(Reply::Values),
            Reply::Undefined(reason) => Ok(Reply::Undefined(reason)),
            Reply::Error(cause) => Ok(Reply::Error(cause)),
        }
    }
}

impl Payload {
    /// Appends a request to a buffer.
    pub fn request(
        self,
        id: u64,
        functions: Wanted,
        draws: &[Draw],
        x: &[f64],
        buffer: &mut Vec<u8>,
    ) -> serde_json::Result<()> {
        let evaluate = Asked::from(functions);
        match self {
            Payload::Text => {
                serde_json::to_writer(&mut *buffer, &Request { id, evaluate, draws, point: x })?;
                buffer.push(b'\n');
            }
            Payload::Binary => {
                let header = Request { id, evaluate, draws: draws.len(), point: x.len() };
                serde_json::to_writer(&mut *buffer, &header)?;
                buffer.push(b'\n');
                buffer.reserve(8 * (draws.len() + x.len()));
                buffer.extend(draws.iter().flat_map(|draw| draw.0.to_le_bytes()));
                x.iter().for_each(|value| buffer.extend_from_slice(&value.to_le_bytes()));
            }
        }
        Ok(())
    }

    /// The longest line that an answer with so many values may need.
    pub fn line_limit(self, values: usize) -> usize {
        // An error message may be long: a traceback, say.
        const MESSAGE: usize = 1 << 20;
        match self {
            Payload::Text => MESSAGE + 64 * values,
            Payload::Binary => MESSAGE,
        }
    }
}

/// Reads the line of an answer.
pub fn reply<V: DeserializeOwned>(line: &[u8], question: Question, id: u64) -> Result<Reply<V>, Misdeed> {
    let answer: Answer<V> = parse(line, question, Infinite::Null)?;
    if answer.id != id {
        return Err(Misdeed::OtherQuestion { question, answered: answer.id });
    }
    match answer {
        Answer { values: Some(values), undefined: None, error: None, .. } => Ok(Reply::Values(values)),
        Answer { values: None, undefined: Some(reason), error: None, .. } => Ok(Reply::Undefined(reason)),
        Answer { values: None, undefined: None, error: Some(cause), .. } => Ok(Reply::Error(cause)),
        _ => {
            let cause = "exactly one of `values`, `undefined` and `error` is needed".to_string();
            Err(Misdeed::Garbage { question, cause, excerpt: excerpt(line, 0) })
        }
    }
}

/// Reads a line of JSON, in which numbers may be written that JSON does not have.
pub fn parse<T: DeserializeOwned>(line: &[u8], question: Question, infinite: Infinite) -> Result<T, Misdeed> {
    let read = |line: &[u8]| serde_json::from_slice(line).map_err(|error| (excerpt(line, error.column()), error));
    let found = read(line).or_else(|wrong| without_literals(line, infinite).map_or(Err(wrong), |spelt| read(&spelt)));
    found.map_err(|(excerpt, error)| {
        // The place in the line is what the excerpt shows.
        let message = error.to_string();
        let cause = in_words(message.split(" at line ").next().unwrap_or(&message));
        Misdeed::Garbage { question, cause, excerpt }
    })
}

/// What the reader of JSON says, in words of those who wrote the line.
fn in_words(cause: &str) -> String {
    let words = [
        ("expected value", "it is not JSON"),
        ("expected f64", "expected a number"),
        ("expected u64", "expected a whole number"),
        ("expected a nonzero usize", "expected a whole number of at least 1"),
        ("expected usize", "expected a whole number"),
    ];
    words
        .into_iter()
        .fold(cause.to_string(), |cause, (from, to)| if cause.ends_with(from) { cause.replace(from, to) } else { cause })
}

/// The bytes of a line around a place, as text in quotes.
fn excerpt(line: &[u8], place: usize) -> String {
    const AROUND: usize = 60;
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let place = place.min(line.len());
    let (start, end) = (place.saturating_sub(AROUND), (place + AROUND).min(line.len()));
    let before = if start > 0 { "..." } else { "" };
    let after = if end < line.len() { "..." } else { "" };
    format!("{before}{:?}{after}", String::from_utf8_lossy(&line[start..end]))
}

/// Numbers from their bytes.
pub fn decode(bytes: &[u8], values: &mut [f64]) {
    for (value, bytes) in values.iter_mut().zip(bytes.as_chunks::<8>().0) {
        *value = f64::from_le_bytes(*bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRADIENT: Wanted = Wanted { gradient: true, ..Wanted::NOTHING };
    const QUESTION: Question = Question::Evaluation { id: 7, functions: GRADIENT };

    #[test]
    fn a_request_has_the_documented_bytes() {
        let (draws, x) = ([Draw(3), Draw(u64::MAX)], [0.1, -2.0]);
        let mut text = Vec::new();
        Payload::Text.request(7, GRADIENT, &draws, &x, &mut text).unwrap();
        let expected = "{\"id\":7,\"evaluate\":\"gradient\",\"draws\":[3,18446744073709551615],\"point\":[0.1,-2.0]}\n";
        assert_eq!(String::from_utf8(text).unwrap(), expected);

        let mut binary = Vec::new();
        Payload::Binary.request(8, Wanted::SAMPLED, &draws, &x, &mut binary).unwrap();
        let line = b"{\"id\":8,\"evaluate\":[\"gradient\",\"constraints\",\"jacobian\"],\"draws\":2,\"point\":2}\n";
        let (head, payload) = binary.split_at(line.len());
        assert_eq!(head, line);
        assert_eq!(payload[..16], [3, 0, 0, 0, 0, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255]);
        let mut point = [0.0; 2];
        decode(&payload[16..], &mut point);
        assert_eq!(point, x);
    }

    #[test]
    fn an_answer_says_exactly_one_thing() {
        let read = |line: &str| reply::<Vec<f64>>(line.as_bytes(), QUESTION, 7);
        assert_eq!(read("{\"id\": 7, \"values\": [1, 2.5e-3]}\n"), Ok(Reply::Values(vec![1.0, 2.5e-3])));
        assert_eq!(read("{\"id\": 7, \"undefined\": \"log(-1)\"}"), Ok(Reply::Undefined("log(-1)".into())));
        assert_eq!(read("{\"id\": 7, \"error\": \"no disk\"}"), Ok(Reply::Error("no disk".into())));
        let wrong = [
            ("{\"id\": 6, \"values\": []}", "answered request 6 when it was asked request 7 (gradient of the objective)"),
            (
                "{\"id\": 7}\n",
                "answered request 7 (gradient of the objective) with a line that cannot be understood (exactly one of `values`, \
                 `undefined` and `error` is needed): \"{\\\"id\\\": 7}\"",
            ),
            (
                "{\"id\": 7, \"values\": [1.0, \"2\"]}",
                "answered request 7 (gradient of the objective) with a line that cannot be understood (invalid type: string \"2\", \
                 expected a number): \"{\\\"id\\\": 7, \\\"values\\\": [1.0, \\\"2\\\"]}\"",
            ),
        ];
        for (line, expected) in wrong {
            assert_eq!(read(line).unwrap_err().to_string(), expected);
        }
    }

    #[test]
    fn numbers_that_json_lacks_are_none() {
        let read = |line: &str| reply::<Vec<Option<f64>>>(line.as_bytes(), QUESTION, 7);
        assert_eq!(read("{\"id\": 7, \"values\": [1.0, NaN, -Infinity]}"), Ok(Reply::Values(vec![Some(1.0), None, None])));
        assert!(read("{\"id\": 7, \"values\": [1.0, Nan]}").is_err());
    }

    #[test]
    fn an_excerpt_is_short_and_shows_the_place() {
        let line = format!("[{}infinite{}]", "0,".repeat(100), ",0".repeat(100));
        let error = parse::<Vec<f64>>(line.as_bytes(), QUESTION, Infinite::Null).unwrap_err().to_string();
        assert!(error.contains("...\"") && error.contains("0,infinite,0") && error.len() < 300, "{error}");
        assert_eq!(excerpt("é".as_bytes(), 1), "\"é\"");
        assert_eq!(excerpt(b"", 5), "\"\"");
    }
}
