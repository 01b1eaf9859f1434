//! Pictures as SVG, plain enough to be read in a browser, a paper or a text editor.

mod axis;
mod boxes;
mod canvas;
mod curves;
mod growth;
mod lines;
mod slopes;
mod stack;
mod steps;

pub use boxes::{BoxFigure, BoxPanel, LabelledBox, Summary, median, quartiles};
pub use canvas::escaped;
pub use curves::{CurveFigure, CurvePanel, PointCurve};
pub use growth::{GrowthCurve, GrowthFigure, GrowthPanel};
pub use lines::{Dot, Line, LineFigure, LinePanel, Scale};
pub use slopes::{SlopeFigure, SlopePanel};
pub use steps::{Curve, StepFigure};

/// Colours that colour-blind readers can tell apart (Okabe and Ito), dark enough for white paper.
pub const COLORS: [&str; 6] = ["#0072b2", "#d98c00", "#009e73", "#cc5a00", "#b5628f", "#666666"];

/// One of them, over and over.
fn color(k: usize) -> &'static str {
    COLORS[k % COLORS.len()]
}
