//! Parquet files give what the same table as text gives.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use parquet::basic::Compression;
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use tangor_learn::{Format, Input, Reading, Watcher};
use tempfile::TempDir;

const PEOPLE: &str =
    "age,city,gain,sex,rich\n20.5,\"Rome, old\",0,f,false\n,Oslo,100,m,true\n40,,7,f,false\n30.125,\"Rome, old\",-1,m,true\n";

const SCHEMA: &str = "message people { OPTIONAL DOUBLE age; OPTIONAL BINARY city (UTF8); REQUIRED INT64 gain; REQUIRED BINARY sex (UTF8); \
                      REQUIRED BOOLEAN rich; }";

/// The same table, its rows in two groups.
fn write(path: &Path, compression: Compression) {
    let schema = Arc::new(parse_message_type(SCHEMA).unwrap());
    let properties = Arc::new(WriterProperties::builder().set_compression(compression).build());
    let mut file = SerializedFileWriter::new(std::fs::File::create(path).unwrap(), schema, properties).unwrap();
    let text = |text: &str| ByteArray::from(text);
    let groups = [
        ((vec![20.5], vec![1, 0]), (vec![text("Rome, old"), text("Oslo")], vec![1, 1]), [0, 100], [false, true]),
        ((vec![40.0, 30.125], vec![1, 1]), (vec![text("Rome, old")], vec![0, 1]), [7, -1], [false, true]),
    ];
    for (age, city, gain, rich) in groups {
        let mut group = file.next_row_group().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<DoubleType>().write_batch(&age.0, Some(&age.1), None).unwrap();
        column.close().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<ByteArrayType>().write_batch(&city.0, Some(&city.1), None).unwrap();
        column.close().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<Int64Type>().write_batch(&gain, None, None).unwrap();
        column.close().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<ByteArrayType>().write_batch(&[text("f"), text("m")], None, None).unwrap();
        column.close().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<BoolType>().write_batch(&rich, None, None).unwrap();
        column.close().unwrap();
        group.close().unwrap();
    }
    file.close().unwrap();
}

fn reading() -> Reading {
    Reading { drop: vec!["sex".into()], groups: vec!["sex".into()], ..Reading::default() }
}

#[test]
fn a_parquet_file_is_the_same_table() {
    let folder = TempDir::new().unwrap();
    let csv = folder.path().join("people.csv");
    std::fs::write(&csv, PEOPLE).unwrap();
    let expected = reading().csv(&csv).unwrap();
    // The name of a file does not matter, its first bytes do; nor does what was said of the text.
    for (name, compression) in
        [("a.parquet", Compression::UNCOMPRESSED), ("b.pq", Compression::SNAPPY), ("c", Compression::ZSTD(Default::default()))]
    {
        let path: PathBuf = folder.path().join(name);
        write(&path, compression);
        let format = Format { delimiter: Some(b';'), header: Some(false) };
        let data = Reading { format, ..reading() }.csv(&path).unwrap();
        assert_eq!(data.fingerprint(), expected.fingerprint(), "{name}");
        assert_eq!((&data.encoding, &data.labels), (&expected.encoding, &expected.labels));
        assert_eq!(data.groupings, expected.groupings);
    }
}

#[test]
fn a_watcher_is_told_how_far_a_parquet_file_was_read() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("long.parquet");
    let schema = Arc::new(parse_message_type("message long { REQUIRED INT64 x; REQUIRED BOOLEAN y; }").unwrap());
    let mut file = SerializedFileWriter::new(std::fs::File::create(&path).unwrap(), schema, Default::default()).unwrap();
    let mut group = file.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<Int64Type>().write_batch(&(0..10_000).collect::<Vec<i64>>(), None, None).unwrap();
    column.close().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<BoolType>().write_batch(&(0..10_000).map(|i| i % 3 == 0).collect::<Vec<bool>>(), None, None).unwrap();
    column.close().unwrap();
    group.close().unwrap();
    file.close().unwrap();
    let told = Arc::new(Mutex::new(Vec::new()));
    let teller = Arc::clone(&told);
    let watcher = Watcher::new(move |read, length| teller.lock().unwrap().push((read, length)));
    Reading::default().csv(Input::from(&path).watched(watcher)).unwrap();
    let (told, length) = (told.lock().unwrap(), std::fs::metadata(&path).unwrap().len());
    assert!(
        told.ends_with(&[(length * 4096 / 10_000, length), (length * 8192 / 10_000, length), (length, length)]),
        "{told:?}"
    );
}

#[test]
fn what_cannot_be_read_is_said() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("people.parquet");
    write(&path, Compression::UNCOMPRESSED);
    let whole = std::fs::read(&path).unwrap();
    std::fs::write(&path, &whole[..whole.len() - 9]).unwrap();
    let message = reading().csv(Input::from(&path)).unwrap_err().to_string();
    assert!(message.contains("people.parquet cannot be read: it is no Parquet file that can be read"), "{message}");
    write(&path, Compression::UNCOMPRESSED);
    let message = Reading { label: Some("poor".into()), ..reading() }.csv(&path).unwrap_err().to_string();
    assert!(message.ends_with("it has no column \"poor\"; its columns are age, city, gain, sex, rich"), "{message}");
}
