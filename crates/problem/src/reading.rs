//! Files that are read as a whole: a device or a pipe without an end is refused as what is too large is, before memory is used up.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use crate::{MemoryLimit, TooLarge};

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
    use super::*;

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
