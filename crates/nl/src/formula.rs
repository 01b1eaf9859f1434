//! Formulas in prefix form, read without recursion: a formula may be as deep as it is long.

use crate::cursor::Reading;
use crate::error::Complaint;
use crate::model::{Formula, Pieces, Token};
use crate::opcode::{Arity, Meaning, Opcode};
use crate::segments::Reader;

impl Reader<'_> {
    /// Reads one formula.
    pub(crate) fn formula(&mut self) -> Reading<Formula> {
        let start = self.model.tokens.len();
        let mut wanted = 1usize;
        while wanted > 0 {
            let (token, operands) = self.token()?;
            self.model.tokens.push(token);
            wanted = wanted - 1 + operands;
        }
        // A constant zero, as linear constraints have it, is no formula.
        if self.model.tokens[start..] == [Token::Number(0.0)] {
            self.model.tokens.truncate(start);
        }
        Ok(start..self.model.tokens.len())
    }

    // The next token, and how many formulas are its operands.
    #[inline]
    fn token(&mut self) -> Reading<(Token, usize)> {
        let start = self.cursor.at();
        let result = match self.cursor.expect_letter("a formula")? {
            b'v' => (self.variable()?, 0),
            b'n' => (Token::Number(self.cursor.real("a number")?), 0),
            b'o' => return self.operation(),
            b's' => (Token::Number(self.cursor.short_integer("an integer")? as f64), 0),
            b'l' => (Token::Number(self.cursor.long_integer("an integer")? as f64), 0),
            b'f' => return self.call(),
            b'h' => return Err(Complaint::at(start, "a string was found where a number was expected")),
            other => {
                self.cursor.back();
                let shown = char::from(other).escape_default();
                return self.cursor.complain(format!(
                    "'{shown}' was found where a formula was expected, which begins with n, v, o, f, s or l"
                ));
            }
        };
        self.cursor.end_of_line()?;
        Ok(result)
    }

    #[inline]
    fn variable(&mut self) -> Reading<Token> {
        let n = self.model.header.variables;
        let start = self.cursor.at();
        let index = self.cursor.index(n + self.defined.len(), "variable")?;
        if index >= n && !self.defined[index - n] {
            return Err(Complaint::at(start, format!("variable {index} is used before it is defined")));
        }
        Ok(Token::Variable(index as u32))
    }

    fn operation(&mut self) -> Reading<(Token, usize)> {
        let start = self.cursor.at();
        let code = self.cursor.opcode()?;
        self.cursor.end_of_line()?;
        match Opcode::meaning(code) {
            Meaning::Operation(opcode, Arity::Fixed(count)) => Ok((Token::Apply(opcode, count), count as usize)),
            Meaning::Operation(opcode, Arity::Many) => {
                let start = self.cursor.at();
                let count = self.cursor.count("the number of operands")?;
                self.cursor.end_of_line()?;
                match u32::try_from(count) {
                    Ok(operands @ 1..) => Ok((Token::Apply(opcode, operands), count)),
                    _ => Err(Complaint::at(start, format!("an operation cannot have {count} operands"))),
                }
            }
            Meaning::Piecewise => self.pieces(),
            Meaning::Symbolic => Err(Complaint::at(
                start,
                format!("operation {code} works on strings, which only functions of external libraries have"),
            )),
            Meaning::Unknown => Err(Complaint::at(start, format!("there is no operation {code}"))),
        }
    }

    fn pieces(&mut self) -> Reading<(Token, usize)> {
        let start = self.cursor.at();
        let count = self.cursor.count("the number of slopes")?;
        self.cursor.end_of_line()?;
        if count < 2 {
            return Err(Complaint::at(
                start,
                format!("a piecewise-linear function cannot have {count} slopes: it has at least 2"),
            ));
        }
        let (mut slopes, mut breakpoints) = (Vec::with_capacity(count), Vec::with_capacity(count));
        for k in 0..2 * count - 1 {
            let start = self.cursor.at();
            let value = self.constant()?;
            if k % 2 == 0 {
                slopes.push(value);
                continue;
            }
            if breakpoints.last().is_some_and(|&last| value.is_nan() || value < last) {
                return Err(Complaint::at(start, format!("the breakpoint {value} is below the one before")));
            }
            breakpoints.push(value);
        }
        self.model.pieces.push(Pieces { slopes, breakpoints });
        Ok((Token::Piecewise((self.model.pieces.len() - 1) as u32), 1))
    }

    fn constant(&mut self) -> Reading<f64> {
        let value = match self.cursor.expect_letter("a number")? {
            b'n' => self.cursor.real("a number")?,
            b's' => self.cursor.short_integer("an integer")? as f64,
            b'l' => self.cursor.long_integer("an integer")? as f64,
            _ => {
                self.cursor.back();
                return self.cursor.complain("a slope or a breakpoint, which begins with n, s or l, was expected");
            }
        };
        self.cursor.end_of_line()?;
        Ok(value)
    }

    // What an external function computes is in a library that only AMPL's own solvers load.
    fn call(&mut self) -> Reading<(Token, usize)> {
        let start = self.cursor.at();
        let index = self.cursor.index(self.functions.len(), "function")?;
        let name = &self.functions[index];
        let name = if name.is_empty() { format!("number {index}") } else { name.clone() };
        Err(Complaint::at(
            start,
            format!("the function {name} of an external library is called here, and Tangor has no such libraries"),
        ))
    }
}
