//! The options of a call, in AMPL's form: words `key=value`.

use std::io::Write;
use std::time::Duration;

use tangor_nl::Solution;
use tangor_problem::Meta;

use crate::error::Error;
use crate::settings_source::SettingsArguments;
use crate::table::Detail;

/// What was asked for.
#[derive(Debug)]
pub struct Keywords {
    /// Which objective, from 1 on; 0 for none.
    pub objective: usize,
    /// The multipliers that the file gives are those of the start.
    pub dual_guess: bool,
    /// Integer variables are treated as real ones.
    pub relax: bool,
    /// How much is told: nothing, a line, the table, all of it.
    pub level: u8,
    /// 1: write the answer; 2: print variables; 4: print multipliers; 8: print no message.
    wanted: u8,
    /// Whatever goes to the solver.
    pub settings: SettingsArguments,
    words: Vec<String>,
}

impl Keywords {
    /// What `-=` prints.
    pub const HELP: &str = "\
dualguess=0        do not begin with the multipliers that the file gives
maxit=N            most iterations
objno=N            which objective counts (1 is the first); 0: only the constraints are to be satisfied
outlev=N           0: silent; 1: the version and the options (default); 2: the table of iterations; 3: all of it
relax=1            treat integer variables as real ones
timelimit=SECONDS  most wall time
tol=EPS            tolerance of all residuals
wantsol=SUM        1: write FILE.sol (always with -AMPL); 2: print variables; 4: print multipliers; 8: print no message
PATH=VALUE         any setting by its path, as in merit.rho0=1; `tangor options` shows all of them
";

    /// Options of the environment first, then those of the call, which win.
    pub fn new(environment: &str, words: &[String]) -> Result<Self, Error> {
        let settings = SettingsArguments::default();
        let mut keywords =
            Keywords { objective: 1, dual_guess: true, relax: false, level: 1, wanted: 0, settings, words: Vec::new() };
        let mut all = split(environment);
        all.extend(words.iter().cloned());
        for (key, value) in pairs(all)? {
            keywords.set(&key, &value)?;
            keywords.words.push(format!("{key}={value}"));
        }
        Ok(keywords)
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), Error> {
        match key {
            "dualguess" => self.dual_guess = number::<u8>(key, value)? != 0,
            "maxit" | "max_iter" => self.settings.max_iterations = Some(number(key, value)?),
            "objno" => self.objective = number(key, value)?,
            "outlev" => self.level = number(key, value)?,
            "relax" => self.relax = number::<u8>(key, value)? != 0,
            "timelimit" | "time_limit" => {
                let seconds = Duration::try_from_secs_f64(number(key, value)?);
                self.settings.time_limit = Some(seconds.map_err(|_| wrong(key, value))?);
            }
            "tol" => self.settings.tolerance = Some(number(key, value)?),
            "wantsol" => self.wanted = number(key, value)?,
            path => self.settings.assignments.push((path.to_string(), value.to_string())),
        }
        Ok(())
    }

    /// True when an answer is to be written even without `-AMPL`.
    pub fn wants_file(&self) -> bool {
        self.wanted & 1 != 0
    }

    /// How much of the run is shown.
    pub fn detail(&self) -> Detail {
        match self.level {
            0 | 1 => Detail::Quiet,
            2 => Detail::Normal,
            _ => Detail::Verbose,
        }
    }

    /// As they were understood.
    pub fn shown(&self) -> String {
        self.words.join(" ")
    }

    /// Prints what is wanted of an answer.
    pub fn print(&self, out: &mut impl Write, solution: &Solution, meta: &Meta) -> Result<(), Error> {
        if self.wanted & 8 == 0 && self.level > 0 {
            writeln!(out, "{}", solution.message)?;
        }
        if self.wanted & 2 != 0 {
            let mut values = solution.x.iter().enumerate();
            values.try_for_each(|(j, value)| writeln!(out, "{}\t{value}", meta.variable_name(j)))?;
        }
        if self.wanted & 4 != 0 {
            let mut values = solution.multipliers.iter().enumerate();
            values.try_for_each(|(i, value)| writeln!(out, "{}\t{value}", meta.row_name(i)))?;
        }
        Ok(())
    }
}

fn wrong(key: &str, value: &str) -> Error {
    Error::Setting(format!("{value:?} is not a value for {key}; `tangor -=` shows all keywords"))
}

fn number<T: std::str::FromStr>(key: &str, value: &str) -> Result<T, Error> {
    value.parse().map_err(|_| wrong(key, value))
}

// Words between blanks; quotes keep blanks inside a word.
fn split(text: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), String::new(), None);
    for letter in text.chars() {
        match (quote, letter) {
            (Some(open), letter) if letter == open => quote = None,
            (None, '"' | '\'') => quote = Some(letter),
            (None, letter) if letter.is_whitespace() => words.push(std::mem::take(&mut word)),
            _ => word.push(letter),
        }
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    words
}

// `key=value`, `key = value`, and `key value`, which AMPL's own solvers take, too.
fn pairs(words: Vec<String>) -> Result<Vec<(String, String)>, Error> {
    let mut pairs = Vec::new();
    let mut words = words.into_iter().peekable();
    while let Some(word) = words.next() {
        let (key, mut value) = match word.split_once('=') {
            Some((key, value)) => (key.to_string(), value.to_string()),
            None => (word, String::new()),
        };
        if value.is_empty() {
            if let Some(next) = words.next_if(|next| next.starts_with('=')) {
                value = next[1..].to_string();
            }
            if value.is_empty() {
                value = words.next_if(|next| !next.contains('=')).unwrap_or_default();
            }
        }
        if key.is_empty() || value.is_empty() {
            return Err(Error::Setting(format!("{key:?} is not an option with its value; write for example maxit=100")));
        }
        pairs.push((key, value));
    }
    Ok(pairs)
}

/// An advice with the arguments of the command line spelt as keywords. A start is what the model says.
pub fn spelt(advice: String) -> String {
    let (mut told, mut is_time) = (String::new(), false);
    for word in advice.split_inclusive(' ') {
        // A keyword's seconds have no unit: `10s.` becomes `10.`
        if is_time {
            told.push_str(&word.replacen('s', "", 1))
        } else {
            told.push_str(word)
        }
        is_time = word == "--time-limit ";
    }
    told.replace("--time-limit ", "timelimit=")
        .replace("--max-iterations ", "maxit=")
        .replace("--tolerance ", "tol=")
        .replace("--set ", "")
        .replace(" with --at POINT.json", " (by another initial guess in the model)")
        .replace("(--starts 20, or --at POINT.json)", "(other initial guesses in the model)")
        .replace("(--at POINT.json)", "(another initial guess in the model)")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_understood_as_they_are_written() {
        let keywords = Keywords::new("maxit=5  tol = 1e-3 timelimit 2.5", &["maxit=7".into(), "merit.rho0=2".into()]).unwrap();
        assert_eq!(keywords.settings.max_iterations, Some(7));
        assert_eq!(keywords.settings.tolerance, Some(1e-3));
        assert_eq!(keywords.settings.time_limit, Some(Duration::from_millis(2500)));
        assert_eq!(keywords.settings.assignments, [("merit.rho0".to_string(), "2".to_string())]);
        assert_eq!(keywords.shown(), "maxit=5 tol=1e-3 timelimit=2.5 maxit=7 merit.rho0=2");
        assert_eq!(split("a=\"b c\" 'd e'"), ["a=b c", "d e"]);
    }

    #[test]
    fn what_is_wrong_is_said() {
        let message = |text: &str| Keywords::new(text, &[]).unwrap_err().to_string();
        assert_eq!(message("maxit=many"), "\"many\" is not a value for maxit; `tangor -=` shows all keywords");
        assert_eq!(message("maxit"), "\"maxit\" is not an option with its value; write for example maxit=100");
        assert_eq!(message("timelimit=-1"), "\"-1\" is not a value for timelimit; `tangor -=` shows all keywords");
    }

    #[test]
    fn advice_names_keywords() {
        let told = |advice: &str| spelt(advice.to_string());
        assert_eq!(told("More iterations may be enough: --max-iterations 30."), "More iterations may be enough: maxit=30.");
        assert_eq!(told("More time may be enough: --time-limit 10s."), "More time may be enough: timelimit=10.");
        assert_eq!(told("Ask for no less than --tolerance 1e-5."), "Ask for no less than tol=1e-5.");
        assert_eq!(told("another scaling (--set scaling=none) may help"), "another scaling (scaling=none) may help");
        assert!(
            told("Other starts (--starts 20, or --at POINT.json) may lead")
                .contains("(other initial guesses in the model) may")
        );
        assert!(told("another start (--at POINT.json) may help").contains("another initial guess in the model"));
    }
}
