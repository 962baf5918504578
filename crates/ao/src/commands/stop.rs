//! `ao stop`: the end of sessions, or of the daemon while agents go on.

use std::collections::BTreeSet;
use std::time::Duration;

use ao_api::client::Client;
use ao_api::{Session, Stop, Stopping};
use tokio::time::timeout;

use crate::context::Context;
use crate::error::{CommandError, Kind};
use crate::{background, calls, complete, follow, show, span, ui};

/// Stop sessions; or the daemon, if none is named, while agents go on
///
/// A stopped session keeps its work: its workspace stays where it is until `ao session cleanup` shows that nothing would be
/// lost. A stopped daemon leaves every agent running, and `ao start` finds them again.
///
/// With `--all` the projects stay stopped: none of their issues starts automatically, also after a restart, until `ao start`.
/// You can still start sessions yourself with `ao spawn`, `ao new` or `ao session restore`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao stop                            the daemon; agents go on
  ao stop my-app-3 my-app-4          two sessions
  ao stop --project my-app --all     all sessions of a project
  ao stop --all && ao stop           everything")]
pub(crate) struct Args {
    /// The sessions
    #[arg(value_name = "SESSION", conflicts_with = "all", add = complete::sessions())]
    sessions: Vec<String>,
    /// All sessions that have not ended
    #[arg(long)]
    all: bool,
    /// With `--all`: only those of this project
    #[arg(long, short, requires = "all", add = complete::projects())]
    project: Option<String>,
    /// Why, for the record
    #[arg(long)]
    why: Option<String>,
    /// How long to wait for each to end: 30, 30s, 5m
    #[arg(long, short, default_value = "2m", value_parser = span::parse)]
    timeout: Duration,
}

pub(crate) fn run(args: &Args, cx: &Context) -> Result<(), CommandError> {
    let client = cx.client()?;
    cx.wait_for(async {
        if args.all {
            return everything(&client, args, cx).await;
        }
        match args.sessions.is_empty() {
            true => the_daemon(&client, cx).await,
            false => several(&client, &args.sessions, args, cx).await,
        }
    })
}

/// Ends all sessions, of one project or of all, after seeing to it that no further one begins by itself.
async fn everything(client: &Client, args: &Args, cx: &Context) -> Result<(), CommandError> {
    let all = calls::sessions(client).await?.sessions;
    if let Some(project) = &args.project {
        known_project(client, project, &all).await?;
    }
    let is_meant = |project: &str| args.project.as_ref().is_none_or(|meant| meant == project);
    let mut quiet = Vec::new();
    for project in calls::projects(client).await?.into_iter().filter(|project| is_meant(&project.id)) {
        quiet
            .extend(Some(calls::stop_work(client, &project.id).await?).filter(|project| project.auto_assign));
    }
    let live = async || {
        let all = calls::sessions(client).await?.sessions.into_iter();
        let meant =
            all.filter(|session| !show::is_over(&session.status.state) && is_meant(&session.project_id));
        Ok::<Vec<String>, CommandError>(meant.map(|session| session.id).collect())
    };
    let mut ids = live().await?;
    if ids.is_empty() && !cx.json() {
        ui::note("there is no session to stop");
    }
    // One that was being made meanwhile is ended too; each is ended once.
    let mut ended = BTreeSet::new();
    while !ids.is_empty() {
        several(client, &ids, args, cx).await?;
        ended.extend(ids);
        ids = live().await?.into_iter().filter(|id| !ended.contains(id)).collect();
    }
    for project in quiet.iter().filter(|_| !cx.json()) {
        let id = &project.id;
        ui::note(format!("automatic assignment is off for {id}; `ao start` turns it on again"));
    }
    Ok(())
}

/// A project that is not there has no sessions either; but whoever mistypes its name should hear of it.
async fn known_project(client: &Client, project: &str, all: &[Session]) -> Result<(), CommandError> {
    if all.iter().any(|session| session.project_id == project) {
        return Ok(());
    }
    let projects = calls::projects(client).await?;
    if projects.iter().any(|known| known.id == project) {
        return Ok(());
    }
    let names: Vec<&str> = projects.iter().map(|known| known.id.as_str()).collect();
    let error = CommandError::new(Kind::Unknown, format!("there is no project `{project}`"));
    Err(match names.is_empty() {
        true => error,
        false => error.hint(format!("there is {}", names.join(", "))),
    })
}

async fn several(
    client: &Client,
    sessions: &[String],
    args: &Args,
    cx: &Context,
) -> Result<(), CommandError> {
    let order = Stop { why: args.why.clone(), cleanup: false };
    let stop = async |session: &str| one(client, session, &order, args.timeout).await;
    let tell = |session: Session| match cx.json() {
        true => Ok(ui::json(&session)?),
        false => Ok(ui::line(told(&session))?),
    };
    each(sessions, "stopped", stop, tell).await
}

/// Ends one after the other and tells of each; goes on after one that fails, and ends with the first failure.
pub(super) async fn each<T>(
    sessions: &[String],
    ended: &str,
    mut end: impl AsyncFnMut(&str) -> Result<T, CommandError>,
    mut tell: impl FnMut(T) -> Result<(), CommandError>,
) -> Result<(), CommandError> {
    let mut first = None;
    for session in sessions {
        match end(session).await {
            Ok(it) => tell(it)?,
            Err(err) if sessions.len() == 1 => return Err(err),
            Err(err) => {
                ui::error(&err);
                first.get_or_insert(err);
            }
        }
    }
    match first {
        // It was told above; its kind is what counts now.
        Some(err) => {
            let sessions = ui::count(sessions.len() as u64, "session");
            Err(err.repeated(format!("not all of {sessions} were {ended}")))
        }
        None => Ok(()),
    }
}

/// Stops a session and waits until it has ended, but not longer than this.
pub(super) async fn one(
    client: &Client,
    session: &str,
    order: &Stop,
    limit: Duration,
) -> Result<Session, CommandError> {
    let stopped = async {
        let known = calls::session(client, session).await?;
        if !show::is_over(&known.status.state) {
            calls::stop(client, &known.id, order).await?;
        }
        let ended = async || {
            let session = calls::session(client, &known.id).await?;
            Ok(show::is_over(&session.status.state).then_some(session))
        };
        follow::until(client, Some(&known.id), ended).await
    };
    timeout(limit, stopped).await.unwrap_or_else(|_| {
        Err(CommandError::new(Kind::TimedOut, format!("`{session}` has not ended in time"))
            .hint(format!("it is still being stopped; `ao explain {session}` says what it waits for")))
    })
}

fn told(session: &Session) -> String {
    let (title, name, state) = (ui::TITLE, &session.name, &session.status.state);
    match &session.workspace {
        Some(tree) if tree.state != "removed" => {
            format!(
                "{title}{name}{title:#}: {state}; its work is kept in {} (branch {})",
                tree.path, session.branch
            )
        }
        _ => format!("{title}{name}{title:#}: {state} (branch {})", session.branch),
    }
}

async fn the_daemon(client: &Client, cx: &Context) -> Result<(), CommandError> {
    let stopping = match background::stop(client).await {
        Ok(stopping) => stopping,
        Err(err) if err.is_absence() => {
            if !cx.json() {
                ui::line("no daemon runs")?;
            }
            return Ok(());
        }
        Err(err) => return Err(err.into()),
    };
    background::still_there(stopping.pid)?;
    if cx.json() {
        return Ok(ui::json(&stopping)?);
    }
    Ok(ui::line(told_of_daemon(&stopping))?)
}

fn told_of_daemon(stopping: &Stopping) -> String {
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
        let told = |running: &[&str], queued: &[&str]| {
            let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
            told_of_daemon(&Stopping { pid: 123, running: owned(running), queued: owned(queued) })
        };
        assert_eq!(told(&[], &[]), "stopped the daemon (pid 123)");
        assert_eq!(
            told(&["app-1", "app-2"], &["app-3"]),
            "stopped the daemon (pid 123); 2 agents go on: app-1, app-2; 1 queued session waits for the next start; \
             `ao start` finds them again"
        );
    }
}
