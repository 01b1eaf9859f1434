use std::io::{self, Write};

use clap::{Args, ValueEnum};

use crate::error::Error;
use crate::screen::Color;
use crate::settings_tree::{Group, Setting, groups, preset, shown_value, toml_value};
use crate::style::{DIM, TITLE};
use crate::{exit, width};

const EXAMPLES: &str = "\
Examples:
  tangor options                                  all settings
  tangor options stepsize                         those with this word in their path
  tangor options --format toml > settings.toml    a file for `tangor solve --config`";

const MARKDOWN_TITLE: &str = "\
# Settings

Every setting has a path, and the same path works everywhere: `tangor solve NAME --set merit.rho0=1`, a TOML file for `--config`
(`tangor options --format toml` writes one with all defaults), and in Rust `settings.set(\"merit.rho0\", \"1\")` or the field itself.
All numbers are finite; what is outside of the range that a setting names is refused.

This page is generated from the code: `tangor options --format markdown > docs/options.md`.
";

/// Lines that are longer are hard to read.
const LINE_WIDTH: usize = 96;

/// Show all settings with their defaults and meanings
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Options {
    /// Show only those with this word in their path
    word: Option<String>,

    /// How to print them
    #[arg(long, value_enum, default_value_t)]
    format: Format,

    /// When to use colours
    #[arg(long, value_enum, default_value_t)]
    color: Color,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum Format {
    /// For people
    #[default]
    Text,
    /// The page docs/options.md
    Markdown,
    /// A file for --config
    Toml,
}

impl Options {
    /// Prints the settings.
    pub fn run(self) -> Result<u8, Error> {
        let mut groups = groups();
        // A file has all settings one by one.
        if !matches!(self.format, Format::Toml) {
            groups.push(preset());
        }
        if let Some(word) = self.word {
            groups.iter_mut().for_each(|group| group.settings.retain(|setting| setting.path.contains(&word)));
            groups.retain(|group| !group.settings.is_empty());
            if groups.is_empty() {
                return Err(Error::NoSuchOption(word));
            }
        }
        let out = &mut self.color.screen();
        match self.format {
            Format::Text => text(out, &groups)?,
            Format::Markdown => markdown(out, &groups)?,
            Format::Toml => toml(out, groups)?,
        }
        Ok(exit::SOLVED)
    }
}

fn text(out: &mut dyn Write, groups: &[Group]) -> io::Result<()> {
    for (k, group) in groups.iter().enumerate() {
        if k > 0 {
            writeln!(out)?;
        }
        writeln!(out, "{DIM}{}{DIM:#}", width::wrapped(&group.meaning, 0))?;
        for Setting { path, default, meaning, choices } in &group.settings {
            writeln!(out, "  {TITLE}{path}{TITLE:#} = {}", shown_value(default))?;
            paragraph(out, 6, meaning)?;
            for choice in choices {
                paragraph(out, 8, &format!("- {}: {}", choice.form, choice.meaning))?;
            }
        }
    }
    Ok(())
}

/// A paragraph of limited width, all of it indented.
fn paragraph(out: &mut dyn Write, indent: usize, text: &str) -> io::Result<()> {
    let width = width::of_screen().unwrap_or(LINE_WIDTH).min(LINE_WIDTH);
    writeln!(out, "{}{}", " ".repeat(indent), width::wrapped_to(text, indent, width))
}

fn markdown(out: &mut dyn Write, groups: &[Group]) -> io::Result<()> {
    write!(out, "{MARKDOWN_TITLE}")?;
    for group in groups {
        writeln!(out, "\n## {}\n\n{}\n", group.path, group.meaning)?;
        for Setting { path, default, meaning, choices } in &group.settings {
            writeln!(out, "- **`{path}`** = `{}`: {meaning}", shown_value(default))?;
            for choice in choices {
                writeln!(out, "  - `{}`: {}", choice.form, choice.meaning)?;
            }
        }
    }
    Ok(())
}

fn toml(out: &mut dyn Write, mut groups: Vec<Group>) -> io::Result<()> {
    // TOML wants single values before all tables.
    let is_table = |group: &Group| group.settings.iter().any(|setting| setting.path != group.path);
    groups.sort_by_key(is_table);
    for group in &groups {
        writeln!(out, "# {}", group.meaning)?;
        if is_table(group) {
            writeln!(out, "[{}]", group.path)?;
        }
        for Setting { path, default, meaning, .. } in &group.settings {
            let key = path.strip_prefix(&format!("{}.", group.path)).unwrap_or(path);
            writeln!(out, "# {meaning}")?;
            match default.is_null() {
                true => writeln!(out, "# {key} = ...")?,
                false => writeln!(out, "{key} = {}", toml_value(default))?,
            }
        }
        writeln!(out)?;
    }
    Ok(())
}
