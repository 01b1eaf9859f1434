//! The variables and constraints of a result, by name.

use std::io::{self, Write};

use tangor_problem::{INFINITE, Meta};
use tangor_solver::{Report, largest};

use crate::activity::AT_BOUND;
use crate::error::Error;
use crate::number::readable;
use crate::style::{DIM, TITLE};

/// What `--show` asks for.
#[derive(Clone, Debug, Default)]
pub struct Shown {
    variables: Vec<usize>,
    rows: Vec<usize>,
}

impl Shown {
    /// `x` means all variables, `c` all constraints, and anything else a name, with `*` at its end for all that begin so.
    pub fn new(wanted: &[String], meta: &Meta) -> Result<Self, Error> {
        let mut shown = Shown::default();
        for word in wanted {
            let before = (shown.variables.len(), shown.rows.len());
            shown.variables.extend((0..meta.n()).filter(|&i| word == "x" || matches(word, &meta.variable_name(i))));
            shown.rows.extend((0..meta.m()).filter(|&i| word == "c" || matches(word, &meta.row_name(i))));
            if before == (shown.variables.len(), shown.rows.len()) && !(word == "c" || word == "x") {
                return Err(Error::Setting(format!(
                    "--show {word}: {} has no variable or constraint of this name; x means all variables, c all constraints, and a \
                     name may end in *",
                    meta.name
                )));
            }
        }
        for list in [&mut shown.variables, &mut shown.rows] {
            list.sort_unstable();
            list.dedup();
        }
        Ok(shown)
    }
}

fn matches(word: &str, name: &str) -> bool {
    word == name || word.strip_suffix('*').is_some_and(|beginning| name.starts_with(beginning))
}

/// Prints the variables: all when they are few, otherwise the largest; and what `--show` asks for.
pub fn print(out: &mut dyn Write, meta: &Meta, report: &Report, shown: &Shown, longest: usize) -> io::Result<()> {
    let n = meta.n();
    let variables = Section {
        names: &|i| meta.variable_name(i),
        values: &report.x,
        lower: &meta.x_lower,
        upper: &meta.x_upper,
        tolerance: report.settings.tolerance.feasibility.min(AT_BOUND),
    };
    let few = largest(&report.x, longest);
    if !shown.variables.is_empty() {
        variables.print(out, &format!("variables: {} of {n}", shown.variables.len()), &shown.variables)?;
    } else if few.len() == n {
        variables.print(out, "variables", &few)?;
    } else {
        variables.print(out, &format!("variables: the {} largest of {n}", few.len()), &few)?;
        writeln!(out, "    {DIM}--show x prints all{DIM:#}")?;
    }
    if shown.rows.is_empty() {
        return Ok(());
    }
    let rows = Section {
        names: &|i| meta.row_name(i),
        values: &report.constraints,
        lower: &meta.c_lower,
        upper: &meta.c_upper,
        tolerance: report.settings.tolerance.feasibility,
    };
    rows.print(out, &format!("constraints: {} of {}", shown.rows.len(), meta.m()), &shown.rows)
}

struct Section<'a> {
    names: &'a dyn Fn(usize) -> String,
    values: &'a [f64],
    lower: &'a [f64],
    upper: &'a [f64],
    tolerance: f64,
}

impl Section<'_> {
    fn print(&self, out: &mut dyn Write, title: &str, which: &[usize]) -> io::Result<()> {
        writeln!(out, "\n  {TITLE}{title}{TITLE:#}")?;
        let names: Vec<String> = which.iter().map(|&i| (self.names)(i)).collect();
        let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
        for (&i, name) in which.iter().zip(names) {
            let value = self.values.get(i).copied().unwrap_or(f64::NAN);
            writeln!(out, "{}", format!("    {name:<width$}  {:<16}{}", readable(value), self.remark(i, value)).trim_end())?;
        }
        Ok(())
    }

    /// Where a value stands between its bounds.
    fn remark(&self, i: usize, value: f64) -> &'static str {
        let near = |bound: f64| bound.abs() < INFINITE && (value - bound).abs() <= self.tolerance * bound.abs().max(1.0);
        match (near(self.lower[i]), near(self.upper[i])) {
            _ if self.lower[i] == self.upper[i] && near(self.lower[i]) => "fixed",
            (true, _) => "at lower bound",
            (_, true) => "at upper bound",
            _ if value < self.lower[i] => "below lower bound",
            _ if value > self.upper[i] => "above upper bound",
            _ => "",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_is_found_by_name() {
        let meta = Meta::new("names", vec![0.0; 3]).equalities(&[0.0]);
        let meta = meta.name_variables(["speed", "spin", "x"]).name_rows(["balance"]);
        let shown = |words: &[&str]| Shown::new(&words.iter().map(|word| word.to_string()).collect::<Vec<_>>(), &meta);
        let found = shown(&["sp*", "balance"]).unwrap();
        assert_eq!((found.variables, found.rows), (vec![0, 1], vec![0]));
        assert_eq!(shown(&["x"]).unwrap().variables, [0, 1, 2]);
        assert_eq!(shown(&["c"]).unwrap().rows, [0]);
        assert!(shown(&["mass"]).unwrap_err().to_string().contains("names has no variable or constraint of this name"));
    }
}
