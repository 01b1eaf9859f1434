//! How the text of a table is laid out: what separates its fields.

use csv::ReaderBuilder;

/// What may separate fields, the usual one first.
const SEPARATORS: [u8; 4] = [b',', b';', b'\t', b'|'];
/// Rows that are looked at.
const ROWS: usize = 20;

/// The separator that splits the beginning of a table into rows of equal length, as many fields as possible.
pub(crate) fn separator(beginning: &[u8]) -> u8 {
    let best = SEPARATORS.iter().enumerate().max_by_key(|(k, separator)| {
        let lengths = lengths(beginning, **separator);
        let first = lengths.first().copied().unwrap_or(0);
        let equal = lengths.iter().all(|length| *length == first);
        // Whatever separates nothing splits into equal rows, too.
        ((equal && first > 1), first, SEPARATORS.len() - k)
    });
    best.map_or(SEPARATORS[0], |(_, separator)| *separator)
}

/// How many fields the first rows have; without the last row, which may be cut off.
fn lengths(beginning: &[u8], separator: u8) -> Vec<usize> {
    let mut reader = ReaderBuilder::new().delimiter(separator).has_headers(false).flexible(true).from_reader(beginning);
    let rows = reader.byte_records().take(ROWS + 1).map_while(Result::ok);
    let mut lengths: Vec<usize> = rows.map(|row| row.len()).collect();
    if lengths.len() > 1 {
        lengths.pop();
    }
    lengths
}

#[cfg(test)]
mod tests {
    use super::separator;

    #[test]
    fn the_separator_is_found() {
        let cases: [(&str, u8); 7] = [
            ("a,b\n1,2\n", b','),
            ("a;b\n1,5;2\n1,7;3\n", b';'),
            ("a\tb c, d\n1\tx\n2\ty\n", b'\t'),
            ("a|b|c\n1|2|3\n", b'|'),
            ("a\n1\n2\n", b','),
            ("a,b\n1\n1,2,3\n", b','),
            ("", b','),
        ];
        for (text, expected) in cases {
            assert_eq!(separator(text.as_bytes()), expected, "{text:?}");
        }
    }
}
