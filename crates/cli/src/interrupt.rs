use std::io::{IsTerminal, Write, stderr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::Error;

/// What a shell reports for a process that Ctrl-C ended.
const KILLED: i32 = 130;

/// A flag that the first Ctrl-C (or termination signal) sets, so that the run ends in order; the second ends the process at once.
pub fn flag() -> Result<Arc<AtomicBool>, Error> {
    let flag = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&flag);
    ctrlc::set_handler(move || {
        if seen.swap(true, Ordering::SeqCst) {
            std::process::exit(KILLED);
        }
        if stderr().is_terminal() {
            let _ = writeln!(stderr(), "\nThe run ends after this iteration; Ctrl-C again ends it at once.");
        }
    })?;
    Ok(flag)
}
