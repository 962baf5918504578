//! `ao stop`: stops sessions, or the daemon while agents keep running.

use std::collections::BTreeSet;
use std::pin::pin;
use std::time::Duration;

use ao_api::client::Client;
use ao_api::{Session, Stop, TreeState};
use futures::StreamExt;
use futures::stream;
use tokio::time::{Instant, timeout_at};

use crate::cli::context::Context;
use crate::cli::{completers, duration_arg};
use crate::client::{daemon_process, event_watch, find_session};
use crate::error::{CommandError, FailureKind};
use crate::{show, ui};

/// Number of concurrent calls.
const AT_ONCE: usize = 16;

/// Stop sessions; without a name, stop the daemon and leave agents running
///
/// A stopped session keeps its work: its workspace stays until `ao session cleanup` finds that nothing would be lost.
/// A stopped daemon leaves every agent running, and `ao start` finds them again.
///
/// With `--all` the projects stay stopped: no issue starts automatically, even after a restart, until `ao start`. You
/// can still start sessions yourself with `ao spawn`, `ao new` or `ao session restore`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao stop                            stop the daemon; agents keep running
  ao stop my-app-3 my-app-4          two sessions
  ao stop --project my-app --all     all sessions of a project
  ao stop --all && ao stop           everything")]
pub(crate) struct Args {
    /// The sessions
    #[arg(value_name = "SESSION", conflicts_with = "all", add = completers::sessions())]
    sessions: Vec<String>,
    /// All live sessions
    #[arg(long)]
    all: bool,
    /// With `--all`: only this project
    #[arg(long, short, requires = "all", add = completers::projects())]
    project: Option<String>,
    /// The reason, for the log
    #[arg(long)]
    why: Option<String>,
    /// Maximum time to wait for each session to end: 30, 30s, 5m
    #[arg(long, short, default_value = "2m", value_parser = duration_arg::parse)]
    timeout: Duration,
}

pub(crate) fn run(args: &Args, cx: &Context) -> Result<(), CommandError> {
    cx.call(async |client| {
        if args.all {
            return everything(client, args, cx).await;
        }
        match args.sessions.is_empty() {
            true => the_daemon(client, cx).await,
            false => several(client, &args.sessions, args, cx).await,
        }
    })
}

/// Stops all sessions, of one project or of all, after disabling automatic assignment.
async fn everything(client: &Client, args: &Args, cx: &Context) -> Result<(), CommandError> {
    let all = client.sessions().await?.sessions;
    if let Some(project) = &args.project {
        known_project(client, project, &all).await?;
    }
    let is_meant = |project: &str| args.project.as_ref().is_none_or(|meant| meant == project);
    let mut quiet = Vec::new();
    for project in client.projects().await?.projects.into_iter().filter(|project| is_meant(&project.id)) {
        quiet.extend(Some(client.stop_work(&project.id).await?).filter(|project| project.auto_assign));
    }
    let live = async || {
        let all = client.sessions().await?.sessions.into_iter();
        let meant =
            all.filter(|session| !show::is_over(session.status.state) && is_meant(&session.project_id));
        Ok::<Vec<String>, CommandError>(meant.map(|session| session.id).collect())
    };
    let mut ids = live().await?;
    if ids.is_empty() && !cx.json() {
        ui::note("there is no session to stop");
    }
    // A session that was being created meanwhile is stopped too; each is stopped once.
    let mut ended = BTreeSet::new();
    while !ids.is_empty() {
        several(client, &ids, args, cx).await?;
        ended.extend(ids);
        ids = live().await?.into_iter().filter(|id| !ended.contains(id)).collect();
    }
    for project in quiet.iter().filter(|_| !cx.json()) {
        let id = &project.id;
        ui::note(format!("automatic assignment is off for {id}; `ao start` enables it again"));
    }
    Ok(())
}

/// Fails for an unknown project, so that a typo is reported.
async fn known_project(client: &Client, project: &str, all: &[Session]) -> Result<(), CommandError> {
    if all.iter().any(|session| session.project_id == project) {
        return Ok(());
    }
    let projects = client.projects().await?.projects;
    if projects.iter().any(|known| known.id == project) {
        return Ok(());
    }
    let names: Vec<&str> = projects.iter().map(|known| known.id.as_str()).collect();
    let error = CommandError::new(FailureKind::Unknown, format!("there is no project `{project}`"));
    Err(match names.is_empty() {
        true => error,
        false => error.hint(format!("there is {}", names.join(", "))),
    })
}

/// Stops sessions concurrently, and prints each as it ends.
async fn several(
    client: &Client,
    sessions: &[String],
    args: &Args,
    cx: &Context,
) -> Result<(), CommandError> {
    let order = Stop { why: args.why.clone(), cleanup: false };
    let stopping = stream::iter(sessions).map(|session| begin(client, session, &order)).buffered(AT_ONCE);
    // Request every stop before waiting for any.
    let stopping: Vec<_> = stopping.collect().await;
    let until = Instant::now() + args.timeout;
    let ends = stopping.into_iter().map(async |stopping| finish(client, &stopping?, until).await);
    let mut ends = pin!(stream::iter(ends).buffer_unordered(AT_ONCE));
    let mut failures = StopFailures::of(sessions.len());
    while let Some(ended) = ends.next().await {
        match ended {
            Ok(session) if cx.json() => ui::json(&session)?,
            Ok(session) => ui::line(describe(&session))?,
            Err(err) => failures.add(err)?,
        }
    }
    failures.sum_up("stopped")
}

/// Handles one after the other and prints each; continues after a failure, and returns the first one.
pub(super) async fn each<T>(
    sessions: &[String],
    ended: &str,
    mut end: impl AsyncFnMut(&str) -> Result<T, CommandError>,
    mut tell: impl FnMut(T) -> Result<(), CommandError>,
) -> Result<(), CommandError> {
    let mut failures = StopFailures::of(sessions.len());
    for session in sessions {
        match end(session).await {
            Ok(it) => tell(it)?,
            Err(err) => failures.add(err)?,
        }
    }
    failures.sum_up(ended)
}

/// The failures of several sessions. Each is printed at once.
struct StopFailures {
    sessions: usize,
    first: Option<CommandError>,
}

impl StopFailures {
    fn of(sessions: usize) -> StopFailures {
        StopFailures { sessions, first: None }
    }

    /// Adds a failure; that of a single session fails the whole command.
    fn add(&mut self, err: CommandError) -> Result<(), CommandError> {
        if self.sessions == 1 {
            return Err(err);
        }
        ui::error(&err);
        self.first.get_or_insert(err);
        Ok(())
    }

    /// Returns an error of the kind of the first failure, which was printed already.
    fn sum_up(self, ended: &str) -> Result<(), CommandError> {
        let Some(first) = self.first else { return Ok(()) };
        let sessions = ui::count(self.sessions as u64, "session");
        Err(first.repeated(format!("not all of {sessions} were {ended}")))
    }
}

/// A session that is being stopped.
struct PendingStop {
    /// The name that the user typed.
    named: String,
    id: String,
}

/// Stops a session and waits until it has ended, up to a time limit.
pub(super) async fn one(
    client: &Client,
    session: &str,
    order: &Stop,
    limit: Duration,
) -> Result<Session, CommandError> {
    let until = Instant::now() + limit;
    finish(client, &begin(client, session, order).await?, until).await
}

async fn begin(client: &Client, session: &str, order: &Stop) -> Result<PendingStop, CommandError> {
    let known = find_session(client, session).await?;
    if !show::is_over(known.status.state) {
        client.stop(&known.id, order).await?;
    }
    Ok(PendingStop { named: session.to_owned(), id: known.id })
}

async fn finish(client: &Client, stopping: &PendingStop, until: Instant) -> Result<Session, CommandError> {
    let PendingStop { named, id } = stopping;
    let ended = async || {
        let session = find_session(client, id).await?;
        Ok(show::is_over(session.status.state).then_some(session))
    };
    let waited = async {
        match ended().await {
            // Most have ended by now, and need no feed of events.
            Ok(Some(session)) => Ok(session),
            _ => event_watch::until(client, Some(id), ended).await,
        }
    };
    timeout_at(until, waited).await.unwrap_or_else(|_| {
        Err(CommandError::new(FailureKind::TimedOut, format!("`{named}` has not ended in time"))
            .hint(format!("it is still being stopped; `ao explain {named}` shows what it waits for")))
    })
}

fn describe(session: &Session) -> String {
    let (title, name, state) = (ui::TITLE, &session.name, &session.status.state);
    match &session.workspace {
        Some(tree) if tree.state == TreeState::Deleted => {
            format!(
                "{title}{name}{title:#}: {state}; its folder {} was deleted; its commits are on the branch {}; \
                 `ao session restore {name}` recreates the folder",
                tree.path, session.branch
            )
        }
        Some(tree) if tree.state != TreeState::Removed => {
            format!(
                "{title}{name}{title:#}: {state}; its work is kept in {} (branch {})",
                tree.path, session.branch
            )
        }
        _ => format!("{title}{name}{title:#}: {state} (branch {})", session.branch),
    }
}

async fn the_daemon(client: &Client, cx: &Context) -> Result<(), CommandError> {
    let stopping = match daemon_process::stop(client).await {
        Ok(stopping) => stopping,
        Err(err) if err.is_absence() => {
            if !cx.json() {
                ui::line("no daemon runs")?;
            }
            return Ok(());
        }
        Err(err) => return Err(err.into()),
    };
    daemon_process::still_there(stopping.pid)?;
    cx.print(&stopping, || ui::line(describe_daemon(&stopping)))
}

fn describe_daemon(stopping: &ao_api::Stopping) -> String {
    let mut told = format!("stopped the daemon (pid {})", stopping.pid);
    if !stopping.running.is_empty() {
        let go = if stopping.running.len() == 1 { "goes" } else { "go" };
        let agents = ui::count(stopping.running.len() as u64, "agent");
        told += &format!("; {agents} {go} on: {}", stopping.running.join(", "));
    }
    if !stopping.queued.is_empty() {
        let wait = if stopping.queued.len() == 1 { "waits" } else { "wait" };
        told += &format!(
            "; {} {wait} for the next start",
            ui::count(stopping.queued.len() as u64, "queued session")
        );
    }
    match stopping.running.len() {
        0 => told,
        1 => told + "; `ao start` finds it again",
        _ => told + "; `ao start` finds them again",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_stops_the_daemon_hears_what_goes_on() {
        let stopped = |running: &[&str], queued: &[&str]| {
            let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
            describe_daemon(&ao_api::Stopping { pid: 123, running: owned(running), queued: owned(queued) })
        };
        assert_eq!(stopped(&[], &[]), "stopped the daemon (pid 123)");
        assert_eq!(
            stopped(&["app-1", "app-2"], &["app-3"]),
            "stopped the daemon (pid 123); 2 agents go on: app-1, app-2; 1 queued session waits for the next start; \
             `ao start` finds them again"
        );
    }
}
