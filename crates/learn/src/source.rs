//! Text that can be read more than once: a file, or all that standard input gave.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tangor_problem::MemoryLimit;

use crate::Error;

/// How much of a source is read at once.
const CHUNK: usize = 1 << 16;

/// Where a table comes from.
#[derive(Clone, Debug)]
pub struct Source {
    path: PathBuf,
    /// What was read already, where it cannot be read again.
    kept: Option<Arc<Vec<u8>>>,
    latin1: bool,
}

impl From<&Path> for Source {
    fn from(path: &Path) -> Self {
        Source { path: path.to_path_buf(), kept: None, latin1: false }
    }
}

impl From<&PathBuf> for Source {
    fn from(path: &PathBuf) -> Self {
        Source::from(path.as_path())
    }
}

impl Source {
    /// All that standard input gives, kept in memory because tables are read more than once.
    pub fn standard_input() -> Result<Self, Error> {
        let path = PathBuf::from("standard input");
        let unreadable = |cause| Error::Unreadable { file: path.clone(), cause };
        let (mut kept, mut input, limit) = (Vec::new(), io::stdin().lock(), MemoryLimit::of_this_machine());
        while input.by_ref().take(CHUNK as u64).read_to_end(&mut kept).map_err(unreadable)? > 0 {
            limit.check(2 * kept.len() as u128, || "all that standard input gives".to_string())?;
        }
        Ok(Source { path, kept: Some(Arc::new(kept)), latin1: false })
    }

    /// Takes every byte for a letter of Latin-1 instead of reading UTF-8.
    pub fn latin1(mut self, latin1: bool) -> Self {
        self.latin1 = latin1;
        self
    }

    /// What to call it in messages.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What to call its data.
    pub fn name(&self) -> String {
        self.path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
    }

    /// Begins at the beginning.
    pub(crate) fn reader(&self) -> Result<Box<dyn Read>, Error> {
        let bytes: Box<dyn Read> = match &self.kept {
            Some(kept) => Box::new(io::Cursor::new(Kept(Arc::clone(kept)))),
            None => Box::new(File::open(&self.path).map_err(|cause| self.unreadable(cause))?),
        };
        Ok(if self.latin1 { Box::new(Latin1(bytes)) } else { bytes })
    }

    /// Its first bytes, up to this many.
    pub(crate) fn beginning(&self, most: usize) -> Result<Vec<u8>, Error> {
        self.bytes(0, most)
    }

    /// The bytes from a place on, up to this many.
    pub(crate) fn bytes(&self, from: u64, most: usize) -> Result<Vec<u8>, Error> {
        let (mut reader, mut bytes) = (self.reader()?, Vec::new());
        let skipped = io::copy(&mut reader.by_ref().take(from), &mut io::sink());
        let read = skipped.and_then(|_| reader.take(most as u64).read_to_end(&mut bytes));
        read.map_err(|cause| self.unreadable(cause))?;
        Ok(bytes)
    }

    /// The line, counted from 1, of the first byte at or after a place that ends no line. Lines end with `\n`, `\r\n` or `\r`.
    pub(crate) fn line_of(&self, place: u64) -> u64 {
        // A source that could be read a moment ago and cannot now has no lines to tell.
        let Ok(mut reader) = self.reader() else { return 0 };
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

    pub(crate) fn unreadable(&self, cause: io::Error) -> Error {
        Error::Unreadable { file: self.path.clone(), cause }
    }

    pub(crate) fn unusable(&self, message: &str) -> Error {
        Error::File { file: self.path.clone(), message: message.to_string() }
    }
}

struct Kept(Arc<Vec<u8>>);

impl AsRef<[u8]> for Kept {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// Latin-1 as UTF-8.
struct Latin1(Box<dyn Read>);

impl Read for Latin1 {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        // A letter becomes two bytes at most. A buffer of one byte is read as if it had room; nobody here gives one.
        let mut bytes = vec![0; (out.len() / 2).clamp(1, CHUNK)];
        let count = self.0.read(&mut bytes)?;
        let mut end = 0;
        for &byte in &bytes[..count] {
            let mut letter = [0; 2];
            let letter = char::from(byte).encode_utf8(&mut letter).as_bytes();
            let Some(room) = out.get_mut(end..end + letter.len()) else {
                return Err(io::Error::other("the buffer is too small for a letter"));
            };
            room.copy_from_slice(letter);
            end += letter.len();
        }
        Ok(end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(text: &[u8]) -> Source {
        Source { path: PathBuf::from("t"), kept: Some(Arc::new(text.to_vec())), latin1: false }
    }

    #[test]
    fn lines_are_counted_however_they_end() {
        let text = b"ab\r\n\r\ncd\nef\rgh";
        let lines = [0, 2, 4, 6, 9, 12].map(|place| source(text).line_of(place));
        assert_eq!(lines, [1, 3, 3, 3, 4, 5]);
    }

    #[test]
    fn latin1_becomes_utf8() {
        let mut text = String::new();
        source(b"caf\xe9;\xdf").latin1(true).reader().unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "café;ß");
    }
}
