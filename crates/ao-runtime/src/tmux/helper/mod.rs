//! What runs beside tmux and not in the daemon: small, blocking, without a word on a terminal that is the agent's.
//!
//! | command | run by | does |
//! |---|---|---|
//! | `launch <place>` | the pane | fetches from the daemon what to run, and becomes it |
//! | `log <place> <segment> <total> [plain]` | `pipe-pane` | keeps what the pane puts out |
//! | `died <place> <status> <signal>` | the hook `pane-died` | has the exit written down |

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

pub(super) use launch::{Launch, Refused};
pub(super) use log::{FINISH, GREETING_LAUNCH, GREETING_LOG};
pub(super) use modes::Modes;

use crate::kept::Keep;

/// The word by which output is kept with the line ends that the program wrote.
pub(super) const PLAIN: &str = "plain";

/// Runs one of the helper's commands. What they are is between the helper and its runtime.
pub fn main(args: impl Iterator<Item = OsString>) -> ExitCode {
    let args: Vec<OsString> = args.collect();
    let text = |index: usize| args.get(index).and_then(|arg| arg.to_str());
    let done = match (text(0), args.get(1).map(Path::new)) {
        (Some("launch"), Some(place)) => launch::launch(place),
        (Some("log"), Some(place)) => log::log(place, keep(text(2), text(3)), text(4) == Some(PLAIN)),
        (Some("died"), Some(place)) => died::died(place, text(2)),
        _ => Err(failed("this is for the tmux runtime of ao, not for people", &"")),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(err) => {
            // There may be nobody who reads it.
            let _ = writeln!(std::io::stderr(), "ao: {err}");
            ExitCode::from(125)
        }
    }
}

/// How much is kept, as the daemon has said it.
fn keep(segment: Option<&str>, total: Option<&str>) -> Keep {
    let usual = Keep::default();
    let number = |text: Option<&str>| text.and_then(|text| text.parse().ok());
    Keep { segment: number(segment).unwrap_or(usual.segment), total: number(total).unwrap_or(usual.total) }
}

/// What a helper says on its way out.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct HelperError(String);

fn failed(what: &str, why: &dyn fmt::Display) -> HelperError {
    HelperError(format!("{what}: {why}"))
}
