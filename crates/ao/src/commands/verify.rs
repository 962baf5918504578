//! `ao verify`: compares the daemon's state with reality.

use std::path::Path;

use ao_api::client::Client;
use ao_api::{EvidenceSource, Explanation, Session, SessionState, SignalReading, TreeState};
use serde::Serialize;

use crate::cli::completers;
use crate::cli::context::Context;
use crate::client::{daemon_process, sessions};
use crate::error::CommandError;
use crate::{show, ui};

/// Compare the recorded state with reality
///
/// Checks that the daemon answers and is this build, that the process of each running session was seen, that
/// workspaces are where they should be, and that removed ones are gone. Changes nothing. Exits with 1 if something
/// differs.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao verify
  ao verify my-app-3
  ao doctor    checks the machine instead of the sessions")]
pub(crate) struct Args {
    /// Only this session
    #[arg(add = completers::sessions())]
    session: Option<String>,
}

/// All differences that were found.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct VerifyReport {
    sessions: usize,
    differences: Vec<StateDifference>,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct StateDifference {
    /// Absent for the daemon itself.
    session: Option<String>,
    what: String,
}

pub(crate) fn run(args: &Args, cx: &Context) -> Result<(), CommandError> {
    let report = cx.call(async |client| compare(args, client).await)?;
    if cx.json() {
        ui::json(&report)?;
    } else {
        for difference in &report.differences {
            let (style, who) = (ui::ERROR, difference.session.as_deref().unwrap_or("daemon"));
            ui::line(format_args!("{style}{who}{style:#}: {}", difference.what))?;
        }
    }
    let sessions = ui::count(report.sessions as u64, "session");
    match report.differences.len() {
        0 if cx.json() => Ok(()),
        0 => Ok(ui::line(format_args!("no differences: the daemon and {sessions} were checked"))?),
        found => {
            let error =
                format!("{} from the recorded state of {sessions}", ui::count(found as u64, "difference"));
            Err(CommandError::user(error)
                .hint("`ao explain SESSION` shows the evidence; `ao doctor` checks the machine"))
        }
    }
}

async fn compare(args: &Args, client: &Client) -> Result<VerifyReport, CommandError> {
    let mut report = VerifyReport::default();
    let daemon = client.daemon().await?;
    if daemon.build != daemon_process::build() {
        let what =
            "is another build than this program; `ao start` replaces it, and agents keep running meanwhile";
        report.differences.push(StateDifference { session: None, what: what.into() });
    }
    if let Some(problem) = daemon.config_problem {
        let what = format!("uses an older configuration: {problem}");
        report.differences.push(StateDifference { session: None, what });
    }
    let sessions = sessions(client, args.session.as_deref()).await?;
    report.sessions = sessions.len();
    for session in &sessions {
        let mut found = folders(session, |path| Path::new(path).join(".git").exists());
        if runs(session.status.state) {
            found.extend(process(&client.explain(&session.id).await?));
        }
        let name = &session.name;
        report
            .differences
            .extend(found.into_iter().map(|what| StateDifference { session: Some(name.clone()), what }));
    }
    Ok(report)
}

/// Returns true if a session in this state has a process.
fn runs(state: SessionState) -> bool {
    use SessionState::{Blocked, Idle, NeedsInput, RateLimited, Unknown, Working};
    matches!(state, Working | Idle | NeedsInput | Blocked | RateLimited | Unknown)
}

/// Checks that the workspace of a session is where it should be.
fn folders(session: &Session, is_there: impl Fn(&str) -> bool) -> Vec<String> {
    let Some(tree) = &session.workspace else {
        let lacks = runs(session.status.state);
        return lacks.then(|| "it runs without a workspace".to_owned()).into_iter().collect();
    };
    let path = &tree.path;
    let what = match (tree.state, is_there(path)) {
        (TreeState::Ready | TreeState::Kept, false) => format!("its workspace `{path}` is not there"),
        (TreeState::Removed, true) => format!("its workspace `{path}` is recorded as removed, but exists"),
        (TreeState::Doubtful, _) => format!("the state of its workspace is unknown: `{path}`"),
        _ if !runs(session.status.state) => return vec![],
        (TreeState::Removing | TreeState::Removed, _) => {
            format!("it runs, but its workspace is {}", tree.state)
        }
        _ => return vec![],
    };
    vec![what]
}

/// Checks that the process of a session was seen.
fn process(explanation: &Explanation) -> Option<String> {
    // It has ended since it was listed, so there is nothing to compare.
    if !runs(explanation.status.state) {
        return None;
    }
    if let Some(drift) = &explanation.drift {
        return Some(drift.clone());
    }
    let status = &explanation.status;
    let seen = explanation.signals.iter().find(|signal| signal.source == EvidenceSource::Process);
    match seen {
        // A session that ends its process after each turn, or has released its slot, is idle without one.
        Some(signal) if signal.reading == SignalReading::Exited && status.state == SessionState::Idle => None,
        Some(signal) if matches!(signal.reading, SignalReading::Exited | SignalReading::Unreadable) => {
            let age = show::span(signal.age_seconds);
            Some(format!("recorded as {}, but its process was {} {age} ago", status.state, signal.reading))
        }
        Some(signal) if signal.reading == SignalReading::Unheld => Some(format!(
            "recorded as {}, but the shim of its agent is gone; the agent is restarted",
            status.state
        )),
        _ if status.state == SessionState::Unknown => {
            Some(format!("its state is unknown: {}", status.reason))
        }
        _ if explanation.signals.is_empty() => Some("its process was never seen".to_owned()),
        _ => None,
    }
}
