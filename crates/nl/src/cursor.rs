//! The two forms of a file, read by the same calls: lines of text, or bytes in either order.

use crate::error::Complaint;

/// How numbers are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Decimal numbers on lines; `#` begins a comment.
    Text,
    Binary {
        big_endian: bool,
        /// Integers of 64 bits in place of 32.
        wide: bool,
        /// Numbers of operations in 16 bits.
        short: bool,
    },
}

/// A place in a file.
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    form: Form,
}

pub(crate) type Reading<T> = Result<T, Complaint>;

impl<'a> Cursor<'a> {
    pub fn new(bytes: &'a [u8], at: usize, form: Form) -> Self {
        Cursor { bytes, at, form }
    }

    pub fn is_text(&self) -> bool {
        self.form == Form::Text
    }

    /// How much there is left to read: no table can have more entries than that.
    pub fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    pub fn at(&self) -> usize {
        self.at
    }

    pub fn complain<T>(&self, message: impl Into<String>) -> Reading<T> {
        Err(Complaint::at(self.at, message))
    }

    /// The letter that begins a segment, an expression or a bound; nothing at the end of the file.
    pub fn letter(&mut self) -> Option<u8> {
        if self.is_text() {
            while matches!(self.bytes.get(self.at), Some(b' ' | b'\t' | b'\r' | b'\n')) {
                self.at += 1;
            }
        }
        let letter = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(letter)
    }

    /// A letter that must be there.
    pub fn expect_letter(&mut self, what: &str) -> Reading<u8> {
        match self.letter() {
            Some(letter) => Ok(letter),
            None => self.complain(format!("the file ends where {what} was expected")),
        }
    }

    /// Goes back by the letter that was just read, so that a complaint names its place.
    pub fn back(&mut self) {
        self.at -= 1;
    }

    /// The end of a line of text, with or without a comment; nothing in a binary file.
    #[inline]
    pub fn end_of_line(&mut self) -> Reading<()> {
        if !self.is_text() {
            return Ok(());
        }
        self.blanks();
        match self.bytes.get(self.at) {
            None => Ok(()),
            Some(b'\n') => {
                self.at += 1;
                Ok(())
            }
            Some(b'#') => {
                let rest = &self.bytes[self.at..];
                self.at += rest.iter().position(|&byte| byte == b'\n').map_or(rest.len(), |end| end + 1);
                Ok(())
            }
            Some(_) => self.complain(format!("{} was found where the line should end", self.shown())),
        }
    }

    #[inline]
    fn blanks(&mut self) {
        while let Some(b' ' | b'\t' | b'\r') = self.bytes.get(self.at) {
            self.at += 1;
        }
    }

    // The word that begins here, for a message.
    fn shown(&self) -> String {
        let word = self.word();
        match word.len() {
            0 if self.at >= self.bytes.len() => "the end of the file".to_string(),
            0 => "the end of the line".to_string(),
            length => format!("{:?}", String::from_utf8_lossy(&word[..length.min(40)])),
        }
    }

    #[inline]
    fn word(&self) -> &'a [u8] {
        let rest = &self.bytes[self.at..];
        let end = rest.iter().position(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | b'#')).unwrap_or(rest.len());
        &rest[..end]
    }

    fn take<const N: usize>(&mut self, what: &str) -> Reading<[u8; N]> {
        match self.bytes.get(self.at..).and_then(|rest| rest.first_chunk::<N>()) {
            Some(&chunk) => {
                self.at += N;
                Ok(chunk)
            }
            None => self.complain(format!("the file ends where {what} was expected")),
        }
    }

    /// An integer.
    #[inline]
    pub fn integer(&mut self, what: &str) -> Reading<i64> {
        match self.form {
            Form::Text => self.text_integer(what),
            Form::Binary { wide: false, big_endian, .. } => {
                let bytes = self.take(what)?;
                Ok(i64::from(if big_endian { i32::from_be_bytes(bytes) } else { i32::from_le_bytes(bytes) }))
            }
            Form::Binary { wide: true, big_endian, .. } => {
                let bytes = self.take(what)?;
                Ok(if big_endian { i64::from_be_bytes(bytes) } else { i64::from_le_bytes(bytes) })
            }
        }
    }

    #[inline]
    fn text_integer(&mut self, what: &str) -> Reading<i64> {
        self.blanks();
        let start = self.at;
        let negative = self.bytes.get(self.at) == Some(&b'-');
        self.at += usize::from(negative);
        let (mut value, digits) = (0i64, self.at);
        while let Some(digit) = self.bytes.get(self.at).map(|byte| byte.wrapping_sub(b'0')).filter(|&digit| digit < 10) {
            value = value.saturating_mul(10).saturating_add(i64::from(digit));
            self.at += 1;
        }
        if self.at == digits || !matches!(self.bytes.get(self.at), None | Some(b' ' | b'\t' | b'\r' | b'\n' | b'#')) {
            self.at = start;
            return self.complain(format!("{} was found where {what} was expected", self.shown()));
        }
        Ok(if negative { -value } else { value })
    }

    /// An integer from 0 to below `end`.
    #[inline]
    pub fn index(&mut self, end: usize, what: &str) -> Reading<usize> {
        let start = self.at;
        let value = self.integer(what)?;
        match usize::try_from(value) {
            Ok(index) if index < end => Ok(index),
            _ => {
                self.at = start;
                if end == 0 {
                    return self.complain(format!("{what} {value} was found, but there is none"));
                }
                self.complain(format!("{what} {value} was found, but the last one is {}", end - 1))
            }
        }
    }

    /// How many of something follow, of which each takes at least a byte.
    pub fn count(&mut self, what: &str) -> Reading<usize> {
        let start = self.at;
        let value = self.integer(what)?;
        match usize::try_from(value) {
            Ok(count) if count <= self.left() => Ok(count),
            _ => {
                self.at = start;
                self.complain(format!("{what} cannot be {value}: {} bytes are left in the file", self.left()))
            }
        }
    }

    /// The number of an operation.
    #[inline]
    pub fn opcode(&mut self) -> Reading<i64> {
        match self.form {
            Form::Binary { short: true, .. } => self.short_integer("the number of an operation"),
            _ => self.integer("the number of an operation"),
        }
    }

    /// An integer that has 16 bits in a binary file.
    pub fn short_integer(&mut self, what: &str) -> Reading<i64> {
        match self.form {
            Form::Text => self.text_integer(what),
            Form::Binary { big_endian, .. } => {
                let bytes = self.take(what)?;
                Ok(i64::from(if big_endian { i16::from_be_bytes(bytes) } else { i16::from_le_bytes(bytes) }))
            }
        }
    }

    /// An integer that has 32 bits in every binary file.
    pub fn long_integer(&mut self, what: &str) -> Reading<i64> {
        match self.form {
            Form::Text => self.text_integer(what),
            Form::Binary { big_endian, .. } => {
                let bytes = self.take(what)?;
                Ok(i64::from(if big_endian { i32::from_be_bytes(bytes) } else { i32::from_le_bytes(bytes) }))
            }
        }
    }

    /// A real number; infinity and NaN are numbers here.
    #[inline]
    pub fn real(&mut self, what: &str) -> Reading<f64> {
        match self.form {
            Form::Text => {
                self.blanks();
                if let Some((value, length)) = decimal(&self.bytes[self.at..]) {
                    self.at += length;
                    return Ok(value);
                }
                let word = self.word();
                match std::str::from_utf8(word).ok().and_then(|word| word.parse().ok()) {
                    Some(value) => {
                        self.at += word.len();
                        Ok(value)
                    }
                    None => self.complain(format!("{} was found where {what} was expected", self.shown())),
                }
            }
            Form::Binary { big_endian, .. } => {
                let bytes = self.take(what)?;
                Ok(if big_endian { f64::from_be_bytes(bytes) } else { f64::from_le_bytes(bytes) })
            }
        }
    }

    /// A name: the rest of a word, or a length with its bytes.
    pub fn name(&mut self, what: &str) -> Reading<String> {
        let bytes = match self.form {
            Form::Text => {
                self.blanks();
                let word = self.word();
                if word.is_empty() {
                    return self.complain(format!("{} was found where {what} was expected", self.shown()));
                }
                self.at += word.len();
                word
            }
            Form::Binary { .. } => {
                let length = self.count(&format!("the length of {what}"))?;
                self.at += length;
                &self.bytes[self.at - length..self.at]
            }
        };
        Ok(String::from_utf8_lossy(bytes).into_owned())
    }

    /// True when the line of text goes on.
    pub fn line_goes_on(&mut self) -> bool {
        self.blanks();
        !matches!(self.bytes.get(self.at), None | Some(b'\n' | b'#'))
    }
}

/// Powers of ten that are doubles without rounding.
const TENS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21,
    1e22,
];
/// Integers up to this size are doubles without rounding.
const EXACT: u64 = 1 << 53;

// Short decimal numbers, which nearly all are: an integer and a power of ten that are both exact need one rounding, that of their
// product or quotient, which is the right one. With the number its length; nothing for all other words.
#[inline]
fn decimal(bytes: &[u8]) -> Option<(f64, usize)> {
    let at = |place: usize| bytes.get(place).copied().unwrap_or(b'\n');
    let digits = |mut place: usize, mut value: u64| {
        let start = place;
        loop {
            let digit = at(place).wrapping_sub(b'0');
            if digit > 9 || value >= EXACT / 10 {
                return (value, place - start, place);
            }
            value = 10 * value + u64::from(digit);
            place += 1;
        }
    };
    let negative = at(0) == b'-';
    let (mut value, whole, mut place) = digits(usize::from(negative), 0);
    let mut after_point = 0;
    if at(place) == b'.' {
        (value, after_point, place) = digits(place + 1, value);
    }
    if whole + after_point == 0 {
        return None;
    }
    let mut exponent = -(after_point as i64);
    if matches!(at(place), b'e' | b'E') {
        let minus = at(place + 1) == b'-';
        let (size, count, end) = digits(place + 1 + usize::from(minus || at(place + 1) == b'+'), 0);
        if count == 0 {
            return None;
        }
        exponent += if minus { -(size as i64) } else { size as i64 };
        place = end;
    }
    let power = *TENS.get(exponent.unsigned_abs() as usize)?;
    if !matches!(at(place), b' ' | b'\t' | b'\r' | b'\n' | b'#') {
        return None;
    }
    let size = if exponent < 0 { value as f64 / power } else { value as f64 * power };
    Some((if negative { -size } else { size }, place))
}

#[cfg(test)]
mod tests {
    use super::decimal;

    #[test]
    fn short_numbers_have_the_bits_that_the_standard_library_gives() {
        let mut state = 7u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        let mut quick = 0;
        for _ in 0..200_000 {
            let sign = ["", "-"][random(2) as usize];
            let length = random(10) as u32;
            let number = random(10u64.pow(length));
            let point = match random(3) {
                0 => String::new(),
                _ => {
                    let (digits, width) = (random(100_000_000), random(12) as usize);
                    format!(".{digits:0width$}")
                }
            };
            let exponent = ["", "e5", "E-7", "e+22", "e-23", "e300", "e-308"][random(7) as usize];
            let word = format!("{sign}{number}{point}{exponent}");
            let wanted: f64 = word.parse().unwrap();
            if let Some((value, length)) = decimal(format!("{word} 1").as_bytes()) {
                assert_eq!((value.to_bits(), length), (wanted.to_bits(), word.len()), "{word}");
                quick += 1;
            }
        }
        assert!(quick > 80_000, "{quick}");
    }

    #[test]
    fn whatever_else_is_left_to_the_standard_library() {
        for word in
            ["", "-", ".", "-.", "e5", "1e", "1e+", "1e-", "1x", "inf", "nan", "+1", "--1", "12345678901234567890", "1e999"]
        {
            assert_eq!(decimal(word.as_bytes()), None, "{word}");
        }
        assert_eq!(decimal(b"-0\n").map(|(value, length)| (value.to_bits(), length)), Some(((-0f64).to_bits(), 2)));
        assert_eq!([decimal(b"5."), decimal(b".5"), decimal(b"2#")], [Some((5.0, 2)), Some((0.5, 2)), Some((2.0, 1))]);
    }
}
