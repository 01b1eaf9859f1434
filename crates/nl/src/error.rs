use std::fmt;

/// What is wrong with a file, and where.
///
/// It prints as `file:line: in segment C3: message`, with `byte 120 of file` in place of the line when the file is binary, and without a
/// place when the file as a whole is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NlError {
    /// The file, as the caller named it.
    pub file: String,
    /// Where in the file.
    pub place: Place,
    /// The segment, as its first line names it (`C3`, `b`, `header`); empty when the file as a whole is meant.
    pub segment: String,
    /// A sentence that says what was found and what was expected.
    pub message: String,
}

/// A place in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The file as a whole.
    Whole,
    /// A line of a text, counted from 1.
    Line(usize),
    /// A byte of a binary file, counted from 0.
    Byte(usize),
}

impl fmt::Display for NlError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place {
            Place::Whole => write!(out, "{}: ", self.file)?,
            Place::Line(line) => write!(out, "{}:{line}: ", self.file)?,
            Place::Byte(byte) => write!(out, "byte {byte} of {}: ", self.file)?,
        }
        match self.segment.as_str() {
            "" => {}
            "header" => write!(out, "in the header: ")?,
            segment => write!(out, "in segment {segment}: ")?,
        }
        write!(out, "{}", self.message)
    }
}

impl std::error::Error for NlError {}

/// A complaint about a place; whoever knows the name of the file turns it into an [`NlError`].
#[derive(Debug, PartialEq)]
pub(crate) struct Complaint {
    /// The byte that it is about; nothing when the file as a whole is meant.
    pub at: Option<usize>,
    pub message: String,
}

impl Complaint {
    /// About the file as a whole.
    pub fn whole(message: impl Into<String>) -> Self {
        Complaint { at: None, message: message.into() }
    }

    /// About a place.
    pub fn at(byte: usize, message: impl Into<String>) -> Self {
        Complaint { at: Some(byte), message: message.into() }
    }

    /// With the file that it is about, whose text has lines or has none.
    pub fn in_file(self, file: &str, bytes: &[u8], text: bool, segment: String) -> NlError {
        let place = match self.at {
            None => Place::Whole,
            Some(at) if text => Place::Line(1 + bytes[..at.min(bytes.len())].iter().filter(|&&byte| byte == b'\n').count()),
            Some(at) => Place::Byte(at),
        };
        let segment = if place == Place::Whole { String::new() } else { segment };
        NlError { file: file.to_string(), place, segment, message: self.message }
    }
}
