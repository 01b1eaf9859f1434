//! What all pictures share: a sheet, its text and its lines.

use std::fmt::Write;

/// An SVG document that grows.
pub struct Canvas {
    width: f64,
    height: f64,
    /// Whether it turns dark where its reader's screen is.
    adaptive: bool,
    body: String,
}

/// Which end of a text stands at its place.
#[derive(Clone, Copy)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

const STYLE: &str = "text{font-family:system-ui,'DejaVu Sans',Helvetica,Arial,sans-serif;font-size:12px;fill:#222}\
.sheet{fill:#fff}.headline{font-size:19px;font-weight:600}.title{font-size:14px;font-weight:600}.subtitle{font-size:13px;fill:#555}\
.mark{font-size:11px;fill:#555}.grid{stroke:#e4e4e4}.axis{stroke:#888}.box{stroke-width:1.4}.median{stroke-width:2.6}\
.curve{fill:none;stroke-width:2;stroke-linejoin:round;stroke-linecap:round}.fine{stroke-width:1}.faint{stroke-width:1;stroke-opacity:0.35}\
.tolerance{stroke:#8a9099;stroke-width:1.25;stroke-dasharray:5 4}.outlier{fill:none;stroke-width:1}";
const DARK: &str = "@media(prefers-color-scheme:dark){text{fill:#d5d8dd}.sheet{fill:#16181b}.headline,.title{fill:#fff}\
.subtitle,.mark{fill:#9aa0aa}.grid{stroke:#2a2e34}.axis{stroke:#4a505a}}";

impl Canvas {
    pub fn new(width: f64, height: f64) -> Self {
        Canvas { width, height, adaptive: false, body: String::new() }
    }

    /// One that turns dark where its reader's screen is: for pictures that are looked at alone, not inside of a white page.
    pub fn adaptive(width: f64, height: f64) -> Self {
        Canvas { adaptive: true, ..Canvas::new(width, height) }
    }

    pub fn text(&mut self, x: f64, y: f64, anchor: Anchor, class: &str, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let text = escaped(text);
        self.add(format_args!("<text class=\"{class}\" text-anchor=\"{anchor}\" x=\"{x:.1}\" y=\"{y:.1}\">{text}</text>"));
    }

    pub fn line(&mut self, class: &str, color: Option<&str>, from: (f64, f64), to: (f64, f64)) {
        let stroke = color.map(|color| format!(" stroke=\"{color}\"")).unwrap_or_default();
        let ((x1, y1), (x2, y2)) = (from, to);
        self.add(format_args!("<line class=\"{class}\"{stroke} x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\"/>"));
    }

    /// A rectangle from its upper left to its lower right corner.
    pub fn rectangle(&mut self, class: &str, color: &str, from: (f64, f64), to: (f64, f64)) {
        let (width, height) = (to.0 - from.0, (to.1 - from.1).max(0.0));
        self.add(format_args!(
            "<rect class=\"{class}\" stroke=\"{color}\" fill=\"{color}\" fill-opacity=\"0.16\" x=\"{:.1}\" y=\"{:.1}\" \
             width=\"{width:.1}\" height=\"{height:.1}\"/>",
            from.0, from.1
        ));
    }

    pub fn circle(&mut self, color: &str, x: f64, y: f64) {
        self.add(format_args!("<circle class=\"outlier\" stroke=\"{color}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2\"/>"));
    }

    pub fn path(&mut self, class: &str, color: &str, dashes: &str, d: &str) {
        let dashes = if dashes.is_empty() { String::new() } else { format!(" stroke-dasharray=\"{dashes}\"") };
        self.add(format_args!("<path class=\"{class}\" stroke=\"{color}\"{dashes} d=\"{d}\"/>"));
    }

    fn add(&mut self, element: std::fmt::Arguments) {
        // Writing into a string cannot fail.
        let _ = writeln!(self.body, "{element}");
    }

    pub fn finish(self, title: &str) -> String {
        let Canvas { width, height, adaptive, body } = self;
        let dark = if adaptive { DARK } else { "" };
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
             role=\"img\"><title>{}</title><style>{STYLE}{dark}</style>\n<rect class=\"sheet\" width=\"100%\" height=\"100%\"/>\n{body}</svg>\n",
            escaped(title)
        )
    }
}

/// Text that may stand inside of a tag or between tags.
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// A text in lines of at most so many letters; a longer word has a line of its own.
pub fn broken(text: &str, letters: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let last = lines.len() - 1;
        match lines[last].chars().count() {
            0 => lines[last] = word.to_string(),
            length if length + 1 + word.chars().count() <= letters => lines[last] += &format!(" {word}"),
            _ => lines.push(word.to_string()),
        }
    }
    lines
}

/// `10⁻⁶`
pub fn power_of_ten(exponent: i32) -> String {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    let digits = exponent.unsigned_abs().to_string();
    let digits: String = digits.bytes().map(|digit| DIGITS[usize::from(digit - b'0')]).collect();
    format!("10{}{digits}", if exponent < 0 { "⁻" } else { "" })
}
