//! The drawing itself, as SVG text: three panels over one another with a common scale of iterations.

use std::fmt::Write;

use tangor_solver::{Report, Row};

use super::axis::{Decades, round_marks};
use crate::{duration, number};

const WIDTH: f64 = 920.0;
const LEFT: f64 = 84.0;
const RIGHT: f64 = 28.0;
const TOP: f64 = 96.0;
const GAP: f64 = 44.0;
const BOTTOM: f64 = 56.0;
/// Residuals below this fraction of the largest are at rounding level; the picture does not stretch for them.
const MOST_DECADES: i32 = 20;

/// Colours that colour-blind people can tell apart; a dark page gets light text.
const STYLE: &str = "\
svg{background:#fff;font-family:'Inter','Helvetica Neue',Arial,sans-serif;font-size:12px;fill:#33363b}
.title{font-size:19px;font-weight:600;fill:#16181b}.subtitle{font-size:13px;fill:#6a6f78}
.panel{font-size:13px;font-weight:600;fill:#16181b}.mark{fill:#6a6f78}
.grid{stroke:#e6e8eb;stroke-width:1}.edge{stroke:#b9bec6;stroke-width:1}
.curve{fill:none;stroke-width:2;stroke-linejoin:round;stroke-linecap:round}
.fine{stroke-width:1}
.tolerance{stroke-width:1.25;stroke-dasharray:5 4;stroke:#8a9099}
@media(prefers-color-scheme:dark){svg{background:#16181b;fill:#d5d8dd}.title,.panel{fill:#fff}
.subtitle,.mark{fill:#9aa0aa}.grid{stroke:#2a2e34}.edge{stroke:#4a505a}}";

struct Curve {
    name: &'static str,
    color: &'static str,
    value: fn(&Row) -> f64,
    tolerance: Option<f64>,
}

struct Panel {
    title: &'static str,
    height: f64,
    curves: Vec<Curve>,
}

/// The picture of a run.
pub fn draw(rows: &[Row], report: &Report) -> String {
    let panels = panels(report);
    let height = TOP + BOTTOM + panels.iter().map(|panel| panel.height).sum::<f64>() + GAP * (panels.len() - 1) as f64;
    let mut svg = Svg { text: String::new() };
    svg.add(format_args!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" viewBox=\"0 0 {WIDTH} {height}\" \
         role=\"img\">\n<style>\n{STYLE}\n</style>"
    ));
    svg.headline(report);
    let iterations = Iterations::of(rows);
    let mut top = TOP;
    for panel in &panels {
        svg.panel(panel, rows, &iterations, top);
        top += panel.height + GAP;
    }
    svg.iteration_labels(&iterations, top - GAP);
    svg.add(format_args!("</svg>"));
    svg.text
}

fn panels(report: &Report) -> Vec<Panel> {
    let tolerance = &report.settings.tolerance;
    let residuals = vec![
        Curve {
            name: "stationarity",
            color: "#0072b2",
            value: |row| row.stationarity,
            tolerance: Some(tolerance.stationarity),
        },
        Curve { name: "feasibility", color: "#d55e00", value: |row| row.feasibility, tolerance: Some(tolerance.feasibility) },
        Curve {
            name: "complementarity",
            color: "#009e73",
            value: |row| row.complementarity,
            tolerance: Some(tolerance.complementarity),
        },
    ];
    let merit = vec![Curve { name: "rho", color: "#aa4499", value: |row| row.rho, tolerance: None }];
    let stepsize = vec![Curve { name: "eta", color: "#cc8800", value: |row| row.eta, tolerance: None }];
    vec![
        Panel { title: "Residuals", height: 330.0, curves: residuals },
        Panel { title: "Merit parameter", height: 130.0, curves: merit },
        Panel { title: "Stepsize", height: 130.0, curves: stepsize },
    ]
}

/// The common horizontal scale.
struct Iterations {
    first: u64,
    last: u64,
}

impl Iterations {
    fn of(rows: &[Row]) -> Self {
        let first = rows.first().map_or(0, |row| row.iteration);
        Iterations { first, last: rows.last().map_or(1, |row| row.iteration).max(first + 1) }
    }

    fn x(&self, iteration: u64) -> f64 {
        let share = (iteration - self.first) as f64 / (self.last - self.first) as f64;
        LEFT + share * (WIDTH - LEFT - RIGHT)
    }

    fn marks(&self) -> impl Iterator<Item = u64> {
        let first = self.first;
        round_marks(self.last, 10).filter(move |mark| *mark >= first)
    }
}

struct Svg {
    text: String,
}

impl Svg {
    fn add(&mut self, line: std::fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "{line}");
    }

    fn headline(&mut self, report: &Report) {
        let title = format!("{}: {}", report.problem, report.point);
        let iterations = number::counted(report.iterations, "iteration");
        let time = duration::readable(report.seconds);
        let subtitle =
            format!("{} after {iterations} and {time}; objective {}", report.stop, number::readable(report.objective));
        self.add(format_args!("<title>{}</title>", escaped(&title)));
        self.add(format_args!("<text class=\"title\" x=\"{LEFT}\" y=\"36\">{}</text>", escaped(&title)));
        self.add(format_args!("<text class=\"subtitle\" x=\"{LEFT}\" y=\"57\">{}</text>", escaped(&subtitle)));
    }

    fn panel(&mut self, panel: &Panel, rows: &[Row], iterations: &Iterations, top: f64) {
        let values = panel.curves.iter().flat_map(|curve| rows.iter().map(curve.value).chain(curve.tolerance));
        let decades = Decades::covering(values, MOST_DECADES);
        let y = |value: f64| top + panel.height * (1.0 - decades.position(value));
        let (right, bottom) = (WIDTH - RIGHT, top + panel.height);

        for exponent in decades.marks(if panel.height > 200.0 { 8 } else { 3 }) {
            let y = y(10f64.powi(exponent));
            self.add(format_args!("<line class=\"grid\" x1=\"{LEFT}\" y1=\"{y:.1}\" x2=\"{right}\" y2=\"{y:.1}\"/>"));
            self.add(format_args!(
                "<text class=\"mark\" text-anchor=\"end\" x=\"{:.1}\" y=\"{:.1}\">10<tspan dy=\"-5\" font-size=\"9\">{exponent}\
                 </tspan></text>",
                LEFT - 10.0,
                y + 5.0
            ));
        }
        for mark in iterations.marks() {
            let x = iterations.x(mark);
            self.add(format_args!("<line class=\"grid\" x1=\"{x:.1}\" y1=\"{top}\" x2=\"{x:.1}\" y2=\"{bottom}\"/>"));
        }
        self.add(format_args!("<line class=\"edge\" x1=\"{LEFT}\" y1=\"{bottom}\" x2=\"{right}\" y2=\"{bottom}\"/>"));
        self.add(format_args!("<text class=\"panel\" x=\"{LEFT}\" y=\"{:.1}\">{}</text>", top - 12.0, panel.title));
        self.legend(panel, rows, top - 12.0);
        for tolerance in distinct_tolerances(&panel.curves) {
            let y = y(tolerance);
            self.add(format_args!("<line class=\"tolerance\" x1=\"{LEFT}\" y1=\"{y:.1}\" x2=\"{right}\" y2=\"{y:.1}\"/>"));
        }
        for curve in &panel.curves {
            self.curve(curve, rows, iterations, y);
        }
    }

    /// The names of the curves, flush right above their panel.
    fn legend(&mut self, panel: &Panel, rows: &[Row], y: f64) {
        let tolerance = distinct_tolerances(&panel.curves).first().map(|_| ("tolerance".to_string(), "tolerance", ""));
        let curves = panel.curves.iter().map(|curve| {
            let remark = if rows.iter().any(|row| is_visible((curve.value)(row))) { "" } else { " (zero throughout)" };
            (format!("{}{remark}", curve.name), "curve", curve.color)
        });
        let mut right = WIDTH - RIGHT;
        for (name, class, color) in tolerance.into_iter().chain(curves).collect::<Vec<_>>().into_iter().rev() {
            // A letter is at most about 7 wide: near enough to keep the names apart.
            let name_start = right - name.len() as f64 * 7.0;
            let (line_start, line_end, middle) = (name_start - 27.0, name_start - 7.0, y - 4.0);
            let stroke = if color.is_empty() { String::new() } else { format!(" stroke=\"{color}\"") };
            self.add(format_args!("<text x=\"{name_start:.1}\" y=\"{y:.1}\">{name}</text>"));
            self.add(format_args!(
                "<line class=\"{class}\"{stroke} x1=\"{line_start:.1}\" y1=\"{middle:.1}\" x2=\"{line_end:.1}\" y2=\"{middle:.1}\"/>"
            ));
            right = line_start - 14.0;
        }
    }

    /// One line through all values; where there is none, or none that a logarithmic scale can show, the line is broken.
    fn curve(&mut self, curve: &Curve, rows: &[Row], iterations: &Iterations, y: impl Fn(f64) -> f64) {
        let mut path = String::new();
        let mut pen = 'M';
        for row in rows {
            let value = (curve.value)(row);
            if is_visible(value) {
                // A line that does not move is a dot: a value between two gaps is seen too.
                let dot = if pen == 'M' { "h0" } else { "" };
                let _ = write!(path, "{pen}{:.1} {:.1}{dot}", iterations.x(row.iteration), y(value));
                pen = 'L';
            } else {
                pen = 'M';
            }
        }
        // Many points overlap when the line is thick.
        let class = if rows.len() > 400 { "curve fine" } else { "curve" };
        self.add(format_args!("<path class=\"{class}\" stroke=\"{}\" d=\"{path}\"/>", curve.color));
    }

    fn iteration_labels(&mut self, iterations: &Iterations, bottom: f64) {
        for mark in iterations.marks() {
            let (x, y) = (iterations.x(mark), bottom + 18.0);
            self.add(format_args!("<text class=\"mark\" text-anchor=\"middle\" x=\"{x:.1}\" y=\"{y:.1}\">{mark}</text>"));
        }
        let (x, y) = ((LEFT + WIDTH - RIGHT) / 2.0, bottom + 40.0);
        self.add(format_args!("<text text-anchor=\"middle\" x=\"{x:.1}\" y=\"{y:.1}\">iteration</text>"));
    }
}

fn distinct_tolerances(curves: &[Curve]) -> Vec<f64> {
    let mut tolerances: Vec<f64> = curves.iter().filter_map(|curve| curve.tolerance).collect();
    tolerances.dedup();
    tolerances
}

/// Whether a logarithmic scale can show this value.
fn is_visible(value: f64) -> bool {
    value.is_finite() && value > 0.0
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
