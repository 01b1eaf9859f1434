//! Output files, opened before the run starts so that a wrong path costs no computation.

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};

use crate::error::Error;

/// Opens a file for writing without touching what is in it.
pub fn open(path: &Path) -> Result<File, Error> {
    let opened = OpenOptions::new().write(true).create(true).truncate(false).open(path);
    opened.map_err(|cause| Error::Unwritable { path: path.to_owned(), cause })
}

/// The extension in lower case, or nothing.
pub fn extension(path: &Path) -> String {
    path.extension().map(|extension| extension.to_string_lossy().to_lowercase()).unwrap_or_default()
}

/// Refuses two outputs that would overwrite each other.
pub fn all_different(paths: &[Option<&PathBuf>]) -> Result<(), Error> {
    let paths: Vec<&PathBuf> = paths.iter().copied().flatten().collect();
    match (1..paths.len()).find(|&k| paths[..k].contains(&paths[k])) {
        Some(k) => Err(Error::NamedTwice(paths[k].clone())),
        None => Ok(()),
    }
}
