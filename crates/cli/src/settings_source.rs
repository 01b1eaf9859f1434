//! The settings of a run: defaults, or a file, or those of a checkpoint; then the arguments, the most specific last.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use tangor_problem::MemoryLimit;
use tangor_solver::Settings;

use crate::error::Error;
use crate::{duration, settings_tree, size};

/// The arguments that choose settings.
#[derive(Debug, Default, Args)]
pub struct SettingsArguments {
    /// Read settings from a TOML file; `tangor options --format toml` writes one to start from
    #[arg(long, value_name = "FILE.toml", help_heading = "Settings")]
    pub config: Option<PathBuf>,

    /// Set one setting by its path, as in merit.rho0=1, or all at once by preset=paper; may be repeated. `tangor options` shows all
    #[arg(long = "set", value_name = "PATH=VALUE", help_heading = "Settings", value_parser = assignment)]
    pub assignments: Vec<(String, String)>,

    /// Tolerance of all three residuals, and of the slope of the violation where the constraints cannot hold
    #[arg(long, value_name = "EPS", help_heading = "Settings", value_parser = positive, allow_negative_numbers = true)]
    pub tolerance: Option<f64>,

    /// Most iterations
    #[arg(long, value_name = "N", help_heading = "Settings")]
    pub max_iterations: Option<u64>,

    /// Most wall time, as in 10s, 5m or 1h30m
    #[arg(long, value_name = "DURATION", help_heading = "Settings", value_parser = duration::parse, allow_hyphen_values = true)]
    pub time_limit: Option<Duration>,

    /// Most memory for the data of the run, as in 500MB or 4GB [default: three quarters of the machine's]
    #[arg(long, value_name = "SIZE", help_heading = "Settings", value_parser = size::parse, allow_hyphen_values = true)]
    pub memory_limit: Option<u64>,
}

impl SettingsArguments {
    /// The limit on memory that is given, or the machine's: for files that are read before all settings are known.
    pub fn memory(&self) -> MemoryLimit {
        MemoryLimit::or_of_this_machine(self.memory_limit)
    }

    /// The settings for a new run with these defaults.
    pub fn over(&self, defaults: Settings) -> Result<Settings, Error> {
        let base = self.config.as_deref().map_or(Ok(defaults), |path| read(path, self.memory()))?;
        self.applied_to(base)
    }

    /// The settings for a run that goes on with those it had. What shapes the state of a run can no longer be changed; who says again what it
    /// is changes nothing.
    pub fn resumed(&self, settings: Settings) -> Result<Settings, Error> {
        let is_changed = |path: &str, value: &str| {
            let mut changed = settings.clone();
            changed.set(path, value).is_err() || changed != settings
        };
        let is_fixed = |path: &str| !path.starts_with("limits.") && !path.starts_with("tolerance.");
        // A preset and what was set on top of it are the same again only together.
        let mut again = settings.clone();
        let is_set = presets_first(&self.assignments).all(|(path, value)| again.set(path, value).is_ok());
        (again.limits, again.tolerance) = (settings.limits.clone(), settings.tolerance.clone());
        if is_set && again == settings {
            return self.applied_to(settings);
        }
        match self.assignments.iter().find(|(path, value)| is_fixed(path) && is_changed(path, value)) {
            Some((path, _)) => Err(Error::Setting(format!(
                "the setting {path} cannot be changed in a resumed run: only limits and tolerances can"
            ))),
            None => self.applied_to(settings),
        }
    }

    fn applied_to(&self, mut settings: Settings) -> Result<Settings, Error> {
        if let Some(tolerance) = self.tolerance {
            settings.tolerance.stationarity = tolerance;
            settings.tolerance.feasibility = tolerance;
            settings.tolerance.complementarity = tolerance;
            settings.tolerance.infeasible = tolerance;
        }
        if let Some(iterations) = self.max_iterations {
            settings.limits.iterations = iterations;
        }
        if let Some(time) = self.time_limit {
            settings.limits.seconds = Some(time.as_secs_f64());
        }
        settings.limits.memory = self.memory_limit.or(settings.limits.memory);
        for (path, value) in presets_first(&self.assignments) {
            settings.set(path, value).map_err(|error| explained(path, error))?;
        }
        settings.validate().map_err(|error| Error::Setting(error.to_string()))?;
        Ok(settings)
    }
}

/// A preset says all settings at once: it comes before those that are set one by one, wherever it stands among them.
pub fn presets_first(assignments: &[(String, String)]) -> impl Iterator<Item = &(String, String)> {
    let is_preset = |(path, _): &&(String, String)| path == settings_tree::PRESET;
    assignments.iter().filter(is_preset).chain(assignments.iter().filter(move |one| !is_preset(one)))
}

fn read(path: &Path, memory: MemoryLimit) -> Result<Settings, Error> {
    let text = memory.read_text(path).map_err(|cause| Error::Unreadable { path: path.to_owned(), cause })?;
    Settings::from_toml(&text)
        .map_err(|error| Error::Config { path: path.to_owned(), message: error.to_string().trim_end().to_string() })
}

fn positive(text: &str) -> Result<f64, String> {
    let number = text.trim().parse::<f64>().ok().filter(|number| *number > 0.0 && number.is_finite());
    number.ok_or_else(|| format!("a tolerance is a positive number, as in 1e-6, and {text:?} is none"))
}

/// `PATH=VALUE`
pub fn assignment(text: &str) -> Result<(String, String), String> {
    let (path, value) = text.split_once('=').ok_or("an equals sign is missing; write for example merit.rho0=1")?;
    Ok((path.trim().to_string(), value.trim().to_string()))
}

/// A wrong value keeps the solver's message; a wrong path gets the nearest right ones.
fn explained(path: &str, error: tangor_solver::SettingsError) -> Error {
    /// A longer one is no slip of the finger.
    const LONGEST: usize = 100;
    let mut known = settings_tree::paths();
    known.push(settings_tree::PRESET.to_string());
    if path.len() > LONGEST {
        let beginning: String = path.chars().take(LONGEST / 2).collect();
        return Error::Setting(format!("there is no setting {beginning}...; `tangor options` shows all of them"));
    }
    if known.iter().any(|known| path == known || path.starts_with(&format!("{known}."))) {
        return Error::Setting(in_plain_words(&error.to_string()));
    }
    let nearest = nearest(path, &known).join(", ");
    Error::Setting(format!("there is no setting {path}; the nearest are {nearest} (`tangor options` shows all of them)"))
}

/// The words of a programming language say little to others: `invalid type: string "x", expected f64` is "`x` is not a number".
fn in_plain_words(message: &str) -> String {
    let kinds = [("f64", "a number"), ("u64", "a whole number"), ("usize", "a whole number"), ("a boolean", "true or false")];
    let found = ["invalid type: ", "invalid value: "].iter().find_map(|start| message.split_once(start));
    let parts = found.and_then(|(before, rest)| Some((before, rest.split_once(", expected ")?)));
    let Some((before, (value, expected))) = parts else { return message.to_string() };
    let value = ["string ", "integer ", "floating point ", "boolean "].iter().find_map(|kind| value.strip_prefix(kind));
    let expected = kinds.iter().find(|(name, _)| expected == *name).map_or(expected, |(_, words)| words);
    let value = value.map(|value| value.trim_matches(['"', '`']));
    match value {
        Some(digits)
            if expected == "a whole number" && !digits.is_empty() && digits.bytes().all(|one| one.is_ascii_digit()) =>
        {
            format!("{before}`{digits}` is too large")
        }
        Some(value) => format!("{before}`{value}` is not {expected}"),
        None => format!("{before}{expected} is expected"),
    }
}

fn nearest<'a>(path: &str, known: &'a [String]) -> Vec<&'a str> {
    const SHOWN: usize = 3;
    let mut paths: Vec<&str> = known.iter().map(String::as_str).collect();
    // A forgotten group (`rho0` for `merit.rho0`) is as likely as a slip of the finger.
    let distance = |known: &str| {
        let last = known.rsplit('.').next().unwrap_or(known);
        strsim::damerau_levenshtein(path, known).min(strsim::damerau_levenshtein(path, last))
    };
    let inside = |known: &str| known.strip_prefix(path).is_some_and(|rest| rest.starts_with('.'));
    paths.sort_by_cached_key(|known| if inside(known) { 0 } else { distance(known) });
    paths.truncate(SHOWN);
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_settings_are_named() {
        let known = settings_tree::paths();
        for (wrong, right) in [("merit.rho1", "merit.rho0"), ("rho0", "merit.rho0"), ("stepsise.tau", "stepsize.tau")] {
            assert_eq!(nearest(wrong, &known)[0], right);
        }
        assert!(nearest("limits", &known).iter().all(|path| path.starts_with("limits.")));
    }
}

#[cfg(test)]
mod plain_words {
    use super::in_plain_words;

    #[test]
    fn wrong_values_are_told_in_words_of_people() {
        for (message, plain) in [
            ("merit.rho0=abc: invalid type: string \"abc\", expected f64", "merit.rho0=abc: `abc` is not a number"),
            ("merit.falls=3: invalid type: integer `3`, expected a boolean", "merit.falls=3: `3` is not true or false"),
            ("x=1.5: invalid type: floating point `1.5`, expected u64", "x=1.5: `1.5` is not a whole number"),
            (
                "x=18446744073709551615: invalid type: string \"18446744073709551615\", expected usize",
                "x=18446744073709551615: `18446744073709551615` is too large",
            ),
            ("x=-1: invalid value: integer `-1`, expected u64", "x=-1: `-1` is not a whole number"),
            ("x=[]: invalid type: sequence, expected f64", "x=[]: a number is expected"),
            ("x=2: must be between 0 and 1", "x=2: must be between 0 and 1"),
        ] {
            assert_eq!(in_plain_words(message), plain);
        }
    }
}
