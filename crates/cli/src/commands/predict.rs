use std::io::{BufWriter, Write};
use std::path::PathBuf;

use clap::Args;
use tangor_bench::no_formula;
use tangor_learn::Model;

use crate::error::Error;
use crate::exit;
use crate::screen::Color;

const EXAMPLES: &str = "\
Examples:
  tangor predict model.json people.csv > predictions.csv
  tangor predict model.json people.csv --evaluate          how well it does, if the file has labels";

/// Apply a fitted model to the rows of a file
///
/// Prints CSV with one line per row: the probability of the positive label, and the more probable label.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Predict {
    /// A model of `tangor fit --model`
    #[arg(value_name = "MODEL.json")]
    model: PathBuf,

    /// A file of the kind that the model was fitted to; the label is not needed
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// Print loss, accuracy and what the constraints came to, as JSON, instead of the predictions
    #[arg(long)]
    evaluate: bool,
}

impl Predict {
    /// Predicts and prints.
    pub fn run(self) -> Result<u8, Error> {
        let model = Model::read(&self.model)?;
        let mut out = BufWriter::new(Color::Never.screen());
        if self.evaluate {
            let evaluation = model.evaluate(&model.read_data(&self.file)?)?;
            writeln!(out, "{}", serde_json::to_string_pretty(&evaluation)?)?;
        } else {
            writeln!(out, "probability,prediction")?;
            model.predict(&self.file, |prediction| -> Result<(), Error> {
                Ok(writeln!(out, "{},{}", prediction.probability, quoted(&no_formula(prediction.label)))?)
            })?;
        }
        out.flush()?;
        Ok(exit::SOLVED)
    }
}

/// A field of CSV.
fn quoted(field: &str) -> String {
    if field.contains([',', '"', '\n', '\r']) { format!("\"{}\"", field.replace('"', "\"\"")) } else { field.to_string() }
}
