use std::io::{BufWriter, Write};
use std::path::PathBuf;

use clap::Args;
use tangor_bench::no_formula;
use tangor_learn::{Model, Prediction};
use tangor_problem::MemoryLimit;

use crate::error::Error;
use crate::regression::columns::names;
use crate::regression::data::LayoutArguments;
use crate::screen::{Color, warn};
use crate::{exit, plain};

const EXAMPLES: &str = "\
Examples:
  tangor predict model.json people.csv > predictions.csv
  tangor predict model.json people.csv --id name           with a column that says who is who
  tangor predict model.json - < people.csv                 from standard input
  tangor predict model.json people.csv --evaluate          how well it does, if the file has labels";

/// Apply a fitted model to the rows of a file
///
/// Prints CSV with one line per row: the columns that say which row it is, the probability of the positive label, and the label that the
/// model decides for. All rows are read before the first line is printed, so that a wrong row leaves nothing half done.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Predict {
    /// A model of `tangor fit --model`
    #[arg(value_name = "MODEL.json")]
    model: PathBuf,

    /// A file of the kind that the model was fitted to, or - for standard input; the label is not needed
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// Columns that say which row is which [default: those of `tangor fit --id`]
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    id: Option<Vec<String>>,

    #[command(flatten)]
    layout: LayoutArguments,

    /// Print loss, accuracy and what the constraints came to, as JSON, instead of the predictions
    #[arg(long)]
    evaluate: bool,
}

impl Predict {
    /// Predicts and prints.
    pub fn run(self) -> Result<u8, Error> {
        let model = Model::read(&self.model)?;
        let (input, delimiter) = (self.layout.input(&self.file, MemoryLimit::of_this_machine())?, self.layout.delimiter);
        let mut out = BufWriter::new(Color::Never.screen());
        if self.evaluate {
            let data = model.read_data(input, delimiter)?;
            data.remarks.iter().for_each(|remark| warn(remark));
            let evaluation = model.evaluate(&data)?;
            writeln!(out, "{}", plain::json(&evaluation)?)?;
            out.flush()?;
            return Ok(exit::SOLVED);
        }
        let named = self.id.as_deref().map(names);
        let id = named.as_ref().unwrap_or(&model.file.id);
        let remarks = model.predict(&input, delimiter, id, |_| Ok::<(), Error>(()))?;
        remarks.iter().for_each(|remark| warn(remark));
        let mut table = csv::Writer::from_writer(out);
        let heading = id.iter().map(String::as_str).chain(["probability", "prediction"]);
        // What steers a terminal is shown: the screen would leave it out. Ends of lines within quotes are what CSV has them for.
        let cell = |text: &str| no_formula(&plain::lines(text)).into_owned();
        table.write_record(heading.map(cell)).map_err(unwritten)?;
        model.predict(&input, delimiter, id, |Prediction { id, probability, label }| -> Result<(), Error> {
            let fields = id.iter().map(|field| cell(field));
            let fields = fields.chain([probability.to_string(), cell(label)]);
            table.write_record(fields).map_err(unwritten)
        })?;
        table.flush()?;
        Ok(exit::SOLVED)
    }
}

fn unwritten(cause: csv::Error) -> Error {
    // A closed pipe stays one.
    match cause.into_kind() {
        csv::ErrorKind::Io(cause) => Error::Screen(cause),
        other => Error::Screen(std::io::Error::other(format!("{other:?}"))),
    }
}
