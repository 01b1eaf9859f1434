//! Points joined by lines, both axes logarithmic.

use std::fmt::Write;

use crate::COLORS;
use crate::canvas::{Anchor, Canvas, power_of_ten};

const PANEL: f64 = 250.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 58.0;
const TOP: f64 = 60.0;
const DASHES: [&str; 3] = ["", "7 4", "2 3"];

/// A figure with panels side by side, all on one scale, and one legend.
#[derive(Clone, Debug)]
pub struct SlopeFigure {
    /// What it shows.
    pub title: String,
    /// What is on the horizontal axis. It falls from left to right.
    pub x_label: String,
    /// Side by side.
    pub panels: Vec<SlopePanel>,
    /// The names of the curves, the same in every panel.
    pub labels: Vec<String>,
    /// So many curves have colours of their own; those after them have the same again, dashed.
    pub colors: usize,
}

/// The curves of one quantity.
#[derive(Clone, Debug)]
pub struct SlopePanel {
    /// The quantity.
    pub title: String,
    /// Points of each curve; what is not positive and finite is left out.
    pub curves: Vec<Vec<(f64, f64)>>,
}

/// Both scales, in base-10 logarithms.
struct Scales {
    x: [f64; 2],
    y: [i32; 2],
}

impl Scales {
    fn of(panels: &[SlopePanel]) -> Option<Self> {
        let logs: Vec<(f64, f64)> = panels.iter().flat_map(|panel| &panel.curves).flat_map(|curve| logarithms(curve)).collect();
        let bounds = |values: &mut dyn Iterator<Item = f64>| {
            values.fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], value| [low.min(value), high.max(value)])
        };
        let (x, y) = (bounds(&mut logs.iter().map(|log| log.0)), bounds(&mut logs.iter().map(|log| log.1)));
        let low = y[0].floor() as i32;
        (!logs.is_empty()).then_some(Scales { x: [x[0], x[1].max(x[0] + 1e-3)], y: [low, (y[1].ceil() as i32).max(low + 1)] })
    }

    /// Where a point is drawn in the panel whose left edge is given.
    fn place(&self, left: f64, (x, y): (f64, f64)) -> (f64, f64) {
        let across = (self.x[1] - x) / (self.x[1] - self.x[0]);
        let up = (y - f64::from(self.y[0])) / f64::from(self.y[1] - self.y[0]);
        (left + PANEL * across, TOP + HEIGHT * (1.0 - up))
    }
}

fn logarithms(curve: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let is_positive = |value: f64| value > 0.0 && value.is_finite();
    curve.iter().filter(|(x, y)| is_positive(*x) && is_positive(*y)).map(|(x, y)| (x.log10(), y.log10())).collect()
}

impl SlopeFigure {
    /// Draws it.
    pub fn draw(&self) -> String {
        let width = LEFT + (PANEL + LEFT) * self.panels.len().max(2) as f64;
        let base = TOP + HEIGHT;
        let mut canvas = Canvas::new(width, base + 58.0 + 20.0 * self.labels.len() as f64);
        canvas.text(LEFT, 20.0, Anchor::Start, "title", &self.title);
        let Some(scales) = Scales::of(&self.panels) else {
            canvas.text(LEFT, TOP, Anchor::Start, "mark", "nothing was measured");
            return canvas.finish(&self.title);
        };
        for (k, panel) in self.panels.iter().enumerate() {
            let left = LEFT + (PANEL + LEFT) * k as f64;
            panel.draw(&mut canvas, &scales, left, self.colors);
            canvas.text(left + PANEL / 2.0, base + 36.0, Anchor::Middle, "", &self.x_label);
        }
        for (k, label) in self.labels.iter().enumerate() {
            let y = base + 60.0 + 20.0 * k as f64;
            let (color, dashes) = look(k, self.colors);
            canvas.path("curve", color, dashes, &format!("M{LEFT} {:.1}h34", y - 4.0));
            canvas.text(LEFT + 44.0, y, Anchor::Start, "", label);
        }
        canvas.finish(&self.title)
    }
}

impl SlopePanel {
    fn draw(&self, canvas: &mut Canvas, scales: &Scales, left: f64, colors: usize) {
        let base = TOP + HEIGHT;
        canvas.text(left + PANEL / 2.0, TOP - 14.0, Anchor::Middle, "", &self.title);
        for exponent in scales.y[0]..=scales.y[1] {
            let (_, y) = scales.place(left, (scales.x[1], f64::from(exponent)));
            canvas.line("grid", None, (left, y), (left + PANEL, y));
            canvas.text(left - 8.0, y + 4.0, Anchor::End, "mark", &power_of_ten(exponent));
        }
        // Halves of the largest value: the range is too short for powers of ten.
        let halvings = ((scales.x[1] - scales.x[0]) / 2f64.log10() + 1e-9).floor().min(64.0) as i32;
        for k in (0..=halvings).step_by((halvings / 6 + 1).unsigned_abs() as usize) {
            let log = scales.x[1] - f64::from(k) * 2f64.log10();
            let (x, _) = scales.place(left, (log, 0.0));
            canvas.line("grid", None, (x, TOP), (x, base));
            canvas.text(x, base + 17.0, Anchor::Middle, "mark", &format!("{:.2}", 10f64.powf(log)));
        }
        canvas.line("axis", None, (left, TOP), (left, base));
        canvas.line("axis", None, (left, base), (left + PANEL, base));
        for (k, curve) in self.curves.iter().enumerate() {
            let (color, dashes) = look(k, colors);
            let mut path = String::new();
            for log in logarithms(curve) {
                let (x, y) = scales.place(left, log);
                // Writing into a string cannot fail.
                let _ = write!(path, "{}{x:.1} {y:.1}", if path.is_empty() { "M" } else { "L" });
                canvas.circle(color, x, y);
            }
            if !path.is_empty() {
                canvas.path("curve", color, dashes, &path);
            }
        }
    }
}

/// The colour and the dashes of the k-th curve.
fn look(k: usize, colors: usize) -> (&'static str, &'static str) {
    let colors = colors.clamp(1, COLORS.len());
    (COLORS[k % colors], DASHES[k / colors % DASHES.len()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_stand_where_they_should() {
        let curve = vec![(1.0, 1.0), (0.1, 10.0), (0.01, 100.0), (0.001, f64::NAN)];
        let panel = SlopePanel { title: "p".into(), curves: vec![curve.clone(), curve] };
        let (panels, labels) = (vec![panel], vec!["a < b".into(), "again".into()]);
        let figure = SlopeFigure { title: "t".into(), x_label: "eps".into(), panels, labels, colors: 1 };
        // The diagonal of a panel from (58, 60) to (308, 360).
        let drawn = figure.draw();
        assert!(drawn.contains("d=\"M58.0 360.0L183.0 210.0L308.0 60.0\""), "{drawn}");
        assert!(drawn.contains("a &lt; b") && !drawn.contains("NaN"));
        // The second curve has the colour of the first, dashed: here and in the legend.
        assert_eq!(drawn.matches(DASHES[1]).count(), 2);
        assert!(!drawn.contains(COLORS[1]) && look(1, 1) == (COLORS[0], DASHES[1]) && look(1, 5) == (COLORS[1], DASHES[0]));
        let empty = SlopeFigure { panels: Vec::new(), ..figure };
        assert!(empty.draw().contains("nothing was measured"));
    }
}
