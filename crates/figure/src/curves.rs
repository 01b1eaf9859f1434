//! Curves through points on linear scales: panels over one another with a common horizontal axis.

use std::fmt::Write;

use crate::axis::Span;
use crate::canvas::{Anchor, Canvas};
use crate::color;

const WIDTH: f64 = 720.0;
const LEFT: f64 = 84.0;
const RIGHT: f64 = 28.0;
const TOP: f64 = 100.0;
const GAP: f64 = 48.0;
const BOTTOM: f64 = 56.0;

/// A figure of curves.
#[derive(Clone, Debug)]
pub struct CurveFigure {
    /// What it shows.
    pub title: String,
    /// What else there is to say.
    pub subtitle: String,
    /// What the horizontal axis is.
    pub axis: String,
    /// A place on the horizontal axis that is marked.
    pub mark: Option<f64>,
    /// From top to bottom.
    pub panels: Vec<CurvePanel>,
}

/// A panel with a vertical scale of its own.
#[derive(Clone, Debug)]
pub struct CurvePanel {
    /// What it shows.
    pub title: String,
    /// How high it is.
    pub height: f64,
    /// Its curves.
    pub curves: Vec<PointCurve>,
}

/// A curve.
#[derive(Clone, Debug)]
pub struct PointCurve {
    /// Its name.
    pub label: String,
    /// Which of the colours.
    pub color: usize,
    /// Its points, from left to right.
    pub points: Vec<(f64, f64)>,
}

impl CurveFigure {
    /// Draws it.
    pub fn draw(&self) -> String {
        let gaps = GAP * self.panels.len().saturating_sub(1) as f64;
        let height = TOP + BOTTOM + self.panels.iter().map(|panel| panel.height).sum::<f64>() + gaps;
        let mut canvas = Canvas::adaptive(WIDTH, height);
        canvas.text(LEFT, 36.0, Anchor::Start, "headline", &self.title);
        canvas.text(LEFT, 57.0, Anchor::Start, "subtitle", &self.subtitle);
        let points = self.panels.iter().flat_map(|panel| &panel.curves).flat_map(|curve| &curve.points);
        let across = Span::covering(points.map(|(x, _)| *x).chain(self.mark));
        let mut top = TOP;
        for panel in &self.panels {
            self.draw_panel(&mut canvas, panel, across, top);
            top += panel.height + GAP;
        }
        let bottom = height - BOTTOM;
        for (mark, text) in across.marks(8.0) {
            canvas.text(x(across, mark), bottom + 18.0, Anchor::Middle, "mark", &text);
        }
        canvas.text((LEFT + WIDTH - RIGHT) / 2.0, bottom + 40.0, Anchor::Middle, "", &self.axis);
        canvas.finish(&self.title)
    }

    fn draw_panel(&self, canvas: &mut Canvas, panel: &CurvePanel, across: Span, top: f64) {
        let values = panel.curves.iter().flat_map(|curve| &curve.points).map(|(_, value)| *value);
        let up = Span::covering(values);
        let y = |value: f64| top + panel.height * (1.0 - up.position(value));
        let (right, bottom) = (WIDTH - RIGHT, top + panel.height);
        for (mark, text) in up.marks(4.0) {
            canvas.line("grid", None, (LEFT, y(mark)), (right, y(mark)));
            canvas.text(LEFT - 10.0, y(mark) + 4.0, Anchor::End, "mark", &text);
        }
        for (mark, _) in across.marks(8.0) {
            canvas.line("grid", None, (x(across, mark), top), (x(across, mark), bottom));
        }
        canvas.line("axis", None, (LEFT, bottom), (right, bottom));
        if let Some(mark) = self.mark {
            canvas.line("tolerance", None, (x(across, mark), top), (x(across, mark), bottom));
        }
        canvas.text(LEFT, top - 12.0, Anchor::Start, "title", &panel.title);
        let mut end = right;
        for curve in panel.curves.iter().rev() {
            // A letter is at most about 7 wide: near enough to keep the names apart.
            let start = end - curve.label.chars().count() as f64 * 7.0;
            canvas.text(start, top - 12.0, Anchor::Start, "", &curve.label);
            canvas.line("curve", Some(color(curve.color)), (start - 27.0, top - 16.0), (start - 7.0, top - 16.0));
            end = start - 41.0;
        }
        for curve in &panel.curves {
            let visible: Vec<(f64, f64)> = curve
                .points
                .iter()
                .filter(|(a, b)| a.is_finite() && b.is_finite())
                .map(|&(a, b)| (x(across, a), y(b)))
                .collect();
            let mut path = String::new();
            for (k, (x, y)) in visible.iter().enumerate() {
                // Writing into a string cannot fail.
                let _ = write!(path, "{}{x:.1} {y:.1}", if k == 0 { 'M' } else { 'L' });
                canvas.circle(color(curve.color), *x, *y);
            }
            canvas.path("curve", color(curve.color), "", &path);
        }
    }
}

fn x(across: Span, value: f64) -> f64 {
    LEFT + across.position(value) * (WIDTH - LEFT - RIGHT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curves_go_through_their_points() {
        let curve = PointCurve { label: "a < b".into(), color: 0, points: vec![(0.0, 1.0), (1.0, f64::NAN), (2.0, 2.0)] };
        let panel = CurvePanel { title: "p".into(), height: 100.0, curves: vec![curve] };
        let mut figure =
            CurveFigure { title: "t".into(), subtitle: "s".into(), axis: "x".into(), mark: Some(0.5), panels: vec![panel] };
        let picture = figure.draw();
        assert!(picture.contains("a &lt; b") && !picture.contains("NaN"));
        assert_eq!((picture.matches("<circle").count(), picture.matches("class=\"tolerance\"").count()), (2, 1));
        // 608 between 84 and 692, and 6 parts in 112 of room on either side.
        assert!(picture.contains("M116.6 194.6L659.4 105.4"), "{picture}");
        figure.panels[0].curves[0].points.clear();
        assert!(figure.draw().ends_with("</svg>\n"));
    }
}
