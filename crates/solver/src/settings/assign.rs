//! One path to every setting: `normal.variant=majorised`, the same for the command line, TOML, JSON and Python.

use serde::de::Error as _;
use toml::{Table, Value};

use crate::{Settings, SettingsError};

/// No setting lies deeper; a path that does would only cost the stack.
const DEEPEST: usize = 16;

impl Settings {
    /// Sets one field by its path, as in `set("merit.rho0", "1")`. Values are written as in TOML; quotes around a word may be left
    /// out.
    ///
    /// ```
    /// use tangor_solver::Settings;
    /// let mut settings = Settings::default();
    /// settings.set("merit.rho0", "1")?;
    /// assert_eq!(settings.merit.rho0, 1.0);
    /// let error = settings.set("merit.rho1", "1").unwrap_err();
    /// assert_eq!(error.to_string(), "setting merit.rho1=1: unknown field `rho1`, expected one of `falls`, `rho0`, `margin`");
    /// # Ok::<(), tangor_solver::SettingsError>(())
    /// ```
    ///
    /// The path `preset` sets all of them but tolerances, limits and seed: `set("preset", "paper")`.
    pub fn set(&mut self, path: &str, value: &str) -> Result<(), SettingsError> {
        if path == "preset" {
            *self = self.preset(value)?;
            return Ok(());
        }
        let parsed = parse(value);
        // A whole number is a fine value for a real setting, but TOML keeps the two apart.
        let as_real = parsed.as_integer().map(|whole| Value::Float(whole as f64));
        let assigned = self.with(path, parsed).or_else(|error| match as_real {
            Some(real) => self.with(path, real).map_err(|_| error),
            None => Err(error),
        });
        let assigned = assigned.map_err(|error| SettingsError::Assignment {
            path: path.to_string(),
            value: shortened(value, 100),
            reason: incomplete_choice(path, value, error.message()).unwrap_or_else(|| shortened(error.message().trim(), 1000)),
        })?;
        // What is refused leaves the settings as they were.
        assigned.validate()?;
        *self = assigned;
        Ok(())
    }

    /// Reads settings from TOML; what is not named keeps its default.
    pub fn from_toml(text: &str) -> Result<Settings, toml::de::Error> {
        let settings: Settings = toml::from_str(text)?;
        settings.validate().map_err(toml::de::Error::custom)?;
        Ok(settings)
    }

    fn with(&self, path: &str, value: Value) -> Result<Settings, toml::de::Error> {
        let mut root = Table::try_from(self).map_err(toml::de::Error::custom)?;
        let (last, parents) =
            path.split('.').collect::<Vec<_>>().split_last().map(|(a, b)| (*a, b.to_vec())).unwrap_or_default();
        if parents.len() > DEEPEST {
            return Err(toml::de::Error::custom(format!("the path has {} parts, more than any setting", parents.len() + 1)));
        }
        let mut table = &mut root;
        for (depth, part) in parents.iter().enumerate() {
            let entry = table.entry(part.to_string()).or_insert_with(|| Value::Table(Table::new()));
            // A choice without fields, such as `adaptive`, gives way to one that has them, as in `momentum.constant.a`.
            if entry.is_str() {
                *entry = Value::Table(Table::new());
            }
            table = entry.as_table_mut().ok_or_else(|| {
                toml::de::Error::custom(format!("`{}` is a single value and has no fields", parents[..=depth].join(".")))
            })?;
        }
        table.insert(last.to_string(), value);
        root.try_into()
    }
}

/// How a choice with several fields is made, where a path named one of them and another choice had the place before.
fn incomplete_choice(path: &str, value: &str, message: &str) -> Option<String> {
    let (choice, field) = path.rsplit_once('.')?;
    let (setting, choice) = choice.rsplit_once('.')?;
    (message.contains("missing field") || message.contains("exactly 1 element")).then(|| {
        let value = shortened(value, 100);
        format!("`{choice}` has more fields, and is chosen with all of them at once: {setting}={{{choice} = {{{field} = {value}, ...}}}}")
    })
}

fn parse(value: &str) -> Value {
    let parsed: Option<Table> = toml::from_str(&format!("value = {value}")).ok();
    parsed.and_then(|mut table| table.remove("value")).unwrap_or_else(|| Value::String(value.to_string()))
}

/// A message is for people: nobody reads more than so many letters of what was wrong.
fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Mapping, MetricKind, Momentum};

    #[test]
    fn every_kind_of_value_is_reached_by_its_path() {
        let mut settings = Settings::default();
        for (path, value) in [
            ("limits.iterations", "50"),
            ("limits.seconds", "2"),
            ("metric.kind", "identity"),
            ("stepsize.correction", "false"),
            ("normal.mapping", "{hybrid = {alpha1 = 1, alpha2 = 2.0}}"),
        ] {
            settings.set(path, value).unwrap();
        }
        settings.set("sampling.gradient.momentum.constant.a", "0.1").unwrap();
        assert_eq!(settings.sampling.gradient.momentum, Momentum::Constant { a: 0.1 });
        assert_eq!(settings.limits.iterations, 50);
        assert_eq!(settings.limits.seconds, Some(2.0));
        assert_eq!(settings.metric.kind, MetricKind::Identity);
        assert!(!settings.stepsize.correction);
        assert_eq!(settings.normal.mapping, Mapping::Hybrid { alpha1: 1.0, alpha2: 2.0 });
        assert_eq!(Settings::from_toml(&toml::to_string(&settings).unwrap()).unwrap(), settings);
    }

    #[test]
    fn mistakes_are_named() {
        let mut settings = Settings::default();
        let message = |result: Result<(), SettingsError>| result.unwrap_err().to_string();
        assert_eq!(message(settings.set("stepsize.tau", "1.5")), "setting stepsize.tau is 1.5, but must be between 0 and 1");
        assert!(message(settings.set("metric.kind", "spectrl")).contains("unknown variant `spectrl`"));
        assert!(message(settings.set("merit.rho0.x", "1")).contains("`merit.rho0` is a single value"));
        assert!(message(settings.set("scaling.x", "1")).contains("unknown variant `x`, expected one of"));
        assert!(message(settings.set("", "1")).contains("unknown field"));
        assert_eq!(
            message(settings.set("stepsize.lipschitz.given.objective", "2")),
            "setting stepsize.lipschitz.given.objective=2: `given` has more fields, and is chosen with all of them at once: \
             stepsize.lipschitz={given = {objective = 2, ...}}"
        );
        assert!(
            message(settings.set("sampling.gradient.batch.geometric.growth", "2"))
                .ends_with("sampling.gradient.batch={geometric = {growth = 2, ...}}")
        );
        assert!(message(settings.set("merit.rho0", &"[".repeat(60_000))).len() < 1500, "nobody reads all of it");
        for (path, value, expected) in [
            ("sampling.judge.confidence", "1", "setting sampling.judge.confidence is 1, but must be between 0.5 and 1"),
            (
                "sampling.gradient.momentum",
                "{constant = {a = 7}}",
                "setting sampling.gradient.momentum is 7, but must be between 0 and 1",
            ),
            (
                "sampling.jacobian.batch",
                "{constant = {size = 0}}",
                "setting sampling.jacobian.batch is 0, but must be of at least 1 sample",
            ),
            (
                "normal.mapping",
                "{sqp = {alpha = -1}}",
                "setting normal.mapping.sqp.alpha is -1, but must be positive and finite",
            ),
            (
                "normal.mapping",
                "{hybrid = {alpha1 = 1, alpha2 = 0}}",
                "setting normal.mapping.hybrid.alpha2 is 0, but must be positive and finite",
            ),
            ("kernel.iterations", "0", "setting kernel.iterations is 0, but must be at least 1"),
            ("stepsize.smallest", "-1", "setting stepsize.smallest is -1, but must be finite and at least 0"),
            ("stepsize.smallest", "inf", "setting stepsize.smallest is inf, but must be finite and at least 0"),
            ("merit.margin", "inf", "setting merit.margin is inf, but must be finite and at least 1"),
            (
                "stepsize.lipschitz",
                "{given = {objective = inf, constraints = 1}}",
                "setting stepsize.lipschitz.given.objective is inf, but must be finite and at least 0",
            ),
            ("sampling.judge.range", "inf", "setting sampling.judge.range is inf, but must be finite and at least 0"),
            ("sampling.tau", "0.5", "setting sampling.tau is 0.5, but must be between 0 and 1/2"),
        ] {
            assert_eq!(message(settings.set(path, value)), expected);
        }
    }
}
