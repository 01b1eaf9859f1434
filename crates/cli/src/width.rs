//! How wide the screen is.

use std::io::IsTerminal;

/// Columns of the terminal that standard output is, or what `COLUMNS` says; none where the output goes into a file or a pipe, which
/// take lines of any length.
pub fn of_screen() -> Option<usize> {
    let said = || std::env::var("COLUMNS").ok()?.parse().ok().filter(|columns| *columns >= 20);
    let measured = || {
        let stdout = std::io::stdout();
        let (terminal_size::Width(columns), _) = stdout.is_terminal().then(|| terminal_size::terminal_size_of(&stdout))??;
        Some(usize::from(columns))
    };
    measured().or_else(said)
}
