//! Box plots of positive numbers on a logarithmic scale, as in the paper.

use crate::canvas::{Anchor, Canvas, broken, power_of_ten};
use crate::color;

/// What is smaller is drawn here: rounding has no finer meaning, and zero has no logarithm.
const FLOOR: f64 = 1e-17;
const PANEL_HEIGHT: f64 = 300.0;
const LEFT: f64 = 58.0;
const TOP: f64 = 60.0;
const BOTTOM: f64 = 62.0;
/// The width that a box and its label need.
const SLOT: f64 = 108.0;

/// Letters of a label that fit into it, and the height of a line of them.
const LETTERS: usize = 16;
const LINE: f64 = 15.0;

/// A figure with one panel for each quantity, all on one scale.
#[derive(Clone, Debug)]
pub struct BoxFigure {
    /// What it shows.
    pub title: String,
    /// Side by side.
    pub panels: Vec<BoxPanel>,
}

/// The boxes of one quantity.
#[derive(Clone, Debug)]
pub struct BoxPanel {
    /// The quantity.
    pub title: String,
    /// The boxes.
    pub boxes: Vec<LabelledBox>,
}

/// The values behind a box.
#[derive(Clone, Debug)]
pub struct LabelledBox {
    /// Written below.
    pub label: String,
    /// Which of the colours.
    pub color: usize,
    /// Values `>= 0`; infinite and undefined ones are drawn at the upper edge.
    pub values: Vec<f64>,
}

/// Median, quartiles, whiskers and outliers of logarithms.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// First quartile, median, third quartile.
    pub quartiles: [f64; 3],
    /// The last values within 1.5 times the distance of the quartiles beyond them, or the quartiles.
    pub whiskers: [f64; 2],
    /// What lies beyond.
    pub outliers: Vec<f64>,
}

impl Summary {
    /// Sums up the base-10 logarithms of the values. `None`: there are none.
    pub fn of(values: &[f64]) -> Option<Self> {
        let logarithm = |value: &f64| if value.is_nan() { f64::INFINITY } else { value.max(FLOOR).log10() };
        let mut logs: Vec<f64> = values.iter().map(logarithm).map(|log| log.min(300.0)).collect();
        logs.sort_by(f64::total_cmp);
        let quartiles = quartiles(&logs)?;
        let reach = 1.5 * (quartiles[2] - quartiles[0]);
        let inside = |log: &f64| (quartiles[0] - reach..=quartiles[2] + reach).contains(log);
        let within: Vec<f64> = logs.iter().copied().filter(inside).collect();
        // The median itself always lies within.
        // Of few numbers an outlier may draw a quartile beyond all that is within: then the whisker ends at the box.
        let whiskers = [within.first()?.min(quartiles[0]), within.last()?.max(quartiles[2])];
        Some(Summary { quartiles, whiskers, outliers: logs.into_iter().filter(|log| !inside(log)).collect() })
    }
}

/// First quartile, median and third quartile of sorted values, between neighbours linearly. `None`: there are none.
pub fn quartiles(sorted: &[f64]) -> Option<[f64; 3]> {
    let last = sorted.len().checked_sub(1)?;
    Some([0.25, 0.5, 0.75].map(|share| {
        let place = share * last as f64;
        let below = sorted[place.floor() as usize];
        below + place.fract() * (sorted[place.ceil() as usize] - below)
    }))
}

/// The middle one of an odd number of values, the mean of the middle two of an even number. `None`: there are none.
pub fn median(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let mut sorted: Vec<f64> = values.into_iter().collect();
    sorted.sort_by(f64::total_cmp);
    quartiles(&sorted).map(|[_, median, _]| median)
}

/// The vertical scale in exponents of ten.
struct Scale {
    low: i32,
    high: i32,
}

impl Scale {
    fn y(&self, log: f64) -> f64 {
        let share = (log - f64::from(self.low)) / f64::from(self.high - self.low);
        TOP + PANEL_HEIGHT * (1.0 - share.clamp(0.0, 1.0))
    }
}

impl BoxFigure {
    /// Draws it.
    pub fn draw(&self) -> String {
        let widths: Vec<f64> = self.panels.iter().map(|panel| SLOT * panel.boxes.len() as f64).collect();
        let width = widths.iter().map(|width| width + LEFT).sum::<f64>() + 16.0;
        let labels = self.panels.iter().flat_map(|panel| &panel.boxes).map(|labelled| broken(&labelled.label, LETTERS).len());
        let below = LINE * labels.max().unwrap_or(1).saturating_sub(1) as f64;
        let mut canvas = Canvas::new(width.max(320.0), TOP + PANEL_HEIGHT + BOTTOM + below);
        canvas.text(LEFT, 20.0, Anchor::Start, "title", &self.title);
        let scale = self.scale();
        let mut left = LEFT;
        for (panel, width) in self.panels.iter().zip(widths) {
            panel.draw(&mut canvas, &scale, (left, left + width), below);
            left += width + LEFT;
        }
        canvas.finish(&self.title)
    }

    fn scale(&self) -> Scale {
        let boxes = self.panels.iter().flat_map(|panel| &panel.boxes);
        let summaries: Vec<Summary> = boxes.filter_map(|labelled| Summary::of(&labelled.values)).collect();
        let all = || summaries.iter().flat_map(|summary| summary.whiskers.iter().chain(&summary.outliers));
        let low = all().copied().fold(0.0, f64::min).floor() as i32;
        // Far above 1e8 a run is lost, and how far it is lost shows nothing.
        let high = all().copied().fold(0.0, f64::max).ceil().min(8.0) as i32;
        Scale { low, high: high.max(low + 1) }
    }
}

impl BoxPanel {
    fn draw(&self, canvas: &mut Canvas, scale: &Scale, (left, right): (f64, f64), below: f64) {
        canvas.text((left + right) / 2.0, TOP - 14.0, Anchor::Middle, "", &self.title);
        for exponent in (scale.low..=scale.high).filter(|exponent| exponent % 2 == 0) {
            let y = scale.y(f64::from(exponent));
            canvas.line("grid", None, (left, y), (right, y));
            canvas.text(left - 8.0, y + 4.0, Anchor::End, "mark", &power_of_ten(exponent));
        }
        canvas.line("axis", None, (left, TOP), (left, TOP + PANEL_HEIGHT));
        let slot = (right - left) / self.boxes.len().max(1) as f64;
        for (k, labelled) in self.boxes.iter().enumerate() {
            labelled.draw(canvas, scale, left + slot * (k as f64 + 0.5), below);
        }
    }
}

impl LabelledBox {
    /// `below` is the room that the further lines of the longest label take.
    fn draw(&self, canvas: &mut Canvas, scale: &Scale, x: f64, below: f64) {
        let base = TOP + PANEL_HEIGHT;
        for (k, line) in broken(&self.label, LETTERS).iter().enumerate() {
            canvas.text(x, base + 20.0 + LINE * k as f64, Anchor::Middle, "", line);
        }
        let base = base + below;
        let Some(summary) = Summary::of(&self.values) else {
            return canvas.text(x, base + 37.0, Anchor::Middle, "mark", "no values");
        };
        let color = color(self.color);
        let [first, median, third] = summary.quartiles.map(|log| scale.y(log));
        let [low, high] = summary.whiskers.map(|log| scale.y(log));
        let half = SLOT * 0.24;
        for (from, to) in [(first, low), (third, high)] {
            canvas.line("box", Some(color), (x, from), (x, to));
            canvas.line("box", Some(color), (x - half * 0.5, to), (x + half * 0.5, to));
        }
        canvas.rectangle("box", color, (x - half, third), (x + half, first));
        canvas.line("median", Some(color), (x - half, median), (x + half, median));
        for log in &summary.outliers {
            canvas.circle(color, x, scale.y(*log));
        }
        let runs = if self.values.len() == 1 { "1 run".to_string() } else { format!("{} runs", self.values.len()) };
        let median = 10f64.powf(summary.quartiles[1]);
        canvas.text(x, base + 37.0, Anchor::Middle, "mark", &format!("median {}", short(median)));
        canvas.text(x, base + 52.0, Anchor::Middle, "mark", &runs);
    }
}

fn short(value: f64) -> String {
    if value <= FLOOR * 1.001 { "0".to_string() } else { format!("{value:.1e}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_by_hand() {
        assert_eq!(median([5.0, 1.0, 3.0]), Some(3.0));
        assert_eq!(median([5.0, 1.0, 3.0, 4.0]), Some(3.5));
        assert_eq!(median([]), None);
    }

    #[test]
    fn quartiles_whiskers_and_outliers_by_hand() {
        let values: Vec<f64> = [1, 2, 3, 4, 5].iter().map(|&log| 10f64.powi(log)).chain([1e15]).collect();
        let summary = Summary::of(&values).unwrap();
        // logarithms 1 2 3 4 5 15: quartiles at places 1.25, 2.5, 3.75
        assert_eq!(summary.quartiles.map(|q| (q * 100.0).round() / 100.0), [2.25, 3.5, 4.75]);
        assert_eq!(summary.whiskers.map(f64::round), [1.0, 5.0]);
        assert_eq!(summary.outliers.len(), 1);
        assert_eq!(Summary::of(&[]), None);
        // logarithms 0 1 2 20: the third quartile is 6.5, and 20 lies beyond 6.5 + 1.5 * 5.75; 2 is inside of the box
        let few = Summary::of(&[1.0, 10.0, 100.0, 1e20]).unwrap();
        assert_eq!((few.whiskers, few.outliers), ([0.0, 6.5], vec![20.0]));
    }

    #[test]
    fn quartiles_of_few() {
        // places 0.75, 1.5, 2.25
        assert_eq!(quartiles(&[1.0, 2.0, 4.0, 8.0]), Some([1.75, 3.0, 5.0]));
        assert_eq!(quartiles(&[3.0]), Some([3.0; 3]));
        assert_eq!(quartiles(&[]), None);
    }

    #[test]
    fn long_labels_take_several_lines() {
        assert_eq!(broken("linearised ALM (preset paper)", LETTERS), ["linearised ALM", "(preset paper)"]);
        assert_eq!(broken("SQP", LETTERS), ["SQP"]);
        let boxes = vec![LabelledBox { label: "SQP (preset paper)".into(), color: 0, values: vec![1.0] }];
        let picture = BoxFigure { title: "t".into(), panels: vec![BoxPanel { title: "p".into(), boxes }] }.draw();
        assert!(picture.contains(">SQP (preset</text>") && picture.contains(">paper)</text>"), "{picture}");
        // The numbers stand a line lower: 60 + 300 + 37 + 15.
        assert!(picture.contains("y=\"412.0\""), "{picture}");
    }

    #[test]
    fn zero_and_nonsense_have_their_places() {
        assert_eq!(Summary::of(&[0.0]).unwrap().quartiles[1], -17.0);
        assert_eq!(Summary::of(&[f64::NAN]).unwrap().quartiles[1], 300.0);
        let boxes = vec![LabelledBox { label: "a < b".into(), color: 9, values: vec![0.0, f64::NAN, 1e-3] }];
        let picture = BoxFigure { title: "t".into(), panels: vec![BoxPanel { title: "p".into(), boxes }] }.draw();
        assert!(picture.starts_with("<svg") && picture.ends_with("</svg>\n"));
        assert!(picture.contains("a &lt; b") && !picture.contains("NaN") && !picture.contains("inf"));
    }
}
