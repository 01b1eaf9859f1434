//! Text that can be read more than once: a file, or all that standard input gave.

use std::fmt;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tangor_problem::MemoryLimit;

use crate::Error;
use crate::cut::Part;
use crate::error::STANDARD_INPUT;

/// How much of an input is read at once.
const CHUNK: usize = 1 << 16;

/// A watcher is told after so many bytes.
const WATCHED: u64 = 1 << 20;

/// The first bytes of a Parquet file.
const PARQUET: &[u8] = b"PAR1";

/// Where a table comes from.
#[derive(Clone, Debug)]
pub struct Input {
    path: PathBuf,
    /// What was read already, where it cannot be read again.
    kept: Option<Arc<Vec<u8>>>,
    latin1: bool,
    watcher: Option<Watcher>,
    /// The rows that are read, where others are read by other processes.
    part: Option<Part>,
}

/// Is told from time to time how many bytes of a file were read, and of how many; more than once where it is read more than once.
#[derive(Clone)]
pub struct Watcher(Arc<dyn Fn(u64, u64) + Send + Sync>);

impl Watcher {
    /// Tells this function.
    pub fn new(tell: impl Fn(u64, u64) + Send + Sync + 'static) -> Self {
        Watcher(Arc::new(tell))
    }

    pub(crate) fn tell(&self, read: u64, length: u64) {
        (self.0)(read, length);
    }
}

impl fmt::Debug for Watcher {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Watcher")
    }
}

impl From<&Path> for Input {
    fn from(path: &Path) -> Self {
        Input { path: path.to_path_buf(), kept: None, latin1: false, watcher: None, part: None }
    }
}

impl From<&PathBuf> for Input {
    fn from(path: &PathBuf) -> Self {
        Input::from(path.as_path())
    }
}

impl Input {
    /// All that standard input gives, as far as the limit goes, kept in memory because tables are read more than once.
    pub fn standard_input(limit: MemoryLimit) -> Result<Self, Error> {
        let path = PathBuf::from(STANDARD_INPUT);
        let unreadable = |cause| Error::Unreadable { file: path.clone(), cause };
        let (mut kept, mut stdin) = (Vec::new(), io::stdin().lock());
        while stdin.by_ref().take(CHUNK as u64).read_to_end(&mut kept).map_err(unreadable)? > 0 {
            limit.check(2 * kept.len() as u128, || "all that standard input gives".to_string())?;
        }
        Ok(Input { path, kept: Some(Arc::new(kept)), latin1: false, watcher: None, part: None })
    }

    /// Standard input that another process reads.
    pub fn nowhere() -> Self {
        Input { path: PathBuf::from(STANDARD_INPUT), kept: Some(Arc::default()), latin1: false, watcher: None, part: None }
    }

    /// Takes every byte for a letter of Latin-1 instead of reading UTF-8.
    pub fn latin1(mut self, latin1: bool) -> Self {
        self.latin1 = latin1;
        self
    }

    /// Has somebody told how far it was read, if it is a file.
    pub fn watched(mut self, watcher: Watcher) -> Self {
        self.watcher = Some(watcher);
        self
    }

    /// A part of it alone.
    pub(crate) fn part(&self, part: Part) -> Self {
        Input { part: Some(part), ..self.clone() }
    }

    /// The file, where a part of it can be read without what stands before: not one whose letters become others.
    pub(crate) fn seekable(&self) -> Option<&Path> {
        (self.kept.is_none() && !self.latin1).then_some(&self.path)
    }

    /// What to call it in messages.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What to call its data.
    pub fn name(&self) -> String {
        self.unpacked_path().file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
    }

    /// Its path without the ending of a packed file.
    pub fn unpacked_path(&self) -> PathBuf {
        let packed =
            self.path.extension().is_some_and(|ending| ["gz", "zst"].iter().any(|known| ending.eq_ignore_ascii_case(known)));
        if packed { self.path.with_extension("") } else { self.path.clone() }
    }

    /// Whether it is a Parquet file, which its first bytes tell. Its text is made here: the separator is a comma, and numbers have points.
    pub fn is_parquet(&self) -> Result<bool, Error> {
        let mut first = Vec::new();
        self.packed()?.take(PARQUET.len() as u64).read_to_end(&mut first).map_err(|cause| self.unreadable(cause))?;
        Ok(first == PARQUET)
    }

    /// The bytes as they are.
    fn packed(&self) -> Result<Box<dyn Read>, Error> {
        Ok(match &self.kept {
            Some(kept) => Box::new(io::Cursor::new(Kept(Arc::clone(kept)))),
            None => {
                let file = File::open(&self.path).map_err(|cause| self.unreadable(cause))?;
                match &self.watcher {
                    None => Box::new(file),
                    Some(watcher) => Box::new(Watched::new(file, watcher.clone())),
                }
            }
        })
    }

    #[cfg(feature = "parquet")]
    fn parquet(&self) -> Result<Box<dyn Read>, Error> {
        let rows = match &self.kept {
            Some(kept) => crate::parquet::of_bytes(kept),
            None => {
                let part =
                    self.part.as_ref().and_then(|part| if let Part::Rows(rows) = part { Some(rows.clone()) } else { None });
                File::open(&self.path).and_then(|file| crate::parquet::of_file(file, part, self.watcher.clone()))
            }
        };
        Ok(Box::new(rows.map_err(|cause| self.unreadable(cause))?))
    }

    /// How many rows it has, if it is a Parquet file.
    #[cfg(feature = "parquet")]
    pub(crate) fn parquet_rows(&self) -> Result<Option<usize>, Error> {
        let rows = || File::open(&self.path).and_then(crate::parquet::rows).map_err(|cause| self.unreadable(cause));
        self.is_parquet()?.then(rows).transpose()
    }

    /// There are none without the feature.
    #[cfg(not(feature = "parquet"))]
    pub(crate) fn parquet_rows(&self) -> Result<Option<usize>, Error> {
        if self.is_parquet()? { self.parquet().map(|_| None) } else { Ok(None) }
    }

    #[cfg(not(feature = "parquet"))]
    fn parquet(&self) -> Result<Box<dyn Read>, Error> {
        let message = "it is a Parquet file, and this program was built without them: cargo build --features parquet reads them, or save the \
                       table as CSV";
        Err(self.unusable(message))
    }

    /// Begins at the beginning; of a part, with the first row of the whole.
    pub(crate) fn reader(&self) -> Result<Box<dyn Read>, Error> {
        if self.is_parquet()? {
            return self.parquet();
        }
        if let Some(Part::Bytes { range, .. }) = &self.part {
            return self.bytes_of(range.clone()).map_err(|cause| self.unreadable(cause));
        }
        let bytes = unpacked(self.packed()?).map_err(|cause| self.unreadable(cause))?;
        Ok(if self.latin1 { Box::new(Latin1 { bytes, waiting: None }) } else { bytes })
    }

    fn bytes_of(&self, range: Range<u64>) -> io::Result<Box<dyn Read>> {
        let (head, mut file) = (File::open(&self.path)?.take(self.head()), File::open(&self.path)?);
        file.seek(SeekFrom::Start(range.start))?;
        let length = range.end - range.start;
        let rows = match &self.watcher {
            None => Box::new(file) as Box<dyn Read>,
            Some(watcher) => Box::new(Watched { length, ..Watched::new(file, watcher.clone()) }),
        };
        Ok(Box::new(head.chain(rows.take(length))))
    }

    /// Bytes of the first row that stand before those of a part which has other rows.
    fn head(&self) -> u64 {
        match &self.part {
            Some(Part::Bytes { head, range }) if range.start >= *head => *head,
            _ => 0,
        }
    }

    /// Whether the first row that is read belongs to another part, if it has no names.
    pub(crate) fn repeats_first_row(&self) -> bool {
        self.head() > 0
    }

    /// Where a row is in the whole, of which this may be a part: its first byte, or if it is a Parquet file its number.
    pub(crate) fn place(&self, position: &csv::Position, is_parquet: bool) -> u64 {
        match &self.part {
            Some(Part::Rows(rows)) if position.record() > 0 => rows.start + position.record(),
            Some(Part::Bytes { range, .. }) if position.byte() >= self.head() => range.start + position.byte() - self.head(),
            _ if is_parquet => position.record(),
            _ => position.byte(),
        }
    }

    /// Its first bytes, up to this many; those of the whole.
    pub(crate) fn beginning(&self, most: usize) -> Result<Vec<u8>, Error> {
        Input { part: None, ..self.clone() }.bytes(0, most)
    }

    /// The bytes from a place on, up to this many.
    pub(crate) fn bytes(&self, from: u64, most: usize) -> Result<Vec<u8>, Error> {
        let (mut reader, mut bytes) = (self.reader()?, Vec::new());
        let skipped = io::copy(&mut reader.by_ref().take(from), &mut io::sink());
        let read = skipped.and_then(|_| reader.take(most as u64).read_to_end(&mut bytes));
        read.map_err(|cause| self.unreadable(cause))?;
        Ok(bytes)
    }

    /// The line, counted from 1, of the first byte at or after a place of the whole that ends no line. Lines end with `\n`, `\r\n` or `\r`;
    /// each row of a Parquet file is one, after the names.
    pub(crate) fn line_of(&self, place: u64) -> u64 {
        let whole = Input { part: None, watcher: None, ..self.clone() };
        if whole.is_parquet().unwrap_or(false) {
            return place + 1;
        }
        // An input that could be read a moment ago and cannot now has no lines to tell.
        let Ok(mut reader) = whole.reader() else { return 0 };
        let (mut line, mut at, mut after_return, mut bytes) = (1, 0, false, [0; CHUNK]);
        loop {
            let count = match reader.read(&mut bytes) {
                Ok(count) if count > 0 => count,
                _ => return line,
            };
            for &byte in &bytes[..count] {
                if at >= place && byte != b'\n' && byte != b'\r' {
                    return line;
                }
                line += u64::from(byte == b'\r' || (byte == b'\n' && !after_return));
                after_return = byte == b'\r';
                at += 1;
            }
        }
    }

    /// How many lines end with `\n` before the part that is read.
    pub(crate) fn lines_before(&self) -> u64 {
        let Some(Part::Bytes { range, .. }) = &self.part else { return 0 };
        let Ok(file) = File::open(&self.path) else { return 0 };
        let bytes = io::BufReader::new(file.take(range.start)).bytes();
        bytes.map_while(Result::ok).filter(|byte| *byte == b'\n').count() as u64
    }

    pub(crate) fn unreadable(&self, cause: io::Error) -> Error {
        Error::Unreadable { file: self.path.clone(), cause }
    }

    pub(crate) fn unusable(&self, message: &str) -> Error {
        Error::File { file: self.path.clone(), message: message.to_string() }
    }
}

/// Whether gzip or zstd packed what begins with these bytes.
pub(crate) fn packing(first: &[u8]) -> (bool, bool) {
    (first.starts_with(&[0x1f, 0x8b]), first.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]))
}

/// What gzip or zstd packed, which its first bytes tell; all else as it is.
fn unpacked(mut bytes: Box<dyn Read>) -> io::Result<Box<dyn Read>> {
    let mut first = Vec::new();
    bytes.by_ref().take(4).read_to_end(&mut first)?;
    let (gzip, zstd) = packing(&first);
    let all = io::Cursor::new(first).chain(bytes);
    Ok(match (gzip, zstd) {
        (true, _) => Box::new(flate2::read::MultiGzDecoder::new(all)),
        (_, true) => Box::new(zstd::stream::read::Decoder::new(all)?),
        _ => Box::new(all),
    })
}

/// A file whose reading is watched. A pipe has no length, and nothing is told of it.
struct Watched {
    file: File,
    watcher: Watcher,
    length: u64,
    read: u64,
    told: u64,
}

impl Watched {
    fn new(file: File, watcher: Watcher) -> Self {
        let length = file.metadata().map_or(0, |about| about.len());
        Watched { file, watcher, length, read: 0, told: 0 }
    }
}

impl Read for Watched {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(out)?;
        self.read += count as u64;
        if self.length > 0 && self.read >= self.told + WATCHED {
            self.told = self.read;
            self.watcher.tell(self.read, self.length);
        }
        Ok(count)
    }
}

struct Kept(Arc<Vec<u8>>);

impl AsRef<[u8]> for Kept {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// Latin-1 as UTF-8. A letter becomes two bytes at most; the second one waits where there was no room for it.
struct Latin1 {
    bytes: Box<dyn Read>,
    waiting: Option<u8>,
}

impl Read for Latin1 {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if let (Some(first), Some(byte)) = (out.first_mut(), self.waiting) {
            (*first, self.waiting) = (byte, None);
            return Ok(1);
        }
        let mut bytes = vec![0; out.len().div_ceil(2).min(CHUNK)];
        let count = self.bytes.read(&mut bytes)?;
        let mut end = 0;
        for &byte in &bytes[..count] {
            let mut letter = [0; 2];
            for byte in char::from(byte).encode_utf8(&mut letter).bytes() {
                match out.get_mut(end) {
                    Some(room) => *room = byte,
                    None => self.waiting = Some(byte),
                }
                end += 1;
            }
        }
        Ok(end.min(out.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(text: &[u8]) -> Input {
        Input { path: PathBuf::from("t"), kept: Some(Arc::new(text.to_vec())), latin1: false, watcher: None, part: None }
    }

    #[test]
    fn lines_are_counted_however_they_end() {
        let text = b"ab\r\n\r\ncd\nef\rgh";
        let lines = [0, 2, 4, 6, 9, 12].map(|place| input(text).line_of(place));
        assert_eq!(lines, [1, 3, 3, 3, 4, 5]);
    }

    #[test]
    fn packed_text_is_unpacked_whatever_its_name() {
        let text = "a,b\n1,2\n".repeat(1000);
        let packed = |text: &str| {
            let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            io::Write::write_all(&mut gzip, text.as_bytes()).unwrap();
            [gzip.finish().unwrap(), zstd::encode_all(text.as_bytes(), 1).unwrap()]
        };
        let read = |bytes: &[u8]| {
            let mut read = String::new();
            input(bytes).reader().unwrap().read_to_string(&mut read).map(|_| read)
        };
        for bytes in packed(&text) {
            assert!(bytes.len() < text.len() / 10);
            assert_eq!(read(&bytes).unwrap(), text);
            // What was cut off is no shorter table.
            assert!(read(&bytes[..bytes.len() - 9]).is_err());
            assert_eq!(input(&bytes).line_of(8), 3);
        }
        // Several packed texts after each other are one, as for gzip and zstd themselves.
        for (first, second) in packed("a,b\n").into_iter().zip(packed("1,2\n")) {
            assert_eq!(read(&[first, second].concat()).unwrap(), "a,b\n1,2\n");
        }
        let named = |name: &str| Input::from(Path::new(name)).name();
        assert_eq!([named("x/people.csv.gz"), named("people.csv"), named("people.libsvm.zst")], ["people"; 3]);
    }

    #[test]
    fn a_watcher_is_told_how_far_a_file_was_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("long.csv");
        std::fs::write(&path, vec![b'a'; 3 << 20]).unwrap();
        let told = Arc::new(std::sync::Mutex::new(Vec::new()));
        let teller = Arc::clone(&told);
        let input = Input::from(&path).watched(Watcher::new(move |read, length| teller.lock().unwrap().push((read, length))));
        let mut text = Vec::new();
        input.reader().unwrap().read_to_end(&mut text).unwrap();
        let told = told.lock().unwrap();
        assert!(
            told.len() >= 2 && told.windows(2).all(|pair| pair[0].0 < pair[1].0) && told.iter().all(|one| one.1 == 3 << 20)
        );
    }

    #[test]
    fn latin1_becomes_utf8() {
        let mut text = String::new();
        input(b"caf\xe9;\xdf").latin1(true).reader().unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "café;ß");
        // A buffer may end within a letter, as the first so many bytes of a file do.
        for room in 1..5 {
            let (mut reader, mut text) = (input(b"caf\xe9\xe9;\xdf").latin1(true).reader().unwrap(), Vec::new());
            let mut buffer = vec![0; room];
            while let count @ 1.. = reader.read(&mut buffer).unwrap() {
                text.extend_from_slice(&buffer[..count]);
            }
            assert_eq!(String::from_utf8(text).unwrap(), "caféé;ß", "{room} at a time");
        }
        for most in 0..=8 {
            let beginning = input(b"caf\xe9\xe9;\xdf").latin1(true).beginning(most).unwrap();
            assert_eq!(beginning, "caféé;ß".as_bytes()[..most]);
        }
    }
}
