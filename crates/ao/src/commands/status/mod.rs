//! `ao status`: all sessions at a glance, or one in full.

mod watch;

use std::collections::BTreeMap;

use ao_api::client::{Bytes, Client, ClientError};
use ao_api::{Message, Project, Queue, Session, SessionState, Sessions};

use crate::cli::completers;
use crate::cli::context::Context;
use crate::client::find_session;
use crate::error::CommandError;
use crate::show::{Canvas, FleetView};
use crate::{show, ui};

/// Show all sessions, those that need you first; or one in full
///
/// For each session: its task, its pull request, its checks and reviews, and whose turn it is: yours, the agent's,
/// the checks' or the merge queue's.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao status
  ao status my-app-3
  ao status --watch
  ao status my-app-3 --json | jq -r .status.state")]
pub(crate) struct Args {
    /// A single session: its name, its id, or a unique prefix of either
    #[arg(add = completers::sessions())]
    session: Option<String>,
    /// Keep running and show changes as they happen; Ctrl-C stops
    #[arg(long, short)]
    watch: bool,
}

pub(crate) fn run(args: &Args, cx: &Context) -> Result<(), CommandError> {
    cx.call(async |client| {
        match (args.watch, cx.json()) {
            (true, _) => watch::watch(client, args.session.as_deref(), cx).await,
            // Unparsed: programs ask for this often.
            (false, true) => Ok(ui::raw(&raw(client, args.session.as_deref()).await?)?),
            (false, false) => {
                let seen = StatusView::look(client, args.session.as_deref()).await?;
                Ok(ui::text(seen.draw(Canvas::here()))?)
            }
        }
    })
}

/// Returns the JSON of one session, or of all.
async fn raw(client: &Client, session: Option<&str>) -> Result<Bytes, ClientError> {
    match session {
        Some(session) => client.session(session).raw().await,
        None => client.sessions().raw().await,
    }
}

/// The sessions to show.
enum StatusView {
    All { sessions: Sessions, queues: BTreeMap<String, Queue>, stopped: Vec<Project> },
    One { session: Box<Session>, queue: Option<Queue>, outbox: Vec<Message> },
}

/// Queue positions are requested one by one, and more than this are not read.
const PLACES: usize = 40;

impl StatusView {
    async fn look(client: &Client, session: Option<&str>) -> Result<StatusView, ClientError> {
        if let Some(session) = session {
            let session = find_session(client, session).await?;
            let queue = place(client, &session).await;
            let outbox = outbox(client, &session).await;
            return Ok(StatusView::One { session: Box::new(session), queue, outbox });
        }
        let sessions = client.sessions().await?;
        let mut queues = BTreeMap::new();
        let queued = sessions.sessions.iter().filter(|session| session.status.state == SessionState::Queued);
        for session in queued.take(PLACES) {
            if let Some(queue) = place(client, session).await {
                queues.insert(session.id.clone(), queue);
            }
        }
        let mut stopped = client.projects().await?.projects;
        stopped.retain(|project| project.auto_assign && project.stopped_by.is_some());
        Ok(StatusView::All { sessions, queues, stopped })
    }

    fn draw(&self, canvas: Canvas) -> String {
        match self {
            StatusView::All { sessions, queues, stopped } => {
                let fleet = FleetView { sessions: &sessions.sessions, pulls: &sessions.pulls, queues };
                show::fleet(fleet, canvas) + &stopped.iter().map(is_stopped).collect::<String>()
            }
            StatusView::One { session, queue, outbox } => show::card(session, queue.as_ref(), outbox, canvas),
        }
    }
}

/// Describes a project without automatic assignment, and how to resume it.
fn is_stopped(project: &Project) -> String {
    let (id, by) = (&project.id, project.stopped_by.as_deref().unwrap_or_default());
    format!("{id}: {by} has stopped the project, so no issue starts automatically; `ao start` resumes it\n")
}

/// Returns the queue position of a session. It may have left the queue, so errors are ignored.
async fn place(client: &Client, session: &Session) -> Option<Queue> {
    if session.status.state != SessionState::Queued {
        return None;
    }
    client.explain(&session.id).await.ok()?.queue
}

/// Returns the messages that its agent has not accepted.
async fn outbox(client: &Client, session: &Session) -> Vec<Message> {
    if session.messages_waiting + session.messages_failed == 0 {
        return vec![];
    }
    client.messages(&session.id).await.map(|messages| messages.messages).unwrap_or_default()
}
