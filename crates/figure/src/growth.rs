//! How something grows: both axes logarithmic and rising, one thin line for each case and a thick one for the middle.

use std::fmt::Write;

use crate::axis::Decades;
use crate::canvas::{Anchor, Canvas, power_of_ten};
use crate::color;

const PANEL: f64 = 330.0;
const HEIGHT: f64 = 320.0;
const LEFT: f64 = 62.0;
const TOP: f64 = 60.0;
const DECADES: i32 = 12;

/// A figure with panels side by side over one horizontal axis, each with its own vertical one.
#[derive(Clone, Debug)]
pub struct GrowthFigure {
    /// What it shows.
    pub title: String,
    /// What is on the horizontal axis.
    pub x_label: String,
    /// Side by side.
    pub panels: Vec<GrowthPanel>,
    /// The names of the colours.
    pub labels: Vec<String>,
}

/// The curves of one quantity.
#[derive(Clone, Debug)]
pub struct GrowthPanel {
    /// The quantity.
    pub title: String,
    /// The curves.
    pub curves: Vec<GrowthCurve>,
}

/// Points joined by lines; what is not positive and finite is left out.
#[derive(Clone, Debug)]
pub struct GrowthCurve {
    /// Which label it belongs to.
    pub label: usize,
    /// One case, drawn thin, or the middle of many, drawn thick.
    pub thick: bool,
    /// The points.
    pub points: Vec<(f64, f64)>,
}

impl GrowthFigure {
    /// Draws it.
    pub fn draw(&self) -> String {
        let width = LEFT + (PANEL + LEFT) * self.panels.len().max(1) as f64;
        let base = TOP + HEIGHT;
        let mut canvas = Canvas::new(width, base + 58.0 + 20.0 * self.labels.len() as f64);
        canvas.text(LEFT, 20.0, Anchor::Start, "title", &self.title);
        let all = self.panels.iter().flat_map(|panel| &panel.curves).flat_map(|curve| &curve.points);
        let x = Decades::covering(all.map(|point| point.0), DECADES);
        for (k, panel) in self.panels.iter().enumerate() {
            let left = LEFT + (PANEL + LEFT) * k as f64;
            panel.draw(&mut canvas, x, left);
            canvas.text(left + PANEL / 2.0, base + 36.0, Anchor::Middle, "", &self.x_label);
        }
        for (k, label) in self.labels.iter().enumerate() {
            let y = base + 60.0 + 20.0 * k as f64;
            canvas.path("curve", color(k), "", &format!("M{LEFT} {:.1}h34", y - 4.0));
            canvas.text(LEFT + 44.0, y, Anchor::Start, "", label);
        }
        canvas.finish(&self.title)
    }
}

impl GrowthPanel {
    fn draw(&self, canvas: &mut Canvas, x: Decades, left: f64) {
        let base = TOP + HEIGHT;
        let y = Decades::covering(self.curves.iter().flat_map(|curve| &curve.points).map(|point| point.1), DECADES);
        let place = |(px, py): (f64, f64)| (left + PANEL * x.position(px), base - HEIGHT * y.position(py));
        canvas.text(left + PANEL / 2.0, TOP - 14.0, Anchor::Middle, "", &self.title);
        for exponent in y.marks(8) {
            let (_, at) = place((1.0, 10f64.powi(exponent)));
            canvas.line("grid", None, (left, at), (left + PANEL, at));
            canvas.text(left - 8.0, at + 4.0, Anchor::End, "mark", &power_of_ten(exponent));
        }
        for exponent in x.marks(6) {
            let (at, _) = place((10f64.powi(exponent), 1.0));
            canvas.line("grid", None, (at, TOP), (at, base));
            canvas.text(at, base + 17.0, Anchor::Middle, "mark", &power_of_ten(exponent));
        }
        canvas.line("axis", None, (left, TOP), (left, base));
        canvas.line("axis", None, (left, base), (left + PANEL, base));
        // Thick curves last, on top.
        for thick in [false, true] {
            for curve in self.curves.iter().filter(|curve| curve.thick == thick) {
                let mut path = String::new();
                let positive = |value: f64| value > 0.0 && value.is_finite();
                for point in curve.points.iter().filter(|point| positive(point.0) && positive(point.1)) {
                    let (px, py) = place(*point);
                    // Writing into a string cannot fail.
                    let _ = write!(path, "{}{px:.1} {py:.1}", if path.is_empty() { "M" } else { "L" });
                }
                if !path.is_empty() {
                    canvas.path(if thick { "curve" } else { "curve faint" }, color(curve.label), "", &path);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_stand_where_they_should() {
        let points = vec![(10.0, 1.0), (100.0, 10.0), (1000.0, 100.0), (1000.0, f64::NAN)];
        let curve = GrowthCurve { label: 0, thick: false, points };
        let panels = vec![GrowthPanel { title: "p".into(), curves: vec![curve] }];
        let figure = GrowthFigure { title: "t".into(), x_label: "n".into(), panels, labels: vec!["a".into()] };
        // The diagonal of a panel from (62, 60) to (392, 380).
        let drawn = figure.draw();
        assert!(
            drawn.contains("class=\"curve faint\"") && drawn.contains("d=\"M62.0 380.0L227.0 220.0L392.0 60.0\""),
            "{drawn}"
        );
        assert!(!drawn.contains("NaN"));
    }
}
