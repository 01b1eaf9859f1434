//! Writes a CSV file as a Parquet file with groups of so many rows, all cells as texts: `parquet_of_csv table.csv table.parquet 300`.

use std::error::Error;
use std::fs::File;
use std::sync::Arc;

use parquet::basic::Compression;
use parquet::data_type::{ByteArray, ByteArrayType};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [from, to, rows] = &arguments[..] else { return Err("usage: parquet_of_csv FROM.csv TO.parquet ROWS".into()) };
    let mut reader = csv::Reader::from_path(from)?;
    let columns: String = reader.headers()?.iter().map(|name| format!("REQUIRED BINARY {name} (UTF8); ")).collect();
    let schema = Arc::new(parse_message_type(&format!("message table {{ {columns}}}"))?);
    let properties = Arc::new(WriterProperties::builder().set_compression(Compression::SNAPPY).build());
    let mut file = SerializedFileWriter::new(File::create(to)?, schema, properties)?;
    let records: Vec<csv::StringRecord> = reader.records().collect::<Result<_, _>>()?;
    for group in records.chunks(rows.parse()?) {
        let (mut out, mut k) = (file.next_row_group()?, 0);
        while let Some(mut column) = out.next_column()? {
            let cells: Vec<ByteArray> = group.iter().map(|row| ByteArray::from(&row[k])).collect();
            column.typed::<ByteArrayType>().write_batch(&cells, None, None)?;
            column.close()?;
            k += 1;
        }
        out.close()?;
    }
    file.close()?;
    Ok(())
}
