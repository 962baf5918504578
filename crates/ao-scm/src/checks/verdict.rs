//! What the end of a command means.
//!
//! | how it ended | what that is |
//! |---|---|
//! | exit code 0 | passed |
//! | exit code 126 or 127 | broken: the shell found no such command, or may not run it, so the configuration is at fault; not tried again |
//! | any other exit code | failed |
//! | it crashed: SIGSEGV, SIGABRT and the like | failed: programs do that to themselves |
//! | SIGKILL, SIGTERM, SIGHUP, SIGINT that were not ours | the machine is at fault, such as one without memory left; tried again |
//! | not done in time | failed |

use std::fs::File;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use ao_ports::{Failure, RunState};
use camino::Utf8PathBuf;
use rustix::process::Signal;

use crate::failure;

/// What came of a try.
#[derive(Debug)]
pub(super) enum Outcome {
    Over(Verdict),
    /// The machine and not the change is at fault, so it may go well another time.
    Machine {
        why: String,
    },
    /// Nobody wants to know any more.
    Cancelled,
}

/// What a run says in the end.
#[derive(Debug, Clone)]
pub(super) struct Verdict {
    pub(super) state: RunState,
    pub(super) why: Option<String>,
    pub(super) exit_code: Option<i32>,
    pub(super) failure: Option<Failure>,
}

impl Verdict {
    /// It could not be run, and would not be another time.
    pub(super) fn broken(why: impl Into<String>) -> Verdict {
        Verdict { state: RunState::Broken, why: Some(why.into()), exit_code: None, failure: None }
    }
}

/// What is known of a command besides how it ended.
#[derive(Debug, Clone)]
pub(super) struct About {
    pub(super) command: String,
    pub(super) log: Utf8PathBuf,
    /// Where it ran: places in its output are told from there.
    pub(super) root: Utf8PathBuf,
}

/// What it means that a command has ended of itself.
pub(super) fn of_end(status: ExitStatus, about: &About) -> Outcome {
    let failed = |state, why: String| {
        let failure = Some(failure_of(about, status.code()));
        Outcome::Over(Verdict { state, why: Some(why), exit_code: status.code(), failure })
    };
    if let Some(signal) = status.signal() {
        let from_outside = [Signal::KILL, Signal::TERM, Signal::HUP, Signal::INT];
        return match from_outside.iter().any(|known| known.as_raw() == signal) {
            true => Outcome::Machine { why: format!("was ended by signal {signal}, which was not ours") },
            false => failed(RunState::Failed, format!("crashed by signal {signal}")),
        };
    }
    match status.code() {
        Some(0) => {
            Outcome::Over(Verdict { state: RunState::Passed, why: None, exit_code: Some(0), failure: None })
        }
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

/// What it means that a command took too long.
pub(super) fn too_long(limit: Duration, about: &About) -> Outcome {
    Outcome::Over(Verdict {
        state: RunState::Failed,
        why: Some(format!("was not done after {limit:?}")),
        exit_code: None,
        failure: Some(failure_of(about, None)),
    })
}

/// What the output says went wrong. What cannot be read tells nothing, and that the check failed is told all the same.
fn failure_of(about: &About, exit_code: Option<i32>) -> Failure {
    let options = failure::Options {
        // The checkout has another place each time, and the same failure is to look the same.
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

    fn told(raw: i32) -> String {
        let about = About { command: "x".into(), log: "/nowhere/run_1.log".into(), root: "/nowhere".into() };
        match of_end(ExitStatus::from_raw(raw), &about) {
            Outcome::Over(verdict) => format!("{:?} {:?}", verdict.state, verdict.exit_code),
            Outcome::Machine { .. } => "machine".into(),
            Outcome::Cancelled => "cancelled".into(),
        }
    }

    #[test]
    fn every_end_has_its_meaning() {
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
            assert_eq!(told(raw), expected, "wait status {raw}");
        }
    }
}
