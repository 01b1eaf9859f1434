//! Curves through points on linear scales: panels over one another with a common horizontal axis.

use std::fmt::Write;

use crate::axis::Span;
use crate::canvas::Canvas;
use crate::color;
use crate::stack::{Sign, Stack, place};

const WIDTH: f64 = 720.0;

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
        let stack = Stack::new(WIDTH, self.panels.iter().map(|panel| panel.height), &self.title, &self.subtitle);
        let mut canvas = stack.begin();
        let points = self.panels.iter().flat_map(|panel| &panel.curves).flat_map(|curve| &curve.points);
        let across = Span::covering(points.map(|(x, _)| *x).chain(self.mark));
        for (panel, top) in self.panels.iter().zip(stack.tops()) {
            self.draw_panel(&mut canvas, &stack, panel, across, top);
        }
        let marks = across.marks(8.0).into_iter().map(|(mark, text)| (place(across.position(mark), WIDTH), text));
        stack.draw_axis(&mut canvas, marks, &self.axis);
        canvas.finish(&self.title)
    }

    fn draw_panel(&self, canvas: &mut Canvas, stack: &Stack, panel: &CurvePanel, across: Span, top: f64) {
        let values = panel.curves.iter().flat_map(|curve| &curve.points).map(|(_, value)| *value);
        let up = Span::covering(values);
        let x = |value: f64| place(across.position(value), WIDTH);
        let y = |value: f64| top + panel.height * (1.0 - up.position(value));
        let bottom = top + panel.height;
        let levels = up.marks(4.0).into_iter().map(|(mark, text)| (y(mark), text));
        stack.draw_frame(canvas, &panel.title, (top, bottom), levels, across.marks(8.0).into_iter().map(|(mark, _)| x(mark)));
        if let Some(mark) = self.mark {
            canvas.line("tolerance", None, (x(mark), top), (x(mark), bottom));
        }
        let names = panel.curves.iter().map(|curve| (curve.label.clone(), Sign::Line(color(curve.color))));
        stack.draw_names(canvas, names, top);
        for curve in &panel.curves {
            let visible: Vec<(f64, f64)> =
                curve.points.iter().filter(|(a, b)| a.is_finite() && b.is_finite()).map(|&(a, b)| (x(a), y(b))).collect();
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
        assert!(picture.contains("M116.6 190.6L659.4 101.4"), "{picture}");
        figure.panels[0].curves[0].points.clear();
        assert!(figure.draw().ends_with("</svg>\n"));
    }
}
