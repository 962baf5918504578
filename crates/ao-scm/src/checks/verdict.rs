//! Verdicts: how the end of a command is judged.
//!
//! | end of the command | verdict |
//! |---|---|
//! | exit code 0 | passed |
//! | exit code 126 or 127 | broken: the shell found no such command, or may not run it, so the configuration is at fault; not retried |
//! | any other exit code | failed |
//! | a crash: SIGSEGV, SIGABRT and the like | failed: programs do that to themselves |
//! | SIGKILL, SIGTERM, SIGHUP, SIGINT that were not ours | the machine is at fault, for example out of memory; retried |
//! | time limit exceeded | failed |

use std::fs::File;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use ao_ports::{FailureReport, RunState};
use camino::Utf8PathBuf;
use rustix::process::Signal;

use crate::failure;

/// The outcome of one attempt.
#[derive(Debug)]
pub(super) enum AttemptOutcome {
    Over(RunVerdict),
    /// The machine and not the change is at fault, so a retry may succeed.
    Machine {
        why: String,
    },
    /// The run is not wanted any more.
    Cancelled,
}

/// The final result of a run.
#[derive(Debug, Clone)]
pub(super) struct RunVerdict {
    pub(super) state: RunState,
    pub(super) why: Option<String>,
    pub(super) exit_code: Option<i32>,
    pub(super) failure: Option<FailureReport>,
}

impl RunVerdict {
    /// Returns the verdict for a check that cannot be run, and that a retry would not help.
    pub(super) fn broken(why: impl Into<String>) -> RunVerdict {
        RunVerdict { state: RunState::Broken, why: Some(why.into()), exit_code: None, failure: None }
    }
}

/// Context of a command that ended.
#[derive(Debug, Clone)]
pub(super) struct CommandContext {
    pub(super) command: String,
    pub(super) log: Utf8PathBuf,
    /// The folder it ran in: locations in its output are reported relative to it.
    pub(super) root: Utf8PathBuf,
}

/// Judges a command that ended on its own.
pub(super) fn of_end(status: ExitStatus, about: &CommandContext) -> AttemptOutcome {
    let failed = |state, why: String| {
        let failure = Some(failure_of(about, status.code()));
        AttemptOutcome::Over(RunVerdict { state, why: Some(why), exit_code: status.code(), failure })
    };
    if let Some(signal) = status.signal() {
        let from_outside = [Signal::KILL, Signal::TERM, Signal::HUP, Signal::INT];
        return match from_outside.iter().any(|known| known.as_raw() == signal) {
            true => {
                AttemptOutcome::Machine { why: format!("was ended by signal {signal}, which was not ours") }
            }
            false => failed(RunState::Failed, format!("crashed by signal {signal}")),
        };
    }
    match status.code() {
        Some(0) => AttemptOutcome::Over(RunVerdict {
            state: RunState::Passed,
            why: None,
            exit_code: Some(0),
            failure: None,
        }),
        Some(127) => failed(
            RunState::Broken,
            "ended with exit code 127: the shell found no such command; install it, or change the check"
                .into(),
        ),
        Some(126) => failed(
            RunState::Broken,
            "ended with exit code 126: the command may not be run; make it executable, or change the check"
                .into(),
        ),
        code => failed(RunState::Failed, format!("ended with exit code {}", code.unwrap_or_default())),
    }
}

/// Judges a command that exceeded its time limit.
pub(super) fn too_long(limit: Duration, about: &CommandContext) -> AttemptOutcome {
    AttemptOutcome::Over(RunVerdict {
        state: RunState::Failed,
        why: Some(format!("was not done after {limit:?}")),
        exit_code: None,
        failure: Some(failure_of(about, None)),
    })
}

/// Parses the output of a failed command. An unreadable log gives an empty failure, because the check failed all the
/// same.
fn failure_of(about: &CommandContext, exit_code: Option<i32>) -> FailureReport {
    let options = failure::Options {
        // The checkout has a new path each time, and the same failure must give the same signature.
        roots: vec![about.root.to_string()],
        exit_code,
        command: Some(about.command.clone()),
        ..failure::Options::default()
    };
    let read = File::open(&about.log).and_then(|log| failure::extract_reader(log, &options));
    read.unwrap_or_else(|err| {
        tracing::warn!(log = %about.log, %err, "the output of a check could not be read");
        failure::extract(b"", &options)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict_of(raw: i32) -> String {
        let about =
            CommandContext { command: "x".into(), log: "/nowhere/run_1.log".into(), root: "/nowhere".into() };
        match of_end(ExitStatus::from_raw(raw), &about) {
            AttemptOutcome::Over(verdict) => format!("{:?} {:?}", verdict.state, verdict.exit_code),
            AttemptOutcome::Machine { .. } => "machine".into(),
            AttemptOutcome::Cancelled => "cancelled".into(),
        }
    }

    #[test]
    fn each_exit_status_has_a_verdict() {
        for (raw, expected) in [
            (0, "Passed Some(0)"),
            (1 << 8, "Failed Some(1)"),
            (101 << 8, "Failed Some(101)"),
            (137 << 8, "Failed Some(137)"),
            (126 << 8, "Broken Some(126)"),
            (127 << 8, "Broken Some(127)"),
            (9, "machine"),
            (15, "machine"),
            (11, "Failed None"),
            (6, "Failed None"),
        ] {
            assert_eq!(verdict_of(raw), expected, "wait status {raw}");
        }
    }
}
