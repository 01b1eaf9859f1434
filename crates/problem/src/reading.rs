//! Files that are read as a whole: a device or a pipe without an end is refused as what is too large is, before memory is used up.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use crate::{EndWanted, MemoryLimit, TooLarge};

/// What keeps a reader of files within bounds: a short file can describe a problem without end.
#[derive(Clone)]
pub struct ReadingLimits {
    /// Most memory for what is read.
    pub memory: MemoryLimit,
    /// Asked while a file is read; true ends that.
    pub end_wanted: Option<EndWanted>,
}

impl Default for ReadingLimits {
    /// The machine's memory, and as long as it takes.
    fn default() -> Self {
        ReadingLimits { memory: MemoryLimit::of_this_machine(), end_wanted: None }
    }
}

impl ReadingLimits {
    /// Why reading must end here, if it must, when what was read so far takes so many bytes.
    pub fn refusal(&self, bytes: usize) -> Option<String> {
        if self.end_wanted.as_ref().is_some_and(|end_wanted| end_wanted()) {
            return Some("reading was broken off here".to_string());
        }
        let what = || "what the file describes up to here".to_string();
        self.memory.check(bytes as u128, what).err().map(|too_large| too_large.to_string())
    }
}

impl fmt::Debug for ReadingLimits {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("ReadingLimits").field("memory", &self.memory).finish_non_exhaustive()
    }
}

/// What is made of a text takes several times its size: so many bytes are reckoned for each of the file.
const PER_BYTE: u64 = 8;

impl MemoryLimit {
    /// All bytes of a file, unless it is so large that what is made of it would not fit into memory.
    pub fn read(self, path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
        self.read_from(File::open(path)?)
    }

    /// The same as text, which must be UTF-8.
    pub fn read_text(self, path: impl AsRef<Path>) -> io::Result<String> {
        String::from_utf8(self.read(path)?).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.utf8_error()))
    }

    fn read_from(self, source: impl Read) -> io::Result<Vec<u8>> {
        let most = self.0 / PER_BYTE;
        let mut bytes = Vec::new();
        source.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
        if bytes.len() as u64 <= most {
            return Ok(bytes);
        }
        let needed = u128::from(PER_BYTE) * bytes.len() as u128;
        let what = "a file so large, with what is made of it,".to_string();
        Err(io::Error::new(io::ErrorKind::FileTooLarge, TooLarge { what, needed, limit: self.0 }))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn reading_ends_when_somebody_wants_it_or_memory_does() {
        let within = ReadingLimits { memory: MemoryLimit(1000), end_wanted: None };
        assert_eq!(within.refusal(1000), None);
        let refusal = within.refusal(1001).expect("too large");
        assert!(refusal.starts_with("what the file describes up to here would need 1.0 kB, more than the limit"), "{refusal}");
        let over = ReadingLimits { end_wanted: Some(Arc::new(|| true)), ..within };
        assert_eq!(over.refusal(0).as_deref(), Some("reading was broken off here"));
    }

    #[test]
    fn what_has_no_end_is_refused() {
        let limit = MemoryLimit(800);
        assert_eq!(limit.read_from(io::repeat(7).take(100)).expect("it fits"), [7; 100]);
        for endless in [limit.read_from(io::repeat(7).take(101)), limit.read_from(io::repeat(7))] {
            let error = endless.expect_err("too large");
            assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
            assert!(error.to_string().contains("more than the limit of 800 bytes on memory"), "{error}");
        }
    }

    #[test]
    #[cfg(unix)]
    fn devices_are_read_no_further_than_memory_goes() {
        assert!(MemoryLimit(1 << 20).read("/dev/zero").is_err());
        assert_eq!(MemoryLimit(1 << 20).read_text("/dev/null").expect("empty"), "");
    }
}
