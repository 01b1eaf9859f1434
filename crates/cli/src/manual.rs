//! Man pages of the program and its commands.

use clap::{Command, CommandFactory};
use clap_mangen::Man;

use crate::commands::Arguments;

/// The program, as its pages describe it: a page for each command and each command of it, and none for `help`.
pub fn program() -> Command {
    let mut program = without_help(Arguments::command());
    program.build();
    program
}

fn without_help(command: Command) -> Command {
    command.disable_help_subcommand(true).mut_subcommands(without_help)
}

/// A command and all below it, each with the name of its page, as in `tangor-bench-run`.
pub fn pages(name: &str, command: &Command) -> Vec<(String, Vec<u8>)> {
    let shown = command.get_subcommands().filter(|command| !command.is_hide_set());
    let below = shown.flat_map(|command| pages(&format!("{name}-{}", command.get_name()), command));
    [(name.to_string(), page(command))].into_iter().chain(below).collect()
}

/// The page of a command. What follows its options, examples and exit codes, is laid out by hand and stays so: commands that are broken and
/// justified cannot be copied.
pub fn page(command: &Command) -> Vec<u8> {
    let after = command.get_after_long_help().or(command.get_after_help()).map(ToString::to_string).unwrap_or_default();
    let man = Man::new(command.clone());
    let mut page = Vec::new();
    // Writing into memory cannot fail.
    let _ = man.render_title(&mut page);
    let _ = man.render_name_section(&mut page);
    let _ = man.render_synopsis_section(&mut page);
    let _ = man.render_description_section(&mut page);
    let _ = man.render_options_section(&mut page);
    if command.has_subcommands() {
        let _ = man.render_subcommands_section(&mut page);
    }
    page.extend_from_slice(sections(&after).as_bytes());
    page
}

/// Text with headings such as `Examples:`, as sections whose lines stay as they are.
fn sections(text: &str) -> String {
    let mut roff = String::new();
    for line in text.lines() {
        match line.strip_suffix(':').filter(|heading| !heading.is_empty() && !heading.starts_with(' ')) {
            Some(heading) => roff += &format!(".fi\n.SH {}\n.nf\n", heading.to_uppercase()),
            None => roff += &format!("{}\n", escaped(line.strip_prefix("  ").unwrap_or(line))),
        }
    }
    if roff.is_empty() { roff } else { roff + ".fi\n" }
}

/// A line as roff prints it unchanged.
fn escaped(line: &str) -> String {
    let plain = line.replace('\\', "\\e").replace('-', "\\-").replace('\'', "\\(aq").replace('`', "\\(ga");
    if plain.starts_with('.') { format!("\\&{plain}") } else { plain }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_that_is_named_is_there() {
        let pages = pages("tangor", &program());
        let names: Vec<&str> = pages.iter().map(|(name, _)| name.as_str()).collect();
        assert!(names.contains(&"tangor-bench-run") && names.len() > 15, "{names:?}");
        for (name, page) in &pages {
            let text = String::from_utf8(page.clone()).expect("a page is UTF-8");
            let named = text.lines().filter_map(|line| line.strip_suffix("(1)")).map(|line| line.replace("\\-", "-"));
            let missing: Vec<String> = named.filter(|other| !names.contains(&other.as_str())).collect();
            assert!(missing.is_empty(), "{name} names {missing:?}");
        }
    }

    #[test]
    fn examples_stay_as_they_are_written() {
        let roff = sections("Examples:\n  tangor solve --oracle 'a\\b'   it's\n\nExit codes:\n  0  solved");
        let expected = ".fi\n.SH EXAMPLES\n.nf\ntangor solve \\-\\-oracle \\(aqa\\eb\\(aq   it\\(aqs\n\n.fi\n.SH EXIT CODES\n.nf\n0  solved\n.fi\n";
        assert_eq!(roff, expected);
        assert_eq!(sections(""), "");
    }
}
