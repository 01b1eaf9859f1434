//! The processes of an oracle as one group: what the oracle started is stopped with it, even when this program is killed.

use std::io;
use std::process::{Child, Command};

#[cfg(unix)]
use crate::mark::Mark;

/// A process group of its own: Ctrl-C reaches only the solver, which can then end in order.
///
/// Its leader is a guardian, a shell that waits for the end of its standard input. This program holds the other end of that pipe and
/// writes nothing, so the end comes when this program is gone, however it went (a second Ctrl-C, an abort, kill -9); the guardian then
/// kills the group, itself included. As the leader it also keeps the number of the group from being given to others meanwhile.
///
/// A process may leave its group (`setsid`, a daemon). All have a mark in their environment, by which those are found where the system
/// shows it.
#[cfg(unix)]
pub struct Group {
    guardian: Option<Child>,
    leader: Option<rustix::process::Pid>,
    mark: Mark,
}

/// What the guardian does: its first argument is the mark. It has none itself, so that it does not end before its work is done. It looks until
/// nothing is left: what was there when it first looked may have started more meanwhile.
#[cfg(unix)]
const GUARD: &str = r#"read line
rounds=0
found=yes
while [ -n "$found" ] && [ "$rounds" -lt 100 ]; do
    found=
    rounds=$((rounds + 1))
    for each in /proc/[0-9]*; do
        if grep -qsF "$1" "$each/environ" 2>/dev/null; then
            kill -KILL "${each#/proc/}"
            found=yes
        fi
    done
done
kill -KILL 0"#;

#[cfg(unix)]
impl Group {
    /// Starts the guardian. Where there is no shell, the oracle leads its own group, and only an end in order stops it.
    pub fn new() -> Self {
        use std::os::unix::process::CommandExt;
        use std::process::Stdio;
        let mark = Mark::new();
        let mut guardian = Command::new("/bin/sh");
        guardian
            .args(["-c", GUARD, "guardian", &mark.text()])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let guardian = guardian.process_group(0).spawn().ok();
        let leader = guardian.as_ref().map(rustix::process::Pid::from_child);
        Group { guardian, leader, mark }
    }

    /// Starts a program in the group.
    pub fn spawn(&mut self, program: &mut Command) -> io::Result<Child> {
        use std::os::unix::process::CommandExt;
        self.mark.put(program);
        let child = program.process_group(self.leader.map_or(0, |leader| leader.as_raw_nonzero().get())).spawn()?;
        self.leader.get_or_insert(rustix::process::Pid::from_child(&child));
        Ok(child)
    }

    /// Kills all that is left of the group. Errors mean that nothing is.
    pub fn kill(&mut self) {
        // The guardian, which has no mark, goes last: should this program be killed in between, it finishes the work.
        if self.guardian.is_some() {
            self.mark.kill_all();
        }
        if let Some(leader) = self.leader.take() {
            let _ = rustix::process::kill_process_group(leader, rustix::process::Signal::KILL);
        }
        if let Some(mut guardian) = self.guardian.take() {
            let _ = guardian.wait();
            self.mark.kill_all();
        }
    }
}

#[cfg(unix)]
impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Where there are no process groups, only the process itself is stopped.
#[cfg(not(unix))]
pub struct Group;

#[cfg(not(unix))]
impl Group {
    pub fn new() -> Self {
        Group
    }

    pub fn spawn(&mut self, program: &mut Command) -> io::Result<Child> {
        program.spawn()
    }

    pub fn kill(&mut self) {}
}
