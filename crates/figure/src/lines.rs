//! Lines of numbers against iterations, on logarithmic or linear scales: panels over one another with a common horizontal axis.

use std::fmt::Write;

use crate::axis::{Decades, Span, round_marks};
use crate::canvas::{Canvas, power_of_ten};
use crate::color;
use crate::stack::{LEFT, Sign, Stack, place};

const WIDTH: f64 = 920.0;
/// Values below this fraction of the largest are at rounding level; the picture does not stretch for them.
const MOST_DECADES: i32 = 20;

/// A figure of lines.
#[derive(Clone, Debug)]
pub struct LineFigure {
    /// What it shows.
    pub title: String,
    /// What else there is to say.
    pub subtitle: String,
    /// What the horizontal axis counts.
    pub axis: String,
    /// The iterations, or whatever is counted, rising: one for each value of every line.
    pub iterations: Vec<u64>,
    /// From top to bottom.
    pub panels: Vec<LinePanel>,
}

/// A panel with a scale of its own.
#[derive(Clone, Debug)]
pub struct LinePanel {
    /// What it shows.
    pub title: String,
    /// How high it is.
    pub height: f64,
    /// How values become heights.
    pub scale: Scale,
    /// Its lines.
    pub lines: Vec<Line>,
    /// Values beside the lines.
    pub dots: Vec<Dot>,
    /// What they are called.
    pub dots_label: String,
    /// What the lines should get below: dashed, one for each different value.
    pub tolerances: Vec<f64>,
}

/// How values become heights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// By their logarithms; what is not positive is not shown.
    Logarithmic,
    /// As they are.
    Linear,
}

/// A value that is marked beside the lines.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dot {
    /// When.
    pub iteration: u64,
    /// What.
    pub value: f64,
    /// Which of the colours.
    pub color: usize,
}

/// A line.
#[derive(Clone, Debug)]
pub struct Line {
    /// Its name.
    pub label: String,
    /// Which of the colours.
    pub color: usize,
    /// Its values; where one cannot be shown, the line is broken.
    pub values: Vec<f64>,
}

impl LineFigure {
    /// Draws it.
    pub fn draw(&self) -> String {
        let stack = Stack::new(WIDTH, self.panels.iter().map(|panel| panel.height), &self.title, &self.subtitle);
        let mut canvas = stack.begin();
        for (panel, top) in self.panels.iter().zip(stack.tops()) {
            self.draw_panel(&mut canvas, &stack, panel, top);
        }
        stack.draw_axis(&mut canvas, self.marks().map(|mark| (self.x(mark), mark.to_string())), &self.axis);
        canvas.finish(&self.title)
    }

    /// First and last iteration, apart from each other.
    fn ends(&self) -> (u64, u64) {
        let first = self.iterations.first().copied().unwrap_or(0);
        (first, self.iterations.last().copied().unwrap_or(1).max(first.saturating_add(1)))
    }

    fn x(&self, iteration: u64) -> f64 {
        let (first, last) = self.ends();
        let share = iteration.saturating_sub(first) as f64 / last.abs_diff(first).max(1) as f64;
        place(share, WIDTH)
    }

    fn marks(&self) -> impl Iterator<Item = u64> {
        let (first, last) = self.ends();
        round_marks(last, 10).filter(move |mark| *mark >= first)
    }

    fn draw_panel(&self, canvas: &mut Canvas, stack: &Stack, panel: &LinePanel, top: f64) {
        let axis = Axis::of(panel);
        let y = |value: f64| top + panel.height * (1.0 - axis.position(value));
        let levels = axis.marks(panel.height).into_iter().map(|(mark, text)| (y(mark), text));
        let upright = self.marks().map(|mark| self.x(mark));
        stack.draw_frame(canvas, &panel.title, (top, top + panel.height), levels, upright);
        let mut tolerances = panel.tolerances.clone();
        tolerances.sort_by(f64::total_cmp);
        tolerances.dedup();
        for y in tolerances.into_iter().map(y) {
            canvas.line("tolerance", None, (LEFT, y), (stack.right(), y));
        }
        stack.draw_names(canvas, panel.names().into_iter(), top);
        for line in &panel.lines {
            // Many points overlap when the line is thick.
            let class = if line.values.len() > 400 { "curve fine" } else { "curve" };
            canvas.path(class, color(line.color), "", &self.path(line, panel.scale, y));
        }
        for dot in panel.dots.iter().filter(|dot| panel.scale.shows(dot.value)) {
            canvas.circle(color(dot.color), self.x(dot.iteration), y(dot.value));
        }
    }

    /// Through all values; where there is none, or none that the scale can show, the line is broken.
    fn path(&self, line: &Line, scale: Scale, y: impl Fn(f64) -> f64) -> String {
        let mut path = String::new();
        let mut pen = 'M';
        for (iteration, &value) in self.iterations.iter().zip(&line.values) {
            if scale.shows(value) {
                // A line that does not move is a dot: a value between two gaps is seen too.
                let dot = if pen == 'M' { "h0" } else { "" };
                // Writing into a string cannot fail.
                let _ = write!(path, "{pen}{:.1} {:.1}{dot}", self.x(*iteration), y(value));
                pen = 'L';
            } else {
                pen = 'M';
            }
        }
        path
    }
}

impl LinePanel {
    /// What its lines are called, and their colours.
    fn names(&self) -> Vec<(String, Sign)> {
        let tolerance = self.tolerances.first().map(|_| ("tolerance".to_string(), Sign::Dashed));
        let dots = self.dots.first().map(|_| (self.dots_label.clone(), Sign::Circle));
        let lines = self.lines.iter().map(|line| {
            let shown = line.values.iter().any(|value| self.scale.shows(*value));
            let remark = match self.scale {
                _ if shown => "",
                Scale::Logarithmic => " (zero)",
                Scale::Linear => " (unknown)",
            };
            (format!("{}{remark}", line.label), Sign::Line(color(line.color)))
        });
        tolerance.into_iter().chain(dots).chain(lines).collect()
    }
}

impl Scale {
    /// Whether it can show this value.
    fn shows(self, value: f64) -> bool {
        value.is_finite() && (self == Scale::Linear || value > 0.0)
    }
}

/// The vertical axis of a panel.
enum Axis {
    Decades(Decades),
    Span(Span),
}

impl Axis {
    fn of(panel: &LinePanel) -> Axis {
        let lines = panel.lines.iter().flat_map(|line| &line.values).chain(&panel.tolerances).copied();
        let values = lines.chain(panel.dots.iter().map(|dot| dot.value));
        match panel.scale {
            Scale::Logarithmic => Axis::Decades(Decades::covering(values, MOST_DECADES)),
            Scale::Linear => Axis::Span(Span::covering(values)),
        }
    }

    fn position(&self, value: f64) -> f64 {
        match self {
            Axis::Decades(decades) => decades.position(value),
            Axis::Span(span) => span.position(value),
        }
    }

    fn marks(&self, height: f64) -> Vec<(f64, String)> {
        match self {
            Axis::Decades(decades) => {
                let exponents = decades.marks(if height > 200.0 { 8 } else { 3 });
                exponents.map(|exponent| (10f64.powi(exponent), power_of_ten(exponent))).collect()
            }
            Axis::Span(span) => span.marks(if height > 200.0 { 8.0 } else { 3.0 }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(iterations: Vec<u64>, values: Vec<f64>) -> LineFigure {
        let line = Line { label: "a < b".into(), color: 0, values };
        let dots = vec![Dot { iteration: 1, value: 0.5, color: 1 }, Dot { iteration: 1, value: -0.5, color: 1 }];
        let panel = LinePanel {
            title: "p".into(),
            height: 100.0,
            scale: Scale::Logarithmic,
            lines: vec![line],
            dots,
            dots_label: "judged".into(),
            tolerances: vec![1e-2, 1e-2],
        };
        LineFigure { title: "t".into(), subtitle: "s".into(), axis: "iteration".into(), iterations, panels: vec![panel] }
    }

    #[test]
    fn a_line_goes_through_its_values_and_is_broken_where_there_is_none() {
        let figure = figure(vec![0, 1, 2, 3, 4], vec![1.0, 0.1, f64::NAN, 0.0, 0.01]);
        // 808 between 84 and 892; 1 at the top, at 10, and 1e-2 at the bottom of 100
        let y = |value: f64| 10.0 - 50.0 * value.log10();
        assert_eq!(figure.path(&figure.panels[0].lines[0], Scale::Logarithmic, y), "M84.0 10.0h0L286.0 60.0M892.0 110.0h0");
        let picture = figure.draw();
        assert!(picture.starts_with("<svg") && picture.contains("a &lt; b") && !picture.contains("NaN"));
        assert!(picture.contains(">10⁻²</text>") && picture.contains("prefers-color-scheme:dark"));
        // one for the legend; a logarithmic scale has no negative values
        assert_eq!(picture.matches("<circle").count(), 2);
        assert!(picture.contains(">judged</text>"));
        // one for the panel, one for the legend
        assert_eq!(picture.matches("class=\"tolerance\"").count(), 2);
    }

    /// Where the legend begins, and where the title of its panel ends; a letter is at most about 7 wide, one in bold about 8.5.
    #[test]
    fn the_longest_legend_leaves_room_for_the_title() {
        let label = |label: &str, color| Line { label: label.into(), color, values: vec![1.0, 0.5] };
        let mut figure = figure(vec![0, 1], vec![1.0, 0.5]);
        let panel = &mut figure.panels[0];
        panel.lines = vec![label("stationarity", 0), label("feasibility", 1), label("complementarity", 2)];
        panel.lines[2].values = vec![0.0; 2];
        let legend = panel.names().iter().map(|(name, _)| 7.0 * name.chars().count() as f64 + 41.0).sum::<f64>();
        let title = "Residuals, estimated".len() as f64 * 8.5;
        assert!(LEFT + title < WIDTH - 28.0 - legend, "{title} + {legend}");
    }

    #[test]
    fn long_titles_take_several_lines_and_push_the_panels_down() {
        let mut figure = figure(vec![0, 1], vec![1.0, 0.5]);
        assert!(figure.draw().contains("y=\"84.0\">p</text>"), "the title of the panel");
        figure.title = "noise hides whether stationarity, feasibility and complementarity are within the tolerance".into();
        figure.subtitle = "word ".repeat(40).trim_end().into();
        let picture = figure.draw();
        assert!(picture.contains(">noise hides whether stationarity, feasibility and complementarity are</text>"), "{picture}");
        assert!(
            picture.contains("y=\"61.0\">within the tolerance</text>") && picture.contains("y=\"127.0\">p</text>"),
            "{picture}"
        );
    }

    #[test]
    fn nothing_at_all_can_be_drawn() {
        assert!(figure(Vec::new(), Vec::new()).draw().contains("a &lt; b (zero)"));
        assert!(figure(vec![u64::MAX], vec![1.0]).draw().ends_with("</svg>\n"));
    }
}
