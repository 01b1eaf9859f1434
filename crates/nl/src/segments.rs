//! The segments of a file, each with its letter.

use tangor_problem::ReadingLimits;

use crate::cursor::{Cursor, Reading};
use crate::error::{Complaint, NlError};
use crate::header::Header;
use crate::model::{Function, Model, Objective, Suffix, Target};

/// After so many segments it is asked whether reading is to end.
const LOOK: u64 = 1 << 12;

/// Reads a file.
pub(crate) fn read_model(bytes: &[u8], file: &str, limits: &ReadingLimits) -> Result<Model, NlError> {
    let text = !matches!(bytes.first(), Some(b'b' | b'B' | b'z' | b'Z' | b'h' | b'H'));
    let (header, start, form) = Header::read(bytes).map_err(|c| c.in_file(file, bytes, true, "header".to_string()))?;
    if header.variables == 0 {
        return Err(Complaint::whole("there are no variables").in_file(file, bytes, text, String::new()));
    }
    let mut reader = Reader::new(header, Cursor::new(bytes, start, form));
    let outcome = reader.all(limits);
    outcome.map_err(|complaint| complaint.in_file(file, bytes, text, reader.segment()))?;
    Ok(reader.model)
}

pub(crate) struct Reader<'a> {
    pub model: Model,
    pub cursor: Cursor<'a>,
    /// For each defined variable whether its segment has been read.
    pub defined: Vec<bool>,
    /// The names of the external functions that were declared.
    pub functions: Vec<String>,
    /// For each constraint and objective, whether its formula and its linear part have been read.
    seen_formula: [Vec<bool>; 2],
    seen_linear: [Vec<bool>; 2],
    /// The letter of the segment that is read, and its index.
    letter: u8,
    index: Option<usize>,
    /// True when the lengths of columns have been read, after which entries of the Jacobian have two numbers in place of three.
    columns: bool,
    bounds: [bool; 2],
}

impl<'a> Reader<'a> {
    fn new(header: Header, cursor: Cursor<'a>) -> Self {
        let (n, m, objectives) = (header.variables, header.constraints, header.objectives);
        let model = Model {
            constraints: vec![Function::default(); m],
            objectives: vec![Objective::default(); objectives],
            definitions: vec![Function::default(); header.defined()],
            x_lower: vec![f64::NEG_INFINITY; n],
            x_upper: vec![f64::INFINITY; n],
            c_lower: vec![f64::NEG_INFINITY; m],
            c_upper: vec![f64::INFINITY; m],
            x: vec![0.0; n],
            header,
            ..Model::default()
        };
        Reader {
            defined: vec![false; model.definitions.len()],
            functions: vec![String::new(); model.header.functions],
            seen_formula: [vec![false; m], vec![false; objectives]],
            seen_linear: [vec![false; m], vec![false; objectives]],
            model,
            cursor,
            letter: 0,
            index: None,
            columns: false,
            bounds: [false; 2],
        }
    }

    fn segment(&self) -> String {
        let letter = char::from(self.letter);
        self.index.map_or_else(|| letter.to_string(), |index| format!("{letter}{index}"))
    }

    fn all(&mut self, limits: &ReadingLimits) -> Reading<()> {
        let mut segments = 0u64;
        while let Some(letter) = self.cursor.letter() {
            segments += 1;
            // What is made of a file is reckoned by its size, before it is read.
            if let Some(refusal) = segments.is_multiple_of(LOOK).then(|| limits.refusal(0)).flatten() {
                return self.cursor.complain(refusal);
            }
            (self.letter, self.index) = (letter, None);
            match letter {
                b'C' => self.constraint()?,
                b'O' => self.objective()?,
                b'L' => self.logical()?,
                b'V' => self.definition()?,
                b'F' => self.function()?,
                b'S' => self.suffix()?,
                b'r' => self.row_bounds()?,
                b'b' => self.variable_bounds()?,
                b'k' | b'K' => self.column_lengths()?,
                b'J' => self.linear_part(0)?,
                b'G' => self.linear_part(1)?,
                b'x' => self.guess(false)?,
                b'd' => self.guess(true)?,
                other => {
                    self.cursor.back();
                    let shown = char::from(other).escape_default();
                    return self.cursor.complain(format!("no segment begins with '{shown}'"));
                }
            }
        }
        self.complete()
    }

    // What a file that was cut off does not have.
    fn complete(&self) -> Reading<()> {
        let header = &self.model.header;
        let missing = |what: String| Err(Complaint::whole(format!("{what}: the file is not complete")));
        if !self.bounds[0] {
            return missing("there is no segment b with the bounds of the variables".to_string());
        }
        if !self.bounds[1] && header.constraints > 0 {
            return missing("there is no segment r with the bounds of the constraints".to_string());
        }
        let jacobian: usize = self.model.constraints.iter().map(|function| function.linear.len()).sum();
        if jacobian < header.jacobian {
            return missing(format!("{} entries of the Jacobian are promised and {jacobian} are there", header.jacobian));
        }
        match self.defined.iter().position(|seen| !seen) {
            Some(k) => missing(format!("there is no segment V{}", header.variables + k)),
            None => Ok(()),
        }
    }

    // The index of a segment, which may come only once.
    fn once(&mut self, which: usize, linear: bool, what: &str) -> Reading<usize> {
        let seen = if linear { &mut self.seen_linear[which] } else { &mut self.seen_formula[which] };
        let start = self.cursor.at();
        let index = self.cursor.index(seen.len(), what)?;
        self.index = Some(index);
        if std::mem::replace(&mut seen[index], true) {
            return Err(Complaint::at(start, format!("the segment of {what} {index} comes a second time")));
        }
        Ok(index)
    }

    fn constraint(&mut self) -> Reading<()> {
        let index = self.once(0, false, "constraint")?;
        self.cursor.end_of_line()?;
        self.model.constraints[index].formula = self.formula()?;
        Ok(())
    }

    fn objective(&mut self) -> Reading<()> {
        let index = self.once(1, false, "objective")?;
        let sense = self.cursor.index(2, "the sense of an objective (0 minimises, 1 maximises):")?;
        self.cursor.end_of_line()?;
        self.model.objectives[index].maximise = sense == 1;
        self.model.objectives[index].function.formula = self.formula()?;
        Ok(())
    }

    fn logical(&mut self) -> Reading<()> {
        self.index = Some(self.cursor.index(self.model.header.logical, "logical constraint")?);
        self.cursor.complain("this is a logical constraint, and Tangor solves problems with algebraic ones only")
    }

    fn definition(&mut self) -> Reading<()> {
        let n = self.model.header.variables;
        let start = self.cursor.at();
        let index = self.cursor.index(n + self.defined.len(), "defined variable")?;
        self.index = Some(index);
        let Some(k) = index.checked_sub(n) else {
            return Err(Complaint::at(start, format!("variable {index} cannot be defined: the first defined one is {n}")));
        };
        if self.defined[k] {
            return Err(Complaint::at(start, format!("variable {index} is defined a second time")));
        }
        let count = self.cursor.count("the number of linear terms")?;
        // The last number tells to which constraint or objective the variable belongs; nothing depends on it here.
        self.cursor.integer("the place where a defined variable is used")?;
        self.cursor.end_of_line()?;
        let mut linear = Vec::with_capacity(count);
        for _ in 0..count {
            let at = self.cursor.at();
            let variable = self.cursor.index(n + self.defined.len(), "variable")?;
            if variable >= n && !self.defined[variable - n] {
                return Err(Complaint::at(at, format!("variable {variable} is used before it is defined")));
            }
            linear.push((variable as u32, self.cursor.real("a coefficient")?));
            self.cursor.end_of_line()?;
        }
        let formula = self.formula()?;
        self.model.definitions[k] = Function { linear, formula };
        self.model.definition_order.push(k as u32);
        self.defined[k] = true;
        Ok(())
    }

    fn function(&mut self) -> Reading<()> {
        let index = self.cursor.index(self.functions.len(), "function")?;
        self.index = Some(index);
        self.cursor.integer("the type of a function")?;
        self.cursor.integer("the number of arguments")?;
        self.functions[index] = self.cursor.name("the name of a function")?;
        self.cursor.end_of_line()
    }

    fn suffix(&mut self) -> Reading<()> {
        let kind = self.cursor.index(8, "the kind of a suffix:")?;
        self.index = Some(kind);
        let header = &self.model.header;
        let (target, items) = match kind & 3 {
            0 => (Target::Variables, header.variables),
            1 => (Target::Constraints, header.constraints + header.logical),
            2 => (Target::Objectives, header.objectives),
            _ => (Target::Problem, 1),
        };
        let real = kind & 4 != 0;
        let count = self.cursor.count("the number of values")?;
        let name = self.cursor.name("the name of a suffix")?;
        self.cursor.end_of_line()?;
        let mut values = Vec::with_capacity(count);
        for _ in 0..count {
            let index = self.cursor.index(items, "the owner of a suffix:")?;
            // Some programs write reals where the kind says integers.
            let value = match real || self.cursor.is_text() {
                true => self.cursor.real("the value of a suffix")?,
                false => self.cursor.integer("the value of a suffix")? as f64,
            };
            values.push((index, value));
            self.cursor.end_of_line()?;
        }
        self.model.suffixes.push(Suffix { target, name, real, values });
        Ok(())
    }

    fn row_bounds(&mut self) -> Reading<()> {
        self.bounds[1] = true;
        self.cursor.end_of_line()?;
        for row in 0..self.model.header.constraints {
            (self.model.c_lower[row], self.model.c_upper[row]) = self.bound(Some(row))?;
        }
        Ok(())
    }

    fn variable_bounds(&mut self) -> Reading<()> {
        self.bounds[0] = true;
        self.cursor.end_of_line()?;
        for j in 0..self.model.header.variables {
            (self.model.x_lower[j], self.model.x_upper[j]) = self.bound(None)?;
        }
        Ok(())
    }

    fn bound(&mut self, row: Option<usize>) -> Reading<(f64, f64)> {
        let letter = self.cursor.expect_letter("a bound")?;
        let cursor = &mut self.cursor;
        let bounds = match letter {
            b'0' => (cursor.real("a lower bound")?, cursor.real("an upper bound")?),
            b'1' => (f64::NEG_INFINITY, cursor.real("an upper bound")?),
            b'2' => (cursor.real("a lower bound")?, f64::INFINITY),
            b'3' => (f64::NEG_INFINITY, f64::INFINITY),
            b'4' => {
                let value = cursor.real("a right-hand side")?;
                (value, value)
            }
            b'5' if row.is_some() => {
                let row = row.unwrap_or_default();
                return cursor.complain(format!(
                    "constraint {row} is a complementarity condition, and Tangor solves problems without them"
                ));
            }
            other => {
                cursor.back();
                let shown = char::from(other).escape_default();
                return cursor.complain(format!("'{shown}' was found where the kind of a bound was expected, 0 to 4"));
            }
        };
        cursor.end_of_line()?;
        Ok(bounds)
    }

    // The lengths of the columns of the Jacobian: entries name their column, so that nothing is lost without them.
    fn column_lengths(&mut self) -> Reading<()> {
        self.columns = true;
        let count = self.cursor.count("the number of columns")?;
        self.cursor.end_of_line()?;
        for _ in 0..count {
            self.cursor.integer("the length of a column")?;
            self.cursor.end_of_line()?;
        }
        Ok(())
    }

    // Entries of the Jacobian (0) or of a gradient (1).
    fn linear_part(&mut self, which: usize) -> Reading<()> {
        let index = self.once(which, true, ["constraint", "objective"][which])?;
        let count = self.cursor.count("the number of entries")?;
        self.cursor.end_of_line()?;
        let n = self.model.header.variables;
        let mut linear = Vec::with_capacity(count);
        for _ in 0..count {
            let variable = self.cursor.index(n, "variable")?;
            // Files without lengths of columns, which are old ones, have the place in the column besides.
            if which == 0 && !self.columns {
                self.place_in_column(variable, &mut linear)?;
            } else {
                linear.push((variable as u32, self.cursor.real("a coefficient")?));
            }
            self.cursor.end_of_line()?;
        }
        match which {
            0 => self.model.constraints[index].linear = linear,
            _ => self.model.objectives[index].function.linear = linear,
        }
        Ok(())
    }

    fn place_in_column(&mut self, variable: usize, linear: &mut Vec<(u32, f64)>) -> Reading<()> {
        if !self.cursor.is_text() {
            self.cursor.integer("a place in a column")?;
            linear.push((variable as u32, self.cursor.real("a coefficient")?));
            return Ok(());
        }
        let mut value = self.cursor.real("a coefficient")?;
        if self.cursor.line_goes_on() {
            value = self.cursor.real("a coefficient")?;
        }
        linear.push((variable as u32, value));
        Ok(())
    }

    fn guess(&mut self, dual: bool) -> Reading<()> {
        let count = self.cursor.count("the number of values")?;
        self.cursor.end_of_line()?;
        if dual {
            self.model.y.resize(self.model.header.constraints, 0.0);
        }
        let values = if dual { &mut self.model.y } else { &mut self.model.x };
        for _ in 0..count {
            let index = self.cursor.index(values.len(), if dual { "constraint" } else { "variable" })?;
            values[index] = self.cursor.real("an initial value")?;
            self.cursor.end_of_line()?;
        }
        Ok(())
    }
}
