//! Rows that do not end: a device, a pipe, or a quote that nobody closes would fill the memory with one row.

use std::cell::Cell;
use std::io::{self, Read};
use std::rc::Rc;

use tangor_problem::MemoryLimit;

/// Of a row of nothing but separators, so much is made of each byte at most: a field, its place, its name, and where that is found.
const PER_BYTE: u64 = 256;

/// How many bytes may still be read for one row.
#[derive(Clone, Debug)]
pub(crate) struct Ration {
    longest: u64,
    left: Rc<Cell<u64>>,
}

impl Default for Ration {
    fn default() -> Self {
        Ration::new(MemoryLimit::of_this_machine())
    }
}

impl Ration {
    fn new(limit: MemoryLimit) -> Self {
        let longest = limit.0 / PER_BYTE;
        Ration { longest, left: Rc::new(Cell::new(longest)) }
    }

    /// A reader that ends with an error where a row is longer than it may be.
    pub fn of(&self, source: Box<dyn Read>) -> Box<dyn Read> {
        Box::new(Rationed { source, ration: self.clone() })
    }

    /// The next row begins.
    pub fn renew(&self) {
        self.left.set(self.longest);
    }
}

struct Rationed {
    source: Box<dyn Read>,
    ration: Ration,
}

impl Read for Rationed {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let (longest, left) = (self.ration.longest, self.ration.left.get());
        if left == 0 {
            let message = format!("a row has more than {longest} bytes, and what is made of it would not fit into memory");
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
        }
        // What a buffer takes beyond the end of a row belongs to the next one: at most a buffer is counted too early.
        let count = self.source.read(out)?;
        self.ration.left.set(left.saturating_sub(count as u64));
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_rows_are_read_and_one_without_an_end_is_not() {
        let ration = Ration::new(MemoryLimit(PER_BYTE * 100));
        let mut reader = ration.of(Box::new(io::repeat(b',')));
        let mut row = [0; 60];
        for _ in 0..1000 {
            ration.renew();
            reader.read_exact(&mut row).expect("a row");
        }
        let error = io::copy(&mut reader, &mut io::sink()).expect_err("no end");
        assert!(error.to_string().contains("a row has more than 100 bytes"), "{error}");
    }
}
