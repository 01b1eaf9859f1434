//! CSV files with a header. A file is read twice: first to learn how to encode it, then to encode it, so that its text is never kept.

use std::fs::File;
use std::path::Path;

use csv::{ErrorKind, ReaderBuilder, StringRecord, Trim};

use crate::encoding::{EncodedRow, is_missing, number};
use crate::scan::Scan;
use crate::{Column, DataSet, Encoding, Error, Features, Grouping, Kind, Labels};

/// How a file is read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reading {
    /// The column of the label; the last one if none is given.
    pub label: Option<String>,
    /// Columns that are no features. They can still be groups.
    pub drop: Vec<String>,
    /// Columns of which `log(1 + value)` is taken.
    pub log: Vec<String>,
    /// Columns by which rows are grouped.
    pub groups: Vec<String>,
}

impl Reading {
    /// Reads a CSV file.
    pub fn csv(&self, path: &Path) -> Result<DataSet, Error> {
        let (encoding, labels, groupings) = self.scan(path)?;
        read_encoded(path, &encoding, &labels, groupings)
    }

    /// The first reading: kinds of columns, means and deviations, categories, labels and groups.
    fn scan(&self, path: &Path) -> Result<(Encoding, Labels, Vec<Grouping>), Error> {
        let mut table = Table::open(path)?;
        let label = match &self.label {
            Some(name) => table.find(name)?,
            None => table.header.len() - 1,
        };
        for name in self.drop.iter().chain(&self.log) {
            table.find(name)?;
        }
        let groups = self.groups.iter().map(|name| table.find(name)).collect::<Result<Vec<_>, _>>()?;
        let is_log = |name: &str| self.log.iter().any(|log| log == name);
        let mut scans: Vec<Scan> = table.header.iter().map(|name| Scan::new(name, is_log(name))).collect();
        while table.advance()? {
            for (k, scan) in scans.iter_mut().enumerate() {
                let field = table.field(k);
                if k == label && is_missing(field) {
                    return Err(table.wrong(k, "the label is missing"));
                }
                scan.add(field, table.line()).map_err(|message| table.wrong(k, &message))?;
            }
        }
        if table.line() < 2 {
            return Err(table.unusable("it has a header but no rows"));
        }
        let labels = labels(&table, label, &scans[label])?;
        let groupings = groups.iter().map(|&k| grouping(&table, k, &scans[k])).collect::<Result<_, _>>()?;
        let mut columns = Vec::new();
        for (k, scan) in scans.into_iter().enumerate() {
            if k != label && !self.drop.contains(&table.header[k]) {
                let line = scan.line();
                columns.push(scan.finish().map_err(|message| table.wrong_at(line, k, &message))?);
            }
        }
        // Numbers first; the sort keeps the order of the file among themselves.
        columns.sort_by_key(|column: &Column| matches!(column.kind, Kind::Text { .. }));
        Ok((Encoding::Columns(columns), labels, groupings))
    }
}

fn labels(table: &Table, k: usize, scan: &Scan) -> Result<Labels, Error> {
    let column = table.header[k].clone();
    let refuse = |count: &str| {
        table.unusable(&format!(
            "the label {column:?} has {count}, but logistic regression needs exactly two: name it with --label"
        ))
    };
    let values = scan.values().ok_or_else(|| refuse("very many different values"))?;
    let [a, b] = &values[..] else { return Err(refuse(&format!("{} different values", values.len()))) };
    let swapped = number(a).zip(number(b)).is_some_and(|(a, b)| a > b);
    let (negative, positive) = if swapped { (b.clone(), a.clone()) } else { (a.clone(), b.clone()) };
    Ok(Labels { column, negative, positive })
}

fn grouping(table: &Table, k: usize, scan: &Scan) -> Result<Grouping, Error> {
    let column = table.header[k].clone();
    match scan.values() {
        Some(values) if values.len() >= 2 => Ok(Grouping { column, values, members: Vec::new() }),
        Some(_) => Err(table.unusable(&format!("the column {column:?} has one value only, so there are no groups"))),
        None => Err(table.unusable(&format!("the column {column:?} has too many different values to be groups"))),
    }
}

/// The second reading, with an encoding that is known. The groupings come without members.
pub(crate) fn read_encoded(
    path: &Path,
    encoding: &Encoding,
    labels: &Labels,
    mut groupings: Vec<Grouping>,
) -> Result<DataSet, Error> {
    let mut table = Table::open(path)?;
    let mut encoder = Encoder::new(&table, encoding)?;
    let label = table.find(&labels.column)?;
    let groups = groupings.iter().map(|grouping| table.find(&grouping.column)).collect::<Result<Vec<_>, _>>()?;
    let mut features = Features::new(encoding.features(), encoding.dense());
    let mut positive = Vec::new();
    while table.advance()? {
        let row = encoder.encode(&table)?;
        features.push(&row.dense, row.sparse.iter().copied());
        positive.push(match table.field(label) {
            field if field == labels.positive => true,
            field if field == labels.negative => false,
            field => {
                let expected = format!("the label is {field:?}, but must be {:?} or {:?}", labels.negative, labels.positive);
                return Err(table.wrong(label, &expected));
            }
        });
        for (grouping, &k) in groupings.iter_mut().zip(&groups) {
            let group = grouping.values.iter().position(|value| value == table.field(k));
            grouping.members.push(group.map(|group| group as u16));
        }
    }
    if positive.is_empty() {
        return Err(table.unusable("it has a header but no rows"));
    }
    features.shrink();
    let name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    Ok(DataSet { name, encoding: encoding.clone(), labels: labels.clone(), features, positive, groupings })
}

/// Encodes the rows of one table.
pub(crate) struct Encoder<'a> {
    columns: Vec<(usize, &'a Kind)>,
    row: EncodedRow,
}

impl<'a> Encoder<'a> {
    pub fn new(table: &Table, encoding: &'a Encoding) -> Result<Self, Error> {
        let Encoding::Columns(columns) = encoding else {
            return Err(table.unusable("the model was fitted to a LIBSVM file, and this is a table"));
        };
        let columns =
            columns.iter().map(|column| Ok((table.find(&column.name)?, &column.kind))).collect::<Result<_, Error>>()?;
        Ok(Encoder { columns, row: EncodedRow::default() })
    }

    pub fn encode(&mut self, table: &Table) -> Result<&EncodedRow, Error> {
        self.row.clear();
        for &(k, kind) in &self.columns {
            self.row.push(kind, table.field(k)).map_err(|message| table.wrong(k, &message))?;
        }
        Ok(&self.row)
    }
}

/// A CSV file, row by row.
pub(crate) struct Table<'a> {
    path: &'a Path,
    reader: csv::Reader<File>,
    header: Vec<String>,
    record: StringRecord,
    line: u64,
}

impl<'a> Table<'a> {
    pub fn open(path: &'a Path) -> Result<Self, Error> {
        let file = File::open(path).map_err(|cause| Error::Unreadable { file: path.to_path_buf(), cause })?;
        let mut reader = ReaderBuilder::new().trim(Trim::All).buffer_capacity(1 << 16).from_reader(file);
        let header: Vec<String> = reader.headers().map_err(|cause| csv_error(path, &cause))?.iter().map(Into::into).collect();
        let table = Table { path, reader, header, record: StringRecord::new(), line: 1 };
        if table.header.is_empty() {
            return Err(table.unusable("it is empty"));
        }
        match table.header.iter().enumerate().find(|(k, name)| table.header[..*k].contains(name)) {
            Some((k, _)) => Err(table.wrong(k, "the header names this column twice")),
            None => Ok(table),
        }
    }

    /// Goes to the next row; false at the end.
    pub fn advance(&mut self) -> Result<bool, Error> {
        let more = self.reader.read_record(&mut self.record).map_err(|cause| csv_error(self.path, &cause))?;
        if more {
            self.line = self.record.position().map_or(self.line + 1, |position| position.line());
        }
        Ok(more)
    }

    pub fn line(&self) -> u64 {
        self.line
    }

    pub fn field(&self, k: usize) -> &str {
        self.record.get(k).unwrap_or_default()
    }

    pub fn find(&self, name: &str) -> Result<usize, Error> {
        self.header
            .iter()
            .position(|known| known == name)
            .ok_or_else(|| self.unusable(&format!("it has no column {name:?}; its columns are {}", self.header.join(", "))))
    }

    pub fn wrong(&self, k: usize, message: &str) -> Error {
        self.wrong_at(self.line, k, message)
    }

    fn wrong_at(&self, line: u64, k: usize, message: &str) -> Error {
        Error::Field { file: self.path.to_path_buf(), line, column: self.header[k].clone(), message: message.to_string() }
    }

    pub fn unusable(&self, message: &str) -> Error {
        Error::File { file: self.path.to_path_buf(), message: message.to_string() }
    }
}

fn csv_error(path: &Path, cause: &csv::Error) -> Error {
    let (line, message) = match cause.kind() {
        ErrorKind::UnequalLengths { pos, expected_len, len } => {
            (pos.as_ref(), format!("the row has {len} fields, but the header has {expected_len}"))
        }
        ErrorKind::Utf8 { pos, err } => (pos.as_ref(), format!("field {} is not UTF-8 text", err.field() + 1)),
        _ => return Error::File { file: path.to_path_buf(), message: cause.to_string() },
    };
    Error::Line { file: path.to_path_buf(), line: line.map_or(0, |position| position.line()), message }
}
