//! Parquet files, as the text of a table: a header with the names of the columns, then one line for each row. Everything that is done to a table, its
//! messages included, is done to them alike.

use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::sync::Arc;

use parquet::file::metadata::RowGroupMetaData;
use parquet::file::reader::{ChunkReader, FileReader, SerializedFileReader};
use parquet::file::serialized_reader::ReadOptionsBuilder;
use parquet::record::reader::RowIter;
use parquet::record::{Field, Row};

use crate::Watcher;

/// A watcher is told after so many rows, and after the last.
const WATCHED: u64 = 1 << 12;

/// The rows of a file, which become text as they are read.
pub(crate) struct Rows {
    rows: RowIter<'static>,
    /// How many are to be read, and how many were.
    count: u64,
    done: u64,
    /// Who is told, and how long the file is.
    watcher: Option<(Watcher, u64)>,
    /// What was made of a row and not yet read.
    text: Vec<u8>,
    read: usize,
}

/// Reads a file, or some of its rows. It lies there column by column: a watcher is told as large a part of its bytes as of its rows.
pub(crate) fn of_file(file: File, part: Option<Range<u64>>, watcher: Option<Watcher>) -> io::Result<Rows> {
    let watcher = watcher.map(|watcher| file.metadata().map(|about| (watcher, about.len()))).transpose()?;
    let rows = match part {
        None => open(file, 0..usize::MAX)?,
        Some(part) => {
            let (groups, before) = groups(file.try_clone()?, &part)?;
            let mut rows = open(file, groups)?;
            for _ in before..part.start {
                rows.rows.next().transpose().map_err(wrong)?;
            }
            Rows { count: part.end - part.start, ..rows }
        }
    };
    Ok(Rows { watcher, ..rows })
}

/// How many rows a file has.
pub(crate) fn rows(file: File) -> io::Result<usize> {
    let reader = SerializedFileReader::new(file).map_err(wrong)?;
    Ok(usize::try_from(reader.metadata().file_metadata().num_rows()).unwrap_or(0))
}

/// The groups of rows that some rows are in, and how many rows are before these groups.
fn groups(file: File, part: &Range<u64>) -> io::Result<(Range<usize>, u64)> {
    let reader = SerializedFileReader::new(file).map_err(wrong)?;
    let (mut groups, mut before, mut start) = (0..0, part.start, 0);
    for (k, group) in reader.metadata().row_groups().iter().enumerate() {
        let end = start + u64::try_from(group.num_rows()).unwrap_or(0);
        if start < part.end && part.start < end {
            if groups.is_empty() {
                (groups.start, before) = (k, start);
            }
            groups.end = k + 1;
        }
        start = end;
    }
    Ok((groups, before))
}

/// Reads what is in memory.
pub(crate) fn of_bytes(bytes: &Arc<Vec<u8>>) -> io::Result<Rows> {
    open(bytes::Bytes::from(bytes.as_ref().clone()), 0..usize::MAX)
}

/// Reads some groups of rows, and nothing of the others.
fn open<R: ChunkReader + 'static>(chunks: R, groups: Range<usize>) -> io::Result<Rows> {
    let needed = Box::new(move |_: &RowGroupMetaData, k: usize| groups.contains(&k));
    let options = ReadOptionsBuilder::new().with_predicate(needed).build();
    let reader = SerializedFileReader::new_with_options(chunks, options).map_err(wrong)?;
    let fields = reader.metadata().file_metadata().schema().get_fields();
    if let Some(nested) = fields.iter().find(|field| !field.is_primitive()) {
        let message = format!("its column {:?} is nested: a table has one number or text in each cell", nested.name());
        return Err(io::Error::new(io::ErrorKind::InvalidData, message));
    }
    let names: Vec<String> = fields.iter().map(|field| field.name().to_string()).collect();
    let count = u64::try_from(reader.metadata().file_metadata().num_rows()).unwrap_or(0);
    let rows = RowIter::from_file_into(Box::new(reader));
    let mut rows = Rows { rows, count, done: 0, watcher: None, text: Vec::new(), read: 0 };
    rows.set(names.iter().map(String::as_str))?;
    Ok(rows)
}

fn wrong(cause: parquet::errors::ParquetError) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("it is no Parquet file that can be read: {cause}"))
}

impl Rows {
    /// One line of text.
    fn set<'a>(&mut self, cells: impl Iterator<Item = &'a str>) -> io::Result<()> {
        self.text.clear();
        self.read = 0;
        let mut writer = csv::WriterBuilder::new().from_writer(&mut self.text);
        writer.write_record(cells)?;
        writer.flush()
    }

    /// One more row was read.
    fn tell(&mut self) {
        self.done += 1;
        if let Some((watcher, length)) = &self.watcher
            && (self.done.is_multiple_of(WATCHED) || self.done == self.count)
        {
            let read = u128::from(*length) * u128::from(self.done) / u128::from(self.count.max(self.done));
            watcher.tell(read as u64, *length);
        }
    }

    fn set_row(&mut self, row: &Row) -> io::Result<()> {
        let cells: Vec<String> = row.get_column_iter().map(|(_, field)| cell(field)).collect();
        self.set(cells.iter().map(String::as_str))
    }
}

impl Read for Rows {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.read == self.text.len() {
            match self.rows.next().filter(|_| self.done < self.count) {
                None => return Ok(0),
                Some(row) => {
                    self.set_row(&row.map_err(wrong)?)?;
                    self.tell();
                }
            }
        }
        let count = out.len().min(self.text.len() - self.read);
        out[..count].copy_from_slice(&self.text[self.read..self.read + count]);
        self.read += count;
        Ok(count)
    }
}

/// A cell as text; numbers so that reading them gives the same number again.
fn cell(field: &Field) -> String {
    match field {
        Field::Null => String::new(),
        Field::Str(text) => text.clone(),
        Field::Float(value) => value.to_string(),
        Field::Double(value) => value.to_string(),
        Field::Bytes(bytes) => String::from_utf8_lossy(bytes.data()).into_owned(),
        other => other.to_string(),
    }
}
