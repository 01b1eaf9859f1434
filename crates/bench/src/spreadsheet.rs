//! Tables as CSV, which a spreadsheet may open: no cell of them is a formula, since names come from files of strangers.

use std::borrow::Cow;

use csv::Writer;
use serde::Serialize;

use crate::Error;

/// Rows of any kind below the names of their fields.
pub fn of_rows(rows: &[impl Serialize]) -> Result<String, Error> {
    let mut writer = Writer::from_writer(Vec::new());
    for row in rows {
        writer.serialize(row).map_err(encoding)?;
    }
    without_formulas(&bytes(writer)?)
}

/// Cells below a heading, as many in each row.
pub fn of_cells(heading: &[String], rows: impl IntoIterator<Item = Vec<String>>) -> Result<String, Error> {
    let mut writer = Writer::from_writer(Vec::new());
    writer.write_record(heading).map_err(encoding)?;
    for row in rows {
        writer.write_record(row).map_err(encoding)?;
    }
    without_formulas(&bytes(writer)?)
}

/// The text of a cell, with an apostrophe before what a spreadsheet would take for a formula.
pub fn no_formula(cell: &str) -> Cow<'_, str> {
    match cell.starts_with(['=', '+', '-', '@', '\t', '\r']) && cell.parse::<f64>().is_err() {
        true => Cow::Owned(format!("'{cell}")),
        false => Cow::Borrowed(cell),
    }
}

/// Numbers may be negative.
fn without_formulas(table: &[u8]) -> Result<String, Error> {
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(table);
    let mut writer = Writer::from_writer(Vec::new());
    for record in reader.records() {
        let record = record.map_err(encoding)?;
        writer.write_record(record.iter().map(|cell| no_formula(cell).into_owned())).map_err(encoding)?;
    }
    String::from_utf8(bytes(writer)?).map_err(encoding)
}

fn bytes(writer: Writer<Vec<u8>>) -> Result<Vec<u8>, Error> {
    writer.into_inner().map_err(encoding)
}

fn encoding(cause: impl ToString) -> Error {
    Error::Encoding(cause.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_no_formulas_and_numbers_stay() {
        let table = "problem,value\n=1+1,-1.5e-3\n\"@SUM(A1,B1)\",-inf\n-x,+2\nHS71,\n";
        let guarded = without_formulas(table.as_bytes()).unwrap();
        assert_eq!(guarded, "problem,value\n'=1+1,-1.5e-3\n\"'@SUM(A1,B1)\",-inf\n'-x,+2\nHS71,\n");
    }

    #[test]
    fn cells_are_quoted_where_they_must_be_and_rows_are_as_long_as_the_heading() {
        let cells = |row: &[&str]| row.iter().map(|cell| cell.to_string()).collect::<Vec<_>>();
        let table = of_cells(&cells(&["name", "value"]), [cells(&["a, b", "1"]), cells(&["\"c\"", ""])]).unwrap();
        assert_eq!(table, "name,value\n\"a, b\",1\n\"\"\"c\"\"\",\n");
        let short = of_cells(&cells(&["name", "value"]), [cells(&["alone"])]).unwrap_err().to_string();
        assert!(short.starts_with("a row cannot be written"), "{short}");
    }
}
