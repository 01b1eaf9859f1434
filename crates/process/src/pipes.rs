use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::process::{ChildStdin, ChildStdout};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use crate::patience::{Impatience, LOOK, Patience};

/// The standard streams of a process, with a deadline for each exchange.
///
/// A pipe can block for ever in both directions, so a thread of its own reads and writes. When the deadline passes the thread is
/// left behind: it ends when the process does.
pub struct Pipes {
    jobs: Sender<Job>,
    finished: Receiver<Job>,
    patience: Patience,
    /// Storage of the last job, which the next one takes.
    spare: Job,
}

/// How long the last bytes of a process that has ended may be on their way.
const LAST_WORDS: Duration = Duration::from_millis(300);

/// How long an answer is waited for.
pub struct Wait<'a> {
    /// Until when; for ever, if there is none.
    pub deadline: Option<Instant>,
    /// Whether the process has ended, and with it the wait.
    pub has_ended: &'a mut dyn FnMut() -> bool,
}

/// Why there is no answer.
#[derive(Debug)]
pub enum Blockage {
    Late,
    /// Nobody waits any longer.
    Abandoned(Impatience),
    Ended,
    /// The line is longer than the limit.
    Endless(usize),
    Unreachable(String),
}

#[derive(Clone, Copy)]
enum Wanted {
    /// A line of at most so many bytes.
    Line(usize),
    /// Exactly so many bytes.
    Bytes(usize),
}

struct Job {
    to_write: Vec<u8>,
    wanted: Wanted,
    read: Vec<u8>,
    result: Result<(), Blockage>,
}

impl Pipes {
    /// Fails when there can be no further thread.
    pub fn new(mut input: ChildStdin, output: ChildStdout, patience: Patience) -> io::Result<Self> {
        let (jobs, todo) = channel::<Job>();
        let (done, finished) = channel();
        thread::Builder::new().spawn(move || {
            let mut output = BufReader::with_capacity(1 << 16, output);
            for mut job in todo {
                job.result = job.carry_out(&mut input, &mut output);
                if done.send(job).is_err() {
                    break;
                }
            }
        })?;
        let spare = Job { to_write: Vec::new(), wanted: Wanted::Bytes(0), read: Vec::new(), result: Ok(()) };
        Ok(Pipes { jobs, finished, patience, spare })
    }

    /// An empty buffer for [`Pipes::line`].
    pub fn buffer(&mut self) -> Vec<u8> {
        let mut buffer = std::mem::take(&mut self.spare.to_write);
        buffer.clear();
        buffer
    }

    /// Writes a message, then reads a line. The last line before the end of the stream may lack its newline.
    pub fn line(&mut self, message: Vec<u8>, limit: usize, wait: Wait) -> Result<&[u8], Blockage> {
        self.spare.to_write = message;
        self.carry_out(Wanted::Line(limit), wait)
    }

    /// Reads exactly so many bytes.
    pub fn bytes(&mut self, count: usize, wait: Wait) -> Result<&[u8], Blockage> {
        self.spare.to_write.clear();
        self.carry_out(Wanted::Bytes(count), wait)
    }

    fn carry_out(&mut self, wanted: Wanted, wait: Wait) -> Result<&[u8], Blockage> {
        let to_write = std::mem::take(&mut self.spare.to_write);
        let read = std::mem::take(&mut self.spare.read);
        self.jobs.send(Job { to_write, wanted, read, result: Ok(()) }).map_err(|_| Blockage::Ended)?;
        let mut job = self.wait(wait)?;
        std::mem::replace(&mut job.result, Ok(()))?;
        self.spare = job;
        Ok(&self.spare.read)
    }

    /// Waits for the thread, and looks up now and then.
    fn wait(&self, wait: Wait) -> Result<Job, Blockage> {
        let mut grace = LAST_WORDS;
        loop {
            if let Some(reason) = self.patience.is_over() {
                return Err(Blockage::Abandoned(reason));
            }
            let left = wait.deadline.map_or(Duration::MAX, |deadline| deadline.saturating_duration_since(Instant::now()));
            match self.finished.recv_timeout(left.min(LOOK)) {
                Ok(job) => return Ok(job),
                Err(RecvTimeoutError::Timeout) if left <= LOOK => return Err(Blockage::Late),
                // What a process said before its end is heard; what it started may hold the pipe open, and is not waited for.
                Err(RecvTimeoutError::Timeout) if (wait.has_ended)() => match grace.checked_sub(LOOK) {
                    Some(less) => grace = less,
                    None => return Err(Blockage::Ended),
                },
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(Blockage::Ended),
            }
        }
    }
}

impl Job {
    fn carry_out(&mut self, input: &mut ChildStdin, output: &mut BufReader<ChildStdout>) -> Result<(), Blockage> {
        match input.write_all(&self.to_write).and_then(|()| input.flush()) {
            Ok(()) => {}
            // It reads no more, but it may have said why.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {}
            Err(error) => return Err(Blockage::Unreachable(error.to_string())),
        }
        self.read.clear();
        let unreadable = |error: io::Error| Blockage::Unreachable(error.to_string());
        match self.wanted {
            Wanted::Line(limit) => {
                output.take(limit as u64).read_until(b'\n', &mut self.read).map_err(unreadable)?;
                match self.read.last() {
                    None => Err(Blockage::Ended),
                    Some(&last) if last != b'\n' && self.read.len() == limit => Err(Blockage::Endless(limit)),
                    Some(_) => Ok(()),
                }
            }
            Wanted::Bytes(count) => {
                let found = output.take(count as u64).read_to_end(&mut self.read).map_err(unreadable)?;
                if found == count { Ok(()) } else { Err(Blockage::Ended) }
            }
        }
    }
}
