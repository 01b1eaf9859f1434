//! What figures of panels over one another share: their measures, the frame of a panel, names of lines and the common horizontal axis.

use crate::canvas::{Anchor, Canvas, broken};

/// Where panels begin.
pub const LEFT: f64 = 84.0;
const RIGHT: f64 = 28.0;
const TOP: f64 = 96.0;
const GAP: f64 = 44.0;
const BOTTOM: f64 = 56.0;

/// The place of a share of the horizontal axis, in a picture of this width.
pub fn place(share: f64, width: f64) -> f64 {
    LEFT + share * (width - RIGHT - LEFT)
}

/// What stands before a name in a legend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// A line of this colour.
    Line(&'static str),
    /// A dashed line: a tolerance.
    Dashed,
    /// A circle: values beside the lines.
    Circle,
}

/// The colour of a sign that stands for circles of several colours.
const ANY: &str = "#808080";

/// How wide a letter of the headline and of the line below it is, about, and how high their lines are.
const HEADLINE: (f64, f64) = (10.7, 25.0);
const SUBTITLE: (f64, f64) = (6.7, 18.0);

/// Panels of these heights below these titles, in a picture of this width.
pub struct Stack {
    width: f64,
    heights: Vec<f64>,
    headline: Vec<String>,
    subtitle: Vec<String>,
}

impl Stack {
    pub fn new(width: f64, heights: impl Iterator<Item = f64>, headline: &str, subtitle: &str) -> Self {
        let lines = |text: &str, (letter, _): (f64, f64)| broken(text, ((width - LEFT - RIGHT) / letter) as usize);
        let (headline, subtitle) = (lines(headline, HEADLINE), lines(subtitle, SUBTITLE));
        Stack { width, heights: heights.collect(), headline, subtitle }
    }

    /// Where the first panel begins: titles of one line each leave it where it is.
    fn top(&self) -> f64 {
        TOP + HEADLINE.1 * (self.headline.len() - 1) as f64 + SUBTITLE.1 * (self.subtitle.len() - 1) as f64
    }

    /// Where panels end.
    pub fn right(&self) -> f64 {
        self.width - RIGHT
    }

    /// The upper ends of the panels.
    pub fn tops(&self) -> impl Iterator<Item = f64> {
        let above = self.heights.iter().scan(self.top(), |top, height| {
            let here = *top;
            *top += height + GAP;
            Some(here)
        });
        above.collect::<Vec<f64>>().into_iter()
    }

    fn height(&self) -> f64 {
        self.top() + BOTTOM + self.heights.iter().sum::<f64>() + GAP * self.heights.len().saturating_sub(1) as f64
    }

    /// An empty picture with its titles.
    pub fn begin(&self) -> Canvas {
        let mut canvas = Canvas::adaptive(self.width, self.height());
        let mut y = 36.0;
        for line in &self.headline {
            canvas.text(LEFT, y, Anchor::Start, "headline", line);
            y += HEADLINE.1;
        }
        y += 57.0 - 36.0 - HEADLINE.1;
        for line in &self.subtitle {
            canvas.text(LEFT, y, Anchor::Start, "subtitle", line);
            y += SUBTITLE.1;
        }
        canvas
    }

    /// The common axis below: marks at places, and what it is.
    pub fn draw_axis(&self, canvas: &mut Canvas, marks: impl Iterator<Item = (f64, String)>, axis: &str) {
        let bottom = self.height() - BOTTOM;
        for (x, text) in marks {
            canvas.text(x, bottom + 18.0, Anchor::Middle, "mark", &text);
        }
        canvas.text((LEFT + self.right()) / 2.0, bottom + 40.0, Anchor::Middle, "", axis);
    }

    /// The title and the grid of a panel between two heights: lines across with their marks, and lines upright.
    pub fn draw_frame(
        &self,
        canvas: &mut Canvas,
        title: &str,
        (top, bottom): (f64, f64),
        across: impl Iterator<Item = (f64, String)>,
        upright: impl Iterator<Item = f64>,
    ) {
        let right = self.right();
        for (y, text) in across {
            canvas.line("grid", None, (LEFT, y), (right, y));
            canvas.text(LEFT - 10.0, y + 5.0, Anchor::End, "mark", &text);
        }
        upright.for_each(|x| canvas.line("grid", None, (x, top), (x, bottom)));
        canvas.line("axis", None, (LEFT, bottom), (right, bottom));
        canvas.text(LEFT, top - 12.0, Anchor::Start, "title", title);
    }

    /// The names of lines, flush right above their panel.
    pub fn draw_names(&self, canvas: &mut Canvas, names: impl DoubleEndedIterator<Item = (String, Sign)>, top: f64) {
        let (mut right, y) = (self.right(), top - 12.0);
        for (name, sign) in names.rev() {
            // A letter is at most about 7 wide: near enough to keep the names apart.
            let start = right - name.chars().count() as f64 * 7.0;
            canvas.text(start, y, Anchor::Start, "", &name);
            let (from, to) = ((start - 27.0, y - 4.0), (start - 7.0, y - 4.0));
            match sign {
                Sign::Line(stroke) => canvas.line("curve", Some(stroke), from, to),
                Sign::Dashed => canvas.line("tolerance", None, from, to),
                Sign::Circle => canvas.circle(ANY, start - 12.0, y - 4.0),
            }
            right = start - 41.0;
        }
    }
}
