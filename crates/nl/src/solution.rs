//! `.sol` files, in which a solver answers.

use std::io::{self, Write};

use crate::header::Header;
use crate::model::{Suffix, Target};

/// An answer to a modelling language.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Solution {
    /// What the solver says, in one or more lines.
    pub message: String,
    /// The point; empty when there is none to give.
    pub x: Vec<f64>,
    /// The multipliers of the constraints in AMPL's sign, the slope of the optimal value by the right-hand side; or empty.
    pub multipliers: Vec<f64>,
    /// Which objective was meant, from 0 on.
    pub objective: usize,
    /// `solve_result_num`: 0 to 99 solved, 100 to 199 uncertain, 200 to 299 infeasible, 300 to 399 unbounded, 400 to 499 a limit,
    /// 500 to 599 a failure.
    pub code: i64,
    /// Values by name.
    pub suffixes: Vec<Suffix>,
}

impl Solution {
    /// The values of a suffix, one for each of `count` owners; nothing when there is no such suffix.
    pub fn suffix(&self, target: Target, name: &str, count: usize) -> Option<Vec<f64>> {
        let found = self.suffixes.iter().find(|suffix| suffix.target == target && suffix.name == name)?;
        let mut values = vec![0.0; count];
        for &(index, value) in &found.values {
            *values.get_mut(index)? = value;
        }
        Some(values)
    }

    /// Writes the answer to a problem with this header, as text.
    pub fn write(&self, header: &Header, out: &mut impl Write) -> io::Result<()> {
        // A blank line ends the message: there can be none in it.
        let lines: Vec<&str> = self.message.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
        writeln!(out, "{}\n", lines.join("\n"))?;
        let sizes = [header.constraints, self.multipliers.len(), header.variables, self.x.len()];
        // Readers know of at least three options; without them they expect all values.
        if header.options.len() >= 3 {
            let tolerance = header.tolerance.filter(|_| header.options[1] == 3);
            writeln!(out, "Options\n{}", header.options.len() + if tolerance.is_some() { 2 } else { 0 })?;
            header.options.iter().try_for_each(|option| writeln!(out, "{option}"))?;
            sizes.iter().try_for_each(|size| writeln!(out, "{size}"))?;
            tolerance.map_or(Ok(()), |tolerance| writeln!(out, "{tolerance:?}"))?;
        }
        self.multipliers.iter().chain(&self.x).try_for_each(|value| writeln!(out, "{value:?}"))?;
        writeln!(out, "objno {} {}", self.objective, self.code)?;
        for suffix in self.suffixes.iter().filter(|suffix| suffix.values.iter().any(|(_, value)| *value != 0.0)) {
            write_suffix(suffix, out)?;
        }
        Ok(())
    }
}

fn write_suffix(suffix: &Suffix, out: &mut impl Write) -> io::Result<()> {
    let target = match suffix.target {
        Target::Variables => 0,
        Target::Constraints => 1,
        Target::Objectives => 2,
        Target::Problem => 3,
    };
    let values = || suffix.values.iter().filter(|(_, value)| *value != 0.0);
    let kind = if suffix.real { target | 4 } else { target };
    writeln!(out, "suffix {kind} {} {} 0 0\n{}", values().count(), suffix.name.len() + 1, suffix.name)?;
    values().try_for_each(|(index, value)| match suffix.real {
        true => writeln!(out, "{index} {value:?}"),
        false => writeln!(out, "{index} {value:.0}"),
    })
}
