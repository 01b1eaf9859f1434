//! Files that every process can read by itself, each its own part: text by bytes, cut where rows end, Parquet by rows.
//!
//! Where a row ends may depend on all that stands before it: a quotation mark opens a cell that goes on over ends of lines. So each
//! process passes over an equal range of bytes from every state that the reader could be in at its beginning, which are at most five. What
//! came of the ranges before then tells which of them it was.

use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;

use crate::input::packing;
use crate::sharing::{agreed, ends, of_each, several_of_each};
use crate::{Error, Input, Processes};

/// States that a reader can be in between two bytes, at most.
const STATES: usize = 5;
/// Marks a step that ends a row.
const ENDS: u8 = 0x80;
/// How much is read at once.
const CHUNK: usize = 1 << 16;
/// So many bytes at the beginning must be the same for all processes.
const BEGINNING: usize = 1 << 16;
/// What may stand before the text itself.
const BYTE_ORDER_MARK: &[u8] = &[0xef, 0xbb, 0xbf];

/// A part of a file: the rows of one process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// These bytes of a text, and before them those up to `head`, the first row: it has the names of the columns, or says how many there are.
    Bytes { head: u64, range: Range<u64> },
    /// These rows of a Parquet file.
    Rows(Range<u64>),
}

/// A part of a file, and how many rows the whole has.
pub(crate) struct Cut {
    pub part: Part,
    pub rows: usize,
}

/// How a text is cut into rows, byte by byte.
pub(crate) struct Rule {
    /// The next state; state 0 is that before the first row.
    next: [[u8; 256]; STATES],
    /// Whether the end of the file ends a row in a state.
    within: [bool; STATES],
    /// Whether there is a first row that every process must know.
    head: bool,
    /// How many rows at the beginning are none of the data.
    names: usize,
}

impl Rule {
    /// The rule of the `csv` crate: quotation marks are what they are at the beginning of a cell only, and empty lines are no rows.
    pub fn csv(delimiter: u8, named: bool) -> Self {
        let [start, cell, plain, quoted, after_quote] = [0, 1, 2, 3, 4];
        let mut next = [[plain; 256]; STATES];
        next[usize::from(quoted)] = [quoted; 256];
        for state in [start, cell, plain, after_quote] {
            let ended = if state == start { start } else { start | ENDS };
            let next = &mut next[usize::from(state)];
            next[usize::from(delimiter)] = cell;
            (next[usize::from(b'\n')], next[usize::from(b'\r')]) = (ended, ended);
        }
        for (state, then) in [(start, quoted), (cell, quoted), (quoted, after_quote), (after_quote, quoted)] {
            next[usize::from(state)][usize::from(b'"')] = then;
        }
        Rule { next, within: [false, true, true, true, true], head: true, names: usize::from(named) }
    }

    /// The rule of LIBSVM files: a line is a row unless it is blank up to its end or a `#`.
    pub fn lines() -> Self {
        let [blank, row, comment] = [0, 1, 2];
        let mut next = [[row; 256], [row; 256], [comment; 256], [blank; 256], [blank; 256]];
        for byte in (0..=u8::MAX).filter(u8::is_ascii_whitespace) {
            next[usize::from(blank)][usize::from(byte)] = blank;
        }
        next[usize::from(blank)][usize::from(b'#')] = comment;
        next[usize::from(row)][usize::from(b'\n')] = blank | ENDS;
        next[usize::from(comment)][usize::from(b'\n')] = blank;
        Rule { next, within: [false, true, false, false, false], head: false, names: 0 }
    }

    /// The state after some bytes, and how many rows ended in them.
    fn run(&self, mut state: u8, bytes: &[u8]) -> (u8, u64) {
        let mut rows = 0;
        for &byte in bytes {
            let next = self.next[usize::from(state)][usize::from(byte)];
            rows += u64::from(next >> 7);
            state = next & !ENDS;
        }
        (state, rows)
    }

    /// For each state at the beginning of some bytes what `run` says of all of them.
    fn summary(&self, mut bytes: impl Read) -> io::Result<Summary> {
        let (mut all, mut chunk) = (std::array::from_fn(|state| (state as u8, 0)), vec![0; CHUNK]);
        while let count @ 1.. = bytes.read(&mut chunk)? {
            // States soon become the same: most texts leave two.
            let mut known = [None; STATES];
            for (state, rows) in &mut all {
                let (next, more) = *known[usize::from(*state)].get_or_insert_with(|| self.run(*state, &chunk[..count]));
                (*state, *rows) = (next, *rows + more);
            }
        }
        Ok(all)
    }

    /// Where rows end, of bytes that begin at a place in a state, after so many rows: for each of the wanted ones, counted from 1 and never
    /// falling, the place after it, or 0 if it ends elsewhere.
    fn places(&self, at: (u64, u8, u64), mut bytes: impl Read, wanted: &[u64]) -> io::Result<Vec<u64>> {
        let ((mut place, mut state, mut rows), mut chunk) = (at, vec![0; CHUNK]);
        let (mut found, mut k) = (vec![0; wanted.len()], wanted.partition_point(|row| *row <= rows));
        while k < wanted.len()
            && let count @ 1.. = bytes.read(&mut chunk)?
        {
            for &byte in &chunk[..count] {
                let next = self.next[usize::from(state)][usize::from(byte)];
                (state, place, rows) = (next & !ENDS, place + 1, rows + u64::from(next >> 7));
                while k < wanted.len() && wanted[k] == rows {
                    (found[k], k) = (place, k + 1);
                }
            }
        }
        Ok(found)
    }
}

/// What came of a range from each state: the state at its end, and how many rows ended in it.
type Summary = [(u8, u64); STATES];

/// The part of this process, if all of them see the same file and can begin anywhere in it; all must ask.
pub(crate) fn cut(
    input: &Input,
    rule: impl FnOnce() -> Result<Rule, Error>,
    processes: &dyn Processes,
) -> Result<Option<Cut>, Error> {
    let marks = of_each(processes, mark(input).unwrap_or(0) as usize);
    if marks[0] == 0 || marks.iter().any(|mark| *mark != marks[0]) {
        return Ok(None);
    }
    if let Some(rows) = agreed(processes, input.parquet_rows())? {
        let own = own_rows(processes, rows);
        return Ok(Some(Cut { part: Part::Rows(own.start as u64..own.end as u64), rows }));
    }
    let rule = agreed(processes, rule())?;
    text(input, &rule, processes).map(Some)
}

/// The rows of this process, of so many.
pub(crate) fn own_rows(processes: &dyn Processes, rows: usize) -> Range<usize> {
    let (ends, rank) = (ends(processes, rows), processes.rank());
    rank.checked_sub(1).map_or(0, |before| ends[before])..ends[rank]
}

/// A number that another file would not have; none where a part cannot be read without what stands before it.
fn mark(input: &Input) -> Option<u64> {
    let path = input.seekable()?;
    // Not every path may be opened twice: a pipe gives its bytes once.
    let about = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    let mut beginning = Vec::new();
    File::open(path).ok()?.take(BEGINNING as u64).read_to_end(&mut beginning).ok()?;
    if packing(&beginning) != (false, false) {
        return None;
    }
    let mut hasher = DefaultHasher::new();
    (about.len(), beginning).hash(&mut hasher);
    // Such numbers go from process to process as numbers of double precision.
    Some((hasher.finish() >> 12).max(1))
}

fn text(input: &Input, rule: &Rule, processes: &dyn Processes) -> Result<Cut, Error> {
    let (rank, count) = (processes.rank(), processes.count());
    let bytes = agreed(processes, Bytes::open(input, rule).map_err(|cause| input.unreadable(cause)))?;
    let own = bytes.range(rank, count);
    let summary = bytes.of(&own).and_then(|bytes| rule.summary(bytes)).map_err(|cause| input.unreadable(cause));
    let summary = agreed(processes, summary)?.map(|(state, rows)| [u64::from(state), rows]);
    // The state at the beginning of each range, and how many rows ended before it.
    let mut before = vec![(0, 0)];
    for (rank, of_states) in several_of_each(processes, summary.as_flattened()).chunks(2 * STATES).enumerate() {
        let (state, rows): (usize, u64) = before[rank];
        before.push((of_states[2 * state] as usize, rows + of_states[2 * state + 1]));
    }
    let (state, ended) = before[count];
    let rows = (ended as usize + usize::from(rule.within[state])).saturating_sub(rule.names);
    // The last row of a process ends where the next one begins.
    let wanted: Vec<u64> = ends(processes, rows).iter().map(|end| (end + rule.names) as u64).collect();
    let at = (own.start, before[rank].0 as u8, before[rank].1);
    let found = bytes.of(&own).and_then(|bytes| rule.places(at, bytes, &wanted)).map_err(|cause| input.unreadable(cause));
    let found = several_of_each(processes, &agreed(processes, found)?);
    let beginning = if rule.names > 0 { bytes.head } else { 0 };
    let end = |rank: usize| match found.iter().skip(rank).step_by(count).sum() {
        _ if wanted[rank] == rule.names as u64 => beginning,
        // The last row may have no end of its own, and what is after it belongs to it.
        _ if wanted[rank] == (rows + rule.names) as u64 => bytes.length,
        place => place,
    };
    let range = rank.checked_sub(1).map_or(beginning, end)..end(rank);
    let range = if own_rows(processes, rows).is_empty() { bytes.head..bytes.head } else { range };
    Ok(Cut { part: Part::Bytes { head: bytes.head, range }, rows })
}

/// A text that is passed over in ranges.
struct Bytes<'a> {
    input: &'a Input,
    length: u64,
    /// Bytes before the text.
    skipped: u64,
    /// Where the first row ends that all must know.
    head: u64,
}

impl<'a> Bytes<'a> {
    fn open(input: &'a Input, rule: &Rule) -> io::Result<Self> {
        let (mut file, mut first) = (File::open(input.path())?, Vec::new());
        let length = file.metadata()?.len();
        file.by_ref().take(BYTE_ORDER_MARK.len() as u64).read_to_end(&mut first)?;
        let skipped = if first == BYTE_ORDER_MARK && rule.head { first.len() as u64 } else { 0 };
        let all = Bytes { input, length, skipped, head: 0 };
        let head = if rule.head { rule.places((skipped, 0, 0), all.of(&(skipped..length))?, &[1])?[0] } else { 0 };
        // A first row without an end is the only one.
        Ok(Bytes { head: if rule.head && head == 0 { length } else { head }, ..all })
    }

    /// The bytes that one of so many processes passes over.
    fn range(&self, rank: usize, count: usize) -> Range<u64> {
        let length = self.length - self.skipped;
        let start = |rank: usize| self.skipped + (u128::from(length) * rank as u128 / count as u128) as u64;
        start(rank)..start(rank + 1)
    }

    fn of(&self, range: &Range<u64>) -> io::Result<impl Read + use<>> {
        let mut file = File::open(self.input.path())?;
        file.seek(SeekFrom::Start(range.start))?;
        Ok(file.take(range.end - range.start))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where the rows of a text end, by the rule, and how many rows there are.
    fn rows(rule: &Rule, text: &[u8]) -> (Vec<u64>, usize) {
        let (state, ended) = rule.run(0, text);
        let wanted: Vec<u64> = (1..=ended).collect();
        (rule.places((0, 0, 0), text, &wanted).unwrap(), ended as usize + usize::from(rule.within[usize::from(state)]))
    }

    /// Texts of up to seven of these characters, all of them.
    fn texts() -> impl Iterator<Item = Vec<u8>> {
        let letters = b"a,\"\n\r ";
        (0..=6u32).flat_map(move |length| {
            (0..(letters.len() as u32).pow(length)).map(move |mut code| {
                let mut letter = || (letters[code as usize % letters.len()], code /= letters.len() as u32).0;
                (0..length).map(|_| letter()).collect()
            })
        })
    }

    #[test]
    fn rows_end_where_the_reader_ends_them() {
        let rule = Rule::csv(b',', false);
        for text in texts() {
            let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(&text[..]);
            let begins: Vec<u64> = reader.byte_records().map(|row| row.unwrap().position().unwrap().byte()).collect();
            let (ends, count) = rows(&rule, &text);
            assert_eq!(count, begins.len(), "{:?}", String::from_utf8_lossy(&text));
            for (end, begin) in ends.iter().zip(begins.iter().skip(1)) {
                let between = &text[(*end).min(*begin) as usize..(*end).max(*begin) as usize];
                assert!(between.iter().all(|byte| matches!(byte, b'\n' | b'\r')), "{:?}", String::from_utf8_lossy(&text));
            }
        }
    }

    #[test]
    fn a_range_is_summed_up_from_any_state() {
        for rule in [Rule::csv(b',', true), Rule::lines()] {
            for text in texts().filter(|text| text.len() == 6) {
                for cut in 0..=text.len() {
                    let (first, second) = text.split_at(cut);
                    let (state, rows) = rule.summary(first).unwrap()[0];
                    let (end, more) = rule.summary(second).unwrap()[usize::from(state)];
                    assert_eq!((end, rows + more), rule.run(0, &text));
                }
            }
        }
    }

    #[test]
    fn lines_that_are_blank_or_comments_are_no_rows() {
        let text = b"# a\n1 2:3 # b\n \t\n\r\n 0 1:1\n#\n1";
        assert_eq!(rows(&Rule::lines(), text), (vec![14, 26], 3));
    }
}
