use std::path::PathBuf;
use std::time::Duration;

use crate::patience::Patience;

/// How a process is run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessSettings {
    /// How long an answer may take, the first one (which includes the start of the process) as well. Default: one minute.
    pub time_limit: Duration,
    /// Whether what the process writes to its standard error is passed on. The last lines are kept for messages in any case.
    /// Default: true.
    pub pass_stderr: bool,
    /// The folder to run in. Default: the current one.
    pub folder: Option<PathBuf>,
    /// What ends a wait earlier. Default: nothing.
    pub patience: Patience,
}

impl Default for ProcessSettings {
    fn default() -> Self {
        ProcessSettings { time_limit: Duration::from_secs(60), pass_stderr: true, folder: None, patience: Patience::default() }
    }
}
