//! Who runs: Tangor with some settings, or a peer.

use serde::{Deserialize, Serialize};
use tangor_solver::{Settings, Tolerance};

use crate::Error;

/// A solver with its settings, and what rows call it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Contender {
    /// What rows call it.
    pub label: String,
    /// Which solver.
    pub method: Method,
    /// The level of Gaussian noise on gradient, constraints and Jacobian; 0 for exact functions. Peers know only these.
    pub noise: f64,
}

/// Which solver.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// Tangor.
    Tangor(Box<Settings>),
    /// Ipopt with first derivatives only (`hessian_approximation=limited-memory`).
    IpoptFirstOrder,
    /// Ipopt with exact second derivatives, which SIF files have.
    IpoptExact,
}

/// The names of the peers.
pub const PEERS: [(&str, Method); 2] = [("ipopt", Method::IpoptFirstOrder), ("ipopt-exact", Method::IpoptExact)];

impl Contender {
    /// Tangor with these settings.
    pub fn tangor(label: impl Into<String>, settings: Settings) -> Self {
        Contender { label: label.into(), method: Method::Tangor(Box::new(settings)), noise: 0.0 }
    }

    /// The same with noise on its functions.
    pub fn noisy(self, noise: f64) -> Self {
        Contender { noise, ..self }
    }

    /// A peer by its name.
    pub fn peer(name: &str) -> Option<Self> {
        let (label, method) = PEERS.into_iter().find(|(label, _)| *label == name)?;
        Some(Contender { label: label.to_string(), method, noise: 0.0 })
    }

    /// The contender, unless it is a peer that is not part of this build.
    pub fn if_built(self) -> Result<Self, Error> {
        match self.method {
            Method::IpoptFirstOrder | Method::IpoptExact if !cfg!(feature = "ipopt") => Err(Error::NoIpopt),
            _ => Ok(self),
        }
    }

    /// The tolerances that its points are classified with.
    pub fn tolerance(&self) -> Tolerance {
        match &self.method {
            Method::Tangor(settings) => settings.tolerance.clone(),
            Method::IpoptFirstOrder | Method::IpoptExact => Tolerance::default(),
        }
    }
}
