//! Rows that do not fit into memory, in a binary file that is written once and read block by block.
//!
//! A block is the number of its rows, where the sparse entries of each end, all dense values, and the sparse entries, in numbers of four bytes, the least
//! byte first. Where blocks begin stays in memory. Each thread keeps the block that it read last.

use std::cell::RefCell;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use tangor_problem::MemoryLimit;

use crate::Error;
use crate::matrix::{Entry, Matrix};

/// A block of rows has so many bytes or a few more: a single row that is drawn costs as much to read.
const BLOCK: usize = 1 << 16;

/// Rows take at most this share of the memory that there is: while they grow, they are there twice and have room for as many.
const SHARE: u64 = 3;

/// Numbers that tell caches and their files apart.
static COUNT: AtomicU64 = AtomicU64::new(1);

/// How much memory rows may take before they go to a file, and the folder of that file.
#[derive(Clone, Debug)]
pub(crate) struct Room {
    most: u64,
    folder: PathBuf,
}

impl Room {
    /// A share of the limit; the folder for temporary files if none is given.
    pub fn new(limit: MemoryLimit, folder: Option<&Path>) -> Self {
        Room { most: limit.0 / SHARE, folder: folder.map_or_else(std::env::temp_dir, Path::to_path_buf) }
    }

    pub fn is_full(&self, rows: &Matrix) -> bool {
        rows.bytes() as u64 > self.most
    }

    /// What somebody should know whose rows are in a file.
    pub fn remark(&self) -> String {
        format!(
            "the features take more than a third of the memory that there is (--memory-limit), so they are read from a file in {} (--cache)",
            self.folder.display()
        )
    }

    fn wrong(&self, cause: io::Error) -> Error {
        Error::Cache { folder: self.folder.clone(), cause }
    }
}

/// A file that rows are written to.
pub(crate) struct Writer {
    file: BufWriter<File>,
    leftover: Leftover,
    room: Room,
    /// The rows of the next block.
    block: Matrix,
    firsts: Vec<usize>,
    offsets: Vec<u64>,
    rows: usize,
    numbers: usize,
}

impl Writer {
    /// Begins with rows that are there already.
    pub fn new(room: Room, rows: &Matrix) -> Result<Self, Error> {
        let (file, leftover) = create(&room.folder).map_err(|cause| room.wrong(cause))?;
        let (file, block) = (BufWriter::new(file), Matrix::new(rows.width));
        let mut writer = Writer { file, leftover, room, block, firsts: Vec::new(), offsets: vec![0], rows: 0, numbers: 0 };
        for i in 0..rows.rows() {
            let (dense, sparse) = rows.row(i);
            writer.push(dense, sparse.iter().copied())?;
        }
        Ok(writer)
    }

    pub fn push(&mut self, dense: &[f32], sparse: impl IntoIterator<Item = Entry>) -> Result<(), Error> {
        self.block.push(dense, sparse);
        if self.block.bytes() >= BLOCK { self.write() } else { Ok(()) }
    }

    fn write(&mut self) -> Result<(), Error> {
        let words = |numbers: usize| 4 * numbers as u64;
        let length = words(1 + self.block.ends.len() + self.block.dense.len() + 2 * self.block.sparse.len());
        self.write_block().map_err(|cause| self.room.wrong(cause))?;
        self.firsts.push(self.rows);
        self.offsets.push(self.offsets[self.offsets.len() - 1] + length);
        self.rows += self.block.rows();
        self.numbers += self.block.numbers();
        self.block.clear();
        Ok(())
    }

    fn write_block(&mut self) -> io::Result<()> {
        let short = |number: usize| u32::try_from(number).map_err(|_| io::Error::other("a row is too long"));
        self.file.write_all(&short(self.block.rows())?.to_le_bytes())?;
        for &end in &self.block.ends {
            self.file.write_all(&short(end)?.to_le_bytes())?;
        }
        for value in &self.block.dense {
            self.file.write_all(&value.to_le_bytes())?;
        }
        for entry in &self.block.sparse {
            self.file.write_all(&entry.column.to_le_bytes())?;
            self.file.write_all(&entry.value.to_le_bytes())?;
        }
        Ok(())
    }

    /// All rows are there.
    pub fn finish(mut self) -> Result<Cache, Error> {
        if self.block.rows() > 0 {
            self.write()?;
        }
        let Writer { file, leftover, room, block, firsts, offsets, rows, numbers } = self;
        let file = file.into_inner().map_err(|error| room.wrong(error.into_error()))?;
        let id = COUNT.fetch_add(1, Ordering::Relaxed);
        Ok(Cache {
            id,
            file,
            _leftover: leftover,
            width: block.width,
            firsts,
            offsets,
            rows,
            numbers,
            trouble: OnceLock::new(),
        })
    }
}

/// A new file; where an open file needs no name it has none from here on, so that nothing is left whatever ends the program.
fn create(folder: &Path) -> io::Result<(File, Leftover)> {
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let path = folder.join(format!("tangor-{}-{number}.cache", std::process::id()));
    let file = OpenOptions::new().read(true).write(true).create_new(true).open(&path)?;
    if cfg!(unix) {
        fs::remove_file(&path)?;
        return Ok((file, Leftover(None)));
    }
    Ok((file, Leftover(Some(path))))
}

/// A file to remove in the end, if there is one.
#[derive(Debug)]
struct Leftover(Option<PathBuf>);

impl Drop for Leftover {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            // Nobody is left to tell.
            let _ = fs::remove_file(path);
        }
    }
}

/// Rows in a file.
#[derive(Debug)]
pub(crate) struct Cache {
    id: u64,
    file: File,
    _leftover: Leftover,
    width: usize,
    /// The first row of each block, where it begins, and where the last one ends.
    firsts: Vec<usize>,
    offsets: Vec<u64>,
    rows: usize,
    numbers: usize,
    /// Why a row could not be read.
    trouble: OnceLock<String>,
}

impl Cache {
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// How many dense values a row has.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Numbers that one pass over all rows reads.
    pub fn numbers(&self) -> usize {
        self.numbers
    }

    /// Bytes of the file.
    pub fn bytes(&self) -> u64 {
        self.offsets[self.offsets.len() - 1]
    }

    /// The first thing that went wrong.
    pub fn trouble(&self) -> Option<&str> {
        self.trouble.get().map(String::as_str)
    }

    /// Does something with a row; none if it cannot be read.
    pub fn with_row<T>(&self, i: usize, use_row: impl FnOnce(&[f32], &[Entry]) -> T) -> Option<T> {
        LOADED.with_borrow_mut(|loaded| {
            let there = loaded.cache == self.id && (loaded.first..loaded.first + loaded.rows.rows()).contains(&i);
            if !there && let Err(cause) = self.load(i, loaded) {
                loaded.cache = 0;
                self.trouble.get_or_init(|| format!("a file of features that do not fit into memory cannot be read: {cause}"));
                return None;
            }
            let (dense, sparse) = loaded.rows.row(i - loaded.first);
            Some(use_row(dense, sparse))
        })
    }

    /// Reads the block of a row.
    fn load(&self, i: usize, loaded: &mut Loaded) -> io::Result<()> {
        let damaged = || io::Error::new(io::ErrorKind::InvalidData, "it is not what was written");
        let block = self.firsts.partition_point(|first| *first <= i).checked_sub(1).ok_or_else(damaged)?;
        loaded.bytes.resize((self.offsets[block + 1] - self.offsets[block]) as usize, 0);
        read_at(&self.file, &mut loaded.bytes, self.offsets[block])?;
        let (words, _) = loaded.bytes.as_chunks::<4>();
        let (rows, words) = words.split_first().ok_or_else(damaged)?;
        let rows = u32::from_le_bytes(*rows) as usize;
        let (ends, words) = words.split_at_checked(rows).ok_or_else(damaged)?;
        let (dense, sparse) = words.split_at_checked(rows * self.width).ok_or_else(damaged)?;
        let (pairs, _) = sparse.as_chunks::<2>();
        let matrix = &mut loaded.rows;
        matrix.clear();
        matrix.width = self.width;
        matrix.ends.extend(ends.iter().map(|end| u32::from_le_bytes(*end) as usize));
        matrix.dense.extend(dense.iter().map(|value| f32::from_le_bytes(*value)));
        let entry =
            |[column, value]: &[[u8; 4]; 2]| Entry { column: u32::from_le_bytes(*column), value: f32::from_le_bytes(*value) };
        matrix.sparse.extend(pairs.iter().map(entry));
        let sound = matrix.ends.is_sorted() && matrix.ends.last() == Some(&pairs.len());
        (loaded.cache, loaded.first) = (self.id, self.firsts[block]);
        if sound && i - loaded.first < rows { Ok(()) } else { Err(damaged()) }
    }
}

/// The block that a thread read last.
#[derive(Default)]
struct Loaded {
    /// 0: none.
    cache: u64,
    first: usize,
    rows: Matrix,
    bytes: Vec<u8>,
}

thread_local! {
    static LOADED: RefCell<Loaded> = RefCell::default();
}

#[cfg(unix)]
fn read_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, offset)
}

#[cfg(windows)]
fn read_at(file: &File, mut bytes: &mut [u8], mut offset: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        match std::os::windows::fs::FileExt::seek_read(file, bytes, offset)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => (bytes, offset) = (&mut bytes[count..], offset + count as u64),
        }
    }
    Ok(())
}

#[cfg(not(any(unix, windows)))]
fn read_at(_: &File, _: &mut [u8], _: u64) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_cut_off_is_told_of() {
        let folder = tempfile::tempdir().unwrap();
        let room = Room::new(MemoryLimit(300), Some(folder.path()));
        let mut rows = Matrix::new(2);
        rows.push(&[1.0, 2.0], [Entry { column: 2, value: 3.0 }]);
        assert!(!room.is_full(&rows), "8 + 8 + 8 bytes of 100");
        (0..4).for_each(|_| rows.push(&[1.0, 2.0], [Entry { column: 2, value: 3.0 }]));
        assert!(room.is_full(&rows), "120 bytes");
        let cache = Writer::new(room, &rows).unwrap().finish().unwrap();
        // The number of rows, five ends, ten values and five entries.
        assert_eq!((cache.rows(), cache.numbers(), cache.bytes()), (5, 20, 4 * (1 + 5 + 10 + 10)));
        assert_eq!(
            cache.with_row(4, |dense, sparse| (dense.to_vec(), sparse.to_vec())),
            Some((vec![1.0, 2.0], rows.sparse[..1].to_vec()))
        );
        assert_eq!((cache.with_row(5, |_, _| ()), cache.trouble().is_some()), (None, true), "there is no such row");
        let cache = Cache { id: u64::MAX, trouble: OnceLock::new(), ..cache };
        cache.file.set_len(50).unwrap();
        assert_eq!(cache.with_row(0, |_, _| ()), None);
        let trouble = cache.trouble().unwrap();
        assert!(trouble.starts_with("a file of features that do not fit into memory cannot be read: "), "{trouble}");
    }
}
