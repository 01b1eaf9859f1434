//! The data of a fit, from the arguments.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};
use tangor_learn::{DataSet, Decimal, FileForm, Format, Goal, Input, Processes, Reading, Watcher, generate_shared};
use tangor_problem::MemoryLimit;

use crate::error::Error;
use crate::files;
use crate::idle::Idle;
use crate::progress::FileBar;
use crate::regression::columns::names;

/// Where the data come from. A fit that goes on has them already.
#[derive(Clone, Debug, Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataArguments {
    /// A CSV file, a LIBSVM file (.libsvm, .svm), either packed by gzip or zstd, a Parquet file if the program was built for them, or - for CSV from standard input; without one, data are generated
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,

    /// The column to predict; it has two values. The last one if none is named
    #[arg(long, value_name = "COLUMN", help_heading = "Data", conflicts_with = "resume")]
    pub label: Option<String>,

    /// Which of its values is the positive one [default: the greater one]
    #[arg(long, value_name = "VALUE", help_heading = "Data", conflicts_with = "resume", allow_hyphen_values = true)]
    pub positive: Option<String>,

    /// Columns that are no features; they can still be groups. A name with commas stands in quotes, as in '"last, first",age'
    #[arg(long, value_name = "COLUMNS", help_heading = "Data", value_delimiter = ',', conflicts_with = "resume")]
    pub drop: Vec<String>,

    /// Columns of which log(1 + value) is taken
    #[arg(long, value_name = "COLUMNS", help_heading = "Data", value_delimiter = ',', conflicts_with = "resume")]
    pub log: Vec<String>,

    /// Columns of numbers: a cell that is none is a missing value
    #[arg(long, value_name = "COLUMNS", help_heading = "Data", value_delimiter = ',', conflicts_with = "resume")]
    pub numeric: Vec<String>,

    /// Columns whose values are categories, even if they look like numbers
    #[arg(long, value_name = "COLUMNS", help_heading = "Data", value_delimiter = ',', conflicts_with = "resume")]
    pub categorical: Vec<String>,

    /// Columns that say which row is which: no features, and `tangor predict` repeats them
    #[arg(long, value_name = "COLUMNS", help_heading = "Data", value_delimiter = ',', conflicts_with = "resume")]
    pub id: Vec<String>,

    /// A column that says how much each row counts
    #[arg(long, value_name = "COLUMN", help_heading = "Data", conflicts_with = "resume")]
    pub sample_weight: Option<String>,

    /// The folder of a file for features that take more than a third of the memory that there is [default: the folder for temporary files]
    #[arg(long, value_name = "FOLDER", help_heading = "Data", conflicts_with = "resume")]
    #[serde(default)]
    pub cache: Option<PathBuf>,

    #[command(flatten)]
    pub layout: LayoutArguments,

    /// Whether the first line has the names of the columns [default: yes, unless it looks like data, which is refused]
    #[arg(long, value_name = "WHETHER", help_heading = "Data", conflicts_with = "resume")]
    pub header: Option<YesNo>,

    /// Numbers are written as in 1.234,5
    #[arg(long, help_heading = "Data", conflicts_with = "resume")]
    pub decimal_comma: bool,

    /// Rows of generated data
    #[arg(long, value_name = "N", help_heading = "Data", default_value_t = 10_000, conflicts_with_all = ["file", "resume"])]
    pub rows: usize,

    /// Columns of generated data, besides `group`
    #[arg(long, value_name = "N", help_heading = "Data", default_value_t = 10, conflicts_with_all = ["file", "resume"])]
    pub columns: usize,
}

/// How the text of a file is to be understood.
#[derive(Clone, Debug, Default, Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LayoutArguments {
    /// What separates the fields: one character, or tab [default: found among , ; tab |]
    #[arg(long, value_name = "CHARACTER", help_heading = "Data", value_parser = delimiter)]
    pub delimiter: Option<u8>,

    /// How letters are encoded
    #[arg(long, value_name = "NAME", help_heading = "Data", value_enum, default_value_t)]
    pub encoding: Letters,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
pub enum YesNo {
    /// It has
    Yes,
    /// It has not: the columns are called c1, c2, ...
    No,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
pub enum Letters {
    /// UTF-8, as nearly everywhere
    #[default]
    Utf8,
    /// Latin-1 (ISO 8859-1), as in older files
    Latin1,
}

/// The processes that rows are shared out among, if there are several.
type Sharing = Option<Arc<dyn Processes>>;

impl LayoutArguments {
    /// A file, or standard input for `-`, which must fit into memory.
    pub fn input(&self, file: &Path, memory: MemoryLimit) -> Result<Input, Error> {
        let input = if file == Path::new("-") { Input::standard_input(memory)? } else { Input::from(file) };
        Ok(input.latin1(self.encoding == Letters::Latin1))
    }
}

impl DataArguments {
    /// Reads or generates the data, with the groups that the goal needs; within so much memory, and for several processes if there are any. The
    /// file, if there is one, was opened as `input`.
    pub fn open(
        &self,
        goal: &Goal,
        seed: u64,
        input: Option<Input>,
        (memory, shared): (MemoryLimit, Sharing),
    ) -> Result<DataSet, Error> {
        let Some((file, input)) = self.file.as_ref().zip(input) else {
            return Ok(generate_shared(self.rows, self.columns, seed, shared, memory)?);
        };
        let mut groups: Vec<String> =
            goal.constraints.iter().filter_map(|constraint| constraint.column()).map(Into::into).collect();
        groups.sort();
        groups.dedup();
        let reading = Reading {
            label: self.label.clone(),
            positive: self.positive.clone(),
            drop: [names(&self.drop), names(&self.id)].concat(),
            log: names(&self.log),
            numeric: names(&self.numeric),
            categorical: names(&self.categorical),
            groups,
            weight: self.sample_weight.clone(),
            format: Format { delimiter: self.layout.delimiter, header: self.header.map(|header| header == YesNo::Yes) },
            decimal: self.decimal(),
            shared,
            memory: Some(memory),
            cache: self.cache.clone(),
        };
        let bar = Arc::new(FileBar::new(file));
        let moved = Arc::clone(&bar);
        let watcher = Watcher::new(move |read, length| moved.set(read, length));
        // One process shows how far it is with its part.
        let shows = reading.shared.as_ref().is_none_or(|processes| processes.rank() == 0);
        let input = if shows { input.watched(watcher) } else { input };
        let data = if is_libsvm(&input.unpacked_path()) { reading.libsvm(input) } else { reading.csv(input) };
        bar.finish();
        Ok(data?)
    }

    /// Adds the arguments that do nothing for these data.
    pub fn add_idle(&self, idle: &mut Idle) {
        let layout = [
            ("--delimiter", self.layout.delimiter.is_some()),
            ("--header", self.header.is_some()),
            ("--decimal-comma", self.decimal_comma),
        ];
        let columns = [
            ("--label", self.label.is_some()),
            ("--positive", self.positive.is_some()),
            ("--drop", !self.drop.is_empty()),
            ("--log", !self.log.is_empty()),
            ("--numeric", !self.numeric.is_empty()),
            ("--categorical", !self.categorical.is_empty()),
            ("--id", !self.id.is_empty()),
            ("--sample-weight", self.sample_weight.is_some()),
            ("--encoding", self.layout.encoding != Letters::default()),
            ("--cache", self.cache.is_some()),
        ];
        idle.add(self.file.is_none(), "no FILE is given, and the data are generated", &[&columns[..], &layout].concat());
        let libsvm = self.file.as_deref().is_some_and(|file| is_libsvm(&Input::from(file).unpacked_path()));
        idle.add(libsvm, "a LIBSVM file has no columns", &layout);
    }

    /// What a model of these data has to know of files.
    pub fn form(&self) -> FileForm {
        FileForm {
            header: self.header != Some(YesNo::No),
            decimal: self.decimal(),
            id: names(&self.id),
            weight: self.sample_weight.clone(),
        }
    }

    fn decimal(&self) -> Decimal {
        if self.decimal_comma { Decimal::Comma } else { Decimal::Point }
    }
}

fn is_libsvm(file: &Path) -> bool {
    matches!(files::extension(file).as_str(), "libsvm" | "svm" | "svmlight")
}

fn delimiter(text: &str) -> Result<u8, String> {
    match text {
        "tab" | "\\t" => Ok(b'\t'),
        _ => match text.as_bytes() {
            [byte] if byte.is_ascii() && !byte.is_ascii_alphanumeric() && *byte != b'"' => Ok(*byte),
            _ => Err("a separator is one character that is no letter, digit or quote, or the word tab".to_string()),
        },
    }
}
