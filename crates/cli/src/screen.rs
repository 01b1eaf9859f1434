use std::io::{self, Stdout, Write};

use anstream::AutoStream;
use clap::ValueEnum;

use crate::plain;
use crate::style::UNUSUAL;

/// Standard output, with colours where they are wanted. Unlike `println!` it never panics: a closed pipe is an error like another.
pub type Screen = AutoStream<Stdout>;

/// When to use colours.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub enum Color {
    /// On a terminal, unless NO_COLOR is set
    #[default]
    Auto,
    /// Also into a file or a pipe
    Always,
    /// Not even on a terminal
    Never,
}

impl Color {
    /// Standard output with these colours.
    pub fn screen(self) -> Screen {
        let stdout = io::stdout();
        match self {
            Color::Auto => AutoStream::auto(stdout),
            Color::Always => AutoStream::always(stdout),
            Color::Never => AutoStream::never(stdout),
        }
    }
}

/// Tells what somebody should know, beside the results.
pub fn warn(remark: &str) {
    aside("warning", remark);
}

/// Tells what does nothing, beside the results.
pub fn note(remark: &str) {
    aside("note", remark);
}

fn aside(word: &str, remark: &str) {
    // Without a standard error there is nobody to tell.
    let _ = writeln!(anstream::stderr(), "{UNUSUAL}{word}:{UNUSUAL:#} {}", plain::name(remark));
}

/// Lets a run outlive its reader just long enough to end in order: a closed pipe is remembered, not reported.
pub struct Listener {
    screen: Screen,
    gone: bool,
    deaf: bool,
}

impl Listener {
    /// Somebody who listens to this screen.
    pub fn new(screen: Screen) -> Self {
        Listener { screen, gone: false, deaf: false }
    }

    /// Somebody who listens to another process instead.
    pub fn deaf(screen: Screen) -> Self {
        Listener { screen, gone: false, deaf: true }
    }

    /// True once the reader has closed the pipe.
    pub fn is_gone(&self) -> bool {
        self.gone
    }

    fn heard<T>(&mut self, result: io::Result<T>, otherwise: T) -> io::Result<T> {
        match result {
            Err(cause) if cause.kind() == io::ErrorKind::BrokenPipe => {
                self.gone = true;
                Ok(otherwise)
            }
            result => result,
        }
    }
}

impl Write for Listener {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.gone || self.deaf {
            return Ok(bytes.len());
        }
        let written = self.screen.write(bytes);
        self.heard(written, bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.gone || self.deaf {
            return Ok(());
        }
        let flushed = self.screen.flush();
        self.heard(flushed, ())
    }
}
