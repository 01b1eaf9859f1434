//! Files that are written whole or not at all.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// How much is written at once.
const CHUNK: usize = 1 << 16;

/// What is done on the way; a test lets each fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Create,
    Permissions,
    Write,
    Sync,
    Rename,
}

/// Puts bytes into a file: a failure or a kill at any moment leaves the old content or the new one. What is written first goes by the
/// same name with `.part` at its end, which a failure takes away again and only a kill can leave behind, until the next time.
///
/// Owner and permissions of a file that is there are kept; a link is replaced and never followed; what is no file at all is refused, and so is a
/// link to such a thing, as `/dev/stdout` is one.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    write_in_steps(path, bytes, &mut |_| Ok(()))
}

fn write_in_steps(path: &Path, bytes: &[u8], before: &mut dyn FnMut(Step) -> io::Result<()>) -> io::Result<()> {
    let existing = fs::symlink_metadata(path).ok();
    let is_link = existing.as_ref().is_some_and(fs::Metadata::is_symlink);
    if !is_ordinary(existing.as_ref()) || (is_link && !is_ordinary(fs::metadata(path).ok().as_ref())) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not an ordinary file"));
    }
    let existing = existing.filter(fs::Metadata::is_file);
    let part = part(path);
    let written = fill(&part, bytes, existing.as_ref(), before).and_then(|()| {
        before(Step::Rename)?;
        fs::rename(&part, path)
    });
    written.inspect_err(|_| {
        // What cannot be taken away now is in the way of the next attempt, which begins with taking it away.
        let _ = fs::remove_file(&part);
    })
}

/// Whether there is nothing yet, a file, or a link.
fn is_ordinary(existing: Option<&fs::Metadata>) -> bool {
    existing.is_none_or(|data| data.is_file() || data.is_symlink())
}

fn part(path: &Path) -> PathBuf {
    let mut name = OsString::from(path.as_os_str());
    name.push(".part");
    PathBuf::from(name)
}

fn fill(
    part: &Path,
    bytes: &[u8],
    existing: Option<&fs::Metadata>,
    before: &mut dyn FnMut(Step) -> io::Result<()>,
) -> io::Result<()> {
    before(Step::Create)?;
    let mut file = create(part)?;
    if let Some(existing) = existing {
        before(Step::Permissions)?;
        keep_owner(&file, existing);
        file.set_permissions(existing.permissions())?;
    }
    for chunk in bytes.chunks(CHUNK) {
        before(Step::Write)?;
        file.write_all(chunk)?;
    }
    before(Step::Sync)?;
    file.sync_all()
}

/// Gives the file to who had the one that it takes the place of. Only the system's administrator can: for others the file is theirs already,
/// or the folder lets them replace it.
#[cfg(unix)]
fn keep_owner(file: &File, existing: &fs::Metadata) {
    use std::os::unix::fs::{MetadataExt, fchown};
    let _ = fchown(file, Some(existing.uid()), Some(existing.gid()));
}

#[cfg(not(unix))]
fn keep_owner(_: &File, _: &fs::Metadata) {}

/// A new file, never one that somebody else put there: a link could lead anywhere.
fn create(part: &Path) -> io::Result<File> {
    match fs::remove_file(part) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    OpenOptions::new().write(true).create_new(true).open(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disk_full() -> io::Error {
        io::Error::new(io::ErrorKind::StorageFull, "no space left")
    }

    /// Fails at the n-th step, counted from 0, and says whether it came to that.
    fn write_failing(path: &Path, bytes: &[u8], n: usize) -> bool {
        let mut count = 0;
        let result = write_in_steps(path, bytes, &mut |_| {
            count += 1;
            if count == n + 1 { Err(disk_full()) } else { Ok(()) }
        });
        assert_eq!(result.is_err(), count > n);
        count > n
    }

    #[test]
    fn every_step_that_fails_leaves_the_old_file_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state");
        let names = || fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect::<Vec<_>>();
        let (old, new) = (vec![b'o'; 3 * CHUNK], vec![b'n'; 2 * CHUNK + 1]);
        for begun in [false, true] {
            let mut n = 0;
            loop {
                match begun {
                    true => fs::write(&path, &old).unwrap(),
                    false => drop(fs::remove_file(&path)),
                }
                // A kill may have left a part, and somebody may have put a link there.
                #[cfg(unix)]
                std::os::unix::fs::symlink("elsewhere", part(&path)).unwrap();
                if !write_failing(&path, &new, n) {
                    break;
                }
                assert_eq!(fs::read(&path).ok(), begun.then(|| old.clone()), "step {n}");
                // Only a failure before anything was done leaves what was there.
                assert!(n == 0 || names().len() == usize::from(begun), "step {n}: {:?}", names());
                let _ = fs::remove_file(part(&path));
                n += 1;
            }
            // Create, permissions of what exists, three chunks, sync, rename.
            assert_eq!(n, if begun { 7 } else { 6 });
            assert_eq!(fs::read(&path).unwrap(), new);
            assert_eq!(names(), ["state"]);
        }
    }

    /// A disk on which every n-th step fails, whatever file it is done for: what was written before is whole at every moment, and as soon
    /// as a write goes through, what is there is new.
    #[test]
    fn on_a_disk_where_every_nth_step_fails_files_are_old_or_new() {
        let folder = tempfile::tempdir().unwrap();
        for n in 1..=9 {
            let path = folder.path().join(format!("state{n}"));
            let (mut steps, mut kept, mut written) = (0, None, 0);
            for round in 0..60u8 {
                let bytes = vec![round; CHUNK + 1];
                let result = write_in_steps(&path, &bytes, &mut |_| {
                    steps += 1;
                    if steps % n == 0 { Err(disk_full()) } else { Ok(()) }
                });
                if result.is_ok() {
                    kept = Some(bytes);
                    written += 1;
                }
                assert_eq!(fs::read(&path).ok(), kept, "every {n}-th step fails, round {round}");
                assert!(!part(&path).exists());
            }
            // Create, two chunks, sync, rename, and the permissions of what is there: up to five steps never go through.
            assert_eq!(written > 0, n > 5, "{written} of 60 with every {n}-th failing");
        }
    }

    #[cfg(unix)]
    #[test]
    fn permissions_are_kept_and_links_not_followed() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = tempfile::tempdir().unwrap();
        let (path, target) = (folder.path().join("state"), folder.path().join("target"));
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        write(&path, b"new").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);

        fs::write(&target, "precious").unwrap();
        fs::remove_file(&path).unwrap();
        symlink(&target, &path).unwrap();
        write(&path, b"newer").unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"precious");
        assert!(fs::symlink_metadata(&path).unwrap().is_file());
        assert_eq!(fs::read(&path).unwrap(), b"newer");
        fs::remove_file(&path).unwrap();
        symlink("/dev/null", &path).unwrap();
        for not_a_file in [folder.path(), &path, Path::new("/dev/null")] {
            assert_eq!(write(not_a_file, b"x").unwrap_err().to_string(), "it is not an ordinary file");
        }
    }
}
