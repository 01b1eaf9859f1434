//! A CSV file, row by row.

use std::collections::HashMap;
use std::io::Read;

use csv::{ErrorKind, ReaderBuilder, StringRecord, Trim};
use tangor_problem::count_of;

use crate::cell::Decimal;
use crate::encoding::EncodedRow;
use crate::ration::Ration;
use crate::strangers::Strangers;
use crate::{Encoding, Error, Input, Kind, layout};

/// How much of a table is looked at to find what separates its fields.
const BEGINNING: usize = 1 << 16;
/// Columns that a message names.
const NAMED: usize = 20;

/// What separates the fields of a table, and whether its first row has names; what is not said is found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Format {
    /// The separator.
    pub delimiter: Option<u8>,
    /// Whether the first row has the names of the columns; those without a name are `c1`, `c2` and so on, by their places.
    pub header: Option<bool>,
}

impl Format {
    /// The separator, and whether the first row has names.
    pub(crate) fn found(self, input: &Input) -> Result<(u8, bool), Error> {
        let beginning = input.beginning(BEGINNING)?;
        if beginning.starts_with(&[0xff, 0xfe]) || beginning.starts_with(&[0xfe, 0xff]) {
            return Err(input.unusable("it is UTF-16 text: save it as UTF-8"));
        }
        // The text of a Parquet file is made with names and commas.
        let parquet = input.is_parquet()?;
        let found = || layout::separator(&beginning);
        let delimiter = if parquet { b',' } else { self.delimiter.unwrap_or_else(found) };
        Ok((delimiter, parquet || self.header != Some(false)))
    }
}

/// A table that is being read.
pub(crate) struct Table<'a> {
    input: &'a Input,
    reader: csv::Reader<Box<dyn Read>>,
    pub header: Vec<String>,
    index: HashMap<String, usize>,
    record: StringRecord,
    ration: Ration,
    /// Whether somebody has said if the first row has names.
    header_is_known: bool,
    is_parquet: bool,
    /// Where the row begins, as [`Input::place`] has it.
    pub place: u64,
}

impl<'a> Table<'a> {
    pub fn open(input: &'a Input, format: Format) -> Result<Self, Error> {
        let (delimiter, named) = format.found(input)?;
        let mut builder = ReaderBuilder::new();
        builder.trim(Trim::All).delimiter(delimiter).has_headers(named).buffer_capacity(1 << 16);
        let ration = Ration::default();
        let mut reader = builder.from_reader(ration.of(input.reader()?));
        let first = reader.headers().map_err(|cause| csv_error(input, &cause))?;
        let header: Vec<String> = match named {
            true => first.iter().enumerate().map(|(k, name)| if name.is_empty() { unnamed(k) } else { name.into() }).collect(),
            false => (0..first.len()).map(unnamed).collect(),
        };
        let mut index = HashMap::with_capacity(header.len());
        let repeated = header.iter().enumerate().find(|(k, name)| index.insert((*name).clone(), *k).is_some());
        let repeated = repeated.map(|(k, _)| k);
        let header_is_known = format.header.is_some();
        if !named && input.repeats_first_row() {
            reader.read_record(&mut StringRecord::new()).map_err(|cause| csv_error(input, &cause))?;
        }
        let table = Table {
            input,
            reader,
            header,
            index,
            record: StringRecord::new(),
            ration,
            header_is_known,
            is_parquet: input.is_parquet()?,
            place: 0,
        };
        if table.header.is_empty() {
            return Err(table.unusable("it is empty"));
        }
        match repeated {
            Some(k) => Err(table.wrong(k, &format!("the header names this column twice{}", table.doubt()))),
            None => Ok(table),
        }
    }

    /// Goes to the next row; false at the end.
    pub fn advance(&mut self) -> Result<bool, Error> {
        self.ration.renew();
        let more = self.reader.read_record(&mut self.record).map_err(|cause| csv_error(self.input, &cause))?;
        if more {
            self.place = self.record.position().map_or(self.place, |position| self.input.place(position, self.is_parquet));
        }
        Ok(more)
    }

    /// How many rows there are from here on.
    pub fn count(mut self) -> Result<usize, Error> {
        let mut rows = 0;
        while self.advance()? {
            rows += 1;
        }
        Ok(rows)
    }

    pub fn field(&self, k: usize) -> &str {
        self.record.get(k).unwrap_or_default()
    }

    pub fn find(&self, name: &str) -> Result<usize, Error> {
        self.index.get(name).copied().ok_or_else(|| {
            // As they are written in a list: in quotes where they have commas.
            let written = |name: &String| if name.contains(',') { format!("{name:?}") } else { name.clone() };
            let known = self.header.iter().take(NAMED).map(written).collect::<Vec<_>>().join(", ");
            let more = if self.header.len() > NAMED { ", ..." } else { "" };
            self.unusable(&format!("it has no column {name:?}; its columns are {known}{more}{}", self.doubt()))
        })
    }

    /// A hint where the names look like data.
    fn doubt(&self) -> &'static str {
        let numbers = self.header.iter().any(|name| Decimal::Point.number(name).is_some());
        match (numbers, self.header_is_known) {
            (false, _) => "",
            (true, false) => " (if the file has no header: --header no)",
            (true, true) => " (is its first line, with the names of the columns, missing?)",
        }
    }

    pub fn wrong(&self, k: usize, message: &str) -> Error {
        self.wrong_at(self.place, k, message)
    }

    pub fn wrong_at(&self, place: u64, k: usize, message: &str) -> Error {
        Error::Field {
            file: self.input.path().to_path_buf(),
            line: self.input.line_of(place),
            column: self.header[k].clone(),
            message: message.to_string(),
        }
    }

    pub fn unusable(&self, message: &str) -> Error {
        self.input.unusable(message)
    }
}

/// What a column without a name is called.
fn unnamed(k: usize) -> String {
    format!("c{}", k + 1)
}

fn csv_error(input: &Input, cause: &csv::Error) -> Error {
    // The text of a Parquet file, which is made here, has none of these.
    let (place, message) = match cause.kind() {
        ErrorKind::UnequalLengths { pos: Some(pos), expected_len, len } => {
            let (fields, start) = (count_of(*len, "field"), pos.byte());
            let row = input.bytes(start, BEGINNING).unwrap_or_default();
            let line = row.split(|byte| matches!(byte, b'\n' | b'\r')).find(|line| !line.is_empty()).unwrap_or_default();
            let goes_on = line.iter().filter(|byte| **byte == b'"').count() % 2 == 1;
            let hint = if goes_on { "; a quotation mark in this line has its other one in a later line, or none" } else { "" };
            (input.place(pos, false), format!("the row has {fields}, but the header has {expected_len}{hint}"))
        }
        ErrorKind::Utf8 { pos: Some(pos), err } => {
            let message = format!("field {} is not UTF-8 text; --encoding latin1 reads older files", err.field() + 1);
            // A row may have several lines.
            let row = input.bytes(pos.byte(), BEGINNING).unwrap_or_default();
            let valid = std::str::from_utf8(&row).err().map_or(0, |err| err.valid_up_to());
            (input.place(pos, false) + valid as u64, message)
        }
        ErrorKind::Io(_) => return input.unusable(&format!("it cannot be read: {cause}")),
        _ => return input.unusable(&cause.to_string()),
    };
    Error::Line { file: input.path().to_path_buf(), line: input.line_of(place), message }
}

/// Encodes the rows of one table.
pub(crate) struct Encoder<'a> {
    columns: Vec<(usize, &'a Kind)>,
    /// For each of them what was never seen before.
    pub strangers: Vec<Strangers>,
    row: EncodedRow,
}

impl<'a> Encoder<'a> {
    pub fn new(table: &Table, encoding: &'a Encoding) -> Result<Self, Error> {
        let Encoding::Columns(columns) = encoding else {
            return Err(table.unusable("the model was fitted to a LIBSVM file, and this is a table"));
        };
        let columns =
            columns.iter().map(|column| Ok((table.find(&column.name)?, &column.kind))).collect::<Result<Vec<_>, Error>>()?;
        Ok(Encoder { strangers: vec![Strangers::default(); columns.len()], columns, row: EncodedRow::default() })
    }

    pub fn encode(&mut self, table: &Table) -> Result<&EncodedRow, Error> {
        self.row.clear();
        for (&(k, kind), strangers) in self.columns.iter().zip(&mut self.strangers) {
            if !self.row.push(kind, table.field(k)).map_err(|message| table.wrong(k, &message))? {
                strangers.add(table, k);
            }
        }
        Ok(&self.row)
    }

    /// What somebody should know of the rows so far: categories that have no weight.
    pub fn remarks(&self, table: &Table) -> Vec<String> {
        let columns = self.columns.iter().zip(&self.strangers);
        columns.filter_map(|(&(k, _), strangers)| strangers.remark(table, k, "as none of the known ones")).collect()
    }
}
