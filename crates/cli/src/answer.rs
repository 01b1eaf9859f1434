//! What was found about a result that was judged again: it holds, it does not, or it cannot be told.

use std::io::Write;

use tangor_problem::count_of;
use tangor_solver::{JudgedResidual, Point, Report, Standing, Verdict};

use crate::error::Error;
use crate::exit;
use crate::number::{scientific, short};
use crate::screen::Screen;
use crate::style::{BAD, GOOD, UNUSUAL};
use crate::width;

/// How many times more samples may contain enough of what happens rarely.
const FOR_EVENTS: f64 = 10.0;

/// What was found about a result.
#[derive(Default)]
pub struct Answer {
    /// What contradicts itself, or what was computed again.
    pub wrong: Vec<String>,
    /// Residuals above their tolerances.
    pub above: Vec<String>,
    /// What noise hides.
    pub hidden: Vec<String>,
    /// Fresh samples of each function.
    pub samples: u64,
    /// How many might tell.
    pub needed: f64,
}

impl Answer {
    /// A residual holds when its bound is within the tolerance, and does not when one on the other side, which leaves no doubt, is above it.
    pub fn add(&mut self, judged: &JudgedResidual, sure: &JudgedResidual) {
        let JudgedResidual { name, residual, tolerance } = *judged;
        if residual.upper <= tolerance {
            return;
        }
        let least = sure.residual.lower;
        // What is not a number is above.
        if least > tolerance || least.is_nan() {
            let (least, tolerance) = (scientific(least, 2), short(tolerance));
            self.above.push(format!("its {name} is at least {least}, above the tolerance {tolerance}"));
            return;
        }
        // The noise of an average falls with the root of the number of samples. That it is above takes more of them than that it is within.
        let bound = if residual.value > tolerance { sure.residual } else { residual };
        let (noise, room) = (bound.upper - bound.value, (tolerance - residual.value).abs());
        self.needed = self.needed.max(self.samples as f64 * (noise / room).powi(2) * 1.1);
        let between = format!("{} and {}", scientific(least, 2), scientific(residual.upper, 2));
        self.hidden.push(format!("its {name} is between {between}, and the tolerance is {}", short(tolerance)));
    }

    /// Averages that rest on too few events hold for nothing; where they seem to hold, samples must tell of rare events, too:
    /// so many of them do.
    pub fn add_events(&mut self, fresh: &Verdict, rarest: f64, telling: usize) {
        if fresh.few_events {
            let few = "an average rests on too few events: a sample may not contain what happens rarely";
            self.hidden.push(few.to_string());
            self.needed = self.needed.max(FOR_EVENTS * self.samples as f64).max(telling as f64);
        } else if let Some(told) = fresh.rarest.filter(|_| fresh.may_miss(rarest)) {
            self.hidden.push(format!(
                "an event rarer than 1 in {:.0} samples may be missing among them, and those from 1 in {:.0} on matter \
                 (--rarest says which do)",
                1.0 / told,
                1.0 / rarest
            ));
            self.needed = self.needed.max(telling as f64);
        }
    }

    /// The answer in words, and the exit code.
    pub fn tell(mut self, out: &mut Screen, report: &Report) -> Result<u8, Error> {
        let told_nothing = could_not_tell(report);
        let claims_less = report.point != Point::EpsKkt && !told_nothing;
        let own_words = format!("the result itself says that its point is {}", report.point);
        let list = |out: &mut Screen, findings: &[String]| {
            findings.iter().try_for_each(|one| writeln!(out, "  - {}.", width::wrapped(one, 4)))
        };
        if claims_less && self.wrong.is_empty() {
            let rest = ", as the result says itself; its numbers agree with those computed again:";
            writeln!(out, "\n{UNUSUAL}No KKT point{UNUSUAL:#}{}", width::wrapped_after("No KKT point", rest, 0))?;
            list(out, &[vec![own_words], self.above].concat())?;
            writeln!(out, "{}", not_checked(report))?;
            return Ok(exit::INFEASIBLE);
        }
        if claims_less {
            self.wrong.insert(0, own_words);
        }
        self.wrong.append(&mut self.above);
        if !self.wrong.is_empty() {
            writeln!(out, "\n{BAD}Does not hold{BAD:#}:")?;
            list(out, &self.wrong)?;
            return Ok(exit::INFEASIBLE);
        }
        if self.hidden.is_empty() {
            let more = if told_nothing { " The run could not tell: noise hid it." } else { "" };
            let rest = format!(": the point is a KKT point within the tolerances.{more}");
            writeln!(out, "\n{GOOD}Holds{GOOD:#}{}", width::wrapped_after("Holds", &rest, 0))?;
            writeln!(out, "{}", not_checked(report))?;
            return Ok(exit::SOLVED);
        }
        let samples = count_of(self.samples, "sample");
        let rest = format!(" with {samples} of each function ({}):", enough(self.needed));
        writeln!(out, "\n{UNUSUAL}Cannot tell{UNUSUAL:#}{}", width::wrapped_after("Cannot tell", &rest, 0))?;
        list(out, &self.hidden)?;
        Ok(exit::LIMIT)
    }
}

/// What nobody can compute again, and was only looked at for being possible.
fn not_checked(report: &Report) -> String {
    let of_noise = match report.verdict {
        Some(_) => ", the error bar of the objective beyond a factor of ten, the slope of the violation relative to its terms",
        None => "",
    };
    let all = format!(
        "Not checked: what the run counted, timed and met on its way beyond being possible, whether it kept its limits and had the settings \
                 that it names, whether its functions were asked again (confirmed), its last rho{of_noise}, the program's version."
    );
    width::wrapped(&all, 0)
}

/// Whether the run claimed nothing of its point since noise hid on which side of the tolerances it is, so that fresh samples may tell.
fn could_not_tell(report: &Report) -> bool {
    let (tolerance, rarest) = (&report.settings.tolerance, report.settings.sampling.judge.rarest);
    report.point == Point::Nothing
        && report.verdict.as_ref().is_some_and(|verdict| {
            let above = |judged: &JudgedResidual| judged.standing() == Standing::Above;
            !verdict.holds(tolerance, rarest) && !verdict.residuals(tolerance).iter().any(above)
        })
}

/// How many samples would be enough, with one digit: more is not known.
fn enough(needed: f64) -> String {
    if needed.is_nan() || needed >= 1e12 {
        return "no number of samples is likely to tell: a residual is as large as its tolerance".to_string();
    }
    let unit = 10f64.powf(needed.max(1.0).log10().floor());
    format!("it needs about --samples {}", (needed / unit).ceil() * unit)
}
