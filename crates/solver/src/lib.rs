//! The adaptive directional decomposition methods.

mod assign;
mod number;
mod observer;
mod report;
mod settings;
mod status;

pub use observer::{Event, Observer, Row, Unusual};
pub use report::{EvaluationFailure, REPORT_VERSION, Report, WorstRow};
pub use settings::*;
pub use status::{Point, Stop};
