//! Reading the answers of any solver: text, or the binary form of AMPL's own library.

use crate::cursor::{Cursor, Form, Reading};
use crate::error::{Complaint, NlError};
use crate::header::Header;
use crate::model::{Suffix, Target};
use crate::solution::Solution;

impl Solution {
    /// Reads an answer to a problem with this header; the name of the file is for messages.
    pub fn parse(bytes: &[u8], file: &str, header: &Header) -> Result<Self, NlError> {
        let order = [false, true].into_iter().find(|&big_endian| {
            let mark = if big_endian { 6i32.to_be_bytes() } else { 6i32.to_le_bytes() };
            bytes.starts_with(&[&mark[..], b"binary", &mark[..]].concat())
        });
        let outcome = match order {
            Some(big_endian) => Records::new(bytes, big_endian).solution(header),
            None => Lines { bytes, at: 0, next: 0 }.solution(header),
        };
        outcome.map_err(|complaint| complaint.in_file(file, bytes, order.is_none(), String::new()))
    }
}

// Numbers of options, of multipliers and of values; readers expect all values where there are no options.
fn sizes(header: &Header, given: &[i64], at: usize) -> Reading<(usize, usize)> {
    let &[constraints, multipliers, variables, values] = given else { return Ok((header.constraints, header.variables)) };
    let fits = |whole: i64, given: i64, size: usize| whole == size as i64 && (given == 0 || given == whole);
    if fits(constraints, multipliers, header.constraints) && fits(variables, values, header.variables) {
        return Ok((multipliers as usize, values as usize));
    }
    let (m, n) = (header.constraints, header.variables);
    let found = format!("{multipliers} of {constraints} multipliers and {values} of {variables} values");
    Err(Complaint::at(
        at,
        format!("this is the answer to another problem: it has {found}, but there are {m} constraints and {n} variables"),
    ))
}

fn target(kind: i64) -> (Target, bool) {
    let target = [Target::Variables, Target::Constraints, Target::Objectives, Target::Problem][(kind & 3) as usize];
    (target, kind & 4 != 0)
}

struct Lines<'a> {
    bytes: &'a [u8],
    at: usize,
    next: usize,
}

impl<'a> Lines<'a> {
    fn line(&mut self) -> Option<&'a str> {
        self.at = self.next;
        let rest = self.bytes.get(self.at..).filter(|rest| !rest.is_empty())?;
        let end = rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len());
        self.next = self.at + end + 1;
        Some(std::str::from_utf8(&rest[..end]).unwrap_or("\u{fffd}").trim_end())
    }

    fn number<T: std::str::FromStr>(&mut self, what: &str) -> Reading<T> {
        let Some(line) = self.line() else {
            return Err(Complaint::at(self.at, format!("the file ends where {what} was expected")));
        };
        line.trim().parse().map_err(|_| Complaint::at(self.at, format!("{line:?} was found where {what} was expected")))
    }

    fn numbers(&mut self, count: usize, what: &str) -> Reading<Vec<f64>> {
        (0..count).map(|_| self.number(what)).collect()
    }

    fn solution(&mut self, header: &Header) -> Reading<Solution> {
        let mut solution = Solution { code: -1, ..Solution::default() };
        let mut message = Vec::new();
        loop {
            match self.line() {
                None => return Err(Complaint::at(self.at, "the file ends within its message, which a blank line should end")),
                Some("") => break,
                Some(line) => message.push(line),
            }
        }
        solution.message = message.join("\n");
        let given = self.options()?;
        let (multipliers, values) = sizes(header, &given, self.at)?;
        solution.multipliers = self.numbers(multipliers, "a multiplier")?;
        solution.x = self.numbers(values, "the value of a variable")?;
        while let Some(line) = self.line() {
            let mut words = line.split_whitespace();
            match words.next() {
                None => {}
                Some("objno") => {
                    let mut number = || words.next().and_then(|word| word.parse::<i64>().ok());
                    solution.objective = number().unwrap_or(0).max(0) as usize;
                    solution.code = number().unwrap_or(-1);
                }
                Some("suffix") => {
                    let numbers: Vec<i64> = words.filter_map(|word| word.parse().ok()).collect();
                    solution.suffixes.push(self.suffix(&numbers)?);
                }
                Some(word) => {
                    return Err(Complaint::at(self.at, format!("{word:?} was found where objno or suffix was expected")));
                }
            }
        }
        Ok(solution)
    }

    // The four sizes after the options; nothing when there are no options.
    fn options(&mut self) -> Reading<Vec<i64>> {
        let start = self.next;
        loop {
            match self.line() {
                Some("") => {}
                Some("Options") => break,
                _ => {
                    self.next = start;
                    return Ok(Vec::new());
                }
            }
        }
        let mut count: i64 = self.number("the number of options")?;
        let mut options = vec![self.number::<i64>("an option")?, self.number("an option")?];
        let tolerance = options[1] == 3;
        if tolerance {
            count -= 2;
        }
        if !(1..=9).contains(&count) {
            return Err(Complaint::at(self.at, format!("there cannot be {count} options")));
        }
        for _ in 2..count + 4 {
            options.push(self.number("a size")?);
        }
        if tolerance {
            self.number::<f64>("a tolerance")?;
        }
        Ok(options.split_off(options.len() - 4))
    }

    // suffix kind values length-of-name length-of-table lines-of-table
    fn suffix(&mut self, numbers: &[i64]) -> Reading<Suffix> {
        let &[kind, count, _, _, table, ..] = numbers else {
            return Err(Complaint::at(self.at, "a suffix has five numbers: its kind, its length, and three about names"));
        };
        let end = |at| Complaint::at(at, "the file ends within a suffix");
        let name = self.line().ok_or(end(self.at))?.to_string();
        for _ in 0..table.clamp(0, self.bytes.len() as i64) {
            self.line().ok_or(end(self.at))?;
        }
        let mut values = Vec::new();
        for _ in 0..count {
            let line = self.line().ok_or(end(self.at))?;
            let pair = line.split_once(' ').and_then(|(index, value)| Some((index.parse().ok()?, value.trim().parse().ok()?)));
            values.push(pair.ok_or_else(|| Complaint::at(self.at, format!("{line:?} is not an index with a value")))?);
        }
        let (target, real) = target(kind);
        Ok(Suffix { target, name, real, values })
    }
}

/// Records with their lengths before and after them, as Fortran writes them.
struct Records<'a> {
    bytes: &'a [u8],
    at: usize,
    big_endian: bool,
}

impl<'a> Records<'a> {
    fn new(bytes: &'a [u8], big_endian: bool) -> Self {
        Records { bytes, at: 14, big_endian }
    }

    fn cursor(&self, at: usize) -> Cursor<'a> {
        Cursor::new(self.bytes, at, Form::Binary { big_endian: self.big_endian, wide: false, short: false })
    }

    // The place and the length of the next record; nothing at the end of the file.
    fn record(&mut self) -> Reading<Option<(usize, usize)>> {
        if self.at >= self.bytes.len() {
            return Ok(None);
        }
        let mut cursor = self.cursor(self.at);
        let length = cursor.count("the length of a record")?;
        let start = cursor.at();
        let after = self.cursor(start + length).integer("the length of a record")?;
        if after != length as i64 {
            return Err(Complaint::at(
                start + length,
                format!("a record has {length} bytes by its beginning and {after} by its end"),
            ));
        }
        self.at = start + length + 4;
        Ok(Some((start, length)))
    }

    fn expect(&mut self) -> Reading<(usize, usize)> {
        let at = self.at;
        self.record()?.ok_or_else(|| Complaint::at(at, "the file ends where a record was expected"))
    }

    fn reals(&mut self, count: usize) -> Reading<Vec<f64>> {
        let (start, length) = self.expect()?;
        if length != 8 * count {
            return Err(Complaint::at(
                start,
                format!("a record of {length} bytes was found where {count} numbers were expected"),
            ));
        }
        let mut cursor = self.cursor(start);
        (0..count).map(|_| cursor.real("a number")).collect()
    }

    fn solution(&mut self, header: &Header) -> Reading<Solution> {
        let mut solution = Solution { code: -1, ..Solution::default() };
        let mut message = Vec::new();
        loop {
            match self.expect()? {
                (_, 0) => break,
                (start, length) => {
                    message.push(String::from_utf8_lossy(&self.bytes[start..start + length]).trim_end().to_string())
                }
            }
        }
        solution.message = message.join("\n");
        let before = self.at;
        let (start, length) = self.expect()?;
        let mut given = Vec::new();
        if self.bytes[start..start + length].starts_with(b"Options") {
            let mut cursor = self.cursor(start + 7);
            let mut numbers: Vec<i64> = Vec::new();
            let most = (length - 7) / 4;
            while numbers.len() < most {
                numbers.push(cursor.integer("an option")?);
            }
            // Behind the sizes stands a real number when the second option is 3.
            if numbers.get(2) == Some(&3) {
                numbers.truncate(numbers.len().saturating_sub(2));
            }
            given = numbers.split_off(numbers.len().saturating_sub(4));
        } else {
            self.at = before;
        }
        let (multipliers, values) = sizes(header, &given, start)?;
        solution.multipliers = self.reals(multipliers)?;
        solution.x = self.reals(values)?;
        if let Some((start, length)) = self.record()? {
            let mut cursor = self.cursor(start);
            solution.objective = if length >= 4 { cursor.integer("an objective")?.max(0) as usize } else { 0 };
            solution.code = if length >= 8 { cursor.integer("a result")? } else { -1 };
        }
        while let Some((start, length)) = self.record()? {
            solution.suffixes.push(self.suffix(start, length)?);
        }
        Ok(solution)
    }

    // A mark, four numbers (kind, values, length of the name, length of a table of meanings), the name, the table, and indices with values.
    fn suffix(&self, start: usize, length: usize) -> Reading<Suffix> {
        const MARK: &[u8] = b"\nSuffix\n";
        let wrong = || Complaint::at(start, format!("a record of {length} bytes was found where a suffix was expected"));
        if !self.bytes[start..start + length].starts_with(MARK) {
            return Err(wrong());
        }
        let mut cursor = self.cursor(start + MARK.len());
        let mut head = [0; 4];
        for number in &mut head {
            *number = cursor.integer("a number of a suffix")?;
        }
        let [kind, count, name, table] = head;
        let (target, real) = target(kind);
        let each = if real { 12 } else { 8 };
        let fits = [count, name, table].iter().all(|number| (0..=length as i64).contains(number));
        if !fits || (MARK.len() + 16) as i64 + name + table + each * count != length as i64 {
            return Err(wrong());
        }
        let from = cursor.at();
        let letters = self.bytes[from..from + name as usize].split(|&byte| byte == 0).next().unwrap_or_default();
        let mut cursor = self.cursor(from + (name + table) as usize);
        let mut values = Vec::new();
        for _ in 0..count {
            let index = cursor.count("the index of a value")?;
            values.push((index, if real { cursor.real("a value")? } else { cursor.integer("a value")? as f64 }));
        }
        Ok(Suffix { target, name: String::from_utf8_lossy(letters).into_owned(), real, values })
    }
}
