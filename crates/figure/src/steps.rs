//! Profiles: step curves of a share of problems, against a ratio or a budget on a logarithmic scale.

use std::fmt::Write;

use crate::canvas::{Anchor, Canvas};
use crate::color;

const WIDTH: f64 = 620.0;
const LEFT: f64 = 58.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 58.0;
const HEIGHT: f64 = 280.0;
const DASHES: [&str; 3] = ["", "7 4", "2 3"];

/// A figure of step curves.
#[derive(Clone, Debug)]
pub struct StepFigure {
    /// What it shows.
    pub title: String,
    /// What is on the horizontal axis.
    pub x_label: String,
    /// The first value on the horizontal axis; > 0.
    pub x_first: f64,
    /// The last value.
    pub x_last: f64,
    /// The curves.
    pub curves: Vec<Curve>,
}

/// A curve that rises at places.
#[derive(Clone, Debug)]
pub struct Curve {
    /// Its name.
    pub label: String,
    /// Where it rises by one problem; infinite: never.
    pub rises: Vec<f64>,
    /// How many problems there are.
    pub problems: usize,
}

impl Curve {
    /// The share of problems whose place is at most `x`.
    pub fn share(&self, x: f64) -> f64 {
        self.rises.iter().filter(|rise| **rise <= x).count() as f64 / self.problems.max(1) as f64
    }
}

impl StepFigure {
    /// Draws it.
    pub fn draw(&self) -> String {
        let legend = 20.0 * self.curves.len() as f64;
        let mut canvas = Canvas::new(WIDTH, TOP + HEIGHT + 56.0 + legend);
        canvas.text(LEFT, 20.0, Anchor::Start, "title", &self.title);
        canvas.text(LEFT, 40.0, Anchor::Start, "mark", "share of problems solved");
        self.draw_grid(&mut canvas);
        for (k, curve) in self.curves.iter().enumerate() {
            let (color, dashes) = (color(k), DASHES[k % DASHES.len()]);
            canvas.path("curve", color, dashes, &self.path(curve));
            let y = TOP + HEIGHT + 58.0 + 20.0 * k as f64;
            canvas.path("curve", color, dashes, &format!("M{LEFT} {:.1}h34", y - 4.0));
            let solved = curve.rises.iter().filter(|rise| rise.is_finite()).count();
            let words = format!("{}: {solved} of {} solved", curve.label, curve.problems);
            canvas.text(LEFT + 44.0, y, Anchor::Start, "", &words);
        }
        canvas.finish(&self.title)
    }

    fn draw_grid(&self, canvas: &mut Canvas) {
        for k in 0..=5 {
            let share = f64::from(k) / 5.0;
            let y = Self::y(share);
            canvas.line("grid", None, (LEFT, y), (WIDTH - RIGHT, y));
            canvas.text(LEFT - 8.0, y + 4.0, Anchor::End, "mark", &format!("{:.0}%", 100.0 * share));
        }
        let base = Self::y(0.0);
        let doublings = (self.x_last / self.x_first).log2();
        let step = (doublings / 8.0).ceil().max(1.0) as i32;
        for k in (0..=doublings.floor() as i32).step_by(step.unsigned_abs() as usize) {
            let value = self.x_first * 2f64.powi(k);
            let x = self.x(value);
            canvas.line("grid", None, (x, TOP), (x, base));
            let label = if value >= 1.0 { format!("{value:.0}") } else { format!("{value}") };
            canvas.text(x, base + 17.0, Anchor::Middle, "mark", &label);
        }
        canvas.line("axis", None, (LEFT, base), (WIDTH - RIGHT, base));
        canvas.text((LEFT + WIDTH - RIGHT) / 2.0, base + 36.0, Anchor::Middle, "", &self.x_label);
    }

    fn path(&self, curve: &Curve) -> String {
        let mut rises: Vec<f64> = curve.rises.iter().copied().filter(|rise| *rise <= self.x_last).collect();
        rises.sort_by(f64::total_cmp);
        let early = rises.iter().filter(|rise| **rise <= self.x_first).count();
        let share = |count: usize| count as f64 / curve.problems.max(1) as f64;
        let mut path = format!("M{LEFT} {:.1}", Self::y(share(early)));
        for (k, rise) in rises.iter().enumerate().skip(early) {
            // Writing into a string cannot fail.
            let _ = write!(path, "H{:.1}V{:.1}", self.x(*rise), Self::y(share(k + 1)));
        }
        let _ = write!(path, "H{:.1}", WIDTH - RIGHT);
        path
    }

    fn x(&self, value: f64) -> f64 {
        let share = (value / self.x_first).ln() / (self.x_last / self.x_first).ln();
        LEFT + (WIDTH - LEFT - RIGHT) * share.clamp(0.0, 1.0)
    }

    fn y(share: f64) -> f64 {
        TOP + HEIGHT * (1.0 - share)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_rises_where_it_should() {
        let curve = Curve { label: "a".into(), rises: vec![1.0, 4.0, f64::INFINITY], problems: 4 };
        assert_eq!([0.5, 1.0, 3.9, 4.0, 1e9].map(|x| curve.share(x)), [0.0, 0.25, 0.25, 0.5, 0.5]);
        let figure = StepFigure { title: "t".into(), x_label: "x".into(), x_first: 1.0, x_last: 16.0, curves: vec![curve] };
        // From a quarter at the left edge to half of the height at x = 4, the middle of a scale from 1 to 16.
        assert_eq!(figure.path(&figure.curves[0]), "M58 268.0H329.0V198.0H600.0");
        assert!(figure.draw().contains("a: 2 of 4 solved"));
    }
}
