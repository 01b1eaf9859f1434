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

/// A paragraph in lines that fit the screen, all but the first indented by so many spaces; one line where the output takes lines of any length.
pub fn wrapped(text: &str, indent: usize) -> String {
    wrapped_to(text, indent, of_screen().unwrap_or(usize::MAX))
}

/// What follows a heading of a text, such as `: solved`, in lines that fit the screen together with it.
pub fn wrapped_after(heading: &str, rest: &str, indent: usize) -> String {
    let whole = wrapped(&format!("{heading}{rest}"), indent);
    whole.strip_prefix(heading).unwrap_or(rest).to_string()
}

/// A text of several lines, each broken at spaces where it does not fit the screen; what is broken off stands indented beneath.
pub fn fitted(text: &str) -> String {
    fitted_to(text, of_screen().unwrap_or(usize::MAX))
}

fn fitted_to(text: &str, width: usize) -> String {
    let line = |line: &str| {
        let words = line.trim_start_matches(' ');
        let indent = line.len() - words.len();
        match line.chars().count() <= width {
            true => line.to_string(),
            false => format!("{}{}", " ".repeat(indent), wrapped_to(words, indent + 2, width)),
        }
    };
    text.lines().map(|text| line(text) + "\n").collect()
}

/// A paragraph in lines of a given width, all but the first indented.
pub fn wrapped_to(text: &str, indent: usize, width: usize) -> String {
    let (mut out, mut column) = (String::new(), indent);
    for word in text.split(' ') {
        let length = word.chars().count();
        if column > indent && column + 1 + length > width {
            out += "\n";
            out += &" ".repeat(indent);
            column = indent;
        } else if !out.is_empty() {
            out.push(' ');
            column += 1;
        }
        out += word;
        column += length;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{fitted_to, wrapped_to};

    #[test]
    fn lines_fit_and_words_stay_whole() {
        let text = "noise hides whether feasibility is within";
        assert_eq!(wrapped_to(text, 2, 20), "noise hides\n  whether\n  feasibility is\n  within");
        assert_eq!(wrapped_to(text, 2, usize::MAX), text);
        assert_eq!(wrapped_to("incomprehensibilities all", 4, 10), "incomprehensibilities\n    all");
        assert_eq!(wrapped_to("", 4, 10), "");
    }

    #[test]
    fn only_lines_that_are_too_long_are_broken() {
        let table = "  a    1\n  b    2\n";
        assert_eq!(fitted_to(table, 10), table);
        assert_eq!(fitted_to("title\n  one two three\n", 10), "title\n  one\n    two\n    three\n");
    }
}
