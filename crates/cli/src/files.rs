//! Output files, opened before the run starts so that a wrong path costs no computation.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::style::UNUSUAL;

/// Makes sure that a file can be written later on, and leaves everything as it was.
pub fn check(path: &Path) -> Result<(), Error> {
    let existing = std::fs::symlink_metadata(path).ok().filter(|data| !data.is_symlink());
    let possible = match existing {
        // A pipe that nobody reads yet would have to be waited for.
        Some(data) if !data.is_file() && !data.is_dir() => Ok(()),
        Some(_) => OpenOptions::new().write(true).open(path).map(|_| ()),
        None if is_device(path) => OpenOptions::new().write(true).open(path).map(|_| ()),
        // A link would be replaced, so that what it leads to does not matter.
        None => tempfile::tempfile_in(folder(path)).map(|_| ()),
    };
    possible.map_err(|cause| Error::Unwritable { path: path.to_owned(), cause })
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Puts bytes into a file, all of them or none; into a pipe or a terminal as they come.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let is_file = std::fs::metadata(path).map_or(true, |data| data.is_file() || data.is_dir());
    let written = match is_file && !is_device(path) {
        true => tangor_solver::write_whole_file(path, bytes),
        false => OpenOptions::new().write(true).open(path).and_then(|mut file| file.write_all(bytes)),
    };
    written.map_err(|cause| Error::Unwritable { path: path.to_owned(), cause })
}

/// Whether a path is one of the system's names for something that is open already: it is written to, never replaced.
fn is_device(path: &Path) -> bool {
    path.starts_with("/dev/") || path.starts_with("/proc/")
}

/// Tells at once that a file cannot be written, while the run goes on.
pub fn warn(path: &Path, cause: &dyn std::fmt::Display) {
    // Without a standard error there is nobody to tell.
    let _ = writeln!(
        anstream::stderr(),
        "{UNUSUAL}warning:{UNUSUAL:#} the file {} cannot be written: {cause}; the run goes on and tries again",
        path.display()
    );
}

/// The extension in lower case, or nothing.
pub fn extension(path: &Path) -> String {
    path.extension().map(|extension| extension.to_string_lossy().to_lowercase()).unwrap_or_default()
}

/// Refuses two outputs that would overwrite each other, by whatever names they go. Standard output is one, too.
pub fn all_different(outputs: &[Option<&PathBuf>]) -> Result<(), Error> {
    let mut found: Vec<Identity> = standard_output().into_iter().collect();
    for path in outputs.iter().copied().flatten() {
        let identity = Identity::of(path);
        if found.contains(&identity) {
            return Err(Error::NamedTwice(path.clone()));
        }
        found.push(identity);
    }
    Ok(())
}

/// Refuses an output that would overwrite an input.
pub fn none_is_read(outputs: &[Option<&PathBuf>], inputs: &[Option<&PathBuf>]) -> Result<(), Error> {
    let read: Vec<Identity> = inputs.iter().copied().flatten().map(|path| Identity::of(path)).collect();
    match outputs.iter().copied().flatten().find(|path| read.contains(&Identity::of(path))) {
        Some(path) => Err(Error::Overwritten(path.clone())),
        None => Ok(()),
    }
}

/// What makes a file the same as another.
#[derive(Debug, PartialEq, Eq)]
enum Identity {
    /// Of a file that exists: device and number, so that links are seen through.
    #[cfg(unix)]
    Number(u64, u64),
    /// Of one that does not: its folder without detours, and its name.
    Path(PathBuf),
}

impl Identity {
    fn of(path: &Path) -> Identity {
        #[cfg(unix)]
        if let Ok(data) = std::fs::metadata(path) {
            use std::os::unix::fs::MetadataExt;
            return Identity::Number(data.dev(), data.ino());
        }
        if let Ok(whole) = path.canonicalize() {
            return Identity::Path(whole);
        }
        let path = &led_to(path);
        match (folder(path).canonicalize(), path.file_name()) {
            (Ok(folder), Some(name)) => Identity::Path(folder.join(name)),
            _ => Identity::Path(path.to_owned()),
        }
    }
}

/// Where a link leads that leads to nothing yet: to open it would make a file there. No system follows more links than these.
fn led_to(path: &Path) -> PathBuf {
    let mut path = path.to_owned();
    for _ in 0..40 {
        let Ok(next) = std::fs::read_link(&path) else { break };
        path = folder(&path).join(next);
    }
    path
}

/// The file that standard output was sent to, if it is one.
#[cfg(unix)]
fn standard_output() -> Option<Identity> {
    use std::os::fd::AsFd;
    use std::os::unix::fs::MetadataExt;
    let file = File::from(std::io::stdout().as_fd().try_clone_to_owned().ok()?);
    let data = file.metadata().ok().filter(std::fs::Metadata::is_file)?;
    Some(Identity::Number(data.dev(), data.ino()))
}

#[cfg(not(unix))]
fn standard_output() -> Option<Identity> {
    None
}
