//! What all pictures share: a sheet, its text and its lines.

use std::fmt::Write;

/// An SVG document that grows.
pub struct Canvas {
    width: f64,
    height: f64,
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
.title{font-size:14px;font-weight:600}.mark{font-size:11px;fill:#555}.grid{stroke:#e4e4e4}.axis{stroke:#888}\
.box{stroke-width:1.4}.median{stroke-width:2.6}.curve{fill:none;stroke-width:2}.outlier{fill:none;stroke-width:1}";

impl Canvas {
    pub fn new(width: f64, height: f64) -> Self {
        Canvas { width, height, body: String::new() }
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

    pub fn path(&mut self, color: &str, dashes: &str, d: &str) {
        let dashes = if dashes.is_empty() { String::new() } else { format!(" stroke-dasharray=\"{dashes}\"") };
        self.add(format_args!("<path class=\"curve\" stroke=\"{color}\"{dashes} d=\"{d}\"/>"));
    }

    fn add(&mut self, element: std::fmt::Arguments) {
        // Writing into a string cannot fail.
        let _ = writeln!(self.body, "{element}");
    }

    pub fn finish(self, title: &str) -> String {
        let Canvas { width, height, body } = self;
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
             role=\"img\"><title>{}</title><style>{STYLE}</style>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n{body}</svg>\n",
            escaped(title)
        )
    }
}

/// Text that may stand inside of a tag or between tags.
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// `10⁻⁶`
pub fn power_of_ten(exponent: i32) -> String {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    let digits = exponent.unsigned_abs().to_string();
    let digits: String = digits.bytes().map(|digit| DIGITS[usize::from(digit - b'0')]).collect();
    format!("10{}{digits}", if exponent < 0 { "⁻" } else { "" })
}
