//! Noise on a problem's functions, as the arguments ask for it.

use clap::{Args, ValueEnum};
use tangor_problem::{Distribution, Noise, NoiseForm};

use crate::error::Error;
use crate::number::short;

/// The arguments that put noise on a problem.
#[derive(Debug, Args)]
pub struct NoiseArguments {
    /// Noise of this level on the objective's gradient, the constraints and the Jacobian, of which only samples are had then
    #[arg(long, value_name = "LEVEL", help_heading = "Noise", allow_negative_numbers = true)]
    noise: Option<f64>,

    /// Another level for the gradient of the objective; 0 makes it exact
    #[arg(long, value_name = "LEVEL", help_heading = "Noise", allow_negative_numbers = true)]
    noise_objective: Option<f64>,

    /// Another level for the Jacobian of the constraints; 0 makes it exact
    #[arg(long, value_name = "LEVEL", help_heading = "Noise", allow_negative_numbers = true)]
    noise_jacobian: Option<f64>,

    /// Another level for the values of the constraints; 0 makes them exact
    #[arg(long, value_name = "LEVEL", help_heading = "Noise", allow_negative_numbers = true)]
    noise_constraints: Option<f64>,

    /// How the noise is distributed; gaussian if nothing is said
    #[arg(long, value_enum, value_name = "NAME", help_heading = "Noise")]
    noise_distribution: Option<DistributionName>,

    /// How the noise enters; additive if nothing is said
    #[arg(long, value_enum, value_name = "NAME", help_heading = "Noise")]
    noise_form: Option<FormName>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum DistributionName {
    /// Independent normal entries
    Gaussian,
    /// Uniform in a ball
    Uniform,
    /// Student's t with three degrees of freedom
    HeavyTailed,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum FormName {
    /// Added to the values: the same error everywhere, for the same sample
    Additive,
    /// Relative to each value
    Multiplicative,
}

impl NoiseArguments {
    /// The noise that was asked for, if any was.
    pub fn noise(&self) -> Result<Option<Noise>, Error> {
        let own = [self.noise_objective, self.noise_jacobian, self.noise_constraints];
        if self.noise.is_none() && own.iter().all(Option::is_none) {
            return match self.noise_distribution.is_some() || self.noise_form.is_some() {
                true => {
                    Err(Error::Setting("the noise has no level: give one with --noise, for example --noise 1e-2".to_string()))
                }
                false => Ok(None),
            };
        }
        let level = |own: Option<f64>| own.or(self.noise).unwrap_or(0.0);
        let noise = Noise {
            distribution: match self.noise_distribution {
                None | Some(DistributionName::Gaussian) => Distribution::Gaussian,
                Some(DistributionName::Uniform) => Distribution::Uniform,
                Some(DistributionName::HeavyTailed) => Distribution::HeavyTailed,
            },
            form: match self.noise_form {
                None | Some(FormName::Additive) => NoiseForm::Additive,
                Some(FormName::Multiplicative) => NoiseForm::Multiplicative,
            },
            gradient: level(self.noise_objective),
            constraints: level(self.noise_constraints),
            jacobian: level(self.noise_jacobian),
        };
        noise.validate()?;
        // Without any noise the functions are exact.
        Ok(Some(noise).filter(|noise| noise.gradient > 0.0 || noise.constraints > 0.0 || noise.jacobian > 0.0))
    }
}

/// `additive gaussian noise 1e-2`, or with a level for each function.
pub fn described(noise: &Noise) -> String {
    let form = match noise.form {
        NoiseForm::Additive => "additive",
        NoiseForm::Multiplicative => "multiplicative",
    };
    let distribution = match noise.distribution {
        Distribution::Gaussian => "gaussian",
        Distribution::Uniform => "uniform",
        Distribution::HeavyTailed => "heavy-tailed",
    };
    let [gradient, constraints, jacobian] = [noise.gradient, noise.constraints, noise.jacobian].map(short);
    let levels = if gradient == constraints && constraints == jacobian {
        gradient
    } else {
        format!("{gradient} on the gradient, {constraints} on the constraints, {jacobian} on the Jacobian")
    };
    format!("{form} {distribution} noise {levels}")
}
