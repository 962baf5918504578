//! The helpers that run beside tmux and not in the daemon: small, blocking, and silent on the agent's terminal.
//!
//! | command | run by | does |
//! |---|---|---|
//! | `launch <folder>` | the pane | gets the program from the daemon, and becomes it |
//! | `log <folder> <segment> <total> [plain]` | `pipe-pane` | records the output of the pane |
//! | `died <folder> <status> <signal>` | the hook `pane-died` | gets the exit recorded |

mod died;
mod launch;
mod line_ends;
mod log;
mod modes;

use std::ffi::OsString;
use std::fmt;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

pub(super) use launch::{LaunchRefused, LaunchSpec};
pub(super) use log::{FINISH, GREETING_LAUNCH, GREETING_LOG};
pub(super) use modes::TerminalModes;

use crate::recording::OutputLimits;

/// The argument that keeps line ends as the program wrote them.
pub(super) const PLAIN: &str = "plain";

/// Runs one of the helper's commands, which are private to this runtime.
pub fn main(args: impl Iterator<Item = OsString>) -> ExitCode {
    let args: Vec<OsString> = args.collect();
    let text = |index: usize| args.get(index).and_then(|arg| arg.to_str());
    let done = match (text(0), args.get(1).map(Path::new)) {
        (Some("launch"), Some(attempt_dir)) => launch::launch(attempt_dir),
        (Some("log"), Some(attempt_dir)) => {
            log::log(attempt_dir, keep(text(2), text(3)), text(4) == Some(PLAIN))
        }
        (Some("died"), Some(attempt_dir)) => died::died(attempt_dir, text(2)),
        _ => Err(failed("this is for the tmux runtime of ao, not for people", &"")),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(err) => {
            // There may be no reader.
            let _ = writeln!(std::io::stderr(), "ao: {err}");
            ExitCode::from(125)
        }
    }
}

/// Parses the output limits that the daemon has passed.
fn keep(segment: Option<&str>, total: Option<&str>) -> OutputLimits {
    let usual = OutputLimits::default();
    let number = |text: Option<&str>| text.and_then(|text| text.parse().ok());
    OutputLimits {
        segment: number(segment).unwrap_or(usual.segment),
        total: number(total).unwrap_or(usual.total),
    }
}

/// The error with which a helper exits.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct HelperError(String);

fn failed(what: &str, why: &dyn fmt::Display) -> HelperError {
    HelperError(format!("{what}: {why}"))
}
