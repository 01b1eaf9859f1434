//! The ten lines of text that begin every file, binary ones too.

use serde::Serialize;

use crate::cursor::{Form, Reading};
use crate::error::{Complaint, NlError};

/// What the first ten lines of a file say, in their order; numbers that an old file leaves out are 0.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Header {
    /// True when the rest of the file is binary.
    pub binary: bool,
    /// The options of AMPL, which go into the solution file unchanged.
    pub options: Vec<i64>,
    /// A tolerance that goes into the solution file unchanged; there when the second option is 3.
    pub tolerance: Option<f64>,
    /// The name after the comment sign of the first line, or empty.
    pub name: String,
    /// Variables.
    pub variables: usize,
    /// Algebraic constraints.
    pub constraints: usize,
    /// Objectives.
    pub objectives: usize,
    /// Constraints with two different finite bounds.
    pub ranges: usize,
    /// Equations; nothing when the file does not say.
    pub equations: Option<usize>,
    /// Logical constraints.
    pub logical: usize,
    /// Nonlinear constraints; they are the first.
    pub nonlinear_constraints: usize,
    /// Nonlinear objectives; they are the first.
    pub nonlinear_objectives: usize,
    /// Complementarity conditions, linear and nonlinear.
    pub complementarities: usize,
    /// Nonlinear network constraints.
    pub nonlinear_network: usize,
    /// Linear network constraints.
    pub linear_network: usize,
    /// Variables that are nonlinear in constraints.
    pub nonlinear_in_constraints: usize,
    /// Variables that are nonlinear in objectives.
    pub nonlinear_in_objectives: usize,
    /// Variables that are nonlinear in both; nothing when the file does not say.
    pub nonlinear_in_both: Option<usize>,
    /// Linear network variables.
    pub arcs: usize,
    /// Functions of external libraries.
    pub functions: usize,
    /// The arithmetic of a binary file: 1 has the low byte first, 2 the high byte.
    pub arithmetic: i64,
    /// 1: AMPL wants suffixes back.
    pub flags: i64,
    /// Binary variables that are linear.
    pub binaries: usize,
    /// Integer variables that are linear.
    pub integers: usize,
    /// Integer variables that are nonlinear in both, in constraints only, in objectives only.
    pub nonlinear_integers: [usize; 3],
    /// Entries of the Jacobian.
    pub jacobian: usize,
    /// Entries of the gradients of the objectives.
    pub gradients: usize,
    /// The longest name of a row and of a variable.
    pub name_lengths: [usize; 2],
    /// Defined variables: of constraints and objectives, of constraints, of objectives, of one constraint, of one objective.
    pub definitions: [usize; 5],
}

impl Header {
    /// How many defined variables there are.
    pub fn defined(&self) -> usize {
        self.definitions.iter().fold(0, |sum, &count| sum.saturating_add(count))
    }

    /// The variables that must be integers, as ranges of indices: the format keeps each kind at the end of its group.
    pub fn integer_variables(&self) -> impl Iterator<Item = usize> {
        let both = self.nonlinear_in_both.unwrap_or(0);
        let constraints = self.nonlinear_in_constraints.max(both);
        let objectives = self.nonlinear_in_objectives.max(constraints);
        let ends = [both, constraints, objectives];
        let nonlinear = ends.into_iter().zip(self.nonlinear_integers).flat_map(|(end, count)| end.saturating_sub(count)..end);
        let linear = self.binaries.saturating_add(self.integers);
        nonlinear.chain(self.variables.saturating_sub(linear)..self.variables)
    }

    /// Reads the header of a file, whose name is for messages; the rest may be anything.
    pub fn parse(bytes: &[u8], file: &str) -> Result<Self, NlError> {
        let read = Header::read(bytes).map_err(|complaint| complaint.in_file(file, bytes, true, "header".to_string()));
        read.map(|(header, ..)| header)
    }

    /// Reads the ten lines; gives also the place where they end, and how the rest is written.
    pub(crate) fn read(bytes: &[u8]) -> Reading<(Header, usize, Form)> {
        let mut lines = Lines { bytes, start: 0, next: 0 };
        let (mut header, mut form) = first(&mut lines)?;
        let [variables, constraints, objectives, ranges, equations, logical] =
            lines.numbers(3, "variables, constraints, objectives, ranges, equations")?;
        header.equations = (equations >= 0).then_some(equations as usize);
        header.sizes(&lines, [variables, constraints, objectives, ranges.max(0), logical.max(0)])?;
        let [nlc, nlo, linear, nonlinear, ..] = lines.sizes::<6>(2, "nonlinear constraints and objectives")?;
        (header.nonlinear_constraints, header.nonlinear_objectives) = (nlc, nlo);
        header.complementarities = linear.saturating_add(nonlinear);
        [header.nonlinear_network, header.linear_network] = lines.sizes(2, "network constraints")?;
        let [nlvc, nlvo, nlvb] = lines.numbers(2, "nonlinear variables in constraints, in objectives, in both")?;
        header.nonlinear_in_constraints = nlvc.max(0) as usize;
        header.nonlinear_in_objectives = nlvo.max(0) as usize;
        header.nonlinear_in_both = (nlvb >= 0).then_some(nlvb as usize);
        let [arcs, functions, arithmetic, flags] = lines.sizes(2, "network variables, functions, arithmetic, flags")?;
        (header.arcs, header.functions) = (arcs, functions);
        (header.arithmetic, header.flags) = (arithmetic as i64, flags as i64);
        let wanted = if header.nonlinear_in_both.is_some() { 5 } else { 2 };
        let [binaries, integers, both, in_constraints, in_objectives] = lines.sizes(wanted, "discrete variables")?;
        (header.binaries, header.integers) = (binaries, integers);
        header.nonlinear_integers = [both, in_constraints, in_objectives];
        [header.jacobian, header.gradients] = lines.sizes(2, "entries of the Jacobian and of the gradients")?;
        header.name_lengths = lines.sizes(2, "longest names")?;
        header.definitions = lines.sizes(5, "defined variables")?;
        header.order(&lines, &mut form)?;
        header.plausible(&lines)?;
        Ok((header, lines.next, form))
    }

    fn sizes(&mut self, lines: &Lines<'_>, sizes: [i64; 5]) -> Reading<()> {
        if let Some(negative) = sizes.into_iter().find(|&size| size < 0) {
            return lines.complain(format!("{negative} cannot be the number of anything"));
        }
        [self.variables, self.constraints, self.objectives, self.ranges, self.logical] = sizes.map(|size| size as usize);
        Ok(())
    }

    // Which byte of a number comes first.
    fn order(&self, lines: &Lines<'_>, form: &mut Form) -> Reading<()> {
        let Form::Binary { big_endian, .. } = form else { return Ok(()) };
        match self.arithmetic {
            // A file that does not say comes from a machine like this one.
            0 => *big_endian = cfg!(target_endian = "big"),
            1 => *big_endian = false,
            2 => *big_endian = true,
            other => return lines.complain(format!("the arithmetic {other} is not known: 1 and 2 are, those of IEEE 754")),
        }
        Ok(())
    }

    // Everything that the header counts takes at least a byte: what it promises cannot be more than the file.
    fn plausible(&self, lines: &Lines<'_>) -> Reading<()> {
        let promises = [
            ("variables", self.variables),
            ("constraints", self.constraints),
            ("objectives", self.objectives),
            ("logical constraints", self.logical),
            ("functions", self.functions),
            ("entries of the Jacobian", self.jacobian),
            ("entries of gradients", self.gradients),
            ("defined variables", self.defined()),
        ];
        let left = lines.bytes.len() - lines.next;
        match promises.into_iter().find(|&(_, count)| count > left) {
            Some((what, count)) => {
                Err(Complaint::at(0, format!("{count} {what} are promised, but the file has only {left} bytes more")))
            }
            None => Ok(()),
        }
    }
}

// `g3 1 1 0 # problem name`
fn first(lines: &mut Lines<'_>) -> Reading<(Header, Form)> {
    let (words, comment) = lines.line()?;
    let binary = |wide, short| Form::Binary { big_endian: false, wide, short };
    let form = match words.as_bytes().first() {
        Some(b'g' | b'G') => Form::Text,
        Some(b'b' | b'B') => binary(false, false),
        Some(b'z' | b'Z') => binary(false, true),
        Some(b'h' | b'H') => binary(true, true),
        _ => return lines.complain("a .nl file begins with g (text) or b (binary)"),
    };
    let mut words = words[1..].split_whitespace();
    let mistake = |word: &str| format!("{word:?} was found among the options of AMPL, which are integers");
    let count = match words.next() {
        None => 0,
        Some(word) => word.parse::<usize>().or_else(|_| lines.complain(mistake(word)))?,
    };
    if count > 9 {
        return lines.complain(format!("{count} options of AMPL are promised, but there are at most 9"));
    }
    let mut options = Vec::new();
    for word in words.by_ref().take(count) {
        options.push(word.parse().or_else(|_| lines.complain(mistake(word)))?);
    }
    let tolerance = if options.get(1) == Some(&3) { words.next().and_then(|word| word.parse().ok()) } else { None };
    let name = comment.trim().strip_prefix("problem").unwrap_or_default().trim().to_string();
    Ok((Header { binary: form != Form::Text, options, tolerance, name, ..Header::default() }, form))
}

struct Lines<'a> {
    bytes: &'a [u8],
    start: usize,
    next: usize,
}

impl<'a> Lines<'a> {
    fn complain<T>(&self, message: impl Into<String>) -> Reading<T> {
        Err(Complaint::at(self.start, message))
    }

    // The next line, and its comment.
    fn line(&mut self) -> Reading<(&'a str, &'a str)> {
        self.start = self.next;
        let rest = &self.bytes[self.start..];
        if rest.is_empty() {
            return self.complain("the file ends before its tenth line");
        }
        let end = rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len());
        self.next = self.start + (end + 1).min(rest.len());
        match std::str::from_utf8(&rest[..end.min(1000)]) {
            Ok(line) => Ok(line.split_once('#').unwrap_or((line, ""))),
            Err(_) => self.complain("this line of the header is not text"),
        }
    }

    // At least `least` numbers; those that are missing are -1.
    fn numbers<const N: usize>(&mut self, least: usize, what: &str) -> Reading<[i64; N]> {
        let (words, _) = self.line()?;
        let (mut numbers, mut found) = ([-1; N], 0);
        for (number, word) in numbers.iter_mut().zip(words.split_whitespace()) {
            match word.parse() {
                Ok(value) => *number = value,
                Err(_) => return self.complain(format!("{word:?} was found where an integer was expected ({what})")),
            }
            found += 1;
        }
        if found < least {
            return self.complain(format!("{found} numbers were found where at least {least} were expected ({what})"));
        }
        Ok(numbers)
    }

    // The same, where none can be negative and those that are missing are 0.
    fn sizes<const N: usize>(&mut self, least: usize, what: &str) -> Reading<[usize; N]> {
        let numbers = self.numbers::<N>(least, what)?;
        let given = &numbers[..least.min(N)];
        match given.iter().find(|&&number| number < 0) {
            Some(number) => self.complain(format!("{number} cannot be a number of {what}")),
            None => Ok(numbers.map(|number| number.max(0) as usize)),
        }
    }
}
