//! Settings that belong together, under one name.

use crate::{
    Batch, Estimation, Limits, Merit, MetricKind, Momentum, NormalVariant, SampledCurvature, Scaling, Settings, SettingsError,
    Theta,
};

/// The largest batch that the paper's schedules may ask for.
const LARGEST_BATCH: usize = 1_000_000;

impl Settings {
    /// The paper's methods as they are written: identity metric, its normal step, a merit parameter that never falls, its stepsizes with
    /// constants that are found, its batch schedules and momentum, samples with replacement, no test on samples, nothing scaled or
    /// presolved, no correction, no other test, no other starts. `docs/algorithm.md` says why the defaults depart from it, line by line.
    ///
    /// ```
    /// use tangor_solver::{MetricKind, Settings};
    /// let mut settings = Settings::default();
    /// settings.set("preset", "paper")?;
    /// assert_eq!(settings, Settings::paper());
    /// assert_eq!(settings.metric.kind, MetricKind::Identity);
    /// # Ok::<(), tangor_solver::SettingsError>(())
    /// ```
    pub fn paper() -> Self {
        let mut settings = Settings { scaling: Scaling::None, ..Settings::default() };
        (settings.limits.escapes, settings.limits.idle) = (0, 0);
        settings.normal.variant = NormalVariant::Bounded;
        settings.normal.alone = 0.0;
        settings.metric.kind = MetricKind::Identity;
        settings.merit = Merit { falls: false, margin: 1.0, ..Merit::default() };
        settings.stepsize.correction = false;
        settings.stepsize.slack_reset = false;
        settings.stepsize.gradient_test = false;
        let estimation =
            Estimation { batch: Batch::Paper { largest: LARGEST_BATCH }, momentum: Momentum::Paper, ..Estimation::default() };
        let sampling = &mut settings.sampling;
        (sampling.gradient, sampling.constraints, sampling.jacobian) = (estimation.clone(), estimation.clone(), estimation);
        sampling.replacement = true;
        sampling.exact_passes = 0.0;
        sampling.shared_draws = false;
        sampling.theta = Theta::Fixed { share: 1.0 };
        sampling.curvature = SampledCurvature::Constants;
        sampling.merit_test = false;
        settings
    }

    /// The settings of this name, with the tolerances, the limits on work and the seed that are set already.
    pub fn preset(&self, name: &str) -> Result<Settings, SettingsError> {
        let mut settings = match name {
            "default" => Settings::default(),
            "paper" => Settings::paper(),
            _ => {
                return Err(SettingsError::Assignment {
                    path: "preset".to_string(),
                    value: name.to_string(),
                    reason: "there are the presets `default` and `paper`".to_string(),
                });
            }
        };
        settings.tolerance = self.tolerance.clone();
        // Other starts, and when one is given up, are part of the method.
        let Limits { escapes, idle, .. } = settings.limits;
        settings.limits = Limits { escapes, idle, ..self.limits.clone() };
        settings.sampling.seed = self.sampling.seed;
        Ok(settings)
    }
}

#[cfg(all(test, feature = "toml"))]
mod tests {
    use super::*;

    #[test]
    fn a_preset_keeps_tolerances_limits_and_seed() {
        let mut settings = Settings::default();
        for (path, value) in [("tolerance.feasibility", "1e-3"), ("limits.iterations", "7"), ("sampling.seed", "5")] {
            settings.set(path, value).unwrap();
        }
        let before = settings.clone();
        settings.set("preset", "paper").unwrap();
        assert_eq!((settings.tolerance.feasibility, settings.limits.iterations, settings.sampling.seed), (1e-3, 7, 5));
        assert_eq!((settings.merit.falls, settings.limits.escapes, settings.limits.idle), (false, 0, 0));
        assert!(settings.validate().is_ok());
        settings.set("preset", "default").unwrap();
        assert_eq!(settings, before);
        let error = settings.set("preset", "papre").unwrap_err();
        assert_eq!(error.to_string(), "setting preset=papre: there are the presets `default` and `paper`");
    }
}
