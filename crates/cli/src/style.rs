//! Colours. They are always written; [`Screen`](crate::screen::Screen) takes them out again where they do not belong.

use anstyle::{AnsiColor, Style};

/// As it should be.
pub const GOOD: Style = AnsiColor::Green.on_default();
/// A warning.
pub const UNUSUAL: Style = AnsiColor::Yellow.on_default();
/// Wrong.
pub const BAD: Style = AnsiColor::Red.on_default().bold();
/// Titles.
pub const TITLE: Style = Style::new().bold();
/// Less important.
pub const DIM: Style = Style::new().dimmed();
