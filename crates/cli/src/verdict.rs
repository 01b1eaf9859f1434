//! A verdict on fresh samples, for people.

use std::io::{self, Write};

use tangor_problem::count_of;
use tangor_solver::{Averaged, JudgedResidual, Standing, Tolerance, Verdict, and_are, names_of};

use crate::number::{readable, scientific, short};
use crate::style::{DIM, GOOD, UNUSUAL};
use crate::width;

/// How wide the names of residuals are, so that what follows fits 60 columns.
pub const LABEL: usize = 16;

/// The objective with its error bar.
pub fn objective(out: &mut dyn Write, judged: Averaged, remark: &str) -> io::Result<()> {
    let bar = with_error(judged);
    match remark.is_empty() {
        true => writeln!(out, "  {:<LABEL$} {bar}", "objective"),
        false => writeln!(out, "  {:<LABEL$} {bar:<27} {DIM}{remark}{DIM:#}", "objective"),
    }
}

/// As many digits as the error allows, and two more: `20.225 +- 0.014`.
pub fn with_error(judged: Averaged) -> String {
    let Averaged { value, error } = judged;
    if error == 0.0 || !error.is_finite() || !value.is_finite() {
        return if error == 0.0 { readable(value) } else { format!("{} +- {}", readable(value), scientific(error, 1)) };
    }
    let place = error.log10().floor();
    match (-4.0..6.0).contains(&place) && value.abs() < 1e9 {
        true => {
            let digits = (1.0 - place).max(0.0) as usize;
            format!("{value:.digits$} +- {error:.digits$}")
        }
        false => format!("{} +- {}", readable(value), scientific(error, 1)),
    }
}

/// A line for each residual, and a sentence on what they mean; constraints are told by their numbers.
pub fn print(out: &mut dyn Write, verdict: &Verdict, tolerance: &Tolerance) -> io::Result<()> {
    print_with_names(out, verdict, tolerance, |row| format!("number {}", row + 1))
}

/// The same with names of constraints.
pub fn print_with_names(
    out: &mut dyn Write,
    verdict: &Verdict,
    tolerance: &Tolerance,
    row_name: impl Fn(usize) -> String,
) -> io::Result<()> {
    for judged in verdict.residuals(tolerance) {
        let (word, style) = match judged.standing() {
            Standing::Within | Standing::Hidden if verdict.bounds_unknown => ("unclear", UNUSUAL),
            Standing::Within => ("within", GOOD),
            Standing::Hidden => ("unclear", UNUSUAL),
            Standing::Above => ("above", UNUSUAL),
        };
        let JudgedResidual { name, residual, tolerance } = judged;
        let value = scientific(residual.value, 2);
        let bound = match verdict.bounds_unknown && residual.upper > residual.value {
            true => format!("{value}, no bound"),
            false => format!("{value}, at most {}", scientific(residual.upper, 2)),
        };
        writeln!(out, "  {name:<LABEL$} {bound:<28}{style}{word} {}{style:#}", short(tolerance))?;
    }
    writeln!(out, "\n  {}", width::wrapped(&sentence(verdict, tolerance, row_name), 2))
}

/// What the verdict means.
fn sentence(verdict: &Verdict, tolerance: &Tolerance, row_name: impl Fn(usize) -> String) -> String {
    let samples = count_of(verdict.samples, "fresh sample");
    let confidence = format!("{}%", short_percent(verdict.confidence));
    let (hidden, above) = (names_of(verdict, tolerance, Standing::Hidden), names_of(verdict, tolerance, Standing::Above));
    let condition = verdict.condition();
    let assumed = condition.as_ref().map(|condition| format!(" ({condition})")).unwrap_or_default();
    let judged = match verdict.bounds_unknown {
        true => format!("Judged on {samples}:"),
        // Nothing is assumed where nothing is missing.
        false if condition.is_none() => format!("Judged exactly, by {}:", count_of(verdict.samples, "sample")),
        false => format!("Judged on {samples}, with {confidence} confidence in each bound{assumed}:"),
    };
    if let (true, Some(row)) = (verdict.few_events, verdict.silent_row) {
        return format!(
            "{judged} constraint {} did not vary among them: it has no noise, or it waits for an event that is too rare for these \
             samples. More samples (sampling.judge.samples) tell; who knows that it has no noise declares it (exact_rows of an oracle).",
            row_name(row)
        );
    }
    if verdict.few_events {
        return format!(
            "{judged} an average rests on too few events, so that no bound is known. A sample may not contain what happens \
             rarely: more samples (sampling.judge.samples) or a range of the samples (sampling.judge.range) may tell."
        );
    }
    if verdict.bounds_unknown && above.is_empty() {
        let missing = verdict.missing_event().unwrap_or_default();
        return format!("{judged} {missing}, so that no bound is known.") + &certified(verdict);
    }
    match (above.is_empty(), hidden.is_empty()) {
        (true, true) => format!("{judged} all three residuals are within their tolerances."),
        (true, false) => {
            format!("{judged} noise hides whether {} within the tolerance.", and_are(&hidden)) + &certified(verdict)
        }
        _ => {
            let unless = condition.filter(|_| verdict.bounds_unknown).map(|unless| format!(", {unless}")).unwrap_or_default();
            format!("{judged} {} not within the tolerance{unless}.", and_are(&above)) + &certified(verdict)
        }
    }
}

/// To what tolerance the point is certified, and what the noise allows.
fn certified(verdict: &Verdict) -> String {
    match verdict.certified {
        Some(tolerance) if verdict.noise > 0.0 => format!(
            " It is certified to {}; the noise of so many samples alone makes up {}.",
            scientific(tolerance, 1),
            scientific(verdict.noise, 1)
        ),
        None if verdict.noise > 0.0 => {
            format!(" The noise of so many samples alone makes up {}.", scientific(verdict.noise, 1))
        }
        _ => String::new(),
    }
}

/// 0.95 is 95, 0.999 is 99.9.
pub fn short_percent(share: f64) -> String {
    format!("{:.4}", 100.0 * share).trim_end_matches('0').trim_end_matches('.').to_string()
}

#[cfg(test)]
mod tests {
    use tangor_solver::Bounded;

    use super::*;

    #[test]
    fn sentences_tell_noise_from_failure() {
        let bounded = |value, upper| Bounded { value, lower: 0.0, upper };
        let tolerance = Tolerance { stationarity: 1e-2, feasibility: 1e-2, complementarity: 1e-2, infeasible: 1e-6 };
        let mut verdict = Verdict {
            stationarity: bounded(1e-3, 5e-3),
            feasibility: bounded(1e-3, 5e-3),
            complementarity: bounded(0.0, 0.0),
            confidence: 0.95,
            samples: 2000,
            ..Verdict::default()
        };
        let start =
            "Judged on 2000 fresh samples, with 95% confidence in each bound (if batches of samples are nearly Gaussian): ";
        let told = |verdict: &Verdict| {
            sentence(verdict, &tolerance, |row| format!("r{row}")).strip_prefix(start).unwrap_or_default().to_string()
        };
        assert_eq!(told(&verdict), "all three residuals are within their tolerances.");
        verdict.rarest = Some(1.5e-3);
        let rarer = "nearly Gaussian and no event rarer than 1 in 667 samples matters):";
        let whole = sentence(&verdict, &tolerance, |row| format!("row {row}"));
        assert!(whole.contains(rarer), "{whole}");
        // What did not vary among the samples has no margin, and may wait for an event all the same.
        let still = Verdict { stationarity: bounded(0.0, 0.0), feasibility: bounded(0.0, 0.0), ..verdict };
        let whole = sentence(&still, &tolerance, |row| format!("row {row}"));
        assert!(whole.contains(rarer), "{whole}");
        verdict.rarest = None;
        (verdict.few_events, verdict.bounds_unknown) = (true, true);
        let start_without = "Judged on 2000 fresh samples: ";
        let without = |verdict: &Verdict| {
            let whole = sentence(verdict, &tolerance, |row| format!("r{row}"));
            whole.strip_prefix(start_without).unwrap_or_default().to_string()
        };
        assert!(without(&verdict).starts_with("an average rests on too few events, so that no bound"), "{}", without(&verdict));
        verdict.silent_row = Some(3);
        let silent = without(&verdict);
        assert!(silent.starts_with("constraint r3 did not vary among them") && silent.contains("exact_rows"), "{silent}");
        (verdict.few_events, verdict.silent_row, verdict.rarest) = (false, None, Some(1e-2));
        let missing = "an event rarer than 1 in 100 samples may be missing among the fresh ones, so that no bound is known.";
        assert_eq!(without(&verdict), missing);
        (verdict.bounds_unknown, verdict.rarest) = (false, None);
        verdict.feasibility = bounded(9e-3, 2e-2);
        let hidden = "noise hides whether feasibility is within the tolerance.";
        assert_eq!(told(&verdict), hidden);
        (verdict.certified, verdict.noise) = (Some(2e-2), 1.1e-2);
        let certified = "It is certified to 2.0e-02; the noise of so many samples alone makes up 1.1e-02.";
        assert_eq!(told(&verdict), format!("{hidden} {certified}"));
        verdict.certified = None;
        assert_eq!(told(&verdict), format!("{hidden} The noise of so many samples alone makes up 1.1e-02."));
        verdict.noise = 0.0;
        // The average is above, but the residual itself need not be.
        verdict.stationarity = bounded(3e-2, 2e-1);
        assert_eq!(told(&verdict), "noise hides whether stationarity and feasibility are within the tolerance.");
        let exact = Bounded { value: 1e-3, lower: 1e-3, upper: 1e-3 };
        let whole =
            Verdict { stationarity: exact, feasibility: exact, complementarity: exact, samples: 2000, ..Verdict::default() };
        let of_all = sentence(&whole, &tolerance, |row| format!("r{row}"));
        assert_eq!(of_all, "Judged exactly, by 2000 samples: all three residuals are within their tolerances.");
        verdict.stationarity = bounded(f64::NAN, f64::NAN);
        verdict.complementarity = Bounded { value: 1.0, lower: 0.5, upper: 2.0 };
        assert_eq!(told(&verdict), "stationarity and complementarity are not within the tolerance.");
    }

    #[test]
    fn a_bound_that_is_unknown_is_not_printed() {
        let bounded = Bounded { value: 1e-3, lower: 0.0, upper: 5e-3 };
        let mut verdict = Verdict { stationarity: bounded, feasibility: bounded, rarest: Some(1e-2), ..Verdict::default() };
        let tolerance = Tolerance { stationarity: 1e-2, feasibility: 1e-2, complementarity: 1e-2, infeasible: 1e-6 };
        let mut printed = |rarest: f64| {
            verdict = verdict.summed_up(rarest);
            let mut out = Vec::new();
            print(&mut out, &verdict, &tolerance).expect("written");
            String::from_utf8(out).expect("text")
        };
        let (known, unknown) = (printed(1e-2), printed(1e-3));
        assert!(known.contains("1.00e-03, at most 5.00e-03") && known.contains("within 1e-2"), "{known}");
        assert!(unknown.contains("1.00e-03, no bound") && !unknown.contains("5.00e-03"), "{unknown}");
        assert!(unknown.contains("unclear 1e-2") && !unknown.contains("confidence"), "{unknown}");
    }

    #[test]
    fn error_bars_have_two_digits() {
        let told = |value, error| with_error(Averaged { value, error });
        assert_eq!(told(20.224780615, 0.0137), "20.225 +- 0.014");
        assert_eq!(told(-3.0, 12.3), "-3 +- 12");
        assert_eq!(told(17.01401728, 0.0), "17.01401728");
        assert_eq!(told(1.5, 2e-9), "1.5 +- 2.0e-09");
        assert_eq!(told(0.25, f64::NAN), "0.25 +- NaN");
    }

    #[test]
    fn shares_are_told_in_percent() {
        assert_eq!([0.95, 0.999, 0.9, 0.6].map(short_percent), ["95", "99.9", "90", "60"]);
    }
}
